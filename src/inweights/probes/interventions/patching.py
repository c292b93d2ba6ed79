"""Activation patching: replace a hidden state by another one, and measure the effect.

:func:`patch` replaces a state and returns logits; :func:`activation_patching` does this
for all layers and positions and returns a table.

Shapes: ``R`` replicas, ``B`` prompts, ``T`` positions, ``D`` width, ``K`` candidates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import polars as pl
from torch import Tensor

from inweights.config import check_size
from inweights.errors import DataError, check_names
from inweights.models.base import Model
from inweights.models.packing import pack
from inweights.probes.interventions.contrasts import Contrast, contrasts, last_logits
from inweights.probes.interventions.spots import depth_of, recorded, spot_of
from inweights.probes.needs import holds
from inweights.probes.recall import chosen_parts
from inweights.probes.states import by_replica, share
from inweights.training.batches.worlds import Part, as_worlds
from inweights.worlds.arrays import Float, Int
from inweights.worlds.world import Worlds


def patch(
    model: Model,
    tokens: Int[Tensor, "*R B T"],
    state: Float[Tensor, "_ _ *_ D"],
    *,
    layer: str,
    position: int | None = None,
    at: Literal["last", "all"] = "all",
) -> Float[Tensor, "_ B *_ K"]:
    """Return the logits for ``tokens`` when a layer's state is replaced by another state.

    The other state may come from another prompt, another replica or another model.

    Args:
        model: Model with ``R`` replicas.
        tokens: Token ids ``[B, T]`` (``B`` prompts, ``T`` positions), or ``[R, B, T]``
            if replicas read different prompts.
        state: The new state: ``[R, B, D]`` (width ``D``) for one position, or ``[R, B,
            T, D]`` for all positions; an axis ``R`` or ``B`` of length 1 means that all
            replicas or prompts get the same state.
        layer: One of the model's ``layer_names`` or ``part_names``, or a head of a GPT
            such as ``block.0.head.1``, whose state has the width of one head.
        position: Index of the position that is replaced, counted from the end if
            negative; by default all positions.
        at: Positions at which logits are computed: ``all``, or only the ``last``.

    Returns:
        Logits ``[R, B, T, K]`` (``K`` candidates), or ``[R, B, K]`` at the last
        position.

    Raises:
        ConfigError: The layer, head or ``at`` is unknown, a prompt is longer than the
            model's limit, or the layer of a user-defined model cannot be replaced because
            the model does not pass it to hooks.
        DataError: The position does not exist in the prompts, ``state`` cannot be
            broadcast to the replaced state, or ``tokens`` are not token ids of the
            model.

    Example:
        >>> import torch
        >>> from inweights.models import GPTConfig
        >>> model = GPTConfig(layers=2, width=8).build(vocabulary=9, seeds=[0, 1])
        >>> tokens, other = torch.tensor([[1, 2]]), torch.tensor([[5, 2]])
        >>> states = model.hidden(other, at="all")["block.0"]
        >>> patched = patch(model, tokens, states, layer="block.0")  # at all positions
        >>> torch.equal(patched, model(other))
        True
        >>> across = states[:, :, 1].flip(0)  # each replica gets the other one's state
        >>> tuple(patch(model, tokens, across, layer="block.0", position=1, at="last").shape)
        (2, 1, 9)
    """
    check_names("place", [at], ("last", "all"))
    batch = pack([tokens])
    shape = tokens.shape[-2:]
    if position is not None and not -shape[1] <= position < shape[1]:
        raise DataError(
            f"'position' must be from {-shape[1]} to {shape[1] - 1}, got {position}"
        )

    spot = spot_of(model, layer)

    def replace(own: Tensor) -> Tensor:
        whole = own.clone()
        place = whole[..., spot.columns]
        place = place if position is None else place[:, :, position]
        try:
            place[:] = state
        except RuntimeError:
            raise DataError(
                f"'state' must have the shape {list(place.shape)}, got {list(state.shape)}"
            ) from None
        return whole

    with model.hooks({spot.name: replace}):
        return model(batch, at=batch.last) if at == "last" else model(tokens)


@holds(most=256, whole=3, kept=86)
def activation_patching(
    model: Model,
    worlds: Worlds,
    *,
    part: Part = "queries",
    layers: Sequence[str] | None = None,
    donor: Model | None = None,
    most: int = 256,
) -> pl.DataFrame:
    """Measure the effect on the answer of patching the hidden state at each layer and position.

    The effect shows which hidden state carries the answer. Each statement gets a
    partner, the next statement of its role and length with a different prompt and a
    different answer. The model reads the statement's prompt, and one of its hidden
    states is replaced by the same state of the partner's prompt. Let ``d`` be the logit
    of the partner's answer minus the logit of the statement's own answer, at the last
    position, averaged over statements:

        ``effect = (d_patched − d_own) / (d_partner − d_own)``,

    which is 0 if nothing changes, and 1 if the model answers as it does to the
    partner's prompt (Heimersheim and Nanda 2024, arXiv:2404.15255). It is NaN if the
    model gives both prompts the same logits.

    Args:
        model: Model with ``R`` replicas.
        worlds: One world, or one for each replica.
        part: ``queries`` or ``facts``.
        layers: Names of layers, parts of layers, or heads of a GPT such as
            ``block.0.head.1``; by default all layers.
        donor: Model from which the new states come, with the same layers and
            width, and with one or ``R`` replicas; by default ``model`` itself. With a
            donor, an effect of 1 means that the donor's states have the same effect as
            the model's own.
        most: Maximum number of statements to read for each role and length, at least 2;
            the first ones are used.

    Returns:
        One row per replica, role, length of prompts and answers, layer and position,
        with the columns ``replica``, ``part``, ``role``, ``length`` (tokens of the
        prompts), ``layer`` (name of the layer, part or head), ``depth`` (index of the
        layer in ``layer_names``), ``position`` (from 0), ``effect``, ``accuracy``
        (share of statements for which the partner's answer has the largest logit after
        patching) and ``statements`` (number of statements).

    Raises:
        ConfigError: A layer or the part is unknown, ``most`` is below 1, the donor
            lacks a layer, the model has no replica axis or cannot read prompts of this
            length, or the probe would need more memory than is available.
        DataError: The part contains no statements, a statement has no partner (always
            if ``most`` is 1), an answer is not among the head's candidates, the donor's
            states have a different shape, or the worlds do not fit the model.

    Example:
        >>> import inweights as iw
        >>> world = iw.TwoHop(n=4).build()
        >>> model = iw.EmbMLPConfig().build(vocabulary=len(world.vocabulary), seeds=[0])
        >>> table = activation_patching(model, world, layers=["embedding"])  # a r1 r2: a decides
        >>> table["effect"].abs().round(3).to_list()
        [1.0, 0.0, 0.0]
    """
    check_size("most", most, most=math.inf)
    each = as_worlds(worlds, model)
    chosen_parts(each[0], [part])
    chosen = model.layer_names if layers is None else layers
    spots = {layer: spot_of(model, layer) for layer in chosen}
    names = {spot.name for spot in spots.values()}
    rows: list[dict[str, object]] = []
    for contrast in contrasts(model, each, part, most):
        tokens = contrast.tokens
        partners = contrast.partners
        own = _mean_difference(contrast, last_logits(model, tokens))
        whole = _mean_difference(contrast, last_logits(model, partners)) - own
        states = recorded(donor or model, pack([partners]), names)
        for layer, spot in spots.items():
            for position in range(tokens.shape[-1]):
                new = states[spot.name][:, :, position, spot.columns]
                logits = patch(
                    model, tokens, new, layer=layer, position=position, at="last"
                )
                change = _mean_difference(contrast, logits) - own
                right = share(logits.argmax(-1) == contrast.columns[..., 1])
                rows += by_replica(
                    model.replicas,
                    part=part,
                    role=contrast.role,
                    length=tokens.shape[-1],
                    layer=layer,
                    depth=depth_of(model, layer),
                    position=position,
                    effect=change / whole,
                    accuracy=right,
                    statements=tokens.shape[-2],
                )
    return pl.DataFrame(rows)


def _mean_difference(contrast: Contrast, logits: Tensor) -> Float[Tensor, " R"]:
    """Return the mean logit of the partners' answers minus that of the own answers, ``[R]``."""
    own, theirs = logits.gather(-1, contrast.columns).double().mean(1).unbind(-1)
    return theirs - own
