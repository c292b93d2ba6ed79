"""Learners: methods that produce a trained model from a world and a model's config.

A :class:`Curriculum` trains a model by gradient descent, a :class:`Descent` computes
the gradient descent of a Node2Vec without autograd, an :class:`Optimum` solves a convex
program, and a :class:`Fixed` learner leaves the model unchanged. The result is always a
model, which every probe can measure. :func:`register_learner` adds a user-defined
learner.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from inweights.config.kinds import Kinds
from inweights.training.curriculum import Curriculum
from inweights.training.learners.descent import Descent
from inweights.training.learners.without_training import Fixed, Optimum

if TYPE_CHECKING:
    from inweights.models.base import Model
    from inweights.worlds.world import World


__all__ = ["Curriculum", "Descent", "Fixed", "Learner", "Optimum"]


@runtime_checkable
class OwnLearner(Protocol):
    """Interface for user-defined learners: configs with a tag, ``steps`` and a method ``learn``.

    :func:`register_learner` adds such a class to the known learners.
    """

    @property
    def steps(self) -> int:
        """Estimated cost for the progress display, in units of one update of a small model."""
        ...

    def learn(self, world: World, model: Any, seed: int) -> Model:
        """Return a trained model with one replica; the user's class implements this method.

        Args:
            world: World whose facts the model learns.
            model: Config of the architecture; ``None`` if a sweep has no model.
            seed: Root seed of all random numbers, an integer of at least 0.
        """


Learner = Curriculum | Descent | Optimum | Fixed | OwnLearner

_KINDS = Kinds(
    "learner",
    [Curriculum, Descent, Optimum, Fixed],
    {"steps": "steps", "learn": "a method learn(world, model, seed)"},
)


def learner_kind(name: str) -> Any:
    """Return the config class of a learner, given its tag.

    Args:
        name: Tag of the kind: ``curriculum``, ``descent``, ``optimum``, ``fixed``, or
            the tag of a registered learner.

    Raises:
        ConfigError: No learner has this tag; the message names the nearest tag.

    Example:
        >>> learner_kind("descent").__name__
        'Descent'
    """
    return _KINDS.find(name)


def register_learner(kind: type[Any]) -> type[Any]:
    """Register a config class as a learner under its tag; can be used as a decorator.

    Settings files can then refer to the learner by its tag.

    Args:
        kind: A subclass of :class:`inweights.config.Config` with a tag, a property
            ``steps`` (estimated cost as a number of updates), and a method
            ``learn(world, model, seed)`` that returns a trained model with one replica.

    Returns:
        The class itself, unchanged.

    Raises:
        ConfigError: The class has no tag, no ``learn`` or no ``steps``, or another
            class has the same tag.
    """
    return _KINDS.add(kind)
