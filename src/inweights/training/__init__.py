"""How a model learns: curricula, the training loop, checkpoints."""

from inweights.training.checkpoint import Checkpoint
from inweights.training.curriculum import Curriculum, Optimizer, Phase, Schedule, Stop
from inweights.training.loop import Observer, Result, train
from inweights.training.scoring import answer_logits, answer_ranks, answers_of

__all__ = [
    "Checkpoint",
    "Curriculum",
    "Observer",
    "Optimizer",
    "Phase",
    "Result",
    "Schedule",
    "Stop",
    "answer_logits",
    "answer_ranks",
    "answers_of",
    "train",
]
