/* Draws a graph in space on a canvas: lit nodes, edges between them, a floor with their shadow. */
var AtlasScene = (function () {
  "use strict";

  var FAR = 5.5; // distance of the eye, in units of the picture's radius

  var MANY = 60; // links: more are drawn plainly, as without a graphics card they would take a whole frame

  var FLOOR = 0.82; // below the centre, in the same units

  function rgb(hex) {
    var n = parseInt(hex.slice(1), 16);
    return [n >> 16, (n >> 8) & 255, n & 255];
  }

  function mix(a, b, t) {
    return [a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t, a[2] + (b[2] - a[2]) * t];
  }

  function css(c, alpha) {
    var whole = c.map(Math.round).join(",");
    return alpha === undefined ? "rgb(" + whole + ")" : "rgba(" + whole + "," + alpha + ")";
  }

  /* A colour at t (0 to 1) between the stops of a palette. */
  function shade(stops, t) {
    var at = Math.max(0, Math.min(1, t)) * (stops.length - 1);
    var low = Math.min(Math.floor(at), stops.length - 2);
    return mix(rgb(stops[low]), rgb(stops[low + 1]), at - low);
  }

  /* From space to the canvas: x, y in pixels, depth (larger is nearer), and scale. */
  function lens(camera, width, height, radius) {
    var cy = Math.cos(camera.yaw), sy = Math.sin(camera.yaw);
    var cp = Math.cos(camera.pitch), sp = Math.sin(camera.pitch);
    var unit = camera.zoom * Math.min(width, height) / (2.1 * radius);
    return function (x, y, z) {
      var right = x * cy - y * sy, away = x * sy + y * cy;
      var up = z * cp + away * sp, near = z * sp - away * cp;
      var k = FAR / (FAR - near / radius);
      return [width / 2 + right * unit * k, 0.49 * height - up * unit * k, near / radius, k];
    };
  }

  function fit(canvas) {
    var ratio = Math.min(window.devicePixelRatio || 1, 2);
    var box = canvas.getBoundingClientRect();
    var w = Math.max(1, Math.round(box.width * ratio)), h = Math.max(1, Math.round(box.height * ratio));
    if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
    var pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, box.width, box.height);
    return { pen: pen, width: box.width, height: box.height };
  }

  var ramps = {};

  function ramp(stops) {
    var name = stops.join();
    return ramps[name] || (ramps[name] = Array.from({ length: 256 }, function (_, i) { return shade(stops, i / 255); }));
  }

  /* A coloured cell for each value (-1 to 1), none where it is no number: a pixel each of a small picture that is drawn large, as
   * thousands of rectangles would take longer than a frame. */
  function mosaic(pen, stops, rows, columns, value, left, top, wide, high) {
    var small = document.createElement("canvas"), colors = ramp(stops), r, c, at = 0;
    small.width = columns;
    small.height = rows;
    var brush = small.getContext("2d"), image = brush.createImageData(columns, rows), data = image.data;
    for (r = 0; r < rows; r++) {
      for (c = 0; c < columns; c++, at += 4) {
        var color = colors[Math.max(0, Math.min(255, Math.round(127.5 * (value(r, c) + 1))))];
        if (!color) { continue; }
        data[at] = color[0];
        data[at + 1] = color[1];
        data[at + 2] = color[2];
        data[at + 3] = 255;
      }
    }
    brush.putImageData(image, 0, 0);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(small, left, top, wide, high);
  }

  function ball(pen, x, y, r, color) {
    var light = pen.createRadialGradient(x - r * 0.35, y - r * 0.4, r * 0.1, x, y, r);
    light.addColorStop(0, css(mix(color, [255, 255, 255], 0.62)));
    light.addColorStop(0.45, css(color));
    light.addColorStop(1, css(mix(color, [0, 0, 0], 0.34)));
    pen.fillStyle = light;
    pen.beginPath();
    pen.arc(x, y, r, 0, 2 * Math.PI);
    pen.fill();
  }

  /* A line's colour that goes over from that of one end to that of the other. */
  function between(pen, from, to, ends) {
    var line = pen.createLinearGradient(from[0], from[1], to[0], to[1]);
    line.addColorStop(0, css(ends[0]));
    line.addColorStop(1, css(ends[1]));
    return line;
  }

  function floor(pen, see, radius, ink) {
    pen.lineWidth = 1;
    [0.45, 0.9, 1.35].forEach(function (part) {
      pen.strokeStyle = css(ink, 0.09);
      pen.beginPath();
      for (var i = 0; i <= 72; i++) {
        var turn = i / 36 * Math.PI;
        var p = see(part * radius * Math.cos(turn), part * radius * Math.sin(turn), -FLOOR * radius);
        if (i) { pen.lineTo(p[0], p[1]); } else { pen.moveTo(p[0], p[1]); }
      }
      pen.stroke();
    });
  }

  function shadow(pen, view, see, ink) {
    var xyz = view.positions, under = [];
    for (var i = 0; i < view.colors.length; i++) {
      under.push(see(xyz[3 * i], xyz[3 * i + 1], -FLOOR * view.radius));
    }
    pen.strokeStyle = css(ink, 0.1);
    pen.lineWidth = view.links.length > MANY ? 1 : 2;
    pen.beginPath();
    view.links.forEach(function (pair) {
      pen.moveTo(under[pair[0]][0], under[pair[0]][1]);
      pen.lineTo(under[pair[1]][0], under[pair[1]][1]);
    });
    pen.stroke();
    pen.fillStyle = css(ink, 0.12);
    under.forEach(function (p) {
      pen.beginPath();
      pen.ellipse(p[0], p[1], view.size * p[3], view.size * p[3] * 0.6, 0, 0, 2 * Math.PI);
      pen.fill();
    });
  }

  /*
   * Draws a view: positions (flat), links, colors ([r, g, b] each), names, radius, size of a node in
   * pixels, camera, theme {ink, card}, hot (a node or -1), near (its neighbours), plain (thumbnail).
   * Returns where the nodes are: [x, y, r] in pixels.
   */
  function draw(canvas, view) {
    var box = fit(canvas), pen = box.pen, xyz = view.positions, hot = view.hot;
    var see = lens(view.camera, box.width, box.height, view.radius);
    var count = view.colors.length, at = [], items = [];
    if (!view.plain) {
      floor(pen, see, view.radius, view.theme.ink);
      shadow(pen, view, see, view.theme.ink);
    }
    function fog(depth) { return Math.max(0, Math.min(0.62, 0.24 - 0.4 * depth)); }
    function lit(i) { return hot < 0 || i === hot || view.near.has(i); }
    for (var i = 0; i < count; i++) {
      at.push(see(xyz[3 * i], xyz[3 * i + 1], xyz[3 * i + 2]));
      items.push({ depth: at[i][2], node: i });
    }
    view.links.forEach(function (pair) {
      items.push({ depth: (at[pair[0]][2] + at[pair[1]][2]) / 2 - 0.02, pair: pair });
    });
    items.sort(function (a, b) { return a.depth - b.depth; });
    var plain = view.links.length > MANY;
    var thick = (view.plain ? 1.4 : 3.2) * Math.max(0.4, Math.min(1, Math.sqrt(30 / view.links.length)));
    pen.lineCap = "round";
    items.forEach(function (item) {
      if (item.pair) {
        var pair = item.pair, u = pair[0], v = pair[1], on = hot < 0 || u === hot || v === hot;
        var ends = pair.map(function (i) { return mix(view.colors[i], view.theme.card, on ? fog(at[i][2]) : 0.8); });
        pen.strokeStyle = plain ? css(mix(ends[0], ends[1], 0.5)) : between(pen, at[u], at[v], ends);
        pen.lineWidth = thick * (at[u][3] + at[v][3]) / 2 * (hot >= 0 && on ? 1.5 : 1);
        pen.beginPath();
        pen.moveTo(at[u][0], at[u][1]);
        pen.lineTo(at[v][0], at[v][1]);
        pen.stroke();
        return;
      }
      var p = at[item.node], r = view.size * p[3] * (item.node === hot ? 1.25 : 1);
      var color = mix(view.colors[item.node], view.theme.card, lit(item.node) ? fog(p[2]) : 0.78);
      if (view.plain) {
        pen.fillStyle = css(color);
        pen.beginPath();
        pen.arc(p[0], p[1], r, 0, 2 * Math.PI);
        pen.fill();
      } else {
        ball(pen, p[0], p[1], r, color);
      }
      if (view.roots.indexOf(item.node) >= 0 && !view.plain) {
        pen.strokeStyle = css(view.theme.ink, 0.75);
        pen.lineWidth = 1.5;
        pen.beginPath();
        pen.arc(p[0], p[1], r + 3, 0, 2 * Math.PI);
        pen.stroke();
      }
    });
    if (view.names) { label(pen, view, at, lit); }
    return at.map(function (p) { return [p[0], p[1], view.size * p[3]]; });
  }

  function label(pen, view, at, lit) {
    pen.font = "600 12px system-ui, -apple-system, 'Segoe UI', Roboto, Arial, sans-serif";
    pen.textBaseline = "middle";
    pen.lineJoin = "round";
    var order = at.map(function (_, i) { return i; }), taken = [];
    order.sort(function (i, j) { return (j === view.hot) - (i === view.hot) || at[j][2] - at[i][2]; });
    order.forEach(function (i) {
      var p = at[i], x = p[0] + view.size * p[3] + 4, y = p[1];
      var wide = pen.measureText(view.names[i]).width;
      var hidden = taken.some(function (box) {
        return x < box[0] + box[2] && box[0] < x + wide && Math.abs(y - box[1]) < 12;
      });
      if (!lit(i) || hidden) { return; } // the nearest ones are named first
      taken.push([x, y, wide]);
      pen.lineWidth = 3.5;
      pen.strokeStyle = css(view.theme.card, 0.85);
      pen.strokeText(view.names[i], x, y);
      pen.fillStyle = css(mix(view.theme.ink, view.theme.card, Math.max(0, 0.3 - 0.35 * p[2])));
      pen.fillText(view.names[i], x, y);
    });
  }

  return { css: css, draw: draw, fit: fit, lens: lens, mix: mix, mosaic: mosaic, rgb: rgb, shade: shade };
})();
