"""What the command line prints: tables for people, JSON for programs, one progress display.

Each command loads what it prints with, and no more.
"""

from typing import TYPE_CHECKING

from inweights.support.lazy import lazily

if TYPE_CHECKING:
    from inweights.cli.console.audits import audit as audit
    from inweights.cli.console.audits import augmented as augmented
    from inweights.cli.console.audits import cost as cost
    from inweights.cli.console.base import by_gap as by_gap
    from inweights.cli.console.base import cores as cores
    from inweights.cli.console.base import flat as flat
    from inweights.cli.console.base import progress as progress
    from inweights.cli.console.base import solving as solving
    from inweights.cli.console.base import written_page as written_page
    from inweights.cli.console.catalogue import ahead as ahead
    from inweights.cli.console.catalogue import cited as cited
    from inweights.cli.console.catalogue import costs as costs
    from inweights.cli.console.catalogue import described as described
    from inweights.cli.console.catalogue import models as models
    from inweights.cli.console.catalogue import recipes as recipes
    from inweights.cli.console.claims import board as board
    from inweights.cli.console.claims import settled as settled
    from inweights.cli.console.comparisons import replayed as replayed
    from inweights.cli.console.comparisons import sizes as sizes
    from inweights.cli.console.comparisons import standings as standings
    from inweights.cli.console.comparisons import ways as ways
    from inweights.cli.console.first import answers as answers
    from inweights.cli.console.first import doctor as doctor
    from inweights.cli.console.first import world as world
    from inweights.cli.console.forecast import prediction as prediction
    from inweights.cli.console.language import answered as answered
    from inweights.cli.console.language import epoch as epoch
    from inweights.cli.console.language import evaluated as evaluated
    from inweights.cli.console.language import finetuned as finetuned
    from inweights.cli.console.language import mask as mask
    from inweights.cli.console.language import requests as requests
    from inweights.cli.console.ledger import history as history
    from inweights.cli.console.ledger import markdown as markdown
    from inweights.cli.console.ledger import recorded as recorded
    from inweights.cli.console.results import compared as compared
    from inweights.cli.console.results import exported as exported
    from inweights.cli.console.results import outcome as outcome
    from inweights.cli.console.results import runs as runs
    from inweights.cli.console.results import status as status

lazily(__name__)
