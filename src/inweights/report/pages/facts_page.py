"""The layout of a page about users' facts: summary, findings, tables."""

from collections.abc import Iterable, Sequence

import polars as pl

from inweights.report.base.document import asset, document
from inweights.report.base.html import disclosure, escape, meta, nav, prose, sortable, tag
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
    """Return the page as HTML."""
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
        *(tag("section", tag("h2", title), inner, id=key) for key, title, inner in told),
    )
    return document(
        f"{headline} – {name}", body, styles=["page.css", "audit.css"], scripts=[asset("sort.js")]
    )


def finding(level: str, kind: str, title: str, *inner: str) -> str:
    """Return one finding: its level in words, ``act``, ``good`` or ``note``, title and markup."""
    text = tag("div", tag("h3", escape(title)), *inner)
    return tag("li", tag("span", level, class_="level"), text, class_=f"is-{kind}")


def tables_list(tables: Sequence[tuple[str, pl.DataFrame]], *, opened: int = 0) -> str:
    """Return tables that have rows, each to be opened; that of the place ``opened`` is open."""
    return "".join(
        disclosure(
            escape(title) + tag("span", plural(table.height, "row"), class_="size"),
            sortable(title, table),
            open_=place == opened,
        )
        for place, (title, table) in enumerate(tables)
        if table.height
    )
