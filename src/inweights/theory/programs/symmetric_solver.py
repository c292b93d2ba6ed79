"""Program (2) of Identity Bridge in its twelve parameters, solved: closed form or central path.

The whole program has a closed form; the paper's reduced ones (8), (11), (36) and corners of a set
of optima are found on the central path.
"""

import time
from dataclasses import astuple, dataclass, replace

import numpy as np

from inweights.config import check_size
from inweights.theory.programs.closed_form import closed_form
from inweights.theory.programs.small_sdp import least_norms
from inweights.theory.programs.symmetric import CONSTRAINTS, NAMES, Parameters, constraints
from inweights.worlds.arrays import Reals


@dataclass(frozen=True, eq=False)
class SymmetricSolution:
    """The optimum of a symmetric program.

    Attributes:
        n: ``N``.
        parameters: Feasible, to rounding.
        optimum: Nuclear norm.
        gap: Certified relative gap.
        multipliers: ``λ`` by the name of the constraint.
        kkt: Largest of: violation of a margin, product of a multiplier with its slack, both
            relative to the optimum, and excess of the dual's operator norms over 1.
        iterations: Newton steps; none for the closed form.
        seconds: Time taken.
    """

    n: int
    parameters: Parameters
    optimum: float
    gap: float
    multipliers: dict[str, float]
    kkt: float
    iterations: int
    seconds: float


def solve_symmetric(
    n: int,
    *,
    identity: bool = True,
    complete: bool = True,
    zero_sum: bool = False,
    tilt: Parameters | None = None,
    gap: float = 1e-7,
    closed: bool = True,
) -> SymmetricSolution:
    """Solve program (2) for the world of complexity one, in milliseconds for any ``n``.

    The whole program has one optimum, which is known (:func:`~.closed_form.closed_form`): margins
    are then right to rounding. On the central path the gap certifies the norm and no parameter: one
    whose share of the norm falls with ``n`` is known less and less well (at ``n = 10**9`` and a gap
    of 2e-8 the margin came out as .39 where .541 is right).

    Args:
        n: ``N``, at least 2.
        identity: Whether identities are facts.
        complete: Whether all constraints of (2) are taken, or only those that the paper writes
            down. ``complete=False, zero_sum=True`` is problem (8), which is (11), with identity,
            and problem (36) without.
        zero_sum: Whether Assumption 2 is imposed: the logits of every row of ``W`` sum to 0.
        tilt: A small linear term ``⟨tilt, parameters⟩ · (n-1)`` in the objective, which picks a
            corner where the optimum is not unique.
        gap: Relative gap asked for.
        closed: Whether the closed form is returned where there is one.

    Raises:
        ConfigError: ``n`` is below 2.
        SolverError: The gap was not reached.

    Example:
        >>> solution = solve_symmetric(10**9)
        >>> solution.gap < 1e-12, round(solution.parameters.composition_margin, 6)
        (True, 0.541196)
        >>> solve_symmetric(10, identity=False).parameters.composition_margin < 0
        True
    """
    check_size("n", n, least=2, most=np.inf)
    began = time.perf_counter()
    if closed and complete and tilt is None:
        return _closed(n, identity, began)
    names = constraints(identity, complete)
    rows = np.array([[CONSTRAINTS[k].get(p, 0.0) for p in NAMES] for k in names])
    small, means = _coordinates(rows, n)
    fold = np.array([[1.0, -1.0]]) / np.sqrt(2) if zero_sum else np.eye(2)
    if zero_sum:
        means = fold @ means
    # Everything in units of n - 1, so that a million is as well scaled as ten.
    tilts = None
    if tilt is not None:
        tilt_small, tilt_means = _coordinates(np.array([astuple(tilt)]), n)
        tilts = [tilt_small[0], (n - 1) * (fold @ tilt_means[0])]
    found = least_norms([small, (n - 1) * means], tilt=tilts, gap=gap)
    one, scaled = found.matrices
    parameters = _parameters(one, (n - 1) * (fold.T @ scaled), n)
    optimum = (n - 1) * found.value
    multipliers = (n - 1) * found.multipliers
    return SymmetricSolution(
        n=n,
        parameters=parameters,
        optimum=optimum,
        gap=1.0 - (n - 1) * found.bound / optimum,
        multipliers=dict(zip(names, multipliers.tolist(), strict=True)),
        kkt=_kkt(parameters, names, multipliers, optimum),
        iterations=found.iterations,
        seconds=time.perf_counter() - began,
    )


def _closed(n: int, identity: bool, began: float) -> SymmetricSolution:
    """The closed form, with the multipliers of all constraints of the program."""
    known = closed_form(n, identity=identity)
    names = constraints(identity)
    multipliers = np.array([known.totals.get(name, 0.0) for name in names])
    excess = max(known.operator_norm - 1.0, 0.0)
    return SymmetricSolution(
        n=n,
        parameters=known.parameters,
        optimum=known.norm,
        gap=known.gap,
        multipliers=dict(zip(names, multipliers.tolist(), strict=True)),
        kkt=max(_kkt(known.parameters, names, multipliers, known.norm), excess),
        iterations=0,
        seconds=time.perf_counter() - began,
    )


def _kkt(
    parameters: Parameters, names: tuple[str, ...], multipliers: Reals, optimum: float
) -> float:
    slack = np.array([parameters.slack(name) for name in names])
    loose = float(np.max(multipliers * np.abs(slack))) / optimum
    return max(float(np.max(-slack)), loose, 0.0)


def _coordinates(rows: Reals, n: int) -> tuple[Reals, Reals]:
    """Linear forms in the parameters, as forms in the matrices of Lemma 2.

    ``α1 a1 + α2 a2`` is ``(α1 - α2/n) a1 + (α2/n) A``, and ``ε e`` is ``(ε/√n) √n e``.
    """
    form = dict(zip(NAMES, rows.T, strict=True))
    grid = (("a", "b"), ("c", "d"))
    small = np.array([[form[f"{k}1"] - form[f"{k}2"] / n for k in line] for line in grid])
    means = np.array([
        [*(form[f"{k}2"] / n for k in line), *(form[k] / np.sqrt(n) for k in ends)]
        for line, ends in zip(grid, (("e", "f"), ("g", "h")), strict=True)
    ])  # fmt: skip
    return np.moveaxis(small, -1, 0), np.moveaxis(means, -1, 0)


def _parameters(one: Reals, means: Reals, n: int) -> Parameters:
    two, lines = (means[:, :2] - one) / n, means[:, 2:] / np.sqrt(n)
    values: dict[str, float] = {}
    for i, line in enumerate((("a", "b"), ("c", "d"))):
        for j, k in enumerate(line):
            values |= {f"{k}1": float(one[i, j]), f"{k}2": float(two[i, j])}
    for (i, j), k in {(0, 0): "e", (0, 1): "f", (1, 0): "g", (1, 1): "h"}.items():
        values[k] = float(lines[i, j])
    return replace(Parameters(), **values)
