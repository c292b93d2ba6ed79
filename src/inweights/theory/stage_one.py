"""Stage 1 of the one-layer transformer in closed form, and what the lemmas say of it.

Gradient descent by :func:`~inweights.theory.resemblance.gradients`, without autograd or a training
loop: what lemma 1 predicts, step by step. Shapes: ``N`` facts, ``V`` tokens, ``D`` width, ``K``
labels, ``M`` width of the MLP.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from inweights.models.layers import Init
from inweights.models.one_layer import OneLayer, OneLayerConfig
from inweights.theory.resemblance import gradients
from inweights.worlds.registry import WorldConfig
from inweights.worlds.world import Ids, World

__all__ = ["lemma_1", "stage_one"]

Floats = NDArray[Any]


def lemma_1(
    world: WorldConfig, *, seed: int = 0, mlp: Literal["linear", "relu"] = "linear"
) -> pl.DataFrame:
    """Hold the closed-form gradients (15) to (17) against autograd, in double precision.

    Args:
        world: A world of prompts of one length.
        seed: Root seed of world and start.
        mlp: ``linear``, or ``relu`` as in appendix A.

    Returns:
        ``matrix`` (``W_KQ``, ``W_V`` or ``w``) and ``error``, the largest difference relative to
        the largest entry.

    Example:
        >>> from inweights.worlds import Analogy
        >>> bool((lemma_1(Analogy(n=3))["error"] < 1e-12).all())
        True
    """
    built = world.build(seed)
    config = OneLayerConfig(
        width=len(built.vocabulary), hidden=3, kappa=5.0, mlp=mlp, init=Init(std=0.3)
    )
    model, prompts, labels = _start(built, config, seed)
    inputs = np.eye(len(built.vocabulary))[prompts]
    relu = mlp == "relu"
    gradient = gradients(*_weights(model), inputs, labels, kappa=config.kappa, relu=relu)
    logits = model(torch.from_numpy(prompts))[0, :, -1]
    F.cross_entropy(logits, torch.from_numpy(labels)).backward()
    rows = []
    for name, ours, parameter in (
        ("W_KQ", gradient.key_query, model.attention.key_query),
        ("W_V", np.swapaxes(gradient.value, 1, 2), model.attention.value),
        ("w", gradient.mlp, model.mlp.weight),
    ):
        assert parameter.grad is not None
        theirs = parameter.grad.numpy()
        rows.append({"matrix": name, "error": _off(ours, theirs)})
    return pl.DataFrame(rows)


def stage_one(
    world: WorldConfig,
    roles: Mapping[str, float],
    *,
    seed: int = 0,
    model: OneLayerConfig | None = None,
    rate: float = 0.47,
    steps: int = 50,
) -> pl.DataFrame:
    """Run stage 1 by the closed-form gradients, and measure what lemmas 2, 6, 8, 11 and 15 bound.

    Args:
        world: A world of prompts of one length.
        roles: Facts of stage 1, with how often each counts.
        seed: Root seed of world and start.
        model: Architecture with a folded or linear MLP; the paper's, folded, if left out.
        rate: ``η``.
        steps: ``T1``.

    Returns:
        One row: ``attention``, the largest distance of an attention score from its even share, in
        any step; ``span``, the share of what was added to ``W_V e`` that is not along the MLP
        vectors of the start (lemma 2); ``linear``, the distance of what was added from what the
        linear regime adds, relative to it; ``learnt``, by how much the mean loss fell.

    Example:
        >>> from inweights.worlds import Analogy
        >>> small = OneLayerConfig(width=64, mlp="folded")
        >>> table = stage_one(Analogy(n=6), {"category": 1.0, "similarity": 1.0}, model=small)
        >>> bool(table["span"].item() < 1e-9)
        True
    """
    built, config = world.build(seed), model or OneLayerConfig(mlp="folded")
    network, prompts, labels = _start(built, config, seed)
    key_query, value, mlp = _weights(network)
    # Folded, F = (κ0 / √m) ⟨u, h⟩: the same formulas with one unit and that scale.
    kappa = config.kappa / (config.hidden**0.5 if config.mlp == "folded" else 1.0)
    weights = np.zeros(len(labels))
    for role, count in roles.items():
        weights[built.facts.with_role(role)] = count
    weights /= weights.sum()
    trained = np.flatnonzero(weights)
    x = np.eye(len(built.vocabulary))[prompts[trained]]
    before, losses, spread = value.copy(), [], 0.0
    for _ in range(steps):
        gradient = gradients(
            key_query, value, mlp, x, labels[trained], kappa=kappa, weights=weights[trained]
        )
        key_query, value = key_query - rate * gradient.key_query, value - rate * gradient.value
        losses.append(float(gradient.losses[0]))
        spread = max(spread, float(np.abs(gradient.scores - 1 / x.shape[1]).max()))
    added = (value - before)[0]  # [D, V]
    basis = np.linalg.qr(mlp[0].reshape(-1, mlp.shape[-1]).T)[0]  # [D, K M]
    outside = added - basis @ (basis.T @ added)
    expected = rate * kappa * steps * mlp[0].mean(1).T @ _told(built, prompts, labels, weights)
    return pl.DataFrame(
        {
            "attention": [spread],
            "span": [float(np.linalg.norm(outside) / np.linalg.norm(added))],
            "linear": [float(np.linalg.norm(added - expected) / np.linalg.norm(expected))],
            "learnt": [losses[0] - losses[-1]],
        }
    )


def _start(world: World, config: OneLayerConfig, seed: int) -> tuple[OneLayer, Ids, Ids]:
    """A model in double precision, prompts ``[N, T]`` and columns of the answers ``[N]``."""
    outputs = world.outputs
    model = config.build(
        vocabulary=len(world.vocabulary), seeds=[seed], candidates=outputs.tolist()
    ).double()
    prompts, answers = world.facts.matrix(np.arange(len(world.facts)))
    return model, prompts, np.searchsorted(outputs, answers[:, 0])


def _weights(model: OneLayer) -> tuple[Floats, Floats, Floats]:
    """``W_KQ [1, V, V]``, ``W_V [1, D, V]`` and ``w [1, K, M, D]``."""
    attention = model.attention
    key_query, value, mlp = (
        p.detach().numpy().copy() for p in (attention.key_query, attention.value, model.mlp.weight)
    )
    return key_query, np.swapaxes(value, 1, 2), mlp


def _told(world: World, prompts: Ids, labels: Ids, weights: Floats) -> Floats:
    """What a step of the linear regime adds along each label, for each token: ``[K, V]``."""
    alpha = np.zeros((len(world.outputs), len(world.vocabulary)))
    share = weights / prompts.shape[1]
    for column in prompts.T:
        np.add.at(alpha, (labels, column), share)
        np.subtract.at(alpha.T, column, (share / len(alpha))[:, None])
    return alpha


def _off(ours: Floats, theirs: Floats) -> float:
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())
