"""Set up training before its first step: check the arguments, make what the phases share.

:func:`prepare` turns the arguments of :func:`inweights.train` into a
:class:`TrainingSetup`, and refuses what cannot be trained before anything is changed.
The loop (``loop.py``) reads it, and ``phase_update.py`` builds the update of each phase
from it. Shapes: ``R`` replicas, ``P`` parameters of one replica.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
import torch

from inweights.config import Config, to_plain
from inweights.errors import ConfigError
from inweights.models.base import Model
from inweights.models.layers.dropout import DropoutMasks
from inweights.seeds import as_seeds
from inweights.training import records
from inweights.training.batches.worlds import as_worlds
from inweights.training.checkpoint import Checkpoint, ReplicaState
from inweights.training.curriculum import Curriculum, Phase
from inweights.training.learners import named_for
from inweights.training.observers import Observer
from inweights.training.shards import Shards
from inweights.training.steps.editing import Edited
from inweights.training.steps.flat_parameters import FlatParameters
from inweights.training.steps.recording.captured import can_capture
from inweights.worlds.world import World, Worlds


@dataclass(frozen=True, kw_only=True)
class TrainingSetup:
    """All that stays the same while a model is trained, from the first phase to the last.

    Attributes:
        model: ``R`` replicas, trained in place.
        worlds: One world if all replicas share it, otherwise one for each replica.
        curricula: One for each replica; only their optimizers' rates and decays may
            differ.
        seeds: Root seed of each replica.
        parameters: The model's parameters as one matrix ``[R, P]``.
        dropout: Draws the dropout masks of each step.
        edits: For each phase the edit of stored facts before it, if there is one.
        observers: Are notified of each step, and measure; none but on the first
            process.
        checkpoint: Where the state is stored, if anywhere.
        shards: This process's share, where several train one model together.
        columns: The columns of ``parameters`` that this process steps; ``None`` for
            all.
        cuda_graph: Whether steps are captured as a CUDA graph.
    """

    model: Model
    worlds: tuple[World, ...]
    curricula: Sequence[Curriculum]
    seeds: Sequence[int]
    parameters: FlatParameters
    dropout: DropoutMasks
    edits: Sequence[Edited | None]
    observers: Sequence[Observer]
    checkpoint: Checkpoint | None
    shards: Shards | None
    columns: tuple[int, int] | None
    cuda_graph: bool

    @property
    def phases(self) -> tuple[Phase, ...]:
        """Phases of the first replica; those of other replicas differ only in optimizers."""
        return self.curricula[0].phases

    @property
    def description(self) -> dict[str, Any]:
        """What observers are given at the start: steps, seeds, and the configs as plain values.

        Keys: ``steps``, ``seeds``, ``learner``, and ``model`` if it has a config.
        """
        about = {
            "steps": self.curricula[0].steps,
            "seeds": list(self.seeds),
            "learner": to_plain(self.curricula[0]),
        }
        config = getattr(self.model, "config", None)
        if isinstance(config, Config):
            about["model"] = to_plain(config)
        return about

    def updates_follow(self, phase: int) -> bool:
        """Return whether any phase from index ``phase`` on makes an update."""
        return any(later.steps for later in self.phases[phase:])

    def stored_state(self) -> ReplicaState | None:
        """Return the state to resume from; ``None`` where no checkpoint was written."""
        if self.checkpoint is None:
            return None
        return self.checkpoint.read(self.parameters.values.device)

    def initial_state(self) -> ReplicaState:
        """Return the state before the first step: the current parameters, and no records."""
        return ReplicaState(
            phase=0,
            step=0,
            total=0,
            values=self.parameters.values,
            stopped=torch.full((self.model.replicas,), -1),
            tables={"losses": [pl.DataFrame(schema=records.LOSSES)]},
        )


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How a training is run and watched; see :func:`inweights.train`.

    Attributes:
        observers: Are notified of each step, and measure on the way.
        checkpoint: Where the state is stored; ``None`` for nowhere.
        shards: This process's share of a training by several processes; ``None`` for
            one process.
        cuda_graph: Whether steps are captured; ``None`` for wherever they can be.
    """

    observers: Sequence[Observer] = ()
    checkpoint: Checkpoint | None = None
    shards: Shards | None = None
    cuda_graph: bool | None = None


def prepare(
    model: Model,
    worlds: Worlds,
    curriculum: Curriculum | Sequence[Curriculum] | None,
    seeds: int | Sequence[int],
    options: RunOptions,
) -> TrainingSetup:
    """Return the objects that the phases of a training share, after checking its arguments.

    From here on the parameters of ``model`` are views of one matrix ``[R, P]``, until
    :meth:`FlatParameters.release`. The arguments are the same as those of
    :func:`inweights.train`.

    Args:
        model: ``R`` replicas.
        worlds: One world for all, or one for each replica.
        curriculum: One for all, or one for each replica; ``None`` for the named learner
            of world and model.
        seeds: Root seed of each replica, or how many, counted from 0.
        options: Observers, checkpoint, and on what the steps run.

    Raises:
        ConfigError: Curricula or seeds do not fit the replicas, a phase names a
            parameter that is not there or trains none, an edit does not fit the model,
            or steps that are to be shared or captured cannot be.
        DataError: Worlds do not fit the model, or an edit names facts that the world
            lacks.
    """
    each = as_worlds(worlds, model)
    seeds = as_seeds(seeds)
    if len(seeds) != model.replicas:
        raise ConfigError(
            f"{model.replicas} replicas need as many seeds, got {len(seeds)}"
        )
    given = named_for(each[0], model) if curriculum is None else curriculum
    curricula = _one_for_each_replica(given, model.replicas)
    phases = curricula[0].phases
    parameters = FlatParameters(model)
    dropout = DropoutMasks(model, seeds)

    shards = options.shards
    cuda_graph = options.cuda_graph
    obstacle = _obstacle_to_sharing(phases, dropout)
    # Asked for, a capture that is impossible is an error; by default it is left out.
    if cuda_graph is None:
        cuda_graph = not (shards or obstacle) and can_capture(model)
    if obstacle and (shards or cuda_graph):
        raise ConfigError(obstacle)
    observers = options.observers
    checkpoint = options.checkpoint
    columns = None
    if shards:
        checkpoint = shards.keep(checkpoint)
        columns = shards.columns(parameters.values.shape[1])
        if shards.rank:  # the first process alone observes
            observers = ()

    # A phase that names no parameter is refused before the first one trains.
    for phase in phases:
        parameters.moving(phase.moves, phase.freezes)
    edits = [
        Edited(model, worlds, phase.edit) if phase.edit else None for phase in phases
    ]
    return TrainingSetup(
        model=model,
        worlds=each,
        curricula=curricula,
        seeds=seeds,
        parameters=parameters,
        dropout=dropout,
        edits=edits,
        observers=observers,
        checkpoint=checkpoint,
        shards=shards,
        columns=columns,
        cuda_graph=cuda_graph,
    )


def _one_for_each_replica(
    curriculum: Curriculum | Sequence[Curriculum], replicas: int
) -> list[Curriculum]:
    """Return one curriculum per replica; only rates and decays may differ between them."""
    if isinstance(curriculum, Curriculum):
        return [curriculum] * replicas
    curricula = list(curriculum)
    if len(curricula) != replicas:
        raise ConfigError(
            f"give one curriculum, or one for each of {replicas} replicas, got {len(curricula)}"
        )
    # One program computes all replicas, so that its steps must be the same for all.
    if any(one.shape != curricula[0].shape for one in curricula):
        raise ConfigError(
            "curricula that train as one program may differ in rate and decay only; train the "
            "others separately"
        )
    return curricula


def _obstacle_to_sharing(phases: Sequence[Phase], dropout: DropoutMasks) -> str:
    """Return why steps can be neither divided among processes nor captured; "" if they can."""
    why = "so its steps can be neither divided among processes nor captured"
    drawn = ""
    if dropout.active:
        drawn = "dropout"
    elif any(phase.optimizer.noise > 0 for phase in phases):
        drawn = "gradient noise"
    if drawn:
        return f"{drawn} is drawn for whole batches on the CPU, {why}; set it to 0"
    for phase in phases:
        if phase.own:
            return (
                f"phase '{phase.name}' has {phase.own} of your own, called by Python for whole "
                f"replicas, {why}; leave out --on torchrun and cuda_graph"
            )
    return ""
