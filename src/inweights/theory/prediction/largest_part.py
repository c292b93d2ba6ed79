"""Divide a world into parts that are small enough to solve, along its components if possible.

A program over all facts has a row for each prompt and a column for each answer; above
some size, solving it takes too long. Facts without a common entity interact only
through their relations and the normalisation of the outputs, so that predictions are
best for parts made of whole components. :func:`parts_of` divides the facts;
:func:`worlds_of` builds their worlds, for which :mod:`~.predict` solves the program.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from inweights.config import check_size
from inweights.theory.prediction.advice import bridges
from inweights.worlds.arrays import Bool, Bools, Int
from inweights.worlds.knowledge.parts import Components
from inweights.worlds.world import Ids, Statements, World

#: Roles of queries that chain facts.
_CHAINED = ("composition", "chain")


def largest_part(world: World, facts: int) -> tuple[World, Bool[Bools, " facts"]]:
    """Divide a world into parts of limited size, and return the part with the most facts.

    Args:
        world: Facts and queries.
        facts: Maximum number of facts per part, from 1 to 65,536.

    Returns:
        The world of the largest part, with its facts and the queries about them; and
        the mask ``[facts]`` that selects these facts among all facts of ``world``.

    Raises:
        ConfigError: ``facts`` is not between 1 and 65,536.

    Example:
        >>> from inweights.worlds import TwoHop
        >>> world, kept = largest_part(TwoHop(n=4, identity=False).build(), 5)
        >>> world, kept.sum()
        (World('two-hop', 14 tokens, 4 facts, 2 queries, seed=0), np.int64(4))
    """
    check_size("facts", facts)
    rows, _ = next(parts_of(world, facts))
    kept = np.zeros(len(world.facts), dtype=bool)
    kept[rows] = True
    part, _ = next(worlds_of(world, [(rows, False)]))
    return part, kept


def parts_of(world: World, facts: int) -> Iterator[tuple[Int[Ids, " m"], bool]]:
    """Divide the facts into parts of limited size, and yield the parts, the largest first.

    Facts that are connected through shared entities form a component. A component that
    is not too large is kept whole, and a part may contain several components. The facts
    of a larger component are sorted by their distance from its most frequent entity,
    and cut into parts in this order. Such a part lacks some facts about its entities.

    Args:
        world: The world with the facts.
        facts: Maximum number of facts per part, at least 1.

    Yields:
        Ascending indices of the ``m`` facts of a part, ``[m]``, and whether the part
        was cut from a larger component.
    """
    total = len(world.facts)
    if total <= facts:
        yield np.arange(total), False
        return
    relations = [
        world.vocabulary[g] for g in world.vocabulary.groups if g.endswith("relation")
    ]
    linking = np.ones(len(world.vocabulary), dtype=bool)
    linking[np.concatenate([np.zeros(0, dtype=np.int64), *relations])] = False
    which, tokens = _tokens(world.facts)
    use = linking[tokens]
    found = Components(which[use], tokens[use], total=total)
    parts: list[tuple[Ids, bool]] = []
    together: list[Ids] = []
    for number, rows in enumerate(found.rows):
        if len(rows) > facts:
            order = found.outwards(number)
            starts = range(0, len(order), facts)
            parts += [(np.sort(order[start : start + facts]), True) for start in starts]
            continue
        if sum(map(len, together)) + len(rows) > facts:
            parts.append((np.sort(np.concatenate(together)), False))
            together = []
        together.append(rows)
    if together:
        parts.append((np.sort(np.concatenate(together)), False))
    yield from sorted(parts, key=lambda part: -len(part[0]))


def worlds_of(
    world: World, parts: Iterable[tuple[Int[Ids, " m"], bool]]
) -> Iterator[tuple[World, Int[Ids, " q"]]]:
    """Yield the world of each part, and the indices of its queries in the whole world.

    A query belongs to the first part whose facts contain all of its tokens. Tokens that
    occur in no fact of the world are ignored. A query about a chain is not assigned to
    a cut part that lacks one of the facts of the chain.

    Args:
        world: Facts and queries.
        parts: Facts of each part, and whether it is cut, as yielded by
            :func:`parts_of`.

    Yields:
        The world of a part, and the indices of its ``q`` queries in the whole world,
        ``[q]``.
    """
    which, tokens = _tokens(world.facts)
    nowhere = np.ones(len(world.vocabulary), dtype=bool)
    nowhere[tokens] = False
    asked, words = _tokens(world.queries)
    taken = np.zeros(len(world.queries), dtype=bool)
    for rows, cut in parts:
        if len(rows) == len(world.facts):
            yield world, np.arange(len(world.queries))
            return
        inside = np.zeros(len(world.facts), dtype=bool)
        inside[rows] = True
        known = nowhere.copy()
        known[tokens[inside[which]]] = True
        strange = (
            np.bincount(asked, weights=~known[words], minlength=len(world.queries)) > 0
        )
        chosen = np.flatnonzero(~strange & ~taken)
        part = replace(
            world, facts=world.facts.take(rows), queries=world.queries.take(chosen)
        )
        if cut:
            fair = _without_gaps(part)
            part = replace(part, queries=part.queries.take(fair))
            chosen = chosen[fair]
        taken[chosen] = True
        yield part, chosen


def _without_gaps(part: World) -> Ids:
    """Return a cut part's queries by index, except chains that need a fact outside the part."""
    queries = part.queries
    chains = {queries.role_names.index(r) for r in _CHAINED if r in queries.role_names}
    whole = ~np.isin(queries.roles, list(chains))
    whole[[query for query, _ in bridges(part, np.flatnonzero(~whole).tolist())]] = True
    return np.flatnonzero(whole)


def _tokens(statements: Statements) -> tuple[Ids, Ids]:
    """Return the statement index and the id of every token of all prompts and answers."""
    rows = np.arange(len(statements))
    which = [
        np.repeat(rows, np.diff(ends, prepend=0))
        for ends in (statements.prompt_ends, statements.answer_ends)
    ]
    return np.concatenate(which), np.concatenate(
        [statements.prompts, statements.answers]
    )
