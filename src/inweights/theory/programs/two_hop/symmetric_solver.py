"""Solve program (2) of Identity Bridge in twelve parameters: in closed form or on a central path.

:func:`solve_symmetric` returns a :class:`SymmetricSolution` in milliseconds for any
``n``. The whole program has a closed form (:mod:`~.closed_form`). The paper's reduced
programs (8), (11) and (36), and corners of a set of optima, are found on the central
path (:mod:`~.small_sdp`). The steps of the paper's proofs
(:mod:`inweights.theory.identity_bridge.proof`) are evaluated at these optima.
"""

import time
from dataclasses import astuple, dataclass

import numpy as np

from inweights.config import check_size
from inweights.theory.programs.two_hop.closed_form import closed_form
from inweights.theory.programs.two_hop.constraints import CONSTRAINTS, constraints
from inweights.theory.programs.two_hop.small_sdp import least_norms
from inweights.theory.programs.two_hop.symmetric import NAMES, Parameters
from inweights.worlds.arrays import Reals


@dataclass(frozen=True, eq=False)
class SymmetricSolution:
    """Optimum of a symmetric program, as returned by :func:`solve_symmetric`.

    Attributes:
        n: Number of entities of each kind.
        parameters: The optimum, feasible up to rounding.
        optimum: Nuclear norm of the optimal matrix ``W``.
        gap: Certified relative duality gap.
        multipliers: Dictionary that maps the name of a kind of constraint to the sum of
            the multipliers ``λ`` of its constraints.
        kkt: Largest violation of the optimality conditions: the violation of a margin,
            in logits; the product of a multiplier and its slack, divided by the
            optimum; or, for the closed form, the excess of the dual's operator norm
            over 1.
        iterations: Number of Newton steps; 0 for the closed form.
        seconds: Wall-clock time, in seconds.
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
    """Solve program (2) for the two-hop world of complexity one, in milliseconds for any ``n``.

    Program (2) of Identity Bridge (§4.3) minimises the nuclear norm of the matrix of
    logits ``W`` (input tokens by output tokens) subject to a margin of at least 1 for
    every training fact. In the world of complexity one, each subject ``a_i`` has its
    own bridge ``b_i`` and its own object ``c_i``: the facts are ``(a_i, r1) → b_i`` and
    ``(b_i, r2) → c_i``. Therefore twelve parameters determine the whole matrix
    (:class:`~inweights.theory.programs.two_hop.symmetric.Parameters`).

    With all of its constraints, the program has a unique optimum in closed form
    (:func:`~.closed_form.closed_form`), whose margins are exact up to rounding. A
    solution on the central path (``closed=False``) is less accurate: its gap certifies
    the norm but not each parameter, and a parameter whose share of the norm decreases
    with ``n`` becomes inaccurate (at ``n = 10**9`` and a gap of 2e-8, the margin was
    .39 instead of .541).

    Args:
        n: Number of entities of each kind, at least 2.
        identity: Whether to include the identity facts ``(b_i) → b_i`` (the default).
        complete: Whether all constraints of program (2) are imposed. If false, only
            those are imposed that the paper lists in equations (4), (5), (35) and (37),
            which leave out the margin over the *other* wrong objects of a first hop or
            an identity, and over other bridges of a second hop
            (:data:`~inweights.theory.programs.two_hop.constraints.CONSTRAINTS`, with a
            star). With ``complete=False, zero_sum=True``, the program is the paper's
            problem (8), which is the same as (11), if the identity facts are included,
            and problem (36) if they are not.
        zero_sum: Whether Assumption 2 is imposed: the logits of every row of ``W`` sum
            to 0.
        tilt: A small linear term ``⟨tilt, parameters⟩ · (n-1)`` in the objective, which
            selects a corner if the optimum is not unique. Without it (the default), the
            solution is a point in the middle of the optima.
        gap: Requested relative duality gap on the central path, above 0. Gaps below
            about 1e-8 cannot be reached because of rounding.
        closed: Whether to return the closed form where it exists (with ``complete`` and
            no ``tilt``). ``zero_sum`` and ``gap`` have no effect on the closed form.

    Returns:
        The optimum, with its parameters, multipliers and certified gap.

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
    small, means = _coordinates(_coefficients(names), n)
    # If rows sum to 0, the means of bridges and of objects are opposite, so that one
    # coordinate is enough.
    fold = np.eye(2)
    if zero_sum:
        fold = np.array([[1.0, -1.0]]) / np.sqrt(2)
        means = fold @ means
    # All in units of n - 1, so that the problem is as well scaled for a million as for
    # ten.
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
    """Return the closed form, with the multipliers of all constraints of the program."""
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
    """Return the largest violation of a margin or of complementary slackness."""
    slack = np.array(list(map(parameters.slack, names)))
    loose = float(np.max(multipliers * np.abs(slack))) / optimum
    return max(float(np.max(-slack)), loose, 0.0)


def _coordinates(rows: Reals, n: int) -> tuple[Reals, Reals]:
    """Convert linear forms in the parameters into linear forms in the matrices of Lemma 2.

    ``α1 a1 + α2 a2`` is ``(α1 - α2/n) a1 + (α2/n) A``, and ``ε e`` is ``(ε/√n) √n e``.
    """
    form = dict(zip(NAMES, rows.T, strict=True))

    def own(block: str) -> Reals:
        return form[f"{block}1"] - form[f"{block}2"] / n

    def mean(block: str) -> Reals:
        return form[f"{block}2"] / n

    def relation(block: str) -> Reals:
        return form[block] / np.sqrt(n)

    small = np.array(
        [
            [own("a"), own("b")],
            [own("c"), own("d")],
        ]
    )
    means = np.array(
        [
            [mean("a"), mean("b"), relation("e"), relation("f")],
            [mean("c"), mean("d"), relation("g"), relation("h")],
        ]
    )
    return np.moveaxis(small, -1, 0), np.moveaxis(means, -1, 0)


def _coefficients(names: tuple[str, ...]) -> Reals:
    """Return the coefficients of the twelve parameters in each named constraint, ``[C, 12]``."""
    rows = np.zeros((len(names), len(NAMES)))
    for row, name in zip(rows, names, strict=True):
        for parameter, coefficient in CONSTRAINTS[name].items():
            row[NAMES.index(parameter)] = coefficient
    return rows


def _parameters(one: Reals, means: Reals, n: int) -> Parameters:
    """Return the twelve parameters whose matrices of Lemma 2 are ``one`` and ``means``."""
    two = (means[:, :2] - one) / n
    relations = means[:, 2:] / np.sqrt(n)
    values: dict[str, float] = {}
    for block, place in {"a": (0, 0), "b": (0, 1), "c": (1, 0), "d": (1, 1)}.items():
        values[f"{block}1"] = float(one[place])
        values[f"{block}2"] = float(two[place])
    for block, place in {"e": (0, 0), "f": (0, 1), "g": (1, 0), "h": (1, 1)}.items():
        values[block] = float(relations[place])
    return Parameters(**values)
