"""What an audit comes to: which questions to expect answers to, and what to do about the others."""

from __future__ import annotations

from typing import Literal

import msgspec
import polars as pl

from inweights.audit.audit import Audit

__all__ = ["Finding", "findings", "headline", "outlook"]

Level = Literal["good", "act", "note"]
#: An answer is a shortcut where so many share it, of at least so many subjects.
_COMMON, _SUBJECTS = 0.3, 5
#: Of each kind of remark or shortcut, so many are told.
_TOLD = 3


class Finding(msgspec.Struct, frozen=True):
    """One thing that an audit found.

    Attributes:
        level: ``good``; ``act``: something to do before training; ``note``: something to know.
        title: What it is, in a few words.
        text: What it means, and what to do, in a sentence or two.
    """

    level: Level
    title: str
    text: str


def outlook(audit: Audit) -> pl.DataFrame:
    """Return what becomes of the compositions of each pair of relations, the most chains first.

    Returns:
        A row a pair: ``first``, ``second``, ``questions`` (chains; distinct ones where there is a
        forecast), ``follow``, ``tied``, ``fail`` (null without a forecast), ``mended`` (how many
        more follow with the advised identities), ``complexity``, ``expected`` (mean of one over the
        number of objects that a subject reaches: what is right without attention to the bridge).

    Example:
        >>> from inweights.audit import audit
        >>> from inweights.worlds import read_knowledge
        >>> outlook(audit(read_knowledge("@chemistry"))).select(
        ...     "first", "second", "questions", "follow", "mended").rows()
        [('contains', 'family', 18, 7, 11), ('contains', 'symbol', 18, 0, 18)]
    """
    columns = ("first", "second", "chains", "complexity", "expected")
    pairs = audit.compositions.select(columns).rename({"chains": "questions"})
    if audit.forecast is None:
        empty = [pl.lit(None, dtype=pl.Int64).alias(k) for k in ("follow", "tied", "fail")]
        return pairs.with_columns(*empty, mended=pl.lit(None, dtype=pl.Int64))
    asked = audit.forecast.solution.program.world.queries
    start = len(audit.knowledge.entities)
    names = audit.knowledge.relations
    relations = [asked.prompt(i)[1:] - start for i in range(len(asked))]
    advice = audit.forecast.advice
    better = set(advice.mended) if advice else set()
    verdicts = audit.forecast.queries.select(
        "verdict",
        first=pl.Series([names[r] for r, _ in relations], dtype=pl.String),
        second=pl.Series([names[r] for _, r in relations], dtype=pl.String),
        better=pl.col("query").is_in(sorted(better)),
    )
    counted = verdicts.group_by("first", "second").agg(
        pl.len().cast(pl.Int64).alias("questions"),
        *(
            (pl.col("verdict") == verdict).sum().cast(pl.Int64).alias(column)
            for verdict, column in (("follows", "follow"), ("tied", "tied"), ("fails", "fail"))
        ),
        mended=pl.col("better").sum().cast(pl.Int64),
    )
    return pairs.drop("questions").join(
        counted, on=["first", "second"], how="inner", maintain_order="left"
    )


def headline(audit: Audit) -> str:
    """Return the answer in one sentence: how many questions follow, and with what they would.

    Example:
        >>> from inweights.audit import audit
        >>> from inweights.worlds import read_knowledge
        >>> headline(audit(read_knowledge("@chemistry")))
        '7 of 36 two-step questions follow; with 18 identities 36 would'
    """
    if not audit.compositions.height:
        return "No two facts chain: there is nothing to compose"
    table = outlook(audit)
    asked = int(table["questions"].sum())
    if audit.forecast is None:
        lacking = audit.bridges.filter(~pl.col("identity")).height
        tail = f"; {lacking:,} bridges have no identity" if lacking else ""
        return f"{asked:,} two-step questions{tail}"
    follow, mended = int(table["follow"].sum()), int(table["mended"].sum())
    tail = ""
    advice = audit.forecast.advice
    if advice and advice.identities and mended:
        best = follow + mended - len(advice.broken)
        tail = f"; with {len(advice.identities)} identities {best:,} would"
    return f"{follow:,} of {asked:,} two-step questions follow{tail}"


def findings(audit: Audit) -> tuple[Finding, ...]:
    """Return what was found, what is to be done first.

    Example:
        >>> from inweights.audit import audit
        >>> from inweights.worlds import read_knowledge
        >>> [f.title for f in findings(audit(read_knowledge("@people"))) if f.level == "act"]
        ['55 of 55 bridges have no identity statement']
    """
    found = [*_bridges(audit), *_crowded(audit), *_leaks(audit), *_late(audit)]
    found += [*_remarks(audit), *_shortcuts(audit), *_theory(audit)]
    order = {"act": 0, "good": 1, "note": 2}
    return tuple(sorted(found, key=lambda f: order[f.level]))


def _bridges(audit: Audit) -> list[Finding]:
    lacking = audit.bridges.filter(~pl.col("identity")).height
    if not audit.bridges.height:
        return []
    title = f"{lacking:,} of {audit.bridges.height:,} bridges have no identity statement"
    if not lacking:
        return [Finding("good", "Every bridge has its identity statement", "b → b is stated.")]
    advice = audit.forecast.advice if audit.forecast else None
    few = (
        f"Those of {len(advice.identities)} are enough for {len(advice.mended)} more questions. "
        if advice and advice.identities
        else ""
    )
    text = f"{few}`inweights augment` adds b → b for every bridge, and a control without."
    return [Finding("act", title, text)]


def _crowded(audit: Audit) -> list[Finding]:
    many = audit.compositions.filter(pl.col("complexity") > 1)
    if not many.height:
        return []
    worst = many.sort("complexity", descending=True).row(0, named=True)
    return [
        Finding(
            "note",
            f"{_several(many.height, 'pair')} of relations with several answers a subject",
            f"Most for ({worst['first']}, {worst['second']}): up to {worst['complexity']}. Without "
            f"attention to the bridge {worst['expected']:.0%} of them are right, by chance among "
            "these (1/C).",
        )
    ]


def _leaks(audit: Audit) -> list[Finding]:
    if not audit.leaks.height:
        return []
    row = audit.leaks.row(0, named=True)
    return [
        Finding(
            "act",
            f"{_several(int(audit.compositions['stated'].sum()), 'composed answer')} stated "
            f"outright{'' if audit.listed == 1 else ', of those that were listed'}",
            f"Such as {row['subject']} → {row['answer']}, as '{row['stated_as']}' in line "
            f"{row['line']}: memory answers these. Leave them out of a test of reasoning "
            "(column `stated` of the questions).",
        )
    ]


def _late(audit: Audit) -> list[Finding]:
    late = int(audit.transfers["late"].sum() or 0)
    if not late:
        return []
    row = audit.transfers.sort("late", descending=True).row(0, named=True)
    return [
        Finding(
            "act",
            "Analogies in the wrong order",
            f"{late:,} pairs of entities, most by {row['shared']} after {row['attribute']}: what "
            "makes entities alike should come first, or together (`--curriculum sa` or `joint`).",
        )
    ]


def _remarks(audit: Audit) -> list[Finding]:
    titles = {
        "duplicate": ("note", "fact", "stated again"),
        "contradiction": ("act", "contradiction", "in the file"),
        "blank": ("act", "name", "for nothing"),
        "alias": ("act", "set", "of names that may be one entity each"),
        "one-sided": ("note", "end", "of relations where some entities chain no further"),
        "inverse": ("note", "pair", "of relations that say the same, turned"),
    }
    found = []
    for kind, (level, what, rest) in titles.items():
        texts = [r.text for r in audit.knowledge.remarks if r.kind == kind]
        if texts:
            more = f" … and {len(texts) - _TOLD:,} more." if len(texts) > _TOLD else ""
            text = ". ".join(texts[:_TOLD]) + more
            title = f"{_several(len(texts), what)} {rest}"
            found.append(Finding(level, title, text))  # type: ignore[arg-type]
    return found


def _several(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _shortcuts(audit: Audit) -> list[Finding]:
    rows = audit.relations.join(audit.name_overlap, on="relation", maintain_order="left")
    texts = []
    for row in rows.filter(pl.col("subjects") >= _SUBJECTS).iter_rows(named=True):
        if row["share"] >= _COMMON:
            texts.append(
                f"{row['share']:.0%} of the subjects of {row['relation']} have {row['most_common']}"
            )
        if row["contained"] >= _COMMON:
            texts.append(
                f"{row['contained']:.0%} of the answers to {row['relation']} share their name with "
                "the subject"
            )
    if not texts:
        return []
    more = f" … and {len(texts) - _TOLD:,} more" if len(texts) > _TOLD else ""
    return [
        Finding("note", _several(len(texts), "shortcut"), "; ".join(texts[:_TOLD]) + more + ".")
    ]


def _theory(audit: Audit) -> list[Finding]:
    if audit.forecast is None:
        text = f"There is none: {audit.why_no_forecast}."
        return [Finding("note", "No forecast", text)]
    solution = audit.forecast.solution
    return [
        Finding(
            "note",
            "What the forecast is worth",
            "It is exact for a network without attention that is trained on these facts alone "
            f"({solution.status}, gap {solution.gap:.1e}). A pretrained model may do otherwise: "
            "measure it on the held-out questions, against the control.",
        )
    ]
