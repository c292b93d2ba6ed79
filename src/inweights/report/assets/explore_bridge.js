/* The identity bridge under the hand: Emb-MLP learns two hops; identities are switched while it trains. */
(function () {
  "use strict";

  var root = document.getElementById("bridge");
  var content = JSON.parse(document.getElementById("content").textContent);
  function one(selector) { return root.querySelector(selector); }
  function all(selector) { return Array.prototype.slice.call(root.querySelectorAll(selector)); }
  var settings = { n: 6, complexity: 1, rate: 2, std: 0.01, speed: 4 };
  var LOG = { rate: true, std: true }, WIDTH = 64;
  var world, identity, model, step, loss, history, playing = false, theme;

  /*
   * The two-hop world: a_i by r1_j leads to bridge k = j n + i, which by r2 leads to object
   * (j + i) mod n, so that a subject reaches as many objects as there are first relations.
   */
  function twoHop(n, complexity) {
    var bridges = n * complexity, names = [], outputs = [], hops = [], k;
    function add(letter, count, list) { for (var i = 1; i <= count; i++) { list.push(letter + i); } }
    add("a", n, names);
    add("b", bridges, names);
    if (complexity === 1) { names.push("r1"); } else { add("r1.", complexity, names); }
    names.push("r2");
    add("b", bridges, outputs);
    add("c", n, outputs);
    for (k = 0; k < bridges; k++) {
      var i = k % n, j = Math.floor(k / n), r1 = n + bridges + j, r2 = names.length - 1;
      hops.push({
        first: { prompt: [i, r1], answer: k },
        second: { prompt: [n + k, r2], answer: bridges + (i + j) % n },
        identity: { prompt: [n + k], answer: k },
        query: { prompt: [i, r1, r2], answer: bridges + (i + j) % n }
      });
    }
    return { names: names, outputs: outputs, hops: hops, bridges: bridges };
  }

  function facts() {
    var told = [];
    world.hops.forEach(function (hop) { told.push(hop.first, hop.second); });
    world.hops.forEach(function (hop, k) { if (identity[k]) { told.push(hop.identity); } });
    return told;
  }

  function winner(logits, at, K) {
    var best = 0;
    for (var j = 1; j < K; j++) { if (logits[at * K + j] > logits[at * K + best]) { best = j; } }
    return best;
  }

  function answers(list) {
    var K = world.outputs.length, logits = model.logits(list.map(function (item) { return item.prompt; }));
    return list.map(function (_, i) { return winner(logits, i, K); });
  }

  function right(list) {
    var hit = answers(list).filter(function (answer, i) { return answer === list[i].answer; }).length;
    return hit / list.length;
  }

  function anew(keep) {
    world = twoHop(settings.n, settings.complexity);
    if (!keep || identity.length !== world.bridges) { identity = world.hops.map(function () { return false; }); }
    model = Learn.embMLP({
      width: WIDTH, tokens: world.names.length, outputs: world.outputs.length, std: settings.std, seed: content.seed
    });
    step = 0;
    loss = null;
    history = { steps: [], recall: [], spearman: [] };
    buttons();
    measure();
    draw();
  }

  function buttons() {
    var box = one(".explore-bridges");
    box.textContent = "";
    identity.forEach(function (on, k) {
      var button = document.createElement("button");
      button.type = "button";
      button.textContent = world.outputs[k];
      button.setAttribute("aria-pressed", on);
      button.addEventListener("click", function () { identity[k] = !identity[k]; buttons(); draw(); });
      box.appendChild(button);
    });
  }

  function measure() {
    var steps = history.steps;
    if (steps.length && step < 1.05 * steps[steps.length - 1]) { return; }
    if (steps.length && step === steps[steps.length - 1]) { return; }
    history.steps.push(step);
    history.recall.push(right(facts()));
    history.spearman.push(right(world.hops.map(function (hop) { return hop.query; })));
  }

  function draw() {
    var queries = world.hops.map(function (hop) { return hop.query; }), said = answers(queries), hits = 0;
    var list = one(".explore-queries");
    while (list.children.length > queries.length) { list.removeChild(list.lastChild); }
    queries.forEach(function (query, i) {
      var item = list.children[i] || list.appendChild(document.createElement("li"));
      var good = said[i] === query.answer;
      hits += good;
      item.className = good ? "good" : "bad";
      item.textContent = query.prompt.map(function (t) { return world.names[t]; }).join(" ") + " → " + world.outputs[said[i]];
    });
    one(".explore-facts").textContent = AtlasPanels.said(right(facts()), 2);
    one(".explore-composed").textContent = AtlasPanels.said(hits / queries.length, 2);
    one(".explore-loss").textContent = AtlasPanels.said(loss, 3);
    one(".explore-step").textContent = "step " + step.toLocaleString("en");
    templates();
    AtlasPanels.curves(one(".atlas-curves svg"), {
      steps: history.steps, recall: history.recall, spearman: history.spearman, frame: history.steps.length - 1, least: 0
    });
  }

  function templates() {
    var box = AtlasScene.fit(one(".explore-templates")), pen = box.pen, W = model.templates();
    var rows = world.names.length, columns = world.outputs.length, left = 40, top = 18, most = 1e-12, r, c;
    for (r = 0; r < rows; r++) {
      var mean = 0;
      for (c = 0; c < columns; c++) { mean += W[r * columns + c] / columns; }
      for (c = 0; c < columns; c++) { most = Math.max(most, Math.abs(W[r * columns + c] -= mean)); }
    }
    var wide = (box.width - left) / columns, high = (box.height - top) / rows;
    AtlasScene.mosaic(pen, theme.cosines, rows, columns, function (r, c) { return W[r * columns + c] / most; },
      left, top, box.width - left, box.height - top);
    pen.fillStyle = AtlasScene.css(theme.ink);
    pen.font = "11px system-ui, sans-serif";
    var every = Math.ceil(14 / high), across = Math.ceil(24 / wide);
    world.names.forEach(function (name, i) { if (i % every === 0) { pen.fillText(name, 2, top + (i + 0.5) * high + 4); } });
    world.outputs.forEach(function (name, i) { if (i % across === 0) { pen.fillText(name, left + i * wide + 2, 12); } });
    pen.strokeStyle = AtlasScene.css(theme.ink);
    pen.beginPath(); // between kinds of tokens and of answers
    [settings.n, settings.n + world.bridges].forEach(function (row) { pen.moveTo(left, top + row * high); pen.lineTo(box.width, top + row * high); });
    pen.moveTo(left + world.bridges * wide, top);
    pen.lineTo(left + world.bridges * wide, box.height);
    pen.stroke();
  }

  function tick() {
    if (!playing) { return; }
    var told = facts();
    Learn.steps(settings.speed, function () {
      step += 1;
      loss = model.step(told, settings.rate);
      return isFinite(loss);
    });
    if (!isFinite(loss)) { // the last sound picture stays
      play(false);
      one(".explore-loss").textContent = "diverged: lower the rate";
      return;
    }
    measure();
    draw();
    window.requestAnimationFrame(tick);
  }

  function play(on) {
    playing = on;
    one(".explore-play").textContent = on ? "Pause" : "Train";
    if (on) { window.requestAnimationFrame(tick); }
  }

  all("[data-name]").forEach(function (input) {
    var name = input.dataset.name;
    input.value = LOG[name] ? Math.log10(settings[name]) : settings[name];
    function say() { input.parentNode.querySelector("output").textContent = LOG[name] ? settings[name].toPrecision(2) : settings[name]; }
    say();
    input.addEventListener("input", function () {
      settings[name] = LOG[name] ? Math.pow(10, +input.value) : +input.value;
      say();
      if (name === "n" || name === "complexity" || name === "std") { anew(name === "std"); }
    });
  });
  all("[data-all]").forEach(function (button) {
    button.addEventListener("click", function () {
      var which = button.dataset.all;
      identity = identity.map(function (_, k) { return which === "half" ? k % 2 === 0 : which === "1"; });
      buttons();
      draw();
    });
  });
  one(".explore-play").addEventListener("click", function () { play(!playing); });
  one(".explore-reset").addEventListener("click", function () { anew(true); });

  function theming() {
    var ink = AtlasScene.rgb(window.getComputedStyle(root).getPropertyValue("--ink-rgb").trim());
    var dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
    theme = { ink: ink, cosines: content.palettes[dark ? "dark" : "light"] };
  }
  window.addEventListener("resize", draw);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", function () { theming(); draw(); });

  theming();
  identity = [];
  anew(false);
  root.classList.add("ready");
})();
