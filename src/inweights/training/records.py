"""What is noted while replicas train: losses, which of them stand still, and what is measured.

Shapes: ``R`` replicas, ``P`` parameters of one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl
import torch
from torch import Tensor

from inweights.errors import RunError
from inweights.models.base import Model
from inweights.support.code import Code
from inweights.training.batches.plans import Batches
from inweights.training.checkpoint import ReplicaState
from inweights.training.curriculum import Phase
from inweights.training.observers import Observer, Step
from inweights.training.scoring import answer_blocks, answers_of
from inweights.training.steps.flat_parameters import FlatParameters
from inweights.worlds.arrays import Bool, Float, Int
from inweights.worlds.world import World

LOSSES = {"phase": pl.String, "step": pl.Int64, "replica": pl.Int64, "loss": pl.Float64}


def standing_still(state: ReplicaState, flat: FlatParameters) -> Int[Tensor, " _"]:
    """Rows of the replicas that have stopped, on the device of the parameters."""
    return (state.stopped >= 0).nonzero().flatten().to(flat.values.device)


def record(
    losses: Float[Tensor, " R"],
    which: Bool[Tensor, " R"],
    phase: Phase,
    state: ReplicaState,
    ago: int = 0,
) -> None:
    """Record the losses of some replicas, those of so many steps ago."""
    values, rows = losses.tolist(), which.nonzero().flatten().tolist()
    if rows:
        table = {
            "phase": [phase.name] * len(rows),
            "step": [state.total - ago] * len(rows),
            "replica": rows,
            "loss": [values[row] for row in rows],
        }
        state.tables["losses"].append(pl.DataFrame(table, schema=LOSSES))


@torch.no_grad()
def record_end(
    losses: Float[Tensor, " R"],
    values: Float[Tensor, "R P"],
    phase: Phase,
    state: ReplicaState,
    *,
    refused: bool,
) -> None:
    """Record replicas that a phase leaves without finite weights, whenever the loss was last.

    What is finite gets no row more, and of what stood still only the weights are looked at, so that
    the table is the same alone and in company.
    """
    finite = values.isfinite().all(1) & (losses.isfinite() | (state.stopped >= 0).to(losses.device))
    record(torch.full_like(losses, torch.nan), ~finite, phase, state)
    if refused and not (finite & losses.isfinite()).any():
        untrained = state.phase == 0 and not (state.stopped != 0).any()
        what = "make the logits of the untrained model finite" if untrained else "lower the rate"
        raise RunError(
            f"phase '{phase.name}', step {state.step}: the loss of every replica is infinite "
            f"or not a number; {what}"
        )


@torch.no_grad()
def mark_stopped(
    model: Model,
    worlds: Sequence[World],
    batches: Batches,
    phase: Phase,
    losses: Float[Tensor, " R"],
    state: ReplicaState,
) -> None:
    """Mark the replicas that meet the phase's stop rule."""
    met = torch.zeros(model.replicas, dtype=torch.bool)
    if phase.stop.loss_below is not None:
        met |= losses.cpu() < phase.stop.loss_below
    if phase.stop.accuracy is not None:
        answers = answers_of(model, worlds, "facts", batches.facts)
        right = torch.zeros_like(answers, dtype=torch.bool)
        for rows, logits in answer_blocks(model, worlds, "facts", batches.facts):
            right[:, rows] = logits.argmax(-1) == answers[:, rows]
        met |= right.float().mean(1).cpu() >= phase.stop.accuracy
    state.stopped = torch.where(met & (state.stopped < 0), state.step, state.stopped)


def measure_due(
    model: Model, observers: Sequence[Observer], state: ReplicaState, *, done: bool, last: bool
) -> None:
    """Measure what is due; within a phase only of replicas that do not stand still."""
    still = [] if done else (state.stopped >= 0).nonzero().flatten().tolist()
    for observer in observers:
        if observer.measure and (state.total % observer.every == 0 or last):
            with torch.no_grad():
                table = observer.measure(model)
            if still:
                table = table.filter(~pl.col("replica").is_in(still))
            stamped = table.with_columns(pl.lit(state.total).alias("step"))
            state.tables.setdefault(observer.name, []).append(stamped)
            for one in observers:
                one.measured(observer.name, stamped)


def tell_step(
    observers: Sequence[Observer],
    flat: FlatParameters,
    phase: Phase,
    total: int,
    losses: Float[Tensor, " R"],
) -> None:
    """Tell those who want to know of this update."""
    told = [one for one in observers if total % one.every == 0]
    if any(type(one).step is not Observer.step for one in told):
        parameters = {n: p.detach() for n, p in zip(flat.names, flat.parameters, strict=True)}
        gradients = dict(zip(flat.names, flat.slots, strict=True))
        seen = Step(phase.name, total, losses, gradients, parameters)
        for one in told:
            one.step(seen)


def told_by(code: Code) -> Observer:
    """Return the observer that a phase names: of a class, or with a function as its step."""
    thing = code.load()
    if isinstance(thing, type) and issubclass(thing, Observer):
        return thing()
    return _Function(thing)


class _Function(Observer):
    def __init__(self, function: Callable[[Step], object]) -> None:
        self._function = function

    def step(self, seen: Step) -> None:
        self._function(seen)
