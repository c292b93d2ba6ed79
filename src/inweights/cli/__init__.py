"""The command line: commands, printed output, errors and exit codes.

:func:`main` is the program ``inweights``. ``cli.commands`` contains the commands and
their options, and ``cli.console`` prints their results; the library does the work.
"""

from typing import TYPE_CHECKING

from inweights.support.lazy import lazily

if TYPE_CHECKING:
    from inweights.cli.entry import main as main

lazily(__name__)
