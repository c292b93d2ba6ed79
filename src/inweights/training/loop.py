"""The training loop. It reads from top to bottom.

Shapes: ``R`` replicas, ``P`` parameters of one.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial

import polars as pl
import torch
from torch import Tensor

from inweights.config import Config, to_plain
from inweights.errors import ConfigError
from inweights.models.base import Model
from inweights.models.dropout import Dropping
from inweights.seeds import as_seeds
from inweights.support.code import Code
from inweights.support.showing import Card
from inweights.training import records
from inweights.training.batches.plans import Batch, Batches
from inweights.training.batches.worlds import as_worlds
from inweights.training.checkpoint import Checkpoint, ReplicaState
from inweights.training.curriculum import Curriculum, Phase
from inweights.training.learners import named_for
from inweights.training.observers import Observer, telling
from inweights.training.shards import Shards
from inweights.training.steps.captured import CapturedUpdate, Update, can_capture
from inweights.training.steps.editing import Edited
from inweights.training.steps.flat_parameters import FlatParameters
from inweights.training.steps.losses import Loss
from inweights.training.steps.machine import flushed_denormals, keep_memory
from inweights.training.steps.optimizers import build_optimizer, load_state, state_of
from inweights.training.steps.own_loss import OwnLoss
from inweights.training.steps.own_optimizer import OwnOptimizer
from inweights.training.steps.recorded import Losses, RecordedLosses
from inweights.worlds.world import Worlds

#: Recording the kernels of a step takes about as long as twenty steps.
MOST_STEPS_AS_EVER = 50
#: Parameters times tokens of a step above which kernels take so long that Python does not count,
#: while a recording holds all intermediate results at once.
MOST_WORK_RECORDED = 2**33


@dataclass(frozen=True)
class Result:
    """What training leaves.

    Attributes:
        losses: ``phase, step, replica, loss`` at the cadence of ``every``, and where a replica
            stopped. Steps count over all phases, each at its full length, so that a replica's rows
            are the same alone and among others, which may stop later.
        observed: The table of every observer, with a column ``step`` of the same count.
        stopped: Step of the last phase at which each replica met the stop rule or diverged; -1
            where it ran through.
    """

    losses: pl.DataFrame
    observed: dict[str, pl.DataFrame] = field(default_factory=dict)
    stopped: tuple[int, ...] = ()

    def _repr_html_(self) -> str:
        last = self.losses.group_by("replica", maintain_order=True).last()
        rows = last.select("replica", "phase", "step", "loss")
        return Card(
            "Result", {"observed": ", ".join(self.observed)}, rows.columns, rows.rows()
        ).html


def train(
    model: Model,
    worlds: Worlds,
    curriculum: Curriculum | Sequence[Curriculum] | None = None,
    *,
    seeds: int | Sequence[int],
    every: int = 20,
    observers: Sequence[Observer] = (),
    checkpoint: Checkpoint | None = None,
    progress: Callable[[int], None] | None = None,
    shards: Shards | None = None,
    cuda_graph: bool | None = None,
    keep_diverged: bool = False,
) -> Result:
    """Train every replica of ``model`` in place, as one tensor program.

    A replica whose loss is found to be infinite or not a number stands still from there on.

    Args:
        model: ``R`` replicas.
        worlds: One world for all, or one a replica.
        curriculum: One for all, or one a replica; they may differ in rate and decay. Left out, it
            is :func:`~inweights.training.learners.named_for` of the world and the model.
        seeds: Root seed of each replica; decides its data order. A number counts them from 0.
        every: Steps between two records of the loss.
        observers: Who is told of each step, and what else is measured on the way.
        checkpoint: Where the state is kept; a stored state is resumed.
        progress: Called with the number of steps done.
        shards: This process's share, where several train one model together, each of them with
            the same arguments; only the first of them looks and keeps checkpoints.
        cuda_graph: Whether a step is captured once and replayed, on a GPU. By default where it can
            be: a model of the library, alone, without dropout, noise or code of one's own.
        keep_diverged: Whether it is no error that every replica diverged, as of some.

    Raises:
        ConfigError: Curricula differ in more than rate and decay, seeds do not fit, a phase names
            a parameter that is not there, moves none, or edits what the model lacks, or the model
            has dropout and its steps are to be shared or captured.
        DataError: A phase names or edits facts that the world lacks.
        RunError: The loss of every replica became infinite or not a number.

    Example:
        >>> import inweights as iw
        >>> world = iw.TwoHop(n=4).build()
        >>> model = iw.EmbMLPConfig().build(vocabulary=len(world.vocabulary), seeds=[0, 1])
        >>> result = train(model, world, Curriculum(), seeds=[0, 1])
        >>> result.losses.columns
        ['phase', 'step', 'replica', 'loss']
    """
    each = as_worlds(worlds, model)
    replicas, seeds = model.replicas, as_seeds(seeds)
    if every < 1:
        raise ConfigError(f"the interval of recorded losses must be at least 1, got {every}")
    if len(seeds) != replicas:
        raise ConfigError(f"{replicas} replicas need as many seeds, got {len(seeds)}")
    plans = _plans(named_for(each[0], model) if curriculum is None else curriculum, replicas)
    flat, dropping = FlatParameters(model), Dropping(model, seeds)
    indivisible = _indivisible(plans[0], dropping)
    if cuda_graph is None:
        cuda_graph = not (shards or indivisible) and can_capture(model)
    if indivisible and (shards or cuda_graph):
        raise ConfigError(indivisible)
    columns = None
    if shards:
        checkpoint, columns = shards.keep(checkpoint), shards.columns(flat.values.shape[1])
        observers = () if shards.rank else observers
    for phase in plans[0].phases:
        flat.moving(phase.moves, phase.freezes)  # what no phase may do is found before the first
    edits = [Edited(model, worlds, p.edit) if p.edit else None for p in plans[0].phases]
    state = checkpoint.read(flat.values.device) if checkpoint else None
    about = {"steps": plans[0].steps, "seeds": list(seeds), "learner": to_plain(plans[0])}
    if isinstance(config := getattr(model, "config", None), Config):
        about["model"] = to_plain(config)

    with telling(observers, about) as tables, ExitStack() as stack:
        fresh = state is None
        state = state or ReplicaState(
            phase=0,
            step=0,
            total=0,
            values=flat.values,
            stopped=torch.full((replicas,), -1),
            tables={"losses": [pl.DataFrame(schema=records.LOSSES)]},
        )
        if fresh:
            records.measure_due(model, observers, state, done=True, last=not plans[0].steps)
        flat.values.copy_(state.values)
        state.values = flat.values

        keep_memory()
        stack.enter_context(flushed_denormals())
        while state.phase < len(plans[0].phases):
            phases = [plan.phases[state.phase] for plan in plans]
            phase = phases[0]
            batches = Batches(model, each, phase, seeds, state.phase)
            own = isinstance(phase.loss, Code) or phase.penalty is not None
            loss = OwnLoss(model, phase, state) if own else Loss(model, phase.precision)
            moving = flat.moving(phase.moves, phase.freezes)
            settings = [p.optimizer for p in phases]
            optimizer: torch.optim.Optimizer | OwnOptimizer
            if isinstance(phase.optimizer.kind, Code):
                optimizer = OwnOptimizer(flat, settings, moving)
                load, stored = optimizer.load, optimizer.state
            else:
                optimizer = build_optimizer(flat, settings, moving, columns)
                load = partial(load_state, optimizer, flat)
                stored = partial(state_of, optimizer, flat)
            rates = [group["lr"] for group in optimizer.param_groups]
            load(state.optimizer)
            seeing = [records.told_by(code) for code in phase.observers]

            shake = partial(_shake, flat, phase, seeds, state) if phase.optimizer.noise else None
            losses_of: Losses = partial(_losses, loss, flat, moving)
            if isinstance(loss, Loss) and _recordable(flat, batches, phase, dropping):
                losses_of = RecordedLosses(losses_of, flat.gradients)
            update: Update = partial(_update, losses_of, flat, optimizer, shards, shake)
            if cuda_graph and not isinstance(optimizer, OwnOptimizer):
                update = CapturedUpdate(update, optimizer, flat.values.device)
            still = records.standing_still(state, flat)

            if (edit := edits[state.phase]) and not state.step:
                edit.apply()
                last = not any(p.steps for p in plans[0].phases[state.phase :])
                records.measure_due(model, observers, state, done=True, last=last)
            while state.step < phase.steps:
                factor = phase.schedule.factor(state.step, phase.steps)
                for group, rate in zip(optimizer.param_groups, rates, strict=True):
                    group["lr"] = rate * factor
                kept = flat.values[still] if len(still) else None
                batch = batches.at(state.step)
                with dropping.at(state.phase, state.step):
                    losses = update(shards.part(batch) if shards else batch)  # [R]
                records.tell_step(seeing, flat, phase, state.total + 1, losses)
                if kept is not None:
                    flat.values[still] = kept  # a replica that has stopped stands still

                going = state.stopped < 0
                recorded = state.total % every == 0
                if recorded:
                    seen = losses.cpu()  # once: a GPU waits for each copy
                    records.record(seen, going, phase, state)
                    state.stopped[going & ~seen.isfinite()] = state.step
                state.step += 1
                state.total += 1
                records.tell_step(observers, flat, phase, state.total, losses)

                asked = not phase.stop.never and state.step % phase.stop.every == 0
                if asked:
                    records.mark_stopped(model, each, batches, phase, losses, state)
                    if not recorded:
                        records.record(losses, going & (state.stopped >= 0), phase, state, ago=1)
                if recorded or asked:
                    still = records.standing_still(state, flat)
                done = state.step == phase.steps or len(still) == replicas
                if done:
                    state.total += phase.steps - state.step
                    records.record_end(losses, flat.values, phase, state, refused=not keep_diverged)
                last = done and not any(p.steps for p in plans[0].phases[state.phase + 1 :])
                records.measure_due(model, observers, state, done=done, last=last)
                if progress:
                    progress(state.total)
                if checkpoint and not done and checkpoint.due(state.total):
                    state.optimizer = stored()
                    if shards:
                        shards.gather(state.optimizer)
                    checkpoint.write(state)
                if done:
                    break

            last_stopped = state.stopped
            state.phase, state.step, state.optimizer = state.phase + 1, 0, {}
            state.stopped = torch.full((replicas,), -1)
        flat.release()
        tables.update({name: pl.concat(frames) for name, frames in state.tables.items()})
    observed = {name: table for name, table in tables.items() if name != "losses"}
    return Result(losses=tables["losses"], observed=observed, stopped=tuple(last_stopped.tolist()))


def _plans(curriculum: Curriculum | Sequence[Curriculum], replicas: int) -> list[Curriculum]:
    plans = [curriculum] * replicas if isinstance(curriculum, Curriculum) else list(curriculum)
    if len(plans) != replicas:
        raise ConfigError(
            f"give one curriculum, or one for each of {replicas} replicas, got {len(plans)}"
        )
    if any(plan.shape != plans[0].shape for plan in plans):
        raise ConfigError(
            "curricula that train as one program may differ in rate and decay only; train the "
            "others separately"
        )
    return plans


def _losses(
    loss: Loss | OwnLoss, flat: FlatParameters, moving: Sequence[int], batch: Batch
) -> Tensor:
    """Return the loss of each replica, ``[R]``, and write its gradient."""
    losses = loss(batch)
    flat.backward(losses.sum(), moving)
    return losses.detach()


def _update(
    losses_of: Losses,
    flat: FlatParameters,
    optimizer: torch.optim.Optimizer | OwnOptimizer,
    shards: Shards | None,
    shake: Callable[[], None] | None,
    batch: Batch,
) -> Tensor:
    """Move the parameters once, and return the loss of each replica before that, ``[R]``."""

    def computed() -> Tensor:
        losses = losses_of(batch)
        if shake:
            shake()
        return losses

    losses = computed()
    if shards:
        shards.reduce(losses, flat.gradients)
    if isinstance(optimizer, OwnOptimizer):
        optimizer.step(computed)
    else:
        optimizer.step()
    if shards:
        shards.gather({"values": flat.values})
    return losses


def _indivisible(plan: Curriculum, dropping: Dropping) -> str:
    """Why steps can be neither divided among processes nor captured; empty where they can."""
    why = "so its steps can be neither divided among processes nor captured"
    drawn = "dropout" * dropping.drops or "gradient noise" * any(
        phase.optimizer.noise > 0 for phase in plan.phases
    )
    if drawn:
        return f"{drawn} is drawn for whole batches on the CPU, {why}; set it to 0"
    for phase in plan.phases:
        if phase.own:
            return (
                f"phase '{phase.name}' has {phase.own} of your own, called by Python for whole "
                f"replicas, {why}; leave out --on torchrun and cuda_graph"
            )
    return ""


def _recordable(flat: FlatParameters, batches: Batches, phase: Phase, dropping: Dropping) -> bool:
    """Whether a phase has so many steps, and so short ones, that a recording is worth it."""
    work = flat.values.numel() * batches.tokens
    fitting = phase.steps >= MOST_STEPS_AS_EVER and work <= MOST_WORK_RECORDED
    return fitting and flat.values.device.type == "cpu" and not dropping.drops


def _shake(flat: FlatParameters, phase: Phase, seeds: Sequence[int], state: ReplicaState) -> None:
    flat.add_noise(phase.optimizer.noise, seeds, state.phase, state.step)
