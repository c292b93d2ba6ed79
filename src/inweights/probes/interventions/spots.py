"""Places in a model by name: layers, parts of layers, and single attention heads.

:func:`spot_of` finds a place that hooks can reach, :func:`all_places` lists them, and
:func:`recorded` reads states there. Interventions and attributions use them. Shapes:
``R`` replicas, ``B`` prompts, ``T`` positions, ``D`` width.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

from torch import Tensor

from inweights.errors import check_names
from inweights.models.base import Model
from inweights.models.configs import GPTConfig
from inweights.models.packing import Packed
from inweights.worlds.arrays import Float

_HEAD = ".head."
_HEADS = ".heads"


class Spot(NamedTuple):
    """A place in a model at which a state can be read or replaced.

    Attributes:
        name: Name of a layer or part, as expected by :meth:`.Model.hooks`.
        columns: Columns of this state, along its last axis, that belong to the place.
    """

    name: str
    columns: slice


def spot_of(model: Model, place: str) -> Spot:
    """Return the name of the state that contains a place, and the place's columns of this state.

    Args:
        model: The model.
        place: Name of a layer, a part of a layer, or a head such as ``block.0.head.1``.

    Returns:
        For a head of a GPT, the name of the output of all heads and the head's range of
        columns; otherwise ``place`` itself and all columns.

    Raises:
        ConfigError: The block has no such head. Other unknown names raise an error only
            when hooks are set with them.

    Example:
        >>> model = GPTConfig(layers=1, width=8, heads=2).build(vocabulary=9, seeds=[0])
        >>> spot_of(model, "block.0.head.1")
        Spot(name='block.0.heads', columns=slice(4, 8, None))
    """
    block, _, head = place.rpartition(_HEAD)
    heads = f"{block}{_HEADS}"
    config = getattr(model, "config", None)
    if not block or heads not in model.part_names or not isinstance(config, GPTConfig):
        return Spot(place, slice(None))
    names = list(map(str, range(config.heads)))
    check_names(f"head of {block}", [head], names)
    width = config.width // config.heads
    return Spot(heads, slice(int(head) * width, (int(head) + 1) * width))


def all_places(model: Model) -> tuple[str, ...]:
    """Return the names of all layers, parts of layers and heads of a model.

    Args:
        model: The model.

    Returns:
        Names from shallow to deep; the parts of a layer precede the layer.

    Example:
        >>> model = GPTConfig(layers=1, width=8, heads=2).build(vocabulary=9, seeds=[0])
        >>> all_places(model)[1:4]
        ('block.0.head.0', 'block.0.head.1', 'block.0.attention')
    """
    places = []
    parts = list(model.part_names)
    for layer in model.layer_names:
        for part in [name for name in parts if name.startswith(f"{layer}.")]:
            parts.remove(part)
            places += _heads_of(model, part)
        places.append(layer)
    return (*places, *parts)


def _heads_of(model: Model, part: str) -> list[str]:
    """Return the names of the heads, if a part is the output of all heads; otherwise the part."""
    config = getattr(model, "config", None)
    if not part.endswith(_HEADS) or not isinstance(config, GPTConfig):
        return [part]
    block = part.removesuffix(_HEADS)
    return [f"{block}{_HEAD}{head}" for head in range(config.heads)]


def depth_of(model: Model, place: str) -> int:
    """Return the index in ``layer_names`` of a layer, or of the layer to which a part belongs.

    Args:
        model: The model.
        place: Name of a layer (``model.layer_names``), a part of a layer such as
            ``block.0.mlp``, or a head such as ``block.0.head.1``.

    Returns:
        The index; -1 if the name does not begin with the name of a layer.

    Example:
        >>> model = GPTConfig(layers=1, width=8, heads=2).build(vocabulary=9, seeds=[0])
        >>> [depth_of(model, place) for place in ("embedding", "block.0.head.1", "final")]
        [0, 1, 2]
    """
    for depth, layer in enumerate(model.layer_names):
        if place == layer or place.startswith(f"{layer}."):
            return depth
    return -1


def recorded(
    model: Model, batch: Packed, names: Iterable[str]
) -> dict[str, Float[Tensor, "R B T D"]]:
    """Return a model's states at several places while it reads a batch of prompts of one length.

    Args:
        model: Model with ``R`` replicas.
        batch: Packed prompts.
        names: Names of layers and parts, as expected by :meth:`.Model.hooks`.

    Returns:
        States ``[R, B, T, D]`` (``B`` prompts, ``T`` positions, width ``D``), keyed by
        the name of the layer or part.

    Raises:
        ConfigError: The model has no such layer or part, or the prompts are longer than
            its limit.
    """
    seen: dict[str, Tensor] = {}

    def record(name: str, state: Tensor) -> Tensor:
        seen[name] = state
        return state

    with model.hooks({name: partial(record, name) for name in names}):
        model.states(batch)
    return seen
