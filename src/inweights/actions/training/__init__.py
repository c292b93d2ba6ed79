"""Compare ways of teaching facts to a language model, with equal numbers of tokens.

:class:`TrainingSettings` defines the comparison, :func:`training_recipe` returns its
recipe, and :func:`teach_and_ask` teaches a model in one of these ways with one seed.
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
