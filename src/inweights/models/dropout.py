"""Dropout whose masks are counters, not states (Srivastava et al. 2014; Geometric Memory C.3.1).

A mask is a function of the replica's root seed, the layer's name, the phase and the step. So a
resumed run drops what an uninterrupted one does, and a replica drops alike alone or among others.
Nothing is dropped unless training asks for it: a model that is looked at is whole, whatever its
mode. Shapes: ``R`` replicas, ``S`` packed tokens, ``D`` width.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import torch
from torch import Tensor, nn

from inweights.config import check_size
from inweights.errors import ConfigError
from inweights.seeds import Streams
from inweights.worlds.arrays import Float

DROPOUT: Final = "dropout"


class Dropout(nn.Module):
    """Sets each entry to 0 with probability ``rate`` and divides the others by ``1 - rate``.

    It does so only within :meth:`DropoutMasks.at`.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        check_size("dropout", rate, least=0, below=1)
        self.rate = rate
        self.generators: list[torch.Generator] | None = None

    def extra_repr(self) -> str:
        return f"rate={self.rate:g}"

    def forward(self, x: Float[Tensor, "R S D"]) -> Float[Tensor, "R S D"]:
        if self.generators is None:
            return x
        if len(self.generators) != len(x):
            raise ConfigError(
                f"{len(self.generators)} seeds of masks were given for {len(x)} replicas; give "
                "one per replica"
            )
        kept = 1.0 - self.rate
        rows = [torch.rand(x.shape[1:], generator=g) < kept for g in self.generators]
        return x * (torch.stack(rows).to(device=x.device, dtype=x.dtype) / kept)


class DropoutMasks:
    """The dropout of a model while it trains."""

    def __init__(self, model: nn.Module, seeds: Sequence[int]) -> None:
        named = model.named_modules()
        self._layers = [(name, m) for name, m in named if isinstance(m, Dropout) and m.rate > 0]
        self._streams = [Streams(seed) for seed in seeds]

    @property
    def active(self) -> bool:
        """Whether anything is dropped at all."""
        return bool(self._layers)

    @contextmanager
    def at(self, phase: int, step: int) -> Iterator[None]:
        """Drop, with the masks of ``step`` (0-based within the phase), until the block is left."""
        for name, layer in self._layers:
            layer.generators = [s.torch(DROPOUT, name, phase, step) for s in self._streams]
        try:
            yield
        finally:
            for _, layer in self._layers:
                layer.generators = None
