/* Plays a figure through training: one slider moves cursor, matrix and states together. */
(function () {
  "use strict";

  function placed(layout, width) {
    var wide = width >= 760;
    var titles = layout.meta.titles;
    var out = Object.assign({}, layout);
    var inner = width - 66;
    var left = layout.meta.left;
    var rest = inner - (left + 22) - 78;
    var part = [0.36 * rest, 0.31 * rest, 0.33 * rest];
    var second = part[0] + left + 22;
    var x = wide
      ? [[0, part[0] / inner], [second / inner, (second + part[1]) / inner], [1 - part[2] / inner, 1]]
      : [[0.02, 1], [Math.max(0.02, (left - 48) / inner), 0.84], [0.02, 0.98]];
    var y = wide ? [[0, 0.91], [0, 0.91], [0, 0.91]] : [[0.76, 1], [0.38, 0.62], [0, 0.28]];
    ["", "2", "3"].forEach(function (k, i) {
      out["xaxis" + k] = Object.assign({}, layout["xaxis" + k], { domain: x[i] });
      out["yaxis" + k] = Object.assign({}, layout["yaxis" + k], { domain: y[i] });
    });
    out.width = width;
    out.height = Math.round(wide ? Math.max(300, 58 + part[2] / 0.91) : width * 2.7);
    out.margin = { l: 56, r: 10, t: wide ? 12 : 8, b: 46 };
    var font = { size: 12 };
    var base = { orientation: "h", xanchor: "left", yanchor: "bottom", font: font };
    out.legend2 = Object.assign({ x: x[2][0] - 0.02, y: y[2][1] + 0.015 }, base);
    out.annotations = [{
      text: "<b>" + titles[0] + "</b>", showarrow: false, xref: "paper", yref: "paper",
      x: x[1][0], y: y[1][1] + 0.02, xanchor: "left", yanchor: "bottom", font: { size: 13 }
    }, {
      text: titles[1], showarrow: false, xref: "paper", yref: "paper",
      x: (x[2][0] + x[2][1]) / 2, y: y[2][0] - 0.02, xanchor: "center", yanchor: "top", font: font
    }].concat(layout.annotations);
    out.bar = { x: x[1][1] + 0.008, y: (y[1][0] + y[1][1]) / 2, len: (y[1][1] - y[1][0]) * 0.8 };
    return out;
  }

  function changed(trace, change) {
    var out = Object.assign({}, trace);
    Object.keys(change).forEach(function (key) {
      var path = key.split(".");
      if (path.length === 1) { out[key] = change[key]; return; }
      out[path[0]] = Object.assign({}, out[path[0]]);
      out[path[0]][path[1]] = change[key];
    });
    return out;
  }

  function start(root) {
    var content = JSON.parse(root.querySelector("script").textContent);
    var plot = root.querySelector(".player-plot");
    var slider = root.querySelector("input");
    var button = root.querySelector("button");
    var output = root.querySelector("output");
    var read = root.querySelector(".player-read");
    var still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    var timer = null;

    var values = content.curves.map(function (curve) {
      var item = document.createElement("span");
      var mark = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      var line = document.createElementNS("http://www.w3.org/2000/svg", "line");
      var value = document.createElement("b");
      mark.setAttribute("aria-hidden", "true");
      mark.setAttribute("viewBox", "0 0 30 6");
      [["x2", 30], ["y1", 3], ["y2", 3], ["stroke", curve.color], ["stroke-width", 2.4],
        ["stroke-dasharray", curve.dash]].forEach(function (pair) {
        line.setAttribute(pair[0], pair[1]);
      });
      mark.appendChild(line);
      item.append(mark, curve.name + " ", value);
      read.appendChild(item);
      return value;
    });

    function show() {
      var frame = content.frames[Number(slider.value)];
      var traces = content.traces.slice();
      frame.changes.forEach(function (pair) {
        traces[pair[0]] = changed(traces[pair[0]], pair[1]);
      });
      var layout = placed(content.layout, plot.clientWidth);
      traces = traces.map(function (trace) {
        if (trace.type !== "heatmap") { return trace; }
        return Object.assign({}, trace, { colorbar: Object.assign({}, trace.colorbar, layout.bar) });
      });
      delete layout.bar;
      layout.shapes = [{
        type: "line", xref: "x", yref: "y domain", x0: frame.cursor, x1: frame.cursor, y0: 0, y1: 1,
        line: { color: "#1d2430", width: 1.6, dash: "dot" }, name: "cursor"
      }].concat(content.layout.shapes);
      output.textContent = frame.text;
      slider.setAttribute("aria-valuetext", frame.text);
      frame.read.forEach(function (value, i) { values[i].textContent = value; });
      root.dataset.step = frame.step;
      return Plotly.react(plot, traces, layout, { displayModeBar: false, responsive: false });
    }

    function stop() {
      window.clearInterval(timer);
      timer = null;
      button.textContent = "Play";
    }

    function play() {
      if (timer !== null) { stop(); return; }
      var last = Number(slider.max);
      if (Number(slider.value) >= last) { slider.value = 0; }
      button.textContent = "Pause";
      show();
      timer = window.setInterval(function () {
        slider.value = Number(slider.value) + 1;
        show();
        if (Number(slider.value) >= last) { stop(); }
      }, still ? 900 : Math.max(120, Math.min(500, 9000 / (last + 1))));
    }

    button.addEventListener("click", play);
    slider.addEventListener("input", function () { stop(); show(); });
    show();
    plot.on("plotly_click", function (event) {
      var point = event.points[0];
      if (point.data.xaxis && point.data.xaxis !== "x") { return; }
      var best = 0;
      content.frames.forEach(function (frame, i) {
        var gap = Math.abs(frame.step - point.x);
        if (gap < Math.abs(content.frames[best].step - point.x)) { best = i; }
      });
      stop();
      slider.value = best;
      show();
    });
    var width = plot.clientWidth;
    window.addEventListener("resize", function () {
      if (plot.clientWidth !== width) { width = plot.clientWidth; show(); }
    });
    root.classList.add("ready");
  }

  document.querySelectorAll(".player").forEach(start);
})();
