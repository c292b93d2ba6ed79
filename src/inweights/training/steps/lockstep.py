"""Steps that ask for gradients on their way, of all replicas at once.

A sharpness-aware step, or a line search, calls a ``closure`` that computes the loss where the
parameters are then. One computation makes that of all replicas; so each replica's step waits at its
call until all others have come to theirs, or have ended.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from inweights.worlds.arrays import Float


def in_lockstep(
    steps: Sequence[Callable[[Callable[[], Tensor]], None]],
    compute: Callable[[], Float[Tensor, " R"]],
) -> None:
    """Run a step of each replica, given a ``closure`` that returns its loss, computed for all."""
    told: list[Tensor] = []
    rows = [_Row(step, row, told) for row, step in enumerate(steps)]
    try:
        while sum(row.asks() for row in rows):  # all of them go on, one after another
            told[:] = [compute()]
    finally:
        for row in rows:
            row.left = True
            row.asks()


class _GivenUp(BaseException):
    """Ends a step that waits for gradients which nobody computes any more."""


class _Row:
    """The step of one replica, in a thread that only runs while another waits for it."""

    def __init__(
        self, step: Callable[[Callable[[], Tensor]], None], row: int, told: list[Tensor]
    ) -> None:
        self._step, self._row, self._told = step, row, told
        self._go, self._back = threading.Semaphore(0), threading.Semaphore(0)
        self._error: BaseException | None = None
        self._ended = self.left = False
        threading.Thread(target=self._run, daemon=True).start()

    def asks(self) -> bool:
        """Go on until it asks for gradients (then true), or ends."""
        if not self._ended:
            self._go.release()
            self._back.acquire()
            if self._error and not self.left:
                raise self._error
        return not self._ended

    def _run(self) -> None:
        torch.set_flush_denormal(True)  # as in the thread that trains; it belongs to the thread
        try:
            self._wait()
            self._step(self._ask)
        except BaseException as error:  # noqa: BLE001  # raised again in the thread that trains
            self._error = error
        self._ended = True
        self._back.release()

    def _ask(self) -> Float[Tensor, ""]:
        self._back.release()
        self._wait()
        return self._told[0][self._row]

    def _wait(self) -> None:
        self._go.acquire()
        if self.left:
            raise _GivenUp
