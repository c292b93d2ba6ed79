"""Record the losses and gradients of a step as a list of kernels, and run these in later steps.

Modules and autograd decide at every step anew which kernels run, and allocate memory
for each. For small models that takes as long as the kernels. Shapes are the same at
every step of a phase, so that its steps have the same kernels: :class:`RecordedLosses`
records those of one step and runs them again on the same memory, with the same numbers
to the last bit. Shapes: ``R`` replicas, ``P`` parameters of one replica.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from torch import Tensor

from inweights.training.batches.batch import Batch
from inweights.training.steps.recording.kernels import Kernels, NotRecordable
from inweights.worlds.arrays import Float

#: Computes the loss of each replica on a batch, ``[R]``, and writes their gradients.
Losses = Callable[[Batch], Tensor]

#: Steps before the recording, in which ids are checked and PyTorch chooses kernels.
WARM_UP = 2
#: Steps after it, in which the kernels are compared with Python, to the last bit.
COMPARED = 2


class RecordedLosses:
    """Losses and gradients of the batches of a phase, by kernels recorded at its third step.

    In the next two steps both the kernels and the function run, and if they differ, the
    kernels are not used: the model's arithmetic may depend on more than parameters and
    batch, such as on the number of its calls. Batches of other shapes than the recorded
    one are computed by the function.

    Args:
        losses: The function; it returns the losses and writes the gradients.
        gradients: Where it writes them.
    """

    def __init__(self, losses: Losses, gradients: Float[Tensor, "R P"]) -> None:
        self._losses = losses
        self._gradients = gradients
        self._done = 0
        self._parts: list[Tensor] = []
        self._kernels: Kernels | None = None

    @property
    def kernels(self) -> int:
        """Number of recorded kernels of a step; 0 if there is no recording."""
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
        found = self._kernels()
        gradients = self._gradients.clone()
        losses = self._losses(batch)
        if not (_same(found, losses) and _same(gradients, self._gradients)):
            self._kernels = None
        return losses

    def _record(self, batch: Batch) -> None:
        """Record the kernels of a step on a copy of a batch, if they can be recorded."""
        self._parts = [part.clone() for part in batch.tensors]
        self._shapes = batch.inputs.shapes
        try:
            self._kernels = Kernels(
                partial(self._losses, batch.with_tensors(self._parts))
            )
        except NotRecordable:
            self._kernels = None

    def _fits(self, batch: Batch) -> bool:
        """Whether a batch has the shapes of the recorded one."""
        if batch.inputs.shapes != self._shapes:
            return False
        shapes = [part.shape for part in batch.tensors]
        return shapes == [part.shape for part in self._parts]


def _same(one: Tensor, other: Tensor) -> bool:
    """Whether all numbers are the same, where NaN equals NaN."""
    return bool(((one == other) | (one.isnan() & other.isnan())).all())
