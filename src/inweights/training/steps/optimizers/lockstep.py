"""Run optimizer steps that call a ``closure``, with one computation for all replicas.

A sharpness-aware step, or a line search, calls a ``closure`` that computes the loss at
the current parameters. One computation returns the losses of all replicas. Therefore
:func:`in_lockstep` lets the step of each replica wait when it calls its closure, until
all other steps have called theirs or have ended. ``own.py`` uses this function. Shapes:
``R`` replicas.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from inweights.worlds.arrays import Float


def needs_closure(optimizer: Any) -> bool:
    """Return whether the method ``step`` of an optimizer requires a ``closure``.

    Args:
        optimizer: An optimizer, or a class of optimizers.

    Example:
        >>> needs_closure(torch.optim.LBFGS), needs_closure(torch.optim.SGD)
        (True, False)
    """
    closure = inspect.signature(optimizer.step).parameters.get("closure")
    return closure is not None and closure.default is inspect.Parameter.empty


def in_lockstep(
    steps: Sequence[Callable[[Callable[[], Tensor]], None]],
    compute: Callable[[], Float[Tensor, " R"]],
) -> None:
    """Run the optimizer steps of all replicas, whose closures share one computation.

    Args:
        steps: One function per replica, which is called with a ``closure`` that returns
            the replica's loss.
        compute: Function that returns the losses of all replicas, ``[R]``, and writes
            their gradients. It is called whenever all steps that have not ended wait
            for their closures.

    Raises:
        BaseException: The error that a step or ``compute`` raised. It is raised after
            all other steps have ended.
    """
    losses: list[Tensor] = []
    rows = [_Row(step, row, losses) for row, step in enumerate(steps)]
    try:
        while _resume_all(rows):
            losses[:] = [compute()]
    finally:
        for row in rows:
            row.abandoned = True
            row.resume()


def _resume_all(rows: Sequence[_Row]) -> bool:
    """Resume all steps, one after another; return whether any step waits for its closure."""
    waiting = [row.resume() for row in rows]
    return any(waiting)


class _GivenUp(BaseException):
    """Signal that ends a step waiting for gradients that will not be computed."""


class _Row:
    """The step of one replica, in a thread that runs only while the calling thread waits."""

    def __init__(
        self,
        step: Callable[[Callable[[], Tensor]], None],
        row: int,
        losses: list[Tensor],
    ) -> None:
        self._step = step
        self._row = row
        self._losses = losses
        self._go = threading.Semaphore(0)
        self._back = threading.Semaphore(0)
        self._error: BaseException | None = None
        self._ended = False
        self.abandoned = False
        threading.Thread(target=self._run, daemon=True).start()

    def resume(self) -> bool:
        """Resume the step; return whether it waits for its closure (otherwise it has ended)."""
        if not self._ended:
            self._go.release()
            self._back.acquire()
            if self._error and not self.abandoned:
                raise self._error
        return not self._ended

    def _run(self) -> None:
        # The setting belongs to a thread; this thread must have that of the training
        # thread.
        torch.set_flush_denormal(True)
        try:
            self._wait()
            self._step(self._closure)
        except BaseException as error:  # noqa: BLE001  # raised again in the thread that trains
            self._error = error
        self._ended = True
        self._back.release()

    def _closure(self) -> Float[Tensor, ""]:
        self._back.release()
        self._wait()
        return self._losses[0][self._row]

    def _wait(self) -> None:
        self._go.acquire()
        if self.abandoned:
            raise _GivenUp
