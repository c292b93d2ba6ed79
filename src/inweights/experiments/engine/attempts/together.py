"""Build, train and load the models of runs that are trained together, as replicas of one model.

:func:`build_model` builds the model of a block of runs, :func:`train_block` trains it,
and :func:`open_model` loads the stored model of one run. :mod:`~.blocks` splits a task
into blocks.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from msgspec import structs
from torch.nn import Parameter

from inweights.errors import ConfigError
from inweights.experiments.engine.tasks import LearnTask, Run
from inweights.models.base import Model
from inweights.models.configs.model_config import Init, ModelConfig
from inweights.models.save import decode_model
from inweights.runs.tables.store import Store
from inweights.training import Curriculum, Phase, Result, Schedule, Stop, train


def build_model(block: LearnTask, device: str) -> Model:
    """Return the untrained model of runs that are trained together, with one replica per run.

    Args:
        block: Runs whose worlds have the same shape. The config of the first run's
            model is used, with the seed and the initialisation of each run.
        device: Torch device of the model, such as ``cpu`` or ``cuda``.

    Returns:
        The model, on the device.

    Raises:
        ConfigError: The trial has no model config, or the config cannot build a model
            for these worlds. (Errors that a wrapped module raises propagate.)
        DataError: The world of the first run cannot be built from its files.
    """
    world = block.runs[0].world
    model = _config_of(block.runs[0]).build(
        vocabulary=len(world.vocabulary),
        seeds=[run.seed for run in block.runs],
        inits=[getattr(run.trial.model, "init", Init()) for run in block.runs],
        candidates=world.outputs.tolist(),
    )
    return model.to(device)


def parameters_of(run: Run) -> list[Parameter]:
    """Return the parameters of one replica of a run's model, if possible without allocating them.

    The parameters are on the device ``meta`` and have no values. They are allocated
    only if a user's model needs values while it is built. The world of the run is built
    to find its number of tokens.

    Args:
        run: The run.

    Raises:
        ConfigError: The trial of the run has no model config, or the config cannot
            build a model.
        DataError: The world of the run cannot be built from its files.
    """
    build = partial(
        _config_of(run).build, vocabulary=len(run.world.vocabulary), seeds=[0]
    )
    try:
        with torch.device("meta"):  # draws no random numbers and allocates no memory
            return list(build().parameters())
    # Raised if a user's model reads the values of its parameters, which do not exist on
    # `meta`.
    except (
        NotImplementedError,
        RuntimeError,
    ):
        return list(build().parameters())


def train_block(
    model: Model,
    block: LearnTask,
    curricula: Curriculum | Sequence[Curriculum] | None = None,
    **how: Any,
) -> Result:
    """Train the runs of a block, in this process or in several processes that call this function.

    The model is changed in place. No error is raised if replicas diverge, even if all
    of them do.

    Args:
        model: The model of the block, with one replica per run.
        block: The runs.
        curricula: The curriculum of all runs, or a list with one curriculum for each
            run; by default the curricula of their trials.
        **how: Further arguments of :func:`inweights.train`, such as ``observers`` and
            ``checkpoint``, except ``seeds`` and ``keep_diverged``.

    Returns:
        The result of :func:`inweights.train`, which contains the losses and the tables
        of the observers.

    Raises:
        ConfigError: A phase names a parameter that the model lacks, trains no
            parameter, or needs something else that the model lacks; the runs' curricula
            differ in more than rates, weight decay and options; or a further argument
            is invalid (:func:`inweights.train`).
        DataError: A phase names roles or tokens, or edits facts, that the world does
            not contain; or a world has more tokens than the model, or the worlds differ
            in the shape of their statements.
        RunError: The checkpoint belongs to a different training run, is damaged or
            cannot be written.
    """
    own: list[Any] = [run.trial.learner for run in block.runs]  # all are curricula
    seeds = [run.seed for run in block.runs]
    return train(
        model, block.worlds, curricula or own, seeds=seeds, keep_diverged=True, **how
    )


def first_steps(phase: Phase, steps: int) -> Phase:
    """Return a phase shortened to its first steps, for timing.

    The shortened phase has a constant learning rate, no early stopping, no observers
    and no edit of a fact.

    Args:
        phase: The phase, which is not changed.
        steps: Number of updates of the shortened phase. It may exceed the number of
            updates of ``phase``.
    """
    none = {"observers": (), "edit": None}
    return structs.replace(phase, steps=steps, schedule=Schedule(), stop=Stop(), **none)


def open_model(store: Store, run: Run) -> Model:
    """Load the stored model of a run.

    Args:
        store: Store with the weights.
        run: The run that trained the model.

    Returns:
        The model with one replica, on the CPU.

    Raises:
        FolderError: The weights are missing or damaged.
        WriteError: The object store denies access or does not respond.
        DataError: A different version of the library wrote the weights in a different
            format.
        ConfigError: The config of the model cannot build the model on this machine.
    """
    trial = run.trial
    # The kind of a user's model may not be registered, so the class of its config is
    # passed.
    kind: Any = type(trial.model) if isinstance(trial.learner, Curriculum) else None
    return decode_model(store.read_model(run.key), str(store.folder(run.key)), kind)


def _config_of(run: Run) -> ModelConfig:
    """Return the config of a run's model, or raise an error if there is none."""
    if run.trial.model is None:
        raise ConfigError(
            "a curriculum needs a model; give its config, such as GPTConfig()"
        )
    return run.trial.model
