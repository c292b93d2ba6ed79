"""Attribution: the contribution of each head, MLP and layer to the logit of an answer.

:func:`logit_attribution` splits the logit into a sum over the residual stream (direct
logit attribution). :func:`attribution_patching` estimates, from a single gradient, the
effects at all places that :func:`~inweights.probes.activation_patching` measures.
Shapes: ``R`` replicas, ``B`` statements, ``T`` positions, ``D`` width, ``K``
candidates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import polars as pl
import torch
from torch import Tensor

from inweights.config import check_size
from inweights.errors import ConfigError
from inweights.models.base import Model
from inweights.models.gpt import GPT
from inweights.models.packing import pack
from inweights.probes.interventions.contrasts import Contrast, contrasts, last_logits
from inweights.probes.interventions.residual import ResidualSum
from inweights.probes.interventions.spots import (
    Spot,
    all_places,
    depth_of,
    recorded,
    spot_of,
)
from inweights.probes.needs import holds
from inweights.probes.recall import answers_among, chosen_parts
from inweights.probes.states import by_replica, share
from inweights.training.batches.worlds import Part, as_worlds, shape_groups
from inweights.worlds.arrays import Float, Int
from inweights.worlds.world import Worlds


@holds(most=256, kept=40)
def logit_attribution(
    model: Model, worlds: Worlds, *, part: Part = "queries", most: int = 256
) -> pl.DataFrame:
    """Split the logit of the answer into the contributions of a GPT's embedding, heads and MLPs.

    The parts of a GPT add their outputs to one residual stream, which the final norm
    and the output matrix read. If the scale of the final norm is fixed for each prompt,
    the logit is a sum with one term per part (direct logit attribution; Elhage et al.
    2021, "A Mathematical Framework for Transformer Circuits"). The decomposed quantity
    is the logit of the answer at the last position minus the mean logit of the answers
    of its role, since adding a constant to all logits has no effect. The effect that a
    part has through later parts is not included here; :func:`attribution_patching`
    includes it.

    Args:
        model: A GPT with a residual stream and ``R`` replicas.
        worlds: One world, or one for each replica.
        part: ``queries`` or ``facts``.
        most: Maximum number of statements to read for each role and length, at least 1;
            the first ones are used.

    Returns:
        One row per replica, role, length and part of the model, with the columns
        ``replica``, ``part`` (``queries`` or ``facts``), ``role``, ``length`` (tokens
        of the prompts), ``component`` (such as ``embedding``, ``block.0.head.1``,
        ``block.0.mlp`` or ``block.0.memory``; ``bias`` stands for the biases of all
        attention matrices and of the final norm), ``depth`` (index in ``layer_names``;
        0 for ``bias``), ``contribution`` (mean over statements, in logits; the
        contributions of all components sum to the decomposed quantity), ``positive``
        (share of statements whose contribution is above 0) and ``statements`` (number
        of statements read).

    Raises:
        ConfigError: The model is not a GPT, has no residual stream or cannot read
            prompts of this length, the part is unknown, ``most`` is below 1, or the
            probe would need more memory than is available.
        DataError: The part contains no statements, an answer is not among the head's
            candidates, or the worlds do not fit the model.

    Example:
        >>> import inweights as iw
        >>> world = iw.TwoHop(n=4).build()
        >>> config = iw.GPTConfig(layers=1, width=8, heads=2)
        >>> model = config.build(vocabulary=len(world.vocabulary), seeds=1)
        >>> logit_attribution(model, world)["component"].to_list()
        ['embedding', 'block.0.head.0', 'block.0.head.1', 'block.0.mlp', 'bias']
    """
    check_size("most", most, most=math.inf)
    stream = ResidualSum(_with_a_residual_stream(model))
    each = as_worlds(worlds, model)
    chosen_parts(each[0], [part])
    statements = getattr(each[0], part)
    rows: list[dict[str, object]] = []
    for role in statements.role_names:
        allowed = answers_among(model, each, part, role)
        for group in shape_groups(each, part, statements.with_role(role)):
            tokens = group.prompts[..., :most, :].to(model.column.device)
            columns = model.columns(group.answers[..., :most, 0])
            columns = columns.expand(model.replicas, -1)
            added = stream.contributions(tokens, columns, allowed)
            for component, contribution in added.items():
                rows += by_replica(
                    model.replicas,
                    part=part,
                    role=role,
                    length=tokens.shape[-1],
                    component=component,
                    depth=max(0, depth_of(model, component)),
                    contribution=contribution.mean(1),
                    positive=share(contribution > 0),
                    statements=tokens.shape[-2],
                )
    return pl.DataFrame(rows)


def _with_a_residual_stream(model: Model) -> GPT:
    if not isinstance(model, GPT):
        raise ConfigError(
            f"logit_attribution requires a GPT, got {type(model).__name__}; use "
            "attribution_patching, which works with every differentiable model"
        )
    if not model.config.residual:
        raise ConfigError(
            "logit_attribution needs a residual stream; with gpt.residual = false there is none, "
            "and the last MLP contributes the whole logit"
        )
    return model


@holds(most=256, whole=10, kept=195)
def attribution_patching(
    model: Model,
    worlds: Worlds,
    *,
    part: Part = "queries",
    layers: Sequence[str] | None = None,
    most: int = 256,
) -> pl.DataFrame:
    """Estimate the effect on the answer of patching each hidden state, from a single gradient.

    Patching replaces a hidden state with the state of a partner, the next statement
    with a different prompt and answer. :func:`~inweights.probes.activation_patching`
    runs the model once for each place (a layer, a part of a layer, or a head) and
    position. Let ``d`` be the logit of the partner's answer minus the logit of the
    statement's own answer. To first order, replacing a state ``x`` by the partner's
    ``x'`` changes ``d`` by the product of ``x' − x`` with the gradient of ``d``
    (attribution patching; Nanda 2023; Syed et al. 2023, arXiv:2310.10348):

        ``effect = Σ (x' − x) · ∂d/∂x / (d_partner − d_own)``,

    summed over statements. The estimate is exact if the logits are linear in the state,
    as at the deepest layer. At other places, verify important results with
    ``activation_patching(model, worlds, layers=[...])``, whose table has the same
    columns and an additional column ``accuracy``.

    Args:
        model: Model with ``R`` replicas.
        worlds: One world, or one for each replica.
        part: ``queries`` or ``facts``.
        layers: Names of layers, parts of layers, or heads of a GPT such as
            ``block.0.head.1``; by default all layers, parts and heads.
        most: Maximum number of statements to read for each role and length, at least 2;
            the first ones are used.

    Returns:
        One row per replica, role, length of prompts and answers, place and position,
        with the columns ``replica``, ``part``, ``role``, ``length`` (tokens of the
        prompts), ``layer`` (name of the place), ``depth`` (index in ``layer_names`` of
        the layer to which it belongs), ``position`` (from 0), ``effect`` (about 1 if
        the state carries the answer, 0 if it has no effect, NaN if the logits of both
        prompts are equal) and ``statements`` (number of statements read).

    Raises:
        ConfigError: A layer or the part is unknown, ``most`` is below 1, the model
            cannot be differentiated with respect to a state, has no replica axis or
            cannot read prompts of this length, or the probe would need more memory than
            is available.
        DataError: The part contains no statements, a statement has no partner (always
            if ``most`` is 1), an answer is not among the head's candidates, or the
            worlds do not fit the model.

    Example:
        >>> import inweights as iw
        >>> world = iw.TwoHop(n=4).build()
        >>> model = iw.GPTConfig(layers=1, width=8).build(vocabulary=len(world.vocabulary), seeds=1)
        >>> table = attribution_patching(model, world, layers=["final"])
        >>> table["effect"].round(3).abs().to_list()  # the last position decides
        [0.0, 0.0, 1.0]
    """
    check_size("most", most, most=math.inf)
    each = as_worlds(worlds, model)
    chosen_parts(each[0], [part])
    chosen = all_places(model) if layers is None else layers
    spots = {layer: spot_of(model, layer) for layer in chosen}
    rows: list[dict[str, object]] = []
    for contrast in contrasts(model, each, part, most):
        effects = _effects(model, contrast, spots)
        for layer, effect in effects.items():
            for position in range(contrast.tokens.shape[-1]):
                rows += by_replica(
                    model.replicas,
                    part=part,
                    role=contrast.role,
                    length=contrast.tokens.shape[-1],
                    layer=layer,
                    depth=depth_of(model, layer),
                    position=position,
                    effect=effect[:, position],
                    statements=contrast.tokens.shape[-2],
                )
    return pl.DataFrame(rows)


def _effects(
    model: Model, contrast: Contrast, spots: dict[str, Spot]
) -> dict[str, Float[Tensor, "R T"]]:
    """Return the estimated effects of each place, by its name, at every position, ``[R, T]``."""
    names = {spot.name for spot in spots.values()}
    theirs = recorded(model, pack([contrast.partners]), names)
    own, gradients, moved = _own_states(model, contrast.tokens, contrast, names)
    whole = contrast.difference(last_logits(model, contrast.partners)).sum(1) - moved
    effects = {}
    for layer, spot in spots.items():
        change = (theirs[spot.name] - own[spot.name])[..., spot.columns].double()
        slope = gradients[spot.name][..., spot.columns].double()
        # If the gradient is 0, nothing reads the state, which may then be infinite or
        # NaN.
        moves = torch.where(slope == 0, 0.0, change * slope)
        effects[layer] = moves.sum((1, 3)) / whole.unsqueeze(-1)
    return effects


def _own_states(
    model: Model, tokens: Int[Tensor, "*R B T"], contrast: Contrast, names: set[str]
) -> tuple[dict[str, Tensor], dict[str, Tensor], Float[Tensor, " R"]]:
    """Return states and gradients by name, and the summed logit difference of each replica."""
    own: dict[str, Tensor] = {}
    added: dict[str, Tensor] = {}

    def marked(name: str, state: Tensor) -> Tensor:
        """Add zeros to a state; their gradient is the state's, even if no parameter has one."""
        own[name] = state.detach()
        added[name] = torch.zeros_like(state, requires_grad=True)
        return state + added[name]

    with torch.enable_grad():
        edits = {name: partial(marked, name) for name in names}
        with model.hooks(edits):
            difference = contrast.difference(last_logits(model, tokens)).sum(1)
        order = sorted(added)
        try:
            found = torch.autograd.grad(
                difference.sum(), [added[name] for name in order]
            )
        except RuntimeError as error:
            raise ConfigError(
                f"{type(model).__name__} cannot be differentiated at {', '.join(order)}: {error}"
            ) from None
    return own, dict(zip(order, found, strict=True)), difference.detach()
