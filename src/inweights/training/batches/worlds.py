"""Worlds on the replica axis: statements of one world, or of one world a replica, as tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
    """Statements of one pair of lengths. The leading ``R`` is there only where worlds differ.

    Attributes:
        indices: Place of each statement in the world.
    """

    indices: Int[Ids, " m"]
    prompts: Int[Tensor, "*R m T"]
    answers: Int[Tensor, "*R m A"]


def as_worlds(worlds: Worlds, model: Model | nn.Module) -> tuple[World, ...]:
    """Return one world if all replicas share it, else one a replica."""
    if not isinstance(model, Model):
        name = (model if isinstance(model, type) else type(model)).__name__
        raise ConfigError(
            f"{name} has no axis of replicas; give the function that makes it to iw.wrap: "
            f"model = iw.wrap(lambda vocabulary: {name}(...)).build("
            "vocabulary=len(world.vocabulary), seeds=3)"
        )
    given = (worlds,) if isinstance(worlds, World) else tuple(worlds)
    if len(given) not in (1, model.replicas):
        raise DataError(
            f"give one world, or one for each of {model.replicas} replicas, got {len(given)}"
        )
    first = given[0]
    if len(first.vocabulary) > model.vocabulary:
        raise DataError(
            f"the world '{first.name}' has {len(first.vocabulary)} tokens and the model "
            f"{model.vocabulary}; build the model with vocabulary=len(world.vocabulary)"
        )
    facts, queries = first.facts, first.queries
    if all(w is first or (w.facts.equals(facts) and w.queries.equals(queries)) for w in given):
        return (first,)
    for other in given[1:]:
        if len(other.vocabulary) != len(first.vocabulary) or any(
            not np.array_equal(
                getattr(_part(other, part), column), getattr(_part(first, part), column)
            )
            for part in ("facts", "queries")
            for column in ("prompt_ends", "answer_ends", "roles", "out_of_distribution")
        ):
            raise DataError(
                "worlds trained as one program must have the same number of tokens and, for "
                "each role, of statements and of out-of-distribution ones; train the others "
                "separately"
            )
    return given


def shape_groups(
    worlds: Sequence[World], part: Part, indices: Int[Ids, " n"] | None = None
) -> list[ShapeGroup]:
    """Return the statements ``indices`` (all if left out) as tensors, by shape."""
    columns = [list(_part(world, part).by_shape(indices)) for world in worlds]
    groups = []
    for same in zip(*columns, strict=True):
        prompts = np.stack([prompt for _, prompt, _ in same])
        answers = np.stack([answer for _, _, answer in same])
        if len(worlds) == 1:
            prompts, answers = prompts[0], answers[0]
        groups.append(ShapeGroup(same[0][0], torch.from_numpy(prompts), torch.from_numpy(answers)))
    return groups


def _part(world: World, part: str) -> Statements:
    statements: Statements = getattr(world, part)
    return statements
