/* The atlas: choose a graph and an architecture, play training; every panel follows one slider. */
(function () {
  "use strict";

  var STILL = window.matchMedia("(prefers-reduced-motion: reduce)").matches;

  function start(root) {
    if (root.classList.contains("ready")) { return; }
    var content = JSON.parse(root.querySelector("script").textContent);
    function one(selector) { return root.querySelector(selector); }
    function all(selector) { return Array.prototype.slice.call(root.querySelectorAll(selector)); }
    var stage = one(".atlas-stage canvas"), tip = one(".atlas-tip"), heat = one(".atlas-heat canvas");
    var slider = one(".atlas-slider"), button = one(".atlas-play"), energy = one(".atlas-energy svg");
    var curves = one(".atlas-curves svg");
    var state = {
      graph: 0, architecture: 0, at: 0, goal: 0, clock: 0, from: null, hot: -1, marked: [],
      color: "hops", camera: null, touched: false, playing: false
    };
    var where = [], cells = null, toFrame = null, theme = {}, drawn = {}, asked = false, before = 0;

    content.graphs.forEach(function (graph) {
      graph.near = graph.nodes.map(function () { return []; });
      graph.links.forEach(function (pair) {
        graph.near[pair[0]].push(pair[1]);
        graph.near[pair[1]].push(pair[0]);
      });
    });

    function graph() { return content.graphs[state.graph]; }
    function filmOf(architecture) {
      var key = state.graph + "/" + architecture, film = content.films[key];
      if (film && !film.ready) {
        ["positions", "cosines", "energies"].forEach(function (name) { film[name] = AtlasFilm.unpack(film[name]); });
        // The axis holds still while a film plays.
        var high = film.energies.reduce(function (a, b) { return Math.max(a, b); }, 0);
        film.most = Math.min(1, Math.ceil(5 * high) / 5) || 1;
        film.ready = true;
      }
      return film;
    }
    function film() { return filmOf(state.architecture); }
    function last(of) { return of.steps.length - 1; }
    function frame() { return Math.round(Math.min(state.at, last(film()))); }

    function look() {
      var style = window.getComputedStyle(root);
      function color(name) { return AtlasScene.rgb(style.getPropertyValue(name).trim()); }
      var dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
      theme = { ink: color("--ink-rgb"), card: color("--stage"), cosines: content.palettes[dark ? "dark" : "light"] };
      one(".atlas-scale i").style.background = "linear-gradient(90deg," + theme.cosines.join(",") + ")";
    }

    function centers() { return state.from === null ? graph().roots : [state.from]; }

    function colorsOf(index) {
      var g = content.graphs[index], mine = index === state.graph, n = g.nodes.length;
      var by = mine ? state.color : (g.ring ? "place" : "hops");
      if (by === "place") {
        return g.nodes.map(function (_, i) {
          return AtlasScene.shade(content.palettes.place, g.order.indexOf(i) / n);
        });
      }
      var away = AtlasFilm.hops(g, mine ? centers() : g.roots);
      var top = Math.max.apply(null, away.filter(isFinite).concat([1]));
      return away.map(function (value) {
        return isFinite(value) ? AtlasScene.shade(content.palettes.hops, value / top) : AtlasScene.rgb("#9aa3b0");
      });
    }

    /* Positions between two frames: the frames are aligned, so that a straight line is right. */
    function between(of, at) {
      var n = 3 * graph().nodes.length, low = Math.floor(Math.min(at, last(of)));
      var high = Math.min(low + 1, last(of)), t = Math.min(at, last(of)) - low;
      var out = new Float32Array(n);
      for (var i = 0; i < n; i++) {
        out[i] = (1 - t) * of.positions[low * n + i] + t * of.positions[high * n + i];
      }
      return out;
    }

    function cosine(i, j) {
      if (i === j) { return 1; }
      var n = graph().nodes.length, high = Math.max(i, j), low = Math.min(i, j);
      return film().cosines[frame() * n * (n - 1) / 2 + high * (high - 1) / 2 + low];
    }

    function drawStage() {
      var g = graph(), n = g.nodes.length, box = stage.getBoundingClientRect();
      var size = Math.max(3.5, Math.min(box.width, box.height) / 52 * Math.min(1, Math.sqrt(18 / n)));
      where = AtlasScene.draw(stage, {
        positions: between(film(), state.at), links: g.links, colors: drawn.colors, camera: state.camera,
        names: n <= 40 ? g.nodes : null, radius: film().radius, size: size, theme: theme,
        roots: state.color === "hops" ? centers() : [],
        hot: state.hot, near: new Set(state.hot < 0 ? [] : g.near[state.hot])
      });
    }

    function drawThumbnails() {
      all(".atlas-architectures label").forEach(function (label, i) {
        var of = filmOf(i), canvas = label.querySelector("canvas");
        label.classList.toggle("absent", !of);
        label.querySelector("input").disabled = !of;
        if (!of) { AtlasScene.fit(canvas); label.querySelector("output").textContent = "–"; return; }
        var at = Math.min(state.at, last(of));
        AtlasScene.draw(canvas, {
          positions: between(of, at), links: graph().links, colors: drawn.colors, plain: true,
          camera: { yaw: state.camera.yaw, pitch: state.camera.pitch, zoom: 1.12 },
          names: null, radius: of.radius, size: 3.3, theme: theme, roots: [], hot: -1, near: new Set()
        });
        label.querySelector("output").textContent = "ρ " + AtlasPanels.said(of.spearman[Math.round(at)], 2);
      });
    }

    function drawPanels() {
      var g = graph(), of = film(), k = frame(), count = g.sizes.length;
      var total = g.sizes.reduce(function (a, b) { return a + b; }, 0);
      cells = AtlasPanels.heat(heat, {
        order: g.order, cosine: cosine, colors: drawn.colors, theme: theme, stops: theme.cosines,
        marked: state.hot >= 0 ? [state.hot] : state.marked
      });
      AtlasPanels.energy(energy, {
        energies: Array.prototype.slice.call(of.energies, k * count, (k + 1) * count),
        chance: g.sizes.map(function (size) { return size / total; }),
        most: of.most, sizes: g.sizes, eigenvalues: g.eigenvalues, stops: content.palettes.spaces
      });
      toFrame = AtlasPanels.curves(curves, { steps: of.steps, recall: of.recall, spearman: of.spearman, frame: k });
      var text = (content.unit || "step") + " " + of.steps[k].toLocaleString("en");
      one(".atlas-step").textContent = text;
      one(".atlas-recall").textContent = AtlasPanels.said(of.recall[k], 2);
      one(".atlas-rho").textContent = AtlasPanels.said(of.spearman[k], 2);
      one(".atlas-shown").textContent = AtlasPanels.said(100 * of.shown[k], 0) + "% of the variance in three dimensions";
      slider.setAttribute("aria-valuetext", text);
      root.dataset.step = of.steps[k];
      root.dataset.graph = g.name;
      root.dataset.architecture = content.architectures[state.architecture];
    }

    function drawGraphs() {
      all(".atlas-graphs svg").forEach(function (svg, i) {
        var g = content.graphs[i], colors = colorsOf(i).map(function (c) { return AtlasScene.css(c); });
        while (svg.firstChild) { svg.removeChild(svg.firstChild); }
        g.links.forEach(function (pair) {
          AtlasPanels.make("line", { x1: g.x[pair[0]], y1: g.y[pair[0]], x2: g.x[pair[1]], y2: g.y[pair[1]] }, svg);
        });
        g.nodes.forEach(function (_, node) {
          AtlasPanels.make("circle", { cx: g.x[node], cy: g.y[node], r: g.nodes.length > 24 ? 0.07 : 0.12, fill: colors[node] }, svg);
        });
      });
    }

    function everything() {
      look();
      drawn.colors = colorsOf(state.graph);
      drawn.panels = -1;
      one(".atlas-colors span").textContent = "hops from " + (state.from === null ? "root" : graph().nodes[state.from]);
      drawGraphs();
      paint();
    }

    function paint() {
      drawStage();
      drawThumbnails();
      if (drawn.panels !== frame()) { drawPanels(); drawn.panels = frame(); }
    }

    function ask() {
      if (!asked) { asked = true; window.requestAnimationFrame(tick); }
    }

    function tick(now) {
      var passed = Math.min(0.1, before ? (now - before) / 1000 : 0.016);
      asked = false;
      before = now;
      if (state.playing) {
        state.clock = Math.min(last(film()), state.clock + passed * content.speed);
        state.at = state.goal = STILL ? Math.floor(state.clock) : state.clock;
        slider.value = Math.round(state.at);
        if (state.at >= last(film())) { play(false); }
      } else {
        var gap = state.goal - state.at;
        state.at = STILL || Math.abs(gap) < 0.02 ? state.goal : state.at + gap * Math.min(1, passed * 14);
      }
      paint();
      if (state.playing || state.at !== state.goal) { ask(); } else { before = 0; }
    }

    function play(on) {
      state.playing = on;
      button.textContent = on ? "Pause" : "Play";
      if (on && state.at >= last(film())) { state.at = 0; }
      state.clock = state.at;
      state.goal = on ? state.at : Math.round(state.at);
      slider.value = Math.round(state.at);
      if (on) { ask(); }
    }

    /* A reader's own camera stays, whatever is chosen. */
    function aim() {
      if (!state.touched) { state.camera = Object.assign({}, AtlasFilm.best(film(), graph().nodes.length)); }
    }

    function go(to) {
      play(false);
      state.goal = Math.max(0, Math.min(last(film()), to));
      slider.value = state.goal;
      ask();
    }

    /* Another film: as far through its training as the one before. */
    function switched(change) {
      var share = state.goal / Math.max(1, last(film()));
      change();
      if (!film()) {
        state.architecture = content.architectures.findIndex(function (_, i) { return filmOf(i); });
        all(".atlas-architectures input")[state.architecture].checked = true;
      }
      slider.max = last(film());
      state.at = state.playing ? share * last(film()) : Math.round(share * last(film()));
      state.goal = state.clock = state.at;
      slider.value = Math.round(state.at);
      hide();
      aim();
      everything();
    }

    function chooseColor(by) {
      state.color = by;
      all(".atlas-colors input").forEach(function (input) { input.checked = input.value === by; });
    }

    all(".atlas-graphs input").forEach(function (input, i) {
      input.addEventListener("change", function () {
        switched(function () {
          state.graph = i;
          state.from = null;
          chooseColor(graph().ring ? "place" : "hops");
        });
      });
    });
    all(".atlas-architectures input").forEach(function (input, i) {
      input.addEventListener("change", function () { switched(function () { state.architecture = i; }); });
    });
    all(".atlas-colors input").forEach(function (input) {
      input.addEventListener("change", function () { chooseColor(input.value); state.from = null; everything(); });
    });
    button.addEventListener("click", function () { play(!state.playing); });
    slider.addEventListener("input", function () { go(Number(slider.value)); });

    function show(html, x, y, within) {
      tip.textContent = "";
      html.forEach(function (line, i) {
        var row = document.createElement(i ? "span" : "b");
        row.textContent = line;
        tip.appendChild(row);
      });
      var box = root.getBoundingClientRect(), from = within.getBoundingClientRect();
      tip.hidden = false;
      var left = from.left - box.left + x + 16, top = from.top - box.top + y + 14;
      tip.style.left = Math.max(4, Math.min(left, box.width - tip.offsetWidth - 8)) + "px";
      tip.style.top = Math.min(top, box.height - tip.offsetHeight - 8) + "px";
    }

    function hide() {
      tip.hidden = true;
      if (state.hot >= 0 || state.marked.length) {
        state.hot = -1;
        state.marked = [];
        drawn.panels = -1;
        ask();
      }
    }

    function about(node) {
      var g = graph(), from = centers(), away = AtlasFilm.hops(g, from)[node];
      var alike = g.nodes.map(function (_, i) { return i; }).filter(function (i) { return i !== node; });
      alike.sort(function (i, j) { return cosine(node, j) - cosine(node, i); });
      function names(list) {
        var some = list.slice(0, 8).map(function (i) { return g.nodes[i]; }).join(", ");
        return list.length > 8 ? some + ", … (" + list.length + ")" : some || "none";
      }
      return [
        g.nodes[node], "neighbours: " + names(g.near[node]),
        "closest here: " + alike.slice(0, 3).map(function (i) {
          return g.nodes[i] + " (" + AtlasPanels.said(cosine(node, i), 2) + ")";
        }).join(", "),
        isFinite(away) ? away + (away === 1 ? " hop from " : " hops from ") + (from.length > 1 ? "a root" : g.nodes[from[0]])
          : "no path from " + g.nodes[from[0]]
      ];
    }

    function under(event) {
      var box = stage.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
      var best = -1, least = Infinity;
      where.forEach(function (p, i) {
        var gap = Math.hypot(p[0] - x, p[1] - y) - p[2];
        if (gap < 7 && gap < least) { best = i; least = gap; }
      });
      return { node: best, x: x, y: y };
    }

    var held = null;
    stage.addEventListener("pointerdown", function (event) {
      held = { x: event.clientX, y: event.clientY, moved: false };
      stage.setPointerCapture(event.pointerId);
    });
    stage.addEventListener("pointermove", function (event) {
      if (held) {
        var dx = event.clientX - held.x, dy = event.clientY - held.y;
        if (!held.moved && Math.hypot(dx, dy) < 4) { return; }
        held = { x: event.clientX, y: event.clientY, moved: true };
        turn(0.008 * dx, 0.008 * dy);
        return;
      }
      var found = under(event);
      stage.style.cursor = found.node < 0 ? "grab" : "pointer";
      if (found.node < 0) { hide(); return; }
      if (found.node !== state.hot) { state.hot = found.node; drawn.panels = -1; ask(); }
      show(about(found.node), found.x, found.y, stage);
    });
    stage.addEventListener("pointerup", function (event) {
      if (held && !held.moved) {
        var found = under(event).node;
        state.from = found < 0 ? null : found;
        if (found >= 0) { chooseColor("hops"); }
        everything();
      }
      held = null;
    });
    stage.addEventListener("pointercancel", function () { held = null; });
    stage.addEventListener("pointerleave", function () { if (!held) { hide(); } });
    stage.addEventListener("wheel", function (event) {
      if (event.ctrlKey || document.activeElement === stage) { event.preventDefault(); zoom(Math.exp(-0.0012 * event.deltaY)); }
    }, { passive: false });
    stage.addEventListener("dblclick", straighten);

    function straighten() {
      state.touched = false;
      aim();
      ask();
    }
    function turn(x, y) {
      state.touched = true;
      state.camera.yaw += x;
      state.camera.pitch = Math.max(-1.57, Math.min(1.57, state.camera.pitch + y));
      ask();
    }
    function zoom(by) { state.touched = true; state.camera.zoom = Math.max(0.4, Math.min(6, state.camera.zoom * by)); ask(); }

    stage.addEventListener("keydown", function (event) {
      var acts = {
        ArrowLeft: function () { turn(-0.12, 0); }, ArrowRight: function () { turn(0.12, 0); },
        ArrowUp: function () { turn(0, -0.1); }, ArrowDown: function () { turn(0, 0.1); },
        "+": function () { zoom(1.15); }, "-": function () { zoom(1 / 1.15); },
        "0": straighten,
        " ": function () { play(!state.playing); }
      };
      if (acts[event.key]) { event.preventDefault(); acts[event.key](); }
    });

    heat.addEventListener("pointermove", function (event) {
      var box = heat.getBoundingClientRect();
      var c = Math.floor((event.clientX - box.left - cells.left) / cells.cell);
      var r = Math.floor((event.clientY - box.top - cells.left) / cells.cell);
      if (c < 0 || r < 0 || c >= cells.count || r >= cells.count) { hide(); return; }
      var g = graph(), u = g.order[r], v = g.order[c], away = AtlasFilm.hops(g, [u])[v];
      state.marked = [u, v];
      drawn.panels = -1;
      ask();
      show([g.nodes[u] + " and " + g.nodes[v], "cosine " + AtlasPanels.said(cosine(u, v), 3),
        isFinite(away) ? away + (away === 1 ? " hop apart" : " hops apart") : "no path between them"],
        event.clientX - box.left, event.clientY - box.top, heat);
    });
    heat.addEventListener("pointerleave", hide);

    var dragging = false;
    function seek(event) { go(toFrame(event.clientX - curves.getBoundingClientRect().left)); }
    curves.addEventListener("pointerdown", function (event) {
      dragging = true;
      curves.setPointerCapture(event.pointerId);
      seek(event);
    });
    curves.addEventListener("pointermove", function (event) { if (dragging) { seek(event); } });
    curves.addEventListener("pointerup", function () { dragging = false; });

    state.graph = content.start[0];
    state.architecture = content.start[1];
    chooseColor(graph().ring ? "place" : "hops");
    all(".atlas-graphs input")[state.graph].checked = true;
    all(".atlas-architectures input")[state.architecture].checked = true;
    slider.max = last(film());
    state.at = state.goal = last(film());
    slider.value = state.at;
    aim();
    everything();
    new ResizeObserver(function () { drawn.panels = -1; ask(); }).observe(root);
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", everything);
    root.classList.add("ready");
    window.performance.mark("atlas-ready");
  }

  document.querySelectorAll(".atlas").forEach(start);
})();
