"""Dropout whose masks are determined by the step (Srivastava et al. 2014; Geometric Memory C.3.1).

A mask is a function of the replica's root seed, the layer's name, the phase and the
step. Therefore a resumed run drops the same entries as an uninterrupted one, and a
replica drops the same entries whether it is trained alone or with others.
:class:`Dropout` is a layer of the architectures. It drops entries only within
:meth:`DropoutMasks.at`, which the training loop calls. Probes always use the model
without dropout, whether it is in training mode or not. Shapes: ``R`` replicas, ``S``
packed tokens, ``D`` width.
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
    """Dropout: set entries to 0 with probability ``rate``; divide all others by ``1 - rate``.

    Outside the context of :meth:`DropoutMasks.at`, the input is returned unchanged.

    Args:
        rate: Probability of dropping an entry, at least 0 and below 1.

    Raises:
        ConfigError: The rate is negative, or at least 1.
    """

    def __init__(self, rate: float) -> None:
        """Store the rate.

        Args:
            rate: Probability of dropping an entry, at least 0 and below 1.

        Raises:
            ConfigError: The rate is negative, or at least 1.
        """
        super().__init__()
        check_size("dropout", rate, least=0, below=1)
        self.rate = rate
        self.generators: list[torch.Generator] | None = None

    def extra_repr(self) -> str:
        """Return a string with the dropout rate, for ``repr``."""
        return f"rate={self.rate:g}"

    def forward(self, x: Float[Tensor, "R S D"]) -> Float[Tensor, "R S D"]:
        """Set random entries of states to 0, and divide all other entries by ``1 - rate``.

        Outside the context of :meth:`DropoutMasks.at`, ``x`` is returned unchanged.

        Args:
            x: States, ``[R, S, D]`` (``R`` replicas, ``S`` tokens, width ``D``).

        Returns:
            States of the same shape, ``[R, S, D]``.

        Raises:
            ConfigError: Within :meth:`DropoutMasks.at`, the number of replicas ``R``
                differs from the number of seeds of the :class:`DropoutMasks`.
        """
        if self.generators is None:
            return x
        if len(self.generators) != len(x):
            raise ConfigError(
                f"expected one seed for the dropout masks of each replica ({len(x)}), got "
                f"{len(self.generators)}"
            )
        share = 1.0 - self.rate  # fraction of entries that remain
        # The masks are drawn on the CPU, so that they are the same on every device.
        rows = [torch.rand(x.shape[1:], generator=g) < share for g in self.generators]
        return x * (torch.stack(rows).to(device=x.device, dtype=x.dtype) / share)


class DropoutMasks:
    """Masks of all dropout layers of a model during training.

    Args:
        model: Model whose :class:`Dropout` layers with a rate above 0 are used.
        seeds: Root seed of each replica of the model.

    Raises:
        ConfigError: A seed is not an integer from 0 to ``2**63 - 1``.

    Example:
        >>> layer = Dropout(0.5)
        >>> with DropoutMasks(layer, seeds=[0]).at(phase=0, step=7):
        ...     dropped = layer(torch.ones(1, 2, 8))
        >>> sorted({*dropped.flatten().tolist()}), layer(torch.ones(1)).item()
        ([0.0, 2.0], 1.0)
    """

    def __init__(self, model: nn.Module, seeds: Sequence[int]) -> None:
        """Find the dropout layers of a model, which is not changed until :meth:`at` is called.

        Args:
            model: Model whose :class:`Dropout` layers with a rate above 0 are used.
            seeds: Root seed of each replica of the model.

        Raises:
            ConfigError: A seed is not an integer from 0 to ``2**63 - 1``.
        """
        self._layers: list[tuple[str, Dropout]] = []
        for name, layer in model.named_modules():
            if isinstance(layer, Dropout) and layer.rate > 0:
                self._layers.append((name, layer))
        self._streams = list(map(Streams, seeds))

    @property
    def active(self) -> bool:
        """Whether the model has a dropout layer with a rate above 0."""
        return bool(self._layers)

    @contextmanager
    def at(self, phase: int, step: int) -> Iterator[None]:
        """Activate dropout within the ``with`` block, with the masks of one step.

        Args:
            phase: Index of the phase of training, from 0.
            step: Step of the phase, counted from 0.

        Returns:
            A context manager; its ``with`` statement binds no value.

        Raises:
            ConfigError: The model is called within the block, and its number of
                replicas differs from the number of seeds.
        """
        for name, layer in self._layers:
            layer.generators = []
            for stream in self._streams:
                layer.generators.append(stream.torch(DROPOUT, name, phase, step))
        try:
            yield
        finally:
            for _, layer in self._layers:
                layer.generators = None
