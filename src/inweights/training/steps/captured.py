"""A step that is captured once as a CUDA graph and replayed: its kernels are launched as one."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from inweights.errors import ConfigError
from inweights.models.base import Model
from inweights.training.batches.plans import Batch
from inweights.worlds.arrays import Float

#: Moves the parameters by a batch, and returns the loss of each replica, ``[R]``.
Update = Callable[[Batch], Tensor]
#: Updates before the capture, in which libraries choose their kernels and memory is found.
WARM_UP = 3


def can_capture(model: Model) -> bool:
    """Whether a model is on a GPU and of the library, whose steps ask the GPU for no number."""
    package = type(model).__module__.rpartition(".")[0]
    return model.column.device.type == "cuda" and package == "inweights.models"


class CapturedUpdate:
    """An update as a CUDA graph. The first few are done as ever, the next is captured.

    A graph reads and writes where it did when it was captured: so a batch is copied to where the
    first one lay, and rates are numbers on the device.
    """

    def __init__(
        self, update: Update, optimizer: torch.optim.Optimizer, device: torch.device
    ) -> None:
        if device.type != "cuda":
            raise ConfigError(f"steps can be captured on a GPU only, got '{device.type}'")
        self._update, self._groups = update, optimizer.param_groups
        self._rates = [torch.zeros((), device=device) for _ in self._groups]
        for group in self._groups:
            group["capturable"] = True
        self._side, self._done = torch.cuda.Stream(device), 0
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
            with torch.cuda.graph(self._graph, stream=self._side):  # nothing is done yet
                self._losses = self._update(batch.with_tensors(self._parts))
        torch._foreach_copy_(self._parts, batch.tensors)
        self._graph.replay()
        return self._losses.clone()
