"""Call a command of the command line in this process."""

from __future__ import annotations

from inweights.cli import main


def call(capsys, *words: str) -> tuple[int, str, str]:
    """Return the exit code of a command, its output, and its error output."""
    code = main(words)
    captured = capsys.readouterr()
    return code, captured.out, captured.err
