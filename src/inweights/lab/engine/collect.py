"""Has what is missing of a plan made, puts its tables together, and opens models that were kept."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from inweights.config import check_size, to_plain
from inweights.errors import CautionWarning, ConfigError, DataError, FolderError, unknown_name
from inweights.lab.engine.executors import Executor, Processes, SameProcess
from inweights.lab.engine.job import Job, check_sendable, open_store, sendable
from inweights.lab.engine.plan import MODEL, Asked, Run, Task, Work, asked_of, in_words, tasks_of
from inweights.lab.engine.schedule import BUSY, Schedule
from inweights.lab.grammar.numbers import tell_divergence
from inweights.lab.grammar.trial import Plan, Trial
from inweights.runs.tables.store import MODEL_PART, Store, store_below
from inweights.support.limits import launched_by_torchrun
from inweights.support.progress import Progress, plural
from inweights.training.observers import Observer, Shown, Step, telling

if TYPE_CHECKING:
    from inweights.lab.grammar.claim import Value
    from inweights.models.base import Model
    from inweights.worlds.world import World


@dataclass(frozen=True, kw_only=True)
class Effort:
    """Who does the work, and with what; only the last bits of a result may depend on it.

    Most of it is described at :func:`inweights.run`. One thread a process is the default: two runs
    on one machine then do not slow each other down tenfold.

    Attributes:
        observers: Told of the work and of every run that is stored.
        executor: Does the tasks; by default processes, or this one where there is one job.
    """

    device: str = "cpu"
    jobs: int = 1
    threads: int = 1
    plugins: tuple[str, ...] = ()
    progress: Progress | None = None
    observers: tuple[Observer, ...] = ()
    on: str = ""
    store: str = ""
    executor: Executor | None = None
    fresh: bool = False
    keep_models: bool = False
    command: tuple[str, ...] = ()

    def open_store(self, runs: str | Path) -> Store:
        """Return where the tables of single runs are kept."""
        return Store(self.store or store_below(runs))

    @property
    def watching(self) -> list[Observer]:
        """The observers, and the progress as one of them."""
        return [*self.observers, *([Shown(self.progress)] if self.progress else [])]

    def tell(self, done: int, total: int, what: str) -> None:
        """Tell all of them how far the work is."""
        for one in self.watching:
            one.step(Step(what, done, total=total))

    def say(self, what: str) -> None:
        """Tell the progress what is waited for."""
        if self.progress:
            self.progress(0, 1, what)

    def __post_init__(self) -> None:
        check_size("jobs", self.jobs)
        check_size("threads", self.threads, most=1024)
        if self.device != "cpu":
            from inweights.models.devices import check_device

            check_device(self.device)


def choose_executor(
    on: str, jobs: int, tasks: Sequence[Task] | None, plugins: Sequence[str] | None = None
) -> Executor:
    """Return who does the tasks."""
    if on and on != "ray" and not on.startswith("ray://"):
        raise ConfigError(f"--on must be 'ray' or 'ray://HOST:PORT', got '{on}'")
    if launched_by_torchrun():
        from inweights.lab.engine.ranks import leader

        if on:
            raise ConfigError(
                "--on cannot be combined with torchrun, which starts the processes of a task; "
                "leave it out"
            )
        if (first := leader()) is not None:
            return first
    if on:
        from inweights.lab.engine.cluster import Ray

        check_sendable(tasks or (), plugins)
        return Ray(on.removeprefix("ray").removeprefix("://"), jobs)
    if tasks is not None and (len(tasks) < 2 or not all(sendable(t, plugins) for t in tasks)):
        jobs = 1
    return Processes(jobs) if jobs > 1 else SameProcess()


def collect(
    plan: Plan,
    seeds: Sequence[int],
    store: Store,
    effort: Effort | None = None,
    *,
    version: int = 1,
) -> dict[str, pl.DataFrame]:
    """Make what is missing of a plan, and return its tables, by name.

    A row has the labels of its trial, its ``seed`` and what the measure says. What the store holds
    is not made again, whichever recipe or sweep asked for it first.

    Args:
        plan: Trials, measures and computations.
        seeds: Root seeds of every trial.
        store: Where the tables of single runs are kept.
        effort: Who does the work, and with what.
        version: The recipe's.
    """
    effort = effort or Effort()
    work = asked_of(plan, seeds, version, keep_models=effort.keep_models)
    if effort.fresh:
        _forget(work, store)
    tasks = tasks_of(work, lambda owner, part: not store.has(owner, part), effort.device)
    made = {one for task in tasks for one in task.wanted}
    tell_stored([a for a in work.asked if (a.owner, a.part) not in made], store, effort)
    _do(tasks, work, store, effort)
    uniform = {one.name for one in plan.computations if one.uniform}
    tables = _assemble(work.asked, store, uniform)
    tell_divergence(tables)
    return tables


@contextmanager
def watched(
    plan: Plan, seeds: Sequence[int], effort: Effort, name: str, **about: Any
) -> Iterator[dict[str, pl.DataFrame]]:
    """Tell the observers of an effort of a plan: what it is, and how it ends.

    Args:
        plan: Trials, measures and computations.
        seeds: Root seeds of every trial.
        effort: Who watches.
        name: Of the sweep or recipe.
        about: Further settings to tell.

    Yields:
        Where the tables are put that the plan leaves.
    """
    settings: dict[str, Any] = {"name": name, "seeds": list(seeds), **about}
    settings["steps"] = len(seeds) * sum(trial.learner.steps for trial in plan.trials)
    if effort.observers:
        named = [*(t.labels for t in plan.trials), *(c.labels for c in plan.computations)]
        settings["labels"] = [*dict.fromkeys(key for labels in named for key in labels)]
        settings["trials"] = [
            {**t.labels, "world": _plain(t.world), "model": _plain(t.model)}
            | {"learner": _plain(t.learner)}
            for t in plan.trials
        ]
    with telling(effort.observers, settings) as tables:
        yield tables


def _plain(config: Any) -> Any:
    return to_plain(config) if isinstance(config, msgspec.Struct) else repr(config)


def tell_stored(asked: Sequence[Asked], store: Store, effort: Effort) -> None:
    """Show observers what runs have left, as it is in the store."""
    if effort.observers and asked:
        for name, table in _assemble(asked, store).items():
            for one in effort.observers:
                one.measured(name, table)


def _forget(work: Work, store: Store) -> None:
    for key, parts in work.measures.items():
        if store.has(key, MODEL_PART):
            parts[MODEL_PART] = MODEL
        for part in parts:
            store.forget(key, part)
    for key in work.computations:
        store.forget(key, "table")


def _do(tasks: Sequence[Task], work: Work, store: Store, effort: Effort) -> None:
    if not tasks:
        store.tidy()  # whoever did the last of them may have been killed before it could
        return
    total = sum(r.trial.learner.steps for r in work.runs.values())
    total += sum(c.steps for c in work.computations.values())
    job = Job(
        store=str(store.root),
        device=effort.device,
        threads=effort.threads,
        plugins=effort.plugins,
        lease=store.lease,
    )
    before = total - sum(task.steps for task in tasks)
    # A lease only expires for who looks at it several times while it runs.
    busy = min(BUSY, job.lease / 10) if job.lease else BUSY
    free = open_store(job).leases.free
    tell = effort.tell if effort.watching else None
    schedule = Schedule(tasks, tell, before, busy=busy, free=free)
    if effort.observers:

        def show(task: Task) -> None:
            made = set(task.wanted)
            tell_stored([a for a in work.asked if (a.owner, a.part) in made], store, effort)

        schedule.on_done = show
    executor = effort.executor or choose_executor(effort.on, effort.jobs, tasks, effort.plugins)
    executor.run(job, schedule)
    store.tidy()
    schedule.finish()


def _assemble(
    asked: Sequence[Asked], store: Store, uniform: Collection[str] = ()
) -> dict[str, pl.DataFrame]:
    """Join labels and seeds to the stored tables; rows are in the order of the plan."""
    named: dict[str, list[Asked]] = {}
    for one in asked:
        named.setdefault(one.name, []).append(one)
    tables = {}
    for name, group in named.items():
        stored = {(a.owner, a.part): i for i, a in enumerate(group)}
        frames = [store.read(*key) for key in stored]
        if name in uniform:
            _check_alike([group[i] for i in stored.values()], frames)
        rows = pl.concat(
            [
                f.with_columns(_table=pl.lit(i))
                for f, i in zip(frames, stored.values(), strict=True)
            ],
            how="diagonal_relaxed",
        )
        labels = _labels(group).with_columns(
            _table=pl.Series([stored[a.owner, a.part] for a in group], dtype=rows["_table"].dtype)
        )
        tables[name] = labels.join(
            rows, on="_table", how="inner", maintain_order="left_right"
        ).drop("_table")
    return tables


def _check_alike(runs: Sequence[Asked], frames: Sequence[pl.DataFrame]) -> None:
    """Refuse runs with other columns, or kinds of values, than the first one; warn of NaN."""
    about = [in_words({**one.labels, "seed": one.seed}) for one in runs]
    kinds = [{name: _kind(dtype) for name, dtype in frame.schema.items()} for frame in frames]
    for run, found in zip(about, kinds, strict=True):
        pairs = [(kind, found.get(name)) for name, kind in kinds[0].items()]
        alike = all(one == other or "nothing" in (one, other) for one, other in pairs)
        if not alike or found.keys() != kinds[0].keys():
            first, other = (
                f"{', '.join(f'{name} ({kind})' for name, kind in those.items())} for {where}"
                for where, those in ((about[0], kinds[0]), (run, found))
            )
            raise DataError(
                f"{runs[0].name} returned the columns {first}, and {other}; return the same ones "
                "in every run, None where there is no value"
            )
    is_nan = pl.selectors.float().is_nan().any()
    bad = [
        (run, column.name)
        for run, frame in zip(about, frames, strict=True)
        for column in frame.select(is_nan)
        if column.any()
    ]
    if bad:
        run, column = bad[0]
        warnings.warn(
            f"{runs[0].name} returned NaN in '{column}' for {run} ({len({r for r, _ in bad})} of "
            f"{plural(len(runs), 'run')}); return a number, or None where there is no value, "
            f"{{'{column}': None}}. Claims about NaN are not judged",
            CautionWarning,
            stacklevel=5,
        )


def _kind(dtype: pl.DataType) -> str:
    if dtype.is_numeric():
        return "number"
    return {pl.String: "text", pl.Boolean: "truth value", pl.Null: "nothing"}.get(
        dtype.base_type(), "other"
    )


def _labels(group: Iterable[Asked]) -> pl.DataFrame:
    frames = [pl.DataFrame([{**one.labels, "seed": one.seed}]) for one in group]
    return pl.concat(frames, how="diagonal_relaxed")


@dataclass(frozen=True)
class KeptModel:
    """One trained model of a run, with what it was trained on.

    Attributes:
        labels: Those of its trial.
        seed: Its root seed.
        run: Its run.
        store: Where its weights are.
    """

    labels: Mapping[str, Value]
    seed: int
    run: Run
    store: Store

    @cached_property
    def world(self) -> World:
        """The world that it learnt, with its seed."""
        return self.run.trial.world.build(self.seed)

    @cached_property
    def model(self) -> Model:
        """The model, one replica, on the CPU."""
        from inweights.lab.engine.together import open_model

        return open_model(self.store, self.run)

    def __repr__(self) -> str:
        about = [f"{name}={value!r}" for name, value in {**self.labels, "seed": self.seed}.items()]
        return f"KeptModel({', '.join(about)})"


def kept_models(
    trials: Sequence[Trial],
    seeds: Sequence[int],
    store: Store,
    version: int = 1,
    where: Mapping[str, Value] | None = None,
) -> list[KeptModel]:
    """Return the kept models of trials, in their order, seed by seed."""
    labels = dict.fromkeys([*(name for trial in trials for name in trial.labels), "seed"])
    for name in where or {}:
        if name not in labels:
            raise unknown_name("label", name, labels)
    found: list[KeptModel] = []
    for trial in trials:
        runs = asked_of(Plan(trials=[trial]), seeds, version).runs.values()
        for run in runs:
            about = {**trial.labels, "seed": run.seed}
            if all(about.get(name) == value for name, value in (where or {}).items()):
                found.append(KeptModel(trial.labels, run.seed, run, store))
    lacking = sum(not store.has(kept.run.key, MODEL_PART) for kept in found)
    if lacking:
        raise FolderError(
            f"the weights of {lacking} of {len(found)} runs were not stored, or are damaged; run "
            "it again with --keep-models (in Python, keep_models=True)"
        )
    return found
