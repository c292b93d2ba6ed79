"""Steps that ask for gradients on their way, of all replicas at once.

A sharpness-aware step, or a line search, calls a ``closure`` that computes the loss where the
parameters are then. One computation makes that of all replicas; so each replica's step waits at its
call until all others have come to theirs, or have ended.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from jaxtyping import Float


def in_lockstep(
    steps: Sequence[Callable[[Callable[[], Tensor]], None]],
    compute: Callable[[], Float[Tensor, " R"]],
) -> None:
    """Run a step of each replica; what one asks for is computed once for all.

    Args:
        steps: Each is given a ``closure`` that returns its replica's loss.
        compute: Computes losses, in this thread.

    Raises:
        BaseException: The first that a step raised.

    Example:
        >>> seen, losses = [], torch.tensor([5.0, 7.0])
        >>> in_lockstep([lambda ask: seen.append(ask() + ask()), lambda ask: seen.append(ask())],
        ...             lambda: losses.mul_(2).clone())
        >>> sorted(one.item() for one in seen)
        [14.0, 30.0]
    """
    told: list[Tensor] = []
    rows = [_Row(step, row, told) for row, step in enumerate(steps)]
    try:
        while sum(row.asks() for row in rows):  # all of them go on, one after another
            told[:] = [compute()]
    finally:
        for row in rows:
            row.give_up()


class _GivenUp(BaseException):
    """Ends a step that waits for gradients which nobody computes any more."""


class _Row:
    """The step of one replica, in a thread that only runs while another waits for it."""

    def __init__(
        self, step: Callable[[Callable[[], Tensor]], None], row: int, told: list[Tensor]
    ) -> None:
        self._step, self._row, self._told = step, row, told
        self._go, self._back = threading.Semaphore(0), threading.Semaphore(0)
        self._ended = self._left = False
        self.error: BaseException | None = None
        threading.Thread(target=self._run, daemon=True).start()

    def asks(self) -> bool:
        """Go on until it asks for gradients (then true), or ends."""
        if not self._ended:
            self._go.release()
            self._back.acquire()
            if self.error:
                raise self.error
        return not self._ended

    def give_up(self) -> None:
        """Let the thread end, where it has not."""
        self._left = True
        if not self._ended:
            self._go.release()
            self._back.acquire()

    def _run(self) -> None:
        torch.set_flush_denormal(True)  # as in the thread that trains; it belongs to the thread
        try:
            self._wait()
            self._step(self._ask)
        except _GivenUp:
            pass
        except BaseException as error:  # noqa: BLE001  # raised again in the thread that trains
            self.error = error
        self._ended = True
        self._back.release()

    def _ask(self) -> Float[Tensor, ""]:
        self._back.release()
        self._wait()
        return self._told[0][self._row]

    def _wait(self) -> None:
        self._go.acquire()
        if self._left:
            raise _GivenUp
