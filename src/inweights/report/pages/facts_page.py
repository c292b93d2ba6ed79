"""Lay out pages about a user's facts, with an answer, findings and tables.

:func:`facts_page` builds the pages of audits and predictions.
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
        about: Kind of the page, which is shown above the title, as plain text.
        name: Name of the set of facts, which is the title, as plain text.
        headline: The answer in one sentence, as plain text.
        counts: Numbers that are shown below the title: pairs of a name (HTML) and a
            value (plain text).
        answer: Paragraphs below the headline, as plain text in which words between
            backticks are code. Empty paragraphs are left out.
        sections: Triples of id, title and content of each section; title and content
            are HTML. Sections without content are left out.
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
        level: Urgency of the finding, such as ``To do``, as HTML.
        kind: ``act``, ``good`` or ``note``, which determines the style of the entry.
        title: Title, as plain text.
        *inner: Pieces of HTML below the title.
    """
    text = tag("div", tag("h3", escape(title)), *inner)
    return tag("li", tag("span", level, class_="level"), text, class_=f"is-{kind}")


def tables_list(tables: Sequence[tuple[str, pl.DataFrame]], *, opened: int = 0) -> str:
    """Return tables as collapsible blocks of HTML; tables without rows are left out.

    Args:
        tables: Pairs of a title, as plain text, and a table.
        opened: Index in ``tables`` of the table whose block is initially open, by
            default 0. If it is -1, all blocks are closed.
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
