"""Fill the template of a report, and find numbers in it that were typed by hand.

A template is Markdown with expressions of Jinja. Every number that is a result must be
such an expression, so that it follows from ``results/``. The numbers that may be typed,
such as names with digits and places in a paper, match :data:`_NO_RESULT`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, StrictUndefined, nodes
from matplotlib.figure import Figure

from inweights.errors import DataError
from inweights_report import figures, tables
from inweights_report.evidence import Evidence
from inweights_report.numbers import as_word

__all__ = ["FOLDER", "REPORTS", "Filled", "fill", "typed_numbers"]

FOLDER = Path(__file__).parents[2] / "report"
#: Names of the templates in ``docs/report``.
REPORTS = ("positions", "two-papers")
#: Numbers that are not results: in code, links, places in papers, and names.
_NO_RESULT = re.compile(
    r"```.*?```|`[^`\n]+`|\]\([^)]*\)"
    r"|§\s?[A-Z]?[\d.]*\d"
    r"|\b(?:Fig\.|Figures?|Tables?|Appendix|Lemmas?|Theorems?|Propositions?|Equation) \d+"
    r"|\b[A-Za-z][A-Za-z]*-?\d+\b",
    re.DOTALL,
)
#: A formula may contain integers of one digit, as in ``x^2``.
_FORMULA = re.compile(r"\$\$?(.*?)\$\$?", re.DOTALL)
_IN_FORMULA = re.compile(r"\d*\.\d+|\d{2,}")
_NUMBER = re.compile(
    r"\d[\d.,]*"
    r"|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|sixteen|twenty"
    r"|thirty|hundred|thousand|million|half|quarter|twice|dozen)\b",
    re.IGNORECASE,
)
_FRONT = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)


@dataclass(frozen=True)
class Filled:
    """Report with its numbers filled in.

    Attributes:
        name: Name of the template.
        text: The text as Markdown.
        about: Fields of the header, such as ``title``, ``type``, ``of`` and ``data``.
        pictures: The figures, keyed by their names in the text.
    """

    name: str
    text: str
    about: dict[str, str]
    pictures: dict[str, Figure]


def fill(name: str, evidence: Evidence, source: str | None = None) -> Filled:
    """Fill in the numbers of a template.

    Args:
        name: Name of the report, one of :data:`REPORTS`.
        evidence: The results to which it refers.
        source: The template; by default the one in ``docs/report``.

    Raises:
        DataError: A number is typed by hand, a reference does not exist, or a sentence
            states a verdict on a claim that differs from the board.
    """
    text = source or (FOLDER / f"{name}.md").read_text("utf-8")
    typed = list(typed_numbers(text))
    if typed:
        raise DataError(
            f"docs/report/{name}.md has numbers that were typed by hand: "
            f"{'; '.join(typed[:5])}. Refer to the result, {{{{ … }}}}"
        )
    numbered = _Numbered(evidence, text)
    words = {
        "board": evidence,
        "claims": evidence.cited,
        "figure": numbered.figure,
        "table": numbered.table,
        "see": numbered.see,
        "spread": tables.spread_of,
        "word": as_word,
    }
    filled = _environment().from_string(text).render(words)
    front = _FRONT.match(filled)
    lines = front[0].splitlines()[1:-1] if front else []
    about = dict(
        line.replace("`", "").replace("*", "").split(": ", 1)
        for line in lines
        if ": " in line
    )
    body = filled[front.end() :] if front else filled
    return Filled(name, body, about, numbered.pictures)


def typed_numbers(text: str) -> Iterator[str]:
    """Yield each number of a template that was typed by hand, with the words around it.

    Args:
        text: The template.

    Example:
        >>> list(typed_numbers("{{ x }} of the seeds, and GPT-2 finds 0.9 of them"))
        ['seeds, and … finds 0.9 of them']
    """
    for node in _environment().parse(text).find_all(nodes.Output):
        for part in node.nodes:
            if isinstance(part, nodes.TemplateData):
                yield from _typed(part.data)
            elif isinstance(part, nodes.Const):
                yield f"{{{{ {part.value!r} }}}}"


def _typed(text: str) -> Iterator[str]:
    """Yield the numbers in a part of the text."""
    for formula in _FORMULA.finditer(text):
        if found := _IN_FORMULA.search(formula[1]):
            yield f"{found[0]} in ${formula[1]}$"
    plain = _NO_RESULT.sub(" … ", _FORMULA.sub(" … ", text))
    for found in _NUMBER.finditer(plain):
        around = plain[max(0, found.start() - 24) : found.end() + 16]
        yield " ".join(around.split())


class _Numbered:
    """Figures and tables of one report, numbered in order of appearance."""

    def __init__(self, evidence: Evidence, text: str) -> None:
        self.evidence = evidence
        self.pictures: dict[str, Figure] = {}
        self.order = {
            kind: re.findall(rf'call {kind}\("([\w-]+)"', text)
            for kind in ("figure", "table")
        }

    def figure(self, name: str, alt: str, caller: object = None) -> str:
        """Return a picture with its caption, which is the content of the block in the template."""
        self.pictures[name] = figures.draw_figure(name, self.evidence)
        caption = " ".join(str(caller()).split()) if callable(caller) else ""
        return f"![{alt}](figures/{name}.svg)\n\n**{self.see(name)}.** {caption}\n"

    def table(self, name: str, *arguments: str, caller: object = None) -> str:
        """Return a table below its caption, which is the content of the block in the template."""
        caption = " ".join(str(caller()).split()) if callable(caller) else ""
        lines = tables.TABLES[name.partition("-of-")[0]](self.evidence, *arguments)
        return f"**{self.see(name)}.** {caption}\n\n" + "\n".join(lines) + "\n"

    def see(self, name: str) -> str:
        """Return the numbered name of a figure or table, such as ``Figure 1``."""
        for kind, names in self.order.items():
            if name in names:
                return f"{kind.capitalize()} {names.index(name) + 1}"
        raise DataError(f"the report has no figure or table '{name}'")


def _environment() -> Environment:
    # The filled-in values are text of Markdown; they are escaped when the page is written.
    return Environment(  # noqa: S701
        undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True
    )
