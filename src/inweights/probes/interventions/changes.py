"""Changes to a hidden state, such as adding a vector, and the positions to which they apply.

:mod:`inweights.probes.interventions.steering` uses them. Shapes: ``R`` replicas, ``B``
prompts of ``T`` positions, ``D`` width.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict

import numpy as np
import torch
from torch import Tensor

from inweights.errors import ConfigError, DataError, check_names
from inweights.models.base import Model
from inweights.models.packing import pack
from inweights.probes.interventions.spots import recorded, spot_of
from inweights.seeds import EVALUATION, Streams
from inweights.training.batches.worlds import Part
from inweights.worlds.arrays import Bool, Float, Int
from inweights.worlds.world import Ids, World

#: Positions at which a state is changed: an index (negative from the end), names of
#: tokens, a mask ``[B, T]``, or ``None`` for all positions.
Position = int | str | Sequence[str] | Tensor | None
#: A vector, given as numbers ``[D]`` or ``[R, D]``, as a prompt whose state is the
#: vector, or as two prompts whose states differ by the vector.
Vector = Any


class Change(TypedDict, total=False):
    """A change of a hidden state: a dictionary with exactly one of the four keys below.

    Attributes:
        add: Vector that is added: numbers ``[D]`` (width ``D``), or ``[R, D]`` with one
            vector for each of ``R`` replicas; a prompt such as ``"a2 r1"``, whose state
            at the changed layer and position is the vector; or two prompts, the
            difference of whose states (first minus second) is the vector. If a prompt
            does not have this position, its state at its last token is used.
        replace: Vector that replaces the state, in the same forms.
        project_out: Vector, in the same forms, onto which the state is projected; the
            projection is subtracted.
        scale: Factor by which the state is multiplied.
    """

    add: Vector
    replace: Vector
    project_out: Vector
    scale: float | None


def _project_out(state: Tensor, vector: Tensor) -> Tensor:
    unit = torch.nn.functional.normalize(vector, dim=-1)
    return state - (state * unit).sum(-1, keepdim=True) * unit


#: The changes by name, as functions of a state and of a vector that is broadcast to it.
CHANGES: Mapping[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": lambda state, vector: state + vector,
    "replace": lambda state, vector: vector.expand_as(state),
    "project_out": _project_out,
    "scale": lambda state, factor: state * factor,
}


def chosen_change(given: Mapping[str, Any]) -> tuple[str, Any]:
    """Return the name of the requested change, and its vector or factor.

    Args:
        given: Vector or factor of each change, keyed by the name of the change (a key
            of :data:`CHANGES`); ``None`` for changes that are not requested.

    Returns:
        A key of :data:`CHANGES` (``add``, ``replace``, ``project_out`` or ``scale``),
        and its value.

    Raises:
        ConfigError: No change or several changes are requested, or a name is not a key
            of :data:`CHANGES`.

    Example:
        >>> chosen_change({"add": None, "scale": 2.0})
        ('scale', 2.0)
    """
    check_names("change", given, CHANGES)
    wanted = [(name, value) for name, value in given.items() if value is not None]
    if len(wanted) != 1:
        got = ", ".join(name for name, _ in wanted) or "none"
        raise ConfigError(f"give exactly one of {', '.join(CHANGES)}, got {got}")
    return wanted[0]


def random_change(
    state: Float[Tensor, "R B T D"],
    changed: Float[Tensor, "R B T D"],
    seed: int,
    draw: int,
) -> Float[Tensor, "R B T D"]:
    """Return a state moved in a random direction, by the same distance as a given change moves it.

    Args:
        state: The state, ``[R, B, T, D]`` (``R`` replicas, ``B`` prompts, ``T``
            positions, width ``D``).
        changed: The state after the change, which determines the distance.
        seed: Root seed of the direction, which all replicas, prompts and positions
            share.
        draw: Index of the random direction; each index gives a different direction.

    Returns:
        The moved state, ``[R, B, T, D]``.

    Raises:
        ConfigError: ``seed`` is not between 0 and 2**63 - 1.

    Example:
        >>> state = torch.ones(1, 1, 1, 4)
        >>> moved = random_change(state, 3 * state, seed=0, draw=0)
        >>> round((moved - state).norm().item(), 4)
        4.0
    """
    generator = Streams(seed).torch(EVALUATION, "steering", draw)
    drawn = torch.randn(state.shape[-1], generator=generator).to(state)
    size = (changed - state).norm(dim=-1, keepdim=True)
    return state + size * drawn / drawn.norm()


def places(
    position: Position, worlds: Sequence[World], tokens: Int[Tensor, "*R B T"]
) -> Bool[Tensor, "*R B T"]:
    """Return a mask of the positions in prompts at which a change is applied.

    Args:
        position: Index of a position (negative indices count from the end), the name of
            a token, several names, a mask ``[B, T]`` of the prompts, or ``None`` for
            all positions.
        worlds: One world, or one for each replica, whose token names are used.
        tokens: Token ids of prompts of one length.

    Returns:
        A Boolean mask with the shape of ``tokens``. With several names, every position
        whose token has one of them is ``True``. The rows of prompts without the
        position are all ``False``.

    Raises:
        DataError: A name is not a token, or a mask does not have the shape of the
            prompts.

    Example:
        >>> import inweights as iw
        >>> world = iw.TwoHop(n=3).build()
        >>> prompts = torch.from_numpy(world.facts.prompts[-6:].reshape(-1, 2))
        >>> places(-1, [world], prompts).tolist()[0]
        [False, True]
    """
    if position is None:
        return torch.ones_like(tokens, dtype=torch.bool)
    if isinstance(position, int):
        mask = torch.zeros_like(tokens, dtype=torch.bool)
        if -tokens.shape[-1] <= position < tokens.shape[-1]:
            mask[..., position] = True
        return mask
    if isinstance(position, Tensor):
        if position.shape != tokens.shape[-2:]:
            raise DataError(
                "the mask must have the shape [B, T] of the prompts, "
                f"{list(tokens.shape[-2:])}, got "
                f"{list(position.shape)}"
            )
        return position.to(tokens.device).bool().expand_as(tokens)
    names = [position] if isinstance(position, str) else list(position)
    ids = [_ids(world, names) for world in worlds]
    wanted = torch.tensor(ids, device=tokens.device)
    if len(worlds) > 1:
        return (tokens.unsqueeze(-1) == wanted[:, None, None]).any(-1)
    return (tokens.unsqueeze(-1) == wanted[0]).any(-1)


def with_position(
    position: Position, worlds: Sequence[World], part: Part, indices: Int[Ids, " n"]
) -> Int[Ids, " m"]:
    """Return the indices of the statements whose prompts have a given position in every world.

    Args:
        position: Index of a position (negative indices count from the end), the name of
            a token, several names, a mask, or ``None`` for all positions.
        worlds: One world, or one for each replica.
        part: ``facts`` or ``queries``.
        indices: Indices of the statements to choose from, ``[n]``.

    Returns:
        The elements of ``indices`` whose prompts have the position, ``[m]``, in the
        same order; may be empty.

    Raises:
        DataError: A name is not a token, or a mask does not have the shape of the
            prompts.
    """
    kept = []
    for index in indices.tolist():
        prompts = [
            torch.from_numpy(getattr(w, part).prompt(index)).unsqueeze(0)
            for w in worlds
        ]
        here = [
            bool(places(position, [world], prompt).any())
            for world, prompt in zip(worlds, prompts, strict=True)
        ]
        if all(here):
            kept.append(index)
    return np.array(kept, dtype=np.int64)


def vector_of(
    given: Vector, model: Model, worlds: Sequence[World], at: str, position: Position
) -> Tensor:
    """Return the vector that a change adds, inserts or removes, as a tensor.

    Args:
        given: Numbers ``[D]`` or ``[R, D]``; a prompt, whose state is the vector; or
            two prompts, the difference of whose states (first minus second) is the
            vector. A prompt is a string of token names, separated by spaces. For the
            change ``scale``, ``given`` is the factor.
        model: Model whose states of prompts are read.
        worlds: One world, or one for each replica.
        at: Name of the layer.
        position: Position of the change, at which the state of a prompt is read; if the
            prompt has no such position, or all positions are changed, the state is read
            at its last token.

    Returns:
        A tensor that can be broadcast to ``[R, B, T, D]`` (``R`` replicas, ``B``
        prompts, ``T`` positions, width ``D``): ``[D]``, or ``[R, 1, 1, D]`` with one
        vector for each replica; for the change ``scale``, the factor as a tensor.
        Whether ``D`` is the width of the layer is not checked.

    Raises:
        DataError: A prompt has the position several times, numbers have the wrong
            shape, a list does not contain exactly two prompts, or a name is not a
            token.
        ConfigError: A prompt is given and the layer or head is unknown.
    """
    if isinstance(given, str):
        return _state_of(given, model, worlds, at, position)
    if (
        isinstance(given, tuple | list)
        and given
        and all(isinstance(one, str) for one in given)
    ):
        if len(given) != 2:
            raise DataError(
                "a list must contain two prompts; the state of the second is subtracted from "
                f"the state of the first; got a list of length {len(given)}"
            )
        one, other = (_state_of(text, model, worlds, at, position) for text in given)
        return one - other
    numbers = torch.as_tensor(
        np.asarray(given) if not isinstance(given, Tensor) else given
    )
    numbers = numbers.detach().to(model.column.device, torch.float32)
    if numbers.dim() > 2 or (numbers.dim() == 2 and len(numbers) != model.replicas):
        raise DataError(
            f"a vector must have the shape [D], or [R, D] with R = {model.replicas}, got "
            f"{list(numbers.shape)}"
        )
    return numbers[:, None, None] if numbers.dim() == 2 else numbers


def _ids(world: World, names: Sequence[str]) -> list[int]:
    """Return the ids of tokens by their names, which may differ between worlds."""
    return list(map(world.vocabulary.id, names))


def _state_of(
    prompt: str, model: Model, worlds: Sequence[World], at: str, position: Position
) -> Float[Tensor, "R _ _ D"]:
    """Return the state of a prompt, given by the names of its tokens, at a position."""
    ids = [_ids(world, prompt.split()) for world in worlds]
    tokens = torch.tensor(ids, device=model.column.device).unsqueeze(1)
    tokens = tokens if len(worlds) > 1 else tokens[0]
    where = places(-1 if position is None else position, worlds, tokens)
    spots = where.reshape(-1, where.shape[-1])[0].nonzero().flatten().tolist()
    if len(spots) > 1:
        raise DataError(
            f"the prompt '{prompt}' must have the position {position!r} exactly once, but "
            f"has it {len(spots)} times"
        )
    spot = spots[0] if spots else tokens.shape[-1] - 1
    where_read = spot_of(model, at)
    with torch.no_grad():
        state = recorded(model, pack([tokens]), [where_read.name])[where_read.name]
    return state[:, :, spot : spot + 1, where_read.columns]
