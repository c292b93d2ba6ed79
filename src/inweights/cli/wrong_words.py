"""Say what is wrong with the words of a command, and where to read what it takes.

:func:`explain` makes a sentence of the parser's error; the commands raise it as they
raise every other wrong input.
"""

from difflib import get_close_matches
from inspect import signature

from cyclopts import CycloptsError, UnusedCliTokensError


def explain(error: CycloptsError) -> str:
    """Return what is wrong with a command's words, and which command lists what it takes.

    Args:
        error: The parser's own error, which says the first of it.
    """
    text = str(error)
    if not error.command_chain or error.target is None:
        # There is no such command: the parser lists some.
        return text
    command = " ".join(("inweights", *error.command_chain))
    if isinstance(error, UnusedCliTokensError):
        text = _too_many(command, error)
    joint = " " if text.endswith("?") else "; "
    return f"{text.removesuffix('.')}{joint}'{command} --help' lists what it takes"


def _too_many(command: str, error: UnusedCliTokensError) -> str:
    """Which words a command has no place for, what it takes, and an option close to one."""
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
    # Only what is an option but for its dashes, or nearly so: a file may have any name.
    for word in left:
        if close := get_close_matches(f"--{word}", known, n=1, cutoff=0.8):
            return f"{text}; did you mean {close[0]}?"
    return text
