"""Write ``board.json``, ``board.csv``, a feed of changed verdicts, and ``llms.txt``.

Addresses in these files are relative, so that they are valid wherever the site is, also
on a disk.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from inweights.actions.ledger.ledger import Ledger
from inweights.actions.ledger.lines import Earlier, JudgedLine, Withdrawn
from inweights.config import to_plain
from inweights.experiments.claims.claim_result import ClaimResult
from inweights.report.base.html import escape
from inweights_site.board import PAPERS, kept

__all__ = ["address", "changes", "feed", "in_short", "write"]

_COLUMNS = (
    "claim",
    "source",
    "place",
    "verdict",
    "protocol",
    "printed",
    "target",
    "measured",
    "low",
    "high",
    "seeds",
    "met_by",
    "level",
    "version",
    "check",
    "text",
    "address",
)
#: Number of changes in the feed, newest first; the ledger contains all of them.
_MOST = 200


def write(folder: Path, index: str, titles: Mapping[str, str]) -> None:
    """Write all files to the folder of the site.

    Args:
        folder: Folder of the site.
        index: Its first page as Markdown, whose lists of pages ``llms.txt`` follows.
        titles: Titles of the pages by their names.
    """
    board = kept()
    rows = [_row(claim) for claim in board.claims]
    whole = [
        {**to_plain(claim), "address": address(claim.id)} for claim in board.claims
    ]
    text = json.dumps(whole, ensure_ascii=False, indent=1)
    (folder / "board.json").write_text(text + "\n", "utf-8")
    stream = io.StringIO()
    writer = csv.DictWriter(stream, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    (folder / "board.csv").write_text(stream.getvalue(), "utf-8")
    (folder / "verdicts.xml").write_text(feed(board.ledger_lines), "utf-8")
    (folder / "llms.txt").write_text(in_short(index, titles), "utf-8")


def address(claim: str) -> str:
    """Return the address of a claim on the board, relative to the site."""
    return f"board.html#{claim}"


def _row(claim: ClaimResult) -> dict[str, object]:
    """Return a claim as a row of the table."""
    return {
        "claim": claim.id,
        "source": claim.source,
        "place": claim.place,
        "verdict": claim.verdict,
        "protocol": claim.protocol or "",
        "printed": claim.published or "",
        "target": claim.target.text,
        "measured": claim.measured,
        "low": claim.low,
        "high": claim.high,
        "seeds": claim.replicates,
        "met_by": claim.hits,
        "level": claim.level,
        "version": claim.version,
        "check": claim.check,
        "text": claim.text,
        "address": address(claim.id),
    }


def changes(ledger: Ledger) -> Iterator[tuple[int, JudgedLine | Withdrawn, str]]:
    """Yield each line of the ledger that changed a verdict, with its number and the old verdict.

    The first verdict on a claim is not a change. The withdrawal of a claim is a change,
    because the claim no longer has a verdict.

    Args:
        ledger: The ledger.
    """
    last: dict[tuple[str, str], str] = {}
    for place, line in enumerate(ledger.lines):
        if not isinstance(line, JudgedLine | Earlier | Withdrawn):
            continue
        key = line.name, line.scale
        before = last.get(key, "")
        if isinstance(line, Withdrawn) or (
            isinstance(line, JudgedLine) and before not in ("", line.verdict)
        ):
            yield place, line, before
        last[key] = line.verdict


def feed(ledger: Ledger) -> str:
    """Return the newest changes of verdicts as an Atom feed.

    Args:
        ledger: The ledger.
    """
    found = list(changes(ledger))[-_MOST:][::-1]
    updated = found[0][1].date if found else "2026-01-01"
    entries = "".join(_entry(*change) for change in found)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        '<feed xmlns="http://www.w3.org/2005/Atom">\n'
        "<id>urn:inweights:verdicts</id>\n"
        "<title>inweights: verdicts that changed</title>\n"
        f"<updated>{updated}T00:00:00Z</updated>\n"
        "<author><name>the inweights authors</name></author>\n"
        '<link rel="self" href="verdicts.xml"/>\n<link href="board.html"/>\n'
        f"{entries}</feed>\n"
    )


def _entry(place: int, line: JudgedLine | Withdrawn, before: str) -> str:
    """Return one change as an entry, whose stable id contains its line in the ledger."""
    if isinstance(line, Withdrawn):
        now, about = "withdrawn", f"{line.text} {line.why}"
    else:
        now, about = line.verdict, _measured(line)
    title = f"{line.name}: {before or line.verdict} → {now}"
    link = "" if now == "withdrawn" else f'<link href="{escape(address(line.name))}"/>'
    return (
        f"<entry><id>urn:inweights:ledger:{place + 1}</id><title>{escape(title)}</title>"
        f"<updated>{line.date}T00:00:00Z</updated>{link}"
        f"<summary>{escape(about)}</summary></entry>\n"
    )


def _measured(line: JudgedLine) -> str:
    """Return the measured number as text."""
    text = f"Version {line.version}, {line.seeds} seeds"
    if line.measured is not None:
        text += f", measured {line.measured:.3g}"
    if line.low is not None and line.high is not None:
        text += f" ({line.low:.3g} to {line.high:.3g})"
    return text


def in_short(index: str, titles: Mapping[str, str]) -> str:
    """Return a summary of the site for language models: its purpose and its pages.

    Args:
        index: The first page as Markdown.
        titles: Titles of the pages by their names.
    """
    claims = kept().claims
    lines = [
        "# inweights",
        "",
        "> A laboratory for in-weights reasoning: train a sequence model on atomic facts, and",
        "> find out by theory, probes and experiments whether it combines facts that it never",
        "> saw together.",
        "",
        f"{len(claims)} claims of papers and of our own have a verdict, by where a whole",
        "interval lies.",
        "A verdict in a substitute ('consistent', 'not seen in a substitute') counts for no side.",
        "",
        "## Data",
        "",
        "- [board.json](board.json): every claim with its verdict, interval, seeds and target",
        "- [board.csv](board.csv): the same as a table",
        "- [verdicts.xml](verdicts.xml): verdicts that changed, as an Atom feed",
        "- [claims/index.json](claims/index.json): names and verdicts; claims/NAME.json has each",
    ]
    for caption, pages in re.findall(
        r"```\{toctree\}\n:hidden:\n:caption: (.*?)\n\n(.*?)```", index, re.DOTALL
    ):
        lines += ["", f"## {caption}", ""]
        lines += [
            f"- [{titles.get(page, page)}]({page}.html)" for page in pages.split()
        ]
    lines += ["", "## Recipes", ""]
    lines += [
        f"- [{title}](recipes/{name}.html): its figures, with every claim"
        for name, title in PAPERS.items()
    ]
    return "\n".join(lines) + "\n"
