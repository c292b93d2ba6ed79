"""Make the tables of a prediction: answers to every query, and dropped facts.

:mod:`~.predict` joins them over the parts of a world.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from inweights.theory.programs.nuclear_norm import Solution
from inweights.theory.programs.prompts import in_words
from inweights.theory.programs.soft_program import ROUNDING, SoftSolution
from inweights.worlds.arrays import Bool, Bools, Floats, Int
from inweights.worlds.world import Ids, World

Solved = Solution | SoftSolution

#: Reason why a fact is dropped for which the program gives another answer.
OUTVOTED = "answered otherwise by the program"

#: Decimals of a margin by which queries are sorted.
_DECIMALS = 4

#: Text columns of the table of queries.
_TEXTS = ("prompt", "answer", "predicted", "role", "pattern")
_LET_GO = {
    "fact": pl.Int64,
    "statement": pl.String,
    "instead": pl.String,
    "why": pl.String,
}


def query_table(solution: Solved, tie: float) -> pl.DataFrame:
    """Return the predicted answer, margin and verdict of every query of a solution.

    Args:
        solution: Optimum of program (2) (Identity Bridge §4.3) or of the soft program
            (:func:`.solve_soft`).
        tie: Margins of at most this absolute value are ties. If the solution contains a
            second matrix near the optimum, queries for which the verdicts of the two
            matrices differ are ties as well.

    Returns:
        One row per query, with the columns ``query`` (its index), ``prompt``,
        ``answer`` (the first correct answer), ``right_answers`` (number of correct answers),
        ``chance`` (fraction of the outputs that are correct), ``predicted`` (the output
        with the largest logit), ``margin`` (of the best correct answer over the best
        wrong output, divided by ``solution.scale``), ``verdict`` (``follows`` if the
        margin is above ``tie``, ``fails`` if it is below ``-tie``, otherwise ``tied``),
        ``tied`` (number of outputs within ``tie`` of the largest logit), ``expected``
        (fraction of these that are correct), ``role``, ``pattern`` (form of the prompt
        and answer) and ``out_of_distribution``. Queries of the role ``unstated`` have
        no correct answer: their margin is the difference between the two largest
        logits, divided by ``solution.scale``; the verdict is ``asserted`` if the margin
        is above ``tie`` and otherwise ``open``; ``right_answers`` is 0; and ``chance``
        and ``expected`` are null.
    """
    world = solution.program.world
    queries = world.queries
    words = world.vocabulary
    parts = solution.program.compare_in_parts(solution.templates, queries)
    columns = [_read(*part, scale=solution.scale, tie=tie) for part in parts]
    best, margin, tied, expected, lead = (_joined(columns, i) for i in range(5))
    verdict = _verdicts(margin, tie)
    another = solution.another if isinstance(solution, Solution) else None
    if another is not None:
        other = _verdicts(solution.program.margins(another, queries), tie)
        verdict = np.where(verdict == other, verdict, "tied")
    roles = [queries.role_names[role] for role in queries.roles]
    unstated = np.array([role == "unstated" for role in roles], dtype=bool)
    # No fact states an answer to these queries, so that any clear answer is an
    # assertion.
    verdict = np.where(unstated, np.where(lead > tie, "asserted", "open"), verdict)
    names = np.array(words.names, dtype=object)
    return pl.DataFrame(
        {
            "query": np.arange(len(queries)),
            "prompt": [words.text(queries.prompt(i)) for i in range(len(queries))],
            "answer": names[queries.answers].tolist(),
            "right_answers": np.where(unstated, 0, queries.right_counts),
            "chance": pl.Series(world.chances).scatter(np.flatnonzero(unstated), None),
            "predicted": names[world.outputs[best.astype(np.int64)]].tolist(),
            "margin": np.where(unstated, lead, margin),
            "verdict": verdict.astype(str),
            "tied": tied.astype(np.int64),
            "expected": pl.Series(expected).scatter(np.flatnonzero(unstated), None),
            "role": roles,
            "pattern": _patterns(world),
            "out_of_distribution": queries.out_of_distribution,
        },
        schema_overrides=dict.fromkeys(_TEXTS, pl.String),
    )


def comparable_margin() -> pl.Expr:
    """Return an expression for sorting: the column ``margin``, rounded to four decimals.

    Margins that are equal in theory, such as those of symmetric facts, are computed with
    rounding errors that depend on the processor. A stable sort by this expression keeps
    such margins in the order of the table.

    Example:
        >>> import polars as pl
        >>> queries = pl.DataFrame({"margin": [0.5 + 1e-9, 0.5, 1.0]})
        >>> queries.select(comparable_margin())["margin"].to_list()
        [0.5, 0.5, 1.0]
    """
    return pl.col("margin").round(_DECIMALS)


def _verdicts(margin: Floats, tie: float) -> Floats:
    """Return the verdict of each margin: ``follows``, ``fails`` or ``tied``."""
    below = np.where(margin < -tie, "fails", "tied")
    return np.where(margin > tie, "follows", below)


def _joined(parts: Sequence[tuple[Floats, ...]], column: int) -> Floats:
    """Concatenate one column of several parts; the result is empty if there are no parts."""
    return np.concatenate([np.zeros(0), *(part[column] for part in parts)])


def _read(
    logits: Floats, columns: Ids, rivals: Bools, *, scale: float, tie: float
) -> tuple[Floats, ...]:
    """Return the best output, margin, number of ties, expected accuracy and lead, each ``[Q]``."""
    logits = logits / scale
    rows = np.arange(len(logits))
    own = logits[rows, columns]
    margin = own - np.where(rivals, logits, -np.inf).max(1, initial=-np.inf)
    near = logits >= logits.max(1, keepdims=True) - tie
    tied = near.sum(1)
    best = logits.argmax(1)
    top = logits[rows, best]
    logits[rows, best] = -np.inf
    lead = top - logits.max(1)
    return best, margin, tied, (near & ~rivals).sum(1) / np.maximum(tied, 1), lead


def unstored(solution: Solved) -> int:
    """Return the number of facts that a solution does not store.

    A fact is not stored if a correct answer to its prompt does not have a larger logit
    than all wrong outputs. The number is 0 for a solution of program (2) (Identity
    Bridge §4.3), which stores all facts.

    Args:
        solution: Optimum of program (2) or of the soft program (:func:`.solve_soft`).
    """
    return int((~solution.stored).sum()) if isinstance(solution, SoftSolution) else 0


def outvoted(solution: Solved, numbers: Int[Ids, " facts"]) -> pl.DataFrame:
    """Return a table of the facts to which a solution gives a wrong answer.

    A fact is not listed if the solution gives a different correct answer to its prompt.

    Args:
        solution: Optimum of program (2) (Identity Bridge §4.3) or of the soft program
            (:func:`.solve_soft`).
        numbers: Index in the whole world of each fact of the solution, ``[facts]``.

    Returns:
        One row per such fact, with the columns ``fact`` (its index in the whole world),
        ``statement`` (the fact as text), ``instead`` (name of the output that the
        solution gives as the answer) and ``why`` (always ``answered otherwise by the
        program``).
    """
    program = solution.program
    world = program.world
    stored = np.ones(0, dtype=bool)  # program (2) stores all facts
    if isinstance(solution, SoftSolution):
        stored = solution.stored
    lost = np.flatnonzero(~stored)
    logits = program.counts @ solution.templates
    rows = program.row[lost]
    right = program.right[rows]
    wrong = np.where(right, -np.inf, logits[rows])
    best_right = np.where(right, logits[rows], -np.inf).max(1)
    beaten = best_right <= wrong.max(1) + ROUNDING
    lost = lost[beaten]
    best = wrong[beaten].argmax(1)
    names = world.vocabulary.names
    return pl.DataFrame(
        {
            "fact": numbers[lost],
            "statement": [in_words(world, world.facts, f) for f in lost.tolist()],
            "instead": [names[token] for token in world.outputs[best].tolist()],
            "why": [OUTVOTED] * len(lost),
        },
        schema=_LET_GO,
    )


def left_out(world: World, out: Bool[Bools, " facts"]) -> pl.DataFrame:
    """Return a table of the facts that belong to none of the parts that were solved.

    Args:
        world: The whole world.
        out: Mask ``[facts]``, true for each fact that belongs to no solved part.

    Returns:
        One row per fact, with the columns of :func:`outvoted`: ``fact`` (its index),
        ``statement`` (the fact as text), ``instead`` (null), ``why`` (``left out``).
    """
    rows = np.flatnonzero(out).tolist()
    return pl.DataFrame(
        {
            "fact": rows,
            "statement": [in_words(world, world.facts, f) for f in rows],
            "instead": [None] * len(rows),
            "why": ["left out"] * len(rows),
        },
        schema=_LET_GO,
    )


def _patterns(world: World) -> list[str]:
    """Return the form of every query: relations by name, other tokens by their group."""
    queries = world.queries
    words = world.vocabulary
    starts = np.cumsum([0, *map(len, words.groups.values())])[:-1]
    groups = list(words.groups)

    def shown(tokens: Ids) -> str:
        texts = []
        places = np.searchsorted(starts, tokens, side="right") - 1
        for token, place in zip(tokens.tolist(), places.tolist(), strict=True):
            group = groups[place]
            is_relation = group.endswith("relation")
            texts.append(words.names[token] if is_relation else group)
        return " ".join(texts)

    patterns = []
    for i in range(len(queries)):
        answer = shown(queries.answer(i)[:1])
        patterns.append(f"{shown(queries.prompt(i))} → {answer}")
    return patterns
