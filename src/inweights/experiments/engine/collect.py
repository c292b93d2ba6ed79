"""Make what is missing of a plan, put its tables together, and open stored models.

:func:`collect` is what recipes (:mod:`~.engine`) and sweeps call: it finds the missing tasks,
lets an executor do them, and joins their tables. :class:`ExecutionOptions` say who does the
work; :func:`saved_models` opens models whose weights were stored.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import msgspec
import polars as pl

from inweights.config import check_size, to_plain
from inweights.errors import CautionWarning, ConfigError, DataError, FolderError, check_names
from inweights.experiments.claims.numbers import warn_of_divergence
from inweights.experiments.claims.score import Value
from inweights.experiments.engine.executors import Executor, Processes, SameProcess
from inweights.experiments.engine.job import Job, check_sendable, sendable
from inweights.experiments.engine.plan import (
    Run,
    TableRequest,
    Task,
    Work,
    expand_plan,
    in_words,
    tasks_of,
)
from inweights.experiments.engine.schedule import BUSY, Schedule
from inweights.experiments.grammar.labels import is_label
from inweights.experiments.grammar.trial import Plan, Trial
from inweights.runs.tables.store import MODEL_PART, Store, store_below
from inweights.support.limits import launched_by_torchrun
from inweights.support.progress import Progress, plural
from inweights.training.observers import Observer, Step, telling

if TYPE_CHECKING:
    from inweights.models.base import Model
    from inweights.worlds.world import World


class ExecutionKeywords(TypedDict, total=False):
    """Keyword arguments that become fields of :class:`ExecutionOptions`, described there."""

    device: str
    threads: int
    plugins: Sequence[str]
    observers: Sequence[Observer]
    on: str
    fresh: bool
    keep_models: bool
    command: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class ExecutionOptions:
    """Who does the work, and with what; only the last bits of a result may depend on it.

    Attributes:
        device: Where models live: ``cpu``, ``cuda``, ``cuda:1``.
        jobs: Processes that work side by side.
        threads: Threads of each process. One is the default, as two runs on one machine would
            slow each other down tenfold otherwise.
        plugins: Modules that the processes import first.
        progress: Called with updates done, all updates, and what is being done; ``None`` shows
            nothing.
        observers: Notified of the work and of every table that is stored.
        on: ``ray``, or the address ``ray://HOST:PORT`` of a cluster; "" for this machine.
        store: Where the tables of single runs are stored, a folder or the address of a bucket;
            "" for below the folder of runs.
        executor: Does the tasks; by default processes do, or this one where there is one job.
        fresh: Whether everything is made again.
        keep_models: Whether the trained weights are stored, too.
        command: Words of the command that makes the run again, if it is not ``inweights run``.

    Raises:
        ConfigError: A number is out of range, or this machine does not have the device.
    """

    device: str = "cpu"
    jobs: int = 1
    threads: int = 1
    plugins: Sequence[str] = ()
    progress: Progress | None = None
    observers: Sequence[Observer] = ()
    on: str = ""
    store: str = ""
    executor: Executor | None = None
    fresh: bool = False
    keep_models: bool = False
    command: Sequence[str] = ()

    def open_store(self, runs: str | Path) -> Store:
        """Return the store of the tables of single runs.

        Args:
            runs: Folder of all runs, used if :attr:`store` is empty.
        """
        return Store(self.store or store_below(runs))

    def report(self, done: int, total: int, what: str) -> None:
        """Report to observers and progress how far the work is.

        Args:
            done: Updates done.
            total: All updates.
            what: What is being done.
        """
        for one in self.observers:
            one.step(Step(what, done, total=total))
        if self.progress:
            self.progress(done, total, what)

    def __post_init__(self) -> None:
        check_size("jobs", self.jobs)
        check_size("threads", self.threads, most=1024)
        if self.device != "cpu":
            from inweights.models.devices import check_device

            check_device(self.device)


def choose_executor(
    on: str, jobs: int, tasks: Sequence[Task] | None, plugins: Sequence[str] | None = None
) -> Executor:
    """Return who does the tasks.

    Args:
        on: ``ray``, or the address ``ray://HOST:PORT`` of a cluster; "" for this machine.
        jobs: Processes that work side by side.
        tasks: The tasks; ``None`` if they are not known yet. One task, or tasks that no other
            process could find, are done in this process.
        plugins: Modules that tasks may name; ``None`` for any.

    Raises:
        ConfigError: ``on`` is no cluster, is combined with ``torchrun``, or a task cannot be
            sent.
    """
    if on and on != "ray" and not on.startswith("ray://"):
        raise ConfigError(f"--on must be 'ray' or 'ray://HOST:PORT', got '{on}'")
    if launched_by_torchrun():
        from inweights.experiments.engine.cluster import leader

        if on:
            raise ConfigError(
                "--on cannot be combined with torchrun, which starts the processes of a task; "
                "leave it out"
            )
        if (first := leader()) is not None:
            return first
    if on:
        from inweights.experiments.engine.cluster import Ray

        check_sendable(tasks or (), plugins)
        return Ray(on.removeprefix("ray").removeprefix("://"), jobs)
    if tasks is not None and (len(tasks) < 2 or not all(sendable(t, plugins) for t in tasks)):
        jobs = 1
    return Processes(jobs) if jobs > 1 else SameProcess()


def collect(
    plan: Plan,
    seeds: Sequence[int],
    store: Store,
    execution: ExecutionOptions | None = None,
    *,
    version: int = 1,
) -> dict[str, pl.DataFrame]:
    """Make what is missing of a plan, and return its tables.

    What the store holds is not made again, whichever recipe or sweep it was made for.

    Args:
        plan: Trials, measures and computations.
        seeds: Root seeds; every trial is run once for each.
        store: Where the tables of single runs are.
        execution: Who does the work; by default this process.
        version: The recipe's version, part of the key of every run.

    Returns:
        Tables by name. A row has the labels of its trial, its ``seed`` and the columns of the
        measure.

    Raises:
        ConfigError: Tasks have to go to other machines, which cannot find what they name.
        DataError: Runs of a function have different columns.
        RunError: Tasks failed; or another class of error, if all of them failed with that.
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
    tasks = tasks_of(work, lambda owner, part: not store.has(owner, part), execution.device)
    made = {one for task in tasks for one in task.wanted}
    report_stored([one for one in work.requests if one.place not in made], store, execution)
    _do(tasks, work, store, execution)
    uniform = {one.name for one in plan.computations if one.uniform}
    tables = _assemble(work.requests, store, uniform)
    warn_of_divergence(tables)
    return tables


@contextmanager
def watched(
    plan: Plan, seeds: Sequence[int], execution: ExecutionOptions, name: str, **about: Any
) -> Iterator[dict[str, pl.DataFrame]]:
    """Notify the observers of work on a plan: what it is, and how it ends.

    Args:
        plan: Trials, measures and computations.
        seeds: Root seeds.
        execution: Has the observers.
        name: Name of the sweep or recipe.
        **about: Further settings that observers are given.

    Yields:
        A dictionary; put the tables there that the plan leaves.
    """
    settings: dict[str, Any] = {"name": name, "seeds": list(seeds), **about}
    settings["steps"] = len(seeds) * plan.steps
    if execution.observers:
        named = [*(t.labels for t in plan.trials), *(c.labels for c in plan.computations)]
        settings["labels"] = [*dict.fromkeys(key for labels in named for key in labels)]
        parts = ("world", "model", "learner")
        settings["trials"] = [
            {**t.labels, **{part: _plain(getattr(t, part)) for part in parts}} for t in plan.trials
        ]
    with telling(execution.observers, settings) as tables:
        yield tables


def _plain(config: Any) -> Any:
    return to_plain(config) if isinstance(config, msgspec.Struct) else repr(config)


def report_stored(asked: Sequence[TableRequest], store: Store, execution: ExecutionOptions) -> None:
    """Show observers the tables of some runs, as they are in the store.

    Args:
        asked: Which tables.
        store: Where they are.
        execution: Has the observers.
    """
    if execution.observers and asked:
        for name, table in _assemble(asked, store).items():
            for one in execution.observers:
                one.measured(name, table)


def _do(tasks: Sequence[Task], work: Work, store: Store, execution: ExecutionOptions) -> None:
    """Have tasks done by an executor, and raise what failed."""
    if not tasks:
        store.tidy()  # whoever did the last of them may have been killed before it could
        return

    def show(task: Task) -> None:
        made = set(task.wanted)
        report_stored([one for one in work.requests if one.place in made], store, execution)

    job = Job(
        store=str(store.root),
        device=execution.device,
        threads=execution.threads,
        plugins=tuple(execution.plugins),
        lease=store.lease,
    )
    total = sum(run.trial.learner.steps for run in work.runs.values())
    total += sum(one.steps for one in work.computations.values())
    before = total - sum(task.steps for task in tasks)
    # A lease only expires for who looks at it several times while it runs.
    busy = min(BUSY, job.lease / 10) if job.lease else BUSY
    schedule = Schedule(
        tasks, execution.report, before, busy=busy, free=job.open_store().leases.free
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
    """Join labels and seeds to the stored tables; rows are in the order of the plan."""
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
        rows = pl.concat(numbered, how="diagonal_relaxed")
        about = [pl.DataFrame([{**one.labels, "seed": one.seed}]) for one in group]
        which = pl.Series([numbers[one.place] for one in group], dtype=rows["_table"].dtype)
        labels = pl.concat(about, how="diagonal_relaxed").with_columns(_table=which)
        joined = labels.join(rows, on="_table", how="inner", maintain_order="left_right")
        tables[name] = joined.drop("_table")
    return tables


def _check_alike(runs: Sequence[tuple[TableRequest, pl.DataFrame]]) -> None:
    """Refuse runs with other columns, or kinds of values, than the first one; warn of NaN."""
    name = runs[0][0].name
    found = [(in_words({**one.labels, "seed": one.seed}), table) for one, table in runs]
    kinds = [(where, {c: kind_of(d) for c, d in table.schema.items()}) for where, table in found]
    first = kinds[0][1]
    for where, own in kinds:
        pairs = [(kind, own.get(column)) for column, kind in first.items()]
        alike = all(one == other or "nothing" in (one, other) for one, other in pairs)
        if not alike or own.keys() != first.keys():
            one, other = (
                f"{', '.join(f'{column} ({kind})' for column, kind in those.items())} for {place}"
                for place, those in (kinds[0], (where, own))
            )
            raise DataError(
                f"{name} returned the columns {one}, and {other}; return the same ones in every "
                "run, None where there is no value"
            )
    is_nan = pl.selectors.float().is_nan().any()
    bad = [(where, c.name) for where, table in found for c in table.select(is_nan) if c.any()]
    if bad:
        where, column = bad[0]
        warnings.warn(
            f"{name} returned NaN in '{column}' for {where} ({len(dict(bad))} of "
            f"{plural(len(runs), 'run')}); return a number, or None where there is no value, "
            f"{{'{column}': None}}. Claims about NaN are not judged",
            CautionWarning,
            stacklevel=5,
        )


def kind_of(dtype: pl.DataType) -> str:
    """Return the kind of a column's values, in a word; widths of numbers do not matter."""
    if dtype.is_numeric():
        return "number"
    known = {pl.String: "text", pl.Boolean: "truth value", pl.Null: "nothing"}
    return known.get(dtype.base_type(), "other")


@dataclass(frozen=True)
class SavedModel:
    """One trained model of a run, whose weights are read when they are needed.

    Attributes:
        run: The run that trained it.
        store: Where its weights are.
    """

    run: Run
    store: Store

    @property
    def labels(self) -> Mapping[str, Value]:
        """Labels of its trial."""
        return self.run.trial.labels

    @property
    def seed(self) -> int:
        """Its root seed."""
        return self.run.seed

    @property
    def world(self) -> World:
        """The world that it was trained on."""
        return self.run.world

    @cached_property
    def model(self) -> Model:
        """The model, one replica, on the CPU."""
        from inweights.experiments.engine.together import open_model

        return open_model(self.store, self.run)

    def __repr__(self) -> str:
        about = [f"{name}={value!r}" for name, value in {**self.labels, "seed": self.seed}.items()]
        return f"SavedModel({', '.join(about)})"


def saved_models(
    trials: Sequence[Trial],
    seeds: Sequence[int],
    store: Store,
    version: int = 1,
    where: Mapping[str, Value] | None = None,
) -> list[SavedModel]:
    """Return the stored models of trials, in the order of trials, seed by seed.

    Args:
        trials: The conditions.
        seeds: Root seeds.
        store: Where weights are.
        version: Version of the recipe that trained them.
        where: Only models with these values of labels, and of ``seed``; by default all.

    Raises:
        ConfigError: ``where`` names an unknown label.
        FolderError: Weights of some were not stored, or are damaged.
    """
    wanted = where or {}
    check_names("label", wanted, {"seed", *(name for trial in trials for name in trial.labels)})
    found = [
        SavedModel(run, store)
        for trial in trials
        for run in expand_plan(Plan(trials=[trial]), seeds, version).runs.values()
        if all(is_label({**trial.labels, "seed": run.seed}[n], v) for n, v in wanted.items())
    ]
    lacking = sum(not store.has(kept.run.key, MODEL_PART) for kept in found)
    if lacking:
        raise FolderError(
            f"the weights of {lacking} of {len(found)} runs were not stored, or are damaged; run "
            "it again with --keep-models (in Python, keep_models=True)"
        )
    return found
