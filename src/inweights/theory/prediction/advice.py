"""Find identities ``b → b`` that correct failing compositions or chains if they are added.

:func:`advise_identities` returns an :class:`Advice`; :func:`bridges` finds the entities
through which a query chains facts.
"""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from inweights.theory.prediction.tables import unstored
from inweights.worlds.world import World

if TYPE_CHECKING:
    from inweights.theory.programs.nuclear_norm import Solution
    from inweights.theory.programs.soft_program import SoftSolution

#: Maximum number of solutions in the search for a smaller set of identities.
TRIALS = 8

#: Solver of a world; returns solution, queries, and the reason if not program (2).
Forecast = Callable[[World, str], tuple["Solution | SoftSolution", pl.DataFrame, str]]


@dataclass(frozen=True, eq=False)
class Advice:
    """Identities that correct failing queries if they are added, verified by a new solution.

    Attributes:
        identities: Names of the tokens ``b`` whose identity ``b → b`` should be added.
        mended: Indices of queries that are answered correctly only with the identities.
        open: Indices of queries that are not answered correctly even with the
            identities, in the parts of the world that have advice.
        broken: Indices of queries answered correctly only without the identities.
        status: Status of the verifying solution, ``certified`` or ``not certified``.
        gap: Relative gap of that solution. For several parts, the largest gap of the
            solutions that are not certified, or of all solutions if all are certified.
        solutions: Number of programs that were solved to find the advice.
        why: Reason why not all identities that could help can be stored; may be empty.
        most: Two numbers: the number of identities that could help, and the number of
            additional correct answers if all of these identities are added.
        parts: Number of parts of the world that have advice of their own.
    """

    identities: tuple[str, ...]
    mended: tuple[int, ...]
    open: tuple[int, ...]
    broken: tuple[int, ...]
    status: str
    gap: float
    solutions: int
    why: str = ""
    most: tuple[int, int] = (0, 0)
    parts: int = 1


def stated_identities(world: World) -> set[int]:
    """Return the ids of the tokens ``b`` for which a world has a fact ``b → b`` (an identity)."""
    found = set()
    for fact in world.facts:
        if fact.prompt == fact.answer:
            found.add(fact.answer[0])
    return found


def bridges(
    world: World, rows: Iterable[int] | None = None, late: float | None = None
) -> list[tuple[int, int]]:
    """Return the bridges of every query that can be answered by a chain of facts.

    Two facts form a chain through the bridge ``b`` if some tokens of the prompt are the
    prompt of a fact with the answer ``b``, and ``b`` with the remaining tokens is the
    prompt of a fact whose answer is correct for the query. If several tokens remain,
    the chain may also continue through further bridges. Identities are ignored.

    Args:
        world: Facts and queries.
        rows: Indices of the queries to search; if ``None``, all queries are searched.
        late: Value of :func:`time.perf_counter`, in seconds, after which no further
            query is searched; ``None`` for no limit.

    Returns:
        One pair per bridge, the index of the query and the id of the token ``b``, in
        the order of ``rows``. A query may have several bridges, or none.

    Example:
        >>> from inweights.worlds import TwoHop
        >>> world = TwoHop(n=2).build()
        >>> [(query, world.vocabulary.names[bridge]) for query, bridge in bridges(world)]
        [(0, 'b1'), (1, 'b2')]
    """
    queries = world.queries
    known: defaultdict[tuple[int, ...], set[int]] = defaultdict(set)
    for fact in world.facts:
        if fact.prompt != fact.answer:
            known[tuple(sorted(fact.prompt))].add(fact.answer[0])
    found: list[tuple[int, int]] = []
    for query in range(len(queries)) if rows is None else rows:
        if not in_time(late):
            break
        tokens = sorted(queries.prompt(query).tolist())
        links = _links(known, tokens, set(queries.right_answers(query).tolist()))
        found += [(query, bridge) for bridge in sorted(links)]
    return found


def _links(
    known: defaultdict[tuple[int, ...], set[int]], tokens: list[int], answers: set[int]
) -> set[int]:
    """Return the bridges of all chains of facts that lead from a bag of tokens to an answer.

    Args:
        known: Answers of the facts, keyed by the sorted tokens of the prompt.
        tokens: The bag of tokens, sorted.
        answers: Tokens of the answers at which a chain may end.
    """
    links = set[int]()
    parts: set[tuple[int, ...]] = set()
    for size in range(1, len(tokens)):
        parts.update(combinations(tokens, size))
    for part in parts:
        if part not in known:
            continue
        rest = list(tokens)
        for token in part:
            rest.remove(token)
        longer = len(rest) > 1 and len(part) > 1
        for bridge in known[part]:
            bag = sorted([bridge, *rest])
            key = tuple(bag)
            # `in` comes first, as indexing a defaultdict alone would add the key.
            reached = answers & known[key] if key in known else set[int]()
            if reached:
                links.add(bridge)
            if longer and len(reached) < len(answers):
                further = _links(known, bag, answers - reached)
                if further:
                    links |= {bridge, *further}
    return links


def advise_identities(
    world: World,
    queries: pl.DataFrame,
    forecast: Forecast,
    late: float | None,
    lost: int = 0,
) -> Advice | None:
    """Find a small set of identities ``b → b`` that corrects failing queries if it is added.

    The score of a set is the total number of queries that are answered correctly with
    it. Errors raised by ``forecast`` propagate.

    Args:
        world: Facts and queries.
        queries: Table with the columns ``query`` (index), ``role`` and ``verdict``.
        forecast: Function that solves a world, given the world and a description. It
            returns the solution, the table of its queries, and the reason if a program
            other than (2) was solved (empty otherwise).
        late: Value of :func:`time.perf_counter`, in seconds, after which no further
            attempt is made; ``None`` for no limit.
        lost: Maximum number of facts that the solution with the identities may fail to
            store.

    Returns:
        The advice; its ``identities`` are empty if no set that was tried increases the
        score. The result is ``None`` if the bridges of all failing queries already have
        their identities, or if no time is left.
    """
    known = stated_identities(world)
    follows = following(queries)
    chained = queries.filter(
        (pl.col("verdict") != "follows")
        & ~pl.col("role").is_in(["reversal", "unstated"])
    )
    chains = bridges(world, chained["query"].to_list(), late)
    everything = list(dict.fromkeys(b for _, b in chains if b not in known))
    if not (everything and in_time(late)):
        return None
    began = time.perf_counter()
    solved = 0

    def attempt(tokens: Sequence[int]) -> _Trial:
        nonlocal solved
        solved += 1
        column = np.asarray(tokens, dtype=np.int64)[:, None]
        more = world.with_facts("identity", column, column)
        solution, table, why = forecast(more, f"with {len(tokens)} identities")
        stored = unstored(solution) <= lost
        return _Trial(tuple(tokens), solution, following(table), stored, why)

    def time_for_more() -> bool:
        usual = (time.perf_counter() - began) / solved
        return solved < TRIALS and in_time(None if late is None else late - usual)

    whole = best = attempt(everything)
    if not whole.stored:
        best = _that_can_be_stored(everything, attempt, time_for_more)
    if best.tokens and best.follows - follows:
        best = _fewer(best, follows, attempt, time_for_more)
    goal = bool(best.tokens and best.follows - follows)
    after = best.follows if goal else follows
    everyone = set(queries.filter(pl.col("role") != "unstated")["query"].to_list())
    names = world.vocabulary.names
    why = ""
    if not whole.stored:
        reason = f": {whole.why}" if whole.why else ""
        why = f"not all {len(everything)} can be stored{reason}"
    return Advice(
        identities=tuple(names[b] for b in best.tokens) if goal else (),
        mended=tuple(sorted(after - follows)),
        open=tuple(sorted(everyone - follows - after)),
        broken=tuple(sorted(follows - after)),
        status=best.solution.status,
        gap=best.solution.gap,
        solutions=solved,
        why=why,
        most=(len(everything), len(whole.follows) - len(follows)),
    )


class _Trial(NamedTuple):
    """A set of identities, the queries that follow with it, and whether all facts can be stored."""

    tokens: tuple[int, ...]
    solution: Solution | SoftSolution
    follows: set[int]
    stored: bool
    why: str


def _that_can_be_stored(
    everything: Sequence[int],
    attempt: Callable[[Sequence[int]], _Trial],
    more: Callable[[], bool],
) -> _Trial:
    """Search for a large set that can be stored: join parts that fit, and halve the others."""
    best: _Trial | None = None
    waiting = deque(_halves(everything))
    trial = None
    while waiting and more():
        part = waiting.popleft()
        trial = attempt([*(best.tokens if best else ()), *part])
        if trial.stored:
            best = trial
        else:
            waiting.extend(_halves(part))
    return best or (trial or attempt(everything[:1]))._replace(tokens=())


def _halves(tokens: Sequence[int]) -> list[Sequence[int]]:
    """Return the two halves of the tokens; an empty list for a single token."""
    middle = len(tokens) // 2
    return [tokens[:middle], tokens[middle:]] if middle else []


def _fewer(
    best: _Trial,
    follows: set[int],
    attempt: Callable[[Sequence[int]], _Trial],
    more: Callable[[], bool],
) -> _Trial:
    """Remove identities from a set while the number of queries that follow does not decrease."""
    size = len(best.tokens) // 2
    while size and more():
        for start in range(0, len(best.tokens), size):
            fewer = [*best.tokens[:start], *best.tokens[start + size :]]
            if not fewer:
                continue
            if not more():
                break
            trial = attempt(fewer)
            # A solution without a certificate cannot replace a certified one.
            sure = trial.solution.status == "certified"
            sure = sure or best.solution.status != "certified"
            some = len(trial.follows) >= len(best.follows) and trial.follows - follows
            if sure and some and trial.stored:
                best = trial
                break
        else:
            size //= 2
    return best


def following(table: pl.DataFrame) -> set[int]:
    """Return the indices of the queries with the verdict ``follows`` in a prediction's table."""
    return set(table.filter(verdict="follows")["query"].to_list())


def in_time(late: float | None) -> bool:
    """Return whether :func:`time.perf_counter` is before ``late``; ``None`` means no limit."""
    return late is None or time.perf_counter() < late
