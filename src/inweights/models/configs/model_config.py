"""The interface of every config of an architecture: :class:`ModelConfig`, a method ``build``.

Configs do not import torch (``sequence.py``, ``small.py``); :class:`Start` lists what a
model is built from besides its config. Recipes and sweeps refer to configs, and
``building.py`` creates the models.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NotRequired, Protocol, TypedDict

from inweights.models.configs.initial_scale import Init

if TYPE_CHECKING:
    from inweights.models.base import Model

__all__ = ["Init", "ModelConfig", "Start"]  # Init is exported again from here


class ModelConfig(Protocol):
    """Interface of an architecture's config, which builds a model for a vocabulary and seeds."""

    def build(
        self,
        *,
        vocabulary: int,
        seeds: int | Sequence[int],
        inits: Sequence[Init] | None = None,
        candidates: Sequence[int] | None = None,
    ) -> Model:
        """Build the model with newly drawn parameters, one replica per seed.

        Args:
            vocabulary: Number of tokens ``V``.
            seeds: Root seed of each of the ``R`` replicas, which determines its initial
                parameters; a number ``n`` means the seeds 0 to ``n - 1``.
            inits: Initial scale of each replica; by default the config's scale for all
                replicas.
            candidates: Ids of the tokens that occur as answers; by default all tokens.
                An architecture may limit its logits to them, or ignore them.

        Returns:
            The model, with one replica per seed, on the CPU.

        Raises:
            ConfigError: There are no seeds, a seed is not an integer from 0 to ``2**63
                - 1``, the numbers of initial scales and of seeds differ, the number of
                tokens is below 1, a candidate is not a token or occurs twice, or the
                config is too small for the number of tokens.
        """
        ...


class Start(TypedDict):
    """Arguments of :meth:`ModelConfig.build`; together with the config they define a model.

    Attributes:
        vocabulary: Number of tokens ``V``.
        seeds: Seeds of the initialisation, one per replica; a number ``n`` means the
            seeds 0 to ``n - 1``.
        inits: Initial scale of each replica; if ``None``, the config's scale is used.
        candidates: Ids of the tokens for which the model computes logits; ``None`` for
            all tokens.
    """

    vocabulary: int
    seeds: int | Sequence[int]
    inits: NotRequired[Sequence[Init] | None]
    candidates: NotRequired[Sequence[int] | None]
