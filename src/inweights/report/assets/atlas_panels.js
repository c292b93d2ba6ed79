/* The panels beside the picture in space: cosines, energy by eigenspace, two numbers over steps. */
var AtlasPanels = (function () {
  "use strict";

  var SPACE = "http://www.w3.org/2000/svg";

  function make(name, attributes, parent, text) {
    var node = document.createElementNS(SPACE, name);
    Object.keys(attributes).forEach(function (key) { node.setAttribute(key, attributes[key]); });
    if (text !== undefined) { node.textContent = text; }
    if (parent) { parent.appendChild(node); }
    return node;
  }

  function cleared(svg) {
    while (svg.firstChild) { svg.removeChild(svg.firstChild); }
    var box = svg.getBoundingClientRect();
    svg.setAttribute("viewBox", "0 0 " + box.width + " " + box.height);
    return box;
  }

  function said(value, digits) {
    if (value === null || value === undefined) { return "–"; }
    return value.toFixed(digits).replace("-", "−");
  }

  /* One cell a pair, in the given order of nodes; returns the geometry, for the pointer. */
  function heat(canvas, view) {
    var box = AtlasScene.fit(canvas), pen = box.pen, n = view.order.length;
    var strip = 8, side = Math.min(box.width, box.height) - strip - 3, cell = side / n;
    var left = strip + 3;
    AtlasScene.mosaic(pen, view.stops, n, n, function (r, c) { return view.cosine(view.order[r], view.order[c]); }, left, left, side, side);
    view.order.forEach(function (node, i) {
      pen.fillStyle = AtlasScene.css(view.colors[node]);
      pen.fillRect(0, left + i * cell + 0.5, strip, Math.max(1, cell - 1));
      pen.fillRect(left + i * cell + 0.5, 0, Math.max(1, cell - 1), strip);
    });
    pen.strokeStyle = AtlasScene.css(view.theme.ink);
    pen.lineWidth = 1.5;
    view.marked.forEach(function (node) {
      var i = view.order.indexOf(node);
      pen.strokeRect(left, left + i * cell, side, cell);
      pen.strokeRect(left + i * cell, left, cell, side);
    });
    return { left: left, cell: cell, count: n };
  }

  function energy(svg, view) {
    var box = cleared(svg), count = view.energies.length;
    var left = 36, right = 4, top = 6, bottom = 18;
    var wide = (box.width - left - right) / count, tall = box.height - top - bottom;
    [0, view.most / 2, view.most].forEach(function (value) {
      var y = top + (1 - value / view.most) * tall;
      make("line", { x1: left, x2: box.width - right, y1: y, y2: y, class: "grid" }, svg);
      make("text", { x: left - 6, y: y + 4, class: "tick", "text-anchor": "end" }, svg, said(100 * value, 0) + "%");
    });
    var every = Math.ceil(count / 14);
    view.energies.forEach(function (share, i) {
      var x = left + i * wide, high = Math.max(0, share) / view.most * tall;
      var bar = make("g", { class: "space" }, svg);
      make("rect", { x: x, y: top, width: wide, height: tall, fill: "transparent" }, bar);
      make("rect", {
        x: x + wide * 0.16, y: top + tall - high, width: wide * 0.68, height: high, rx: Math.min(3, wide / 6),
        fill: AtlasScene.css(AtlasScene.shade(view.stops, count > 1 ? i / (count - 1) : 0)), class: "share"
      }, bar);
      var chance = top + (1 - view.chance[i] / view.most) * tall;
      make("line", { x1: x + wide * 0.06, x2: x + wide * 0.94, y1: chance, y2: chance, class: "chance" }, bar);
      make("title", {}, bar, "eigenspace " + (i + 1) + ", eigenvalue " + said(view.eigenvalues[i], 3) + ", " +
        view.sizes[i] + (view.sizes[i] === 1 ? " dimension: " : " dimensions: ") + said(100 * share, 1) +
        "% of the energy; random vectors " + said(100 * view.chance[i], 1) + "%");
      if (i % every === 0) {
        make("text", { x: x + wide / 2, y: box.height - 4, class: "tick", "text-anchor": "middle" }, svg, i + 1);
      }
    });
  }

  /* Both curves from −1 (or `least`) to 1 over steps, with the cursor; returns a map from pixels to frames. */
  function curves(svg, view) {
    var box = cleared(svg), left = 36, right = 12, top = 8, bottom = 18;
    var wide = box.width - left - right, tall = box.height - top - bottom;
    var steps = view.steps, last = steps[steps.length - 1];
    var least = (steps.length > 1 ? steps[1] : 1) / 2;
    var range = Math.log(Math.max(last, 2 * least) / least);
    function x(step) { return left + Math.log(Math.max(step, least) / least) / range * wide; }
    var low = view.least === undefined ? -1 : view.least;
    function y(value) { return top + (1 - value) / (1 - low) * tall; }
    (low < 0 ? [low, 0, 1] : [low, 1]).forEach(function (value) {
      make("line", { x1: left, x2: left + wide, y1: y(value), y2: y(value), class: value ? "grid" : "grid zero" }, svg);
      make("text", { x: left - 6, y: y(value) + 4, class: "tick", "text-anchor": "end" }, svg, said(value, 0));
    });
    make("text", { x: left, y: box.height - 4, class: "tick", "text-anchor": "middle" }, svg, "0");
    for (var step = 1; step <= last; step *= 10) {
      if (x(step) > left + 16) {
        var edge = x(step) > left + wide - 14;
        make("text", {
          x: edge ? left + wide + right : x(step), y: box.height - 4, class: "tick", "text-anchor": edge ? "end" : "middle"
        }, svg, step.toLocaleString("en"));
      }
    }
    [["recall", view.recall], ["rho", view.spearman]].forEach(function (pair) {
      var points = [];
      steps.forEach(function (step, i) {
        if (pair[1][i] !== null) { points.push(x(step).toFixed(1) + "," + y(pair[1][i]).toFixed(1)); }
      });
      make("polyline", { points: points.join(" "), class: "curve " + pair[0] }, svg);
    });
    var at = x(steps[view.frame]);
    make("line", { x1: at, x2: at, y1: top, y2: top + tall, class: "cursor" }, svg);
    [["recall", view.recall], ["rho", view.spearman]].forEach(function (pair) {
      var value = pair[1][view.frame];
      if (value !== null) { make("circle", { cx: at, cy: y(value), r: 4.5, class: "dot " + pair[0] }, svg); }
    });
    return function (px) {
      var best = 0;
      steps.forEach(function (step, i) {
        if (Math.abs(x(step) - px) < Math.abs(x(steps[best]) - px)) { best = i; }
      });
      return best;
    };
  }

  return { curves: curves, energy: energy, heat: heat, make: make, said: said };
})();
