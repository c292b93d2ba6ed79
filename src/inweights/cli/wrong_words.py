"""Explain what is wrong with the arguments of a command, and which command lists valid ones.

:func:`explain` converts the parser's error to a sentence, which the commands raise like
any other error about wrong input.
"""

from difflib import get_close_matches
from inspect import signature

from cyclopts import CycloptsError, UnusedCliTokensError


def explain(error: CycloptsError) -> str:
    """Convert an error of the argument parser to a sentence that explains it.

    Args:
        error: The error that the parser raised.

    Returns:
        A sentence without a full stop. It contains the text of the error or, if there
        are too many arguments, the superfluous arguments and the arguments that the
        command accepts. If the command is known, the sentence also refers to its
        ``--help``.
    """
    text = str(error)
    if not error.command_chain or error.target is None:
        # The command is unknown; the parser's text already lists some commands.
        return text
    command = " ".join(("inweights", *error.command_chain))
    if isinstance(error, UnusedCliTokensError):
        text = _too_many(command, error)
    joint = " " if text.endswith("?") else "; "
    return f"{text.removesuffix('.')}{joint}'{command} --help' lists what it takes"


def _too_many(command: str, error: UnusedCliTokensError) -> str:
    """Return a message with the superfluous arguments, the expected ones, and a similar option."""
    left = error.unused_tokens or []
    listed = ", ".join(f"'{word}'" for word in left)
    parameters = signature(error.target).parameters.values() if error.target else ()
    takes = [one.name.upper() for one in parameters if one.kind is one.POSITIONAL_ONLY]
    places = f"only {' and '.join(takes)}" if takes else "no name or file"
    text = (
        f"'{command}' takes {places} besides its options, and was also given {listed}"
    )
    known: list[str] = []
    if error.app is not None:
        for argument in error.app.assemble_argument_collection():
            known += argument.names
    # Only words that resemble an option without its dashes, since a file may have any
    # name.
    for word in left:
        if close := get_close_matches(f"--{word}", known, n=1, cutoff=0.8):
            return f"{text}; did you mean {close[0]}?"
    return text
