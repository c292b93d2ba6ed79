"""The grammar of experiments: world × model × learner → measures → table → score → claim.

Names load what they need when they are first used: a score or a figure needs no torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from inweights.support.lazy import lazily

if TYPE_CHECKING:
    from inweights.lab.engine.collect import KeptModel
    from inweights.lab.grammar.claim import (
        Claim,
        Judged,
        Score,
        Stating,
        Target,
        Value,
        computed,
        cosine,
        number,
        share,
    )
    from inweights.lab.grammar.figure import (
        Figure,
        atlas,
        auto,
        heatmaps,
        lines,
        states,
        sweeps,
        through_time,
    )
    from inweights.lab.grammar.recipe import SCALES, Paper, Recipe, parse_seeds
    from inweights.lab.grammar.recipe_file import read_recipe
    from inweights.lab.grammar.trial import Computation, Measure, Plan, Trial
    from inweights.lab.grammar.verdict import VERDICTS, ClaimResult, Verdict, judge
    from inweights.lab.studies.cost import Forecast
    from inweights.lab.studies.study import open_study
    from inweights.lab.studies.sweep import Study, grid
    from inweights.models.model_config import ModelConfig
    from inweights.support.intervals import interval
    from inweights.support.plugins import load_plugins
    from inweights.support.sources import Outside
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
    "Outside",
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
    "lab.grammar.figure": (
        "Figure",
        "atlas",
        "auto",
        "heatmaps",
        "lines",
        "states",
        "sweeps",
        "through_time",
    ),
    "lab.studies.cost": ("Forecast",),
    "lab.engine.collect": ("KeptModel",),
    "support.plugins": ("load_plugins",),
    "lab.grammar.recipe": ("SCALES", "Paper", "Recipe", "parse_seeds"),
    "lab.grammar.recipe_file": ("read_recipe",),
    "lab.grammar.claim": (
        "Claim",
        "Judged",
        "Score",
        "Stating",
        "Target",
        "Value",
        "computed",
        "cosine",
        "number",
        "share",
    ),
    "support.sources": ("Outside",),
    "lab.studies.study": ("open_study",),
    "lab.studies.sweep": ("Study", "grid"),
    "lab.grammar.trial": ("Computation", "Measure", "Plan", "Trial"),
    "lab.grammar.verdict": ("VERDICTS", "ClaimResult", "Verdict", "judge"),
    "support.intervals": ("interval",),
    "models.configs": ("ModelConfig",),
    "training.learner": ("Curriculum", "Descent", "Learner", "Optimum"),
    "worlds.registry": ("WorldConfig",),
}

__getattr__, __dir__ = lazily(__name__, _HOMES, base="inweights")
