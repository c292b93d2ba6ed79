"""Prove intervals that contain the margins of queries at every optimum of program (2).

:func:`margin_bounds` returns them for the queries of a solution, using
:mod:`~.lower_bound`; :meth:`Prediction.with_intervals
<inweights.theory.prediction.prediction.Prediction.with_intervals>` calls it.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import polars as pl

from inweights.errors import ConfigError
from inweights.theory.prediction.advice import in_time
from inweights.theory.prediction.bounds.lower_bound import Bound, lower_bound
from inweights.theory.programs.nuclear_norm import Solution, solve
from inweights.theory.programs.prompts import count_tokens
from inweights.theory.programs.splitting import coupled_inverse
from inweights.worlds.arrays import Bools, Floats, Ids

#: Smallest gap that the solver can reach in double precision.
FINEST = 1e-7


def margin_bounds(
    solution: Solution,
    *,
    queries: Sequence[int] | None = None,
    accuracy: float | None = 0.02,
    tie: float = 0.0,
    seconds: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> pl.DataFrame:
    """Return intervals that contain the margin of a query at *every* optimum of program (2).

    Program (2) is defined in Identity Bridge, §4.3. The lower end needs a bound for
    every rival (every wrong output), and the upper end only for the nearest rival. If
    the margin differs between optima, its interval contains all of these margins, even
    if the gap is small. For a query of the role ``unstated``, which has no correct
    answer, the margin is the difference between the two largest logits.

    Args:
        solution: A solution. If its gap is too large for the accuracy, it is refined,
            starting from this point. If it contains a second matrix (``another``), as
            solutions for thousands of facts do, all intervals are left open.
        queries: Indices of the queries; ``None`` for all queries.
        accuracy: Largest accepted distance, above 0, between an end of an interval and
            the margin of the solution (for a tie, an end is accepted if it is at most
            ``tie`` from 0). If ``None``, an interval is narrowed only until it proves
            that the margin is above ``tie``, or below ``-tie``. This takes one run of
            the solver per rival if the margin is above ``tie``, and a few runs if it is
            below ``-tie``.
        tie: Margins of at most this absolute value are ties.
        seconds: Time limit in seconds, after which no further interval is computed;
            ``None`` for no limit.
        progress: Function that is called with the number of finished queries and the
            number of all requested queries; ``None`` for no progress reports.

    Returns:
        One row per query, in the order of ``queries``, with the columns ``query`` (its
        index), ``margin`` (at the solution), ``lower`` and ``upper`` (ends of the
        interval, infinite if nothing was proved), and ``proved``: ``follows`` if the
        whole interval is above ``tie``, ``fails`` if it is below ``-tie``, ``tied`` if
        it lies between ``-tie`` and ``tie``, otherwise ``open``.

    Raises:
        ConfigError: ``accuracy`` is not above 0, an index in ``queries`` is negative or
            too large, or ``seconds`` is negative and the solution has to be refined.
        SolverError: The solution has to be refined, and no feasible matrix was found
            within the limits.

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
            f"there is no query {wrong[0]}; indices are from 0 to {len(world.queries) - 1}"
        )
    late = None if seconds is None else time.perf_counter() + seconds
    columns, rivals = _asked(solution)
    if solution.another is not None:
        # With thousands of facts, each bound takes as long as a solution, so that none
        # is computed.
        late = time.perf_counter()
    decided = np.abs(np.abs(_leads(solution, columns, rivals)[chosen].min(-1)) - tie)
    fine = accuracy or max(float(decided.min(initial=0.2)), 0.01)
    needed = max(FINEST, fine**2 / (8 * solution.optimum))
    if solution.gap > needed and in_time(late):
        finer = solve(
            solution.program, gap=needed, start=solution.templates, seconds=seconds
        )
        solution = finer if finer.gap < solution.gap else solution
    leads = _leads(solution, columns, rivals)
    own = _own_columns(solution, columns)
    counts = count_tokens(world, world.queries)
    inverse = coupled_inverse(solution.program) if in_time(late) else None
    bound = partial(lower_bound, solution, late=late, inverse=inverse)
    rows = []
    for done, query in enumerate(chosen):
        gaps = leads[query]
        prompt = counts[[query]].toarray()[0]
        lower, upper = _interval(bound, prompt, own[query], gaps, accuracy, tie, late)
        proved = "open"
        if -tie <= lower and upper <= tie:
            proved = "tied"
        elif lower > tie:
            proved = "follows"
        elif upper < -tie:
            proved = "fails"
        rows.append((query, float(gaps.min()), lower, upper, proved))
        if progress:
            progress(done + 1, len(chosen))
    schema = {
        "query": pl.Int64,
        "margin": pl.Float64,
        "lower": pl.Float64,
        "upper": pl.Float64,
    }
    return pl.DataFrame(rows, schema=schema | {"proved": pl.String}, orient="row")


def _asked(solution: Solution) -> tuple[Ids, Bools]:
    """Return each query's output whose margin is bounded, ``[Q]``, and its rivals, ``[Q, K]``."""
    queries = solution.program.world.queries
    logits, columns, rivals = solution.compare(queries)
    names = np.array([*queries.role_names, ""])
    nobody = np.flatnonzero(names[queries.roles] == "unstated")
    columns[nobody] = logits[nobody].argmax(1)
    rivals[nobody] = True
    rivals[nobody, columns[nobody]] = False
    return columns, rivals


def _own_columns(solution: Solution, columns: Ids) -> list[list[int]]:
    """Return the right outputs of each query, beginning with the one whose margin is bounded."""
    world = solution.program.world
    own = [[column] for column in columns.tolist()]
    first = np.searchsorted(world.outputs, world.queries.answers)
    for row, token in world.queries.further.tolist():
        if len(own[row]) == 1:
            own[row] += [int(first[row])] * (int(first[row]) != own[row][0])
        column = int(np.searchsorted(world.outputs, token))
        own[row] += [column] * (column not in own[row])
    return own


def _leads(solution: Solution, columns: Ids, rivals: Bools) -> Floats:
    """Return how far the logits of the bounded outputs exceed each rival's logit, ``[Q, K]``."""
    logits = solution.compare(solution.program.world.queries)[0]
    return np.where(
        rivals, np.take_along_axis(logits, columns[:, None], 1) - logits, np.inf
    )


def _interval(
    bound: Callable[..., Bound],
    prompt: Floats,
    answers: list[int],
    gaps: Floats,
    accuracy: float | None,
    tie: float,
    late: float | None,
) -> tuple[float, float]:
    """Return both ends of the interval for one query.

    Rivals are bounded in the order of their distance, as long as they can affect the
    interval. The margin is the largest lead of any correct answer. The lower end
    belongs to the first correct answer, which has the largest lead here. The upper end
    has to hold for all of them.
    """
    margin = float(gaps.min())
    order = [int(k) for k in np.argsort(gaps, kind="stable") if np.isfinite(gaps[k])]
    if not order:
        return np.inf, np.inf
    lower = np.inf
    upper = np.inf
    want_lower = accuracy is not None or margin >= -tie
    want_upper = accuracy is not None or margin <= tie
    if abs(margin) <= tie:
        low_goal = -tie
        high_goal = tie
    elif accuracy is None:
        low_goal = tie
        high_goal = -tie
    else:
        low_goal = margin - accuracy
        high_goal = margin + accuracy
    # The inequality to be proved is strict.
    low_goal = low_goal + 1e-9
    high_goal = high_goal - 1e-9

    def against(rival: int, sign: float, answer: int = answers[0]) -> Floats:
        functional = np.zeros((len(prompt), len(gaps)))
        functional[:, answer] += sign * prompt
        functional[:, rival] -= sign * prompt
        return functional

    if want_upper and in_time(late):
        upper = max(
            -bound(against(order[0], -1.0, answer), goal=-high_goal).value
            for answer in answers
        )
    for rival in order if want_lower else ():
        if not in_time(late):
            return -np.inf, upper
        # A bound above the smallest one so far would not change the result.
        goal = min(low_goal, lower)
        lower = min(lower, bound(against(rival, 1.0), goal=goal).value)
        if accuracy is None and lower <= low_goal:
            break  # not proved, whatever the other rivals are
    return (lower if want_lower else -np.inf), upper
