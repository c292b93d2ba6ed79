"""The steps of the proofs of Identity Bridge (App. A), each as a number at a given ``n``.

Every function returns rows ``check, value``. What is asked of a value (to be 0, positive, …) is
said where the check is described; recipes turn that into claims. Problem (11) and what is checked
at random points is in :mod:`~inweights.theory.identity_bridge.proof_kkt`.
"""

from dataclasses import astuple, replace

import numpy as np
import polars as pl

from inweights.theory.identity_bridge.proof_kkt import check_rows
from inweights.theory.programs.closed_form import MARGIN_LIMIT, closed_form
from inweights.theory.programs.nuclear_norm import solve
from inweights.theory.programs.symmetric import Parameters, average, constraints
from inweights.theory.programs.symmetric_solver import solve_symmetric
from inweights.worlds.arrays import Floats
from inweights.worlds.families.two_hop import TwoHop

_TILT = 1e-4


def certificate(n: int, identity: bool) -> pl.DataFrame:
    """The proof of the closed form, checked on whole matrices with nothing but NumPy.

    - ``feasible``: least slack of all margins of ``X W``.
    - ``operator norm``: ``‖Xᵀ U‖_op - 1``.  ``gap``: of norm and sum of the multipliers, relative.
    - ``least multiplier``: of those that are claimed to be positive, times ``n``.
    - ``tight``: largest slack of their margins.
    - ``strict``: 1 minus the largest singular value of ``Xᵀ U`` that is not 1.
    - ``unique``: least singular value of the map from ``P`` to the tight margins of ``X G P``, for
      symmetric ``P`` on the space where ``G = Xᵀ U`` keeps lengths. Positive: one optimum.
    - ``assumption 2``: length of the part of ``(1, …, 1)`` in that space, over its own length. 0:
      the logits of every row of every optimum sum to 0.
    """
    known = closed_form(n, identity=identity)
    w, x = known.parameters.matrix(n), known.prompts()
    answers, prices = known.answers(), known.prices()
    logits, prompts = x @ w, np.arange(len(x))
    slack = logits[prompts, answers][:, None] - logits - 1.0
    others = np.ones_like(slack, dtype=bool)
    others[prompts, answers] = False
    g = x.T @ known.dual()
    _, sizes, turned = np.linalg.svd(g)
    top = sizes > 1 - 1e-9
    v = turned[: len(sizes)][top].T
    # The tight margins of X G (v_i v_jᵀ + v_j v_iᵀ), column by column.
    images, rows, columns = x @ g @ v, *np.nonzero(prices > 0)
    tops = v[answers[rows]] - v[columns]
    i, j = np.triu_indices(v.shape[1])
    size = np.where(i == j, 0.5, np.sqrt(0.5))
    tight = images[rows]
    map_ = size * (tight[:, i] * tops[:, j] + tight[:, j] * tops[:, i])
    ones = np.ones(2 * n) / np.sqrt(2 * n)
    nuclear = float(np.linalg.svd(w, compute_uv=False).sum())
    return check_rows(
        {
            "feasible": float(slack[others].min()),
            "operator norm": float(sizes[0]) - 1,
            "gap": 1 - float(prices.sum()) / nuclear,
            "least multiplier": n * min(v for v in known.multipliers.values() if v > 0),
            "tight": float(np.abs(slack[prices > 0]).max()),
            "strict": 1 - float(sizes[~top].max()),
            "unique": float(np.linalg.svd(map_, compute_uv=False)[-1]),
            "assumption 2": float(np.linalg.norm(v.T @ ones)),
        }
    )


def with_identity(n: int) -> pl.DataFrame:
    """Theorem 1 and the steps of its proof (A.1, A.2), at the optimum of program (2).

    - ``gap``, ``kkt``: how well it is known.
    - ``thm 1``: margin of every composition, read off rows of the matrix; ``excess n``: how far it
      is above ``1/√(2 + √2)``, times ``n``.
    - ``closed form``: excess of the closed form over the bound that the central path certifies.
    - ``lemma 1``: relative difference of the optimum to that under (4) and (5), which leave the
      constraint against other objects out.  ``lemma 3``: to that of problem (8).
    - ``(12) a1``, ``(12) g2``: ``a1 - 1``, and the margin of ``(a_1, r1)`` over its own object,
      minus 1.  ``(13)``: the query's own object minus its bridge, in logits.
    - ``(19)``: ``f + 1``.  ``prop 2``: ``a1 + n a2 - e`` at the optimum of (8), found by itself.
    - ``assumption 4 c1``, ``assumption 4 a2``: their sizes.  ``assumption 4 t``: ``t``.
    """
    best = solve_symmetric(n)
    path = solve_symmetric(n, closed=False)
    reduced = solve_symmetric(n, complete=False)
    eight = solve_symmetric(n, complete=False, zero_sum=True)
    p, q = best.parameters, eight.parameters
    hop = p.row("a", n) + p.row("r1", n)
    query = hop + p.row("r2", n)
    margin = p.margin("a r1 r2", "c", n)
    return check_rows(
        {
            "gap": best.gap,
            "kkt": best.kkt,
            "thm 1": margin,
            "excess n": n * (margin - MARGIN_LIMIT),
            "closed form": 1 - path.optimum * (1 - path.gap) / best.optimum,
            "lemma 1": abs(1 - reduced.optimum / best.optimum),
            "lemma 3": abs(1 - eight.optimum / best.optimum),
            "(12) a1": hop[0] - hop[1] - 1,
            "(12) g2": hop[0] - hop[n] - 1,
            "(13)": query[n] - query[0],
            "(19)": p.f + 1,
            "prop 2": q.a1 + n * q.a2 - q.e,
            "assumption 4 c1": p.c1,
            "assumption 4 a2": abs(p.a2),
            "assumption 4 t": abs(p.a1 * p.d1 - p.b1 * p.c1),
        }
    )


def without(n: int) -> pl.DataFrame:
    """Theorem 2 and the steps of its proof (A.3), without identity.

    - ``gap``; ``thm 2``: margin of every composition, read off rows of the matrix; ``(38)``: own
      object minus bridge in a subject's row, which is ``b1 + b2 - a1 - a2`` in the form (34).
    - ``closed form``: excess of the closed form over the bound that the central path certifies.
    - ``lemma 4``: by how much the optimum of problem (36) falls short of that of (2), relative.
    - ``step 1``: ``|b1| - a1`` at the optimum of (36).
    - ``(39)``: multiplier of the own object in (36), over ``n - 1``, which is put at 0; ``(41)``:
      that of ``a1 ≥ 1`` over ``2 (n - 1)``, minus 1.
    - ``(43)``: ``|a1 + n a2| + |α|`` at the optimum of (36), which (43) and (44) put at 0.
    - ``(36) range``: how far ``b1`` varies over the optima of (36).
    """
    best = solve_symmetric(n, identity=False)
    path = solve_symmetric(n, identity=False, closed=False)
    paper = solve_symmetric(n, identity=False, complete=False, zero_sum=True)
    ends = [
        solve_symmetric(
            n, identity=False, complete=False, zero_sum=True,
            tilt=Parameters(b1=s * _TILT, c1=s * _TILT), gap=1e-6,
        ).parameters.b1
        for s in (1, -1)
    ]  # fmt: skip
    p, q, prices = best.parameters, paper.parameters, paper.multipliers
    subject = p.row("a", n)
    hops = prices["first hop, other bridge"] + prices["second hop, other object"]
    objects = prices["first hop, own object"] + prices["second hop, own bridge"]
    return check_rows(
        {
            "gap": best.gap,
            "thm 2": p.margin("a r1 r2", "c", n),
            "(38)": subject[n] - subject[0],
            "closed form": 1 - path.optimum * (1 - path.gap) / best.optimum,
            "lemma 4": 1 - paper.optimum / best.optimum,
            "step 1": abs(q.b1) - q.a1,
            "(39)": objects / (n - 1),
            "(41)": hops / (2 * (n - 1)) - 1,
            "(43)": abs(q.a1 + n * q.a2) + abs(q.e),
            "(36) range": abs(ends[1] - ends[0]),
        }
    )


def known_norm(n: int, identity: bool) -> pl.DataFrame:
    """``bound``: the least norm that program (2) allows at complexity 1, proved by multipliers."""
    return check_rows({"bound": closed_form(n, identity=identity).bound})


def point_42(n: int) -> pl.DataFrame:
    """The point (42), on which step 3 of the proof of Theorem 2 rests.

    ``norm``: its nuclear norm minus ``2 (n-1)``; ``(37)``: least slack in the paper's constraints;
    ``(2)``: least slack in those of program (2); a negative one is not feasible.
    """
    point = Parameters(a1=1, a2=-1 / n, b1=-1 / (n - 1), b2=1 / (n * (n - 1)))
    point = replace(point, c1=point.b1, c2=point.b2, d1=point.a1, d2=point.a2)
    paper, complete = (
        min(point.slack(name) for name in constraints(identity=False, complete=c))
        for c in (False, True)
    )
    return check_rows({"norm": point.norm(n) - 2 * (n - 1), "(37)": paper, "(2)": complete})


def averaging(n: int, seed: int, identity: bool = True, matrices: int = 20) -> pl.DataFrame:
    """Averaging over permutations, on random feasible matrices: Lemma 1; Lemma 4 with its ``τ``.

    ``norm``: largest increase of the nuclear norm, relative; ``margin``: least change of the least
    margin of the facts. Neither the norm may grow nor the margin shrink. ``form``: largest
    distance of the average to its own image under ``τ``, which is 0 in the form (34).
    """
    rng = np.random.default_rng(seed)
    solution = solve(TwoHop(n=n, identity=identity).build(), gap=1e-2)
    program, norm, margin, form = solution.program, -np.inf, np.inf, 0.0
    for _ in range(matrices):
        w = solution.templates + 0.1 * rng.normal(size=program.shape)
        w = w / max(program.least_margins(program.counts @ w).min(), 1e-3)
        point = average(w)
        if not identity:
            point = point.mean(point.swapped())
            image = np.subtract(astuple(point), astuple(average(_exchange(point.matrix(n)))))
            form = max(form, float(np.abs(image).max()))
        mean = point.matrix(n)
        before, after = (float(np.linalg.svd(m, compute_uv=False).sum()) for m in (w, mean))
        norm = max(norm, after / before - 1)
        least = [float(program.least_margins(program.counts @ m).min()) for m in (w, mean)]
        margin = min(margin, least[1] - least[0])
    return check_rows({"norm": norm, "margin": margin} | ({} if identity else {"form": form}))


def _exchange(w: Floats) -> Floats:
    """``τ`` of Lemma 4 on a matrix: subjects and bridges, bridges and objects, relations."""
    n = w.shape[1] // 2
    order = np.r_[n : 2 * n, :n]
    return w[np.r_[order, 2 * n + 1, 2 * n]][:, order]


def full_program(
    n: int, complexity: int, identity: bool, gap: float = 1e-5, seed: int = 0
) -> pl.DataFrame:
    """The optimum of the full program (2), which assumes no symmetric form.

    ``gap``; ``margin``: median margin of the queries; ``spread``: largest distance from it;
    ``expected``: expected accuracy where outputs within .02 share the prize. At complexity 1, where
    the solver starts at a random matrix and no symmetry helps it: ``symmetric``, relative
    difference of its norm to the closed form's, and ``distance``, that of the matrices.
    """
    from inweights.theory.prediction.predict import predict

    world = TwoHop(n=n, complexity=complexity, identity=identity).build()
    prediction = predict(world, gap=gap, advise=False)
    margins = prediction.queries["margin"].to_numpy()
    middle = float(np.median(margins))
    values = {
        "gap": prediction.solution.gap,
        "margin": middle,
        "spread": float(np.abs(margins - middle).max()),
        "expected": float(prediction.queries["expected"].to_numpy().mean()),
    }
    if complexity == 1:
        known = closed_form(n, identity=identity)
        target = known.parameters.matrix(n)
        lone = solve(world, gap=gap, start=np.random.default_rng(seed).normal(size=target.shape))
        values["symmetric"] = abs(lone.optimum / known.norm - 1)
        apart = np.linalg.norm(lone.templates - target) / np.linalg.norm(target)
        values["distance"] = float(apart)
    return check_rows(values)
