"""The command line: commands, how answers look, errors and exit codes."""

from typing import TYPE_CHECKING

from inweights.support.lazy import lazily

if TYPE_CHECKING:
    from inweights.cli.entry import main as main

lazily(__name__)
