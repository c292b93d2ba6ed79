"""Choose the learner, the model and the number of processes if a sweep does not specify them."""

from typing import Any

import numpy as np

from inweights.experiments.grammar.trial import Plan, Trial
from inweights.experiments.grammar.variation import axes
from inweights.experiments.grammar.variation.parts import check_part
from inweights.models.configs import GPTConfig
from inweights.models.outside.module_configs import TrainedConfig
from inweights.support.limits import usable_cores
from inweights.training.learners import GRAPHS, family_of, named_for
from inweights.training.learners.kinds import Learner
from inweights.training.learners.without_training import Fixed

#: Largest width of a model whose size is chosen to fit its world.
MAX_WIDTH = 256
#: Number of updates that justify an additional process.
UPDATES_A_PROCESS = 10_000


def trials_of(
    world: Any, model: Any, learner: Learner | None, over: axes.Over
) -> list[Trial]:
    """Return the trials of a grid, with a suitable learner for each world and model by default.

    Because each trial has its own default learner, the default learning rate depends on
    the width if widths are varied. Varied settings of the learner are changed in the
    default learner.

    Args:
        world: Config of the world.
        model: Config of the architecture.
        learner: Config of the training. If it is ``None``, each trial has the learner
            that :mod:`inweights.training.learners` provides for its world and
            architecture, and trained models are not trained further.
        over: Mapping from paths to values, or a list of points.

    Returns:
        One trial per condition, in the order of the combinations, in which the last
        path varies fastest; the labels are the varied values.

    Raises:
        ConfigError: A path does not exist, a value is not allowed there, a part is not
            a valid world, model or learner, two conditions have the same labels, or
            ``over`` is invalid (:func:`~.axes.points_of`).
        DataError: A world that has to be built to choose its learner cannot be built.
    """
    if learner is not None:
        return axes.grid(world, model, learner, over)
    check_part("world", world)
    grids: dict[str, list[Trial]] = {}

    def of_learner(default: Learner) -> list[Trial]:
        if (name := repr(default)) not in grids:
            grids[name] = axes.grid(world, model, default, over)
        return grids[name]

    trials = enumerate(of_learner(_usual_learner(world, model)))
    return [of_learner(_usual_learner(t.world, t.model))[place] for place, t in trials]


def _usual_learner(world: Any, model: Any) -> Learner:
    """Return the named learner of a world and architecture, or no training for a trained model."""
    return Fixed() if isinstance(model, TrainedConfig) else named_for(world, model)


def default_model(world: Any, over: axes.Over) -> GPTConfig:
    """Return the GPT of a sweep that specifies no model.

    Its width is the smallest power of two, from 32 to 256, that is at least the number
    of tokens of the largest world (256 for more tokens). Its context is the number of
    tokens of the longest statement, at least 8. It has two layers and tied embeddings
    if one of the worlds is a graph, otherwise four layers and untied embeddings. All
    conditions use the same model, so that they differ only in the varied settings.

    Args:
        world: Config of the world.
        over: Mapping from paths to values, or a list of points, which may vary the
            world.

    Raises:
        ConfigError: A path of ``over`` does not exist, a value is not allowed there, or
            the world is not a config.
        DataError: A world cannot be built.
    """
    first = trials_of(world, GPTConfig(), None, over)
    configs = {repr(trial.world): trial.world for trial in first}
    worlds = [config.build(0) for config in configs.values()]
    tokens = max(len(one.vocabulary) for one in worlds)
    width = min(MAX_WIDTH, max(32, 1 << (tokens - 1).bit_length()))
    context = 8
    for one in worlds:
        for part in (one.facts, one.queries):
            prompts = np.diff(part.prompt_ends, prepend=0)
            answers = np.diff(part.answer_ends, prepend=0)
            context = max(context, int((prompts + answers).max(initial=1)))
    graph = any(family_of(one) in GRAPHS for one in worlds)
    layers, tied = (2, True) if graph else (4, False)
    return GPTConfig(layers=layers, width=width, context=context, tied=tied)


def useful_processes(plan: Plan, seeds: int, device: str) -> int:
    """Return how many processes are useful: one per 10,000 updates, but at most one per core.

    Args:
        plan: Plan with the trials, whose updates are counted. Computations are ignored.
        seeds: Number of seeds.
        device: Torch device of the models. For any device other than ``cpu`` the result
            is 1.

    Returns:
        The number of processes, from 1 to the number of usable cores.
    """
    if device != "cpu":
        return 1
    return max(1, min(usable_cores(), seeds * plan.steps // UPDATES_A_PROCESS))
