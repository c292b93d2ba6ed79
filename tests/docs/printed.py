"""What the programs of a page print, as it stands below them: read, compared, written.

A Python block that prints is followed by a block of text with what it printed. Where a
page's text is older than the program, ``INWEIGHTS_WRITE=1 pytest
tests/docs/test_pages.py`` writes it anew.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

BLOCK = re.compile(
    r"^```(?:python|\{code-cell\} python)\n(?::tags:[^\n]*\n)?(?P<code>.*?)^```$"
    r"(?:\n\n```text\n(?P<printed>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
#: By how much a number may differ on another machine: by so much, or by this share of
#: its size.
NEAR, SHARE = 0.15, 0.1
_NUMBER = re.compile(r"[-+]?\d*\.?\d+(?:e[-+]?\d+)?")


class Block(NamedTuple):
    """A program of a page, and what stands below it.

    Attributes:
        above: How many lines of the page stand above the program.
        code: The program.
        printed: What the page says that it prints; empty where it says nothing.
        begin: Where in the page's text the block begins.
        end: Where it ends, the printed text included.
    """

    above: int
    code: str
    printed: str
    begin: int
    end: int


def blocks(text: str) -> list[Block]:
    """Return the Python blocks of a page, in their order."""
    found = []
    for match in BLOCK.finditer(text):
        above = text[: match.start("code")].count("\n")
        printed = match["printed"] or ""
        found.append(Block(above, match["code"], printed, match.start(), match.end()))
    return found


def same(printed: str, output: str) -> bool:
    """Return whether two texts agree: word for word, and number for number up to rounding.

    Rules of a table are as wide as its widest cell, so that lines are compared without
    them.
    """
    one, other = _words(printed), _words(output)
    return len(one) == len(other) and all(map(_agree, one, other))


def _words(text: str) -> list[str]:
    return re.sub(r"[─═┌┐└┘├┤┬┴┼╞╡╪│┆╌]+", " ", text).split()


def _agree(one: str, other: str) -> bool:
    if one == other:
        return True
    if not _NUMBER.search(one) or _NUMBER.sub("#", one) != _NUMBER.sub("#", other):
        return False
    numbers = zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=True)
    return all(_near(float(a), float(b)) for a, b in numbers)


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= max(NEAR, SHARE * abs(one))


def with_outputs(text: str, outputs: Sequence[str]) -> str:
    """Return a page's text with what its programs printed, one text for each block."""
    parts = []
    end = 0
    for block, output in zip(blocks(text), outputs, strict=True):
        whole = text[block.begin : block.end]
        program = whole[: whole.index("\n```", 3) + len("\n```")]
        parts += [text[end : block.begin], program]
        if output:
            parts.append(f"\n\n```text\n{output.rstrip()}\n```")
        end = block.end
    return "".join([*parts, text[end:]])


def write(page: Path, outputs: Sequence[str]) -> None:
    """Write what a page's programs printed below them."""
    text = page.read_text("utf-8")
    page.write_text(with_outputs(text, outputs), "utf-8")
