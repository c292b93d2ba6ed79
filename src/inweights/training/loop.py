"""The training loop, :func:`train`: it moves every replica of a model through all phases.

It reads from top to bottom. Arguments are checked in ``setup.py``, ``phase_update.py``
makes one update, ``records.py`` notes losses and measurements, and ``checkpoint.py``
stores the state. Shapes: ``R`` replicas, ``P`` parameters of one replica.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import polars as pl

from inweights.errors import ConfigError
from inweights.models.base import Model
from inweights.support.showing import Card
from inweights.training import records
from inweights.training.checkpoint import Checkpoint
from inweights.training.curriculum import Curriculum
from inweights.training.observers import Observer, telling
from inweights.training.phase_update import PhaseUpdate
from inweights.training.setup import RunOptions, prepare
from inweights.training.shards import Shards
from inweights.training.steps.machine import flushed_denormals, keep_memory
from inweights.worlds.world import Worlds


@dataclass(frozen=True)
class Result:
    """Result of :func:`train`: recorded losses, measured tables, and the replicas that stopped.

    Attributes:
        losses: Columns ``phase, step, replica, loss`` (nats): a row each ``every``
            steps, and one where a replica stopped. Steps count over all phases, each at
            its full length, so that a replica's rows are the same alone and among
            others, which may stop later.
        observed: The table that each measuring observer collected, by the observer's
            name, with a column ``step`` of the same count.
        stopped: For each replica the step of the last phase at which it met the stop
            rule or diverged; -1 where it ran through.
    """

    losses: pl.DataFrame
    observed: dict[str, pl.DataFrame] = field(default_factory=dict)
    stopped: tuple[int, ...] = ()

    def _repr_html_(self) -> str:
        last = self.losses.group_by("replica", maintain_order=True).last()
        rows = last.select("replica", "phase", "step", "loss")
        about = {"observed": ", ".join(self.observed)}
        return Card("Result", about, rows.columns, rows.rows()).html


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
    """Train every replica of ``model`` in place, all as one tensor program.

    A replica whose recorded loss is infinite or not a number is frozen from that step
    on.

    Args:
        model: ``R`` replicas.
        worlds: One world for all, or one for each replica; their facts are trained on.
        curriculum: One for all, or one for each replica; they may differ in rate and
            decay. Left out, it is :func:`~inweights.training.learners.named_for` of the
            world and the model.
        seeds: Root seed of each replica, which decides its data order; a number is so
            many, counted from 0.
        every: Steps between two records of the loss.
        observers: Are notified of each step, and measure on the way.
        checkpoint: Where the state is stored; a stored state is resumed. By default
            nowhere.
        progress: Called with the number of steps done.
        shards: This process's share, where several train one model together, each of
            them with the same arguments; only the first of them observes and stores
            checkpoints.
        cuda_graph: Whether a step is captured once and replayed, on a GPU. By default
            where it can be: a model of the library, alone, without dropout, noise or
            a user's own code.
        keep_diverged: Return the result also if every replica diverged, in place of a
            RunError.

    Returns:
        The recorded losses, the tables of the observers, and where replicas stopped.

    Raises:
        ConfigError: Curricula differ in more than rate and decay, seeds do not fit, a
            phase names a parameter that is not there, moves none, or edits what the
            model lacks, or the model has dropout and its steps are to be shared or
            captured.
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
    if every < 1:
        raise ConfigError(
            f"the interval of recorded losses must be at least 1, got {every}"
        )
    options = RunOptions(
        observers=observers,
        checkpoint=checkpoint,
        shards=shards,
        cuda_graph=cuda_graph,
    )
    setup = prepare(model, worlds, curriculum, seeds, options)
    parameters = setup.parameters
    observers = setup.observers
    checkpoint = setup.checkpoint
    stored = setup.stored_state()

    with telling(observers, setup.description) as tables:
        state = stored or setup.initial_state()
        if stored is None:
            last = not setup.updates_follow(0)
            records.measure_due(model, observers, state, done=True, last=last)
        # A stored state goes into the matrix that the model's parameters are views of.
        parameters.values.copy_(state.values)
        state.values = parameters.values
        keep_memory()
        with flushed_denormals():
            while state.phase < len(setup.phases):
                phase = setup.phases[state.phase]
                update = PhaseUpdate(setup, state)
                edit = setup.edits[state.phase]
                if edit and state.step == 0:
                    edit.apply()
                    last = not setup.updates_follow(state.phase)
                    records.measure_due(model, observers, state, done=True, last=last)

                while state.step < phase.steps:
                    losses = update()  # [R], before the update
                    recorded = state.total % every == 0
                    if recorded:
                        records.record_running(losses, phase, state)
                    state.step += 1
                    state.total += 1
                    records.notify_step(
                        observers, parameters, phase, state.total, losses
                    )

                    checked = phase.stop.due(state.step)
                    if checked:
                        met = update.meets_stop_rule(losses)
                        records.stop_replicas(
                            met, losses, phase, state, recorded=recorded
                        )
                    if recorded or checked:
                        update.freeze(state.stopped >= 0)
                    done = state.step == phase.steps or update.all_frozen
                    if done:
                        # As if the phase ran through: steps of a later phase are
                        # the same for replicas that stopped early and those beside.
                        state.total += phase.steps - state.step
                        records.record_end(
                            losses, phase, state, keep_diverged=keep_diverged
                        )
                    last = done and not setup.updates_follow(state.phase + 1)
                    records.measure_due(model, observers, state, done=done, last=last)
                    if progress:
                        progress(state.total)
                    if done:
                        break
                    if checkpoint and checkpoint.due(state.total):
                        state.optimizer = update.optimizer_state()
                        checkpoint.write(state)

                stopped = state.stopped.tolist()
                state.begin_next_phase()
            parameters.release()
        for name, frames in state.tables.items():
            tables[name] = pl.concat(frames)

    observed = {name: table for name, table in tables.items() if name != "losses"}
    return Result(losses=tables["losses"], observed=observed, stopped=tuple(stopped))
