"""Base class of all layers with a replica axis, :class:`Layer`, and their initialisation.

:func:`initialise` draws the initial parameters of all layers of a model. It uses one
generator for each replica and parameter, so that a replica has the same initial values
whether it is built alone or with others. ``dense.py`` contains the layers themselves.
Shapes: ``R`` replicas.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from inweights.errors import ConfigError
from inweights.models.configs.initial_scale import Init
from inweights.seeds import INITIALISATION, Streams
from inweights.worlds.arrays import Float

Elementwise = Callable[[Tensor], Tensor]


class Draw(Protocol):
    """Function that fills a parameter with random numbers from ``N(0, σ²)`` for each replica."""

    def __call__(
        self,
        name: str,
        parameter: nn.Parameter,
        fan_in: int,
        *,
        std: float | None = None,
    ) -> None:
        """Fill a parameter in place with random numbers from ``N(0, σ²)``.

        Args:
            name: Name of the parameter within its layer; the random numbers depend on
                it.
            parameter: Tensor to fill, with a leading replica axis.
            fan_in: Input width, from which the :class:`Init` of each replica computes
                its standard deviation ``σ`` (:meth:`Init.sigma`).
            std: Standard deviation for every replica; by default the one given by the
                replica's :class:`Init`.
        """
        ...


# Without this setting, the rounding of a product in MKL depends on the memory addresses
# of its factors, so that a replica would have other results alone than among others.
# The setting costs no measurable time. MKL reads it at the first product of a process.
os.environ.setdefault("MKL_CBWR", "AUTO")

#: Number of entries that torch's vectorised loops process at once: two of the widest
#: vector registers.
_BLOCK = 32


class Layer(nn.Module):
    """Base class of modules whose own parameters have a leading replica axis."""

    def initialise(self, draw: Draw) -> None:
        """Initialise the layer's own parameters in place; a subclass implements this method.

        Args:
            draw: Function ``draw(name, parameter, fan_in, std=None)`` that fills a
                parameter with normal random numbers. Their standard deviation is
                ``std`` or, if it is ``None``, is given by the replica's :class:`Init`
                for the input width ``fan_in``; see :class:`Draw`.
        """
        raise NotImplementedError

    def extra_repr(self) -> str:
        """Return a string with the names and shapes of the layer's own tensors, for ``repr``."""
        own = [
            *self.named_parameters(recurse=False),
            *self.named_buffers(recurse=False),
        ]
        return ", ".join(f"{name} {list(tensor.shape)}" for name, tensor in own)


def in_whole_blocks(
    operation: Elementwise, x: Float[Tensor, "R ..."]
) -> Float[Tensor, "R ..."]:
    """Apply an elementwise operation so that no replica's result depends on other replicas.

    Some PyTorch kernels round the last numbers of a tensor differently if these numbers
    do not fill a whole register. Therefore each replica is padded to a multiple of 32
    numbers.

    Args:
        operation: Elementwise function of a tensor, such as
            ``torch.nn.functional.silu``.
        x: Any tensor with a leading replica axis.

    Returns:
        ``operation(x)``, with the shape of ``x``.

    Example:
        >>> in_whole_blocks(F.relu, torch.tensor([[-1.0, 2.0]])).tolist()
        [[0.0, 2.0]]
    """
    size = x[0].numel()
    if size % _BLOCK == 0:
        return operation(x)
    padded = F.pad(x.flatten(1), (0, -size % _BLOCK))
    return operation(padded)[:, :size].unflatten(1, x.shape[1:])


def initialise(model: nn.Module, seeds: Sequence[int], inits: Sequence[Init]) -> None:
    """Draw the initial parameters of every layer of a model, in place.

    Args:
        model: A module. Parameters that do not belong to a :class:`Layer`, and those on
            the device ``meta``, are unchanged.
        seeds: Root seed of each of the ``R`` replicas, which determines its initial
            values.
        inits: Initial scale of each replica.

    Raises:
        ConfigError: The numbers of initial scales and of seeds differ, or a seed is not
            an integer from 0 to ``2**63 - 1``.
        ValueError: The number of seeds differs from the number of replicas of a layer.

    Example:
        >>> from inweights.models import Init, Linear
        >>> layer = Linear(2, 3, 4)
        >>> initialise(layer, seeds=[0, 1], inits=[Init(std=1.0), Init(std=1e-6)])
        >>> bool(layer.weight[0].abs().max() > 0.1 > layer.weight[1].abs().max())
        True
    """
    if len(seeds) != len(inits):
        raise ConfigError(
            f"expected one initial scale per seed ({len(seeds)}), got {len(inits)}"
        )
    for path, module in model.named_modules():
        numbers = (*module.parameters(), *module.buffers())
        if not isinstance(module, Layer) or any(t.is_meta for t in numbers):
            # Parameters on the device `meta` are only counted; they have no values.
            continue

        def draw(
            name: str,
            parameter: nn.Parameter,
            fan_in: int,
            *,
            std: float | None = None,
            path: str = path,
        ) -> None:
            for row, seed, init in zip(parameter, seeds, inits, strict=True):
                # Each parameter has a random stream of its own, so that its initial
                # values do not depend on other parameters.
                generator = Streams(seed).torch(INITIALISATION, path, name)
                scale = init.sigma(fan_in) if std is None else std
                row.copy_(torch.randn(row.shape, generator=generator) * scale)

        with torch.no_grad():
            module.initialise(draw)
