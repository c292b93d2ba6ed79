"""The page of an audit: one HTML file that opens offline, the answer first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from inweights.audit.findings import findings, headline, outlook
from inweights.report.audit_figures import chains_figure, outlook_figure
from inweights.report.document import asset, document
from inweights.report.html import disclosure, escape, prose, sortable, tag
from inweights.report.save import Still
from inweights.theory.trust import trust

if TYPE_CHECKING:
    from inweights.audit import Audit

__all__ = ["build_audit_page"]

_LEVELS = {"act": "To do", "good": "Good", "note": "To know"}
_LINKS = (("verdict", "Answer"), ("findings", "What to do"), ("figures", "Figures"),
          ("tables", "Tables"))  # fmt: skip


def build_audit_page(made: Audit, name: str) -> str:
    """Return the page as HTML; the same audit gives the same bytes but for its time.

    Args:
        made: What was found.
        name: What the facts are called.

    Example:
        >>> from inweights.audit import audit
        >>> from inweights.worlds import read_knowledge
        >>> page = build_audit_page(audit(read_knowledge("@chemistry")), "@chemistry")
        >>> "7 of 36 two-step questions follow" in page, "https:" in page.split("<svg")[0]
        (True, False)
    """
    found = outlook(made)
    figures = _figures(made, found)
    links = [(key, text) for key, text in _LINKS if figures or key != "figures"]
    body = tag(
        "main",
        tag(
            "header",
            tag("p", "Audit of facts", class_="paper"),
            tag("h1", escape(name)),
            _meta(made),
            tag("nav", *(tag("a", t, href=f"#{k}") for k, t in links), aria_label="Sections"),
        ),
        tag("section", tag("h2", escape(headline(made)), class_="verdict small"),
            tag("p", prose(_explain(made)), class_="summary"), id="verdict"),
        _findings(made),
        figures,
        _tables(made, found),
    )  # fmt: skip
    return document(
        f"{headline(made)} – {name}",
        body,
        styles=["page.css", "audit.css"],
        scripts=[asset("sort.js")],
    )


def _meta(made: Audit) -> str:
    facts = made.knowledge
    told = [
        ("facts", f"{len(facts):,}"),
        ("entities", f"{len(facts.entities) - made.entity_positions['literal']:,}"),
        ("dates, numbers", f"{made.entity_positions['literal']:,}"),
        ("relations", f"{len(facts.relations):,}"),
        ("bridges", f"{made.bridges.height:,}"),
        ("subjects only", f"{made.entity_positions['subject only']:,}"),
        ("answers only", f"{made.entity_positions['object only']:,}"),
    ]
    cells = (tag("div", tag("dt", k), tag("dd", escape(v))) for k, v in told)
    return tag("dl", *cells, class_="meta")


def _explain(made: Audit) -> str:
    if not made.compositions.height:
        return (
            "A question of two steps needs an entity that ends one fact and begins another. "
            "Here no entity does."
        )
    text = (
        "A two-step question asks for the end of two facts that meet in one entity, the bridge, "
        "and is never trained. "
    )
    if made.forecast is not None:
        worth = trust(made.forecast)
        return text + (
            "It follows where the least-norm solution that fits the facts ranks its answer first "
            "(`inweights predict`); an identity is the statement b → b of a bridge. "
            f"{worth[:1].upper()}{worth[1:]}."
        )
    return text + (
        "An identity is the statement b → b of a bridge; where it is lacking, most of the "
        "questions through it are not answered in the paper's experiments."
    )


def _findings(made: Audit) -> str:
    items = (
        tag(
            "li",
            tag("span", _LEVELS[f.level], class_="level"),
            tag("div", tag("h3", escape(f.title)), tag("p", prose(f.text))),
            class_=f"is-{f.level}",
        )
        for f in findings(made)
    )
    return tag(
        "section", tag("h2", "What to do"), tag("ul", *items, class_="findings"), id="findings"
    )


def _figures(made: Audit, found: pl.DataFrame) -> str:
    if not found.height:
        return ""
    rest = found.height > 14
    drawn = [
        ("outlook", "What becomes of the questions", outlook_figure(found),
         "Two-step questions of each pair of relations (first, second)"
         + (", the largest 14 pairs. " if rest else ". ")
         + ("From the forecast, as the file is and with the advised identities."
            if made.forecast is not None else
            "No forecast: the dark part is what is right at best when the bridge is ignored, one "
            "in C, and only where its identity is stated.")),
        ("chains", "Which relations chain", chains_figure(made.compositions),
         "How many chains of two facts lead from a relation (row) into another (column)."),
    ]  # fmt: skip
    pictures = (
        tag(
            "figure",
            tag("h3", tag("span", f"Figure {number}"), escape(title)),
            tag("div", Still(picture, key).inline(escape(title)), class_="card"),
            tag("figcaption", prose(caption)),
            id=f"figure-{key}",
        )
        for number, (key, title, picture, caption) in enumerate(drawn, start=1)
    )
    return tag("section", tag("h2", "Figures"), *pictures, id="figures")


#: What ties alone would leave, where a forecast may say that nothing follows.
_AT_BEST = {"expected": "at best"}


def _tables(made: Audit, found: pl.DataFrame) -> str:
    remarks = pl.DataFrame(
        {
            "kind": [r.kind for r in made.knowledge.remarks],
            "lines": [", ".join(map(str, r.lines[:8])) for r in made.knowledge.remarks],
            "remark": [r.text for r in made.knowledge.remarks],
        },
        schema={"kind": pl.String, "lines": pl.String, "remark": pl.String},
    )
    relations = made.relations.join(made.name_overlap, on="relation", maintain_order="left")
    tables = [
        (
            "Questions by pair of relations",
            found.select(_known(found)).rename(_AT_BEST, strict=False),
        ),
        ("Compositions", made.compositions.rename(_AT_BEST, strict=False)),
        ("Bridges", made.bridges),
        ("Analogies", made.transfers),
        ("Relations and shortcuts", relations),
        ("Leaks", made.leaks),
        ("Remarks on the file", remarks),
    ]
    if made.forecast is not None:
        kept = ("role", "prompt", "answer", "predicted", "verdict", "margin", "expected")
        tables.insert(1, ("Every question", made.forecast.surprising().select(kept)))
        tables.insert(2, ("Facts that are let go", made.forecast.let_go))
    rows = [
        disclosure(
            escape(title) + tag("span", f"{table.height:,} rows", class_="size"),
            sortable(title, table),
            open_=number == 0,
        )
        for number, (title, table) in enumerate(tables)
        if table.height
    ]
    return tag("section", tag("h2", "Tables"), *rows, id="tables", class_="tables")


def _known(table: pl.DataFrame) -> list[str]:
    """Columns that say anything."""
    return [name for name in table.columns if table[name].null_count() < table.height]
