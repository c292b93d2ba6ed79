"""Check steps of the proofs of Identity Bridge (App. A) on full matrices, without symmetry.

Every function returns a table with the columns ``check`` and ``value``, like the
functions of ``proof.py``.
"""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
import polars as pl

from inweights.config import check_size
from inweights.support.statistics.decompositions import svd
from inweights.theory.identity_bridge.proof_kkt import check_rows
from inweights.theory.programs.nuclear_norm import solve
from inweights.theory.programs.program import Program
from inweights.theory.programs.two_hop.averaging import average
from inweights.theory.programs.two_hop.closed_form import closed_form
from inweights.worlds.arrays import Bools, Floats, Ids
from inweights.worlds.families.two_hop import TwoHop


def certificate(n: int, identity: bool) -> pl.DataFrame:
    """Check the proof of the closed form for Identity Bridge's program (2) on full matrices.

    Args:
        n: Number of entities of each kind, at least 2; the matrices have ``2n + 2``
            rows.
        identity: Whether training includes the identity facts ``(b_i) → b_i``.

    Returns:
        Columns ``check`` and ``value``, with the rows:

        - ``feasible``: smallest slack of all margins of the logits ``X W`` of the
          facts, where ``X`` counts the tokens of each prompt and ``W`` is the closed
          form.
        - ``operator norm``: ``‖Xᵀ U‖_op - 1``, where ``U`` is the dual matrix of the
          multipliers.
        - ``gap``: relative gap between the norm and the sum of the multipliers.
        - ``least multiplier``: smallest of the multipliers that are claimed to be
          positive, times ``n``.
        - ``tight``: largest slack of the margins of these multipliers.
        - ``strict``: 1 minus the largest singular value of ``Xᵀ U`` that is not 1.
        - ``unique``: smallest singular value of the map from ``P`` to the tight margins
          of ``X G P``, for symmetric ``P`` on the space where ``G = Xᵀ U`` preserves
          lengths. If it is positive, the optimum is unique.
        - ``assumption 2``: length of the part of ``(1, …, 1)`` in that space, relative
          to its whole length. If it is 0, the logits of every row of every optimum sum
          to 0.

    Raises:
        ConfigError: ``n`` is below 2, or the matrices would not fit in memory.

    Example:
        >>> checks = dict(certificate(4, True).rows())
        >>> abs(checks["gap"]) < 1e-12, checks["unique"] > 0
        (True, True)
    """
    known = closed_form(n, identity=identity)
    w = known.parameters.matrix(n)
    x = known.prompts()
    answers = known.answers()
    multipliers = known.prices()
    logits = x @ w
    prompts = np.arange(len(x))
    slack = logits[prompts, answers][:, None] - logits - 1.0
    others = np.ones_like(slack, dtype=bool)
    others[prompts, answers] = False
    g = x.T @ known.dual()
    _, singular, turned = svd(g)
    is_one = singular > 1 - 1e-9
    # basis of the space in which G preserves lengths
    v = turned[: len(singular)][is_one].T
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
    """Return the tight margins of ``X G (v_i v_jᵀ + v_j v_iᵀ)``, one column per pair ``i, j``.

    Args:
        images: ``X G v``.
        v: Orthonormal basis in columns.
        answers: Column of the correct answer of every prompt.
        tight: For each prompt, a mask of the outputs whose margin is tight.

    Returns:
        One row per tight margin, one column per pair.
    """
    prompts, outputs = np.nonzero(tight)
    differences = v[answers[prompts]] - v[outputs]
    i, j = np.triu_indices(v.shape[1])
    scale = np.where(i == j, 0.5, np.sqrt(0.5))
    rows = images[prompts]
    return scale * (rows[:, i] * differences[:, j] + rows[:, j] * differences[:, i])


def averaging(
    n: int, seed: int, identity: bool = True, matrices: int = 20
) -> pl.DataFrame:
    """Check Lemmas 1 and 4 of Identity Bridge by averaging random feasible matrices.

    The lemmas (App. A) state that the average of a matrix over all permutations of the
    entities has a nuclear norm that is not larger, and margins that are not smaller,
    than those of the matrix itself. Lemma 4 also averages over ``τ``, which exchanges
    the two hops.

    Args:
        n: Number of entities of each kind, at least 2.
        seed: Seed of the random matrices, an integer of at least 0.
        identity: Whether training includes the identity facts (Lemma 1) or not (Lemma 4).
        matrices: Number of random matrices, from 1 to 65,536.

    Returns:
        Columns ``check`` and ``value``, with the rows ``norm`` (largest relative
        increase of the nuclear norm, which must not be positive) and ``margin``
        (smallest change of the smallest margin of the facts, which must not be
        negative), over all matrices. Without identity facts, there is also ``form``:
        the largest difference between a parameter of the average and of its image under
        ``τ``, which is 0 in the form (34).

    Raises:
        SolverError: No feasible matrix was found to start from.
        ConfigError: ``n`` is below 2, ``matrices`` is not between 1 and 65,536, or
            ``seed`` is negative.

    Example:
        >>> checks = dict(averaging(3, seed=0, matrices=2).rows())
        >>> checks["norm"] <= 1e-9, checks["margin"] >= -1e-9
        (True, True)
    """
    check_size("matrices", matrices)
    check_size("seed", seed, least=0, most=np.inf)
    rng = np.random.default_rng(seed)
    solution = solve(TwoHop(n=n, identity=identity).build(), gap=1e-2)
    program = solution.program
    norm = -np.inf
    margin = np.inf
    form = 0.0
    for _ in range(matrices):
        w = solution.templates + 0.1 * rng.normal(size=program.shape)
        # Scaled so that the least margin is 1, like that of the solution.
        w = w / max(program.least_margins(program.counts @ w).min(), 1e-3)
        point = average(w)
        if not identity:
            point = point.mean(point.swapped())
            turned = average(_exchange(point.matrix(n)))
            apart = np.subtract(astuple(point), astuple(turned))
            form = max(form, float(np.abs(apart).max()))
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
    """Solve the full program (2), without assuming symmetry, and compare it with the closed form.

    Program (2) of Identity Bridge (§4.3) minimises the nuclear norm of the matrix of
    logits ``W`` subject to a margin of at least 1 for every training fact.

    Args:
        n: Number of subjects, at least 2.
        complexity: Number ``C`` of objects that a subject reaches; the world has ``C
            n`` bridges.
        identity: Whether training includes the identity facts.
        gap: Requested relative duality gap, at least 1e-7 and below 1.
        seed: Seed of the random matrix from which the program is solved a second time,
            only at complexity 1; an integer of at least 0.

    Returns:
        Columns ``check`` and ``value``, with the rows ``gap`` (relative duality gap
        that was reached); ``margin`` (median margin of the queries); ``spread``
        (largest difference of a query's margin from the median); and ``expected`` (mean
        expected accuracy of the queries, from 0 to 1, if outputs with logits within .02
        of the best are equally likely). At complexity 1, the second solution, which
        cannot benefit from symmetry, gives two more rows: ``symmetric`` (relative
        difference between its norm and the norm of the closed form) and ``distance``
        (relative distance between the matrices).

    Raises:
        ConfigError: ``n`` is below 2, ``complexity`` is not between 1 and ``n``, or
            ``gap`` is outside ``[1e-7, 1)``.
        ValueError: ``complexity`` is 1 and ``seed`` is negative.
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
        # If the iteration starts at zero, it preserves all symmetries; a random start
        # has none.
        start = np.random.default_rng(seed).normal(size=target.shape)
        lone = solve(world, gap=gap, start=start)
        values["symmetric"] = abs(lone.optimum / known.norm - 1)
        apart = np.linalg.norm(lone.templates - target) / np.linalg.norm(target)
        values["distance"] = float(apart)
    return check_rows(values)
