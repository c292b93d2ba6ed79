"""Execute a task: train and measure models, and store one table for each run and measure.

Executors call :func:`attempt`, which returns how the task ended and raises no
``Exception``. :mod:`~.together` builds and trains the models of runs that train
together.
"""

import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from pathlib import Path

import msgspec
import torch

from inweights.config import digest
from inweights.errors import ConfigError, InweightsError
from inweights.experiments.engine.attempts.blocks import blocks_of
from inweights.experiments.engine.attempts.derived import measure_derived
from inweights.experiments.engine.attempts.measuring import (
    measure_wanted,
    store_by_run,
    store_part,
)
from inweights.experiments.engine.attempts.together import (
    build_model,
    open_model,
    train_block,
)
from inweights.experiments.engine.executors.endings import End, collected_log
from inweights.experiments.engine.job import Job, task_of
from inweights.experiments.engine.tasks import LOSSES, ComputeTask, LearnTask, Task
from inweights.models.building import join_replicas
from inweights.models.save import check_savable, encode_model
from inweights.probes.needs import check_probe
from inweights.runs.tables.lease import LostError
from inweights.runs.tables.names import MODEL_PART
from inweights.runs.tables.store import Store
from inweights.support.keys.changed import check_sources
from inweights.training import Checkpoint, Observer
from inweights.training.learners.kinds import Curriculum
from inweights.training.shards import Shards
from inweights.training.steps.machine import use_threads

Progress = Callable[[int], None]
#: Function that returns a context manager, within which other processes train the same
#: runs as this one; each process computes a share of every step.
Joint = Callable[[LearnTask], AbstractContextManager[Shards]]


def attempt(
    task: Task,
    store: Store,
    device: str,
    progress: Progress,
    joint: Joint | None = None,
) -> End:
    """Execute a task and return how the attempt ended; errors are returned, not raised.

    Args:
        task: The task.
        store: Store to which the task's tables are written.
        device: Torch device of the models, such as ``cpu`` or ``cuda``.
        progress: Function that is called with the number of updates done so far in this
            task.
        joint: Function that returns, for a task, a context manager within which other
            processes take part in its training, as with ``torchrun``. By default no
            other processes take part.

    Returns:
        An :class:`~.executors.endings.End`. Its ``how`` is ``done`` (also if all tables
        were already stored), ``busy`` (another process is working on the task or has
        taken it over), ``memory`` (the memory was not sufficient) or ``failed``. In the
        last two cases, ``message`` is the message of the error. If the error is an
        ``InweightsError``, ``error`` is the name of its class.
    """
    try:
        # Another process may have stored the tables by now; no lock is needed to check
        # this.
        if _stored(task, store):
            return End("done")
        with store.lock(task.key) as hold:
            if hold is None:
                return End("busy")

            def held(step: int) -> None:
                hold.check()
                progress(step)

            run_task(task, store, device, held, joint)
    except LostError:
        return End("busy")
    except InweightsError as error:
        return End("failed", type(error).__name__, str(error))
    except Exception as error:  # noqa: BLE001 # an error of a user's probe, or out of memory
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}, line {place.lineno}"
        text = f"{type(error).__name__}: {error} ({where})"
        return End("memory" if _is_memory(error) else "failed", message=text)
    return End("done")


def attempt_sent(job: Job, line: str, progress: Progress) -> End:
    """Execute a task that another process sent as JSON, and return how the attempt ended.

    Args:
        job: Data that all tasks of the run share.
        line: The task as a line of JSON, from :func:`~.serialization.to_wire`.
        progress: Function that is called with the number of updates done so far.

    Returns:
        How the task ended, as returned by :func:`attempt`, with the log messages of the
        task. The task is also ``failed`` if this process cannot import the functions or
        configs that the task names, or has another version of the library.

    Raises:
        ConfigError: The store of the job cannot be opened.
        KeyError: A field of the line is missing.
        ValueError: The line is not JSON, or the number of lists of parts differs from
            the number of runs.
        IndexError: A run refers to a trial that is missing.
    """
    try:
        task = task_of(job, line)
    except InweightsError as error:
        return End("failed", type(error).__name__, str(error))
    with use_threads(job.threads), collected_log(job.log) as lines:
        end = attempt(task, job.open_store(), job.device, progress)
    return msgspec.structs.replace(end, log=tuple(lines))


def _is_memory(error: Exception) -> bool:
    """Return whether an error means that memory ran out, judging by its type and its message."""
    allocator = isinstance(error, RuntimeError) and "DefaultCPUAllocator" in str(error)
    return allocator or isinstance(error, MemoryError | torch.OutOfMemoryError)


def run_task(
    task: Task,
    store: Store,
    device: str,
    progress: Progress,
    joint: Joint | None = None,
) -> None:
    """Execute a task and store its tables, unless another process has just stored them.

    Args:
        task: The task.
        store: Store to which the task's tables are written.
        device: Torch device of the models, such as ``cpu`` or ``cuda``.
        progress: Function that is called with the number of updates done so far.
        joint: Function that returns, for a task, a context manager within which other
            processes take part in its training, as with ``torchrun``. By default no
            other processes take part.

    Raises:
        InweightsError: Files or code on which the task depends have changed since it
            was planned, or the task failed. Errors of probes, of a user's functions and
            of ``progress`` propagate as well. If the memory is not sufficient, a
            ``MemoryError`` or ``torch.OutOfMemoryError`` is raised.
    """
    if _stored(task, store):
        return  # stored by the process that held the lock until now
    if isinstance(task, ComputeTask):
        _compute(task, store, progress)
        return
    # A task may have more runs than fit in memory together; its blocks train one after
    # another.
    done = 0
    for block in blocks_of(task, device):
        _check(task)  # files may have changed while worlds were built
        if block.only_measures and all(
            store.has(run.key, MODEL_PART) for run in block.runs
        ):
            _measure(block, store, device)
        elif isinstance(block.learner, Curriculum):
            _train(block, store, device, progress, joint, done)
        else:
            for place in range(len(block.runs)):
                measure_derived(block.part([place]), store)
        done += block.steps
        progress(done)


def _compute(task: ComputeTask, store: Store, progress: Progress) -> None:
    """Call the function of a computation, and store its table, or one table per seed."""
    one = task.computation
    call = one.call  # a new call with a copy of the options
    if one.stages:
        call = partial(call, progress=partial(_staged, task, progress))
    if one.together:
        table = call(seeds=[seed for _, seed in task.members])
        made = [
            (key, table.filter(seed=seed).drop("seed")) for key, seed in task.members
        ]
    else:
        more = {"seed": task.seed} if one.seeded else {}
        made = [(task.key, call(**more))]
    _check(task)
    for key, rows in made:
        store.write(key, "table", rows)


def _staged(
    task: ComputeTask, progress: Progress, done: int, total: int, stage: str
) -> None:
    """Report the progress of a computation, given the progress of one of its stages."""
    stages = task.computation.stages
    # Each stage has a share of the time, since counts of steps cannot be compared if
    # one stage solves and the next one trains.
    names = [*stages]
    share = sum(stages[name] for name in names[: names.index(stage)])
    progress(round(task.steps * (share + stages[stage] * done / total)))


def _check(task: Task) -> None:
    """Raise an error if files or code of a task have changed since its keys were computed."""
    if task.sources:
        check_sources(task.sources, task.dependencies)


def _stored(task: Task, store: Store) -> bool:
    """Return whether every table of a task is in the store."""
    return all(store.has(owner, part) for owner, part in task.wanted)


def _train(
    block: LearnTask,
    store: Store,
    device: str,
    progress: Progress,
    joint: Joint | None,
    done: int,
) -> None:
    """Train runs together, from a checkpoint if their training was interrupted."""
    model = build_model(block, device)
    if any(part == MODEL_PART for _, part in block.wanted):
        check_savable(model)  # before the training, rather than after it
    for measure in block.measures:
        # A probe that does not fit the model raises an error within seconds here,
        # rather than after hours of training.
        check_probe(measure.probe, model, block.worlds)
    often = [m for m in block.measures if m.every]
    observers = [
        Observer(m.key, partial(measure_wanted, m, block), m.every) for m in often
    ]
    # The text stands for the layout of checkpoints, so that those of earlier versions
    # with other layouts are not used.
    key = digest([block.wanted, "matrices first, state as matrices"], 20)
    with store.unfinished(key, block.wanted) as (file, saved):
        checkpoint = Checkpoint(file, key=key, saved=saved)
        checkpoint.clear_if_damaged()
        with joint(block) if joint else nullcontext() as shards:
            result = train_block(
                model,
                block,
                observers=observers,
                checkpoint=checkpoint,
                progress=lambda step: progress(done + step * len(block.runs)),
                shards=shards,
            )
        tables = {LOSSES: result.losses, **result.observed}
        tables |= {
            m.key: measure_wanted(m, block, model)
            for m in block.measures
            if not m.every
        }
        for replica, (run, parts) in enumerate(
            zip(block.runs, block.parts, strict=True)
        ):
            if MODEL_PART in parts:
                store_part(store, run, MODEL_PART, encode_model(model, replica))
        store_by_run(tables, block, store)


def _measure(block: LearnTask, store: Store, device: str) -> None:
    """Measure models whose weights are stored; models of the same shape are measured together."""
    models = [open_model(store, run) for run in block.runs]
    several = [(model, block.part([place])) for place, model in enumerate(models)]
    # Optima of one shape may differ in rank, and are then measured separately.
    with suppress(ConfigError):
        several = [(join_replicas(models), block)]
    for model, runs in several:
        model.to(device)
        tables = {m.key: measure_wanted(m, runs, model) for m in runs.measures}
        store_by_run(tables, runs, store)
