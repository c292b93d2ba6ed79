"""Predict from the facts alone which unseen queries a model will answer correctly.

:func:`predict` returns the prediction for a model without attention (Emb-MLP). If all
facts can be stored it is the optimum of program (2) (Identity Bridge §4.3); otherwise,
or for training with weight decay, it is the optimum of the soft program. For other
models, it is a baseline (see the recipe ``beyond/predicted-composition``).
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from inweights.errors import ConfigError, DataError, SolverError
from inweights.support.progress import SolverProgress
from inweights.theory.prediction.advice import bridges, in_time, stated_identities
from inweights.theory.prediction.advice_by_parts import advise_parts
from inweights.theory.prediction.largest_part import worlds_of
from inweights.theory.prediction.parts_in_time import (
    MAX_OF_REST,
    check_seconds,
    load_solvers,
    parts_within,
    solve_piece,
)
from inweights.theory.prediction.prediction import Prediction
from inweights.theory.prediction.tables import Solved, left_out, outvoted, query_table
from inweights.theory.programs.prompts import Answers
from inweights.worlds.registry import WorldConfig
from inweights.worlds.world import Ids, World

#: Measured effect of a division into parts (docs/performance.md): 32 and 21 parts of
#: 8,300 facts, compared with one program.
CUT = (
    "The error that this causes is not bounded: for a company of 8,300 facts, half of the margins "
    "were off by .4 or more, and one in twenty by .9 or more (the margin of a fact is 1)."
)
#: Function that solves a world and returns the optimum and a note on it.
_Solver = Callable[..., tuple[Solved, str]]


def predict(
    world: World,
    *,
    answers: Answers = "several",
    decay: float | None = None,
    gap: float = 1e-3,
    seconds: float | None = None,
    began: float | None = None,
    iterations: int = 20_000,
    tie: float = 0.02,
    advise: bool = True,
    state: str | Path | None = None,
    progress: SolverProgress | None = None,
) -> Prediction:
    """Predict for every query of a world whether its answer follows from the facts.

    Every world whose answers have one token can be predicted. If no matrix satisfies
    all facts, the soft program (:func:`.solve_soft`) is solved, and the prediction
    lists the facts that are dropped. If time or memory does not suffice for all facts,
    they are divided into parts that are solved separately. If time permits, thousands
    of facts are covered by one program (:mod:`~.whole`).

    Args:
        world: Facts and queries with answers of one token.
        answers: ``several`` if a prompt may have several correct answers, otherwise ``one``.
        decay: Weight decay of the training that is predicted (soft program). If
            ``None``, the prediction is for the limit of long training without decay
            (program (2) of Identity Bridge, §4.3), if all facts can be stored and the
            prompts of identities are single tokens. Otherwise the soft program is
            solved with a decay of 3e-4, or of 1e-2 if identities have longer prompts.
        gap: Relative duality gap to certify for each solution, from 1e-7 to below 1.
        seconds: Time limit for the whole prediction, in seconds, from 0 to 10**7;
            ``None`` for no limit. It determines how large the parts are.
        began: Value of :func:`time.perf_counter` at which the limit starts; by default
            the time of this call.
        iterations: Maximum number of iterations for each part, at least 1; unused if
            one program covers thousands of facts.
        tie: Margins of at most this absolute value, at least 0 and below 1, are ties.
            The gap bounds the norm, not the margins; at a gap of 1e-3 some margins have
            a far larger error (see :meth:`.Prediction.with_intervals`).
        advise: Whether to search, in the remaining time, for statements whose addition
            makes failing queries follow.
        state: File in which the state of a large program is stored while it is solved,
            and from which an interrupted prediction continues. One program is then
            solved for all facts, however long that is expected to take. If ``None``,
            nothing is stored.
        progress: Function that takes a text, iteration number and gap, or ``None``.

    Returns:
        The prediction: answer, margin and verdict (see :class:`.Prediction`) of every
        query of a solved part, the dropped facts (``let_go``), and the advice
        (``advice``, ``remedies``). A solution whose gap is not certified within the
        limits is used as well; ``certified`` is then false.

    Raises:
        ConfigError: ``answers`` is unknown, another option is out of range, ``state``
            is given but one program does not cover all facts, or the file is not a
            state of this program.
        DataError: Answers have several tokens; there are no facts; the arrays of a part
            would not fit in memory; or facts contradict each other and ``answers`` is
            ``one``.
        WriteError: The file ``state`` cannot be written.

    Example:
        >>> from inweights.worlds import TwoHop
        >>> forecast = predict(TwoHop(n=3, identity=False).build())
        >>> forecast.queries["verdict"].to_list(), forecast.advice.identities
        (['fails', 'fails', 'fails'], ('b1', 'b2', 'b3'))
        >>> predict(TwoHop(n=3, identity=True).build()).queries["predicted"].to_list()
        ['c1', 'c2', 'c3']
    """
    if not 0 <= tie < 1:
        raise ConfigError(
            f"'tie' must be at least 0 and below 1 (the margin of the facts), got {tie}"
        )
    check_seconds(seconds)
    if not len(world.facts):
        raise DataError("there are no facts to predict from")
    load_solvers()
    now = time.perf_counter()
    late = None if seconds is None else (now if began is None else began) + seconds
    settings = partial(
        solve_piece, answers=answers, decay=decay, gap=gap, iterations=iterations
    )

    def forecast(
        of: World, what: str, most: float = np.inf, solver: _Solver = settings
    ) -> tuple[Solved, pl.DataFrame, str]:
        tell = (lambda step, now: progress(what, step, now)) if progress else None
        left = None if late is None else min(max(0.0, late - time.perf_counter()), most)
        solution, why = solver(of, seconds=left, progress=tell)
        return solution, query_table(solution, tie), why

    # Imported here, as it needs SciPy, which a list of recipes does not.
    from inweights.theory.prediction.whole import (
        solve_whole,
        solve_with_additions,
        whole_fits,
    )

    found = parts_within(world, seconds)
    note = ""
    # The rest is for the parts if this fails, and for work around its iterations. If it
    # ends early, its wider gap is still more informative than parts.
    most = None if late is None else 0.6 * (late - now)
    whole = len(found) > 1 and whole_fits(world, None if state else most, decay)
    if state and (decay is not None or not whole):
        raise ConfigError(
            "'state' has an effect only if one large program is solved for all facts, which "
            f"is not the case for these {len(world.facts):,} facts (there are too few, 'decay' is "
            "given, or prompts of identities have several tokens); leave out 'state'"
        )
    if whole:
        solve_all = partial(solve_whole, answers=answers, gap=gap, decay=decay)
        added = partial(solve_with_additions, answers=answers, gap=gap, decay=decay)
        as_one = partial(forecast, solver=added)
        stored = partial(solve_all, state=Path(state) if state else None)
        limit = most or np.inf
        try:
            solution, table, why = forecast(world, "given facts", limit, stored)
        except SolverError as error:
            note = str(error)
            now = time.perf_counter()
            found = parts_within(world, None if late is None else max(0.0, late - now))
        else:
            every = np.arange(len(world.facts)), np.arange(len(world.queries))
            placed = table.with_columns(part=pl.lit(0), query=every[1])
            made = _put_together(world, [(solution, placed, every[0], why)], 1, "")
            return _advised(made, as_one, late, solution.seconds, advise=advise)
    solved: list[tuple[Solved, pl.DataFrame, Ids, str]] = []
    # The rest of the time is for the advice.
    until = np.inf if late is None else now + (0.6 if advise else 1.0) * (late - now)
    pieces = worlds_of(world, found)
    first = time.perf_counter()
    for number, (rows, _) in enumerate(found):
        now = time.perf_counter()
        usual = (now - first) / max(number, 1)
        left = until - now
        # A few parts that are solved well are better than all parts solved badly.
        if solved and left < usual:
            break
        part, asked = next(pieces)
        what = (
            "given facts" if len(found) == 1 else f"part {number + 1} of {len(found)}"
        )
        share = max(1 / (len(found) - number), MAX_OF_REST)
        solution, table, why = forecast(
            part, what, max(share * left, 2 * usual if number else 0.0)
        )
        placed = table.with_columns(part=pl.lit(number), query=asked)
        solved.append((solution, placed, rows, why))
    made = _put_together(world, solved, len(found), note)
    usual = (time.perf_counter() - first) / len(solved)
    return _advised(made, forecast, late, usual, advise=advise)


def _advised(
    made: Prediction,
    forecast: Callable[..., tuple[Solved, pl.DataFrame, str]],
    late: float | None,
    usual: float,
    *,
    advise: bool,
) -> Prediction:
    """Add the advice, if it is requested and one more solution fits in the remaining time."""
    if not (advise and in_time(None if late is None else late - usual)):
        return made
    try:
        advice, others = advise_parts(made.parts, made.queries, forecast, late)
    except SolverError as error:
        note = f"No advice was found, as its program was not solved: {error}."
        return replace(made, why=f"{made.why} {note}".strip())
    return replace(made, advice=advice, remedies=others)


def _put_together(
    world: World,
    solved: Sequence[tuple[Solved, pl.DataFrame, Ids, str]],
    parts: int,
    note: str,
) -> Prediction:
    """Return the prediction of a world from the solutions of its parts.

    Args:
        world: The whole world.
        solved: For each part its solution, the table of its queries, the indices of its
            facts, and why it is not program (2).
        parts: Number of parts into which the facts were divided.
        note: Why the facts are in parts; may be empty.
    """
    solutions, tables, facts, reasons = zip(*solved, strict=True)
    out = np.ones(len(world.facts), dtype=bool)
    out[np.concatenate(facts)] = False
    why = " ".join(dict.fromkeys(reason for reason in reasons if reason))
    if parts > 1:
        note = note or (
            f"One program for all {len(out):,} facts would exceed the time limit or memory"
        )
        why = (
            f"{note}; {len(solved)} of {parts} parts ({int((~out).sum()):,} facts) were solved "
            f"separately. Components that fit into a part were not divided. {CUT} {why}"
        ).strip()
    lost = [
        outvoted(solution, rows)
        for solution, rows in zip(solutions, facts, strict=True)
    ]
    return Prediction(
        parts=solutions,
        world=world,
        queries=pl.concat(tables),
        let_go=pl.concat([*lost, left_out(world, out)]),
        why=why,
    )


def predicted_queries(
    world: WorldConfig,
    *,
    seed: int = 0,
    answers: Answers = "one",
    gap: float = 1e-3,
    decay: float | None = None,
) -> pl.DataFrame:
    """Return the prediction for the queries of a world, given its config.

    Args:
        world: Config of the world.
        seed: Root seed with which the world is built.
        answers: ``several`` if a prompt may have several correct answers, otherwise ``one``.
        gap: Relative duality gap to certify for each solution, from 1e-7 to below 1.
        decay: Weight decay of the training; ``None`` means the same as in :func:`predict`.

    Returns:
        One row per query: the table ``queries`` of a
        :class:`~inweights.theory.prediction.prediction.Prediction` (``predicted``,
        ``margin``, ``verdict`` and more). The added column ``trivial`` is a baseline:
        1.0 if the facts contain the identity of a bridge of the query, otherwise 0.0.

    Raises:
        DataError: There are no facts, an answer has several tokens, facts contradict
            each other, or the arrays would not fit in memory.
        ConfigError: ``answers``, ``gap``, ``decay`` or ``seed`` is out of range.

    Example:
        >>> from inweights.worlds import TwoHop
        >>> predicted_queries(TwoHop(n=3, identity=True))["verdict"].to_list()
        ['follows', 'follows', 'follows']
    """
    made = world.build(seed)
    queries = predict(made, answers=answers, gap=gap, decay=decay, advise=False).queries
    known = stated_identities(made)
    helped = {query for query, bridge in bridges(made) if bridge in known}
    return queries.with_columns(
        trivial=pl.col("query").is_in(sorted(helped)).cast(pl.Float64)
    )
