"""How a model learns: curricula and the training loop; descents and optima; checkpoints.

Names load what they need when they are first used: a curriculum needs no torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from inweights.support.lazy import lazily

if TYPE_CHECKING:
    from inweights.training.checkpoint import Checkpoint
    from inweights.training.curriculum import Curriculum, Optimizer, Phase, Schedule, Stop
    from inweights.training.learner import Descent, Learner, Optimum
    from inweights.training.loop import Observer, Result, train
    from inweights.training.scoring import answer_logits, answer_ranks, answers_of

__all__ = [
    "Checkpoint",
    "Curriculum",
    "Descent",
    "Learner",
    "Observer",
    "Optimizer",
    "Optimum",
    "Phase",
    "Result",
    "Schedule",
    "Stop",
    "answer_logits",
    "answer_ranks",
    "answers_of",
    "train",
]

_HOMES = {
    "checkpoint": ("Checkpoint",),
    "curriculum": (
        "Curriculum",
        "Optimizer",
        "Phase",
        "Schedule",
        "Stop",
    ),
    "learner": (
        "Descent",
        "Learner",
        "Optimum",
    ),
    "loop": (
        "Observer",
        "Result",
        "train",
    ),
    "scoring": (
        "answer_logits",
        "answer_ranks",
        "answers_of",
    ),
}

__getattr__, __dir__ = lazily(__name__, _HOMES)
