"""Kill a run before its k-th operation on files, for each k in turn.

``python tests/runs/kills.py FOLDER RECIPE WHAT FROM [STEP] [HOW]`` does so for each k
until an operation is not reached. Each time it resumes the run, and compares its tables
with those of an undisturbed run. It prints the number of kills. Processes are forked, so
that torch is imported once; this one never uses polars, whose threads would not survive
forking.

WHAT is ``run``, ``fresh`` (a complete run is repeated) or ``refresh`` (its pages are drawn
again). FROM is ``start``, or ``seal`` to count only from the moment at which the run is
about to be published. HOW is ``kill``, ``full`` (the disk is full from the k-th operation
on) or ``fault`` (only the k-th operation fails, as on a broken disk). Both of the latter
have to end with one line that reports the failure; opening a file for writing is also
counted as an operation.
"""

from __future__ import annotations

import builtins
import errno
import io
import itertools
import os
import shutil
import signal
import sys
from collections.abc import Callable
from functools import partial, partialmethod
from pathlib import Path
from typing import Any

import polars as pl
from tests.forks import forked
from tests.runs.tiny import RECIPE

from inweights.errors import InweightsError
from inweights.experiments import Recipe
from inweights.experiments.engine.attempts import task
from inweights.experiments.engine.engine import execute
from inweights.experiments.engine.execution import ExecutionOptions
from inweights.experiments.engine.outcome import Outcome
from inweights.experiments.engine.outcome_files import refresh
from inweights.recipes import get_recipe
from inweights.runs import RunFolder, RunStore

#: Exit codes of a run that ended with an error message, and of one that a fault did not
#: stop.
STOPPED, WENT_ON = 17, 18
#: Number of operations since :func:`arm` was called.
reached = [0]
OPERATIONS = ("replace", "rename", "unlink", "rmdir", "mkdir")


def arm(k: int, how: str) -> None:
    """Make the k-th operation from now on fail or kill the process."""
    count = itertools.count(1)

    def wrapped(operation: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        reached[0] = at = next(count)
        if how == "kill" and at == k:
            os.kill(os.getpid(), signal.SIGKILL)
        if (how == "fault" and at == k) or (how == "full" and at >= k):
            reason = errno.EIO if how == "fault" else errno.ENOSPC
            raise OSError(reason, os.strerror(reason))
        return operation(*args, **kwargs)

    # Files can be removed from a full disk.
    for name in OPERATIONS if how != "full" else ("replace", "rename", "mkdir"):
        setattr(os, name, partial(wrapped, getattr(os, name)))
    if how != "kill":
        reads = io.open

        def opened(file: Any, mode: str = "r", *args: Any, **options: Any) -> Any:
            open_ = partial(wrapped, reads) if set(mode) & set("wax+") else reads
            return open_(file, mode, *args, **options)

        io.open = builtins.open = opened
        pl.DataFrame.write_parquet = partialmethod(  # type: ignore[assignment, method-assign]
            _written, wrapped, pl.DataFrame.write_parquet
        )


def _written(
    table: pl.DataFrame, wrapped: Any, write: Any, *args: Any, **options: Any
) -> None:
    in_memory = isinstance(args[0], io.BytesIO)
    (write if in_memory else partial(wrapped, write))(table, *args, **options)


def publish(outcome: Outcome, work: Path) -> None:
    (work / "figures").mkdir(exist_ok=True)
    (work / "figures" / "one.svg").write_text("<svg/>")


def folder_of(recipe: Recipe, root: Path) -> RunFolder:
    return RunStore(root).folder(recipe.name, recipe.resolve("smoke")[2])


def disturbed(
    recipe: Recipe, root: Path, what: str, start: str, k: int, how: str
) -> None:
    def late(outcome: Outcome, work: Path) -> None:
        publish(outcome, work)
        if start == "seal":
            arm(k, how)

    if start == "start":
        arm(k, how)
    try:
        if what == "refresh":
            refresh(recipe, folder_of(recipe, root), late)
        else:
            execute(
                recipe,
                "smoke",
                store=RunStore(root),
                execution=ExecutionOptions(fresh=what == "fresh"),
                publish=late,
            )
    except InweightsError as error:
        # A fault ends with an error of one line, not with a kill.
        os._exit(STOPPED if how != "kill" and "\n" not in str(error) else 1)
    if reached[0] >= k:
        os._exit(WENT_ON)


def resumed(recipe: Recipe, root: Path, what: str, start: str, reference: Path) -> None:
    folder = folder_of(recipe, root)
    if start == "seal":

        def refused(*args: object) -> None:
            raise AssertionError("work that was done is done again")

        task.run_task = refused  # type: ignore[assignment]
    assert what != "refresh" or folder.complete, "the complete run is not found"
    outcome = execute(recipe, "smoke", store=RunStore(root), publish=publish)
    folder.verify()
    assert not folder.leftovers
    assert {p.name for p in folder.path.parent.iterdir()} == {folder.path.name}
    assert not list(folder.path.rglob("*.partial"))
    assert (folder.path / "figures" / "one.svg").exists()
    expected = folder_of(recipe, reference).tables()
    for found in (dict(outcome.tables), folder.tables()):
        assert set(found) == set(expected)
        for name, table in expected.items():
            assert found[name].equals(table, null_equal=True), name


def main(
    root: str, name: str, what: str, start: str, step: str = "1", how: str = "kill"
) -> None:
    recipe = RECIPE if name == RECIPE.name else get_recipe(name)
    reference = Path(root) / "reference"
    whole = partial(
        execute, recipe, "smoke", store=RunStore(reference), publish=publish
    )
    assert forked(whole) == 0
    for k in itertools.count(1, int(step)):
        here = Path(root) / str(k)
        if what != "run":
            shutil.copytree(reference, here)
        code = forked(partial(disturbed, recipe, here, what, start, k, how))
        ends = (0, -signal.SIGKILL) if how == "kill" else (0, STOPPED, WENT_ON)
        assert code in ends, f"the run failed with {code} (k = {k})"
        again = forked(partial(resumed, recipe, here, what, start, reference))
        assert again == 0, (
            f"killed before operation {k}, the run does not end as it should"
        )
        shutil.rmtree(here)
        if code == 0:
            sys.stdout.write(str(k - 1))
            return


if __name__ == "__main__":
    main(*sys.argv[1:])
