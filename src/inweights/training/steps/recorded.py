"""Losses and gradients of a step, recorded once as a list of kernels and run again.

Autograd and the modules decide at every step anew which kernels run, and ask for memory for each.
For small models that takes as long as the kernels. Shapes are the same at every step of a phase, so
that one step has the kernels of all: they are recorded and run again on the same memory, with the
same numbers to the last bit. Shapes: ``R`` replicas.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from torch import Tensor

from inweights.training.batches.plans import Batch
from inweights.training.steps.kernels import Kernels, NotRecordable
from inweights.worlds.arrays import Float

#: Computes the loss of each replica, ``[R]``, and writes their gradients to where they belong.
Losses = Callable[[Batch], Tensor]

#: Steps before the recording, in which ids are checked and ways of computing chosen.
WARM_UP = 2
#: Steps after it, in which kernels and Python have to agree to the last bit.
COMPARED = 2


class RecordedLosses:
    """Losses and gradients of the batches of a phase; recorded at its third step.

    For the next steps both ways are taken: a model whose arithmetic depends on more than parameters
    and batch, such as on how often it was called, is computed as ever from there on. So are batches
    of other shapes than the recorded one.
    """

    def __init__(self, losses: Losses, gradients: Float[Tensor, "R P"]) -> None:
        self._losses, self._gradients = losses, gradients
        self._done = 0
        self._parts: list[Tensor] = []
        self._kernels: Kernels | None = None

    @property
    def kernels(self) -> int:
        """Number of kernels of a step; 0 while none, or as none, are recorded."""
        return 0 if self._kernels is None else len(self._kernels)

    def __call__(self, batch: Batch) -> Float[Tensor, " R"]:
        self._done += 1
        if self._done == WARM_UP + 1:
            self._record(batch)
        if self._kernels is None or not self._fits(batch):
            return self._losses(batch)
        for own, part in zip(self._parts, batch.tensors, strict=True):
            own.copy_(part)
        if self._done > WARM_UP + COMPARED:
            return self._kernels()
        found, gradients = self._kernels(), self._gradients.clone()
        losses = self._losses(batch)
        if not (_same(found, losses) and _same(gradients, self._gradients)):
            self._kernels = None
        return losses

    def _record(self, batch: Batch) -> None:
        self._parts = [part.clone() for part in batch.tensors]
        self._shapes = batch.inputs.shapes
        try:
            self._kernels = Kernels(partial(self._losses, batch.with_tensors(self._parts)))
        except NotRecordable:
            self._kernels = None

    def _fits(self, batch: Batch) -> bool:
        return batch.inputs.shapes == self._shapes and [p.shape for p in batch.tensors] == [
            p.shape for p in self._parts
        ]


def _same(one: Tensor, other: Tensor) -> bool:
    """Whether all numbers are the same, of which some may be none."""
    return bool(((one == other) | (one.isnan() & other.isnan())).all())
