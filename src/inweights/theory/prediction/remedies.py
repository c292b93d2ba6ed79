"""Find other facts that correct failing queries if they are added, verified by solving again.

- *Reversals*, with identities of both ends, if reversals fail.
- *Counter-examples*, if the model asserts what no fact states: facts that deny it for
  some entities.

:func:`remedies` tries both; :mod:`~.advice` considers only identities.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import polars as pl

from inweights.theory.prediction.advice import (
    Forecast,
    following,
    in_time,
    stated_identities,
)
from inweights.theory.prediction.tables import comparable_margin, unstored
from inweights.theory.programs.prompts import in_words
from inweights.worlds.world import Vocabulary, World

#: Numbers of reversals and counter-examples that are tried, in this order.
NUMBERS = (1, 2, 4, 8)

#: Answer of the counter-examples.
UNKNOWN = "unknown"


@dataclass(frozen=True)
class Remedy:
    """Facts that correct failing queries if they are added, verified by a new solution.

    Attributes:
        kind: ``reversals`` or ``counter-examples``.
        against: Description of the failure that is corrected.
        statements: Facts to add, as text.
        flipped: Number of queries that are corrected, not counting those that the added
            facts state.
        of: Number of queries that fail in this way, not counting those that the added
            facts state.
        broken: Number of queries that are answered correctly only without the added
            facts.
        status: Status of the solution that verified the remedy, ``certified`` or ``not
            certified``.
    """

    kind: Literal["reversals", "counter-examples"]
    against: str
    statements: tuple[str, ...]
    flipped: int
    of: int
    broken: int
    status: str


def remedies(
    world: World,
    queries: pl.DataFrame,
    forecast: Forecast,
    late: float | None,
    lost: int = 0,
) -> tuple[Remedy, ...]:
    """Find facts that, if added, correct failing reversals or remove an assertion.

    An assertion is an answer that the model gives to a query although no answer follows
    from the facts. If there are several assertions, only the most frequent one is
    considered. Errors raised by ``forecast`` propagate.

    Args:
        world: Facts and queries.
        queries: Predictions for the queries, with the columns ``query`` (index),
            ``role``, ``predicted``, ``margin`` and ``verdict``.
        forecast: Function that solves a world, given the world and a string that
            describes the attempt, such as ``with 2 reversals``. It returns the solution,
            the table of its queries, and the reason if a program other than program (2)
            of *Identity Bridge* was solved (otherwise an empty string).
        late: Value of :func:`time.perf_counter`, in seconds, after which no further
            attempt is made; ``None`` for no limit.
        lost: Maximum number of facts that the solution with the added statements may
            fail to store.

    Returns:
        At most one remedy of each kind, reversals first; empty if no remedy was found.
    """
    found: list[Remedy] = []
    for make in (_tell_reversals, _counter_examples):
        if in_time(late):
            found += make(world, queries, forecast, late, lost)
    return tuple(found)


def _tell_reversals(
    world: World,
    queries: pl.DataFrame,
    forecast: Forecast,
    late: float | None,
    lost: int,
) -> Iterator[Remedy]:
    """Yield the most effective number of reversals to state, with identities of both ends."""
    failing = queries.filter(
        (pl.col("role") == "reversal") & (pl.col("verdict") != "follows")
    )
    rows = failing["query"].to_list()
    if len(rows) < 2:
        return
    asked = world.queries
    follows = following(queries)
    ends = set()
    for query in rows:
        ends.add(int(asked.prompt(query)[0]))
        ends.add(int(asked.answer(query)[0]))
    lacking = sorted(ends - stated_identities(world))
    column = np.array(lacking, dtype=np.int64)[:, None]
    best: Remedy | None = None
    for number in (0, *(k for k in NUMBERS if k < len(rows))):
        if not in_time(late):
            break
        stated = rows[:number]
        rest = rows[number:]
        more = world.with_facts("identity", column, column) if lacking else world
        if stated:
            more = more.with_facts(
                "turned",
                np.array(list(map(asked.prompt, stated))),
                np.array(list(map(asked.answer, stated))),
            )
        elif not lacking:
            continue
        solution, table, _ = forecast(more, f"with {number} reversals")
        after = following(table)
        gained = len(after & set(rest))
        names = [world.vocabulary.names[token] for token in lacking]
        texts = [f"{name} → {name}" for name in names]
        texts += [in_words(world, asked, q) for q in stated]
        storable = unstored(solution) <= lost
        better = best is None or gained / len(rest) > best.flipped / best.of
        if storable and gained and better:
            best = Remedy(
                kind="reversals",
                against="reversals that do not follow",
                statements=tuple(texts),
                flipped=gained,
                of=len(rest),
                broken=len(follows - after),
                status=solution.status,
            )
        if storable and gained == len(rest):
            break
    if best:
        yield best


def _counter_examples(
    world: World,
    queries: pl.DataFrame,
    forecast: Forecast,
    late: float | None,
    lost: int,
) -> Iterator[Remedy]:
    """Yield the smallest number of denials that correct the most frequent assertion."""
    asserted = queries.filter(pl.col("verdict") == "asserted")
    if not asserted.height:
        return
    relation = [int(world.queries.prompt(q)[-1]) for q in asserted["query"].to_list()]
    named = asserted.with_columns(relation=pl.Series(relation))
    groups = named.group_by("relation", "predicted", maintain_order=True).agg(
        "query", n=pl.len(), margin=pl.col("margin").mean()
    )
    most = groups.sort("n", comparable_margin(), descending=True, maintain_order=True)
    token, said, rows, _, _ = most.row(0)
    follows = following(queries)
    wider, unknown = _with_unknown(world)
    for number in (k for k in NUMBERS if k < len(rows)):
        if not in_time(late):
            return
        stated = rows[:number]
        rest = rows[number:]
        prompts = np.array(list(map(world.queries.prompt, stated)))
        more = wider.with_facts(
            "counter_example", prompts, np.full((number, 1), unknown)
        )
        solution, table, _ = forecast(more, f"with {number} counter-examples")
        still = table.filter(
            pl.col("query").is_in(rest)
            & (pl.col("verdict") == "asserted")
            & (pl.col("predicted") == said)
        ).height
        if unstored(solution) > lost:
            return
        if still <= len(rest) // 2 or number * 2 >= len(rows):
            name = world.vocabulary.names[token]
            denied = list(map(world.vocabulary.text, prompts.tolist()))
            texts = [f"({prompt}) → {UNKNOWN}" for prompt in denied]
            yield Remedy(
                kind="counter-examples",
                against=f"'{name}' is {said}, which is not stated",
                statements=tuple(texts),
                flipped=len(rest) - still,
                of=len(rest),
                broken=len(follows - following(table)),
                status=solution.status,
            )
            return


def _with_unknown(world: World) -> tuple[World, int]:
    """Return the world with one more token, which means *unknown*, and the id of that token."""
    name = UNKNOWN
    while name in world.vocabulary.names:
        name += "?"
    vocabulary = Vocabulary({**world.vocabulary.groups, "unknown": [name]})
    return replace(world, vocabulary=vocabulary), len(world.vocabulary)
