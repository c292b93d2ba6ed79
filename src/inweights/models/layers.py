"""Layers whose parameters start with a replica axis, and how they are initialised.

Shapes: ``R`` replicas, ``S`` packed tokens, ``D`` width, ``F`` output width, ``V`` tokens.

A layer draws its start in :meth:`Layer.initialise` from one generator for each replica and
parameter, so that replica ``r`` starts alike alone or among others.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from inweights.errors import ConfigError, DataError
from inweights.models.fused import layer_norm
from inweights.seeds import INITIALISATION, Streams
from inweights.worlds.arrays import Float, Int

if TYPE_CHECKING:
    from inweights.models.model_config import Init

Draw = Callable[[str, nn.Parameter, int], None]
Elementwise = Callable[[Tensor], Tensor]

# Else Intel's library of linear algebra rounds a product by where in memory it lies, so that a
# replica differs alone and in company. It costs nothing measurable, and is read at the first
# product of a process.
os.environ.setdefault("MKL_CBWR", "AUTO")

#: Numbers that torch's loops take at once: two of the widest registers.
_BLOCK = 32


class Layer(nn.Module):
    """A module that owns parameters with a leading replica axis."""

    def initialise(self, draw: Draw) -> None:
        """Fill the layer's parameters; ``draw(name, parameter, fan_in)`` draws Gaussians."""
        raise NotImplementedError

    def extra_repr(self) -> str:
        own = [*self.named_parameters(recurse=False), *self.named_buffers(recurse=False)]
        return ", ".join(f"{name} {list(tensor.shape)}" for name, tensor in own)


class Linear(Layer):
    """``y_r = x_r W_r + b_r`` for every replica: one batched matrix product."""

    def __init__(self, replicas: int, inputs: int, outputs: int, *, bias: bool = True) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(replicas, inputs, outputs))
        self.bias = nn.Parameter(torch.empty(replicas, outputs)) if bias else None

    def initialise(self, draw: Draw) -> None:
        draw("weight", self.weight, self.weight.shape[1])
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, x: Float[Tensor, "R S D"]) -> Float[Tensor, "R S F"]:
        if self.weight.shape[1] == 1 and self.bias is not None:
            # The gradient of one input is a product of a matrix and a vector, which libraries of
            # linear algebra round otherwise for one replica than for several.
            return torch.addcmul(self.bias.unsqueeze(1), x, self.weight)
        if self.bias is None:
            return torch.bmm(x, self.weight)
        return torch.baddbmm(self.bias.unsqueeze(1), x, self.weight)


class LayerNorm(Layer):
    """Layer normalisation over the width, with a gain and a bias for each replica."""

    def __init__(self, replicas: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(replicas, width))
        self.bias = nn.Parameter(torch.empty(replicas, width))

    def initialise(self, draw: Draw) -> None:
        del draw  # starts as the identity, whatever the initial scale
        nn.init.ones_(self.weight)
        nn.init.zeros_(self.bias)

    def forward(self, x: Float[Tensor, "R S D"]) -> Float[Tensor, "R S D"]:
        return layer_norm(x, self.weight, self.bias)


class Embedding(Layer):
    """One vector for each token and replica."""

    def __init__(self, replicas: int, tokens: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(replicas, tokens, width))

    def initialise(self, draw: Draw) -> None:
        draw("weight", self.weight, self.weight.shape[2])

    def forward(self, ids: Int[Tensor, "*R S"]) -> Float[Tensor, "R S D"]:
        """Look up token ids, the same for all replicas or of each its own."""
        replicas, tokens, width = self.weight.shape
        check_ids(ids, tokens)
        if ids.dim() == 1:
            return self.weight.index_select(1, ids)
        rows = ids + tokens * torch.arange(replicas, device=ids.device).unsqueeze(1)
        return F.embedding(rows, self.weight.reshape(replicas * tokens, width))


def check_ids(ids: Int[Tensor, "*R S"], end: int) -> None:
    """Refuse ids out of range, where it costs nothing: one table is followed by the next one."""
    checked = ids.device.type == "cpu" and ids.numel() and not torch.compiler.is_compiling()
    if checked and not 0 <= int(ids.min()) <= int(ids.max()) < end:
        raise DataError(f"an id is outside 0 to {end - 1}: a token or position is out of range")


def rows_of(table: Float[Tensor, "R N D"], ids: Int[Tensor, "*R S"]) -> Float[Tensor, "R S D"]:
    """Rows of a table, the same for all replicas or of each its own."""
    if ids.dim() == 1:
        return table.index_select(1, ids)
    replicas, rows, width = table.shape
    start = rows * torch.arange(replicas, device=ids.device).unsqueeze(1)
    flat = table.reshape(replicas * rows, width)
    return flat.index_select(0, (ids + start).flatten()).view(replicas, -1, width)


def in_whole_blocks(operation: Elementwise, x: Float[Tensor, "R ..."]) -> Float[Tensor, "R ..."]:
    """Apply an elementwise operation that rounds the rest of a block otherwise than its middle.

    Each replica is padded to whole blocks, so that it is the same alone and in company.
    """
    size = x[0].numel()
    if size % _BLOCK == 0:
        return operation(x)
    padded = F.pad(x.flatten(1), (0, -size % _BLOCK))
    return operation(padded)[:, :size].unflatten(1, x.shape[1:])


def initialise(model: nn.Module, seeds: Sequence[int], inits: Sequence[Init]) -> None:
    """Draw the initial parameters of every layer of ``model``.

    Args:
        model: A module built from layers of this file.
        seeds: Root seed of each replica; the stream is ``initialisation``.
        inits: Initial scale of each replica.

    Raises:
        ConfigError: There is not one seed and one scale for every replica.
    """
    if len(seeds) != len(inits):
        raise ConfigError(f"{len(seeds)} seeds but {len(inits)} initial scales were given")
    for path, module in model.named_modules():
        numbers = (*module.parameters(), *module.buffers())
        if not isinstance(module, Layer) or any(t.is_meta for t in numbers):
            continue  # what is only counted has no numbers

        def draw(name: str, parameter: nn.Parameter, fan_in: int, path: str = path) -> None:
            for row, seed, init in zip(parameter, seeds, inits, strict=True):
                generator = Streams(seed).torch(INITIALISATION, path, name)
                row.copy_(torch.randn(row.shape, generator=generator) * init.sigma(fan_in))

        with torch.no_grad():
            module.initialise(draw)
