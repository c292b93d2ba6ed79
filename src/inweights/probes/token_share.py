"""Share of a prompt's representation that identifies its last token.

:func:`token_share` compares token embeddings with the contributions of positions, which
are added to them before the first block. A recipe measures it during training, to
explain why a memory does or does not become geometric. Shapes: ``R`` replicas, ``m``
prompts, ``T`` tokens of a prompt, ``D`` width, ``V`` tokens.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import torch
from torch import Tensor

from inweights.errors import ConfigError
from inweights.models.base import Model
from inweights.models.layers import rows_of
from inweights.probes.needs import holds
from inweights.probes.states import by_replica, last_states
from inweights.training.batches.worlds import as_worlds
from inweights.worlds.arrays import Float
from inweights.worlds.world import Ids, World, Worlds


@holds(states=60)
def token_share(model: Model, worlds: Worlds, *, role: str = "edge") -> pl.DataFrame:
    """Measure the share of the state before the first block that depends on the last token.

    This state is the sum of the token's embedding and the position's contribution. The
    residual stream passes this state on to the head, which reads it after the final
    norm. The component of the state that all prompts share contains no information
    about the token.

    Args:
        model: Model with a table of token embeddings, a state ``embedding`` and ``R``
            replicas.
        worlds: One world, or one for each replica.
        role: Role of the facts whose prompts are read; one of
            ``world.facts.role_names``.

    Returns:
        One row per replica, with the columns ``replica``; ``token`` and ``added``, the
        root mean square lengths of the last tokens' embeddings and of the position's
        contributions that are added to them; ``ratio``, which is ``added`` divided
        by ``token``; ``share``, the fraction (0 to 1) of the sum of squares of the
        states after the final norm that remains when the mean over prompts is
        subtracted; and ``gradient``, the same fraction for the gradient that the head
        receives from those states if all answers are equally likely, as at the start of
        training (0 to 1).

    Raises:
        ConfigError: The model has no table of token embeddings, no layer ``embedding``
            or no replica axis, or cannot read prompts of this length, or the probe
            would need more memory than is available.
        DataError: No fact has the role, the facts of the role differ in length, or the
            worlds do not fit the model.

    Example:
        >>> import inweights as iw
        >>> world = iw.worlds.Graph(shape="cycle").build()
        >>> sizes = dict(layers=1, width=64, position_std=1.0)
        >>> model = iw.GPTConfig(**sizes).build(vocabulary=len(world.vocabulary), seeds=[0])
        >>> table = token_share(model, world)
        >>> bool(table["ratio"].item() > 30), bool(table["share"].item() < 0.01)
        (True, True)
    """
    each = as_worlds(worlds, model)
    embeddings = model.token_table
    if embeddings is None:
        raise ConfigError("token_share needs a model with a table of token embeddings")
    asked = [_facts_of(world, role) for world in each]
    states = last_states(model, [prompts for prompts, _ in asked], ["embedding"])[
        "embedding"
    ]
    last = _stacked([prompts[:, -1] for prompts, _ in asked], states)
    answers = _stacked([answer for _, answer in asked], states)
    tokens = rows_of(embeddings, last)
    token, added = (_length(part) for part in (tokens, states - tokens))
    seen = model.final_norm(states).double()
    common = seen.mean(1, keepdim=True)
    apart = seen - common
    rows = by_replica(
        model.replicas,
        token=token,
        added=added,
        ratio=added / token,
        share=_energy(apart) / _energy(seen),
        gradient=_share_of_gradient(common, apart, answers, len(model.candidates)),
    )
    return pl.DataFrame(rows)


def _facts_of(world: World, role: str) -> tuple[Ids, Ids]:
    """Return prompts ``[m, T]`` and the first token of each answer ``[m]``."""
    prompts, answers = world.facts.matrix(world.facts.with_role(role))
    return prompts, answers[:, 0]


def _stacked(ids: list[Ids], like: Tensor) -> Tensor:
    """Return ids ``[m]`` for all replicas, or ``[R, m]`` if their worlds differ."""
    return torch.from_numpy(np.stack(ids) if len(ids) > 1 else ids[0]).to(like.device)


def _length(vectors: Float[Tensor, "R m D"]) -> Float[Tensor, " R"]:
    """Return the root mean square length of each replica's vectors."""
    return vectors.double().square().sum(-1).mean(1).sqrt()


def _energy(vectors: Float[Tensor, "R m D"]) -> Float[Tensor, " R"]:
    return vectors.square().sum((1, 2))


def _share_of_gradient(
    common: Float[Tensor, "R _ D"],
    apart: Float[Tensor, "R m D"],
    answers: Tensor,
    outputs: int,
) -> Float[Tensor, " R"]:
    """Return the fraction of the head's gradient that is due to differences between prompts.

    With equal probabilities, the gradient of answer ``w`` is ``Σ_{i: y_i = w} h_i − Σ_i
    h_i / K``.
    """
    replicas, count, width = apart.shape
    answers = answers.expand(replicas, count)
    size = int(answers.max()) + 1
    asked = torch.zeros(replicas, size, dtype=apart.dtype, device=apart.device)
    asked.scatter_add_(1, answers, torch.ones_like(answers, dtype=apart.dtype))
    differing = torch.zeros(
        replicas, size, width, dtype=apart.dtype, device=apart.device
    )
    differing.scatter_add_(1, answers.unsqueeze(-1).expand(-1, -1, width), apart)
    never = outputs - (asked > 0).sum(1)  # number of answers that no prompt has
    excess = torch.where(asked > 0, asked - count / outputs, 0.0).square().sum(1)
    excess = excess + never * (count / outputs) ** 2
    shared = excess * _energy(common)
    own = _energy(differing)
    return own / (own + shared)
