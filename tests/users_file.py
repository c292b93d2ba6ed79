"""A user's file, which ``make check`` type-checks to test that types are exported.

Nothing here is executed. ``assert_type`` fails if a type is lost, and an ignored error that
mypy does not find is itself an error (``warn_unused_ignores``).
"""

from __future__ import annotations

from typing import Any, assert_type

import polars as pl
from torch import Tensor, nn

import inweights as iw
from inweights.models.base import Model
from inweights.models.outside.module_configs import WrapConfig
from inweights.models.outside.wrapped import Wrapped


class Mine(nn.Module):
    """A plain module of PyTorch."""

    def __init__(self, vocabulary: int, width: int = 8) -> None:
        super().__init__()
        self.table = nn.Embedding(vocabulary, vocabulary)

    def forward(self, tokens: Tensor) -> Tensor:
        out: Tensor = self.table(tokens)
        return out


def use() -> None:
    """Call the library as users do, and state the type of each result."""
    world = iw.TwoHop(n=3).build()
    config = iw.wrap(Mine, width=8)
    model = config.build(vocabulary=len(world.vocabulary), seeds=[0, 1])
    result = iw.train(model, world, iw.Curriculum(), seeds=[0, 1])
    assert_type(config, WrapConfig)
    assert_type(model, Wrapped)
    assert_type(result.losses, pl.DataFrame)
    assert_type(iw.probes.accuracy(model, world), pl.DataFrame)
    assert_type(iw.load("two-hop/gpt").model, Model)
    assert_type(iw.to_dict(config), dict[str, Any])
    iw.TwoHop(n="three")  # type: ignore[arg-type]
