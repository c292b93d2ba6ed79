"""Edges as facts: the prompts of edges, for all worlds that have edges."""

from __future__ import annotations

import numpy as np

from inweights.worlds.world import Ids, World


def edge_facts(pairs: Ids, mark: list[int]) -> tuple[Ids, Ids]:
    """Return the prompts and answers of edges.

    Args:
        pairs: Token ids of both ends of each of ``E`` edges, ``[E, 2]``.
        mark: Token ids that come before the node in each prompt; may be empty.

    Returns:
        Prompts ``[E, T]`` (``mark`` and the first node, so ``T`` is ``len(mark) + 1``)
        and answers ``[E, 1]`` (the second node), as token ids.
    """
    marks = np.tile(np.array(mark, dtype=np.int64), (len(pairs), 1))
    whole = np.column_stack([marks, pairs])
    return whole[:, :-1], pairs[:, 1:]


def edge_prefix(world: World) -> tuple[int, ...]:
    """Return the tokens before the source node in the prompt of an edge: ``<edge>`` or nothing.

    Args:
        world: A world of edges.

    Returns:
        The id of ``<edge>``, as a tuple of length one; or an empty tuple if the group
        ``task`` of the vocabulary does not contain ``<edge>``.
    """
    words = world.vocabulary
    if "<edge>" not in words.groups.get("task", ()):
        return ()
    return (words.id("<edge>"),)
