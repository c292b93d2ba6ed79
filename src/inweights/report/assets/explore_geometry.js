/* Draw a graph, train on its edges in the page, and watch where its nodes come to lie. */
(function () {
  "use strict";

  var root = document.getElementById("geometry");
  var content = JSON.parse(document.getElementById("content").textContent);
  function one(selector) { return root.querySelector(selector); }
  function all(selector) { return Array.prototype.slice.call(root.querySelectorAll(selector)); }
  var stage = one(".atlas-stage canvas"), editor = one(".explore-editor");
  var settings = { model: "node2vec", width: 32, rate: 0.02, std: 0.1, idle: 0, speed: 4, selfEdges: false };
  var LOG = { rate: true, std: true };
  var MOST = 64; // nodes
  var graph, model, told, away, spaces, near, order, look, colors, step, loss, history, playing = false;
  var camera = { yaw: 0.6, pitch: 0.35, zoom: 0.9 }, theme, radius = 1, hot = -1, where = [];

  function N() { return graph.nodes.length; }
  function V() { return N() + settings.idle; }

  function theming() {
    var style = window.getComputedStyle(root);
    function color(name) { return AtlasScene.rgb(style.getPropertyValue(name).trim()); }
    var dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
    theme = { ink: color("--ink-rgb"), card: color("--stage"), cosines: content.palettes[dark ? "dark" : "light"] };
  }

  /* What follows from the graph; the model goes on with the vectors that it has. */
  function changed() {
    told = ExploreGraph.targets(graph, settings.idle, settings.selfEdges);
    away = ExploreGraph.hops(graph);
    near = ExploreGraph.neighbours(graph);
    spaces = N() > 1 ? ExploreGraph.eigenspaces(graph) : [];
    order = ExploreGraph.order(graph);
    colors = graph.nodes.map(function (_, i) {
      return AtlasScene.shade(content.palettes.place, order.indexOf(i) / Math.max(1, N()));
    });
    edit();
    measure(true);
    draw();
  }

  function anew() {
    model = Learn[settings.model]({ width: settings.width, tokens: V(), std: settings.std, seed: content.seed });
    look = ExploreGraph.view(settings.width, content.seed);
    step = 0;
    loss = null;
    radius = 1;
    history = { steps: [], recall: [], spearman: [] };
    changed();
  }

  function train() {
    if (!graph.links.length) { return; }
    Learn.steps(settings.speed, function () {
      loss = model.step(told, N(), V(), settings.rate);
      step += 1;
      return isFinite(loss);
    });
  }

  function diverged() { return (loss !== null && !isFinite(loss)) || !model.embedding().every(isFinite); }

  var now = { recall: null, rho: null, cosines: null };
  function measure(always) {
    if (N() < 2 || diverged()) { now = { recall: null, rho: null, cosines: null }; return; }
    now.cosines = ExploreGraph.cosines(model.embedding(), N(), settings.width);
    var steps = history.steps, due = !steps.length || step >= 1.08 * steps[steps.length - 1];
    if (!always && !due) { return; }
    now.recall = ExploreGraph.recall(model.logits(N(), V()), told, N(), V());
    now.rho = ExploreGraph.spearman(now.cosines, away);
    if (due && (!steps.length || step > steps[steps.length - 1])) {
      history.steps.push(step);
      history.recall.push(now.recall);
      history.spearman.push(now.rho);
    }
  }

  function draw() {
    if (diverged()) { // the last sound picture stays
      one(".explore-shown").textContent = "diverged: lower the rate and start anew";
      if (playing) { play(false); }
      return;
    }
    var box = stage.getBoundingClientRect(), n = N();
    var seen = n ? look(model.embedding(), n) : { places: [], radius: 1, shown: 0 };
    radius += (seen.radius - radius) * (playing ? 0.15 : 1); // the eye follows slowly
    where = AtlasScene.draw(stage, {
      positions: seen.places, links: n ? graph.links : [], colors: colors, camera: camera, radius: radius,
      names: n <= 32 ? graph.nodes.map(function (_, i) { return String(i + 1); }) : null,
      size: Math.max(3.5, Math.min(box.width, box.height) / 52 * Math.min(1, Math.sqrt(18 / Math.max(1, n)))),
      theme: theme, roots: [], hot: hot, near: new Set(hot < 0 ? [] : near[hot])
    });
    one(".explore-step").textContent = "step " + step.toLocaleString("en");
    one(".explore-recall").textContent = AtlasPanels.said(now.recall, 2);
    one(".explore-rho").textContent = AtlasPanels.said(now.rho, 2);
    one(".explore-loss").textContent = AtlasPanels.said(loss, 3);
    one(".explore-shown").textContent = AtlasPanels.said(100 * seen.shown, 0) + "% of the variance in three dimensions";
    if (n < 2) { return; }
    turn = (turn + 1) % PANELS.length;
    PANELS.forEach(function (panel, i) { if (!playing || i === turn) { panel(n); } });
  }

  /* While it trains the panels are drawn in turn, one a frame: 20 times a second are enough for them. */
  var turn = 0, PANELS = [heat, energy, curves];

  function heat(n) {
    AtlasPanels.heat(one(".atlas-heat canvas"), {
      order: order, colors: colors, theme: theme, stops: theme.cosines, marked: hot < 0 ? [] : [hot],
      cosine: function (i, j) { return now.cosines[i * n + j]; }
    });
  }

  function energy(n) {
    var shares = ExploreGraph.energies(model.embedding(), n, settings.width, spaces);
    var sizes = spaces.map(function (space) { return space.vectors.length; });
    AtlasPanels.energy(one(".atlas-energy svg"), {
      energies: shares, sizes: sizes, stops: content.palettes.spaces, most: 1,
      chance: sizes.map(function (size) { return size / (n - 1); }),
      eigenvalues: spaces.map(function (space) { return space.value; })
    });
  }

  function curves() {
    AtlasPanels.curves(one(".atlas-curves svg"), {
      steps: history.steps, recall: history.recall, spearman: history.spearman, frame: history.steps.length - 1
    });
  }

  function tick() {
    if (!playing) { return; }
    train();
    measure(false);
    draw();
    window.requestAnimationFrame(tick);
  }

  function play(on) {
    playing = on;
    one(".explore-play").textContent = on ? "Pause" : "Train";
    if (on) { window.requestAnimationFrame(tick); } else { measure(true); draw(); }
  }

  /* ---- the editor ---- */

  function edit() {
    while (editor.firstChild) { editor.removeChild(editor.firstChild); }
    graph.links.forEach(function (pair) {
      var u = graph.nodes[pair[0]], v = graph.nodes[pair[1]];
      AtlasPanels.make("line", { x1: u.x, y1: u.y, x2: v.x, y2: v.y }, editor);
    });
    graph.nodes.forEach(function (node, i) {
      AtlasPanels.make("circle", { cx: node.x, cy: node.y, r: N() > 32 ? 0.018 : 0.026, fill: AtlasScene.css(colors[i]) }, editor);
    });
    var lone = graph.nodes.map(function (_, i) { return i; }).filter(function (i) { return !near[i].length; });
    one("#edges").value = graph.links.map(function (pair) { return (pair[0] + 1) + "-" + (pair[1] + 1); })
      .concat(lone.map(function (i) { return String(i + 1); })).join("\n");
  }

  function place(event) {
    var box = editor.getBoundingClientRect();
    return { x: (event.clientX - box.left) / box.width, y: (event.clientY - box.top) / box.height };
  }

  function nodeAt(point) {
    var best = -1, least = 0.045;
    graph.nodes.forEach(function (node, i) {
      var away = Math.hypot(node.x - point.x, node.y - point.y);
      if (away < least) { least = away; best = i; }
    });
    return best;
  }

  function addNode(point) {
    if (N() >= MOST) { return; }
    var rows = Array.from({ length: N() }, function (_, i) { return i; }), idle = [];
    for (var i = 0; i < settings.idle; i++) { idle.push(N() + i); }
    graph.nodes.push(point);
    // A new row is drawn at the end; idle tokens stay behind the nodes.
    model.grow(V());
    model.keep(rows.concat([V() - 1], idle));
    changed();
  }

  function removeNode(gone) {
    var rows = [];
    for (var i = 0; i < V(); i++) { if (i !== gone) { rows.push(i); } }
    graph.nodes.splice(gone, 1);
    graph.links = graph.links.filter(function (pair) { return pair[0] !== gone && pair[1] !== gone; })
      .map(function (pair) { return pair.map(function (u) { return u > gone ? u - 1 : u; }); });
    model.keep(rows);
    hot = -1;
    changed();
  }

  function toggleLink(u, v) {
    var kept = graph.links.filter(function (pair) {
      return !(pair[0] === u && pair[1] === v) && !(pair[0] === v && pair[1] === u);
    });
    graph.links = kept.length < graph.links.length ? kept : kept.concat([[u, v]]);
    changed();
  }

  var from = null;
  editor.addEventListener("pointerdown", function (event) {
    var point = place(event), node = nodeAt(point);
    from = { node: node, point: point };
    editor.setPointerCapture(event.pointerId);
  });
  editor.addEventListener("pointerup", function (event) {
    if (!from) { return; }
    var point = place(event), node = nodeAt(point), start = from;
    from = null;
    if (start.node >= 0 && node >= 0 && node !== start.node) { toggleLink(start.node, node); }
    else if (start.node < 0 && node < 0) { addNode(point); }
  });
  editor.addEventListener("dblclick", function (event) {
    var node = nodeAt(place(event));
    if (node >= 0) { removeNode(node); }
  });

  one(".explore-apply").addEventListener("click", function () {
    var links = [], most = 0, problem = "";
    one("#edges").value.split("\n").forEach(function (line, i) {
      var found = line.trim().match(/^(\d+)\s*(?:[-=,;\s]\s*(\d+))?$/);
      if (!line.trim()) { return; }
      if (!found || +found[1] < 1 || (found[2] && (+found[2] < 1 || found[1] === found[2]))) {
        problem = problem || "line " + (i + 1) + " is '" + line.slice(0, 30) + "'; write an edge as 1-2";
        return;
      }
      most = Math.max(most, +found[1], +(found[2] || 0));
      if (found[2]) { links.push([+found[1] - 1, +found[2] - 1]); }
    });
    if (most > MOST) { problem = problem || most + " nodes; at most " + MOST + " fit"; }
    one(".explore-problem").textContent = problem;
    if (problem) { return; }
    var nodes = [];
    for (var i = 0; i < most; i++) {
      var turn = 2 * Math.PI * i / most - Math.PI / 2;
      nodes.push(graph.nodes[i] || { x: 0.5 + 0.42 * Math.cos(turn), y: 0.5 + 0.42 * Math.sin(turn) });
    }
    graph = { nodes: nodes, links: links };
    anew();
  });

  /* ---- controls ---- */

  function shown(name) {
    var value = settings[name];
    return LOG[name] ? value.toPrecision(2).replace(/e-(\d)/, "e−$1") : String(value);
  }

  all("[data-name]").forEach(function (input) {
    var name = input.dataset.name, check = input.type === "checkbox";
    if (check) { input.checked = settings[name]; }
    else { input.value = LOG[name] ? Math.log10(settings[name]) : settings[name]; }
    function say() { if (!check) { input.parentNode.querySelector("output").textContent = shown(name); } }
    say();
    input.addEventListener("input", function () {
      var before = settings.idle;
      settings[name] = check ? input.checked : LOG[name] ? Math.pow(10, +input.value) : +input.value;
      say();
      if (name === "width" || name === "std") { anew(); }
      if (name === "selfEdges") { changed(); }
      if (name === "idle") {
        if (settings.idle > before) { model.grow(V()); }
        else { model.keep(Array.from({ length: V() }, function (_, i) { return i; })); }
        changed();
      }
    });
  });

  all("[name=model]").forEach(function (input) {
    input.addEventListener("change", function () {
      settings.model = input.value;
      anew();
    });
  });

  Object.keys(ExploreGraph.SHAPES).forEach(function (name) {
    var button = document.createElement("button");
    button.type = "button";
    button.textContent = name;
    button.addEventListener("click", function () {
      graph = ExploreGraph.SHAPES[name]();
      anew();
    });
    one(".explore-shapes").appendChild(button);
  });

  one(".explore-play").addEventListener("click", function () { play(!playing); });
  one(".explore-reset").addEventListener("click", anew);

  var grip = null;
  stage.addEventListener("pointerdown", function (event) {
    grip = { x: event.clientX, y: event.clientY };
    stage.setPointerCapture(event.pointerId);
  });
  stage.addEventListener("pointermove", function (event) {
    if (grip) {
      camera.yaw += (event.clientX - grip.x) / 140;
      camera.pitch = Math.max(-1.4, Math.min(1.4, camera.pitch + (event.clientY - grip.y) / 140));
      grip = { x: event.clientX, y: event.clientY };
    } else {
      var box = stage.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top, old = hot;
      hot = -1;
      where.forEach(function (p, i) { if (Math.hypot(p[0] - x, p[1] - y) < p[2] + 4) { hot = i; } });
      if (old === hot) { return; }
    }
    if (!playing) { draw(); }
  });
  stage.addEventListener("pointerup", function () { grip = null; });
  stage.addEventListener("keydown", function (event) {
    var turn = { ArrowLeft: [-0.15, 0], ArrowRight: [0.15, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] }[event.key];
    if (!turn) { return; }
    event.preventDefault();
    camera.yaw += turn[0];
    camera.pitch = Math.max(-1.4, Math.min(1.4, camera.pitch + turn[1]));
    draw();
  });
  window.addEventListener("resize", draw);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", function () { theming(); draw(); });

  theming();
  graph = ExploreGraph.SHAPES.cycle();
  anew();
  root.classList.add("ready");
})();
