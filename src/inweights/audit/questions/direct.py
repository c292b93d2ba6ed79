"""Find the questions that training texts answer directly.

:func:`mark_direct_answers` adds the column ``told`` to held-out questions. Only
questions for which it is empty test whether a model composes facts.
"""

from collections import defaultdict
from collections.abc import Sequence, Set

import polars as pl

from inweights.audit.rows import text_of
from inweights.audit.strategies import Row
from inweights.audit.strategies.mentions import Mentions
from inweights.errors import DataError
from inweights.worlds.knowledge.knowledge import Knowledge


def mark_direct_answers(
    questions: pl.DataFrame, rows: Sequence[Row], facts: Knowledge, turns: pl.Series
) -> pl.DataFrame:
    """Add the column ``told`` to questions: the roles of the training rows that answer them.

    Questions are left out if their exact prompt, or their exact wording in chat, occurs
    in the training set. This can happen if a relation has the same name as a chain of
    two other relations.

    Args:
        questions: Held-out questions, as returned by
            :func:`~inweights.audit.questions.held_out.held_out`.
        rows: Rows of the training set.
        facts: The facts from which the questions and the rows were created.
        turns: The user's turn in chat for each row of the training set, as strings.

    Returns:
        The remaining questions in their order, with the columns ``told`` (a list of the
        roles of the rows that answer the question directly; empty if none does) and
        ``itself`` (whether the answer is the entity that the question is about).

    Raises:
        DataError: A row answers a question without being marked as doing so (in
            ``says``): its prompt names the subject of the question and no other entity,
            and its completion is the answer.
    """
    number = {name: i for i, name in enumerate(facts.entities)}
    roles: defaultdict[tuple[int, int], dict[str, None]] = defaultdict(dict)
    for row in rows:
        for pair in row.says:
            roles[pair][row.role] = None
    prompts = list({row.prompt for row in rows})
    is_new = ~pl.col("prompt").is_in(prompts) & ~pl.col("question").is_in(
        turns.unique().to_list()
    )
    asked = questions.filter(is_new)
    pairs: list[tuple[int, int]] = []
    for role, subject, answer, bases in asked.select(
        "role", "subject", "answer", "facts"
    ).rows():
        # The question about a reversal begins with the object of the fact.
        start = (
            int(facts.triples[bases[0], 2]) if role == "reversal" else number[subject]
        )
        pairs.append((start, number[answer]))
    _check_unmarked(rows, facts, {pair for pair in pairs if pair not in roles})
    stated = pl.Series(
        [list(roles.get(pair, ())) for pair in pairs], dtype=pl.List(pl.String)
    )
    itself = pl.Series([start == answer for start, answer in pairs], dtype=pl.Boolean)
    return asked.with_columns(told=stated, itself=itself)


def _check_unmarked(
    rows: Sequence[Row], facts: Knowledge, unmarked: Set[tuple[int, int]]
) -> None:
    """Raise an error if a text names only the subject of a question and then its answer.

    Args:
        rows: Rows of the training set.
        facts: The facts.
        unmarked: Subject and answer, as indices of entities, of each question that no
            row is marked as answering.

    Raises:
        DataError: There is such a text.
    """
    number = {name: i for i, name in enumerate(facts.entities)}
    answers = {answer for _, answer in unmarked}
    named = Mentions(facts.entities)
    for row in rows:
        learnt = row.completion.strip()
        answer = number.get(learnt, number.get(learnt.removesuffix("."), -1))
        if answer not in answers:
            continue
        starts = set(named(row.prompt))
        if len(starts) == 1 and (starts.pop(), answer) in unmarked:
            raise DataError(
                f"'{text_of(row)}' ({row.role}) contains the answer to a held-out question, "
                "although the text is not marked as containing this answer; if the wording of "
                "a relation contains the name of an entity, use a different wording for this "
                "relation (--wording)"
            )
