"""The layout of pages about a user's facts: answer, findings, tables.

Audit and prediction pages are made by :func:`facts_page`.
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
    """Return a page about a user's facts as HTML.

    Args:
        about: What kind of page it is, above the heading.
        name: Name of the facts, the heading.
        headline: The answer in one sentence.
        counts: Name and value of each number below the heading.
        answer: Paragraphs below the answer; empty ones are left out.
        sections: Id, title and markup of each section; those without markup are left
            out.
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
    """Return markup of one finding, as an entry of a list.

    Args:
        level: Its level in words, such as ``To do``.
        kind: ``act``, ``good`` or ``note``, which decides its look.
        title: Title, as text.
        *inner: Markup below the title.
    """
    text = tag("div", tag("h3", escape(title)), *inner)
    return tag("li", tag("span", level, class_="level"), text, class_=f"is-{kind}")


def tables_list(tables: Sequence[tuple[str, pl.DataFrame]], *, opened: int = 0) -> str:
    """Return markup of tables that can be opened; tables without rows are left out.

    Args:
        tables: Title and table of each.
        opened: Place of the one that is open at first.
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
