"""How a model learns: curricula and the training loop; descents and optima; checkpoints.

Names load what they need when they are first used: a curriculum needs no torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
