"""Runs that train together as one program: the model that they are, and how it learns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from msgspec.structs import replace
from torch.nn import Parameter

from inweights.errors import ConfigError
from inweights.lab.engine.plan import Run
from inweights.models.base import Model
from inweights.models.model_config import Init, ModelConfig
from inweights.training import Phase, Result, Schedule, Stop, train
from inweights.worlds.world import World

__all__ = ["brief", "build_model", "parameters_of", "train_runs"]


def build_model(runs: Sequence[Run], worlds: Sequence[World], device: str) -> Model:
    """Return the model of runs that train together, a replica a run, at its start."""
    config = _model_of(runs[0])
    return config.build(
        vocabulary=len(worlds[0].vocabulary),
        seeds=[run.seed for run in runs],
        inits=[getattr(run.trial.model, "init", Init()) for run in runs],
        candidates=worlds[0].outputs.tolist(),
    ).to(device)


def parameters_of(run: Run, world: World) -> list[Parameter]:
    """Return the parameters of one replica, to be counted: most have shapes and no numbers."""
    config, tokens = _model_of(run), len(world.vocabulary)
    try:
        with torch.device("meta"):  # nothing is drawn, and no memory taken
            return list(config.build(vocabulary=tokens, seeds=[0]).parameters())
    except (NotImplementedError, RuntimeError):  # a model of one's own may look at its numbers
        return list(config.build(vocabulary=tokens, seeds=[0]).parameters())


def train_runs(model: Model, runs: Sequence[Run], worlds: Sequence[World], **how: Any) -> Result:
    """Train runs, whether by this process alone or by several, of which each one calls this.

    That all of them diverged is no error: a verdict tells it, as where only some of them do.

    Args:
        model: Their model, a replica a run.
        runs: What is trained; all learners are curricula.
        worlds: The world of each run.
        how: What else :func:`~inweights.training.train` takes: observers, a checkpoint, shards.
    """
    return train(
        model,
        worlds,
        [run.trial.learner for run in runs],  # type: ignore[misc]  # all are curricula
        seeds=[run.seed for run in runs],
        keep_diverged=True,
        **how,
    )


def brief(phase: Phase, steps: int) -> Phase:
    """Return so many steps of a phase, to be timed: none is left out, and the rate is constant."""
    return replace(phase, steps=steps, schedule=Schedule(), stop=Stop())


def _model_of(run: Run) -> ModelConfig:
    if run.trial.model is None:
        raise ConfigError("a curriculum trains a model; give its config, such as GPTConfig()")
    return run.trial.model
