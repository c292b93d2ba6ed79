"""The command line: commands, printed output, errors and exit codes."""

from typing import TYPE_CHECKING

from inweights.support.lazy import lazily

if TYPE_CHECKING:
    from inweights.cli.entry import main as main

lazily(__name__)
