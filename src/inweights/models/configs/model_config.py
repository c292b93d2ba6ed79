"""What every config of an architecture offers: :class:`ModelConfig`, a method ``build``.

Configs are values without torch (``sequence.py``, ``small.py``); what a model is built
from besides its config is a :class:`Start`. Recipes and sweeps name configs, and
``building.py`` makes the models.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NotRequired, Protocol, TypedDict

from inweights.models.configs.initial_scale import Init

if TYPE_CHECKING:
    from inweights.models.base import Model

__all__ = ["Init", "ModelConfig", "Start"]  # Init is passed on


class ModelConfig(Protocol):
    """Anything that builds a model from a vocabulary and seeds: the config of an architecture."""

    def build(
        self,
        *,
        vocabulary: int,
        seeds: int | Sequence[int],
        inits: Sequence[Init] | None = None,
        candidates: Sequence[int] | None = None,
    ) -> Model:
        """Build the model with freshly drawn parameters, one replica a seed.

        Args:
            vocabulary: Number of tokens ``V``.
            seeds: Root seed of each of the ``R`` replicas, which decides its initial
                parameters; a number is so many seeds, counted from 0.
            inits: Initial scale of each replica; by default the config's own for all.
            candidates: Ids of the tokens that occur as answers, which a head may be
                limited to; by default all tokens.
        """
        ...


class Start(TypedDict):
    """What a model is built from besides its config: the arguments of :meth:`ModelConfig.build`.

    Attributes:
        vocabulary: Number of tokens ``V``.
        seeds: Seeds of the initialisation, one for each replica.
        inits: Initial scale of each replica; ``None`` for that of the config.
        candidates: Ids of the tokens that get logits; ``None`` for all.
    """

    vocabulary: int
    seeds: int | Sequence[int]
    inits: NotRequired[Sequence[Init] | None]
    candidates: NotRequired[Sequence[int] | None]
