"""Plans are written once, and workers do their part of them until nothing is left.

Any number of workers, begun by whatever scheduler there is, take tasks from a plan on disk or in an
object store under leases (:mod:`inweights.lab.store.lease`). They share nothing but its files
(:mod:`inweights.lab.engine.plan_files`).
"""

from __future__ import annotations

import random
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

import msgspec

from inweights.errors import ConfigError, InweightsError
from inweights.lab.engine.collect import Effort
from inweights.lab.engine.executors import choose_executor
from inweights.lab.engine.job import installed_version, store_below
from inweights.lab.engine.plan import LearnTask, Task, asked_of, tasks_of
from inweights.lab.engine.plan_files import ABOUT, INDEX, About, Entry, Planned, Status, part_name
from inweights.lab.engine.schedule import Failure, Schedule
from inweights.lab.engine.serialization import check_sendable, from_wire, to_wire
from inweights.lab.grammar.trial import Plan
from inweights.lab.store.files import open_files
from inweights.lab.store.tables import LEASE, Store
from inweights.support.progress import Progress

__all__ = ["Planned", "Status", "open_plan", "work", "write_plan"]

#: Tasks in one file: a worker reads one such file after another.
PART = 200


def write_plan(
    plan: Plan,
    seeds: Sequence[int],
    place: str,
    *,
    version: int = 1,
    store: str = "",
    plugins: Sequence[str] = (),
    collect: Sequence[str] = (),
) -> Planned:
    """Write what is missing of a plan, so that workers anywhere can do it.

    Args:
        plan: Trials, measures and computations.
        seeds: Root seeds of every trial.
        place: Folder or address of the plan; a plan that is there already is left alone.
        version: The recipe's.
        store: Where results go, if not below the plan.
        plugins: Modules that workers import first.
        collect: Words of the command that reads the results.

    Raises:
        ConfigError: There is a plan already, or other machines could not find what it names.
    """
    place = place.rstrip("/")
    files = open_files(place)
    if files.read(ABOUT) is not None:
        raise ConfigError(
            f"{place} holds a plan already; name another place with --out, or go on with it: "
            f"{shlex.join(['inweights', 'work', place])}"
        )
    stored = Store(store or store_below(place)).listed()
    work = asked_of(plan, seeds, version)
    tasks = tasks_of(work, lambda owner, part: (owner, part) not in stored)
    check_sendable(tasks)
    parts = range(0, len(tasks), PART)
    for number, start in enumerate(parts):
        lines = [msgspec.json.encode(to_wire(task)) for task in tasks[start : start + PART]]
        from_wire(msgspec.json.decode(lines[0]), plugins)  # what no worker finds is refused now
        files.write(part_name(number), b"\n".join(lines))
    index = [Entry(task.key, task.title, tuple(task.wanted)) for task in tasks]
    files.write(INDEX, msgspec.json.encode(index))
    about = About(
        store=store,
        plugins=tuple(plugins),
        version=installed_version(),
        collect=tuple(collect),
        parts=len(parts),
    )
    files.write(ABOUT, msgspec.json.encode(about))  # last: a plan without it is none
    return Planned(place)


def open_plan(place: str, lease: float = LEASE) -> Planned:
    """Return the plan in a folder or at an address."""
    return Planned(place, lease)


def work(
    planned: Planned,
    *,
    jobs: int = 1,
    device: str = "cpu",
    threads: int = 1,
    progress: Progress | None = None,
    on_failure: Callable[[Failure], None] | None = None,
) -> Status:
    """Do tasks of a plan beside any number of other workers, until nothing is left.

    Each worker begins at another place of the plan. What others hold is left to them at first; in
    the end it is waited for, and taken over where its worker died.

    Args:
        planned: The plan.
        jobs: Processes of this worker.
        device: Where models live.
        threads: Threads of each process.
        progress: Called with updates done, all updates, and what is being done; of the part that
            this worker is at.
        on_failure: Called with what failed.

    Raises:
        ConfigError: This machine has another version of the library than the plan, or no such
            device; or a number cannot be.
        WriteError: The store takes nothing.
    """
    Effort(device=device, jobs=jobs, threads=threads)  # refuses what cannot be
    if planned.about.version != (here := installed_version()):
        raise ConfigError(
            f"{planned.place} was planned with inweights {planned.about.version}, and this "
            f"machine has {here}; install that version everywhere"
        )
    job = msgspec.structs.replace(
        planned.job, device=device, threads=threads, plugins=planned.about.plugins
    )

    def do(tasks: Sequence[Task], busy: float | None) -> list[Task]:
        tasks = list(_left(tasks, planned))
        if not tasks:
            return []
        schedule = Schedule(tasks, progress, busy=busy, free=planned.store.leases.free)
        choose_executor("", jobs, tasks)(job, schedule)
        for failure in schedule.failures:
            planned.set_aside(failure)
            if on_failure:
                on_failure(failure)
        return schedule.skipped

    first = random.SystemRandom().randrange(max(1, planned.about.parts))
    skipped: list[Task] = []
    try:
        for step in range(planned.about.parts):
            tasks = list(planned.tasks((first + step) % planned.about.parts))
            middle = random.SystemRandom().randrange(max(1, len(tasks)))
            skipped += do(tasks[middle:] + tasks[:middle], None)
        do(skipped, job.lease / 10)
    finally:  # stopped: its processes are gone, and the others need not wait
        with suppress(InweightsError, OSError):
            planned.store.leases.give_back()
    planned.store.tidy()
    return planned.status()


def _left(tasks: Sequence[Task], planned: Planned) -> Iterator[Task]:
    """What is neither stored nor failed of some tasks."""
    stored, failed = planned.store.listed(), planned.failures()
    for task in tasks:
        lacking = {owner for owner, part in task.wanted if (owner, part) not in stored}
        if not lacking - failed.keys():
            continue
        if isinstance(task, LearnTask) and lacking & failed.keys():
            yield task.part(i for i, run in enumerate(task.runs) if run.key not in failed)
        else:
            yield task
