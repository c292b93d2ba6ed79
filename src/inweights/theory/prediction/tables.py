"""Make the tables of a prediction: answers to every query, and dropped facts.

:mod:`~.predict` joins them over the parts of a world.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from inweights.theory.programs.nuclear_norm import Solution
from inweights.theory.programs.program import in_words
from inweights.theory.programs.soft_program import ROUNDING, SoftSolution
from inweights.worlds.arrays import Bool, Bools, Floats, Int
from inweights.worlds.world import Ids, World

Solved = Solution | SoftSolution

#: Why a fact is dropped that the program answers otherwise.
OUTVOTED = "answered otherwise by the program"

#: Columns of the queries that hold texts.
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
        solution: Optimum of program (2), or of the soft program.
        tie: Margins of at most this size are ties.

    Returns:
        A row per query, with the columns that
        :class:`~inweights.theory.prediction.prediction.Prediction` describes, without
        ``part``.
    """
    world = solution.program.world
    queries, words = world.queries, world.vocabulary
    parts = solution.program.compare_in_parts(solution.templates, queries)
    columns = [_read(*part, scale=solution.scale, tie=tie) for part in parts]
    best, margin, tied, expected, lead = (_joined(columns, i) for i in range(5))
    verdict = np.where(
        margin > tie, "follows", np.where(margin < -tie, "fails", "tied")
    )
    unstated = np.array(
        [queries.role_names[r] == "unstated" for r in queries.roles], dtype=bool
    )
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
            "role": [queries.role_names[r] for r in queries.roles],
            "pattern": _patterns(world),
            "out_of_distribution": queries.out_of_distribution,
        },
        schema_overrides=dict.fromkeys(_TEXTS, pl.String),
    )


def _joined(parts: Sequence[tuple[Floats, ...]], column: int) -> Floats:
    """Return one column of several parts as one; an empty one where there is no part."""
    return np.concatenate([np.zeros(0), *(part[column] for part in parts)])


def _read(
    logits: Floats, columns: Ids, rivals: Bools, *, scale: float, tie: float
) -> tuple[Floats, ...]:
    """Return best output, margin, number of ties, expected accuracy, and lead."""
    logits = logits / scale
    rows = np.arange(len(logits))
    own = logits[rows, columns]
    margin = own - np.where(rivals, logits, -np.inf).max(1, initial=-np.inf)
    near = logits >= logits.max(1, keepdims=True) - tie
    tied, best = near.sum(1), logits.argmax(1)
    top = logits[rows, best]
    logits[rows, best] = -np.inf
    lead = top - logits.max(1)
    return best, margin, tied, (near & ~rivals).sum(1) / np.maximum(tied, 1), lead


def unstored(solution: Solved) -> int:
    """Return how many of its facts a solution answers wrongly."""
    return int((~solution.stored).sum()) if isinstance(solution, SoftSolution) else 0


def outvoted(solution: Solved, numbers: Int[Ids, " facts"]) -> pl.DataFrame:
    """Return the facts to whose prompt the solution gives a wrong answer.

    A prompt that gets one of several right answers is no loss.

    Args:
        solution: Optimum of program (2), or of the soft program.
        numbers: Number of each of its facts in the whole world.

    Returns:
        A row per fact: ``fact``, ``statement``, ``instead`` (what is answered),
        ``why``.
    """
    program = solution.program
    stored = (
        solution.stored
        if isinstance(solution, SoftSolution)
        else np.ones(0, dtype=bool)
    )
    lost, world = np.flatnonzero(~stored), program.world
    logits, right = (program.counts @ solution.templates), program.right
    rows = program.row[lost]
    wrong = np.where(right[rows], -np.inf, logits[rows])
    beaten = (
        np.where(right[rows], logits[rows], -np.inf).max(1) <= wrong.max(1) + ROUNDING
    )
    lost, best = lost[beaten], wrong[beaten].argmax(1)
    return pl.DataFrame(
        {
            "fact": numbers[lost],
            "statement": [in_words(world, world.facts, f) for f in lost.tolist()],
            "instead": [
                world.vocabulary.names[world.outputs[k]] for k in best.tolist()
            ],
            "why": [OUTVOTED] * len(lost),
        },
        schema=_LET_GO,
    )


def left_out(world: World, out: Bool[Bools, " facts"]) -> pl.DataFrame:
    """Return the facts that are in no part, in the form of :func:`outvoted`.

    Args:
        world: The whole world.
        out: Whether each fact is in no part.
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
    names, queries, groups = (
        world.vocabulary.names,
        world.queries,
        world.vocabulary.groups,
    )
    starts = np.cumsum([0, *map(len, groups.values())])[:-1]
    of = list(groups)

    def shown(tokens: Ids) -> str:
        found = [of[g] for g in np.searchsorted(starts, tokens, side="right") - 1]
        pairs = zip(tokens.tolist(), found, strict=True)
        return " ".join(
            names[t] if group.endswith("relation") else group for t, group in pairs
        )

    return [
        f"{shown(queries.prompt(i))} → {shown(queries.answer(i)[:1])}"
        for i in range(len(queries))
    ]
