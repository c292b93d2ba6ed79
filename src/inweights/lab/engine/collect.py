"""Has what is missing of a plan made, by whoever does the work, and puts the tables together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from inweights.config import check_size
from inweights.lab.engine.executors import Executor, choose_executor
from inweights.lab.engine.job import Job, open_store, store_below
from inweights.lab.engine.plan import MODEL, Asked, Task, Work, asked_of, tasks_of
from inweights.lab.engine.schedule import BUSY, Schedule
from inweights.lab.grammar.divergence import tell_divergence
from inweights.lab.grammar.trial import Plan
from inweights.lab.store.tables import MODEL_PART, Store
from inweights.support.progress import Progress

__all__ = ["Effort", "collect"]


@dataclass(frozen=True, kw_only=True)
class Effort:
    """Who does the work, and with what; no number of a result depends on it.

    Attributes:
        device: Where models live.
        jobs: Tasks at the same time, each in a process of its own.
        threads: Threads of each process. One by default: two runs on one machine then do not slow
            each other down tenfold.
        plugins: Modules that the processes import first.
        progress: Told about every step.
        on: ``ray``, or the address ``ray://HOST:PORT`` of a cluster; this machine if left out.
        store: Folder or address (``s3://bucket/folder``) of the tables of single runs; ``store``
            in the folder of all runs if left out.
        executor: Does the tasks; by default processes, or this one where there is one job.

    Raises:
        ConfigError: The machine has no such device, or a number cannot be.
    """

    device: str = "cpu"
    jobs: int = 1
    threads: int = 1
    plugins: tuple[str, ...] = ()
    progress: Progress | None = None
    on: str = ""
    store: str = ""
    executor: Executor | None = None

    def open_store(self, runs: str | Path) -> Store:
        """Return where the tables of single runs are kept.

        Args:
            runs: Folder of all runs.
        """
        return Store(self.store or store_below(runs))

    def __post_init__(self) -> None:
        check_size("jobs", self.jobs)
        check_size("threads", self.threads, most=1024)
        if self.device != "cpu":
            from inweights.models.devices import check_device

            check_device(self.device)


def collect(
    plan: Plan,
    seeds: Sequence[int],
    store: Store,
    effort: Effort | None = None,
    *,
    version: int = 1,
    fresh: bool = False,
    keep_models: bool = False,
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
        fresh: Whether what is stored is made again; weights that were kept are kept again.
        keep_models: Whether the trained weights are stored, too.

    Raises:
        InweightsError: What tasks raised. The others were done and are stored; the same call again
            tries those alone.
    """
    effort = effort or Effort()
    work = asked_of(plan, seeds, version, keep_models=keep_models)
    if fresh:
        _forget(work, store)
    tasks = tasks_of(work, lambda owner, part: not store.has(owner, part), effort.device)
    _do(tasks, work, store, effort)
    tables = _assemble(work.asked, store)
    tell_divergence(tables)
    return tables


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
    schedule = Schedule(tasks, effort.progress, before, busy, open_store(job).leases.free)
    executor = effort.executor or choose_executor(effort.on, effort.jobs, tasks, effort.plugins)
    executor(job, schedule)
    store.tidy()
    schedule.finish()


def _assemble(asked: Sequence[Asked], store: Store) -> dict[str, pl.DataFrame]:
    """Join labels and seeds to the stored tables; rows are in the order of the plan."""
    named: dict[str, list[Asked]] = {}
    for one in asked:
        named.setdefault(one.name, []).append(one)
    tables = {}
    for name, group in named.items():
        stored = {(a.owner, a.part): i for i, a in enumerate(group)}
        rows = pl.concat(
            [store.read(*key).with_columns(_table=pl.lit(i)) for key, i in stored.items()],
            how="diagonal_relaxed",
        )
        labels = _labels(group).with_columns(
            _table=pl.Series([stored[a.owner, a.part] for a in group], dtype=rows["_table"].dtype)
        )
        tables[name] = labels.join(
            rows, on="_table", how="inner", maintain_order="left_right"
        ).drop("_table")
    return tables


def _labels(group: Iterable[Asked]) -> pl.DataFrame:
    frames = [pl.DataFrame([{**one.labels, "seed": one.seed}]) for one in group]
    return pl.concat(frames, how="diagonal_relaxed")
