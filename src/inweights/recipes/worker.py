"""A process that trains groups of a recipe beside others: ``python -m inweights.recipes.worker``.

It reads one JSON line that says which recipe and how, then one line with the index of a group for
each to train, and answers in JSON lines. Nothing is pickled. It imports from where its parent does,
and from nowhere else: ``-P`` keeps the current folder out, ``PYTHONPATH`` is the parent's path. It
ends when its parent does, so that no worker writes into a run whose lock is free again.
"""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

import msgspec

from inweights import errors
from inweights.errors import InweightsError, RunError

__all__ = ["Job", "train_beside"]


#: Seconds between two reports of a worker, and between two looks at whether its parent lives.
_EVERY = 0.2


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What all groups of a run have in common.

    Attributes:
        recipe: Name of the recipe.
        scale: Its scale.
        seeds: Number of replicates.
        overrides: Changes of settings.
        plugins: Modules that are imported first.
        work: Folder of the run.
        device: Where models live.
        threads: Threads of one process.
    """

    recipe: str
    scale: str
    seeds: int
    overrides: tuple[str, ...]
    plugins: tuple[str, ...]
    work: str
    device: str
    threads: int


def train_beside(
    job: Job, groups: Sequence[int], jobs: int, report: Callable[[int, int, bool], None]
) -> None:
    """Train groups in ``jobs`` processes at a time.

    Args:
        job: What they have in common.
        groups: Indices of the groups to train.
        jobs: Number of processes.
        report: Called with a group's index, its steps done, and whether it is complete.

    Raises:
        InweightsError: What a worker raised; the others are stopped.
    """
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for index in groups:
        waiting.put(index)
    events: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    command = [sys.executable, "-P", "-m", "inweights.recipes.worker", str(os.getpid())]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    workers = [
        # The command is this very module, and nothing in it comes from outside.
        subprocess.Popen(  # noqa: S603
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(min(jobs, len(groups)))
    ]
    try:
        for worker in workers:
            threading.Thread(
                target=_attend, args=(worker, job, waiting, events), daemon=True
            ).start()
        left = set(groups)
        while left:
            event = events.get()
            if "error" in event:
                kind = getattr(errors, event["error"], RunError)
                raise kind(event["message"])
            report(event["group"], event["step"], event["done"])
            if event["done"]:
                left.discard(event["group"])
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
            for pipe in (worker.stdin, worker.stdout):
                with contextlib.suppress(OSError):
                    assert pipe is not None
                    pipe.close()


def _attend(
    worker: subprocess.Popen[str],
    job: Job,
    waiting: queue.SimpleQueue[int],
    events: queue.SimpleQueue[dict[str, Any]],
) -> None:
    """Give one worker group after group, and pass on what it says."""
    assert worker.stdin is not None
    assert worker.stdout is not None
    try:
        _say(worker.stdin, msgspec.to_builtins(job))
        while True:
            try:
                index = waiting.get_nowait()
            except queue.Empty:
                return
            _say(worker.stdin, index)
            done = False
            while not done:
                # An empty line is the end of the output; it decodes to an error, like any other.
                event = msgspec.json.decode(worker.stdout.readline())
                events.put(event)
                done = event.get("done", True)
    except (OSError, ValueError) as error:
        with contextlib.suppress(subprocess.TimeoutExpired):
            worker.wait(2)
        code = worker.poll()
        ended = f"it ended with code {code}" if code is not None else str(error)
        events.put({"error": "RunError", "message": f"a process of {job.recipe} failed: {ended}"})


def _say(to: IO[str], value: Any) -> None:
    to.write(msgspec.json.encode(value).decode() + "\n")
    to.flush()


def _end_with(parent: int) -> None:
    """End this process, whatever it is at, once the process that started it is gone."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_EVERY)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def main() -> None:
    """Train the groups whose indices come on the standard input."""
    if os.name == "posix":  # elsewhere a process keeps its parent's number, and may have another
        _end_with(int(sys.argv[1]))
    from inweights.recipes import get_recipe, load_plugins
    from inweights.recipes.groups import use_threads
    from inweights.recipes.pieces import pieces, work_on

    answers, sys.stdout = sys.stdout, sys.stderr  # what others print is no answer
    job = msgspec.json.decode(sys.stdin.readline(), type=Job)
    try:
        load_plugins(job.plugins)
        recipe = get_recipe(job.recipe)
        settings, seeds, _ = recipe.resolve(job.scale, job.seeds, job.overrides)
        groups = pieces(recipe.plan(settings, seeds))
        with use_threads(job.threads):
            for line in sys.stdin:
                index, told = int(line), time.monotonic()

                def report(step: int, index: int = index) -> None:
                    nonlocal told
                    if time.monotonic() - told > _EVERY:
                        told = time.monotonic()
                        _say(answers, {"group": index, "step": step, "done": False})

                work_on(groups[index], seeds[0], Path(job.work), job.device, report)
                _say(answers, {"group": index, "step": 0, "done": True})
    except InweightsError as error:
        _say(answers, {"error": type(error).__name__, "message": str(error)})
    except (KeyboardInterrupt, BrokenPipeError):
        pass  # the parent stops, or is gone


if __name__ == "__main__":
    main()
