"""Build the page of a prediction, with predicted assertions and failures, advice and tables.

``inweights predict --page`` writes the result of :func:`build_forecast_page` to a file.
"""

from collections.abc import Iterable

import polars as pl

from inweights.report.base.html import escape, tag
from inweights.report.pages.facts_page import facts_page, finding, tables_list
from inweights.support.progress import plural
from inweights.theory import Prediction
from inweights.theory.prediction.calibration.fitted import MODELS
from inweights.theory.prediction.trust import meaning, propose_training, trust

#: Largest number of statements of each outcome that are listed; all of them are in the
#: table.
_SHOWN = 12
_LEVELS = {
    "asserted": ("Asserted", "act"),
    "fails": ("Fails", "act"),
    "tied": ("Tied", "note"),
    "follows": ("Follows", "good"),
}
_COLUMNS = (
    "role",
    "prompt",
    "answer",
    "right_answers",
    "chance",
    "predicted",
    "outlook",
    *(f"{model} probability" for model in MODELS),
    "verdict",
    "margin",
    "expected",
    "lower",
    "upper",
    "proved",
)


def build_forecast_page(
    made: Prediction,
    name: str,
    *,
    queries: pl.DataFrame | None = None,
    trained: str = "",
) -> str:
    """Return the page of a prediction as HTML.

    Args:
        made: The prediction.
        name: Name of the set of facts, which is the title, as plain text.
        queries: The table ``made.queries``, or some of its rows, with further columns;
            ``None`` for ``made.queries`` itself.
        trained: Sentence about additional short training runs, as plain text.
            By default (empty) the page recommends such training runs.
    """
    rows = made.queries if queries is None else queries
    if "outlook" not in rows.columns:
        rows = rows.join(made.probabilities, on="query", maintain_order="left")
    return facts_page(
        "Prediction from facts",
        name,
        _headline(rows),
        counts=_counts(made),
        answer=_explain(made, trained),
        sections=[
            ("surprises", "What surprises", _surprises(rows)),
            ("advice", "What to add", _advice(made)),
            ("tables", "Tables", tables_list(_tables(made, rows), opened=1)),
        ],
    )


def _headline(rows: pl.DataFrame) -> str:
    counts = dict(rows["verdict"].value_counts().iter_rows())
    asked = rows.height - counts.get("asserted", 0) - counts.get("open", 0)
    looks = dict(rows["outlook"].value_counts().iter_rows())
    text = f"{counts.get('follows', 0):,} of {plural(asked, 'question')} follow"
    if looks.keys() & {"likely", "open", "unlikely"}:
        text += (
            f"; for a GPT, {looks.get('likely', 0):,} are likely, {looks.get('open', 0):,} open "
            f"and {looks.get('unlikely', 0):,} unlikely"
        )
    if counts.get("asserted"):
        text += f"; the model will assert {plural(counts['asserted'], 'unstated fact')}"
    return text


def _counts(made: Prediction) -> list[tuple[str, str]]:
    solution = made.solution
    return [
        ("facts", f"{sum(len(part.program.world.facts) for part in made.parts):,}"),
        ("questions", f"{made.queries.height:,}"),
        ("certificate", "certified" if made.certified else "not certified"),
        ("largest gap", f"{max(part.gap for part in made.parts):.1e}"),
        ("decay", f"{getattr(solution, 'decay', 0):g}"),
        ("dropped facts", f"{made.let_go.height:,}"),
    ]


def _explain(made: Prediction, trained: str) -> Iterable[str]:
    yield (
        "These are the answers that a model without attention, trained only on these facts, will "
        "give, computed from the facts alone. Assertions are neither stated nor implied by the "
        "facts, but the model will make them. The facts have a margin of 1."
    )
    yield made.why
    yield f"{trust(made)}."
    yield meaning(made)
    yield trained or propose_training(made)


def _surprises(rows: pl.DataFrame) -> str:
    """Return the findings as HTML, with the most certain of each outcome first."""
    items = []
    for verdict, (level, kind) in _LEVELS.items():
        of = rows.filter(pl.col("verdict") == verdict)
        shown = of.sort(
            pl.col("margin").abs(), descending=True, maintain_order=True
        ).head(_SHOWN)
        listed = [tag("p", _told(row)) for row in shown.iter_rows(named=True)]
        if listed:
            rest = (
                f", of which {len(listed)} are shown" if of.height > len(listed) else ""
            )
            what = "statement" if verdict == "asserted" else "question"
            title = plural(of.height, what) + rest
            items.append(finding(level, kind, title, *listed))
    return tag("ul", *items, class_="findings")


def _told(row: dict[str, object]) -> str:
    text = f"({row['prompt']}) → {row['predicted']}"
    if row["verdict"] in ("fails", "tied"):
        other = (
            f", not {row['answer']}"
            if row["predicted"] != row["answer"]
            else " or another"
        )
        more = int(str(row["right_answers"])) - 1
        text += f"{other} or {more} more that are right" if more > 0 else other
    return escape(f"{text}, margin {row['margin']:+.2f}".replace("-", "−"))


def _advice(made: Prediction) -> str:
    items = []
    if made.advice and made.advice.identities:
        title = f"{len(made.advice.identities)} identities: then {len(made.advice.mended)} more "
        names = (f"{name},is,{name}" for name in made.advice.identities[: 4 * _SHOWN])
        lost = (
            f" {len(made.advice.broken)} no longer follow."
            if made.advice.broken
            else ""
        )
        items.append((f"{title}questions follow.{lost}", "; ".join(names)))
    for remedy in made.remedies[:_SHOWN]:
        title = f"{remedy.kind} against {remedy.against}: {remedy.flipped} of {remedy.of} change"
        items.append(
            (title[:1].upper() + title[1:], "; ".join(remedy.statements[: 4 * _SHOWN]))
        )
    if not items:
        return ""
    added = (
        finding("To add", "note", title, tag("p", escape(text)))
        for title, text in items
    )
    return tag("ul", *added, class_="findings")


def _tables(made: Prediction, rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    extra = [c for c in rows.columns if c not in made.queries.columns]
    kept = list(dict.fromkeys(c for c in (*_COLUMNS, *extra) if c in rows.columns))
    order = made.surprising()["query"]
    place = pl.DataFrame({"query": order, "place": range(len(order))})
    every = rows.join(place, on="query").sort("place").select(kept)
    return [
        ("By kind of question", made.summary()),
        ("Every question", every),
        ("Dropped facts", made.let_go),
    ]
