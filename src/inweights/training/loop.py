"""The training loop, :func:`train`, which trains every replica of a model through all phases.

The parts of the function are in other modules: ``setup.py`` checks the arguments,
``phase_update.py`` makes one update, ``records.py`` records losses and measurements,
and ``checkpoint.py`` stores the state. Shapes: ``R`` replicas, ``P`` parameters of one
replica.
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
    """Result of :func:`train`: recorded losses, measured tables, and stopped replicas.

    Attributes:
        losses: Table with the columns ``phase`` (name of the phase), ``step``,
            ``replica`` and ``loss`` (in nats, before the update of the step). It has
            one row every ``every`` steps (an argument of :func:`train`) for each
            replica that has not stopped, and one row for the step at which a replica
            stops. At the end of a phase, a replica whose weights or loss are not finite
            has one more row, with a loss of NaN. ``step`` counts updates over all
            phases, each at its full length, so that the rows of a replica do not depend
            on the other replicas, which may stop later.
        observed: Dictionary that maps the name of each observer with a ``measure`` to
            the concatenation of the tables returned by ``measure``, with a column
            ``step`` that counts updates as in ``losses``. During a phase, rows of
            replicas that have stopped are left out; at the end of the phase, all
            replicas are measured.
        stopped: For each replica, the step, counted within the last phase, at which it
            met the stop rule or its recorded loss was infinite or NaN; -1 if it was
            trained to the end of the phase.
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
    """Train all replicas of a model together, in place.

    A replica whose recorded loss is infinite or NaN is frozen from that step on. Errors
    of observers and of ``progress`` propagate.

    Args:
        model: The model, with ``R`` replicas.
        worlds: One world for all replicas, or a sequence of one world per replica. The
            model is trained on their facts.
        curriculum: One curriculum for all replicas, or a sequence of one per replica;
            these may differ only in learning rate, weight decay and options of a user's
            own optimizer. By default :func:`~inweights.training.learners.named_for`
            chooses one for the world and the model.
        seeds: Root seed of each replica, which determines the order of its data; a
            number ``n`` means the seeds 0 to ``n - 1``.
        every: Number of steps between two records of the loss, at least 1.
        observers: Objects that are notified of each step, and may measure the model.
            Their ``every`` must be at least 1.
        checkpoint: File in which the state is stored during training, and from which
            training continues if the file exists. By default the state is not stored.
        progress: Function that is called after each step with the number of steps
            completed over all phases; optional.
        shards: Share of this process if several processes train one model together;
            each of them calls this function with the same arguments. Only the first
            process runs observers and stores checkpoints. By default, a single process
            trains the model.
        cuda_graph: Whether a step on a GPU is captured as a CUDA graph and replayed. By
            default it is captured if possible: for an architecture of the library, in
            one process, and without dropout, gradient noise or user-defined code.
        keep_diverged: If true, return a result even if every replica diverged; by
            default an error is raised.

    Returns:
        The recorded losses, the tables of the observers, and the steps at which
        replicas stopped.

    Raises:
        ConfigError: The model has no replica axis; ``every`` is below 1; the number of
            seeds or curricula is not the number of replicas, or a seed is negative;
            curricula differ in more than rates, weight decay and options; a phase names
            a parameter that does not exist, trains no parameter, has an edit that the
            model does not support, or has random offsets for a model without position
            embeddings; a user's loss, penalty, schedule or optimizer cannot be loaded
            or returns an invalid value; ``shards`` or ``cuda_graph`` is given although
            steps have dropout, gradient noise or user-defined code; or ``cuda_graph``
            is true and the model is not on a GPU.
        DataError: The worlds do not fit the model; a phase names roles or tokens, or
            edits facts, that the world does not contain; or a label is not among the
            model's candidates.
        RunError: The loss of every replica became infinite or NaN, or the checkpoint
            belongs to another training run, is damaged or cannot be written.

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
            f"the interval between recorded losses must be at least 1, got {every}"
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
        # A stored state is copied to the matrix of which the model's parameters are
        # views.
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
                        # Count the phase in full, so that the steps of later phases do
                        # not depend on when replicas stop.
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
