"""Run the tasks that another process sends: the program of a worker process.

The program is ``python -m inweights.experiments.engine.executors.worker``, and
:class:`~.processes.Processes` starts it. It reads one line of JSON with the job, then
one line per task, and writes lines of JSON: the number of updates done, and how the
attempt ended. It ends when its input or its parent process ends.
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

#: Seconds between two reports of a process, and between two checks whether its parent
#: is alive.
_EVERY = 0.2
_LOOK = 0.2


def say(to: IO[str] | None, value: Any) -> None:
    """Write a value as a line of JSON, at once.

    Args:
        to: Open text file, such as the input of a process.
        value: A value that ``msgspec`` can encode.

    Raises:
        OSError: The process that reads the file has ended.
    """
    assert to is not None
    to.write(msgspec.json.encode(value).decode() + "\n")
    to.flush()


def throttled(report: Callable[[int], None], seconds: float) -> Callable[[int], None]:
    """Return a function that passes on its calls to another at most once in some seconds.

    Args:
        report: Function that takes the number of updates done.
        seconds: Least time between two calls of it, in seconds, which also pass before
            the first.

    Returns:
        A function of the number of updates done; calls that come too early have no
        effect.
    """
    told = time.monotonic()

    def passed(step: int) -> None:
        nonlocal told
        if time.monotonic() - told > seconds:
            told = time.monotonic()
            report(step)

    return passed


def main() -> None:
    """Run the tasks that arrive on standard input, and answer on standard output.

    The first command-line argument is the id of the parent process, with which this one
    ends. For the lines of JSON, see the module's docstring.
    """
    # Elsewhere a process keeps its parent's number, and may have another.
    if os.name == "posix":
        threading.Thread(target=_follow, args=(int(sys.argv[1]),), daemon=True).start()
    from inweights.experiments.engine.attempts.task import attempt_sent

    answers, sys.stdout = sys.stdout, sys.stderr  # what others print is no answer
    job = msgspec.json.decode(sys.stdin.readline(), type=Job)
    with suppress(KeyboardInterrupt, BrokenPipeError):  # the parent stops, or is gone
        for line in sys.stdin:
            end = attempt_sent(
                job, line, throttled(lambda step: say(answers, step), _EVERY)
            )
            say(answers, end)


def _follow(parent: int) -> None:
    """End this process when its parent has ended, even in the middle of a task."""
    while os.getppid() == parent:
        time.sleep(_LOOK)
    os._exit(1)


if __name__ == "__main__":
    main()
