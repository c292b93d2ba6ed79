"""Learners: ways to obtain a trained model from a world and a model's config.

A :class:`Curriculum` trains a model by gradient descent, a :class:`Descent` computes
Node2Vec's descent without autograd, an :class:`Optimum` solves a convex program, and a
:class:`Fixed` learner leaves the model unchanged. All of them return a model, which
every probe can measure. :func:`register_learner` adds a user's own learner.
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
    """Interface of a user's own learner: a config with a tag, ``steps`` and ``learn``.

    :func:`register_learner` adds it.
    """

    @property
    def steps(self) -> int:
        """Estimated cost, as a number of updates of a small model, for the progress display."""
        ...

    def learn(self, world: World, model: Any, seed: int) -> Model:
        """Return a trained model with one replica; a learner implements it.

        Args:
            world: World whose facts are learnt.
            model: Config of the architecture; ``None`` if a sweep has no model.
            seed: Root seed of all random numbers.
        """


Learner = Curriculum | Descent | Optimum | Fixed | OwnLearner

_KINDS = Kinds(
    "learner",
    [Curriculum, Descent, Optimum, Fixed],
    {"steps": "steps", "learn": "a method learn(world, model, seed)"},
)


def learner_kind(name: str) -> Any:
    """Return the config class of a kind of learner.

    Args:
        name: Tag of the kind: ``curriculum``, ``descent``, ``optimum``, ``fixed``, or
            the tag of a registered learner.

    Raises:
        ConfigError: There is no learner of this kind; the message names the nearest
            kind.

    Example:
        >>> learner_kind("descent").__name__
        'Descent'
    """
    return _KINDS.find(name)


def register_learner(kind: type[Any]) -> type[Any]:
    """Register a config class as a kind of learner, under its tag.

    Files of settings can then refer to it by this tag. The function can be used as a
    decorator.

    Args:
        kind: A config class with a tag and the members of :class:`OwnLearner`.

    Returns:
        The class itself.

    Raises:
        ConfigError: The class has no tag, no ``learn`` or no ``steps``, or another
            class has the same tag.
    """
    return _KINDS.add(kind)
