"""Build the page of an audit: one HTML file that opens offline and begins with the answer.

``inweights audit --page`` writes the result of :func:`build_audit_page` to a file.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import polars as pl
from matplotlib.figure import Figure as Picture

from inweights.audit import Audit
from inweights.audit.findings import findings
from inweights.audit.outlook import headline, outlook
from inweights.config import load_toml
from inweights.report.base import style
from inweights.report.base.html import figure_card, prose, tag
from inweights.report.base.save import Still, inline
from inweights.report.pages.audit_figures import chains_figure, outlook_figure
from inweights.report.pages.facts_page import facts_page, finding, tables_list
from inweights.theory.prediction.trust import trust

_WORDS: dict[str, str] = load_toml(Path(__file__).with_suffix(".toml"))
_LEVELS = {"act": "To do", "good": "Good", "note": "To know"}


def build_audit_page(made: Audit, name: str) -> str:
    """Return the page of an audit as HTML; equal audits result in equal pages.

    Args:
        made: The audit.
        name: Name of the set of facts, which is the title of the page.
    """
    found = outlook(made)
    items = (
        finding(_LEVELS[f.level], f.level, f.title, tag("p", prose(f.text)))
        for f in findings(made)
    )
    return facts_page(
        "Audit of facts",
        name,
        headline(made),
        counts=_counts(made),
        answer=[_explain(made)],
        sections=[
            ("findings", "What to do", tag("ul", *items, class_="findings")),
            ("figures", "Figures", _figures(made, found)),
            ("tables", "Tables", tables_list(_tables(made, found))),
        ],
    )


def _counts(made: Audit) -> list[tuple[str, str]]:
    facts = made.knowledge
    return [
        ("facts", f"{len(facts):,}"),
        ("entities", f"{len(facts.entities) - made.entity_positions['literal']:,}"),
        ("dates, numbers", f"{made.entity_positions['literal']:,}"),
        ("relations", f"{len(facts.relations):,}"),
        ("bridges", f"{made.bridges.height:,}"),
        ("subjects only", f"{made.entity_positions['subject only']:,}"),
        ("answers only", f"{made.entity_positions['object only']:,}"),
    ]


def _explain(made: Audit) -> str:
    if not made.compositions.height:
        return _WORDS["no questions"]
    if made.forecast is None:
        return _WORDS["not predicted"]
    worth = trust(made.forecast)
    return f"{_WORDS['predicted']} {worth[:1].upper()}{worth[1:]}."


def _figures(made: Audit, found: pl.DataFrame) -> str:
    if not found.height:
        return ""
    rest = found.height > 14
    predicted = made.forecast is not None
    bars = "bars" if predicted else "bars at best"
    outcome = (
        f"{'Predicted' if predicted else 'Best possible'} outcome of the questions"
    )
    drawn = [
        (
            "outlook",
            outcome,
            partial(outlook_figure, found),
            f"{_WORDS['pairs']}{', the largest 14 pairs' if rest else ''}. {_WORDS[bars]}",
        ),
        (
            "chains",
            "Chains of relations",
            partial(chains_figure, made.compositions),
            _WORDS["chains"],
        ),
    ]
    return "".join(
        figure_card(number, key, title, _both(picture, key, title), caption)
        for number, (key, title, picture, caption) in enumerate(drawn, start=1)
    )


def _both(picture: Callable[[], Picture], key: str, title: str) -> str:
    with style.on_a_phone():
        phone = picture()
    return inline(title, Still(picture(), key), Still(phone, f"{key}-phone"))


#: The column ``expected``, which is the accuracy that ties alone would allow, and its
#: name on the page. A prediction may be lower.
_AT_BEST = {"expected": "at best"}


def _tables(made: Audit, found: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    remarks = pl.DataFrame(
        [
            (r.kind, ", ".join(map(str, r.lines[:8])), r.text)
            for r in made.knowledge.remarks
        ],
        schema=dict.fromkeys(("kind", "lines", "remark"), pl.String),
        orient="row",
    )
    known = found.select(
        column for column in found if column.null_count() < len(column)
    )
    relations = made.relations.join(
        made.name_overlap, on="relation", maintain_order="left"
    )
    tables = [
        ("Questions by pair of relations", known.rename(_AT_BEST, strict=False)),
        ("Compositions", made.compositions.rename(_AT_BEST, strict=False)),
        ("Bridges", made.bridges),
        ("Analogies", made.transfers),
        ("Relations and shortcuts", relations),
        ("Leaks", made.leaks),
        ("Wording of facts and questions", made.samples),
        ("Remarks on the file", remarks),
    ]
    if made.forecast is not None:
        kept = (
            "role",
            "prompt",
            "answer",
            "predicted",
            "verdict",
            "margin",
            "expected",
        )
        tables.insert(1, ("Every question", made.forecast.surprising().select(kept)))
        tables.insert(2, ("Dropped facts", made.forecast.let_go))
    return tables
