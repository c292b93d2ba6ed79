"""Classify questions: individual facts, chains stated in the training texts, held-out chains.

:func:`kind_of` returns the kind of a question, and :func:`groups` the accuracy of each
kind.
"""

from collections.abc import Sequence
from itertools import zip_longest

import polars as pl

from inweights.lm.exams.compare import ALL_HELD_OUT, GROUPS, HELD_OUT, ITSELF
from inweights.lm.exams.questions import Question
from inweights.support.statistics.intervals import share_interval

_HOPS = ("first_hop", "second_hop")


_GROUP = {
    "recall": GROUPS[1],
    "composition": GROUPS[2],
    "reversal": "reversals",
    "analogy": "analogies",
}


def kind_of(question: Question) -> str:
    """Return the kind of a question, which does not depend on a model's answers.

    Args:
        question: The question.

    Returns:
        ``facts`` for a single hop. For any other question, ``the answer is the
        subject`` if this is the case. Otherwise the kind depends on the role: ``held
        out`` for a composition that no training text states, ``compositions, stated``
        for any other composition, ``facts in new words`` for ``recall``, ``reversals``
        for ``reversal``, ``analogies`` for ``analogy``, and an empty string for any
        other role, such as ``skip``.

    Example:
        >>> kind_of(Question("0", "reversal", "Rome is in", ("Italy", "Peru"), 0))
        'reversals'
    """
    if question.role in _HOPS:
        return GROUPS[0]
    if question.itself:
        return ITSELF
    if question.role == "composition" and not question.stated:
        return ALL_HELD_OUT
    return _GROUP.get(question.role, "")


def groups(table: pl.DataFrame, questions: Sequence[Question]) -> pl.DataFrame:
    """Compute the accuracy for each kind of question, with its 95% Clopper-Pearson interval.

    The kinds are: individual facts (each prompt is counted once); facts in new words;
    compositions that a training text states; held-out compositions with both hops
    known, with an unknown hop, or with hops that were not all evaluated; reversals;
    analogies; and questions whose answer is the subject itself. A hop is known if the
    model correctly answers the question about it, which is either a question of the
    same chain or a question about the single fact.

    Args:
        table: Table of :func:`inweights.lm.ask`.
        questions: The questions, each of which must have a row in the table.

    Returns:
        One row per kind that has questions, in the order above: ``group``, its name;
        ``questions``, their number; ``accuracy``, the share of questions answered
        correctly (from 0 to 1); ``low`` and ``high``, the ends of the interval of the
        accuracy, rounded to four decimals.

    Raises:
        KeyError: A question has no row in the table.

    Example:
        >>> asked = [Question("0", "reversal", "Rome is in", ("Italy", "Peru"), 0)]
        >>> one = pl.DataFrame({"id": ["0"], "chain": ["0"], "role": ["reversal"], "hit": [True]})
        >>> groups(one, asked).row(0)
        ('reversals', 1, 1.0, 0.025, 1.0)
    """
    rows = (
        table.filter(pl.col("role") != "thought")
        .select("id", "chain", "role", "hit")
        .rows()
    )
    hits = {name: hit for name, _, _, hit in rows}
    hops = {(chain, role): hit for _, chain, role, hit in rows}
    found: dict[str, list[bool]] = {name: [] for name in GROUPS}
    facts = {}
    known = {q.facts: hits[q.id] for q in questions if q.role in _HOPS}
    for q in questions:
        hit = hits[q.id]
        kind = kind_of(q)
        if kind == GROUPS[0]:
            facts[q.prompt] = hit  # the same fact may be a hop of several chains
        elif kind == ALL_HELD_OUT:
            own = [known.get((fact,)) for fact in q.facts]
            both = [
                hops.get((q.id, role), right) for role, right in zip_longest(_HOPS, own)
            ]
            found[_held_out(both)].append(hit)
        elif kind:
            found[kind].append(hit)
    found["facts"] = list(facts.values())
    shares = []
    for name, right in found.items():
        if right:
            shares.append((name, len(right), *share_interval(sum(right), len(right))))
    schema = ("group", "questions", "accuracy", "low", "high")
    table = pl.DataFrame(shares, schema=schema, orient="row")
    return table.with_columns(pl.col("low", "high").cast(pl.Float64).round(4))


def _held_out(hops: Sequence[bool | None]) -> str:
    """Return the kind of a held-out composition, given whether its hops are known."""
    if all(hops):
        return HELD_OUT[0]
    if False in hops:
        return HELD_OUT[1]
    return HELD_OUT[2]
