"""Write progress at regular intervals, even while the work itself reports nothing.

:func:`steady_log` repeats the last report, for example while torch is imported from a
slow disk.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING

from inweights.support.progress import duration

if TYPE_CHECKING:
    from inweights.support.progress import Progress

__all__ = ["steady_log"]


@contextmanager
def steady_log(write: Callable[[str], None], pause: float) -> Iterator[Progress]:
    """Write the progress of a ``with`` block at regular intervals, from a separate thread.

    Args:
        write: Function that is called with each line, from the separate thread.
        pause: Seconds between two lines.

    Yields:
        A function that reports progress. Its arguments are the amount done, the total
        amount, and a description of the current work.
    """
    began = time.monotonic()
    # Until PyTorch is loaded, which takes a few seconds, there are no reports.
    latest = (0, 1, "loading PyTorch")
    over = Event()

    def report(done: int, total: int, what: str) -> None:
        nonlocal latest
        latest = (done, total, what)

    def repeat() -> None:
        while not over.wait(pause):
            done, total, what = latest
            share = 100 * done / max(1, total)
            write(f"{share:3.0f}%  {what}, {duration(time.monotonic() - began)}")

    # A daemon thread does not keep a failing program alive.
    thread = Thread(target=repeat, name="steady-log", daemon=True)
    thread.start()
    try:
        yield report
    finally:
        over.set()
        thread.join()
