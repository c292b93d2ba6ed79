"""Run a recipe: compute the missing tables, judge the claims, write the folder of the run.

:func:`inweights.run` calls :func:`execute`. :mod:`~.collect` computes the tables, and
:mod:`~.outcome_files` writes the folder of the run, which this module keeps consistent
if the process is interrupted.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inweights.errors import ConfigError, DataError, FolderError
from inweights.experiments.engine.judging import judge_all
from inweights.experiments.engine.outcome import Outcome, Publish
from inweights.experiments.engine.outcome_files import blaming, load, write_outcome
from inweights.experiments.grammar.recipe import Recipe, Tables
from inweights.runs import (
    RunStore,
    environment,
    read_json,
    repositories,
    when,
    write_json,
)
from inweights.support.keys.changed import differing

if TYPE_CHECKING:
    from inweights.experiments.engine.execution import ExecutionOptions
    from inweights.support.progress import Progress

#: File in which an interrupted run stores how long it has taken so far.
_CLOCK = "clock.json"


def execute(
    recipe: Recipe,
    scale: str,
    *,
    seeds: int | Sequence[int] | None = None,
    overrides: Sequence[str] | Mapping[str, Any] = (),
    store: RunStore | None = None,
    execution: ExecutionOptions | None = None,
    publish: Publish | None = None,
) -> Outcome:
    """Run a recipe, or load the finished run if the same config has been run before.

    With ``execution.fresh``, a finished run is computed again. With
    ``execution.keep_models``, only models without stored weights are trained again. An
    interrupted run continues from its stored tables. If another process is running the
    same config, this process waits for it. A ``UserWarning`` is issued if the same
    settings were run before with different files or code, or if training runs diverged.

    Args:
        recipe: The recipe.
        scale: Scale of the run: ``smoke``, ``cpu`` or ``paper``.
        seeds: Number of consecutive seeds, beginning with the recipe's first seed, or a
            list of root seeds; by default the recipe's seeds at this scale.
        overrides: Changed settings: ``["n=10"]`` or ``{"n": 10}``; by default none.
        store: The folder of all runs; by default ``$INWEIGHTS_RUNS``, or ``runs`` in
            the working folder.
        execution: Options that define where and how tasks run; by default, tasks run
            one after another in this process.
        publish: Function that is called with the outcome and its unfinished folder, to
            add figures and a page; by default nothing is added. Its errors propagate.

    Returns:
        The finished run, with its tables, judged claims and folder. Its attribute
        ``cached`` states whether it was loaded.

    Raises:
        ConfigError: The scale is unknown; an override names an unknown setting or has
            an invalid value; there are no seeds or more than 100,000; a seed is
            repeated or not an integer from 0 to 2^63 - 1; the settings leave nothing to
            do; a folder cannot be written; or tasks cannot run on the device or cluster
            that ``execution`` names. With overrides, an error of Python or polars in
            the recipe's functions becomes a ``ConfigError`` as well. Without overrides,
            such an error propagates.
        DataError: A file to which the settings refer cannot be read, or a table lacks a
            column from which another table is derived.
        RunError: A training run failed, the folder of the run is damaged (a
            ``FolderError``), or a file cannot be written (a ``WriteError``).
        InweightsError: All failed tasks raised errors of the same class of this library;
            the error has that class.
    """
    from inweights.experiments.engine.collect import collect, watched
    from inweights.experiments.engine.execution import ExecutionOptions

    execution = execution or ExecutionOptions()
    store = store or RunStore()
    changes = recipe.changes(scale, overrides)
    with _fitting(recipe, changes):
        settings, chosen, config = recipe.resolve(scale, seeds, changes)
    folder = store.folder(recipe.name, config)
    if folder.complete and not (
        folder.leftovers or execution.fresh or execution.keep_models
    ):
        return load(recipe, folder, execution.store)

    _tell_changes(store, recipe.name, config)
    _check_writable(store.root, execution.store)

    told = _Remembering(execution.progress) if execution.progress else None
    execution = replace(execution, progress=told)
    waiting = "waiting for another process that is computing this run"
    with folder.held(partial(told, 0, 1, waiting) if told else None):
        if execution.fresh:
            folder.discard()
        folder.recover()
        if folder.complete and not execution.keep_models:
            return load(recipe, folder, execution.store)
        with _fitting(recipe, changes):
            plan = recipe.plan(settings)
        plan.check()
        place = execution.open_store(store.root)
        make = partial(collect, plan, chosen, place, execution, version=recipe.version)
        if folder.complete:
            make()  # computes weights that are not stored yet
            return load(recipe, folder, execution.store)
        about = {"settings": config["settings"]}
        blank = Outcome(
            recipe=recipe,
            scale=scale,
            seeds=chosen,
            seconds=0.0,
            overrides=changes,
            folder=folder,
            plugins=tuple(execution.plugins),
            command=tuple(execution.command),
            store=execution.store,
            **about,
        )
        with watched(
            plan, chosen, execution, recipe.name, folder=str(folder.path), **about
        ) as tables:
            outcome = _fill(blank, make, publish, told)
            tables.update(outcome.tables)
        return outcome


class _Remembering:
    """Progress display that forwards reports to another display and stores the total work."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self.total = 1

    def __call__(self, done: int, total: int, what: str) -> None:
        self.total = total
        self._progress(done, total, what)


def _fill(
    blank: Outcome,
    make: Callable[[], Tables],
    publish: Publish | None,
    progress: _Remembering | None,
) -> Outcome:
    """Make the tables of a run, judge its claims, and write its folder."""
    recipe = blank.recipe
    folder = blank.folder
    started = time.monotonic()
    commits = repositories()
    work = folder.begin()
    before = 0.0
    with suppress(FolderError):
        before = read_json(work / _CLOCK, dict[str, float]).get("seconds", 0.0)
    try:
        with _fitting(recipe, blank.overrides):
            made = make()
    except (ConfigError, DataError):
        folder.discard()  # the request itself is invalid, so nothing can be continued
        raise
    except BaseException:
        folder.check()
        write_json(work / _CLOCK, {"seconds": before + time.monotonic() - started})
        raise
    folder.check()
    if progress:
        progress(
            progress.total, progress.total, "judging, and drawing figures and the page"
        )
    with _fitting(recipe, blank.overrides):
        tables = recipe.derived(made)
    outcome = replace(
        blank,
        seconds=round(before + time.monotonic() - started, 2),
        tables=tables,
        replaced={
            name: table for name, table in made.items() if tables[name] is not table
        },
        claims=judge_all(recipe, tables, blank.scale, seeds=blank.seeds),
        environment=environment(commits),
    ).with_cautions()
    write_outcome(outcome, work, publish)
    folder.seal()
    return outcome


def _tell_changes(store: RunStore, name: str, config: Mapping[str, Any]) -> None:
    """Warn about files that have changed since the same settings were run before."""
    sources = config.get("sources", {})
    for folder in store.of(name) if sources else ():
        earlier = dict(folder.config)
        before = earlier.pop("sources", None)
        changed = differing(before or sources, sources)
        if changed and folder.complete and earlier | {"sources": sources} == config:
            warnings.warn(
                f"{', '.join(changed)} changed since the stored run of {when(folder)}; "
                "measuring again",
                stacklevel=3,
            )
            return


def _check_writable(*places: str | Path) -> None:
    """Raise an error for folders that cannot be written, before anything is computed."""
    for place in places:
        if not place or "://" in str(place):
            continue
        try:
            Path(place).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(
                f"runs cannot be stored in {place}: {error.strerror}; choose another folder"
            ) from None


def _fitting(recipe: Recipe, changes: Sequence[str]) -> AbstractContextManager[None]:
    """Return a context manager that names changed settings as the cause of a recipe's errors."""
    what = f"{recipe.name} cannot run with {', '.join(changes)}" if changes else ""
    return blaming(what, ConfigError)
