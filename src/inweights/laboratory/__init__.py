"""The main door from Python: run a recipe, read the board.

What runs and draws is loaded when something runs or is drawn, so that looking is quick.
"""

from typing import TYPE_CHECKING

from inweights.support.lazy import lazily

if TYPE_CHECKING:
    from inweights.laboratory.asking import ask as ask
    from inweights.laboratory.asking import compare_models as compare_models
    from inweights.laboratory.configs import from_dict as from_dict
    from inweights.laboratory.configs import to_dict as to_dict
    from inweights.laboratory.entries import league as league
    from inweights.laboratory.entries import replay as replay
    from inweights.laboratory.finished import compare as compare
    from inweights.laboratory.finished import find as find
    from inweights.laboratory.finished import open_run as open_run
    from inweights.laboratory.finished import verdicts as verdicts
    from inweights.laboratory.installed import doctor as doctor
    from inweights.laboratory.making import asked_for as asked_for
    from inweights.laboratory.making import costs as costs
    from inweights.laboratory.making import forecast as forecast
    from inweights.laboratory.making import run as run
    from inweights.laboratory.making import settle as settle
    from inweights.laboratory.results import board as board
    from inweights.laboratory.results import history as history
    from inweights.laboratory.results import record as record
    from inweights.laboratory.results import state as state
    from inweights.laboratory.results import withdraw as withdraw
    from inweights.laboratory.starting import examples as examples
    from inweights.laboratory.starting import new as new
    from inweights.laboratory.zoo import Stored as Stored
    from inweights.laboratory.zoo import cards as cards
    from inweights.laboratory.zoo import load as load
    from inweights.recipes import recipes_like as recipes_like

lazily(__name__)
