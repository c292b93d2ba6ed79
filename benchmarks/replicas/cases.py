"""The measured cases: models with a batch and an optimizer, and our training step.

Shapes: ``R`` replicas, ``S`` packed tokens.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

import inweights as iw
from inweights.models import (
    EmbMLPConfig,
    GPTConfig,
    MambaConfig,
    ModelConfig,
    OneLayerConfig,
    TinyNNConfig,
    pack,
)
from inweights.models.base import Model
from inweights.models.configs.model_config import Init
from inweights.training.batches.batch import Batch
from inweights.training.batches.plans import Batches
from inweights.training.phase_update import compute_gradients, update_parameters
from inweights.training.steps.flat_parameters import FlatParameters
from inweights.training.steps.losses.loss import Loss
from inweights.training.steps.optimizers.fused import build_optimizer
from inweights.training.steps.recording.recorded import Losses, RecordedLosses
from inweights.worlds import Analogy, Graph, TwoHop
from inweights.worlds.world import World

__all__ = ["CASES", "Case", "Ours", "gpt"]


@dataclass(frozen=True)
class Case:
    """A model and its training data.

    Attributes:
        name: Name of the case.
        config: The architecture.
        optimizer: Its settings, the same for all replicas.
        world: World whose facts are one batch; without it, sequences of two tokens are
            drawn.
        drawn: Tokens of the vocabulary, and sequences, where there is no world.
    """

    name: str
    config: ModelConfig
    optimizer: iw.Optimizer
    world: World | None = None
    drawn: tuple[int, int] = (16, 8)

    def build(self, replicas: int) -> tuple[Model, Batch]:
        """Return the model, and a batch that all replicas read."""
        tokens, count = self.drawn
        if self.world is not None:
            vocabulary, outputs = (
                len(self.world.vocabulary),
                self.world.outputs.tolist(),
            )
            model = self.config.build(
                vocabulary=vocabulary, seeds=range(replicas), candidates=outputs
            )
            phase = iw.Phase(optimizer=self.optimizer)
            return model, Batches(model, [self.world], phase, range(replicas), 0).at(0)
        model = self.config.build(vocabulary=tokens, seeds=range(replicas))
        numbers = torch.Generator().manual_seed(0)
        inputs = pack([torch.randint(tokens, (count, 2), generator=numbers)])
        answers = torch.randint(tokens, (count,), generator=numbers)
        weights = torch.full((count,), 1.0 / count)
        return model, Batch(inputs, inputs.last, answers.expand(replicas, -1), weights)


def gpt(name: str, layers: int, width: int, tokens: int, count: int) -> Case:
    """Return the case of a GPT on random sequences of two tokens."""
    config = GPTConfig(layers=layers, width=width, heads=1)
    return Case(name, config, iw.Optimizer(), drawn=(tokens, count))


_RING = Graph(shape="cycle").build(0)
_ADAMW = iw.Optimizer(rate=1e-3, weight_decay=0.0)
CASES = (
    gpt("tiny GPT", 1, 32, 16, 8),
    gpt("wide GPT", 1, 128, 16, 8),
    gpt("fig2 GPT", 8, 64, 61, 50),
    Case(
        "Emb-MLP",
        EmbMLPConfig(width=64),
        iw.Optimizer(kind="sgd", rate=2.0, weight_decay=1e-4),
        TwoHop(n=20, complexity=2, identity=True).build(0),
    ),
    Case("TinyNN", TinyNNConfig(width=32), _ADAMW, _RING),
    Case("Mamba", MambaConfig(layers=1, width=32), _ADAMW, _RING),
    Case(
        "one-layer",
        OneLayerConfig(mlp="relu", width=128, init=Init(std=2.5e-3)),
        iw.Optimizer(kind="sgd", rate=0.1),
        Analogy(n=20, maps="permutation").build(0),
    ),
)


class Ours:
    """Our training step of a case, as in the training loop."""

    def __init__(self, case: Case, replicas: int, *, recorded: bool = True) -> None:
        self.model, self.batch = case.build(replicas)
        self.flat = FlatParameters(self.model)
        self.moving = self.flat.moving(("*",))
        self.loss = Loss(self.model)
        self.optimizer = build_optimizer(
            self.flat, [case.optimizer] * replicas, self.moving
        )
        losses: Losses = partial(compute_gradients, self.loss, self.flat, self.moving)
        if recorded:
            losses = RecordedLosses(losses, self.flat.gradients)
        self.losses = losses
        self.step: Callable[[], Tensor] = partial(
            update_parameters, losses, self.flat, self.optimizer, None, self.batch
        )

    def gradients(self) -> dict[str, Tensor]:
        """Return the gradient of every parameter by name, before any step."""
        self.flat.backward(self.loss(self.batch).sum(), self.moving)
        return {
            name: self.flat.gradients[:, start:end].view(parameter.shape).clone()
            for name, parameter, (start, end) in zip(
                self.flat.names, self.flat.parameters, self.flat.spans, strict=True
            )
        }
