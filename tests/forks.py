"""Run functions in forked processes, so that torch is imported once.

A process that forks must not have used polars, whose threads do not survive forking. The
process of pytest has used it. Therefore tests use a server (:class:`Forks`, the fixture
``forks``), which only imports modules.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def start(work: Callable[[], object]) -> int:
    """Start a function in a forked process and return its process id."""
    _let_threads_fall_asleep()
    gc.freeze()  # otherwise garbage collection in the child would copy the shared memory
    child = os.fork()
    if child == 0:
        try:
            work()
            sys.stdout.flush()
        except BaseException:  # noqa: BLE001
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)
        os._exit(0)
    return child


def _let_threads_fall_asleep() -> None:
    """Wait until no other thread of this process runs; Linux only.

    Importing polars starts threads. A lock that a thread holds during a fork stays locked
    in the child.
    """
    own = str(threading.get_native_id())
    while any(
        stat.parent.name != own and _state(stat) in "RD"
        for stat in Path("/proc/self/task").glob("*/stat")
    ):
        time.sleep(0.001)


def _state(stat: Path) -> str:
    """Return the letter of a thread's state, which is S if the thread has ended."""
    try:
        return stat.read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "S"


def end(child: int) -> int:
    """Wait for a process and return its exit code, which is negative after a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def lives(child: int) -> bool:
    """Return whether a process still runs, without preventing a later wait for it."""
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def forked(work: Callable[[], object]) -> int:
    """Run a function in a forked process, wait for it and return its exit code."""
    return end(start(work))


class Forks:
    """A server that forks processes for tests; it ends, with all of them, when it is closed."""

    def __init__(self) -> None:
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.forks"],
            env=os.environ
            | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self, work: str, *words: object) -> Child:
        """Call ``module:function`` with strings in a process with this one's environment."""
        file = tempfile.NamedTemporaryFile(prefix="inweights-", delete=False)  # noqa: SIM115
        file.close()
        words = tuple(map(str, words))
        return Child(
            self, self.ask("start", work, words, dict(os.environ), file.name), file.name
        )

    def ask(self, *question: object) -> Any:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(question) + "\n")
        self._server.stdin.flush()
        return json.loads(self._server.stdout.readline())

    def close(self) -> None:
        self._server.communicate()


class Child:
    """A forked process."""

    def __init__(self, forks: Forks, number: int, file: str) -> None:
        self.forks, self.number, self._file = forks, number, Path(file)
        self.output = ""
        self._code: int | None = None

    def kill(self) -> None:
        """Kill the process unless it has ended; its id is not reused before ``wait``."""
        if self.poll() is None:
            os.kill(self.number, signal.SIGKILL)

    def poll(self) -> int | None:
        """Return the exit code if the process has ended, and store what it printed."""
        return self._ended(os.WNOHANG)

    def end(self) -> str | None:
        """Return how the process ended, or None while it runs; for ``unless`` of ``wait_until``."""
        code = self.poll()
        return None if code is None else f"exit code {code}\n{self.output}"

    def wait(self) -> int:
        """Wait until the process ends; return its exit code (negative after a signal)."""
        code = self._ended(0)
        assert code is not None
        return code

    def _ended(self, how: int) -> int | None:
        if self._code is None:
            self._code = self.forks.ask("wait", self.number, how)
            if self._code is not None:
                self.output = self._file.read_text()
                self._file.unlink()
        return self._code


def serve() -> None:
    """Process the requests on the standard input, one per line."""
    # As in tests/conftest.py: a kill does not lose written data.
    os.fsync = lambda fd: None
    living: set[int] = set()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of other code is not an answer
    for line in sys.stdin:
        question, *about = json.loads(line)
        answer: int | None
        if question == "start":
            living.add(answer := start(partial(_do, *_found(about[0]), *about[1:])))
        else:
            number, status = os.waitpid(*about)
            answer = os.waitstatus_to_exitcode(status) if number else None
            living.discard(number)
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    for child in living:
        os.kill(child, signal.SIGKILL)


def _found(work: str) -> tuple[Any, str]:
    module, _, name = work.partition(":")
    return importlib.import_module(
        module
    ), name  # imported here for all later processes


def _do(
    module: Any, name: str, words: list[str], environment: dict[str, str], file: str
) -> None:
    os.environ.clear()
    os.environ.update(environment)
    sys.stdin = open(os.devnull)  # noqa: PTH123, SIM115
    os.dup2(os.open(file, os.O_WRONLY), 1)
    getattr(module, name)(*words)


if __name__ == "__main__":
    serve()
