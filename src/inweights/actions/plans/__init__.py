"""Write a plan of tasks, which workers on any machine run until no task is left.

:func:`write_plan` writes the plan, :func:`work` runs its tasks, and
:meth:`Planned.status` returns its progress. The plan is a folder on disk or in an
object store. Any number of workers, started by any scheduler, can take tasks from it;
each worker holds a lease for each task on which it is working
(:mod:`inweights.runs.tables.lease`). Workers share only the files of the plan::

    PLAN/plan.json          data that all tasks share
    PLAN/index.json         key, title and results of every task
    PLAN/tasks/00000.jsonl  the tasks, up to 200 per file
    PLAN/failed/<run>.json  the error of each failed run, which is not tried again
    PLAN/store/             the tables of individual runs, unless another store was named
"""

import random
import shlex
from collections.abc import Iterator, Sequence, Set

import msgspec

from inweights.actions.plans.files import (
    ABOUT,
    INDEX,
    About,
    Entry,
    Planned,
    Status,
    part_name,
)
from inweights.errors import ConfigError
from inweights.experiments.engine.collect import report_stored
from inweights.experiments.engine.execution import ExecutionOptions, choose_executor
from inweights.experiments.engine.executors.processes import Leased
from inweights.experiments.engine.executors.schedule import BusyTasks, Schedule
from inweights.experiments.engine.executors.serialization import from_wire, to_wire
from inweights.experiments.engine.job import check_sendable
from inweights.experiments.engine.plan import expand_plan, tasks_of
from inweights.experiments.engine.tasks import LearnTask, Task
from inweights.experiments.grammar.trial import Plan
from inweights.runs.environment import version_of
from inweights.runs.tables.files import open_files
from inweights.runs.tables.store import Store, store_below
from inweights.training.observers import telling

__all__ = ["work", "write_plan"]

#: Maximum number of tasks in one file of a plan. Workers read one such file at a time.
PART = 200
#: Maximum number of stored tables that a worker lists per task that it reads. The
#: tables are listed again only after enough tasks, so that the cost of a task does not
#: grow with the plan. Before a worker runs a task, it checks whether the task is
#: already done.
LISTED = 20


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
    """Write a plan's unfinished tasks to files, so that workers on any machine can run them.

    Args:
        plan: The trials, measures and computations.
        seeds: Root seeds.
        place: Folder or address of the plan, which must not contain a plan yet.
        version: The recipe's version, which is part of the key of every run; by
            default 1.
        store: Folder or address of the store of the results. Tables that it contains
            are not computed again. If it is empty (the default), the folder ``store``
            in the plan is used.
        plugins: Names of modules that workers import first; by default none.
        collect: Command that reads the complete results, as a list of arguments, to be
            shown in messages; by default none.

    Returns:
        The written plan, to be passed to :func:`work`. It has no tasks if all results
        are stored already.

    Raises:
        ConfigError: The place already contains a plan; the address of the place or the
            store is invalid, or requires an optional package that is not installed; a
            task names an object that workers cannot import; or an option of a measure
            cannot be stored exactly.
        DataError: A file that the settings name cannot be read.
        FolderError: The plan's folder or the store contains a symbolic link.
        WriteError: The plan cannot be written.
    """
    place = place.rstrip("/")
    files = open_files(place)
    if files.read(ABOUT) is not None:
        raise ConfigError(
            f"{place} already contains a plan; choose another place with --out, or continue "
            f"this plan: {shlex.join(['inweights', 'work', place])}"
        )
    stored = Store(store or store_below(place)).listed()
    work = expand_plan(plan, seeds, version)
    tasks = tasks_of(work, lambda owner, part: (owner, part) not in stored)
    check_sendable(tasks)
    parts = range(0, len(tasks), PART)
    for number, start in enumerate(parts):
        lines = [
            msgspec.json.encode(to_wire(task)) for task in tasks[start : start + PART]
        ]
        # Raises an error now if a task refers to an object that workers could not
        # import.
        from_wire(msgspec.json.decode(lines[0]), plugins)
        files.write(part_name(number), b"\n".join(lines))
    index = [Entry(task.key, task.title, tuple(task.wanted)) for task in tasks]
    files.write(INDEX, msgspec.json.encode(index))
    labels = dict[str, None]()
    for request in work.requests:
        labels.update(dict.fromkeys(request.labels))
    about = About(
        store=store,
        plugins=tuple(plugins),
        version=version_of("inweights"),
        collect=tuple(collect),
        parts=len(parts),
        labels=tuple(labels),
    )
    # Written last: a folder without this file is not a plan.
    files.write(ABOUT, msgspec.json.encode(about))
    return Planned(place)


def work(planned: Planned, execution: ExecutionOptions | None = None) -> Status:
    """Run tasks of a plan, together with any number of other workers, until none is left.

    Each worker begins at a different position in the plan, and at first skips tasks on
    which other workers are working. When no other task is left, it waits for these
    tasks, and takes over the tasks of workers that have died.

    Args:
        planned: The plan.
        execution: Execution options for this machine, including observers, which are
            notified of what this worker stores; by default tasks run one after another
            in this process.

    Returns:
        The progress of the plan at the end. A task that fails does not raise an error;
        it is not tried again, and its error is in ``failures``.

    Raises:
        ConfigError: The plan was written with another version of the library, a task
            names an object that belongs neither to the library nor to a plugin, or this
            machine does not have the device.
        FolderError: A file of the plan is missing or damaged.
        WriteError: Results cannot be stored.
    """
    execution = execution or ExecutionOptions()
    planned.job.check_version()
    job = msgspec.structs.replace(
        planned.job, device=execution.device, threads=execution.threads
    )
    schedule = Schedule(
        (),
        execution.report,
        busy=BusyTasks(job.lease / 10, planned.store.leases.free),
        more=_blocks(planned),
        on_failure=planned.set_aside,
    )
    schedule.on_done = lambda task: report_stored(
        task.requests, planned.store, execution
    )
    with telling(
        execution.observers, {"name": planned.place, "labels": planned.about.labels}
    ):
        Leased(choose_executor("", execution.jobs, None), planned.store).run(
            job, schedule
        )
    planned.store.tidy()
    return planned.status()


def _blocks(planned: Planned) -> Iterator[list[Task]]:
    """Yield the remaining tasks of each file; each worker begins at a different position."""
    parts = planned.about.parts
    first = random.SystemRandom().randrange(max(1, parts))
    stored: set[tuple[str, str]] = set()
    failed: set[str] = set()
    since = 0
    for step in range(parts):
        tasks = list(planned.tasks((first + step) % parts))
        if LISTED * since >= len(stored) + len(failed):
            stored = planned.store.listed()
            failed = planned.failed()
            since = 0
        since += len(tasks)
        middle = random.SystemRandom().randrange(max(1, len(tasks)))
        yield list(_left(tasks[middle:] + tasks[:middle], stored, failed))


def _left(
    tasks: Sequence[Task], stored: Set[tuple[str, str]], failed: Set[str]
) -> Iterator[Task]:
    """Yield the remaining work: tasks, or parts of tasks, that are neither stored nor failed."""
    for task in tasks:
        lacking = {owner for owner, part in task.wanted if (owner, part) not in stored}
        if not lacking - failed:
            continue
        if isinstance(task, LearnTask) and lacking & failed:
            yield task.part(
                i for i, run in enumerate(task.runs) if run.key not in failed
            )
        else:
            yield task
