"""Compare ways to give a language model a user's facts, at equal tokens on the same questions.

:class:`TrainingSettings` say what is compared, :func:`training_recipe` makes a recipe
of it,
:func:`teach_and_ask` is one way and one seed.
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
