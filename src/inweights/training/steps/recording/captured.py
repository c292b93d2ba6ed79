"""Capture a training step as a CUDA graph and replay it, so that all kernels launch together.

By default the loop wraps its update in a :class:`CapturedUpdate` if :func:`can_capture`
returns true. Without a graph, a step of a small model on a GPU takes as long as
launching its kernels one by one.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from inweights.errors import ConfigError
from inweights.models.base import Model
from inweights.training.batches.batch import Batch
from inweights.worlds.arrays import Float

#: Function that updates the parameters once from a batch, and returns the loss
#: of each replica, ``[R]``.
Update = Callable[[Batch], Tensor]
#: Number of updates before the capture, in which libraries choose their kernels and
#: memory is allocated.
WARM_UP = 3


def can_capture(model: Model) -> bool:
    """Return whether a model is one of the library's architectures and is on a CUDA device.

    The steps of these architectures never wait for the CPU.

    Args:
        model: The model.
    """
    package = type(model).__module__.rpartition(".")[0]
    return model.column.device.type == "cuda" and package == "inweights.models"


class CapturedUpdate:
    """An update that is captured as a CUDA graph at its fourth call, and replayed afterwards.

    An instance is called with a :class:`~inweights.training.batches.batch.Batch`, and
    returns the loss of each replica, ``[R]``. A graph reads and writes the memory with
    which it was captured. Therefore each batch is copied into the memory of the
    captured batch, and learning rates are tensors on the device.

    Args:
        update: Function that updates the parameters from a batch, and returns the
            losses. The shapes of batches must be the same at every call.
        optimizer: Optimizer whose learning rates are read at each call.
        device: The CUDA device.

    Raises:
        ConfigError: The device is not a GPU.
    """

    def __init__(
        self, update: Update, optimizer: torch.optim.Optimizer, device: torch.device
    ) -> None:
        """Prepare an update, which is captured as a CUDA graph at its fourth call.

        Args:
            update: Function that updates the parameters from a batch, and returns the
                losses.
            optimizer: Optimizer whose learning rates are read at each call.
            device: The CUDA device.

        Raises:
            ConfigError: The device is not a GPU.
        """
        if device.type != "cuda":
            raise ConfigError(
                f"a training step can be captured only on a GPU, got '{device.type}'"
            )
        self._update = update
        self._groups = optimizer.param_groups
        self._rates = [torch.zeros((), device=device) for _ in self._groups]
        for group in self._groups:
            group["capturable"] = True
        self._side = torch.cuda.Stream(device)
        self._done = 0
        self._graph: torch.cuda.CUDAGraph | None = None

    def __call__(self, batch: Batch) -> Float[Tensor, " R"]:
        for group, rate in zip(self._groups, self._rates, strict=True):
            group["lr"] = rate.fill_(group["lr"])
        self._done += 1
        if self._done <= WARM_UP:
            now = torch.cuda.current_stream(self._side.device)
            self._side.wait_stream(now)
            with torch.cuda.stream(self._side):
                losses = self._update(batch)
            now.wait_stream(self._side)
            return losses
        if self._graph is None:
            self._parts = [part.clone() for part in batch.tensors]
            self._graph = torch.cuda.CUDAGraph()
            # Within this block kernels are recorded and do not run.
            with torch.cuda.graph(self._graph, stream=self._side):
                self._losses = self._update(batch.with_tensors(self._parts))
        torch._foreach_copy_(self._parts, batch.tensors)
        self._graph.replay()
        return self._losses.clone()
