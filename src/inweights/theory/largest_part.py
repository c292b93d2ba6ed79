"""The part of a world that a program of some size can hold: whole components first.

A program over all facts has a row for each prompt and a column for each answer; beyond some size no
time that anyone asked for is enough. Facts without a common entity meet only in their relations and
in the normalisation of the outputs, so that a part that is made of whole components tells most.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from inweights.worlds.parts import whole_components
from inweights.worlds.world import Ids, Statements, World

__all__ = ["largest_part", "take"]


def largest_part(world: World, facts: int) -> tuple[World, NDArray[np.bool_]]:
    """Return a world of at most so many facts, and which they are, ``[facts]``.

    Which these are, :func:`.whole_components` decides. Queries are those whose
    tokens all occur in the facts that are left.

    Example:
        >>> from inweights.worlds import TwoHop
        >>> world, kept = largest_part(TwoHop(n=4, identity=False).build(), 5)
        >>> world, kept.sum()
        (World('two-hop', 14 tokens, 4 facts, 2 queries, seed=0), np.int64(4))
    """
    total = len(world.facts)
    if total <= facts:
        return world, np.ones(total, dtype=bool)
    relations = [world.vocabulary[g] for g in world.vocabulary.groups if g.endswith("relation")]
    linking = np.ones(len(world.vocabulary), dtype=bool)
    linking[np.concatenate([np.zeros(0, dtype=np.int64), *relations])] = False
    which, tokens = _tokens(world.facts)
    use = linking[tokens]
    kept = whole_components(which[use], tokens[use], total=total, most=facts)
    known = np.zeros(len(world.vocabulary), dtype=bool)
    known[tokens[kept[which]]] = True
    asked, words = _tokens(world.queries)
    strange = np.bincount(asked, weights=~known[words], minlength=len(world.queries)) > 0
    part = replace(
        world,
        facts=take(world.facts, np.flatnonzero(kept)),
        queries=take(world.queries, np.flatnonzero(~strange)),
    )
    return part, kept


def take(statements: Statements, rows: Ids) -> Statements:
    """Return some statements, in the order of ``rows``.

    Example:
        >>> edges = Statements.build({"edge": ([[0], [1], [2]], [[1], [2], [0]])})
        >>> take(edges, np.array([2, 0])).prompts.tolist()
        [2, 0]
    """

    def cut(tokens: Ids, ends: Ids) -> tuple[Ids, Ids]:
        lengths = np.diff(ends, prepend=0)
        new = np.cumsum(lengths[rows])
        shift = np.repeat(ends[rows] - new, lengths[rows])
        return tokens[np.arange(len(shift)) + shift], new

    prompts, prompt_ends = cut(statements.prompts, statements.prompt_ends)
    answers, answer_ends = cut(statements.answers, statements.answer_ends)
    return Statements(
        prompts,
        prompt_ends,
        answers,
        answer_ends,
        statements.roles[rows],
        statements.role_names,
        statements.out_of_distribution[rows],
    )


def _tokens(statements: Statements) -> tuple[Ids, Ids]:
    """Every token of prompts and answers, and the statement that it is in."""
    rows = np.arange(len(statements))
    which = [
        np.repeat(rows, np.diff(ends, prepend=0))
        for ends in (statements.prompt_ends, statements.answer_ends)
    ]
    return np.concatenate(which), np.concatenate([statements.prompts, statements.answers])
