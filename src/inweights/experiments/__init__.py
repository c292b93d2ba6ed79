"""Describe experiments, run them, and judge their results.

The grammar (:class:`Trial`, :class:`Measure`, :class:`Plan`, :class:`Claim`,
:class:`Recipe`) describes what is trained, measured, drawn and claimed. The engine
computes the tables, and studies vary an experiment. ``recipes`` describes papers in this
grammar, and ``report`` draws the figures.
"""

from typing import TYPE_CHECKING

from inweights.support.lazy import lazily

if TYPE_CHECKING:
    from inweights.config.outside import Outside as Outside
    from inweights.experiments.claims.claim import VERDICTS as VERDICTS
    from inweights.experiments.claims.claim import Claim as Claim
    from inweights.experiments.claims.claim import Verdict as Verdict
    from inweights.experiments.claims.claim_result import ClaimResult as ClaimResult
    from inweights.experiments.claims.score import Judged as Judged
    from inweights.experiments.claims.score import Score as Score
    from inweights.experiments.claims.score import Value as Value
    from inweights.experiments.claims.score import computed as computed
    from inweights.experiments.claims.score import cosine as cosine
    from inweights.experiments.claims.score import number as number
    from inweights.experiments.claims.score import share as share
    from inweights.experiments.claims.stating import Stating as Stating
    from inweights.experiments.claims.target import Target as Target
    from inweights.experiments.claims.verdict import judge as judge
    from inweights.experiments.engine.saved_models import SavedModel as SavedModel
    from inweights.experiments.grammar.controls import CONTROLS as CONTROLS
    from inweights.experiments.grammar.controls import beyond_control as beyond_control
    from inweights.experiments.grammar.controls import with_controls as with_controls
    from inweights.experiments.grammar.figure import Figure as Figure
    from inweights.experiments.grammar.figure import atlas as atlas
    from inweights.experiments.grammar.figure import auto as auto
    from inweights.experiments.grammar.figure import heatmaps as heatmaps
    from inweights.experiments.grammar.figure import lines as lines
    from inweights.experiments.grammar.figure import states as states
    from inweights.experiments.grammar.figure import sweeps as sweeps
    from inweights.experiments.grammar.figure import through_time as through_time
    from inweights.experiments.grammar.paper import Paper as Paper
    from inweights.experiments.grammar.recipe import SCALES as SCALES
    from inweights.experiments.grammar.recipe import Recipe as Recipe
    from inweights.experiments.grammar.recipe_file import read_recipe as read_recipe
    from inweights.experiments.grammar.seed_choice import parse_seeds as parse_seeds
    from inweights.experiments.grammar.shown import Shown as Shown
    from inweights.experiments.grammar.shown import shows as shows
    from inweights.experiments.grammar.trial import Computation as Computation
    from inweights.experiments.grammar.trial import Measure as Measure
    from inweights.experiments.grammar.trial import Plan as Plan
    from inweights.experiments.grammar.trial import Trial as Trial
    from inweights.experiments.grammar.variation.axes import grid as grid
    from inweights.experiments.studies.cost_estimate import Forecast as Forecast
    from inweights.experiments.studies.study import open_study as open_study
    from inweights.experiments.studies.sweep_object import Study as Study
    from inweights.models.configs.model_config import ModelConfig as ModelConfig
    from inweights.support.plugins import load_plugins as load_plugins
    from inweights.support.statistics.intervals import interval as interval
    from inweights.training.learners.descent import Descent as Descent
    from inweights.training.learners.kinds import Curriculum as Curriculum
    from inweights.training.learners.kinds import Learner as Learner
    from inweights.training.learners.without_training import Optimum as Optimum
    from inweights.worlds.registry import WorldConfig as WorldConfig

lazily(__name__, renamed={"KeptModel": "SavedModel"})
