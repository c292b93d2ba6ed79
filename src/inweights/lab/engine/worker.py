"""A process that does tasks beside others: ``python -m inweights.lab.engine.worker``.

It reads one JSON line that says what all tasks have in common, then a line for each task, and
answers in JSON lines: updates done, and how the attempt ended. Nothing is pickled. It ends when its
input does, or when its parent does.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any

import msgspec

from inweights.lab.engine.job import Job

__all__ = ["seldom"]

#: Seconds between two reports, and between two looks whether the parent is there.
_EVERY, _LOOK = 0.2, 0.2


def main() -> None:
    """Do the tasks that come on the standard input."""
    if os.name == "posix":  # elsewhere a process keeps its parent's number, and may have another
        threading.Thread(target=_follow, args=(int(sys.argv[1]),), daemon=True).start()
    from inweights.lab.engine.task import attempt_sent

    answers, sys.stdout = sys.stdout, sys.stderr  # what others print is no answer
    job = msgspec.json.decode(sys.stdin.readline(), type=Job)
    with suppress(KeyboardInterrupt, BrokenPipeError):  # the parent stops, or is gone
        for line in sys.stdin:
            end = attempt_sent(job, line, seldom(lambda step: _say(answers, step), _EVERY))
            _say(answers, end)


def seldom(report: Callable[[int], None], seconds: float) -> Callable[[int], None]:
    """Return a report that passes on one call in so many seconds."""
    told = time.monotonic()

    def passed(step: int) -> None:
        nonlocal told
        if time.monotonic() - told > seconds:
            told = time.monotonic()
            report(step)

    return passed


def _follow(parent: int) -> None:
    """End with the parent, also in the middle of a task, whatever ended it."""
    while os.getppid() == parent:
        time.sleep(_LOOK)
    os._exit(1)


def _say(to: IO[str], value: Any) -> None:
    to.write(msgspec.json.encode(value).decode() + "\n")
    to.flush()


if __name__ == "__main__":
    main()
