"""Statements of worlds as tensors, shared by all replicas or with a replica axis.

:func:`as_worlds` checks that worlds fit a model, and :func:`shape_groups` groups their
statements by length. Training, scoring and probes use both. Shapes: ``R`` replicas,
``m`` statements, ``T`` prompt tokens, ``A`` answer tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from inweights.errors import ConfigError, DataError
from inweights.models.base import Model
from inweights.worlds.arrays import Int
from inweights.worlds.world import Ids, Statements, World, Worlds

Part = Literal["facts", "queries"]


@dataclass(frozen=True)
class ShapeGroup:
    """Statements whose prompts have the same length and whose answers have the same length.

    Shapes: ``R`` replicas, ``m`` statements, ``T`` tokens of a prompt, ``A`` tokens of
    an answer.

    Attributes:
        indices: Index of each statement among the facts or queries of its world,
            ``[m]``.
        prompts: Token ids, ``[m, T]``, or ``[R, m, T]`` if worlds differ.
        answers: Token ids, ``[m, A]``, or ``[R, m, A]`` if worlds differ.
    """

    indices: Int[Ids, " m"]
    prompts: Int[Tensor, "*R m T"]
    answers: Int[Tensor, "*R m A"]


def as_worlds(worlds: Worlds, model: Model | nn.Module) -> tuple[World, ...]:
    """Check that worlds fit a model; return one world if all are equal, otherwise one per replica.

    Worlds are equal if they have the same facts and queries. If all worlds are equal,
    the first one is returned.

    Args:
        worlds: One world, or a sequence that contains one world in total or one world
            per replica.
        model: The model that reads the worlds.

    Raises:
        ConfigError: The model has no replica axis; :func:`inweights.wrap` adds one.
        DataError: The number of worlds is neither 1 nor the number of replicas; a world
            does not fit the model (:meth:`.Model.check_world`), for example because it
            has more tokens; or worlds differ in the number of tokens, or in the lengths
            or roles of their statements, or in which statements are out of
            distribution.

    Example:
        >>> import inweights as iw
        >>> world = iw.TwoHop(n=3).build()
        >>> model = iw.EmbMLPConfig().build(vocabulary=len(world.vocabulary), seeds=2)
        >>> len(as_worlds([world, world], model))  # equal worlds are shared
        1
    """
    if not isinstance(model, Model):
        name = (model if isinstance(model, type) else type(model)).__name__
        raise ConfigError(
            f"{name} has no replica axis. To keep its weights, use model = "
            "iw.wrap(module). To train it from new initial values for each seed, wrap a "
            "function that creates it: model = iw.wrap(lambda vocabulary: "
            f"{name}(...)).build(vocabulary=len(world.vocabulary), seeds=3)"
        )
    given = (worlds,) if isinstance(worlds, World) else tuple(worlds)
    if len(given) not in (1, model.replicas):
        raise DataError(
            f"expected one world, or one per replica ({model.replicas}), got {len(given)}"
        )
    # Equal worlds are read once, as matrices without a replica axis.
    first = given[0]
    model.check_world(first)
    if all(_equal(other, first) for other in given[1:]):
        return (first,)
    for other in given[1:]:
        if not _same_form(other, first):
            raise DataError(
                "the worlds of all replicas must have the same number of tokens, and their "
                "statements must have the same lengths, the same roles and the same "
                "out-of-distribution flags; train separate models on worlds that differ in "
                "this respect"
            )
    return given


def shape_groups(
    worlds: Sequence[World], part: Part, indices: Int[Ids, " n"] | None = None
) -> list[ShapeGroup]:
    """Return statements as tensors, one group per pair of prompt and answer lengths.

    Args:
        worlds: A sequence that contains one world, or one per replica, as returned by
            :func:`as_worlds`. Their statements must have equal lengths and roles, which
            is not checked.
        part: ``facts`` or ``queries``.
        indices: Indices of statements in ``part`` of each world, as a NumPy array; by
            default all.

    Returns:
        The groups, in increasing order of prompt length; empty if there are no
        statements. With one world, the tensors have no replica axis.

    Example:
        >>> import inweights as iw
        >>> groups = shape_groups([iw.TwoHop(n=3).build()], "facts")
        >>> [tuple(group.prompts.shape) for group in groups]
        [(3, 1), (6, 2)]
    """
    columns = [list(_part(world, part).by_shape(indices)) for world in worlds]
    groups = []
    for same in zip(*columns, strict=True):
        prompts = np.stack([prompt for _, prompt, _ in same])
        answers = np.stack([answer for _, _, answer in same])
        if len(worlds) == 1:
            prompts = prompts[0]
            answers = answers[0]
        indices_of_group = same[0][0]  # the indices are the same in all worlds
        group = ShapeGroup(
            indices_of_group, torch.from_numpy(prompts), torch.from_numpy(answers)
        )
        groups.append(group)
    return groups


def _equal(one: World, other: World) -> bool:
    """Return whether two worlds have the same facts and queries."""
    if one is other:
        return True
    return one.facts.equals(other.facts) and one.queries.equals(other.queries)


def _same_form(one: World, other: World) -> bool:
    """Return whether two worlds have the same number of tokens, and statements of equal form.

    Statements have equal form if their lengths and roles are equal, and the same
    statements are out of distribution.
    """
    if len(one.vocabulary) != len(other.vocabulary):
        return False
    columns = ("prompt_ends", "answer_ends", "roles", "out_of_distribution")
    for part, column in product(("facts", "queries"), columns):
        values = getattr(_part(one, part), column)
        if not np.array_equal(values, getattr(_part(other, part), column)):
            return False
    return True


def _part(world: World, part: str) -> Statements:
    statements: Statements = getattr(world, part)
    return statements
