"""The reference of the command line, from the commands themselves."""

from __future__ import annotations

import re

from inweights.cli.commands import app

__all__ = ["page"]

_HEAD = """# Commands

What `inweights COMMAND --help` prints. Every command has `--json`; bad input ends with exit code 2
and one line that says what to do, a failed run with 1.

"""


def page() -> str:
    """Return the reference of all commands as Markdown."""
    text = app.generate_docs(output_format="markdown")
    start = text.index("\n## inweights ")
    text = re.sub(r"^(#+) inweights (.+)$", r"\1 `\2`", text[start:], flags=re.MULTILINE)
    # Under 'python -m sphinx' each usage has a part of the name of the running program.
    text = re.sub(r"^(inweights \S+) -m \S+", r"\1", text, flags=re.MULTILINE)
    # That a switch is off and a list empty goes without saying.
    text = re.sub(r' \*\[default: (?:False|\(\)|"")\]\*', "", text)
    return _HEAD + text.lstrip()
