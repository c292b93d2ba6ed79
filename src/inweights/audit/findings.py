"""Findings of an audit: questions that will be answered, and advice for the others.

:func:`findings` returns a list of short texts, sorted by urgency, which are computed
only from an :class:`~inweights.audit.Audit`. The command line and the audit's page
print them below the :func:`~inweights.audit.outlook.headline`.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Literal

import msgspec
import polars as pl

from inweights.audit.audit import Audit
from inweights.audit.correction.near import near_spellings
from inweights.audit.homonyms import describe
from inweights.support.progress import plural
from inweights.theory.prediction.tables import OUTVOTED, comparable_margin
from inweights.theory.prediction.trust import PRETRAINED, propose_training, trust

Level = Literal["good", "act", "note"]
#: An answer is a shortcut if at least this fraction of the subjects have it, and there
#: are at least _SUBJECTS subjects.
_COMMON = 0.3
_SUBJECTS = 5
#: Maximum number of remarks or shortcuts of one kind that are written out.
_SHOWN = 3
#: Maximum number of names that are listed.
_NAMED = 8


class Finding(msgspec.Struct, frozen=True):
    """One observation of an audit, with its importance.

    Attributes:
        level: ``act`` (something to do before training), ``good`` (something that will
            work) or ``note`` (something to know).
        title: The observation in a few words, usually with a number.
        text: Meaning of the observation and advice, in a sentence or two.
    """

    level: Level
    title: str
    text: str


def findings(audit: Audit) -> tuple[Finding, ...]:
    """Return the observations of an audit, starting with those that call for action.

    Args:
        audit: Result of :func:`inweights.audit.audit`.

    Returns:
        The observations, sorted by their level: ``act``, then ``good``, then ``note``.

    Example:
        >>> from inweights.audit import audit
        >>> from inweights.worlds import read_knowledge
        >>> [f.title for f in findings(audit(read_knowledge("@people"))) if f.level == "act"]
        ['55 of 55 bridges have no identity statement']
    """
    parts = (
        _remarks,
        _reading,
        _near,
        _homonyms,
        _bridges,
        _asserted,
        _crowded,
        _leaks,
        _late,
        _shortcuts,
        _theory,
    )
    order = {"act": 0, "good": 1, "note": 2}
    found = chain.from_iterable(part(audit) for part in parts)
    return tuple(sorted(found, key=lambda finding: order[finding.level]))


def _bridges(audit: Audit) -> Iterator[Finding]:
    lacking = audit.bridges.filter(~pl.col("identity")).height
    if not audit.bridges.height:
        return
    if not lacking:
        yield Finding(
            "good", "Every bridge has its identity statement", "b → b is stated."
        )
        return
    advice = audit.forecast.advice if audit.forecast else None
    few = ""
    if advice and len(advice.mended) > len(advice.broken):
        bridges = len(advice.identities)
        net = len(advice.mended) - len(advice.broken)
        few = f"With {plural(bridges, 'identity', 'identities')}, the number of questions that "
        few += f"follow increases by {net:,} (all kinds)"
        if advice.most[0] > bridges:
            few += f"; with all {advice.most[0]} that could help, by {advice.most[1]:,}"
        few += ". " if advice.status == "certified" else f" ({advice.status}). "
    yield Finding(
        "act",
        f"{lacking:,} of {audit.bridges.height:,} bridges have no identity statement",
        f"{few}`inweights augment --strategy identities` states b → b for every bridge. It helps "
        "models trained from scratch; in a pretrained model, it changed the accuracy "
        f"of two-hop questions by {PRETRAINED}.",
    )


def _asserted(audit: Audit) -> Iterator[Finding]:
    if audit.forecast is None:
        return
    rows = audit.forecast.queries.filter(pl.col("verdict") == "asserted")
    rows = rows.sort(comparable_margin(), descending=True, maintain_order=True)
    told = "; ".join(
        f"{p} → {o}" for p, o in rows.select("prompt", "predicted").head(3).rows()
    )
    if told:
        yield Finding(
            "act",
            f"{plural(rows.height, 'statement')} will be asserted without a fact",
            f"Those with the largest margins are {told}. The model infers them from similar "
            "entities. If they may do harm, state the true facts, or some counter-examples "
            "(`inweights predict`).",
        )


def _crowded(audit: Audit) -> Iterator[Finding]:
    many = audit.compositions.filter(pl.col("complexity") > 1)
    for worst in many.sort("complexity", descending=True).head(1).iter_rows(named=True):
        yield Finding(
            "note",
            f"{plural(many.height, 'pair')} of relations with several answers per subject",
            f"The pair ({worst['first']}, {worst['second']}) has the most, up to "
            f"{worst['complexity']}. A model that ignores the bridge chooses among them by chance, "
            f"and answers {worst['expected']:.0%} of the questions correctly (1/C).",
        )


def _leaks(audit: Audit) -> Iterator[Finding]:
    for row in audit.leaks.head(1).iter_rows(named=True):
        yield Finding(
            "act",
            f"{plural(int(audit.compositions['stated'].sum()), 'composed answer')} stated "
            f"directly{'' if audit.listed == 1 else ' among those listed'}",
            f"For example, {row['subject']} → {row['answer']} is stated as '{row['stated_as']}' "
            f"in line {row['line']}. A model can answer such questions from memory. Leave them out "
            "of a test of reasoning (column `stated` of the questions).",
        )


def _late(audit: Audit) -> Iterator[Finding]:
    late = int(audit.transfers["late"].sum() or 0)
    if late:
        row = audit.transfers.sort("late", descending=True).row(0, named=True)
        yield Finding(
            "act",
            "Analogies in the wrong order",
            f"{late:,} pairs of entities, most with {row['shared']} after {row['attribute']}. "
            "Facts that make entities similar should be trained before the others, or together "
            "with them (`--curriculum sa` or `joint`).",
        )


def _remarks(audit: Audit) -> Iterator[Finding]:
    titles: dict[str, tuple[Level, str, str]] = {
        "duplicate": ("note", "fact", "stated again"),
        "contradiction": ("act", "contradiction", "in the file"),
        "blank": ("act", "placeholder", "in place of a name"),
        "literal": ("act", "literal", "(date or number) used as a bridge"),
        "alias": ("act", "set", "of names that may mean the same entity"),
        "one-sided": ("note", "group", "of entities in which some continue no chain"),
        "inverse": ("note", "pair", "of inverse relations"),
        "markup": ("act", "kind", "of broken names"),
        "several": ("act", "relation", "with several values in a cell"),
        "date": ("act", "remark", "on dates"),
        "rounded": ("act", "relation", "with rounded numbers"),
        "digits": ("act", "relation", "with numbers written in two ways"),
    }
    for kind, (level, what, rest) in titles.items():
        texts = [r.text for r in audit.knowledge.remarks if r.kind == kind]
        if texts:
            yield Finding(
                level, f"{plural(len(texts), what)} {rest}", _some(texts, ". ")
            )


def _reading(audit: Audit) -> Iterator[Finding]:
    texts = [remark.text for remark in audit.knowledge.reading if not remark.sure]
    if texts:
        yield Finding("note", "How the file was read", _some(texts, "; "))


def _near(audit: Audit) -> Iterator[Finding]:
    names = audit.knowledge.entities
    near = near_spellings(names, audit.knowledge.triples)
    torn = [
        f"'{names[one.name]}', '{names[one.other]}': {one.why}"
        for one in near
        if one.torn
    ]
    if torn:
        title = (
            f"{plural(len(torn), 'name')} that may be misspelt, though a value differs"
        )
        yield Finding("act", title, _some(torn, "; "))
    texts = [
        f"'{names[one.name]}', '{names[one.other]}': {one.why}"
        for one in near
        if one.sure
    ]
    if texts:
        text = f"{_some(texts, '; ')} `--fix FOLDER --near` uses the second name."
        yield Finding("act", f"{plural(len(texts), 'name')} that may be misspelt", text)


def _homonyms(audit: Audit) -> Iterator[Finding]:
    chains = audit.contradicted
    if chains:
        facts = audit.knowledge
        bridges = dict.fromkeys(facts.names(chain.first)[2] for chain in chains)
        names = ", ".join(list(bridges)[:_NAMED]) + (
            " …" if len(bridges) > _NAMED else ""
        )
        yield Finding(
            "act",
            f"{plural(len(chains), 'chain is', 'chains are')} contradicted by the file itself",
            f"{_some(describe(facts, chains), '. ')} Each of the names {names} may refer to two "
            "things, which should have different names. `inweights augment` neither states nor "
            "asks about chains that begin with these facts.",
        )


def _some(texts: Sequence[str], between: str) -> str:
    """Join the first few texts into one, with the number of those that are not shown."""
    more = f" … and {len(texts) - _SHOWN:,} more" if len(texts) > _SHOWN else ""
    return f"{between.join(texts[:_SHOWN])}{more}."


def _shortcuts(audit: Audit) -> Iterator[Finding]:
    rows = audit.relations.join(
        audit.name_overlap, on="relation", maintain_order="left"
    )
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
    if texts:
        yield Finding("note", plural(len(texts), "shortcut"), _some(texts, "; "))


def _theory(audit: Audit) -> Iterator[Finding]:
    made = audit.forecast
    if made is None:
        yield Finding("note", "No prediction", f"Reason: {audit.why_no_forecast}.")
        return
    worst = max(made.parts, key=lambda part: part.gap)
    lost = made.let_go.filter(pl.col("why") == OUTVOTED)
    if lost.height:
        row = lost.row(0, named=True)
        yield Finding(
            "note",
            f"{plural(lost.height, 'fact')} to which the program gives a different answer",
            f"{made.why} The program only adds up contributions of the tokens of a prompt; trained "
            "networks can do more, and may store all facts. For example, for the fact "
            f"{row['statement']}, the program answers {row['instead']}.",
        )
    elif made.why:
        yield Finding("note", "What the prediction covers", made.why)
    yield Finding(
        "note",
        "How reliable the prediction is",
        f"{trust(made)}. {propose_training(made)}".rstrip(". ") + f". The certificate "
        f"({worst.status}, gap {worst.gap:.1e}) applies to the program, not to a trained network.",
    )
