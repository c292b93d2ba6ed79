"""A process that does tasks beside others: ``python -m inweights.lab.worker``.

It reads one JSON line that says what all tasks have in common, then a line for each task, and
answers in JSON lines. Nothing is pickled. It ends when its input does, or when its parent does.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import IO, Any

import msgspec

from inweights.errors import InweightsError
from inweights.lab.executors import Job

__all__: list[str] = []

#: Seconds between two reports, and between two looks whether the parent is there.
_EVERY, _LOOK = 0.2, 0.2


def main() -> None:
    """Do the tasks that come on the standard input."""
    if os.name == "posix":  # elsewhere a process keeps its parent's number, and may have another
        threading.Thread(target=_follow, args=(int(sys.argv[1]),), daemon=True).start()
    from inweights.lab.plugins import load_plugins
    from inweights.lab.store import Store
    from inweights.lab.task import use_threads, work_on
    from inweights.lab.wire import from_wire

    answers, sys.stdout = sys.stdout, sys.stderr  # what others print is no answer
    job = msgspec.json.decode(sys.stdin.readline(), type=Job)
    try:
        load_plugins(job.plugins)
        store = Store(job.store)
        with use_threads(job.threads):
            for line in sys.stdin:
                task, told = from_wire(msgspec.json.decode(line), job.plugins), time.monotonic()

                def report(step: int, key: str = task.key) -> None:
                    nonlocal told
                    if time.monotonic() - told > _EVERY:
                        told = time.monotonic()
                        _say(answers, {"key": key, "step": step, "done": False})

                with store.lock(task.key) as held:
                    if held:
                        work_on(task, store, job.device, report)
                _say(answers, {"key": task.key, "step": 0, "done": held, "busy": not held})
    except InweightsError as error:
        _say(answers, {"error": type(error).__name__, "message": str(error)})
    except (KeyboardInterrupt, BrokenPipeError):
        pass  # the parent stops, or is gone


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
