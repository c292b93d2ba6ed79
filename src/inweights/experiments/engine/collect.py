"""Compute the missing tables of a plan, and join all of its tables.

Recipes (:mod:`~.engine`) and sweeps call :func:`collect`, which finds the missing
tasks, lets an executor run them, and joins their tables.
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
    """Compute what is missing of a plan, and return its tables.

    Stored tables are reused, no matter for which recipe or sweep they were computed;
    with ``execution.fresh`` they are removed from the store and computed again. New
    tables are stored. A ``UserWarning`` names runs that diverged, and a
    ``CautionWarning`` those in which a computation with ``uniform`` returned NaN.

    Args:
        plan: The trials, measures and computations.
        seeds: Root seeds; every trial is run once per seed.
        store: Store of the tables of single runs.
        execution: Where and how tasks run; by default one after another in this
            process.
        version: The recipe's version, which is part of the key of every run.

    Returns:
        The tables by name, with the rows of all runs in the order of the plan. Each row
        has the labels of its trial, its ``seed``, and the columns of the probe or
        computation; labels and columns that a run does not have are null in its rows.
        ``losses`` is the table of losses during training.

    Raises:
        ConfigError: Tasks have to run on other machines, and name objects that do not
            exist there; ``execution.on`` is not valid; or a value of the plan has no
            exact encoding.
        DataError: A file that the plan names cannot be read, or tables of a computation
            with ``uniform`` have different columns.
        RunError: No Ray cluster responds, or some tasks failed; the tables of the
            others are stored. If the failed tasks have the same class of the library's
            errors, that class is raised instead.
        WriteError: A table cannot be stored (a ``RunError``).
        OSError: With ``execution.fresh``, a stored file cannot be removed.
    """
    execution = execution or ExecutionOptions()
    work = expand_plan(plan, seeds, version, keep_models=execution.keep_models)
    if execution.fresh:
        for key, parts in work.parts.items():
            if store.has(key, MODEL_PART):
                parts[MODEL_PART] = None  # made again, too
                store.forget(key, MODEL_PART)
        for one in work.requests:
            store.forget(*one.place)
    tasks = tasks_of(
        work, lambda owner, part: not store.has(owner, part), execution.device
    )
    # What is not made now is read back at once, so that observers see every table, and
    # see it before the first training ends.
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
    """Notify observers of the work on a plan: what it is when it begins, and how it ends.

    Args:
        plan: The trials, measures and computations.
        seeds: Root seeds.
        execution: Options that list the observers.
        name: Name of the sweep or recipe.
        **about: Further settings that are passed to the observers' ``started``, besides
            ``name``, ``seeds``, ``steps``, the names of the ``labels`` and the
            ``trials``.

    Yields:
        An empty dictionary, to be filled with the final tables by name, which are
        passed to the observers' ``finished``. If the block raises an error, ``failed``
        is called instead, and the error is passed on.
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
    """Pass the stored tables of some runs to the observers, without observers do nothing.

    Each observer is called once per table name, with the rows of all given runs, their
    labels and seeds.

    Args:
        asked: The requested tables.
        store: Store of the tables.
        execution: Options that list the observers.

    Raises:
        FolderError: A table is not stored, or was changed.
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
        store.tidy()  # whoever did the last of them may have been killed before it could
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
    # Progress counts all work of the plan, done or not: a run that continues begins
    # where it stopped and not at nought.
    total = sum(run.trial.learner.steps for run in work.runs.values())
    total += sum(one.steps for one in work.computations.values())
    before = total - sum(task.steps for task in tasks)
    # A lease only expires for who looks at it several times while it runs.
    busy = min(BUSY, job.lease / 10) if job.lease else BUSY
    schedule = Schedule(
        tasks,
        execution.report,
        before,
        busy=BusyTasks(busy, job.open_store().leases.free),
        # Steps are timed on this machine's processor.
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
        # Runs may have different labels and columns: what one lacks is null in its
        # rows.
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
        # A column without any value in one run has no kind yet, and fits every other.
        alike = all(one == other or "nothing" in (one, other) for one, other in pairs)
        if not alike or own.keys() != first.keys():
            raise DataError(
                f"{name} returned the columns {_kinds_in_words(first)} for {first_run}, and "
                f"{_kinds_in_words(own)} for {where}; return the same ones in every run, None "
                "where there is no value"
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
    """Return columns with the kinds of their values, as text."""
    return ", ".join(f"{column} ({kind})" for column, kind in kinds.items())


def kind_of(dtype: pl.DataType) -> str:
    """Return a word for the kind of a column's values; all widths of numbers are one kind.

    Args:
        dtype: Type of the column.

    Returns:
        ``number``, ``text``, ``truth value``, ``nothing`` (the column has only nulls),
        or ``other``, such as for lists and dates.
    """
    if dtype.is_numeric():
        return "number"
    known = {pl.String: "text", pl.Boolean: "truth value", pl.Null: "nothing"}
    return known.get(dtype.base_type(), "other")
