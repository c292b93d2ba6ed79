"""The grammar of experiments: world × model × learner → measures → table → score → claim."""

from __future__ import annotations

from inweights.lab.claim import Claim, Stating
from inweights.lab.figure import Figure, atlas, heatmaps, lines, states, sweeps, through_time
from inweights.lab.plugins import load_plugins
from inweights.lab.recipe import SCALES, Paper, Recipe, parse_seeds
from inweights.lab.score import Judged, Score, Target, Value, computed, cosine, number, share
from inweights.lab.trial import Computation, Measure, ModelConfig, Plan, Trial, WorldConfig
from inweights.lab.verdict import VERDICTS, ClaimResult, Verdict, interval, judge
from inweights.training.learner import Curriculum, Descent, Learner, Optimum

__all__ = [
    "SCALES",
    "VERDICTS",
    "Claim",
    "ClaimResult",
    "Computation",
    "Curriculum",
    "Descent",
    "Figure",
    "Judged",
    "Learner",
    "Measure",
    "ModelConfig",
    "Optimum",
    "Paper",
    "Plan",
    "Recipe",
    "Score",
    "Stating",
    "Target",
    "Trial",
    "Value",
    "Verdict",
    "WorldConfig",
    "atlas",
    "computed",
    "cosine",
    "heatmaps",
    "interval",
    "judge",
    "lines",
    "load_plugins",
    "number",
    "parse_seeds",
    "share",
    "states",
    "sweeps",
    "through_time",
]
