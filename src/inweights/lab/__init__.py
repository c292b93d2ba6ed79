"""The grammar of experiments: world × model × learner → measures → table → score → claim."""

from typing import TYPE_CHECKING

from inweights.support.lazy import lazily

if TYPE_CHECKING:
    from inweights.config.outside import Outside as Outside
    from inweights.lab.engine.collect import KeptModel as KeptModel
    from inweights.lab.grammar.axes import grid as grid
    from inweights.lab.grammar.claim import VERDICTS as VERDICTS
    from inweights.lab.grammar.claim import Claim as Claim
    from inweights.lab.grammar.claim import ClaimResult as ClaimResult
    from inweights.lab.grammar.claim import Stating as Stating
    from inweights.lab.grammar.claim import Verdict as Verdict
    from inweights.lab.grammar.controls import CONTROLS as CONTROLS
    from inweights.lab.grammar.controls import beyond_control as beyond_control
    from inweights.lab.grammar.controls import with_controls as with_controls
    from inweights.lab.grammar.figure import Figure as Figure
    from inweights.lab.grammar.figure import Shown as Shown
    from inweights.lab.grammar.figure import atlas as atlas
    from inweights.lab.grammar.figure import auto as auto
    from inweights.lab.grammar.figure import heatmaps as heatmaps
    from inweights.lab.grammar.figure import lines as lines
    from inweights.lab.grammar.figure import shows as shows
    from inweights.lab.grammar.figure import states as states
    from inweights.lab.grammar.figure import sweeps as sweeps
    from inweights.lab.grammar.figure import through_time as through_time
    from inweights.lab.grammar.recipe import SCALES as SCALES
    from inweights.lab.grammar.recipe import Paper as Paper
    from inweights.lab.grammar.recipe import Recipe as Recipe
    from inweights.lab.grammar.recipe import parse_seeds as parse_seeds
    from inweights.lab.grammar.recipe_file import read_recipe as read_recipe
    from inweights.lab.grammar.score import Judged as Judged
    from inweights.lab.grammar.score import Score as Score
    from inweights.lab.grammar.score import Target as Target
    from inweights.lab.grammar.score import Value as Value
    from inweights.lab.grammar.score import computed as computed
    from inweights.lab.grammar.score import cosine as cosine
    from inweights.lab.grammar.score import number as number
    from inweights.lab.grammar.score import share as share
    from inweights.lab.grammar.trial import Computation as Computation
    from inweights.lab.grammar.trial import Measure as Measure
    from inweights.lab.grammar.trial import Plan as Plan
    from inweights.lab.grammar.trial import Trial as Trial
    from inweights.lab.grammar.verdict import judge as judge
    from inweights.lab.studies.cost import Forecast as Forecast
    from inweights.lab.studies.study import open_study as open_study
    from inweights.lab.studies.sweep import Study as Study
    from inweights.models.model_config import ModelConfig as ModelConfig
    from inweights.support.intervals import interval as interval
    from inweights.support.plugins import load_plugins as load_plugins
    from inweights.training.learner import Curriculum as Curriculum
    from inweights.training.learner import Descent as Descent
    from inweights.training.learner import Learner as Learner
    from inweights.training.learner import Optimum as Optimum
    from inweights.worlds.registry import WorldConfig as WorldConfig

lazily(__name__)
