"""The actions behind the commands, as Python functions: run recipes, read verdicts, query models.

:func:`run` runs a recipe, :func:`open_run` and :func:`verdicts` read finished runs, and
:func:`board` reads the results that are stored with the code. ``inweights`` itself
exports the same names, and the command line calls these functions. The engine and the
drawings are loaded at first use, so that commands that only read are fast.
"""

from typing import TYPE_CHECKING

from inweights.support.lazy import lazily

if TYPE_CHECKING:
    from inweights.actions.asking import ask as ask
    from inweights.actions.asking import compare_models as compare_models
    from inweights.actions.compared import compare as compare
    from inweights.actions.configs import from_dict as from_dict
    from inweights.actions.configs import to_dict as to_dict
    from inweights.actions.entries import league as league
    from inweights.actions.entries import replay as replay
    from inweights.actions.finished import find as find
    from inweights.actions.finished import open_run as open_run
    from inweights.actions.finished import verdicts as verdicts
    from inweights.actions.installed import doctor as doctor
    from inweights.actions.ledger.results import board as board
    from inweights.actions.ledger.results import history as history
    from inweights.actions.ledger.results import record as record
    from inweights.actions.ledger.results import state as state
    from inweights.actions.ledger.results import withdraw as withdraw
    from inweights.actions.making import costs as costs
    from inweights.actions.making import recipe_for as recipe_for
    from inweights.actions.making import run as run
    from inweights.actions.making import settle as settle
    from inweights.actions.plans.estimates import forecast as forecast
    from inweights.actions.starting import examples as examples
    from inweights.actions.starting import new as new
    from inweights.actions.zoo import Stored as Stored
    from inweights.actions.zoo import cards as cards
    from inweights.actions.zoo import load as load
    from inweights.recipes import recipes_like as recipes_like

lazily(__name__, renamed={"asked_for": "recipe_for"})
