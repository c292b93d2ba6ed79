"""What a certified gap says of a single margin: an interval that holds for every optimum.

A gap certifies the norm of a solution of program (2), and no margin. Let ``W`` be feasible with
norm ``ν``; every optimum is then in the set of feasible matrices of norm at most ``ν``. A logit
difference is linear, ``⟨C, W⟩`` with ``C = x (e_y - e_k)ᵀ`` for a prompt ``x``, an answer ``y`` and
a rival ``k``. For *any* multipliers ``Λ ≥ 0`` of the facts every matrix of that set has

    ``⟨C, W⟩ ≥ Σ Λ - ν ‖Xᵀ U(Λ) - C‖_op``,

since ``⟨Xᵀ U(Λ), W⟩ ≥ Σ Λ`` where all margins are at least 1, and ``⟨D, W⟩ ≤ ‖D‖_op ‖W‖_*``. An
upper bound is minus the lower one of ``-C``. So an interval is proved by its multipliers alone,
however they were found: here by solving program (2) with a small extra term ``ε ⟨C, W⟩``.

Shapes: ``M`` distinct prompts, ``P`` inputs, ``K`` outputs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from inweights.errors import ConfigError
from inweights.theory.prediction.advice import in_time
from inweights.theory.programs.nuclear_norm import Solution, solve
from inweights.theory.programs.operators import operator_norm
from inweights.theory.programs.program import Program, count_tokens
from inweights.theory.programs.splitting import Splitting, coupled_inverse, multipliers

if TYPE_CHECKING:
    from jaxtyping import Float

__all__ = ["Bound", "lower_bound", "margin_bounds", "prove"]

Array = NDArray[np.float64]
Ids = NDArray[np.int64]

#: Iterations between two looks at a bound, and how many are made at most for one size of the term.
EVERY, ITERATIONS = 20, 400
#: Sizes of the term that are tried, one from where the other ended, relative to the first.
SIZES = (1.0, 4.0, 0.25)
#: A size is left where a look gains less than this share of what the bound still loses.
STALLED = 0.02
#: Least and largest size of the term.
LEAST, MOST = 1e-4, 0.3
#: Below this gap the solver's rounding begins.
FINEST = 1e-7


@dataclass(frozen=True, eq=False)
class Bound:
    """A lower bound on ``⟨C, W⟩`` over all feasible ``W`` of norm at most ``ν``.

    Attributes:
        value: The bound.
        dual: ``U(Λ)`` that proves it; :func:`prove` computes the bound from it.
        iterations: Iterations made to find it.
    """

    value: float
    dual: Float[Array, "M K"]
    iterations: int


def prove(
    program: Program, norm: float, functional: Float[Array, "P K"], dual: Float[Array, "M K"]
) -> float:
    """Return ``Σ Λ - ν ‖Xᵀ U(Λ) - C‖_op``, a lower bound on ``⟨C, W⟩`` for any multipliers.

    Args:
        program: The constraints.
        norm: ``ν``, the norm of some feasible matrix.
        functional: ``C``.
        dual: ``U(Λ)``: in each row minus the multipliers of the wrong answers, those
            of the right ones, and a sum of 0.

    Raises:
        ConfigError: A sign is wrong, or a row does not sum to 0.
    """
    wrong = np.where(program.right, -dual, dual).max() > 0
    if wrong or np.abs(dual.sum(1)).max() > 1e-9 * max(1.0, float(np.abs(dual).max())):
        raise ConfigError(
            "invalid multipliers: they must be at least 0 for right answers, at most 0 for "
            "others, and each row must sum to 0"
        )
    residual = program.counts.T @ dual - functional
    return float(dual[program.right].sum()) - norm * operator_norm(residual)


def lower_bound(
    solution: Solution,
    functional: Float[Array, "P K"],
    *,
    goal: float = np.inf,
    iterations: int = ITERATIONS,
    late: float | None = None,
    inverse: Float[Array, "P P"] | None = None,
) -> Bound:
    """Bound ``⟨C, W⟩`` from below over all optima ``W`` of the program of a solution.

    Args:
        solution: A feasible matrix and multipliers; the smaller its gap, the closer the bound: it
            loses about the root of twice the absolute gap.
        functional: ``C``.
        goal: A bound that is enough.
        iterations: How many are made for each of three sizes of the extra term.
        late: When, by :func:`time.perf_counter`, the best bound so far is enough; ``-inf`` where
            there is none yet.
        inverse: ``(I + κ Xᵀ X)⁻¹`` if it is known; see :func:`margin_bounds`.

    Example:
        >>> from inweights.worlds import TwoHop
        >>> solution = solve(TwoHop(n=3).build(), gap=1e-6)
        >>> c = np.zeros(solution.program.shape)
        >>> c[[0, 6], 0], c[[0, 6], 1] = 1, -1  # logit of b1 minus that of b2, after (a1, r1)
        >>> bound = lower_bound(solution, c)
        >>> 0.98 < bound.value <= 1, prove(solution.program, solution.optimum, c, bound.dual) > 0.98
        (True, True)
    """
    program = solution.program
    here = float((functional * solution.templates).sum())
    spare = max(solution.optimum - solution.bound, 1e-12)
    # A term of size ε loses about γ/ε + ε/2: no smaller than the gap asks, no larger than the goal.
    first = max(np.sqrt(2 * spare), (here - goal) / 2 if np.isfinite(goal) else 0.0)
    sizes = np.clip(first * np.array(SIZES), LEAST, MOST)
    run = _Tilted(solution, inverse, functional)
    best = Bound(-np.inf, solution.dual, 0)
    steps = 0
    for size in sizes:
        run.size, former = float(size), -np.inf
        for step in range(1, iterations + 1):
            run.advance()
            if step % EVERY:
                continue
            dual = run.dual() / run.size
            value = prove(program, solution.optimum, functional, dual)
            if value > best.value:
                best = Bound(value, dual, steps + step)
            stalled = abs(value - former) < STALLED * max(here - value, 1e-3)
            if best.value >= goal or stalled or not in_time(late):
                break
            former = value
        steps += step
        if best.value >= goal or not in_time(late):
            break
    return Bound(best.value, best.dual, steps)


def margin_bounds(
    solution: Solution,
    *,
    queries: Sequence[int] | None = None,
    accuracy: float | None = 0.02,
    tie: float = 0.0,
    seconds: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> pl.DataFrame:
    """Intervals that hold the margin of a query at *every* optimum of program (2).

    The lower end takes a bound for every rival, the upper one for the nearest alone. Where optima
    differ in a margin its interval stays as wide as they are apart, however small the gap is. A
    query of the role ``unstated`` has no right answer: the margin is that of the output that leads.

    Args:
        solution: A solution; it is solved again, from where it is, if its gap is too large for the
            accuracy.
        queries: Which queries; all if left out.
        accuracy: Half the width of an interval that is narrow enough. None: no interval is
            narrowed further than it takes to prove that the margin is above ``tie``, or below
            ``-tie``; that is a few solutions where it fails, and one for each rival where it
            follows.
        tie: Margins of at most this size are ties.
        seconds: After so many the rest is left open.
        progress: Called with the queries done and their number.

    Returns:
        A row a query: ``query``, ``margin`` (of the solution), ``lower`` and ``upper`` (infinite
        where nothing was proved), ``proved``: ``follows``, ``tied``, ``fails``, or ``open``.

    Raises:
        ConfigError: The accuracy is not above 0, or there is no such query.

    Example:
        >>> from inweights.worlds import TwoHop
        >>> table = margin_bounds(solve(TwoHop(n=3).build()), queries=[0])
        >>> lower, upper = table.select("lower", "upper").row(0)
        >>> 0.71 < lower < 0.751 < upper < 0.79, table["proved"].item()
        (True, 'follows')
    """
    if accuracy is not None and not accuracy > 0:
        raise ConfigError(f"accuracy must be above 0, got {accuracy}")
    world = solution.program.world
    chosen = list(range(len(world.queries)) if queries is None else queries)
    if wrong := [q for q in chosen if not 0 <= q < len(world.queries)]:
        raise ConfigError(
            f"there is no query {wrong[0]}; queries are 0 to {len(world.queries) - 1}"
        )
    late = None if seconds is None else time.perf_counter() + seconds
    columns, rivals = _asked(solution)
    decided = np.abs(np.abs(_leads(solution, columns, rivals)[chosen].min(-1)) - tie)
    fine = accuracy or float(np.clip(decided.min(initial=0.2), 0.01, 0.2))
    needed = max(FINEST, fine**2 / (8 * solution.optimum))
    if solution.gap > needed and in_time(late):
        finer = solve(solution.program, gap=needed, start=solution.templates, seconds=seconds)
        solution = finer if finer.gap < solution.gap else solution
    leads = _leads(solution, columns, rivals)
    counts = count_tokens(world, world.queries)
    inverse = coupled_inverse(solution.program) if in_time(late) else None
    bound = partial(lower_bound, solution, late=late, inverse=inverse)
    rows = []
    for done, query in enumerate(chosen):
        gaps = leads[query]
        prompt = counts[[query]].toarray()[0]
        lower, upper = _interval(bound, prompt, int(columns[query]), gaps, accuracy, tie, late)
        proved = "follows" if lower > tie else "fails" if upper < -tie else "open"
        if -tie <= lower and upper <= tie:
            proved = "tied"
        rows.append((query, float(gaps.min()), lower, upper, proved))
        if progress:
            progress(done + 1, len(chosen))
    schema = {"query": pl.Int64, "margin": pl.Float64, "lower": pl.Float64, "upper": pl.Float64}
    return pl.DataFrame(rows, schema=schema | {"proved": pl.String}, orient="row")


def _asked(solution: Solution) -> tuple[Ids, NDArray[np.bool_]]:
    """The output whose margin is asked for, ``[Q]``, and its rivals, ``[Q, K]``."""
    queries = solution.program.world.queries
    logits, columns, rivals = solution.compare(queries)
    names = np.array([*queries.role_names, ""])
    nobody = np.flatnonzero(names[queries.roles] == "unstated")
    columns[nobody] = logits[nobody].argmax(1)
    rivals[nobody] = True
    rivals[nobody, columns[nobody]] = False
    return columns, rivals


def _leads(solution: Solution, columns: Ids, rivals: NDArray[np.bool_]) -> Array:
    """By how much the outputs asked for lead each of their rivals, ``[Q, K]``."""
    logits = solution.compare(solution.program.world.queries)[0]
    return np.where(rivals, np.take_along_axis(logits, columns[:, None], 1) - logits, np.inf)


def _interval(
    bound: Callable[..., Bound],
    prompt: Array,
    answer: int,
    gaps: Array,
    accuracy: float | None,
    tie: float,
    late: float | None,
) -> tuple[float, float]:
    """Both ends for one query. Rivals come nearest first, and stop where they cannot matter."""
    margin = float(gaps.min())
    order = [int(k) for k in np.argsort(gaps, kind="stable") if np.isfinite(gaps[k])]
    if not order:
        return np.inf, np.inf
    lower, upper = np.inf, np.inf
    want_lower = accuracy is not None or margin >= -tie
    want_upper = accuracy is not None or margin <= tie
    tied = abs(margin) <= tie
    low_goal = -tie if tied else tie if accuracy is None else margin - accuracy
    high_goal = tie if tied else -tie if accuracy is None else margin + accuracy
    # A strict inequality has to be proved.
    low_goal, high_goal = low_goal + 1e-9, high_goal - 1e-9

    def against(rival: int, sign: float) -> Array:
        functional = np.zeros((len(prompt), len(gaps)))
        functional[:, answer] += sign * prompt
        functional[:, rival] -= sign * prompt
        return functional

    if want_upper and in_time(late):
        found = bound(against(order[0], -1.0), goal=-high_goal)
        upper = -found.value
    for rival in order if want_lower else ():
        if not in_time(late):
            return -np.inf, upper
        goal = min(low_goal, lower)  # what is above the least bound so far does not matter
        found = bound(against(rival, 1.0), goal=goal)
        lower = min(lower, found.value)
        if accuracy is None and lower <= low_goal:
            break  # not proved; the other rivals cannot mend it
    return (lower if want_lower else -np.inf), upper


class _Tilted(Splitting):
    """Program (2) with the term ``size ⟨T, W⟩`` in its objective, from its solution without it."""

    def __init__(self, solution: Solution, inverse: Array | None, tilt: Array) -> None:
        super().__init__(solution.program, inverse)
        self._tilt, self.size = tilt, 0.0
        w, dual = solution.templates, solution.dual
        price = self.x_turned @ dual
        self.penalty = float(np.linalg.norm(price) / np.linalg.norm(w))
        above = w + price / self.penalty
        below = self.x_counts @ w - dual / (self.coupling * self.penalty)
        self.x = np.concatenate([above, below])
        self.split()

    def shrunk(self, above: Array) -> tuple[Array, Array]:
        return super().shrunk(above - (self.size / self.penalty) * self._tilt)

    def dual(self) -> Array:
        return multipliers(-self.coupling * self.penalty * self.s_price, self.program.right)
