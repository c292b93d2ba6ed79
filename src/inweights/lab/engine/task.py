"""Does a task: lets models learn, looks at them, and stores a table for each run and measure."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import torch
from threadpoolctl import threadpool_limits

from inweights.config import digest, identity
from inweights.errors import ConfigError, InweightsError, RunError
from inweights.lab.engine.job import Job, from_wire, installed_version, open_store
from inweights.lab.engine.plan import (
    MODEL,
    RECORDS,
    ComputeTask,
    Run,
    Task,
    at_the_end,
    measure_key,
)
from inweights.lab.engine.schedule import End, kept_log
from inweights.lab.engine.together import Member, blocks_of, build_model, open_model, train_runs
from inweights.lab.grammar.trial import Measure
from inweights.models.base import Model
from inweights.models.save import check_savable, encode_model, join_replicas
from inweights.probes.needs import check_probe
from inweights.runs.tables.lease import LostError
from inweights.runs.tables.store import MODEL_PART, Store
from inweights.support.plugins import load_plugins
from inweights.support.sources import check_sources, sources_of
from inweights.training import Checkpoint, Observer
from inweights.training.learner import Curriculum, Optimum
from inweights.training.shards import Shards
from inweights.worlds.world import World

Progress = Callable[[int], None]
#: Has other processes train runs that this one trains meanwhile, each its share.
Joint = Callable[[Sequence[Run]], AbstractContextManager[Shards]]


def attempt(
    task: Task, store: Store, device: str, progress: Progress, joint: Joint | None = None
) -> End:
    """Try a task, and say how that ended; what is raised on purpose or by accident is told."""
    try:
        if _stored(task, store):  # by another process, in the meantime: no lock is needed to see it
            return End("done")
        with store.lock(task.key) as hold:
            if hold is None:
                return End("busy")

            def held(step: int) -> None:
                hold.check()
                progress(step)

            work_on(task, store, device, held, joint)
    except LostError:
        return End("busy")
    except InweightsError as error:
        return End("failed", type(error).__name__, str(error))
    except Exception as error:  # noqa: BLE001  # somebody's probe, or the memory
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}, line {place.lineno}"
        text = f"{task.title}: {type(error).__name__}: {error} ({where})"
        return End("memory" if _is_memory(error) else "failed", message=text)
    return End("done")


def attempt_sent(job: Job, line: str, progress: Progress) -> End:
    """Try a task that another process sent as JSON; see :func:`attempt`."""
    try:
        if job.version != (here := installed_version()):
            raise ConfigError(
                f"this machine has inweights {here}, but the task was sent by {job.version}; "
                "install that version everywhere"
            )
        load_plugins(job.plugins)
        task = from_wire(msgspec.json.decode(line), job.plugins)
    except InweightsError as error:
        return End("failed", type(error).__name__, str(error))
    with use_threads(job.threads), kept_log(job.log) as lines:
        end = attempt(task, open_store(job), job.device, progress)
    return msgspec.structs.replace(end, log=tuple(lines))


def _is_memory(error: Exception) -> bool:
    """Whether the memory was full; torch says so of a CPU in an error without a class."""
    allocator = isinstance(error, RuntimeError) and "DefaultCPUAllocator" in str(error)
    return allocator or isinstance(error, MemoryError | torch.OutOfMemoryError)


def work_on(
    task: Task, store: Store, device: str, progress: Progress, joint: Joint | None = None
) -> None:
    """Do a task and store its tables."""
    if _stored(task, store):
        return  # by who held it until just now
    if isinstance(task, ComputeTask):
        one = task.computation
        if one.together:
            table = one.compute(**one.options, seeds=[seed for _, seed in task.members])
            made = [(k, table.filter(seed=seed).drop("seed")) for k, seed in task.members]
        else:
            options = {**one.options, "seed": task.seed} if one.seeded else one.options
            made = [(task.key, one.compute(**options))]
        _check(task)
        for key, rows in made:
            store.write(key, "table", rows)
        return
    done = 0
    for members in blocks_of(task, device):
        _check(task)  # by now all worlds are built
        learner = members[0][0].trial.learner
        if at_the_end(task.measures) and all(store.has(m[0].key, MODEL_PART) for m in members):
            _measure(members, task.measures, store, device)
        elif isinstance(learner, Curriculum):
            _train(members, task.measures, store, device, partial(_add, progress, done), joint)
        else:
            for run, parts, world in members:
                asked = [m for m in task.measures if measure_key(m) in parts]
                _derive(run, world, learner, asked, store)
        done += learner.steps * len(members)
        progress(done)


def _check(task: Task) -> None:
    """Refuse a task whose files or code are not those that its keys were made of."""
    if task.sources:
        check_sources(task.sources, task.stands_on)


def _stored(task: Task, store: Store) -> bool:
    return all(store.has(owner, part) for owner, part in task.wanted)


def _add(progress: Progress, before: int, done: int) -> None:
    progress(before + done)


def _train(
    members: Sequence[Member],
    measures: Sequence[Measure],
    store: Store,
    device: str,
    progress: Progress,
    joint: Joint | None,
) -> None:
    """Train runs as one program; an interrupted training goes on from its checkpoint."""
    runs, worlds = [run for run, _, _ in members], [world for _, _, world in members]
    model = build_model(runs, worlds, device)
    if MODEL in measures:
        check_savable(model)  # before it trains, not after
    looks = [m for m in measures if m not in RECORDS.values()]
    for measure in looks:
        check_probe(measure.probe, model, worlds)
    observers = [
        Observer(measure_key(m), partial(_look_at_wanted, m, members), m.every)
        for m in looks
        if m.every
    ]
    wanted = [(run.key, part) for run, parts, _ in members for part in parts]
    # The last part says what the columns of a checkpoint are: an earlier one had another order.
    key = digest(
        [wanted, [measure_key(m) for m in measures], "matrices first, state as matrices"], 20
    )
    with store.unfinished(key, wanted) as (file, saved):
        checkpoint = Checkpoint(file, key=key, saved=saved)
        checkpoint.clear_if_damaged()
        with joint(runs) if joint else nullcontext() as shards:
            result = train_runs(
                model,
                runs,
                worlds,
                observers=observers,
                checkpoint=checkpoint,
                progress=lambda step: progress(step * len(runs)),
                shards=shards,
            )
        tables = {"losses": result.losses, **result.observed}
        for measure in looks:
            if not measure.every:
                tables[measure_key(measure)] = _look_at_wanted(measure, members, model)
        for replica, (run, parts, _) in enumerate(members):
            if MODEL_PART in parts:
                _keep(store, run, model, replica)
        _share_out(tables, members, store)


def _measure(
    members: Sequence[Member], measures: Sequence[Measure], store: Store, device: str
) -> None:
    models = [open_model(store, run) for run, _, _ in members]
    blocks = [(model, [one]) for model, one in zip(models, members, strict=True)]
    with suppress(ConfigError):  # optima of one shape may differ in rank
        blocks = [(join_replicas(models), list(members))]
    for model, those in blocks:
        model.to(device)
        tables = {measure_key(m): _look_at_wanted(m, those, model) for m in measures}
        _share_out(tables, those, store)


def _look_at_wanted(measure: Measure, members: Sequence[Member], model: Model) -> pl.DataFrame:
    """Measure the runs of which it is asked: what is filmed of a first seed is not of all."""
    worlds, part = [world for _, _, world in members], measure_key(measure)
    rows = [row for row, (_, parts, _) in enumerate(members) if part in parts]
    if rows and len(rows) < len(members):
        with suppress(ConfigError):  # a model of one's own may have no config
            few = model.select(rows)
            table = look(measure, [worlds[row] for row in rows], few)
            whose = pl.Series(rows, dtype=table["replica"].dtype)
            return table.with_columns(whose.gather(table["replica"]).alias("replica"))
    return look(measure, worlds, model)


def look(measure: Measure, worlds: Sequence[World], model: Model) -> pl.DataFrame:
    """Measure a model, a replica a world."""
    try:
        table: pl.DataFrame = measure.probe(model, worlds, **measure.options)
    except Exception as error:
        if all(values.isfinite().all() for values in model.parameters()):
            raise
        raise RunError(
            f"runs diverged, and '{measure.name}' cannot measure weights that are not finite "
            f"({error}); lower the rate"
        ) from error
    return table


def _share_out(tables: Mapping[str, pl.DataFrame], members: Sequence[Member], store: Store) -> None:
    for replica, (run, parts, _) in enumerate(members):
        for part in parts:
            if part != MODEL_PART:
                own = tables[part].filter(pl.col("replica") == replica).drop("replica")
                _store(store, run, part, own)


def _derive(
    run: Run, world: World, learner: Any, measures: Sequence[Measure], store: Store
) -> None:
    """Look at a model that a descent or a program leads to; one way serves all that look alike."""
    for every in dict.fromkeys(measure.every for measure in measures):
        looks = [m for m in measures if m.every == every]
        frames: dict[str, list[pl.DataFrame]] = {}
        for step, model in _models(run, world, learner, every):
            for measure in looks:
                if measure == MODEL:
                    _keep(store, run, model, 0)
                    continue
                table = measure.probe(model, world, **measure.options).drop("replica")
                stamped = table.with_columns(step=pl.lit(step)) if every else table
                frames.setdefault(measure_key(measure), []).append(stamped)
        for part, tables in frames.items():
            _store(store, run, part, pl.concat(tables))


def _models(run: Run, world: World, learner: Any, every: int) -> Iterator[tuple[int, Model]]:
    if isinstance(learner, Optimum):
        yield 0, learner.learn(world)
    elif hasattr(learner, "models"):
        yield from learner.models(world, run.trial.model, run.seed, every)
    elif every:
        raise ConfigError(
            f"{type(learner).__name__} gives its finished model alone; measure without 'every'"
        )
    else:
        yield 0, learner.learn(world, run.trial.model, run.seed)


def _store(store: Store, run: Run, part: str, table: pl.DataFrame) -> None:
    _describe(store, run)
    store.write(run.key, part, table)


def _keep(store: Store, run: Run, model: Model, replica: int) -> None:
    _describe(store, run)
    store.write_model(run.key, encode_model(model, replica))


def _describe(store: Store, run: Run) -> None:
    trial = run.trial
    parts = {name: getattr(trial, name) for name in ("world", "model", "learner")}
    about = {name: identity(part) for name, part in parts.items()} | {"seed": run.seed}
    if sources := sources_of(parts):
        about["sources"] = sources
    store.describe(run.key, about)


@contextmanager
def use_threads(threads: int) -> Iterator[None]:
    """Let torch and the linear algebra of NumPy use so many threads for a while."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with threadpool_limits(threads, user_api="blas"):
            yield
    finally:
        torch.set_num_threads(before)
