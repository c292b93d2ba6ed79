"""Print results: tables for people, JSON for programs, and a progress display.

Each module prints the results of some commands; ``base`` contains what all of them
share. A command imports only what it prints with.
"""

from typing import TYPE_CHECKING

from inweights.support.lazy import lazily

if TYPE_CHECKING:
    from inweights.cli.console import audits as audits
    from inweights.cli.console import augmented as augmented
    from inweights.cli.console import base as base
    from inweights.cli.console import catalogue as catalogue
    from inweights.cli.console import claims as claims
    from inweights.cli.console import comparisons as comparisons
    from inweights.cli.console import first as first
    from inweights.cli.console import forecast as forecast
    from inweights.cli.console import language as language
    from inweights.cli.console import ledger as ledger
    from inweights.cli.console import results as results
    from inweights.cli.console.base import ask as ask
    from inweights.cli.console.base import assumed as assumed
    from inweights.cli.console.base import cores as cores
    from inweights.cli.console.base import flat as flat
    from inweights.cli.console.base import written_page as written_page
    from inweights.cli.console.live.progress_display import by_gap as by_gap
    from inweights.cli.console.live.progress_display import progress as progress
    from inweights.cli.console.live.progress_display import solving as solving

lazily(__name__)
