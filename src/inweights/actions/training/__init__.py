"""Compare ways to give a language model a user's facts, at equal tokens on the same questions.

:class:`TrainingSettings` define the comparison, :func:`training_recipe` makes its
recipe, and :func:`teach_and_ask` runs one method with one seed.
"""

from inweights.actions.training.comparison import training_recipe
from inweights.actions.training.costs import Size, sizes
from inweights.actions.training.settings import WAYS, TrainingSettings
from inweights.actions.training.teaching import prepare, teach_and_ask

__all__ = [
    "WAYS",
    "Size",
    "TrainingSettings",
    "prepare",
    "sizes",
    "teach_and_ask",
    "training_recipe",
]
