"""Work in processes of their own, which are forked, so that torch is imported once."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable


def start(work: Callable[[], object]) -> int:
    """Do something in a process of its own; return its number."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:  # noqa: BLE001
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return child


def end(child: int) -> int:
    """Wait for a process; return its exit code, below 0 for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def forked(work: Callable[[], object]) -> int:
    """Do something in a process of its own and wait for it; return its exit code."""
    return end(start(work))
