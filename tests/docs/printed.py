"""Read, compare and write the outputs that a page shows below its programs.

A Python block that prints is followed by a block of text with its output. If that text
is out of date, ``INWEIGHTS_WRITE=1 pytest tests/docs/test_pages.py`` writes it again.
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
#: A number may differ on another machine by NEAR, or by the fraction SHARE of its size,
#: whichever is larger.
NEAR, SHARE = 0.15, 0.1
_NUMBER = re.compile(r"[-+]?\d*\.?\d+(?:e[-+]?\d+)?")


class Block(NamedTuple):
    """A program of a page, and the output shown below it.

    Attributes:
        above: Number of lines of the page above the program.
        code: The program.
        printed: The output that the page shows; empty if it shows none.
        begin: Position in the page's text at which the block begins.
        end: Position at which the block, with its printed text, ends.
    """

    above: int
    code: str
    printed: str
    begin: int
    end: int


def blocks(text: str) -> list[Block]:
    """Return the Python blocks of a page in order."""
    found = []
    for match in BLOCK.finditer(text):
        above = text[: match.start("code")].count("\n")
        printed = match["printed"] or ""
        found.append(Block(above, match["code"], printed, match.start(), match.end()))
    return found


def same(printed: str, output: str) -> bool:
    """Return whether two texts have the same words, and the same numbers up to rounding.

    The rules of a table are left out, as their width depends on the widest cell.
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
    """Return a page's text with the outputs of its programs, one for each block."""
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
    """Write the outputs of a page's programs below them."""
    text = page.read_text("utf-8")
    page.write_text(with_outputs(text, outputs), "utf-8")
