"""Find advice for facts that are solved in parts: for each part, within a time limit.

:func:`advise_parts` calls :mod:`~.advice` and :mod:`~.remedies` for the parts,
beginning with those that have the most failing queries, and joins the results.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from inweights.theory.prediction.advice import Advice, advise_identities, in_time
from inweights.theory.prediction.remedies import Remedy, remedies
from inweights.theory.prediction.tables import Solved, unstored
from inweights.worlds.world import World

Forecasted = tuple[Solved, pl.DataFrame, str]

#: Smallest number of solutions for which a part gets time: one without additional
#: facts, and others with some.
LEAST = 3


def advise_parts(
    parts: Sequence[Solved],
    queries: pl.DataFrame,
    forecast: Callable[[World, str, float], Forecasted],
    late: float | None,
) -> tuple[Advice | None, tuple[Remedy, ...]]:
    """Find identities and other remedies for every part of a world, within a time limit.

    The search begins with the part that has the most failing queries. Errors raised by
    ``forecast`` propagate.

    Args:
        parts: Solutions, one per part.
        queries: Table of all queries, with the columns of
            :func:`~inweights.theory.prediction.tables.query_table` and ``part`` (index
            in ``parts``). Here ``query`` is the index of the query in the whole world.
        forecast: Function that solves a world, given the world, a description and a
            time limit in seconds. It returns the solution, the table of its queries,
            and the reason if a program other than (2) was solved.
        late: Value of :func:`time.perf_counter`, in seconds, at which the search must
            end; ``None`` for no limit.

    Returns:
        The advice for all parts together, with indices of queries in the whole world
        (``None`` if no part has advice); and the remedies of all parts, sorted so that
        the remedies that correct the most queries come first.
    """
    failing = queries.filter(~pl.col("verdict").is_in(["follows", "open"]))
    counts = failing["part"].value_counts(sort=True)
    order = counts.sort("count", "part", descending=[True, False])
    advices: list[Advice] = []
    found: list[Remedy] = []
    for done, part in enumerate(order["part"].to_list()):
        until = late
        now = time.perf_counter()
        if late is not None:
            # The remaining parts share the remaining time, but each gets enough for a
            # few solutions.
            if late - now < (LEAST if done else 1) * parts[part].seconds:
                break
            share = (late - now) / (order.height - done)
            until = min(late, now + max(share, 2 * LEAST * parts[part].seconds))
        own = queries.filter(pl.col("part") == part)
        world = parts[part].program.world
        places = own["query"].to_list()
        local = own.with_columns(query=pl.Series(np.arange(own.height)))

        def solve(of: World, what: str, until: float | None = until) -> Forecasted:
            left = np.inf if until is None else max(0.0, until - time.perf_counter())
            return forecast(of, what, left)

        lost = unstored(parts[part])
        advice = advise_identities(world, local, solve, until, lost)
        if advice:
            in_whole = replace(
                advice,
                mended=tuple(places[row] for row in advice.mended),
                open=tuple(places[row] for row in advice.open),
                broken=tuple(places[row] for row in advice.broken),
            )
            advices.append(in_whole)
        last = None if until is None else until - parts[part].seconds
        if in_time(last):
            found += remedies(world, local, solve, last, lost)
    return _together(advices), tuple(sorted(_joined(found), key=lambda r: -r.flipped))


def _together(advices: Sequence[Advice]) -> Advice | None:
    """Join the advice for several parts, with the weakest of their certificates."""
    if len(advices) < 2:
        return advices[0] if advices else None
    worst = max(advices, key=lambda advice: (advice.status != "certified", advice.gap))
    # a dictionary as a set that keeps the order of the parts
    identities: dict[str, None] = {}
    reasons: dict[str, None] = {}
    mended: list[int] = []
    still_open: list[int] = []
    broken: list[int] = []
    solutions = 0
    helpful = 0
    gained = 0
    for advice in advices:
        identities |= dict.fromkeys(advice.identities)
        if advice.why:
            reasons[advice.why] = None
        mended += advice.mended
        still_open += advice.open
        broken += advice.broken
        solutions += advice.solutions
        helpful += advice.most[0]
        gained += advice.most[1]
    return Advice(
        identities=tuple(identities),
        mended=tuple(sorted(mended)),
        open=tuple(sorted(still_open)),
        broken=tuple(sorted(broken)),
        status=worst.status,
        gap=worst.gap,
        solutions=solutions,
        why=" ".join(reasons),
        most=(helpful, gained),
        parts=len(advices),
    )


def _joined(found: Sequence[Remedy]) -> list[Remedy]:
    """Join equal remedies of several parts."""
    joined: dict[tuple[str, str], Remedy] = {}
    for one in found:
        known = joined.get((one.kind, one.against))
        if known is None:
            joined[one.kind, one.against] = one
            continue
        joined[one.kind, one.against] = replace(
            known,
            statements=tuple(dict.fromkeys([*known.statements, *one.statements])),
            flipped=known.flipped + one.flipped,
            of=known.of + one.of,
            broken=known.broken + one.broken,
            status=one.status if known.status == "certified" else known.status,
        )
    return list(joined.values())
