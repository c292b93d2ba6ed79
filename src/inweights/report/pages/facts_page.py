"""Lay out pages about a user's facts: answer, findings, tables.

:func:`facts_page` makes the pages of audits and predictions.
"""

from collections.abc import Iterable, Sequence

import polars as pl

from inweights.report.base.document import asset, document
from inweights.report.base.html import disclosure, escape, meta, nav, prose, tag
from inweights.report.base.html_tables import sortable
from inweights.support.progress import plural


def facts_page(
    about: str,
    name: str,
    headline: str,
    *,
    counts: Iterable[tuple[str, str]],
    answer: Iterable[str],
    sections: Sequence[tuple[str, str, str]],
) -> str:
    """Return a page about a user's facts, as HTML.

    Args:
        about: Kind of the page, which is written above the title.
        name: Name of the facts, which is the title.
        headline: The answer in one sentence, as plain text.
        counts: Pairs of name and value of the numbers below the title.
        answer: Paragraphs below the headline, as plain text in which words between
            backticks are set as code; empty ones are left out.
        sections: Id, title and content of each section, the last two as HTML; sections
            without content are left out.
    """
    told = [section for section in sections if section[-1]]
    links = [("verdict", "Answer"), *((key, title) for key, title, _ in told)]
    body = tag(
        "main",
        tag(
            "header",
            tag("p", escape(about), class_="paper"),
            tag("h1", escape(name)),
            meta(counts),
            nav(links),
        ),
        tag(
            "section",
            tag("h2", escape(headline), class_="verdict small"),
            *(tag("p", prose(text), class_="summary") for text in answer if text),
            id="verdict",
        ),
        *(
            tag("section", tag("h2", title), inner, id=key)
            for key, title, inner in told
        ),
    )
    return document(
        f"{headline} – {name}",
        body,
        styles=["page.css", "audit.css"],
        scripts=[asset("sort.js")],
    )


def finding(level: str, kind: str, title: str, *inner: str) -> str:
    """Return one finding as an entry of an HTML list.

    Args:
        level: Its urgency, such as ``To do``, as HTML.
        kind: ``act``, ``good`` or ``note``, which determines the style of the entry.
        title: Title, as plain text.
        *inner: HTML below the title.
    """
    text = tag("div", tag("h3", escape(title)), *inner)
    return tag("li", tag("span", level, class_="level"), text, class_=f"is-{kind}")


def tables_list(tables: Sequence[tuple[str, pl.DataFrame]], *, opened: int = 0) -> str:
    """Return tables in blocks that can be opened, as HTML; tables without rows are left out.

    Args:
        tables: Pairs of a title and a table.
        opened: Index of the table whose block is open at the beginning, also counting
            tables without rows; by default 0, the first. -1 opens none.
    """
    return "".join(
        disclosure(
            escape(title) + tag("span", plural(table.height, "row"), class_="size"),
            sortable(title, table),
            open_=place == opened,
        )
        for place, (title, table) in enumerate(tables)
        if table.height
    )
