"""Records of the training loop: losses, stopped replicas, measurements, notifications.

The loop (``loop.py``) calls these functions after each update. They add rows to the
tables of a :class:`~inweights.training.checkpoint.ReplicaState`, record in this state
which replicas have stopped, and notify observers. Shapes: ``R`` replicas, ``P``
parameters of one replica.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl
import torch
from torch import Tensor

from inweights.errors import RunError
from inweights.models.base import Model
from inweights.support.keys.code import Code
from inweights.training.checkpoint import ReplicaState
from inweights.training.curriculum import Phase
from inweights.training.observers import Observer, Step
from inweights.training.steps.flat_parameters import FlatParameters
from inweights.worlds.arrays import Bool, Float

#: Columns of the table of losses. ``step`` counts over all phases.
LOSSES = {
    "phase": pl.String,
    "step": pl.Int64,
    "replica": pl.Int64,
    "loss": pl.Float64,
}


def record_running(
    losses: Float[Tensor, " R"], phase: Phase, state: ReplicaState
) -> None:
    """Record the losses of replicas that have not stopped, and stop those that diverged.

    Args:
        losses: The loss of each replica at the state's step, ``[R]``, in nats.
        phase: Phase whose name is recorded.
        state: State; one row is added to its table ``losses`` for each replica that has
            not stopped. If a loss is infinite or NaN, ``state.stopped`` is set to the
            step for this replica.
    """
    losses = losses.cpu()  # copied once, since a GPU waits for each copy
    running = state.stopped < 0
    _record(losses, running, phase, state.total, state)
    state.stopped[running & ~losses.isfinite()] = state.step


def stop_replicas(
    met: Bool[Tensor, " R"],
    losses: Float[Tensor, " R"],
    phase: Phase,
    state: ReplicaState,
    *,
    recorded: bool,
) -> None:
    """Stop the replicas that now meet the stop rule, and record their last loss.

    Replicas that have already stopped do not change.

    Args:
        met: Which replicas meet the rule, ``[R]``, on the CPU.
        losses: The loss of each replica before the last update, ``[R]``, in nats.
        phase: Phase whose name is recorded.
        state: State after the last update. For each replica that stops,
            ``state.stopped`` is set to the step of the phase, and a row is added to the
            table ``losses``.
        recorded: Whether these losses are already in the table; if so, no rows are
            added.
    """
    stopping = met & (state.stopped < 0)
    state.stopped = torch.where(stopping, state.step, state.stopped)
    if not recorded:
        _record(losses, stopping, phase, state.total - 1, state)


@torch.no_grad()
def record_end(
    losses: Float[Tensor, " R"],
    phase: Phase,
    state: ReplicaState,
    *,
    keep_diverged: bool,
) -> None:
    """Record a loss of NaN for replicas whose weights or loss are not finite after a phase.

    No row is added for other replicas. For a replica that stopped early, only the
    weights are checked, so that its rows do not depend on the other replicas.

    Args:
        losses: The last loss of each replica, ``[R]``, on the device of the state's
            values.
        phase: Phase whose name is recorded and given in the message.
        state: State after the last step of the phase; the rows are added to its table
            ``losses``.
        keep_diverged: If true, no error is raised even if every replica diverged.

    Raises:
        RunError: The last loss or the weights of every replica are infinite or NaN, and
            ``keep_diverged`` is false.
    """
    stopped = (state.stopped >= 0).to(losses.device)
    finite = state.values.isfinite().all(1) & (losses.isfinite() | stopped)
    _record(torch.full_like(losses, torch.nan), ~finite, phase, state.total, state)
    if keep_diverged or (finite & losses.isfinite()).any():
        return
    untrained = state.phase == 0 and not (state.stopped != 0).any()
    advice = "lower the rate"
    if untrained:
        advice = "make the logits of the untrained model finite"
    raise RunError(
        f"phase '{phase.name}', step {state.step}: the loss of every replica is infinite "
        f"or not a number; {advice}"
    )


def measure_due(
    model: Model,
    observers: Sequence[Observer],
    state: ReplicaState,
    *,
    done: bool,
    last: bool,
) -> None:
    """Measure the model with each observer that is due at this step, and notify all observers.

    Errors of measures and observers propagate.

    Args:
        model: Model that is measured, without gradients.
        observers: Observers. Each of them measures the model whenever the number of
            updates is a multiple of its ``every``. The method ``measured`` of all
            observers is called with each table.
        state: State; the measurements are added to its tables, with a column ``step``
            (number of updates over all phases).
        done: Whether the phase is complete. If it is not, the rows of stopped replicas
            are removed from the tables.
        last: Whether no further update follows. If so, all observers measure the model.
    """
    due = [one for one in observers if last or state.total % one.every == 0]
    measures = [(one.name, one.measure) for one in due if one.measure is not None]
    if not measures:
        return
    stopped: list[int] = []
    if not done:
        stopped = (state.stopped >= 0).nonzero().flatten().tolist()
    for name, measure in measures:
        with torch.no_grad():
            table = measure(model)
        if stopped:
            table = table.filter(~pl.col("replica").is_in(stopped))
        table = table.with_columns(pl.lit(state.total).alias("step"))
        state.tables.setdefault(name, []).append(table)
        for one in observers:
            one.measured(name, table)


def notify_step(
    observers: Sequence[Observer],
    parameters: FlatParameters,
    phase: Phase,
    total: int,
    losses: Float[Tensor, " R"],
) -> None:
    """Call the method ``step`` of the observers that are due after an update.

    Args:
        observers: Observers. Each is due whenever ``total`` is a multiple of its
            ``every``.
        parameters: Parameters and gradients; observers receive views of them.
        phase: Current phase, whose name is passed to the observers.
        total: Number of updates made over all phases, including this one.
        losses: The loss of each replica before the update, ``[R]``.
    """
    due = [one for one in observers if total % one.every == 0]
    if all(type(one).step is Observer.step for one in due):
        return  # no observer that is due overrides ``step``
    names = parameters.names
    values = [parameter.detach() for parameter in parameters.parameters]
    seen = Step(
        phase=phase.name,
        step=total,
        losses=losses,
        gradients=dict(zip(names, parameters.slots, strict=True)),
        parameters=dict(zip(names, values, strict=True)),
    )
    for one in due:
        one.step(seen)


def observer_of(code: Code) -> Observer:
    """Return an observer that runs a user's code: an instance of a class, or a wrapped function.

    Args:
        code: Reference to a subclass of :class:`~inweights.training.Observer`, or to a
            function of a :class:`~inweights.training.Step`.

    Raises:
        ConfigError: The class or function is not in an imported module, or its source
            has changed. Errors of the class propagate.
        DataError: A file on which the code depends cannot be read.
    """
    loaded = code.load()
    if isinstance(loaded, type) and issubclass(loaded, Observer):
        return loaded()
    return _FunctionObserver(loaded)


class _FunctionObserver(Observer):
    def __init__(self, function: Callable[[Step], object]) -> None:
        self._function = function

    def step(self, seen: Step) -> None:
        self._function(seen)


def _record(
    losses: Float[Tensor, " R"],
    which: Bool[Tensor, " R"],
    phase: Phase,
    step: int,
    state: ReplicaState,
) -> None:
    """Add one row per selected replica to the state's table of losses."""
    rows = which.nonzero().flatten().tolist()
    if not rows:
        return
    values = losses.tolist()
    table = {
        "phase": [phase.name] * len(rows),
        "step": [step] * len(rows),
        "replica": rows,
        "loss": [values[row] for row in rows],
    }
    state.tables["losses"].append(pl.DataFrame(table, schema=LOSSES))
