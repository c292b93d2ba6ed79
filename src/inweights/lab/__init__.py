"""The grammar of experiments: world × model × learner → measures → table → score → claim.

Names load what they need when they are first used: a score or a figure needs no torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from inweights.lazy import lazily

if TYPE_CHECKING:
    from inweights.lab.claim import Claim, Stating
    from inweights.lab.figure import (
        Figure,
        atlas,
        auto,
        heatmaps,
        lines,
        states,
        sweeps,
        through_time,
    )
    from inweights.lab.forecast import Forecast
    from inweights.lab.kept import KeptModel
    from inweights.lab.plugins import load_plugins
    from inweights.lab.recipe import SCALES, Paper, Recipe, parse_seeds
    from inweights.lab.recipe_file import read_recipe
    from inweights.lab.score import Judged, Score, Target, Value, computed, cosine, number, share
    from inweights.lab.study import open_study
    from inweights.lab.sweep import Study, grid
    from inweights.lab.trial import Computation, Measure, Plan, Trial
    from inweights.lab.verdict import VERDICTS, ClaimResult, Verdict, interval, judge
    from inweights.models.model_config import ModelConfig
    from inweights.training.learner import Curriculum, Descent, Learner, Optimum
    from inweights.worlds.registry import WorldConfig

__all__ = [
    "SCALES",
    "VERDICTS",
    "Claim",
    "ClaimResult",
    "Computation",
    "Curriculum",
    "Descent",
    "Figure",
    "Forecast",
    "Judged",
    "KeptModel",
    "Learner",
    "Measure",
    "ModelConfig",
    "Optimum",
    "Paper",
    "Plan",
    "Recipe",
    "Score",
    "Stating",
    "Study",
    "Target",
    "Trial",
    "Value",
    "Verdict",
    "WorldConfig",
    "atlas",
    "auto",
    "computed",
    "cosine",
    "grid",
    "heatmaps",
    "interval",
    "judge",
    "lines",
    "load_plugins",
    "number",
    "open_study",
    "parse_seeds",
    "read_recipe",
    "share",
    "states",
    "sweeps",
    "through_time",
]

_HOMES = {
    "lab.claim": (
        "Claim",
        "Stating",
    ),
    "lab.figure": (
        "Figure",
        "atlas",
        "auto",
        "heatmaps",
        "lines",
        "states",
        "sweeps",
        "through_time",
    ),
    "lab.forecast": ("Forecast",),
    "lab.kept": ("KeptModel",),
    "lab.plugins": ("load_plugins",),
    "lab.recipe": (
        "SCALES",
        "Paper",
        "Recipe",
        "parse_seeds",
    ),
    "lab.recipe_file": ("read_recipe",),
    "lab.score": (
        "Judged",
        "Score",
        "Target",
        "Value",
        "computed",
        "cosine",
        "number",
        "share",
    ),
    "lab.study": ("open_study",),
    "lab.sweep": (
        "Study",
        "grid",
    ),
    "lab.trial": (
        "Computation",
        "Measure",
        "Plan",
        "Trial",
    ),
    "lab.verdict": (
        "VERDICTS",
        "ClaimResult",
        "Verdict",
        "interval",
        "judge",
    ),
    "models.configs": ("ModelConfig",),
    "training.learner": (
        "Curriculum",
        "Descent",
        "Learner",
        "Optimum",
    ),
    "worlds.registry": ("WorldConfig",),
}

__getattr__, __dir__ = lazily(__name__, _HOMES, base="inweights")
