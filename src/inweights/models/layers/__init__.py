"""Layers whose parameters start with a replica axis, and their initialisation.

Architectures consist of :class:`Linear`, :class:`Embedding` and :class:`LayerNorm`, and
:func:`initialise` draws their initial parameters. ``attention.py`` and ``fused.py``
contain functions for the GPT and the norm, and ``dropout.py`` draws the masks of
training.
"""

from inweights.models.layers.dense import (
    Embedding,
    LayerNorm,
    Linear,
    check_ids,
    rows_of,
)
from inweights.models.layers.layer import (
    Draw,
    Elementwise,
    Layer,
    in_whole_blocks,
    initialise,
)

__all__ = [
    "Draw",
    "Elementwise",
    "Embedding",
    "Layer",
    "LayerNorm",
    "Linear",
    "check_ids",
    "in_whole_blocks",
    "initialise",
    "rows_of",
]
