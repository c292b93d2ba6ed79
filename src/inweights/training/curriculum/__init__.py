"""Curricula: settings that determine which facts are trained on, in which order and how.

A :class:`Curriculum` is a list of :class:`Phase` objects, each with its facts, loss,
optimizer and :class:`Stop` rule, and optionally an :class:`Edit` of stored facts that
precedes it. :func:`inweights.train` runs a curriculum. The settings do not import
torch. Each class raises a ``ConfigError`` for values that are out of range or
contradict each other.
"""

from inweights.training.curriculum.optimizer import (
    MAX_RATE,
    MAX_STEPS,
    Optimizer,
    Schedule,
)
from inweights.training.curriculum.phases import Curriculum, Phase, Place, Precision
from inweights.training.curriculum.rules import Edit, EditMethod, EditRole, Stop

__all__ = [
    "MAX_RATE",
    "MAX_STEPS",
    "Curriculum",
    "Edit",
    "EditMethod",
    "EditRole",
    "Optimizer",
    "Phase",
    "Place",
    "Precision",
    "Schedule",
    "Stop",
]
