"""Write the board's page of the site: verdicts by recipe, and a list of claims to search.

``docs/board.md`` lists all claims in one table, for readers of the repository. On the
site, each claim is shown on the page of its recipe, and on this page in a list that can
be filtered. The address of a line is ``board.html#``, followed by the claim's name.
"""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterator

from inweights.cli.console.claims import counts
from inweights.experiments.claims.claim import VERDICTS
from inweights.experiments.claims.claim_result import ClaimResult
from inweights_site.board import PAPERS, Entry, entries_of, kept, tally
from inweights_site.text import words

__all__ = ["page"]

_COLUMNS = ("verdict", "claim", "measured", "target", "protocol", "version")


def page() -> str:
    """Return the page as Markdown."""
    whole = [*kept().claims]
    first = sum(claim.version == 1 for claim in whole)
    lines = [
        "# The board",
        "",
        "For readers who ask which claims hold. Every claim of every recipe has a verdict,",
        "by where the whole interval of its score lies; what did not reproduce stays. Each claim",
        "stands on the page of its recipe, at an address that can be [cited](citing.md).",
        "[Verdicts](verdicts.md) explains how they are judged.",
        "",
        '<p>As data: <a href="board.json">JSON</a> · <a href="board.csv">CSV</a> · '
        '<a href="verdicts.xml" type="application/atom+xml">a feed of verdicts that changed</a> · '
        '<a href="llms.txt">llms.txt</a></p>',
        "",
        *(f"- {line}" for line in counts(whole)),
        f"- {first} of {len(whole)} claims stand as they were first stated",
        "",
        "## Find a claim",
        "",
        "```{raw} html",
        *_search(),
        "```",
        "",
        "## By recipe",
        "",
        "```{raw} html",
        *_recipes(),
        "```",
        "",
        "## Withdrawn",
        "",
        *_withdrawn(),
        "",
    ]
    return "\n".join(lines)


def _recipes() -> Iterator[str]:
    """Return a table with a line for each recipe, in which a bar shows the verdicts."""
    yield '<table class="docutils board"><thead><tr><th>recipe</th><th>what it shows</th>'
    yield "<th>verdicts</th></tr></thead><tbody>"
    for folder, title in PAPERS.items():
        if chosen := entries_of(folder):
            yield f'<tr><th colspan="3">{html.escape(title)}</th></tr>'
            yield from map(_recipe, chosen)
    yield "</tbody></table>"


def _recipe(entry: Entry) -> str:
    name = entry.recipe.name
    found = Counter[str](claim.verdict for claim in entry.claims if not claim.check)
    bar = "".join(
        f'<span class="{verdict.replace(" ", "-")}" style="flex-grow:{found[verdict]}"></span>'
        for verdict in VERDICTS
        if found[verdict]
    )
    said = html.escape(tally(entry.claims))
    return (
        f'<tr><td><a href="recipes/{name}.html">{name.partition("/")[2]}</a></td>'
        f"<td>{html.escape(entry.recipe.title)}</td>"
        f'<td><span class="verdict-bar" role="img" aria-label="{said}">{bar}</span> '
        f"{said}</td></tr>"
    )


def _search() -> Iterator[str]:
    """Return the filters and a table of all claims, which the script of the site filters."""
    choices: dict[str, list[str]] = {
        "paper": list(PAPERS),
        "verdict": [*VERDICTS],
        "protocol": ["exact", "scaled", "substitute"],
        "version": sorted({str(claim.version) for claim in kept().claims}),
    }
    yield '<form id="board-filters">'
    for name, values in choices.items():
        options = "".join(f"<option>{value}</option>" for value in ["any", *values])
        yield f'<label>{name} <select name="{name}">{options}</select></label>'
    yield '<label>words <input name="words" type="search"></label></form>'
    yield '<p id="board-number" aria-live="polite"></p>'
    yield '<table id="board-claims" class="docutils"><thead><tr>'
    yield "".join(f"<th>{name}</th>" for name in _COLUMNS) + "</tr></thead><tbody>"
    yield from map(_row, kept().claims)
    yield "</tbody></table>"
    yield '<p><button id="board-more" type="button" hidden>Show more</button></p>'
    yield '<script src="_static/board.js" defer></script>'


def _row(claim: ClaimResult) -> str:
    """Return a line of the table, whose id is the address of the claim on this page."""
    recipe, _, short = claim.id.rpartition("/")
    says = html.escape(claim.text)
    if recipe.split("/")[0] in PAPERS:
        says = f'<a href="recipes/{recipe}.html#{short}">{says}</a>'
    place = f'<a href="#{claim.id}"><code>{claim.id}</code></a>'
    measured = "" if claim.measured is None else f"{claim.measured:.3g}"
    cells = (
        claim.verdict,
        f"{says}<br>{place}",
        measured,
        html.escape(claim.target.text),
        claim.protocol or "",
        str(claim.version),
    )
    row = "".join(f"<td>{cell}</td>" for cell in cells)
    return f'<tr id="{claim.id}" class="{claim.verdict.replace(" ", "-")}">{row}</tr>'


def _withdrawn() -> Iterator[str]:
    for one in kept().withdrawn:
        why = one.why or "no reason was recorded"
        yield (
            f"- <code>{one.name}</code> {words(one.text)} *{one.verdict}*, {one.date}: {words(why)}"
        )
