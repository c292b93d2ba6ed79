"""A laboratory for in-weights reasoning: do models combine facts that they learnt separately?

Public names are imported when they are first used, so that ``import inweights`` and
``inweights --help`` do not import torch.

Example:
    >>> import inweights as iw
    >>> world = iw.TwoHop(n=4).build(seed=0)
    >>> model = iw.EmbMLPConfig().build(vocabulary=len(world.vocabulary), seeds=[0, 1])
    >>> _ = iw.train(model, world, iw.learners.two_hop_mlp(steps=100), seeds=[0, 1])
    >>> iw.probes.accuracy(model, world).columns[:3]
    ['replica', 'part', 'role']
"""

import sys

# While `python -m` searches for a module, `sys.argv[0]` is "-m", and the current folder
# comes first in `sys.path`. That folder contains the user's data: a `csv.py` in it
# would be imported in place of the standard library by the lines below.
if (
    sys.argv[:1] == ["-m"]
    and not sys.flags.safe_path
    and sys.orig_argv[-len(sys.argv)].removeprefix("-m").partition(".")[0]
    == "inweights"
):
    del sys.path[0]

import logging
from typing import TYPE_CHECKING

from inweights.support.lazy import lazily

if TYPE_CHECKING:
    from inweights import actions as actions
    from inweights import experiments as experiments
    from inweights import models as models
    from inweights import probes as probes
    from inweights import recipes as recipes
    from inweights import report as report
    from inweights import runs as runs
    from inweights import theory as theory
    from inweights import training as training
    from inweights import worlds as worlds
    from inweights.actions import ask as ask
    from inweights.actions import board as board
    from inweights.actions import compare_models as compare_models
    from inweights.actions import find as find
    from inweights.actions import from_dict as from_dict
    from inweights.actions import league as league
    from inweights.actions import load as load
    from inweights.actions import run as run
    from inweights.actions import to_dict as to_dict
    from inweights.actions.ledger.table_claims import (
        add_seeds_until_decided as add_seeds_until_decided,
    )
    from inweights.actions.ledger.table_claims import claim as claim
    from inweights.config import Config as Config
    from inweights.errors import ConfigError as ConfigError
    from inweights.errors import DataError as DataError
    from inweights.errors import InweightsError as InweightsError
    from inweights.errors import RunError as RunError
    from inweights.errors import SolverError as SolverError
    from inweights.experiments import Computation as Computation
    from inweights.experiments import Measure as Measure
    from inweights.experiments import Paper as Paper
    from inweights.experiments import Plan as Plan
    from inweights.experiments import Recipe as Recipe
    from inweights.experiments import Trial as Trial
    from inweights.experiments.studies.sweep import sweep as sweep
    from inweights.experiments.studies.sweep_object import Study as Study
    from inweights.models import GPT as GPT
    from inweights.models import EmbMLP as EmbMLP
    from inweights.models import EmbMLPConfig as EmbMLPConfig
    from inweights.models import GPTConfig as GPTConfig
    from inweights.models import Init as Init
    from inweights.models import Model as Model
    from inweights.models import load_model as load_model
    from inweights.models import save_model as save_model
    from inweights.models import wrap as wrap
    from inweights.probes import steer as steer
    from inweights.probes import steered as steered
    from inweights.report.figures.draw import plot as plot
    from inweights.report.wide import pivot as pivot
    from inweights.support.version import __version__ as __version__
    from inweights.theory import Prediction as Prediction
    from inweights.theory import Solution as Solution
    from inweights.theory import predict as predict
    from inweights.theory import solve as solve
    from inweights.training import Checkpoint as Checkpoint
    from inweights.training import Curriculum as Curriculum
    from inweights.training import Descent as Descent
    from inweights.training import Edit as Edit
    from inweights.training import Observer as Observer
    from inweights.training import Optimizer as Optimizer
    from inweights.training import Optimum as Optimum
    from inweights.training import Phase as Phase
    from inweights.training import Schedule as Schedule
    from inweights.training import Stop as Stop
    from inweights.training import Tracker as Tracker
    from inweights.training import learners as learners
    from inweights.training import train as train
    from inweights.worlds import Facts as Facts
    from inweights.worlds import Statements as Statements
    from inweights.worlds import Triples as Triples
    from inweights.worlds import TwoHop as TwoHop
    from inweights.worlds import Vocabulary as Vocabulary
    from inweights.worlds import World as World
    from inweights.worlds import load_world as load_world
    from inweights.worlds import open_world as open_world
    from inweights.worlds import save_world as save_world

# `import inweights.lab` still works: the folder `support/former` has a module for each
# former name of a package.
__path__.append(f"{__path__[0]}/support/former")
lazily(__name__, renamed={"lab": "experiments", "laboratory": "actions"})
# Log messages are discarded unless the program adds a handler.
logging.getLogger(__name__).addHandler(logging.NullHandler())
