"""What the recipes of Identity Bridge share: conditions, trainings, and where they come from."""

from __future__ import annotations

from functools import partial

import msgspec

from inweights.config import Config
from inweights.errors import unknown_name
from inweights.lab import ModelConfig, Paper, Trial, Value, heatmaps
from inweights.models.configs import EmbMLPConfig, GPTConfig, Init
from inweights.training.curriculum import Curriculum, Optimizer, Phase, Schedule
from inweights.worlds.two_hop import TwoHop

__all__ = [
    "BRIEF",
    "CONDITIONS",
    "OURS",
    "PAPER",
    "EmbMLPTraining",
    "GPTTraining",
    "template_panels",
    "trial",
]

PAPER = Paper(
    "identity-bridge", "Identity Bridge: Enabling Implicit Reasoning via Shared Latent Memory"
)

#: Settings that the paper does not print. They were chosen on the seeds 0 to 7.
OURS = (
    "GPT: 8 layers, width 64, 2 heads, N = 20; the paper prints no size.",
    "GPT: AdamW, rate 1e-3, cosine to 0 without warm-up, 280 full-batch steps, loss at the last "
    "position. A loss at every position, a warm-up, fewer layers or a smaller width cost accuracy "
    "(see beyond/where-the-bridge-holds).",
    "GPT: every sequence starts at a random position in each step. With positions fixed, the "
    "place where r2 stands in a query would never be trained.",
    "GPT: the head is untied. With the paper's tied head a small initialisation learns the "
    "identity unasked, so that the control leaks (see beyond/where-the-bridge-holds).",
    "Small initialisation: γ = 1.25; the paper says γ > 0.5. At width 64, γ = 0.5 to 0.9 is "
    "larger than the standard 0.02.",
    "Emb-MLP: full-batch gradient descent from σ = 0.01.",
)

#: Draws tables of logit templates, one matrix for each value of their column ``panel``.
template_panels = partial(
    heatmaps,
    panel="panel",
    row="row",
    column="column",
    value="value",
    box="top",
    column_group="column_group",
    value_label="logit, centred by row",
)

#: Models that Figure 2 compares.
CONDITIONS = ("emb-mlp", "gpt", "gpt-small", "gpt-decay")


class EmbMLPTraining(Config):
    """Full-batch gradient descent of an Emb-MLP until its direction has settled.

    Attributes:
        width: Embedding width.
        rate: Learning rate.
        steps: Number of updates.
    """

    width: int = 64
    rate: float = 2.0
    steps: int = 5000

    @property
    def model(self) -> EmbMLPConfig:
        """The architecture."""
        return EmbMLPConfig(width=self.width)

    @property
    def curriculum(self) -> Curriculum:
        """One phase over all facts."""
        optimizer = Optimizer(kind="sgd", rate=self.rate, weight_decay=0.0)
        return Curriculum(phases=(Phase(steps=self.steps, optimizer=optimizer),))


class GPTTraining(Config):
    """A GPT and how it is trained.

    Attributes:
        model: Architecture.
        phase: Its only phase.
        small_gamma: ``γ`` of the condition ``gpt-small``.
        decay: Weight decay of the condition ``gpt-decay``.
    """

    model: GPTConfig = GPTConfig(tied=False)
    phase: Phase = Phase(random_offset=True, schedule=Schedule(kind="cosine"))
    small_gamma: float = 1.25
    decay: float = 3.0


#: A few steps of a GPT, for tests.
BRIEF = GPTTraining(
    model=GPTConfig(tied=False, layers=2, width=16), phase=Phase(steps=4, random_offset=True)
)


def trial(
    name: str, world: TwoHop, gpt: GPTTraining, emb_mlp: EmbMLPTraining, **labels: Value
) -> Trial:
    """Return the trial of a condition of Figure 2, labelled ``model``.

    ``emb-mlp``; ``gpt``: standard initialisation; ``gpt-small``: small initialisation;
    ``gpt-decay``: standard initialisation, strong weight decay.

    Raises:
        ConfigError: There is no such condition.
    """
    if name not in CONDITIONS:
        raise unknown_name("model", name, CONDITIONS)
    model: ModelConfig = gpt.model
    phase = gpt.phase
    if name == "gpt-small":
        model = msgspec.structs.replace(gpt.model, init=Init(gamma=gpt.small_gamma))
    if name == "gpt-decay":
        strong = msgspec.structs.replace(phase.optimizer, weight_decay=gpt.decay)
        phase = msgspec.structs.replace(phase, optimizer=strong)
    curriculum = Curriculum(phases=(phase,))
    if name == "emb-mlp":
        model, curriculum = emb_mlp.model, emb_mlp.curriculum
    return Trial(labels={"model": name, **labels}, world=world, model=model, learner=curriculum)
