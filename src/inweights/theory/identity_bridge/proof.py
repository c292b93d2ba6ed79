"""Evaluate the steps of Identity Bridge's proofs (App. A) as numbers at a given ``n``.

Every function returns a table with the columns ``check`` (a name) and ``value``. Its
docstring says what each value measures and, where it matters, what the theorem demands
of it; recipes turn that into claims. Problem (11), and what is checked at random
points, is in
:mod:`~inweights.theory.identity_bridge.proof_kkt`.
"""

from dataclasses import astuple, replace

import numpy as np
import polars as pl

from inweights.theory.identity_bridge.proof_kkt import check_rows
from inweights.theory.programs.closed_form import MARGIN_LIMIT, closed_form
from inweights.theory.programs.nuclear_norm import solve
from inweights.theory.programs.program import Program
from inweights.theory.programs.symmetric import Parameters, average, constraints
from inweights.theory.programs.symmetric_solver import solve_symmetric
from inweights.worlds.arrays import Bools, Floats, Ids
from inweights.worlds.families.two_hop import TwoHop

_TILT = 1e-4


def certificate(n: int, identity: bool) -> pl.DataFrame:
    """Check the proof of the closed form on full matrices, with nothing but NumPy.

    Args:
        n: Number of entities of each kind, at least 2; the matrices have ``2n + 2``
            rows.
        identity: Whether the identity facts ``(b_i) → b_i`` are trained.

    Returns:
        Rows ``check, value``:

        - ``feasible``: least slack of all margins of ``X W``.
        - ``operator norm``: ``‖Xᵀ U‖_op - 1``.
        - ``gap``: relative gap of the norm and the sum of the multipliers.
        - ``least multiplier``: of those that are claimed to be positive, times ``n``.
        - ``tight``: largest slack of their margins.
        - ``strict``: 1 minus the largest singular value of ``Xᵀ U`` that is not 1.
        - ``unique``: least singular value of the map from ``P`` to the tight margins of
          ``X G P``, for symmetric ``P`` on the space where ``G = Xᵀ U`` keeps lengths.
          Positive: one optimum.
        - ``assumption 2``: length of the part of ``(1, …, 1)`` in that space, over its
          own length. 0: the logits of every row of every optimum sum to 0.

    Raises:
        ConfigError: ``n`` is below 2, or the matrices would not fit in memory.

    Example:
        >>> checks = dict(certificate(4, True).rows())
        >>> abs(checks["gap"]) < 1e-12, checks["unique"] > 0
        (True, True)
    """
    known = closed_form(n, identity=identity)
    w, x = known.parameters.matrix(n), known.prompts()
    answers, multipliers = known.answers(), known.prices()
    logits, prompts = x @ w, np.arange(len(x))
    slack = logits[prompts, answers][:, None] - logits - 1.0
    others = np.ones_like(slack, dtype=bool)
    others[prompts, answers] = False
    g = x.T @ known.dual()
    _, singular, turned = np.linalg.svd(g)
    is_one = singular > 1 - 1e-9
    v = turned[: len(singular)][is_one].T  # basis of the space where G keeps lengths
    tight_margins = _tight_margins(x @ g @ v, v, answers, multipliers > 0)
    ones = np.ones(2 * n) / np.sqrt(2 * n)
    nuclear = _nuclear_norm(w)
    return check_rows(
        {
            "feasible": float(slack[others].min()),
            "operator norm": float(singular[0]) - 1,
            "gap": 1 - float(multipliers.sum()) / nuclear,
            "least multiplier": n * min(v for v in known.multipliers.values() if v > 0),
            "tight": float(np.abs(slack[multipliers > 0]).max()),
            "strict": 1 - float(singular[~is_one].max()),
            "unique": float(np.linalg.svd(tight_margins, compute_uv=False)[-1]),
            "assumption 2": float(np.linalg.norm(v.T @ ones)),
        }
    )


def _tight_margins(images: Floats, v: Floats, answers: Ids, tight: Bools) -> Floats:
    """The tight margins of ``X G (v_i v_jᵀ + v_j v_iᵀ)``: a row per margin, a column per pair.

    Args:
        images: ``X G v``.
        v: Orthonormal basis in columns.
        answers: Column of the right answer of every prompt.
        tight: Which outputs' margins are tight, by prompt.
    """
    prompts, outputs = np.nonzero(tight)
    differences = v[answers[prompts]] - v[outputs]
    i, j = np.triu_indices(v.shape[1])
    scale = np.where(i == j, 0.5, np.sqrt(0.5))
    rows = images[prompts]
    return scale * (rows[:, i] * differences[:, j] + rows[:, j] * differences[:, i])


def with_identity(n: int) -> pl.DataFrame:
    """Evaluate Theorem 1 and the steps of its proof (A.1, A.2) at the optimum of program (2).

    Args:
        n: Number of entities of each kind, at least 2; the cost hardly depends on it.

    Returns:
        Rows ``check, value``:

        - ``gap``, ``kkt``: how well the optimum is known.
        - ``thm 1``: margin of every composition, read off rows of the matrix.
        - ``excess n``: how far it is above ``1/√(2 + √2)``, times ``n``.
        - ``closed form``: excess of the closed form over the bound that the central
          path certifies.
        - ``lemma 1``: relative difference of the optimum to that under (4) and (5),
          which leave the constraint against other objects out.
        - ``lemma 3``: relative difference to that of problem (8).
        - ``(12) a1``: ``a1 - 1``.
        - ``(12) g2``: the margin of ``(a_1, r1)`` over its own object, minus 1.
        - ``(13)``: the query's own object minus its bridge, in logits.
        - ``(19)``: ``f + 1``.
        - ``prop 2``: ``a1 + n a2 - e`` at the optimum of (8), solved separately.
        - ``assumption 4 c1``, ``assumption 4 a2``: the sizes of these parameters.
        - ``assumption 4 t``: ``t``.

    Raises:
        ConfigError: ``n`` is below 2.
        SolverError: A central path did not reach its gap.

    Example:
        >>> dict(with_identity(10).rows())["thm 1"] > MARGIN_LIMIT
        True
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
    """Evaluate Theorem 2 and the steps of its proof (A.3): no identity facts.

    Args:
        n: Number of entities of each kind, at least 2; the cost hardly depends on it.

    Returns:
        Rows ``check, value``:

        - ``gap``: how well the optimum is known.
        - ``thm 2``: margin of every composition, read off rows of the matrix.
        - ``(38)``: own object minus bridge in a subject's row, which is ``b1 + b2 - a1
          - a2`` in the form (34).
        - ``closed form``: excess of the closed form over the bound that the central
          path certifies.
        - ``lemma 4``: by how much the optimum of problem (36) falls short of that of
          (2), relative.
        - ``step 1``: ``|b1| - a1`` at the optimum of (36).
        - ``(39)``: multiplier of the own object in (36), over ``n - 1``; the paper puts
          it at 0.
        - ``(41)``: multiplier of ``a1 ≥ 1`` over ``2 (n - 1)``, minus 1.
        - ``(43)``: ``|a1 + n a2| + |α|`` at the optimum of (36), which (43) and (44)
          put at 0.
        - ``(36) range``: how far ``b1`` varies over the optima of (36).

    Raises:
        ConfigError: ``n`` is below 2.
        SolverError: A central path did not reach its gap.

    Example:
        >>> dict(without(10).rows())["thm 2"] < 0
        True
    """
    best = solve_symmetric(n, identity=False)
    path = solve_symmetric(n, identity=False, closed=False)
    paper = solve_symmetric(n, identity=False, complete=False, zero_sum=True)
    p, q = best.parameters, paper.parameters
    subject = p.row("a", n)
    sums = paper.multipliers
    hops = sums["first hop, other bridge"] + sums["second hop, other object"]
    objects = sums["first hop, own object"] + sums["second hop, own bridge"]
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
            "(36) range": abs(_b1_at_a_corner(n, -_TILT) - _b1_at_a_corner(n, _TILT)),
        }
    )


def _b1_at_a_corner(n: int, tilt: float) -> float:
    """``b1`` at the optimum of problem (36) that a small tilt of ``b1`` and ``c1`` picks."""
    solution = solve_symmetric(
        n,
        identity=False,
        complete=False,
        zero_sum=True,
        tilt=Parameters(b1=tilt, c1=tilt),
        gap=1e-6,
    )
    return solution.parameters.b1


def known_norm(n: int, identity: bool) -> pl.DataFrame:
    """Return the least norm that program (2) allows at complexity one, proved by multipliers.

    Args:
        n: Number of entities of each kind, at least 2.
        identity: Whether the identity facts ``(b_i) → b_i`` are trained.

    Returns:
        One row ``check, value``: ``bound``, a lower bound on the nuclear norm of every
        feasible ``W``, which the optimum reaches.

    Raises:
        ConfigError: ``n`` is below 2.

    Example:
        >>> known_norm(3, True)["check"].to_list()
        ['bound']
    """
    return check_rows({"bound": closed_form(n, identity=identity).bound})


def point_42(n: int) -> pl.DataFrame:
    """Evaluate the point (42), on which step 3 of the proof of Theorem 2 rests.

    Args:
        n: Number of entities of each kind, at least 2.

    Returns:
        Rows ``check, value``: ``norm`` (its nuclear norm minus ``2 (n-1)``), ``(37)``
        (least slack in the paper's constraints), ``(2)`` (least slack in those of
        program (2); a negative one means that the point is not feasible).

    Example:
        >>> dict(point_42(10).rows())["(2)"] < 0
        True
    """
    point = Parameters(a1=1, a2=-1 / n, b1=-1 / (n - 1), b2=1 / (n * (n - 1)))
    point = replace(point, c1=point.b1, c2=point.b2, d1=point.a1, d2=point.a2)
    return check_rows(
        {
            "norm": point.norm(n) - 2 * (n - 1),
            "(37)": min(map(point.slack, constraints(identity=False, complete=False))),
            "(2)": min(map(point.slack, constraints(identity=False))),
        }
    )


def averaging(
    n: int, seed: int, identity: bool = True, matrices: int = 20
) -> pl.DataFrame:
    """Average random feasible matrices over permutations: Lemma 1, and Lemma 4 with its ``τ``.

    Args:
        n: Number of entities of each kind, at least 2.
        seed: Seed of the random matrices.
        identity: Whether the identity facts are trained (Lemma 1) or not (Lemma 4).
        matrices: Number of random matrices.

    Returns:
        Rows ``check, value``: ``norm`` (largest relative increase of the nuclear norm),
        ``margin`` (least change of the facts' least margin): neither the norm may grow
        nor the margin shrink. Without identity also ``form``: largest distance of the
        average to its own image under ``τ``, which is 0 in the form (34).

    Raises:
        SolverError: No feasible matrix was found to start from.

    Example:
        >>> checks = dict(averaging(3, seed=0, matrices=2).rows())
        >>> checks["norm"] <= 1e-9, checks["margin"] >= -1e-9
        (True, True)
    """
    rng = np.random.default_rng(seed)
    solution = solve(TwoHop(n=n, identity=identity).build(), gap=1e-2)
    program = solution.program
    norm, margin, form = -np.inf, np.inf, 0.0
    for _ in range(matrices):
        w = solution.templates + 0.1 * rng.normal(size=program.shape)
        w = w / max(program.least_margins(program.counts @ w).min(), 1e-3)
        point = average(w)
        if not identity:
            point = point.mean(point.swapped())
            image = np.subtract(
                astuple(point), astuple(average(_exchange(point.matrix(n))))
            )
            form = max(form, float(np.abs(image).max()))
        mean = point.matrix(n)
        norm = max(norm, _nuclear_norm(mean) / _nuclear_norm(w) - 1)
        margin = min(margin, _least_margin(program, mean) - _least_margin(program, w))
    checks = {"norm": norm, "margin": margin}
    if not identity:
        checks["form"] = form
    return check_rows(checks)


def _nuclear_norm(matrix: Floats) -> float:
    return float(np.linalg.svd(matrix, compute_uv=False).sum())


def _least_margin(program: Program, templates: Floats) -> float:
    return float(program.least_margins(program.counts @ templates).min())


def _exchange(w: Floats) -> Floats:
    """Apply ``τ`` of Lemma 4 to a matrix: exchange the hops, and bridges with objects."""
    n = w.shape[1] // 2
    order = np.r_[n : 2 * n, :n]
    return w[np.r_[order, 2 * n + 1, 2 * n]][:, order]


def full_program(
    n: int, complexity: int, identity: bool, gap: float = 1e-5, seed: int = 0
) -> pl.DataFrame:
    """Solve the full program (2), which assumes no symmetry, and compare with the closed form.

    Args:
        n: Number of subjects, at least 2.
        complexity: Number ``C`` of objects that a subject reaches; the world has ``C
            n`` bridges.
        identity: Whether the identity facts are trained.
        gap: Requested relative duality gap.
        seed: Seed of the matrix from which the solver starts a second time, at
            complexity 1.

    Returns:
        Rows ``check, value``: ``gap``; ``margin`` (median margin of the queries);
        ``spread`` (largest distance from it); ``expected`` (expected accuracy, where
        outputs within .02 of the best share the prediction). At complexity 1, where the
        second solution cannot profit from symmetry, also ``symmetric`` (relative
        difference of its norm to the closed form's) and ``distance`` (relative distance
        of the matrices).

    Raises:
        ConfigError: A size or the gap is out of range.
        DataError: The program would not fit in memory.
        SolverError: The solver found no feasible matrix.

    Example:
        >>> dict(full_program(3, 1, True, gap=1e-4).rows())["expected"]
        1.0
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
        lone = solve(
            world, gap=gap, start=np.random.default_rng(seed).normal(size=target.shape)
        )
        values["symmetric"] = abs(lone.optimum / known.norm - 1)
        apart = np.linalg.norm(lone.templates - target) / np.linalg.norm(target)
        values["distance"] = float(apart)
    return check_rows(values)
