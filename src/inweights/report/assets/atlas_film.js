/* What a film holds, as numbers: unpacked frames, hops over the graph's edges, where to look from. */
var AtlasFilm = (function () {
  "use strict";

  /* Numbers stored as 16-bit integers, base64, times a scale. */
  function unpack(stored) {
    var text = window.atob(stored.data), bytes = new Uint8Array(text.length);
    for (var i = 0; i < text.length; i++) { bytes[i] = text.charCodeAt(i); }
    var view = new DataView(bytes.buffer), out = new Float32Array(bytes.length / 2);
    for (var j = 0; j < out.length; j++) { out[j] = view.getInt16(2 * j, true) * stored.scale; }
    return out;
  }

  /* Hops of every node from the nearest of some nodes. */
  function hops(graph, from) {
    var found = graph.nodes.map(function () { return Infinity; }), queue = from.slice();
    queue.forEach(function (node) { found[node] = 0; });
    for (var i = 0; i < queue.length; i++) {
      graph.near[queue[i]].forEach(function (node) {
        if (found[node] === Infinity) { found[node] = found[queue[i]] + 1; queue.push(node); }
      });
    }
    return found;
  }

  /* The camera from which no node hides another, as well as can be, in the last frame. */
  function best(film, count) {
    if (film.best) { return film.best; }
    var xyz = film.positions.slice(-3 * count), least = Infinity;
    var some = Math.min(count, 60); // pairs of the first nodes say enough
    for (var turn = 0; turn < 36; turn++) {
      for (var lean = 0; lean < 5; lean++) {
        var yaw = turn * Math.PI / 18, pitch = 0.32 + 0.12 * lean, push = 0;
        var see = AtlasScene.lens({ yaw: yaw, pitch: pitch, zoom: 1 }, 2, 2, film.radius), at = [];
        for (var i = 0; i < some; i++) {
          at.push(see(xyz[3 * i], xyz[3 * i + 1], xyz[3 * i + 2]));
          for (var j = 0; j < i; j++) {
            push += 1 / (Math.pow(at[i][0] - at[j][0], 2) + Math.pow(at[i][1] - at[j][1], 2) + 0.004);
          }
        }
        if (push < least) { least = push; film.best = { yaw: yaw, pitch: pitch, zoom: 1 }; }
      }
    }
    return film.best;
  }

  return { best: best, hops: hops, unpack: unpack };
})();
