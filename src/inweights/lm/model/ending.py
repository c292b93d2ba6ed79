"""Define where a generated text ends: after a number of tokens, or at a stop outside of a name.

:func:`inweights.lm.generate` cuts texts with :func:`cut`.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Ending:
    """Conditions under which the continuation of a prompt ends.

    Attributes:
        tokens: Maximum number of tokens of the continuation.
        stop: Stop characters: the text ends before the first of them. A text that
            begins with a stop character is not cut. If empty, no text is cut.
        names: Names in which a stop character does not end the text, such as
            ``Dr. Lee``.
    """

    tokens: int = 12
    stop: str = ".\n"
    names: Sequence[str] = ()


def cut(text: str, stop: str, names: Sequence[str] = ()) -> tuple[str, bool]:
    """Cut a generated text at its first stop character outside of a name.

    Args:
        text: The text so far; white space at its start is removed.
        stop: Stop characters. A text that begins with one of them is not cut.
        names: Names in which a stop character does not end the text; by default none.

    Returns:
        Two values: the text before the stop character, and whether a stop character was
        found.
    """
    said = text.lstrip()
    if any(name.startswith(said) for name in names):
        return said, False  # the text may still become a name
    begun = max((len(name) for name in names if said.startswith(name)), default=0)
    ends = [said.index(mark, begun) for mark in stop if mark in said[begun:]]
    end = min(ends, default=0)
    if end > 0:
        return said[:end], True
    return said, False
