"""Convert texts of the library to Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

__all__ = ["code", "table", "words"]


def words(text: str) -> str:
    r"""Return a sentence as Markdown; words between backticks remain code.

    Example:
        >>> words("uses `b -> b` * 2 < 3")
        'uses `b -> b` \\* 2 \\< 3'
    """
    parts = re.split(r"(`[^`]+`)", text)
    return "".join(
        p if p.startswith("`") else re.sub(r"([\\*_\[\]<>$|#~^{}])", r"\\\1", p)
        for p in parts
    )


def code(text: str) -> str:
    """Return a word as code, for a table or a line of text."""
    clean = text.replace("|", "¦").replace("`", "'")
    return f"`{clean}`"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Return the lines of a Markdown table."""
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(row) + " |"
