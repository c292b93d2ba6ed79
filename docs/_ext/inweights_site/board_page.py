"""The board on the site: a line for each recipe, and what did not reproduce or is open.

``docs/board.md`` lists all claims in one table, for readers of the repository. On the site each
claim stands on the page of its recipe.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from inweights_site.board import PAPERS, entries, entries_of, kept, link, tally
from inweights_site.text import table, words

__all__ = ["page"]


def page() -> str:
    """Return the page as Markdown."""
    lines = [
        "# The board",
        "",
        "Every claim of every recipe has a verdict, by where the whole interval of its score lies;",
        "what did not reproduce stays. Each claim stands on the page of its recipe, at an address",
        "that can be [cited](citing.md). How they are judged: [verdicts](verdicts.md).",
        "",
        *_counts(),
        "",
    ]
    for folder, title in PAPERS.items():
        if chosen := entries_of(folder):
            rows = [
                [link(entry), words(entry.recipe.title), tally(entry.claims)] for entry in chosen
            ]
            lines += [f"## {title}", "", *table(["recipe", "what it shows", "verdicts"], rows), ""]
    for verdict in ("not reproduced", "undecided"):
        lines += [f"## What is {verdict}", "", *_list(verdict), ""]
    lines += ["## Withdrawn", "", *_withdrawn(), ""]
    return "\n".join(lines)


def _withdrawn() -> Iterator[str]:
    for one in kept().withdrawn:
        why = one.why or "no reason was recorded"
        yield (
            f"- <code>{one.name}</code> {words(one.text)} *{one.verdict}*, {one.date}: {words(why)}"
        )


def _counts() -> Iterator[str]:
    claims = [claim for entry in entries() for claim in entry.claims if not claim.check]
    for noun, chosen in (
        ("claims of the papers", [c for c in claims if c.source != "ours"]),
        ("claims of our own", [c for c in claims if c.source == "ours"]),
    ):
        counted = Counter(claim.verdict for claim in chosen)
        parts = ", ".join(f"{count} {verdict}" for verdict, count in counted.most_common())
        yield f"- {len(chosen)} {noun}: {parts}"
    yield f"- {kept().first_versions} of {len(kept().claims)} claims stand as first stated"


def _list(verdict: str) -> Iterator[str]:
    for entry in entries():
        for claim in entry.claims:
            if claim.verdict == verdict:
                short = claim.id.rpartition("/")[2]
                address = f"recipes/{entry.recipe.name}.html#{short}"
                yield f'- <a href="{address}"><code>{claim.id}</code></a> {words(claim.text)}'
