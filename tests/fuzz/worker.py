"""Run commands in processes that are forked from one that has imported everything.

A fork takes hundredths of a second and a new interpreter seconds, and a fork also
isolates a command from the state, threads and files of other commands. This process
therefore never *uses* polars or torch, whose threads would not survive a fork. Each
place where commands run has a copy of the samples, which is checked after each command
and restored if it changed. If the campaign runs as root, and all users may read its
Python, commands run as the user nobody. A command ends when its training would begin.
"""

from __future__ import annotations

import gc
import importlib
import io
import json
import os
import pkgutil
import select
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import inweights

SECONDS, MEGABYTES = 5.0, 1000.0
#: Seconds of waiting after which a process that computes nothing is ended, too. A process
#: that is ready to run, but gets no processor on a busy machine, does not count as waiting.
PATIENCE = 60.0
NOBODY = 65534
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
    "INWEIGHTS_MAX_MEMORY": "300MB",
    "INWEIGHTS_RUNS": "runs",
    "HF_HUB_OFFLINE": "1",
    "COLUMNS": "100",
}
#: Modules that commands import only when they need them.
LATE = (
    "matplotlib.pyplot",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_svg",
    "rich.progress",
    "rich.table",
    "rich._unicode_data.unicode17-0-0",
    "encodings.utf_8_sig",
    "polars._utils.parquet",
    "rdflib.plugins.stores.memory",
    "rdflib.plugins.parsers.notation3",
    "sqlalchemy",
    "sqlite3",
    "scipy.optimize",
    "scipy.sparse.linalg",
    "scipy.stats",
    "networkx",
    "cyclopts.help",
    "transformers",
    "transformers.models.auto.modeling_auto",
)


class PlannedError(BaseException):
    """Raised where the training of a command would begin."""


@dataclass
class Case:
    """A command, and the samples that are changed for it.

    Attributes:
        words: The command.
        files: New content of samples; None replaces a sample by a pipe without a writer.
        forget: A folder that is removed before the command runs.
        expected: Output of the command if the change is harmless; anything if empty.
        kind: ``command`` or ``file``.
        number: Number of the case, which with the campaign's seed determines the case.
    """

    words: list[str]
    files: dict[str, bytes | None] = field(default_factory=dict)
    forget: str = ""
    expected: str = ""
    kind: str = "command"
    number: int = 0


def preload() -> None:
    """Import all modules that a command may need, and replace functions that take minutes.

    Training and its preparation raise an error, and solvers get few iterations.
    """
    for module in pkgutil.walk_packages(inweights.__path__, "inweights."):
        if not module.name.endswith(("__main__", ".worker")):
            with suppress(ImportError):  # the module needs an optional package
                importlib.import_module(module.name)
    for name in LATE:
        with suppress(ImportError):
            importlib.import_module(name)
    from tests.runs.tiny import RECIPE

    from inweights import recipes
    from inweights.actions import plans
    from inweights.experiments.engine import collect as collecting
    from inweights.lm.tuning import job
    from inweights.theory.prediction import predict as prediction
    from inweights.theory.programs.nuclear_norm import solve

    collect = collecting.collect

    def tiny_only(plan: Any, *args: Any, **options: Any) -> Any:
        if all(
            one.compute.__module__ == "tests.runs.tiny" for one in plan.computations
        ) and not (plan.trials):
            return collect(plan, *args, **options)
        raise PlannedError

    collecting.collect = tiny_only
    vars(plans)["choose_executor"] = stop
    vars(job).update(finetune=stop, replayed=stop)
    vars(prediction)["solve"] = partial(solve, iterations=20)
    recipes._registered[RECIPE.name] = RECIPE
    gc.collect()
    gc.freeze()  # memory pages that a child does not collect are not copied


def stop(*_args: object, **_options: object) -> NoReturn:
    raise PlannedError


class Place:
    """A folder with a copy of the samples, which is restored after each case.

    Args:
        samples: Folder of the samples.
        folder: Folder of the copy.
    """

    def __init__(self, samples: Path, folder: Path) -> None:
        self.samples, self.folder = samples, folder
        self._copy()

    def prepare(self, case: Case) -> None:
        for name, content in case.files.items():
            if content is None:
                (self.folder / name).unlink()
                os.mkfifo(self.folder / name, 0o666)
            else:
                (self.folder / name).write_bytes(content)
        if case.forget:  # the tables are then read from the store again
            shutil.rmtree(self.folder / case.forget)

    def restore(self, case: Case) -> None:
        """Restore the replaced files, or the whole copy if anything else changed."""
        for name in case.files:
            with suppress(OSError):
                shutil.copy2(self.samples / name, self.folder / name)
                self._as_it_was[self.folder / name] = _state(self.folder / name)
        if self._look() != self._as_it_was:
            shutil.rmtree(self.folder)
            self._copy()

    def _copy(self) -> None:
        shutil.copytree(self.samples, self.folder)
        if _for_nobody():
            for path in (self.folder, *self.folder.rglob("*")):
                os.chown(path, NOBODY, NOBODY)
        self._as_it_was = self._look()

    def _look(self) -> dict[Path, tuple[int, ...]]:
        return {path: _state(path) for path in self.folder.rglob("*")}


def _for_nobody() -> bool:
    """Return whether this is root, and another user may read Python and the library."""
    homes = [
        Path(place).resolve()
        for place in (sys.base_prefix, sys.prefix, *inweights.__path__)
    ]
    needed = {place for home in homes for place in (home, *home.parents)}
    return os.getuid() == 0 and all(
        place.stat().st_mode & 0o005 == 0o005 for place in needed
    )


def _state(path: Path) -> tuple[int, ...]:
    found = path.lstat()
    # The time of a folder is left out, as it changes when files in it are restored.
    times = () if path.is_dir() else (found.st_ctime_ns, found.st_size)
    return (found.st_ino, found.st_mode, *times)


def answers(
    cases: Iterable[Case], places: Iterable[Place]
) -> Iterator[tuple[Case, dict[str, Any]]]:
    """Run cases, one at a time in each place, and yield each with its result.

    A result has ``code``, ``out``, ``err``, ``error`` (a traceback, or how the process
    died), ``seconds`` (of processor time) and ``megabytes``.
    """
    waiting, free = iter(cases), list(places)
    running: dict[int, _Running] = {}
    try:
        while True:
            while free and (case := next(waiting, None)):
                one = _Running(case, free.pop())
                running[one.pipe] = one
            if not running:
                return
            ready, _, _ = select.select(list(running), [], [], 0.5)
            for one in list(running.values()):
                if one.more() if one.pipe in ready else not one.hangs():
                    continue
                del running[one.pipe]
                yield one.case, one.end()
                free.append(one.place)
    finally:
        for one in running.values():
            one.end()


class _Running:
    """A case that runs in a process of its own."""

    def __init__(self, case: Case, place: Place) -> None:
        self.case, self.place = case, place
        place.prepare(case)
        self.pipe, told = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self.process = os.fork()
        if self.process == 0:
            try:
                _in_child(case, place.folder, told)
            finally:
                os._exit(70)
        os.close(told)  # otherwise a later child would hold it open
        self.told, self.why = bytearray(), ""
        self.used, self.waited, self.looked = 0.0, 0.0, time.monotonic()

    def more(self) -> bool:
        """Read output of the process; return whether more may come."""
        data = os.read(self.pipe, 1 << 20)
        self.told += data
        return bool(data)

    def hangs(self) -> bool:
        """Return whether the process has computed or waited for too long."""
        try:
            text = Path(f"/proc/{self.process}/stat").read_text()
        except OSError:
            return False
        fields = text.rpartition(")")[2].split()
        used = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        now = time.monotonic()
        if used == self.used and fields[0] != "R":
            self.waited += now - self.looked
        self.used, self.looked = used, now
        if used <= 3 * SECONDS and self.waited <= PATIENCE:
            return False
        self.why = (
            f"hangs (after {used:.0f} s of work and {self.waited:.0f} s of waiting)"
        )
        return True

    def end(self) -> dict[str, Any]:
        """End the process and all that it started, and return its result."""
        with suppress(ProcessLookupError):
            os.killpg(self.process, signal.SIGKILL)
        with suppress(ProcessLookupError):
            os.kill(self.process, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])
        os.close(self.pipe)
        self.place.restore(self.case)
        with suppress(ValueError):
            return json.loads(bytes(self.told))
        return {"code": None, "error": self.why or f"died with {code}"}


def _in_child(case: Case, folder: Path, told: int) -> NoReturn:
    os.setpgid(0, 0)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # output that libraries write past Python is dropped
        os.dup2(nothing, stream)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # resets the peak
    if _for_nobody():
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    os.chdir(folder)
    answer = json.dumps(_run(case.words)).encode()
    with open(told, "wb") as pipe:
        pipe.write(answer)
    os._exit(0)


def _run(words: list[str]) -> dict[str, Any]:
    from inweights.cli import entry as cli

    streams = [
        io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2)
    ]
    sys.stdout, sys.stderr = streams
    sys.stdin = io.TextIOWrapper(io.BytesIO())
    answer: dict[str, Any] = {"code": None, "error": ""}
    before, began = _peak(), time.process_time()
    try:
        answer["code"] = cli.main(words)
    except PlannedError:
        answer["code"] = 0
    except BaseException:  # noqa: BLE001
        answer["error"] = traceback.format_exc()
    answer["seconds"] = time.process_time() - began
    answer["megabytes"] = _peak() - before
    for name, stream in zip(("out", "err"), streams, strict=True):
        answer[name] = stream.buffer.getvalue().decode("utf-8", "replace")
    return answer


def _peak() -> float:
    """Return the peak memory of this process in megabytes."""
    text = Path("/proc/self/status").read_text(encoding="ascii")
    return int(text.split("VmHWM:")[1].split()[0]) / 1e3
