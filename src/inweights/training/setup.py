"""Set up training before its first step: check the arguments, and create what phases share.

:func:`prepare` turns the arguments of :func:`inweights.train` into a
:class:`TrainingSetup`, and raises an error for invalid arguments before anything is
changed. The loop (``loop.py``) reads the setup, and ``phase_update.py`` builds the
update of each phase from it. Shapes: ``R`` replicas, ``P`` parameters of one replica.
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
from inweights.training.observers import Observer, check_intervals
from inweights.training.shards import Shards
from inweights.training.steps.editing import Edited
from inweights.training.steps.flat_parameters import FlatParameters
from inweights.training.steps.recording.captured import can_capture
from inweights.worlds.world import World, Worlds


@dataclass(frozen=True, kw_only=True)
class TrainingSetup:
    """Objects that all phases of training share.

    Attributes:
        model: The model, whose ``R`` replicas are trained in place.
        worlds: One world if all replicas share it, otherwise one per replica.
        curricula: One curriculum per replica; they differ only in the rates, weight
            decays and options of their optimizers.
        seeds: Root seed of each replica.
        parameters: The model's parameters as one matrix with a row per replica, ``[R,
            P]``.
        dropout: Object that draws the dropout masks of each step.
        edits: For each phase, the edit of stored facts that precedes it, or ``None``.
        observers: Objects that are notified of each step, and may measure the model;
            empty on all processes except the first.
        checkpoint: File of the state; ``None`` if the state is not stored.
        shards: Share of this process if several processes train one model together;
            otherwise ``None``.
        columns: The columns of ``parameters`` that this process updates, as a pair of
            the first column and the column after the last; ``None`` for all.
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
        """Phases of the first replica; phases of other replicas differ only in optimizers."""
        return self.curricula[0].phases

    @property
    def description(self) -> dict[str, Any]:
        """Settings that observers receive at the start, as plain values.

        The keys are ``steps`` (over all phases), ``seeds``, ``learner`` (the first
        replica's curriculum), and ``model`` (the model's config, if it has one).
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
        """Return whether a phase or any later phase has at least one step.

        Args:
            phase: Index of the phase; if it equals the number of phases, the result is
                false.
        """
        return any(later.steps for later in self.phases[phase:])

    def stored_state(self) -> ReplicaState | None:
        """Return the stored state from which training continues; ``None`` if none is stored.

        Raises:
            RunError: The checkpoint belongs to another training run, is damaged or
                cannot be read.
        """
        if self.checkpoint is None:
            return None
        return self.checkpoint.read(self.parameters.values.device)

    def initial_state(self) -> ReplicaState:
        """Return the state before the first step, which shares memory with the parameters."""
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
    """Execution options of :func:`inweights.train`, which takes each of them as an argument.

    Attributes:
        observers: Objects that are notified of each step, and may measure the model.
        checkpoint: File of the state; ``None`` if the state is not stored.
        shards: Share of this process if several processes train one model together;
            ``None`` for a single process.
        cuda_graph: Whether steps are captured as a CUDA graph; ``None`` to capture them
            if possible.
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
    """Check the arguments of :func:`inweights.train`, and return the objects that phases share.

    Afterwards, the parameters of ``model`` are views of one matrix ``[R, P]``, until
    :meth:`FlatParameters.release` is called.

    Args:
        model: The model, with ``R`` replicas.
        worlds: One world for all replicas, or one per replica.
        curriculum: One curriculum for all replicas, or one per replica; ``None`` for
            the curriculum returned by :func:`~inweights.training.learners.named_for`.
        seeds: Root seed of each replica; a number ``n`` means the seeds 0 to ``n - 1``.
        options: Execution options, including the observers and the checkpoint.

    Raises:
        ConfigError: The model or a parameter has no replica axis; the number of
            curricula or seeds is not the number of replicas, or a seed is negative;
            curricula differ in more than rates, weight decay and options; an observer's
            ``every`` is below 1; a phase names a parameter that does not exist, or
            trains no parameter; the model does not support an edit; or steps are to be
            shared among processes or captured, which is impossible with dropout,
            gradient noise or user-defined code.
        DataError: The worlds do not fit the model, or an edit names a role that the
            world does not have, or more facts than it has.
    """
    each = as_worlds(worlds, model)
    seeds = as_seeds(seeds)
    if len(seeds) != model.replicas:
        raise ConfigError(
            f"expected one seed per replica ({model.replicas}), got {len(seeds)}"
        )
    given = named_for(each[0], model) if curriculum is None else curriculum
    curricula = _one_for_each_replica(given, model.replicas)
    phases = curricula[0].phases
    parameters = FlatParameters(model)
    dropout = DropoutMasks(model, seeds)

    shards = options.shards
    cuda_graph = options.cuda_graph
    obstacle = _obstacle_to_sharing(phases, dropout)
    # A capture that is requested but impossible is an error; by default, there is none.
    if cuda_graph is None:
        cuda_graph = not (shards or obstacle) and can_capture(model)
    if obstacle and (shards or cuda_graph):
        raise ConfigError(obstacle)
    observers = options.observers
    check_intervals(observers)
    checkpoint = options.checkpoint
    columns = None
    if shards:
        checkpoint = shards.keep(checkpoint)
        columns = shards.columns(parameters.values.shape[1])
        if shards.rank:  # only the first process has observers
            observers = ()

    # Raises an error before any training if a later phase names no parameter.
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
    """Return one curriculum per replica, after checking that they can be trained together."""
    if isinstance(curriculum, Curriculum):
        return [curriculum] * replicas
    curricula = list(curriculum)
    if len(curricula) != replicas:
        raise ConfigError(
            f"expected one curriculum, or one per replica ({replicas}), got {len(curricula)}"
        )
    # All replicas are computed by one program, so that their steps must be the same.
    if any(one.shape != curricula[0].shape for one in curricula):
        raise ConfigError(
            "the curricula of replicas may differ only in the learning rate, the weight "
            "decay and the options of your own optimizer; train replicas that differ in "
            "other settings separately"
        )
    return curricula


def _obstacle_to_sharing(phases: Sequence[Phase], dropout: DropoutMasks) -> str:
    """Return why steps can be neither divided among processes nor captured; "" if they can."""
    why = "so that steps can be neither divided among processes nor captured as a CUDA graph"
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
                f"phase '{phase.name}' calls your own {phase.own} in Python at every step, {why}; "
                "leave out --on torchrun and cuda_graph"
            )
    return ""
