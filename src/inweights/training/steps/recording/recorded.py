"""Record losses and gradients of a step as a list of kernels, and run these later.

A kernel here is one call of an operator of PyTorch below autograd, such as
``aten::addmm``. At every step, modules and autograd determine again which kernels run,
and allocate memory for each. For small models, this takes as long as the kernels
themselves. All steps of a phase have the same shapes and therefore the same kernels:
:class:`RecordedLosses` records the kernels of one step and runs them again on the same
memory, with bitwise equal results. It works on the CPU; ``captured.py`` uses CUDA
graphs for the same purpose on a GPU. Shapes: ``R`` replicas, ``P`` parameters of one
replica.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from torch import Tensor

from inweights.training.batches.batch import Batch
from inweights.training.steps.recording.kernels import Kernels, NotRecordable
from inweights.worlds.arrays import Float

#: Function that computes the loss of each replica on a batch, ``[R]``, and writes their
#: gradients.
Losses = Callable[[Batch], Tensor]

#: Number of steps before the recording, in which ids are checked and PyTorch chooses
#: kernels.
WARM_UP = 2
#: Number of steps from the recording on in which results are compared bitwise with
#: Python's.
COMPARED = 2


class RecordedLosses:
    """Losses and gradients of a phase, computed with kernels recorded at its third step.

    An instance is called with a batch, and returns the loss of each replica, ``[R]``. A
    kernel is one call of an operator of PyTorch (not a CUDA graph). At the recorded
    step and at the next one, both the kernels and the function run. If their results
    differ in any bit, the kernels are discarded, since the model's results may depend
    on something other than the parameters and the batch, such as the number of calls. A
    batch whose shapes differ from the recorded ones is computed with the function.

    Args:
        losses: Function of a batch that returns the loss of each replica, ``[R]``, and
            writes the gradients.
        gradients: The tensor to which ``losses`` writes the gradients, ``[R, P]``.
    """

    def __init__(self, losses: Losses, gradients: Float[Tensor, "R P"]) -> None:
        """Store the function; its kernels are recorded at the third step.

        Args:
            losses: Function of a batch that returns the loss of each replica, ``[R]``,
                and writes the gradients.
            gradients: The tensor to which it writes the gradients, ``[R, P]`` (``P``
                parameters).
        """
        self._losses = losses
        self._gradients = gradients
        self._done = 0
        self._parts: list[Tensor] = []
        self._copied: Batch | None = None
        self._kernels: Kernels | None = None

    @property
    def kernels(self) -> int:
        """Number of calls of PyTorch operators in a replayed step; 0 if no step is recorded."""
        return 0 if self._kernels is None else len(self._kernels)

    def __call__(self, batch: Batch) -> Float[Tensor, " R"]:
        self._done += 1
        if self._done == WARM_UP + 1:
            self._record(batch)
        if self._kernels is None:
            return self._losses(batch)
        # A full batch is the same object at every step, and is copied only once.
        if batch is not self._copied:
            if not self._fits(batch):
                return self._losses(batch)
            for own, part in zip(self._parts, batch.tensors, strict=True):
                own.copy_(part)
            self._kernels.prepare()
            self._copied = batch
        if self._done > WARM_UP + COMPARED:
            return self._kernels()
        found = self._kernels()
        gradients = self._gradients.clone()
        losses = self._losses(batch)
        if not (_same(found, losses) and _same(gradients, self._gradients)):
            self._kernels = None
        return losses

    def _record(self, batch: Batch) -> None:
        """Record the kernels of a step for a copy of a batch, if they can be recorded."""
        self._parts = [part.clone() for part in batch.tensors]
        self._shapes = batch.inputs.shapes
        try:
            self._kernels = Kernels(
                partial(self._losses, batch.with_tensors(self._parts)),
                self._parts,
            )
        except NotRecordable:
            self._kernels = None

    def _fits(self, batch: Batch) -> bool:
        """Return whether a batch has the shapes of the recorded one."""
        if batch.inputs.shapes != self._shapes:
            return False
        shapes = [part.shape for part in batch.tensors]
        return shapes == [part.shape for part in self._parts]


def _same(one: Tensor, other: Tensor) -> bool:
    """Return whether all numbers of two tensors are equal; NaN counts as equal to NaN."""
    return bool(((one == other) | (one.isnan() & other.isnan())).all())
