"""The training loop. It reads from top to bottom.

Shapes: ``R`` replicas, ``P`` parameters of one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import polars as pl
import torch
from torch import Tensor

from inweights.errors import ConfigError, RunError
from inweights.models.base import Model
from inweights.models.dropout import Dropping
from inweights.seeds import as_seeds
from inweights.training.batches import Batches
from inweights.training.checkpoint import Checkpoint, ReplicaState
from inweights.training.curriculum import Curriculum, Phase
from inweights.training.flat_parameters import FlatParameters, build_optimizer
from inweights.training.losses import Loss
from inweights.training.machine import flushed_denormals, keep_memory
from inweights.training.scoring import answer_logits, answers_of
from inweights.training.worlds import as_worlds
from inweights.worlds.world import World

__all__ = ["Observer", "Result", "train"]


@dataclass(frozen=True)
class Observer:
    """Something measured while training: at the start, each ``every`` steps, and at the end.

    Attributes:
        name: Name of the table.
        measure: Returns a table with a column ``replica``.
        every: Steps between two measurements.
    """

    name: str
    measure: Callable[[Model], pl.DataFrame]
    every: int


@dataclass(frozen=True)
class Result:
    """What training leaves.

    Attributes:
        losses: ``phase, step, replica, loss`` at the cadence of ``every``.
        observed: The table of every observer, with a column ``step`` counted over all phases.
        stopped: Step of the last phase at which each replica stopped; -1 where it ran through.
    """

    losses: pl.DataFrame
    observed: dict[str, pl.DataFrame] = field(default_factory=dict)
    stopped: tuple[int, ...] = ()


def train(
    model: Model,
    worlds: World | Sequence[World],
    curriculum: Curriculum | Sequence[Curriculum],
    *,
    seeds: int | Sequence[int],
    every: int = 20,
    observers: Sequence[Observer] = (),
    checkpoint: Checkpoint | None = None,
    progress: Callable[[int], None] | None = None,
) -> Result:
    """Train every replica of ``model`` in place, as one tensor program.

    Args:
        model: ``R`` replicas.
        worlds: One world for all, or one a replica.
        curriculum: One for all, or one a replica; they may differ in rate and decay.
        seeds: Root seed of each replica; decides its data order. A number counts them from 0.
        every: Steps between two records of the loss.
        observers: What else is measured while training.
        checkpoint: Where the state is kept; a stored state is resumed.
        progress: Called with the number of steps done.

    Raises:
        ConfigError: Curricula differ in more than rate and decay, seeds do not fit, or a
            phase names a parameter that is not there, or moves none.
        DataError: A phase names facts that the world lacks.
        RunError: The loss of every replica became infinite or not a number.

    Example:
        >>> from inweights.models import EmbMLPConfig
        >>> from inweights.worlds import TwoHop
        >>> world = TwoHop(n=4).build()
        >>> model = EmbMLPConfig().build(vocabulary=len(world.vocabulary), seeds=[0, 1])
        >>> result = train(model, world, Curriculum(), seeds=[0, 1])
        >>> result.losses.columns
        ['phase', 'step', 'replica', 'loss']
    """
    replicas, seeds = model.replicas, as_seeds(seeds)
    if every < 1:
        raise ConfigError(f"the loss is recorded every so many steps, at least 1, not {every}")
    if len(seeds) != replicas:
        raise ConfigError(f"{replicas} replicas need as many seeds, not {len(seeds)}")
    each = as_worlds(worlds, model)
    plans = _plans(curriculum, replicas)
    flat, dropping = FlatParameters(model), Dropping(model, seeds)
    for phase in plans[0].phases:
        flat.moving(phase.moves, phase.freezes)  # what no phase may do is found before the first
    state = checkpoint.read(flat.values.device) if checkpoint else None
    if state is None:
        state = ReplicaState(
            phase=0,
            step=0,
            total=0,
            values=flat.values,
            stopped=torch.full((replicas,), -1),
            tables={"losses": []},
        )
        _observe(model, observers, state, last=False)
    else:
        flat.values.copy_(state.values)
        state.values = flat.values

    keep_memory()
    with flushed_denormals():
        while state.phase < len(plans[0].phases):
            phases = [plan.phases[state.phase] for plan in plans]
            phase = phases[0]
            batches = Batches(model, each, phase, seeds, state.phase)
            loss = Loss(model, phase.precision)
            moving = flat.moving(phase.moves, phase.freezes)
            optimizer = build_optimizer(flat, [p.optimizer for p in phases], moving)
            _load_optimizer(optimizer, state.optimizer)

            while state.step < phase.steps:
                batch = batches.at(state.step)
                with dropping.at(state.phase, state.step):
                    losses = loss(batch)  # [R]
                flat.backward(losses.sum(), moving)
                if share := phase.optimizer.noise:
                    flat.add_noise(share, seeds, state.phase, state.step)

                factor = phase.schedule.factor(state.step, phase.steps)
                for group in optimizer.param_groups:
                    group["lr"] = group["initial_rate"] * factor
                still = (state.stopped >= 0).nonzero().flatten()
                kept = flat.values[still]
                optimizer.step()
                if len(still):
                    flat.values[still] = kept  # a replica that has stopped stands still

                if state.total % every == 0:
                    state.tables["losses"].append(_record(losses, phase, state))
                    _refuse_divergence(losses, phase, state)
                state.step += 1
                state.total += 1

                if not phase.stop.never and state.step % phase.stop.every == 0:
                    _stop(model, each, batches, phase, losses, state)
                done = state.step == phase.steps or bool((state.stopped >= 0).all())
                if done:
                    _record_divergence(losses, flat.values, phase, state)
                _observe(
                    model, observers, state, last=done and state.phase + 1 == len(plans[0].phases)
                )
                if progress:
                    progress(state.total)
                if checkpoint and not done and checkpoint.due(state.total):
                    state.optimizer = _optimizer_state(optimizer)
                    checkpoint.write(state)
                if done:
                    break

            last_stopped = state.stopped
            state.phase, state.step, state.optimizer = state.phase + 1, 0, {}
            state.stopped = torch.full((replicas,), -1)
    flat.release()

    tables = {name: pl.concat(frames) for name, frames in state.tables.items()}
    return Result(
        losses=tables.pop("losses"), observed=tables, stopped=tuple(last_stopped.tolist())
    )


def _plans(curriculum: Curriculum | Sequence[Curriculum], replicas: int) -> list[Curriculum]:
    plans = [curriculum] * replicas if isinstance(curriculum, Curriculum) else list(curriculum)
    if len(plans) != replicas:
        raise ConfigError(f"give one curriculum, or one for each of {replicas}, not {len(plans)}")
    if any(plan.shape != plans[0].shape for plan in plans):
        raise ConfigError(
            "curricula that train as one program differ in rate and decay only; "
            "train the others apart"
        )
    return plans


def _record(losses: Tensor, phase: Phase, state: ReplicaState) -> pl.DataFrame:
    values = losses.tolist()
    return pl.DataFrame(
        {
            "phase": [phase.name] * len(values),
            "step": [state.total] * len(values),
            "replica": range(len(values)),
            "loss": values,
        }
    )


def _refuse_divergence(losses: Tensor, phase: Phase, state: ReplicaState) -> None:
    if not losses.isfinite().any():
        raise RunError(
            f"phase '{phase.name}', step {state.step}: the loss of every replica is infinite "
            "or not a number; lower the rate"
        )


@torch.no_grad()
def _record_divergence(losses: Tensor, values: Tensor, phase: Phase, state: ReplicaState) -> None:
    """Record replicas that a phase leaves without finite weights, whenever the loss was last.

    What is finite gets no row more, so that its table is the same alone and in company.
    """
    finite = losses.isfinite() & values.isfinite().all(1)
    if not finite.all():
        ends = _record(torch.where(finite, losses, torch.nan), phase, state)
        state.tables["losses"].append(ends.filter(~pl.col("loss").is_finite()))
        _refuse_divergence(torch.where(finite, losses, torch.nan), phase, state)


@torch.no_grad()
def _stop(
    model: Model,
    worlds: Sequence[World],
    batches: Batches,
    phase: Phase,
    losses: Tensor,
    state: ReplicaState,
) -> None:
    """Mark the replicas that meet the phase's stop rule."""
    met = torch.zeros(model.replicas, dtype=torch.bool)
    if phase.stop.loss_below is not None:
        met |= losses.cpu() < phase.stop.loss_below
    if phase.stop.accuracy is not None:
        predicted = answer_logits(model, worlds, "facts", batches.facts).argmax(-1)
        right = predicted == answers_of(model, worlds, "facts", batches.facts)
        met |= right.float().mean(1).cpu() >= phase.stop.accuracy
    state.stopped = torch.where(met & (state.stopped < 0), state.step, state.stopped)


def _observe(
    model: Model, observers: Sequence[Observer], state: ReplicaState, *, last: bool
) -> None:
    for observer in observers:
        if state.total % observer.every == 0 or last:
            with torch.no_grad():
                table = observer.measure(model)
            stamped = table.with_columns(pl.lit(state.total).alias("step"))
            state.tables.setdefault(observer.name, []).append(stamped)


def _optimizer_state(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    return {
        f"{index}/{name}": value
        for index, values in optimizer.state_dict()["state"].items()
        for name, value in values.items()
        if isinstance(value, Tensor)
    }


def _load_optimizer(optimizer: torch.optim.Optimizer, stored: dict[str, Tensor]) -> None:
    for group in optimizer.param_groups:
        group["initial_rate"] = group["lr"]
    if not stored:
        return
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in stored.items():
        index, name = key.split("/")
        state.setdefault(int(index), {})[name] = value
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
