"""Run stage 1 of a one-layer transformer in closed form; measure what the lemmas bound.

:func:`lemma_1` tests the gradients against autograd, and :func:`stage_one` measures a
run. :class:`StageOneResult` contains the matrices from which :mod:`~.stage_two` goes on.
Gradient descent uses :func:`~inweights.theory.feature_resemblance.gradients.gradients`,
without autograd or a training loop. Shapes: ``N`` facts, ``T`` positions, ``V`` tokens,
``D`` width, ``K`` labels, ``M`` width of the MLP.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
import torch
from torch.nn import functional as F

from inweights.config import check_size
from inweights.errors import ConfigError, DataError
from inweights.models.configs import OneLayerConfig
from inweights.models.configs.model_config import Init
from inweights.models.one_layer import OneLayer
from inweights.theory.feature_resemblance.gradients import gradients, softmax
from inweights.theory.feature_resemblance.resemblance import (
    linear_coefficients,
    weights_of,
)
from inweights.worlds.arrays import Float, Int, Reals
from inweights.worlds.registry import WorldConfig
from inweights.worlds.world import Ids, World


def lemma_1(
    world: WorldConfig, *, seed: int = 0, mlp: Literal["linear", "relu"] = "linear"
) -> pl.DataFrame:
    """Compare the closed-form gradients (15) to (17) with autograd, in double precision.

    The equations are from Feature Resemblance. They are the gradients of the training
    loss with respect to ``W_KQ`` (attention), ``W_V`` (value) and ``w`` (MLP) of the
    one-layer transformer, here at its initialisation.

    Args:
        world: Config of a world in which all prompts of facts have the same length, and
            all answers have the same length.
        seed: Root seed of the world and the initialisation.
        mlp: ``linear``, or ``relu`` as in appendix A.

    Returns:
        Three rows with the columns ``matrix`` (``W_KQ``, ``W_V`` or ``w``) and
        ``error``, the largest absolute difference between entries of the two gradients,
        divided by the largest absolute entry of the gradient from autograd.

    Raises:
        DataError: The prompts, or the answers, differ in length.
        ConfigError: ``mlp`` is unknown, ``seed`` is not between 0 and 2**63 - 1, or the
            world does not fit in memory.

    Example:
        >>> from inweights.worlds import Analogy
        >>> bool((lemma_1(Analogy(n=3))["error"] < 1e-12).all())
        True
    """
    built = world.build(seed)
    config = OneLayerConfig(
        width=len(built.vocabulary),
        hidden=3,
        kappa=5.0,
        mlp=mlp,
        init=Init(std=0.3),
    )
    model, prompts, labels = _start(built, config, seed)
    inputs = np.eye(len(built.vocabulary))[prompts]
    relu = mlp == "relu"
    gradient = gradients(_weights(model), inputs, labels, kappa=config.kappa, relu=relu)
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
        error = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
        rows.append({"matrix": name, "error": error})
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
    """Train the attention (stage 1) and measure the quantities that several lemmas bound.

    The lemmas are 2, 6, 8, 11 and 15 of Feature Resemblance. Stage 1 trains ``W_KQ``
    and ``W_V`` by full-batch gradient descent, with a frozen MLP.

    Args:
        world: Config of a world whose prompts all have the same length.
        roles: Dictionary that maps a role to the weight of its facts in the loss, at
            least 0. Facts of other roles are not used.
        seed: Root seed of the world and the initialisation.
        model: Architecture with a folded or linear MLP; ``None`` for the architecture
            of the paper, with a folded MLP.
        rate: Learning rate ``η`` of gradient descent.
        steps: Number ``T1`` of updates, from 1 to 65,536.

    Returns:
        One row with the columns ``attention``, the largest difference between an
        attention weight and its value under uniform attention, over all steps;
        ``span``, the norm of the
        part of the change of ``W_V`` that is not along the initial MLP vectors (lemma
        2), divided by the norm of the change; ``linear``, the norm of the difference
        between the change of ``W_V`` and its change in the linear regime
        (:func:`~.resemblance.linear_coefficients`), divided by the norm of the latter;
        ``learnt``, the decrease of the mean loss from the first to the last step, in
        nats.

    Raises:
        DataError: The world lacks a role, or prompts or answers have different lengths.
        ConfigError: The MLP of ``model`` has ReLU, its embedding is Gaussian or
            narrower than the number of tokens, ``steps`` is not between 1 and 65,536, a
            count is negative, all counts are 0, or ``seed`` is not in [0, 2**63 - 1].

    Example:
        >>> from inweights.worlds import Analogy
        >>> small = OneLayerConfig(width=64, mlp="folded")
        >>> table = stage_one(Analogy(n=6), {"category": 1.0, "similarity": 1.0}, model=small)
        >>> bool(table["span"].item() < 1e-9)
        True
    """
    check_size("steps", steps)
    learnt = StageOneResult.by_attention(
        world, roles, seed=seed, model=model, rate=rate, steps=steps
    )
    added = learnt.value - learnt.before  # [D, V]
    mlp = learnt.mlp  # [K, M, D]
    basis = np.linalg.qr(mlp.reshape(-1, mlp.shape[-1]).T)[0]  # [D, K M]
    outside = added - basis @ (basis.T @ added)
    alpha = linear_coefficients(learnt.world, weights_of(learnt.world, roles))
    expected = rate * learnt.kappa * steps * mlp.mean(1).T @ alpha.T
    span = np.linalg.norm(outside) / np.linalg.norm(added)
    linear = np.linalg.norm(added - expected) / np.linalg.norm(expected)
    return pl.DataFrame(
        {
            "attention": [learnt.spread],
            "span": [float(span)],
            "linear": [float(linear)],
            "learnt": [learnt.losses[0] - learnt.losses[-1]],
        }
    )


@dataclass(frozen=True, eq=False)
class StageOneResult:
    """Result of training the attention (stage 1): the model's matrices, and its world's facts.

    ``N`` is the number of facts, ``T`` the number of tokens in a prompt, ``K`` the
    number of candidate answers, ``M`` the number of hidden units per answer, ``D`` the
    embedding width, and ``V`` the number of tokens.

    Attributes:
        world: The world.
        prompts: Token ids of all facts' prompts, ``[N, T]``.
        labels: Column of each fact's answer, ``[N]``.
        kappa: Scale of the logits, ``F_k = κ/M Σ_r ⟨w_{k,r}, h⟩``.
        mlp: ``w``, which is frozen in stage 1, ``[K, M, D]``.
        before: ``W_V`` at the start, ``[D, V]``.
        value: ``W_V`` at the end, ``[D, V]``.
        key_query: ``W_KQ`` at the end, ``[V, V]``.
        losses: Mean loss before every step, in nats; empty if there are no steps.
        spread: Largest difference between an attention weight and its value under
            uniform attention, over all steps.
    """

    world: World
    prompts: Int[Ids, "N T"]
    labels: Int[Ids, " N"]
    kappa: float
    mlp: Float[Reals, "K M D"]
    before: Float[Reals, "D V"]
    value: Float[Reals, "D V"]
    key_query: Float[Reals, "V V"]
    losses: list[float]
    spread: float

    @classmethod
    def by_attention(
        cls,
        world: WorldConfig,
        roles: Mapping[str, float],
        *,
        seed: int,
        model: OneLayerConfig | None,
        rate: float,
        steps: int,
    ) -> StageOneResult:
        """Train ``W_KQ`` (attention) and ``W_V`` (values) by the gradients of the paper's Lemma 1.

        Args:
            world: Config of a world whose prompts all have the same length.
            roles: Dictionary that maps a role to the weight of its facts in the loss,
                at least 0. Facts of other roles are not used.
            seed: Root seed of the world and the initialisation.
            model: Architecture with a folded or linear MLP; ``None`` for the
                architecture of the paper, with a folded MLP.
            rate: Learning rate ``η``.
            steps: Number ``T1`` of updates; if it is 0, the matrices at the end are
                those at the start.

        Returns:
            The matrices at the start and the end of stage 1.

        Raises:
            DataError: The world lacks a role, or prompts or answers have different
                lengths.
            ConfigError: The MLP of ``model`` has ReLU, its embedding is Gaussian or
                narrower than the number of tokens, a count is negative, all counts are
                0, or ``seed`` is not between 0 and 2**63 - 1.
        """
        built = world.build(seed)
        config = model or OneLayerConfig(mlp="folded")
        if config.mlp == "relu" or config.embedding == "gaussian":
            raise ConfigError(
                "stage 1 in closed form needs model.mlp = 'linear' or 'folded' and "
                f"model.embedding = 'orthonormal', got {config.mlp!r} and {config.embedding!r}"
            )
        network, prompts, labels = _start(built, config, seed)
        key_query, value, mlp = _weights(network)
        # A folded MLP, F = (κ0 / √m) ⟨u, h⟩, is like a single unit with that scale.
        kappa = config.kappa / (config.hidden**0.5 if config.mlp == "folded" else 1.0)
        weights = weights_of(built, roles)
        trained = np.flatnonzero(weights)
        x = np.eye(len(built.vocabulary))[prompts[trained]]
        before = value.copy()
        losses = []
        spread = 0.0
        for _ in range(steps):
            matrices = key_query, value, mlp
            gradient = gradients(
                matrices, x, labels[trained], kappa=kappa, weights=weights[trained]
            )
            key_query = key_query - rate * gradient.key_query
            value = value - rate * gradient.value
            losses.append(float(gradient.losses[0]))
            spread = max(spread, float(np.abs(gradient.scores - 1 / x.shape[1]).max()))
        return cls(
            built,
            prompts,
            labels,
            kappa,
            mlp[0],
            before[0],
            value[0],
            key_query[0],
            losses,
            spread,
        )

    @property
    def scores(self) -> Float[Reals, "N T"]:
        """Attention scores of the last token for all ``T`` tokens of each fact, after stage 1."""
        return softmax(self.key_query[self.prompts, self.prompts[:, -1:]])


def _start(
    world: World, config: OneLayerConfig, seed: int
) -> tuple[OneLayer, Ids, Ids]:
    """Return a model in double precision, prompts ``[N, T]`` and the answers' columns ``[N]``."""
    outputs = world.outputs
    shapes = list(world.facts.by_shape())
    if len(shapes) != 1:
        raise DataError(
            "all prompts must have the same length, and so must all answers; got "
            f"{len(shapes)} different pairs of lengths"
        )
    model = config.build(
        vocabulary=len(world.vocabulary), seeds=[seed], candidates=outputs.tolist()
    ).double()
    prompts, answers = world.facts.matrix(np.arange(len(world.facts)))
    return model, prompts, np.searchsorted(outputs, answers[:, 0])


def _weights(model: OneLayer) -> tuple[Reals, Reals, Reals]:
    """Return copies of ``W_KQ [1, V, V]``, ``W_V [1, D, V]`` and ``w [1, K, M, D]``."""
    attention = model.attention
    key_query = attention.key_query.detach().numpy().copy()
    value = attention.value.detach().numpy().copy()
    mlp = model.mlp.weight.detach().numpy().copy()
    # The model stores W_V transposed.
    return key_query, np.swapaxes(value, 1, 2), mlp
