"""Ways to give a language model a user's facts, compared at equal tokens on the same questions."""

from inweights.laboratory.training.comparison import training_recipe
from inweights.laboratory.training.settings import WAYS, TrainingSettings
from inweights.laboratory.training.teaching import Size, prepare, sizes, teach_and_ask

__all__ = [
    "WAYS",
    "Size",
    "TrainingSettings",
    "prepare",
    "sizes",
    "teach_and_ask",
    "training_recipe",
]
