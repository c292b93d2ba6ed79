"""Entry point of a worker process, which runs the tasks that another process sends.

:class:`~.processes.Processes` starts the program with ``python -m
inweights.experiments.engine.executors.worker``. The program reads one line of JSON with
the job, then one line for each task. It writes lines of JSON with the number of updates
done and, for each task, how the attempt ended. The program ends when its input or its
parent process ends.
"""

import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any

import msgspec

from inweights.experiments.engine.job import Job

#: Seconds between two reports of a process, and between two checks of whether its
#: parent is alive.
_EVERY = 0.2
_LOOK = 0.2


def say(to: IO[str] | None, value: Any) -> None:
    """Write a value as a line of JSON, and flush the file.

    Args:
        to: Open text file, such as the standard input of a process; ``None`` is not
            allowed.
        value: A value that ``msgspec`` can encode.

    Raises:
        OSError: The process that reads the file has ended.
    """
    assert to is not None
    to.write(msgspec.json.encode(value).decode() + "\n")
    to.flush()


def throttled(report: Callable[[int], None], seconds: float) -> Callable[[int], None]:
    """Return a rate-limited version of a function that reports progress.

    Args:
        report: Function that takes the number of updates done.
        seconds: Minimum time in seconds between two calls of ``report``, and between
            the creation of the new function and the first call.

    Returns:
        A function that takes the number of updates done. Calls that are made too early
        have no effect.
    """
    told = time.monotonic()

    def passed(step: int) -> None:
        nonlocal told
        if time.monotonic() - told > seconds:
            told = time.monotonic()
            report(step)

    return passed


def main() -> None:
    """Run the tasks received on standard input, and report on standard output.

    The first command-line argument is the id of the parent process; this process ends
    when its parent does. The first line of input is a JSON object with the job, and
    each further line describes a task (:func:`~.serialization.to_wire`). The output is
    lines of JSON: the number of updates done, as a number, or how the attempt at a task
    ended (:class:`~.endings.End`).
    """
    # Only on POSIX systems does the id of the parent change when the parent ends.
    if os.name == "posix":
        threading.Thread(target=_follow, args=(int(sys.argv[1]),), daemon=True).start()
    from inweights.experiments.engine.attempts.task import attempt_sent

    answers, sys.stdout = (
        sys.stdout,
        sys.stderr,
    )  # text that a task prints must not mix with the answers
    job = msgspec.json.decode(sys.stdin.readline(), type=Job)
    # Raised if the parent is interrupted or has ended.
    with suppress(KeyboardInterrupt, BrokenPipeError):
        for line in sys.stdin:
            end = attempt_sent(
                job, line, throttled(lambda step: say(answers, step), _EVERY)
            )
            say(answers, end)


def _follow(parent: int) -> None:
    """End this process when its parent ends, even in the middle of a task."""
    while os.getppid() == parent:
        time.sleep(_LOOK)
    os._exit(1)


if __name__ == "__main__":
    main()
