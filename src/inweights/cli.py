"""The command line. Thin: it parses, calls the library and prints."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from io import TextIOWrapper

from cyclopts import CycloptsError

from inweights.commands import app
from inweights.errors import InweightsError

__all__ = ["app", "main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0, 2 for bad input, 1 for a failed run."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # what a terminal or file cannot show becomes '?'
            stream.reconfigure(errors="replace")
    words = [word for word in given if word != "--debug"]
    try:
        code = app(words, exit_on_error=False, print_error=False, result_action="return_value")
    except (CycloptsError, InweightsError) as error:
        if debug:
            raise
        from inweights.console.base import err

        err.print(f"inweights: {error}", soft_wrap=True)
        return error.exit_code if isinstance(error, InweightsError) else 2
    except KeyboardInterrupt:
        if debug:
            raise
        print("inweights: stopped; start it again and it goes on from here", file=sys.stderr)
        return 1
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    return code if isinstance(code, int) else 0
