"""Training: :func:`train` trains a model with a :class:`Curriculum`.

A learner (:class:`Curriculum`, :class:`Descent`, :class:`Optimum`, :class:`Fixed`)
turns a world and a model's config into a trained model, which probes then measure.
``learners`` contains named settings for each family of worlds. Configs do not import
torch; other names import what they need when they are first used.
"""

from typing import TYPE_CHECKING

from inweights.support.lazy import lazily

if TYPE_CHECKING:
    from inweights.training import learners as learners
    from inweights.training.checkpoint import Checkpoint as Checkpoint
    from inweights.training.curriculum import Curriculum as Curriculum
    from inweights.training.curriculum import Edit as Edit
    from inweights.training.curriculum import Optimizer as Optimizer
    from inweights.training.curriculum import Phase as Phase
    from inweights.training.curriculum import Schedule as Schedule
    from inweights.training.curriculum import Stop as Stop
    from inweights.training.learners.descent import Descent as Descent
    from inweights.training.learners.kinds import Learner as Learner
    from inweights.training.learners.kinds import OwnLearner as OwnLearner
    from inweights.training.learners.kinds import register_learner as register_learner
    from inweights.training.learners.without_training import Fixed as Fixed
    from inweights.training.learners.without_training import Optimum as Optimum
    from inweights.training.loop import Result as Result
    from inweights.training.loop import train as train
    from inweights.training.observers import Observer as Observer
    from inweights.training.observers import Step as Step
    from inweights.training.scoring import answer_columns as answer_columns
    from inweights.training.scoring import answer_logits as answer_logits
    from inweights.training.scoring import answer_ranks as answer_ranks
    from inweights.training.trackers import Tracker as Tracker

lazily(__name__, renamed={"answers_of": "answer_columns"})
