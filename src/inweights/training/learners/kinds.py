"""Learners: ways to obtain a trained model from a world and a model's config.

A :class:`Curriculum` trains it by gradient descent, a :class:`Descent` computes
Node2Vec's descent without autograd, an :class:`Optimum` solves a convex program, and a
:class:`Fixed` learner leaves the model unchanged. All of them give a model, which every
probe can measure. :func:`register_learner` adds one of your own.
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
        """Number of updates of a small model that take as long, for the progress display."""
        ...

    def learn(self, world: World, model: Any, seed: int) -> Model:
        """Return a trained model of one replica.

        Args:
            world: Its facts are learnt.
            model: Config of the architecture; ``None`` where a sweep gives none.
            seed: Root seed of all that is drawn.
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
            one of a plugin.

    Raises:
        ConfigError: There is no learner of this kind; the message names the nearest
            kind.

    Example:
        >>> learner_kind("descent").__name__
        'Descent'
    """
    return _KINDS.find(name)


def register_learner(kind: type[Any]) -> type[Any]:
    """Add a config class to the known kinds of learners, under its tag.

    Files then name it by the tag. It can be used as a decorator.

    Args:
        kind: A class with the members of :class:`OwnLearner`.

    Returns:
        The class itself.

    Raises:
        ConfigError: The class has no tag, no ``learn`` or no ``steps``, or the name is
            taken.
    """
    return _KINDS.add(kind)
