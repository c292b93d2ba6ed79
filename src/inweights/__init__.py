"""A laboratory for in-weights reasoning: does a sequence model combine facts it never saw together?

The public names load what they need when they are first used, so that importing the package, and
``inweights --help``, do not load torch.

Example:
    >>> import inweights as iw
    >>> world = iw.TwoHop(n=4).build(seed=0)
    >>> model = iw.EmbMLPConfig().build(vocabulary=len(world.vocabulary), seeds=[0, 1])
    >>> _ = iw.train(model, world, iw.Curriculum(), seeds=[0, 1])
    >>> iw.probes.accuracy(model, world).columns[:3]
    ['replica', 'part', 'role']
"""

from __future__ import annotations

import sys

# While `python -m` looks for a module the program is called "-m", and the current folder is first
# of all places to import from. What lies there is data, and the next line would take a `csv.py`.
if (
    sys.argv[:1] == ["-m"]
    and not sys.flags.safe_path
    and sys.orig_argv[-len(sys.argv)].removeprefix("-m").partition(".")[0] == "inweights"
):
    del sys.path[0]

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from inweights.support.lazy import lazily

if TYPE_CHECKING:
    from inweights import lab, models, probes, recipes, report, runs, theory, training, worlds
    from inweights.config import Config
    from inweights.errors import ConfigError, DataError, InweightsError, RunError, SolverError
    from inweights.lab import Computation, Measure, Paper, Plan, Recipe, Trial
    from inweights.lab.studies.sweep import Study, sweep
    from inweights.laboratory import board, find, run
    from inweights.models import (
        GPT,
        EmbMLP,
        EmbMLPConfig,
        GPTConfig,
        Init,
        Model,
        load_model,
        save_model,
    )
    from inweights.report.figures.draw import plot
    from inweights.theory import Prediction, Solution, predict, solve
    from inweights.training import (
        Checkpoint,
        Curriculum,
        Descent,
        Observer,
        Optimizer,
        Optimum,
        Phase,
        Schedule,
        Stop,
        train,
    )
    from inweights.worlds import (
        Statements,
        Triples,
        TwoHop,
        Vocabulary,
        World,
        load_world,
        open_world,
        save_world,
    )

__all__ = [
    "GPT",
    "Checkpoint",
    "Computation",
    "Config",
    "ConfigError",
    "Curriculum",
    "DataError",
    "Descent",
    "EmbMLP",
    "EmbMLPConfig",
    "GPTConfig",
    "Init",
    "InweightsError",
    "Measure",
    "Model",
    "Observer",
    "Optimizer",
    "Optimum",
    "Paper",
    "Phase",
    "Plan",
    "Prediction",
    "Recipe",
    "RunError",
    "Schedule",
    "Solution",
    "SolverError",
    "Statements",
    "Stop",
    "Study",
    "Trial",
    "Triples",
    "TwoHop",
    "Vocabulary",
    "World",
    "__version__",
    "board",
    "find",
    "lab",
    "load_model",
    "load_world",
    "models",
    "open_world",
    "plot",
    "predict",
    "probes",
    "recipes",
    "report",
    "run",
    "runs",
    "save_model",
    "save_world",
    "solve",
    "sweep",
    "theory",
    "train",
    "training",
    "worlds",
]

try:
    __version__ = version("inweights")
except PackageNotFoundError:  # a source tree that is not installed
    __version__ = "0"

_ROOMS = ("lab", "models", "probes", "recipes", "report", "runs", "theory", "training", "worlds")
_HOMES = {
    "config": ("Config",),
    "errors": ("ConfigError", "DataError", "InweightsError", "RunError", "SolverError"),
    "lab.studies.sweep": ("Study", "sweep"),
    "lab": ("Computation", "Measure", "Paper", "Plan", "Recipe", "Trial"),
    "laboratory": ("board", "find", "run"),
    "report": ("plot",),
    "models": (
        "GPT",
        "EmbMLP",
        "EmbMLPConfig",
        "GPTConfig",
        "Init",
        "Model",
        "load_model",
        "save_model",
    ),
    "theory": ("Prediction", "Solution", "predict", "solve"),
    "training": (
        "Checkpoint",
        "Curriculum",
        "Descent",
        "Observer",
        "Optimizer",
        "Optimum",
        "Phase",
        "Schedule",
        "Stop",
        "train",
    ),
    "worlds": (
        "Statements",
        "Triples",
        "TwoHop",
        "Vocabulary",
        "World",
        "load_world",
        "open_world",
        "save_world",
    ),
}

__getattr__, __dir__ = lazily(__name__, _HOMES, rooms=_ROOMS)
