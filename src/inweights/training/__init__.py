"""How a model learns: curricula and the training loop; descents and optima; checkpoints."""

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
