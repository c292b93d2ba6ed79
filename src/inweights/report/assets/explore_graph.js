/* Graphs to learn, and how the vectors of their nodes lie: hops, recall, Spearman, eigenspaces, a view. */
var ExploreGraph = (function () {
  "use strict";

  /* A graph is { nodes: [{x, y}] with places from 0 to 1, links: [[u, v]] }. */
  var SHAPES = {
    "cycle": function () {
      return ring(15, 0.5, 0.5, 0.4);
    },
    "path-star": function () {
      var nodes = [{ x: 0.5, y: 0.5 }], links = [];
      for (var arm = 0; arm < 4; arm++) {
        for (var k = 1; k < 5; k++) {
          var turn = arm * Math.PI / 2 + Math.PI / 4, r = 0.14 * k;
          nodes.push({ x: 0.5 + r * Math.cos(turn), y: 0.5 + r * Math.sin(turn) });
          links.push([k === 1 ? 0 : nodes.length - 2, nodes.length - 1]);
        }
      }
      return { nodes: nodes, links: links };
    },
    "grid": function () {
      var nodes = [], links = [];
      for (var r = 0; r < 4; r++) {
        for (var c = 0; c < 4; c++) {
          nodes.push({ x: 0.14 + 0.24 * c, y: 0.14 + 0.24 * r });
          if (c) { links.push([4 * r + c - 1, 4 * r + c]); }
          if (r) { links.push([4 * (r - 1) + c, 4 * r + c]); }
        }
      }
      return { nodes: nodes, links: links };
    },
    "irregular": function () {
      var graph = ring(12, 0.4, 0.5, 0.34), more = ring(4, 0.88, 0.5, 0.1);
      more.links = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];
      graph.links.push([1, 3], [5, 8]);
      more.nodes.forEach(function (node) { graph.nodes.push(node); });
      more.links.forEach(function (pair) { graph.links.push([pair[0] + 12, pair[1] + 12]); });
      return graph;
    },
    "tree": function () {
      var nodes = [{ x: 0.5, y: 0.08 }], links = [];
      for (var i = 1; i < 31; i++) {
        var level = Math.floor(Math.log2(i + 1)), place = i + 1 - Math.pow(2, level);
        nodes.push({ x: (place + 0.5) / Math.pow(2, level), y: 0.08 + 0.21 * level });
        links.push([(i - 1) >> 1, i]);
      }
      return { nodes: nodes, links: links };
    },
    "torus": function () {
      var nodes = [], links = [];
      for (var r = 0; r < 8; r++) {
        for (var c = 0; c < 8; c++) {
          nodes.push({ x: 0.08 + 0.12 * c, y: 0.08 + 0.12 * r });
          links.push([8 * r + c, 8 * r + (c + 1) % 8], [8 * r + c, 8 * ((r + 1) % 8) + c]);
        }
      }
      return { nodes: nodes, links: links };
    },
    "empty": function () { return { nodes: [], links: [] }; }
  };

  function ring(count, x, y, r) {
    var nodes = [], links = [];
    for (var i = 0; i < count; i++) {
      var turn = 2 * Math.PI * i / count - Math.PI / 2;
      nodes.push({ x: x + r * Math.cos(turn), y: y + r * Math.sin(turn) });
      links.push([i, (i + 1) % count]);
    }
    return { nodes: nodes, links: links };
  }

  /* How often u → v is told, [N, N + idle]: each edge in both directions, a node itself where wanted. */
  function targets(graph, idle, selfEdges) {
    var N = graph.nodes.length, V = N + idle, told = new Float64Array(N * V);
    graph.links.forEach(function (pair) {
      told[pair[0] * V + pair[1]] = told[pair[1] * V + pair[0]] = 1;
    });
    for (var i = 0; selfEdges && i < N; i++) { told[i * V + i] = 1; }
    return told;
  }

  function neighbours(graph) {
    var near = graph.nodes.map(function () { return []; });
    graph.links.forEach(function (pair) { near[pair[0]].push(pair[1]); near[pair[1]].push(pair[0]); });
    return near;
  }

  /* Hops between all nodes, [N][N], Infinity across components. */
  function hops(graph) {
    var near = neighbours(graph);
    return graph.nodes.map(function (_, from) {
      var away = new Array(near.length).fill(Infinity), queue = [from];
      away[from] = 0;
      while (queue.length) {
        var u = queue.shift();
        near[u].forEach(function (v) { if (away[v] === Infinity) { away[v] = away[u] + 1; queue.push(v); } });
      }
      return away;
    });
  }

  /* Share of each node's neighbours among its `degree` largest logits, over all edges; a node's own
   * logit, the largest one where embeddings are tied, counts only if it is told. */
  function recall(logits, told, N, V) {
    var hit = 0, all = 0;
    for (var i = 0; i < N; i++) {
      var order = [], degree = 0;
      for (var j = 0; j < V; j++) {
        if (j !== i || told[i * V + i]) { order.push(j); }
        degree += told[i * V + j];
      }
      order.sort(function (a, b) { return logits[i * V + b] - logits[i * V + a]; });
      for (j = 0; j < degree; j++) { hit += told[i * V + order[j]]; }
      all += degree;
    }
    return all ? hit / all : null;
  }

  function cosines(E, N, D) {
    var out = Learn.productT(E, E, N, D, N, new Float64Array(N * N)), norm = [];
    for (var i = 0; i < N; i++) { norm.push(Math.sqrt(out[i * N + i]) || 1); }
    for (i = 0; i < N * N; i++) { out[i] /= norm[Math.floor(i / N)] * norm[i % N]; }
    return out;
  }

  function ranks(values) {
    var order = values.map(function (_, i) { return i; }), out = new Float64Array(values.length);
    order.sort(function (a, b) { return values[a] - values[b]; });
    for (var i = 0; i < order.length;) {
      var j = i + 1;
      while (j < order.length && values[order[j]] - values[order[i]] < 1e-9) { j++; }
      for (var k = i; k < j; k++) { out[order[k]] = (i + j - 1) / 2; }
      i = j;
    }
    return out;
  }

  /* Spearman of cosine against hops over all pairs that a path connects; null where all are alike. */
  function spearman(cosine, away) {
    var a = [], b = [], N = away.length;
    for (var i = 0; i < N; i++) {
      for (var j = 0; j < i; j++) {
        if (isFinite(away[i][j])) { a.push(cosine[i * N + j]); b.push(away[i][j]); }
      }
    }
    if (a.length < 3) { return null; }
    var x = ranks(a), y = ranks(b), middle = (a.length - 1) / 2, xy = 0, xx = 0, yy = 0;
    for (i = 0; i < a.length; i++) {
      xy += (x[i] - middle) * (y[i] - middle);
      xx += Math.pow(x[i] - middle, 2);
      yy += Math.pow(y[i] - middle, 2);
    }
    return xx && yy ? xy / Math.sqrt(xx * yy) : null;
  }

  /* Eigenvectors of a symmetric matrix (cyclic Jacobi): values from the largest, vectors as rows. */
  function eigen(matrix, n) {
    var a = Float64Array.from(matrix), q = new Float64Array(n * n), i, k;
    for (i = 0; i < n; i++) { q[i * n + i] = 1; }
    for (var sweep = 0; sweep < 30; sweep++) {
      var off = 0;
      for (i = 0; i < n; i++) { for (k = 0; k < i; k++) { off += a[i * n + k] * a[i * n + k]; } }
      if (off < 1e-22) { break; }
      for (i = 0; i < n; i++) {
        for (k = i + 1; k < n; k++) { rotate(a, q, n, i, k); }
      }
    }
    var order = Array.from({ length: n }, function (_, at) { return at; });
    order.sort(function (x, y) { return a[y * n + y] - a[x * n + x]; });
    return {
      values: order.map(function (at) { return a[at * n + at]; }),
      vectors: order.map(function (at) { return q.slice(at * n, (at + 1) * n); })
    };
  }

  function rotate(a, q, n, i, k) {
    if (Math.abs(a[i * n + k]) < 1e-300) { return; }
    var theta = (a[k * n + k] - a[i * n + i]) / (2 * a[i * n + k]);
    var t = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
    var c = 1 / Math.sqrt(t * t + 1), s = t * c, m, x, y;
    for (m = 0; m < n; m++) {
      x = a[m * n + i]; y = a[m * n + k];
      a[m * n + i] = c * x - s * y; a[m * n + k] = s * x + c * y;
    }
    for (m = 0; m < n; m++) {
      x = a[i * n + m]; y = a[k * n + m];
      a[i * n + m] = c * x - s * y; a[k * n + m] = s * x + c * y;
      x = q[i * n + m]; y = q[k * n + m];
      q[i * n + m] = c * x - s * y; q[k * n + m] = s * x + c * y;
    }
  }

  /* Eigenspaces of P + Pᵀ − 2I, the smoothest first, without the first vector (which is constant on
   * a regular graph): tied vectors together. */
  function eigenspaces(graph) {
    var N = graph.nodes.length, near = neighbours(graph), m = new Float64Array(N * N);
    near.forEach(function (all, u) {
      all.forEach(function (v) { m[u * N + v] += 1 / all.length; m[v * N + u] += 1 / all.length; });
    });
    for (var i = 0; i < N; i++) { m[i * N + i] -= 2; }
    var found = eigen(m, N), spaces = [];
    for (i = 1; i < N; i++) {
      var last = spaces[spaces.length - 1];
      if (last && Math.abs(last.value - found.values[i]) < 1e-6) { last.vectors.push(found.vectors[i]); }
      else { spaces.push({ value: found.values[i], vectors: [found.vectors[i]] }); }
    }
    return spaces;
  }

  /* Share of the squared norm of the vectors that lies in each eigenspace. */
  function energies(E, N, D, spaces) {
    var parts = spaces.map(function (space) {
      var sum = 0;
      space.vectors.forEach(function (vector) {
        var along = Learn.product(vector, E.subarray(0, N * D), 1, N, D, new Float64Array(D));
        for (var d = 0; d < D; d++) { sum += along[d] * along[d]; }
      });
      return sum;
    });
    var total = parts.reduce(function (a, b) { return a + b; }, 0) || 1;
    return parts.map(function (part) { return part / total; });
  }

  /*
   * A view of the vectors in space: a basis of three directions that goes after the leading ones a
   * little each frame (orthogonal iteration), so that what moves on the screen has moved.
   */
  function view(width, seed) {
    var next = Learn.normal(seed), basis = Float64Array.from({ length: 3 * width }, next);
    orthonormal(basis, width);
    return function (E, N) {
      var X = new Float64Array(N * width), mean = new Float64Array(width), i, power = 0;
      for (i = 0; i < N * width; i++) { mean[i % width] += E[i] / N; }
      for (i = 0; i < N * width; i++) { X[i] = E[i] - mean[i % width]; power += X[i] * X[i]; }
      for (var turn = 0; turn < 3; turn++) {
        var along = Learn.productT(basis, X, 3, width, N, new Float64Array(3 * N));
        var moved = Learn.product(along, X, 3, N, width, new Float64Array(3 * width));
        if (moved.every(function (value) { return value === 0; })) { break; }
        basis.set(moved);
        orthonormal(basis, width);
      }
      var places = Learn.productT(X, basis, N, width, 3, new Float64Array(3 * N)), shown = 0, radius = 0;
      for (i = 0; i < N; i++) {
        var r = 0;
        for (var k = 0; k < 3; k++) { r += places[3 * i + k] * places[3 * i + k]; }
        shown += r;
        radius = Math.max(radius, Math.sqrt(r));
      }
      return { places: places, radius: radius || 1, shown: power ? shown / power : 0 };
    };
  }

  function orthonormal(rows, width) {
    for (var i = 0; i < Math.min(3, width); i++) {
      for (var j = 0; j < i; j++) {
        var dot = 0;
        for (var d = 0; d < width; d++) { dot += rows[i * width + d] * rows[j * width + d]; }
        for (d = 0; d < width; d++) { rows[i * width + d] -= dot * rows[j * width + d]; }
      }
      var norm = 0;
      for (d = 0; d < width; d++) { norm += rows[i * width + d] * rows[i * width + d]; }
      norm = Math.sqrt(norm) || 1;
      for (d = 0; d < width; d++) { rows[i * width + d] /= norm; }
    }
    for (d = 3 * width - (width < 3 ? (3 - width) * width : 0); d < 3 * width; d++) { rows[d] = 0; }
  }

  /* Nodes in depth-first order, so that a path or ring is a band along the diagonal. */
  function order(graph) {
    var near = neighbours(graph), seen = new Set(), out = [];
    function visit(u) {
      if (seen.has(u)) { return; }
      seen.add(u);
      out.push(u);
      near[u].forEach(visit);
    }
    graph.nodes.forEach(function (_, u) { visit(u); });
    return out;
  }

  return {
    SHAPES: SHAPES, cosines: cosines, eigenspaces: eigenspaces, energies: energies, hops: hops,
    neighbours: neighbours, order: order, recall: recall, spearman: spearman, targets: targets, view: view
  };
})();
