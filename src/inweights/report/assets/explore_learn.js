/*
 * Three models that learn in the page, in double precision: the same arithmetic as in Python, which a
 * test holds them to. Matrices are flat, row after row. N nodes or prompts, V tokens, D width,
 * K outputs.
 */
var Learn = (function () {
  "use strict";

  /* a [m, k] times b [k, n]. */
  function product(a, b, m, k, n, out) {
    out.fill(0);
    for (var i = 0; i < m; i++) {
      for (var p = 0; p < k; p++) {
        var x = a[i * k + p];
        if (x === 0) { continue; }
        for (var j = 0, at = i * n, from = p * n; j < n; j++) { out[at + j] += x * b[from + j]; }
      }
    }
    return out;
  }

  /* a [m, k] times the transpose of b [n, k]. */
  function productT(a, b, m, k, n, out) {
    for (var i = 0; i < m; i++) {
      for (var j = 0; j < n; j++) {
        var sum = 0;
        for (var p = 0, x = i * k, y = j * k; p < k; p++) { sum += a[x + p] * b[y + p]; }
        out[i * n + j] = sum;
      }
    }
    return out;
  }

  /* The transpose of a [k, m] times b [k, n], added to out. */
  function addTproduct(a, b, m, k, n, out) {
    for (var p = 0; p < k; p++) {
      for (var i = 0; i < m; i++) {
        var x = a[p * m + i];
        if (x === 0) { continue; }
        for (var j = 0, at = i * n, from = p * n; j < n; j++) { out[at + j] += x * b[from + j]; }
      }
    }
    return out;
  }

  /* Rows become probabilities; returns the log of each row's sum of exponentials. */
  function softmax(z, rows, columns) {
    var logs = new Float64Array(rows);
    for (var i = 0; i < rows; i++) {
      var most = -Infinity, sum = 0, at = i * columns, j;
      for (j = 0; j < columns; j++) { if (z[at + j] > most) { most = z[at + j]; } }
      for (j = 0; j < columns; j++) { sum += z[at + j] = Math.exp(z[at + j] - most); }
      for (j = 0; j < columns; j++) { z[at + j] /= sum; }
      logs[i] = most + Math.log(sum);
    }
    return logs;
  }

  /* Normal numbers of a seed (mulberry32 and Box-Muller): the same seed, the same start. */
  function normal(seed) {
    var state = seed >>> 0, spare = null;
    function uniform() {
      state = (state + 0x6D2B79F5) >>> 0;
      var t = Math.imul(state ^ state >>> 15, 1 | state);
      t = t + Math.imul(t ^ t >>> 7, 61 | t) ^ t;
      return ((t ^ t >>> 14) >>> 0) / 4294967296;
    }
    return function () {
      if (spare !== null) { var kept = spare; spare = null; return kept; }
      var radius = Math.sqrt(-2 * Math.log(1 - uniform())), turn = 2 * Math.PI * uniform();
      spare = radius * Math.sin(turn);
      return radius * Math.cos(turn);
    };
  }

  function drawn(size, std, next) {
    return Float64Array.from({ length: size }, function () { return std * next(); });
  }

  /* One step of Adam with decoupled weight decay (Loshchilov & Hutter), as in PyTorch. */
  function adamw(p, g, state, rate, decay) {
    var b1 = 0.9, b2 = 0.999, eps = 1e-8;
    state.t += 1;
    var c1 = 1 - Math.pow(b1, state.t), c2 = Math.sqrt(1 - Math.pow(b2, state.t));
    for (var i = 0; i < p.length; i++) {
      var m = state.m[i] = b1 * state.m[i] + (1 - b1) * g[i];
      var v = state.v[i] = b2 * state.v[i] + (1 - b2) * g[i] * g[i];
      p[i] = p[i] * (1 - rate * decay) - rate / c1 * m / (Math.sqrt(v) / c2 + eps);
    }
  }

  function moments(size) { return { t: 0, m: new Float64Array(size), v: new Float64Array(size) }; }

  /*
   * Node2Vec (Geometric Memory, appendix F): V ← V + η C V, C = (P − S) + (P − S)ᵀ, with S the row
   * softmax of V Vᵀ and P the random walk. `targets` [N, V]: how often u → v is told.
   */
  function node2vec(options) {
    var D = options.width, next = normal(options.seed);
    var E = options.start ? Float64Array.from(options.start.E) : drawn(options.tokens * D, options.std, next);
    function step(targets, N, V, rate) {
      var S = productT(E, E, V, D, V, new Float64Array(V * V)), C = new Float64Array(V * V);
      var logits = S.slice(), logs = softmax(S, V, V), loss = 0;
      for (var i = 0; i < N; i++) {
        var degree = 0, j;
        for (j = 0; j < V; j++) { degree += targets[i * V + j]; }
        if (!degree) { continue; }
        for (j = 0; j < V; j++) {
          var share = targets[i * V + j] / degree, part = share - S[i * V + j];
          loss += share * (logs[i] - logits[i * V + j]);
          C[i * V + j] += part;
          C[j * V + i] += part;
        }
      }
      var move = product(C, E, V, V, D, new Float64Array(V * D));
      for (var k = 0; k < move.length; k++) { E[k] += rate * move[k]; }
      return loss / N;
    }
    function logits(N, V) { return productT(E, E, N, D, V, new Float64Array(N * V)); }
    function grow(tokens) { E = extended(E, tokens * D, options.std, next); }
    function keep(rows) { E = chosen(E, rows, D); }
    return { step: step, logits: logits, grow: grow, keep: keep, embedding: function () { return E; } };
  }

  /* TinyNN (Geometric Memory, B.2.2): logits = (E W + b) Eᵀ, mean cross-entropy of all facts, AdamW. */
  function tinyNN(options) {
    var D = options.width, next = normal(options.seed), given = options.start;
    var E = given ? Float64Array.from(given.E) : drawn(options.tokens * D, options.std, next);
    var W = given ? Float64Array.from(given.W) : drawn(D * D, options.std, next);
    var b = new Float64Array(D), state = { E: moments(E.length), W: moments(D * D), b: moments(D) };
    function hidden(N) {
      var H = product(E.subarray(0, N * D), W, N, D, D, new Float64Array(N * D));
      for (var i = 0; i < H.length; i++) { H[i] += b[i % D]; }
      return H;
    }
    function step(targets, N, V, rate) {
      var H = hidden(N), G = productT(H, E, N, D, V, new Float64Array(N * V)), z = G.slice();
      var logs = softmax(G, N, V), facts = 0, loss = 0, i, j;
      for (i = 0; i < N * V; i++) { facts += targets[i]; }
      for (i = 0; i < N; i++) {
        var told = 0;
        for (j = 0; j < V; j++) { told += targets[i * V + j]; }
        for (j = 0; j < V; j++) {
          var at = i * V + j;
          loss += targets[at] / facts * (logs[i] - z[at]);
          G[at] = (told * G[at] - targets[at]) / facts;
        }
      }
      var inputs = E.subarray(0, N * D), dH = product(G, E, N, V, D, new Float64Array(N * D));
      var dE = addTproduct(G, H, V, N, D, new Float64Array(V * D));
      var dW = addTproduct(inputs, dH, D, N, D, new Float64Array(D * D)), db = new Float64Array(D);
      var back = productT(dH, W, N, D, D, new Float64Array(N * D));
      for (i = 0; i < N * D; i++) { dE[i] += back[i]; db[i % D] += dH[i]; }
      adamw(E, dE, state.E, rate, 0);
      adamw(W, dW, state.W, rate, 0);
      adamw(b, db, state.b, rate, 0);
      return loss;
    }
    function logits(N, V) { return productT(hidden(N), E, N, D, V, new Float64Array(N * V)); }
    function grow(tokens) {
      E = extended(E, tokens * D, options.std, next);
      state.E = { t: state.E.t, m: extended(state.E.m, tokens * D, 0, next), v: extended(state.E.v, tokens * D, 0, next) };
    }
    function keep(rows) {
      E = chosen(E, rows, D);
      state.E = { t: state.E.t, m: chosen(state.E.m, rows, D), v: chosen(state.E.v, rows, D) };
    }
    return { step: step, logits: logits, grow: grow, keep: keep, embedding: function () { return E; } };
  }

  function extended(values, size, std, next) {
    var out = new Float64Array(size);
    for (var i = 0; i < size; i++) { out[i] = i < values.length ? values[i] : (std ? std * next() : 0); }
    return out;
  }

  function chosen(values, rows, width) {
    var out = new Float64Array(rows.length * width);
    rows.forEach(function (row, i) { out.set(values.subarray(row * width, (row + 1) * width), i * width); });
    return out;
  }

  /*
   * Emb-MLP (Identity Bridge, Definition 1): logits = (Σ e_t) W_proj, mean cross-entropy of the
   * facts, gradient descent. `facts`: [{prompt: [tokens], answer: output}].
   */
  function embMLP(options) {
    var D = options.width, V = options.tokens, K = options.outputs, next = normal(options.seed);
    var given = options.start;
    var E = given ? Float64Array.from(given.E) : drawn(V * D, options.std, next);
    var P = given ? Float64Array.from(given.P) : drawn(D * K, options.std, next);
    function sums(prompts) {
      var x = new Float64Array(prompts.length * D);
      prompts.forEach(function (tokens, i) {
        tokens.forEach(function (t) { for (var d = 0; d < D; d++) { x[i * D + d] += E[t * D + d]; } });
      });
      return x;
    }
    function logits(prompts) {
      return product(sums(prompts), P, prompts.length, D, K, new Float64Array(prompts.length * K));
    }
    function step(facts, rate) {
      var F = facts.length, prompts = facts.map(function (fact) { return fact.prompt; }), x = sums(prompts);
      var G = product(x, P, F, D, K, new Float64Array(F * K)), z = G.slice(), logs = softmax(G, F, K), loss = 0;
      facts.forEach(function (fact, i) {
        loss += (logs[i] - z[i * K + fact.answer]) / F;
        G[i * K + fact.answer] -= 1;
      });
      for (var i = 0; i < G.length; i++) { G[i] /= F; }
      var dP = addTproduct(x, G, D, F, K, new Float64Array(D * K));
      var dx = productT(G, P, F, K, D, new Float64Array(F * D));
      prompts.forEach(function (tokens, f) {
        tokens.forEach(function (t) { for (var d = 0; d < D; d++) { E[t * D + d] -= rate * dx[f * D + d]; } });
      });
      for (i = 0; i < P.length; i++) { P[i] -= rate * dP[i]; }
      return loss;
    }
    function templates() { return product(E, P, V, D, K, new Float64Array(V * K)); }
    return { step: step, logits: logits, templates: templates };
  }

  /*
   * The steps of one frame: `most` of them where the machine is quick enough. None begins after 6 ms, so
   * that drawing has the rest of the 16.7 ms of a frame; none begins after one that answers false.
   */
  function steps(most, step) {
    var begun = window.performance.now();
    for (var i = 0; i < most && window.performance.now() - begun < 6; i++) {
      if (!step()) { return false; }
    }
    return true;
  }

  return { embMLP: embMLP, node2vec: node2vec, normal: normal, product: product, productT: productT, steps: steps, tinyNN: tinyNN };
})();
