"""Compute the missing tables of a plan, and return all of its tables.

Recipes (:mod:`~.engine`) and sweeps call :func:`collect`, which determines the missing
tasks, passes them to an executor, and joins the tables.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

import msgspec
import polars as pl

from inweights.config import to_plain
from inweights.errors import CautionWarning, DataError
from inweights.experiments.claims.numbers import warn_of_divergence
from inweights.experiments.engine.execution import ExecutionOptions, choose_executor
from inweights.experiments.engine.executors.schedule import BUSY, BusyTasks, Schedule
from inweights.experiments.engine.job import Job
from inweights.experiments.engine.plan import Work, expand_plan, tasks_of
from inweights.experiments.engine.tasks import TableRequest, Task, in_words
from inweights.experiments.grammar.trial import Computation, Plan, Trial
from inweights.runs.tables.names import MODEL_PART
from inweights.runs.tables.store import Store
from inweights.support.progress import plural
from inweights.training.observers import telling


def collect(
    plan: Plan,
    seeds: Sequence[int],
    store: Store,
    execution: ExecutionOptions | None = None,
    *,
    version: int = 1,
) -> dict[str, pl.DataFrame]:
    """Compute the missing tables of a plan, and return all of its tables.

    Stored tables are reused, regardless of which recipe or sweep computed them; with
    ``execution.fresh`` they are removed from the store and computed again. New tables
    are stored. If runs diverged, a ``UserWarning`` states how many. If runs of a
    ``uniform`` computation returned NaN, a ``CautionWarning`` states how many.

    Args:
        plan: The trials, measures and computations.
        seeds: Root seeds; every trial is run once per seed.
        store: Store of the tables of individual runs.
        execution: Options that define where and how tasks run; by default, tasks run
            one after another in this process.
        version: Version of the recipe, which is part of every run's key; by default 1.

    Returns:
        The tables, keyed by name, with the rows of all runs in the order of the plan.
        Each row has the labels of its trial, its ``seed``, and the columns of the probe
        or computation; labels and columns that a run does not have are null in its
        rows. The table ``losses`` contains the losses during training. Weights are not
        returned.

    Raises:
        ConfigError: Tasks are to run on other machines, which cannot import the objects
            that the tasks use; ``execution.on`` is invalid or its package is not
            installed; or a value of the plan cannot be encoded exactly.
        DataError: A file to which the plan refers cannot be read, or tables of a
            uniform computation have different columns.
        RunError: No Ray cluster responds, or some tasks failed. The tables of the other
            tasks are stored. If all failed with the same error class of this library,
            an error of that class is raised instead.
        FolderError: A stored table is damaged (a ``RunError``).
        WriteError: A table cannot be stored (a ``RunError``).
        OSError: With ``execution.fresh``, a stored file cannot be removed; or a process
            cannot be started.
    """
    execution = execution or ExecutionOptions()
    work = expand_plan(plan, seeds, version, keep_models=execution.keep_models)
    if execution.fresh:
        for key, parts in work.parts.items():
            if store.has(key, MODEL_PART):
                parts[MODEL_PART] = None  # the weights must be computed again, too
                store.forget(key, MODEL_PART)
        for one in work.requests:
            store.forget(*one.place)
    tasks = tasks_of(
        work, lambda owner, part: not store.has(owner, part), execution.device
    )
    # Observers receive all tables. Stored ones are reported before any training begins.
    made = set(chain.from_iterable(task.wanted for task in tasks))
    report_stored(
        [one for one in work.requests if one.place not in made], store, execution
    )
    _do(tasks, work, store, execution)
    uniform = {one.name for one in plan.computations if one.uniform}
    tables = _assemble(work.requests, store, uniform)
    warn_of_divergence(tables)
    return tables


@contextmanager
def watched(
    plan: Plan,
    seeds: Sequence[int],
    execution: ExecutionOptions,
    name: str,
    **about: Any,
) -> Iterator[dict[str, pl.DataFrame]]:
    """Return a context manager that notifies observers when work on a plan begins and ends.

    Args:
        plan: The trials, measures and computations.
        seeds: Root seeds.
        execution: Options that list the observers.
        name: Name of the sweep or recipe.
        **about: Further settings that are passed to the observers' method ``started``,
            in addition to ``name``, ``seeds``, ``steps``, the names of the ``labels``
            and the ``trials``.

    Yields:
        An empty dictionary, which the ``with`` block must fill with the final tables,
        keyed by name. They are passed to the observers' method ``finished``. If the
        block raises an error, ``failed`` is called instead, and the error propagates.
    """
    settings: dict[str, Any] = {"name": name, "seeds": list(seeds), **about}
    settings["steps"] = len(seeds) * plan.steps
    if execution.observers:
        labels: dict[str, None] = {}
        conditions: list[Trial | Computation] = [*plan.trials, *plan.computations]
        for condition in conditions:
            labels |= dict.fromkeys(condition.labels)
        settings["labels"] = [*labels]
        settings["trials"] = list(map(_settings_of, plan.trials))
    with telling(execution.observers, settings) as tables:
        yield tables


def _settings_of(trial: Trial) -> dict[str, Any]:
    """Return the labels and configs of a trial as plain values."""
    parts = {
        part: _plain(getattr(trial, part)) for part in ("world", "model", "learner")
    }
    return {**trial.labels, **parts}


def _plain(config: Any) -> Any:
    return to_plain(config) if isinstance(config, msgspec.Struct) else repr(config)


def report_stored(
    asked: Sequence[TableRequest], store: Store, execution: ExecutionOptions
) -> None:
    """Pass the stored tables of some runs to all observers.

    The method ``measured`` of each observer is called once per table name, with the
    rows of all given runs, including columns of their labels and seeds.

    Args:
        asked: The requested tables.
        store: Store of the tables.
        execution: Options that list the observers.

    Raises:
        FolderError: A table is not stored, or is damaged.
    """
    if execution.observers and asked:
        for name, table in _assemble(asked, store).items():
            for one in execution.observers:
                one.measured(name, table)


def _do(
    tasks: Sequence[Task], work: Work, store: Store, execution: ExecutionOptions
) -> None:
    """Run tasks on an executor, and raise an error if some of them failed."""
    if not tasks:
        store.tidy()  # the process that ran the last task may have been killed before tidying
        return

    def show(task: Task) -> None:
        made = set(task.wanted)
        report_stored(
            [one for one in work.requests if one.place in made], store, execution
        )

    job = Job(
        store=str(store.root),
        device=execution.device,
        threads=execution.threads,
        plugins=tuple(execution.plugins),
        lease=store.lease,
    )
    # Progress includes stored work: a run that continues begins where it stopped.
    total = sum(run.trial.learner.steps for run in work.runs.values())
    total += sum(one.steps for one in work.computations.values())
    before = total - sum(task.steps for task in tasks)
    # Only repeated checks without a renewal show that a lease has expired.
    busy = min(BUSY, job.lease / 10) if job.lease else BUSY
    schedule = Schedule(
        tasks,
        execution.report,
        before,
        busy=BusyTasks(busy, job.open_store().leases.free),
        # The cost estimate applies only to the CPU of this machine.
        expect=execution.expect if execution.device == "cpu" else None,
    )
    schedule.on_done = show if execution.observers else None
    executor = execution.executor or choose_executor(
        execution.on, execution.jobs, tasks, execution.plugins
    )
    executor.run(job, schedule)
    store.tidy()
    schedule.finish()


def _assemble(
    asked: Sequence[TableRequest], store: Store, uniform: Collection[str] = ()
) -> dict[str, pl.DataFrame]:
    """Add labels and seeds to the stored tables, and join them in the order of the plan."""
    named: dict[str, list[TableRequest]] = {}
    for one in asked:
        named.setdefault(one.name, []).append(one)
    tables = {}
    for name, group in named.items():
        numbers = {one.place: number for number, one in enumerate(group)}
        frames = {number: store.read(*place) for place, number in numbers.items()}
        if name in uniform:
            _check_alike([(group[number], frame) for number, frame in frames.items()])
        numbered = [frame.with_columns(_table=pl.lit(n)) for n, frame in frames.items()]
        # Labels and columns that a run lacks are null in its rows.
        rows = pl.concat(numbered, how="diagonal_relaxed")
        about = [pl.DataFrame([{**one.labels, "seed": one.seed}]) for one in group]
        which = pl.Series(
            [numbers[one.place] for one in group], dtype=rows["_table"].dtype
        )
        labels = pl.concat(about, how="diagonal_relaxed").with_columns(_table=which)
        joined = labels.join(
            rows, on="_table", how="inner", maintain_order="left_right"
        )
        tables[name] = joined.drop("_table")
    return tables


def _check_alike(runs: Sequence[tuple[TableRequest, pl.DataFrame]]) -> None:
    """Raise an error if runs have different columns or types of values; warn about NaN."""
    name = runs[0][0].name
    found = [(in_words({**one.labels, "seed": one.seed}), table) for one, table in runs]
    first_run, first_table = found[0]
    first = _kinds_of(first_table)
    for where, table in found:
        own = _kinds_of(table)
        pairs = [(kind, own.get(column)) for column, kind in first.items()]
        # A column without any value in one run has no type yet, and matches every other
        # type.
        alike = all(one == other or "nothing" in (one, other) for one, other in pairs)
        if not alike or own.keys() != first.keys():
            raise DataError(
                f"{name} returned the columns {_kinds_in_words(first)} for "
                f"{first_run}, and {_kinds_in_words(own)} for {where}; return the same "
                "columns in every run, with None where there is no value"
            )
    is_nan = pl.selectors.float().is_nan().any()
    bad: list[tuple[str, str]] = []
    for where, table in found:
        bad += [(where, column.name) for column in table.select(is_nan) if column.any()]
    if bad:
        where, column = bad[0]
        warnings.warn(
            f"{name} returned NaN in '{column}' for {where} ({len(dict(bad))} of "
            f"{plural(len(runs), 'run')}); return a number, or None where there is no value, "
            f"{{'{column}': None}}. Claims about NaN are not judged",
            CautionWarning,
            stacklevel=5,
        )


def _kinds_of(table: pl.DataFrame) -> dict[str, str]:
    """Return the kind of values of each column, such as ``number`` or ``text``."""
    return {column: kind_of(dtype) for column, dtype in table.schema.items()}


def _kinds_in_words(kinds: Mapping[str, str]) -> str:
    """Return a text that lists columns with the kinds of their values."""
    return ", ".join(f"{column} ({kind})" for column, kind in kinds.items())


def kind_of(dtype: pl.DataType) -> str:
    """Return a word for the type of a column's values, such as ``number``.

    Args:
        dtype: Polars data type of the column.

    Returns:
        ``number`` (all numeric types), ``text``, ``truth value`` (Booleans),
        ``nothing`` (a column of nulls only) or ``other`` (for example lists and dates).
    """
    if dtype.is_numeric():
        return "number"
    known = {pl.String: "text", pl.Boolean: "truth value", pl.Null: "nothing"}
    return known.get(dtype.base_type(), "other")
