"""Predict answers to queries about facts, or about a part of them that fits in the time limit.

:func:`forecast` selects as many facts as the solver can process within the time limit,
and calls :func:`inweights.predict`; :func:`predict_source` does the same for a file or
a world, for ``inweights predict``; :func:`failing_chains` lists the compositions that a
model is predicted to answer wrongly.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from inweights.config import apply_overrides
from inweights.support.progress import Progress, SolverProgress
from inweights.theory import Prediction, predict
from inweights.theory.prediction.parts_in_time import (
    check_seconds,
    facts_within,
    load_solvers,
)
from inweights.theory.prediction.solving import Solving
from inweights.worlds.knowledge.knowledge import Knowledge, is_source
from inweights.worlds.knowledge.triples import Triples, identities_of
from inweights.worlds.knowledge.two_steps import COMPOSITIONS, composed, spread_chains
from inweights.worlds.registry import open_world
from inweights.worlds.world import Ids

#: Maximum number of facts in the prediction by which chains are sorted. There is no
#: time limit, because the same facts must give the same order on every machine.
_FACTS = 1000


def forecast(
    knowledge: Knowledge,
    config: Triples | None = None,
    *,
    seed: int = 0,
    seconds: float | None = None,
    **options: Any,
) -> Prediction:
    """Predict which queries a model answers correctly after training on given facts.

    If a world is too large for the time limit, :func:`inweights.predict` divides both
    its facts and its queries into parts. This function instead selects a part of the
    facts before queries are made, so that all queries are about facts of this part.

    Args:
        knowledge: The facts.
        config: Config that determines which queries are evaluated and which identities
            are added; by default all queries, and no further identities.
        seed: Root seed, from 0 to 2**63 - 1, that determines which bridges get
            identities if ``config`` adds identities for only a fraction of the bridges.
        seconds: Total time limit of the solver, in seconds, from 0 to 10,000,000;
            ``None`` for no limit. The limit determines how many facts are covered;
            without a limit, this number is the same as for a limit of ten minutes.
        **options: Further arguments of :func:`inweights.predict`, except ``world`` and
            ``began``.

    Returns:
        The prediction. Its table ``let_go`` also lists the facts outside the part, with
        the reason ``left out``, and its text ``why`` states which facts and queries are
        covered.

    Raises:
        ConfigError: ``seconds``, ``seed`` or another option is out of range;
            ``identity`` of ``config`` names an unknown relation or level; or ``state``
            is given, but the file is not the state of this program, or the facts are
            divided into several parts.
        DataError: Facts contradict each other and ``answers`` is ``one``, or the arrays
            of a part would not fit in memory.
        WriteError: The file ``state`` cannot be written.

    Example:
        >>> from inweights.worlds import read_knowledge
        >>> found = forecast(read_knowledge("@people"), seconds=0.01, advise=False)
        >>> found.let_go["why"].unique().to_list(), found.why.split(";")[0]
        (['left out'], 'one program for all 90 facts would exceed the time limit')
    """
    check_seconds(seconds)
    load_solvers()
    began = time.perf_counter()
    config = config or Triples(questions="all")
    most = facts_within(seconds)
    # Each bridge may add an identity to the program, and there are fewer bridges than
    # facts.
    kept = knowledge.part(most // 2 if config.identity else most)
    part = knowledge.take(kept) if len(kept) < len(knowledge) else knowledge
    found = predict(config.world(part, seed), seconds=seconds, began=began, **options)
    why = " ".join(_coverage(knowledge, part, config, found))
    let_go = pl.concat(
        [_renumbered(found.let_go, part, kept), _left_out(knowledge, kept)]
    )
    return replace(found, let_go=let_go, why=why)


def _coverage(
    knowledge: Knowledge, part: Knowledge, config: Triples, found: Prediction
) -> Iterator[str]:
    """Yield sentences that state which facts and which queries a prediction covers."""
    if len(part) < len(knowledge):
        yield (
            f"one program for all {len(knowledge):,} facts would exceed the time limit; this one "
            f"covers {len(part):,} of them, in whole components if one fits."
        )
    if found.why:
        yield found.why
    linking = part.triples[~identities_of(part)]
    total = composed(linking, 0)[2] if "composition" in config.kinds else 0
    evaluated = found.queries.filter(role="composition").height
    if total > evaluated:
        yield (
            f"Of {total:,} two-step questions, {evaluated:,} are evaluated, which are spread "
            "evenly over all of them; each is evaluated with all its correct answers."
        )


def _renumbered(let_go: pl.DataFrame, part: Knowledge, kept: Ids) -> pl.DataFrame:
    """Return the dropped facts of a part, with their indices among all facts.

    In the world of the part, identities come last, and each occurs only once.
    Identities that were added to it are left out, as they are not among the user's
    facts.
    """
    is_identity = identities_of(part)
    first = np.unique(part.triples[is_identity, 0], return_index=True)[1]
    numbers = np.concatenate([kept[~is_identity], kept[is_identity][np.sort(first)]])
    own = let_go.filter(pl.col("fact") < len(numbers))
    return own.with_columns(
        fact=pl.Series(numbers[own["fact"].to_numpy()], dtype=pl.Int64)
    )


def predict_source(
    facts: Triples,
    changes: Sequence[str] = (),
    *,
    seed: int = 0,
    solving: Solving | None = None,
    progress: SolverProgress | None = None,
    watch: Progress | None = None,
) -> Prediction:
    """Predict which queries a model answers after training on the facts of a world.

    Args:
        facts: Config with the file of facts (``path``) and the queries to evaluate. Its
            ``path`` may also be the name of a world, such as ``two-hop``, or a folder
            that contains a world; the other fields then have no effect.
        changes: Changes to the settings of the world or of ``facts``, each
            ``key=value``.
        seed: Root seed of the world, from 0 to 2**63 - 1.
        solving: Settings of the solver, including the time limit; by default those of
            :class:`.Solving`.
        progress: Called while an optimization problem is solved, with the name of the
            problem, the number of iterations and the relative gap; ``None`` disables
            progress reporting.
        watch: Called with the number of proved intervals, the number of all intervals,
            and the string ``intervals``; ``None`` disables these calls.

    Returns:
        The prediction, with proved intervals of the margins if ``solving.intervals`` is
        True.

    Raises:
        ConfigError: An option is out of range, there is no such world, a change names
            an unknown setting or has an invalid value, or intervals are requested but
            the prediction is made with the soft program (with ``solving.decay``, or for
            facts that contradict each other).
        DataError: The facts cannot be read or there are none, an answer of the world
            has several tokens, the arrays of a part would not fit in memory, or facts
            contradict each other and ``solving.answers`` is ``one``.
        WriteError: The file ``solving.state`` cannot be written.
        SolverError: Intervals are requested, a solution had to be refined for them, and
            no solution was found within the solver's limits.

    Example:
        >>> few = Solving(advise=False, intervals=True)
        >>> found = predict_source(Triples(path="two-hop"), ["n=2", "identity=true"], solving=few)
        >>> found.queries["proved"].to_list()
        ['follows', 'follows']
    """
    solving = solving or Solving()
    check_seconds(solving.seconds)
    load_solvers()
    began = time.perf_counter()
    make: Callable[..., Prediction]
    if is_source(facts.path):
        config = apply_overrides(facts, changes)
        make = partial(forecast, config.read(), config, seed=seed)
        # The number of facts that fit depends only on the given time limit, not on the
        # time that has passed, so that it is the same in every call.
        left = solving.seconds
    else:
        make = partial(predict, open_world(facts.path, changes, seed))
        left = max(solving.seconds / 4, solving.seconds - (time.perf_counter() - began))
    late = time.perf_counter() + left
    made = make(
        answers=solving.answers,
        decay=solving.decay,
        gap=solving.gap,
        tie=solving.tie,
        advise=solving.advise,
        state=solving.state or None,
        seconds=left / 2 if solving.intervals else left,
        progress=progress,
    )
    if not solving.intervals:
        return made
    left = max(left / 4, late - time.perf_counter())
    report = (lambda done, of: watch(done, of, "intervals")) if watch else None
    return made.with_intervals(tie=solving.tie, seconds=left, progress=report)


def failing_chains(
    knowledge: Knowledge, *, progress: SolverProgress | None = None
) -> list[tuple[int, int]]:
    """Return the chains of two facts whose questions a model is predicted to answer wrongly.

    A question fails if a wrong answer has the largest logit, even if a correct answer has
    the same logit. The prediction is for a network trained on these facts alone. If
    there are more than 1,000 facts, the prediction covers a part of them. If there are
    more than 20,000 chains, an evenly spread selection of 20,000 is examined.

    Args:
        knowledge: The facts.
        progress: Called while an optimization problem is solved, with a description,
            the number of iterations and the relative gap; ``None`` disables progress
            reporting.

    Returns:
        A pair for each chain: the indices, in ``knowledge``, of its first and its
        second fact, sorted by the margin of the question, lowest first. The list is
        empty if there are no chains, or if no question fails.

    Raises:
        DataError: The arrays of a part would not fit in memory.

    Example:
        >>> from inweights.worlds import read_knowledge
        >>> people = read_knowledge("@people")
        >>> chains = failing_chains(people)
        >>> len(chains), [people.names(fact) for fact in chains[0]]
        (70, [('Camoes', 'born_in', 'Lisbon'), ('Lisbon', 'country', 'Portugal')])
    """
    kept = knowledge.part(_FACTS)
    part = knowledge.take(kept) if len(kept) < len(knowledge) else knowledge
    found = predict(Triples().world(part), advise=False, progress=progress)
    wrong = found.queries.filter(pl.col("verdict") != "follows")
    margins = dict(wrong.select("prompt", pl.col("margin").round(3)).iter_rows())
    facts = kept[~identities_of(part)]
    pairs = facts[spread_chains(knowledge.triples[facts], COMPOSITIONS)[0]].tolist()
    failing = []
    for i, j in pairs:
        subject, first, _ = knowledge.names(i)
        _, second, _ = knowledge.names(j)
        prompt = f"{subject} {first} {second}"
        if prompt in margins:
            failing.append((margins[prompt], (i, j)))
    return [pair for _, pair in sorted(failing)]


def _left_out(knowledge: Knowledge, kept: Ids) -> pl.DataFrame:
    """List the facts that are not in a part, with the columns of a prediction's dropped facts.

    Args:
        knowledge: All facts.
        kept: Indices of the facts in the part.

    Returns:
        One row per fact: ``fact`` (its index), ``statement`` (the fact as text),
        ``instead`` (null), ``why`` (``left out``).
    """
    statement = pl.format("({} {}) → {}", "subject", "relation", "object")
    return (
        knowledge.frame()
        .filter(~pl.col("fact").is_in(kept))
        .select(
            "fact",
            statement=statement,
            instead=pl.lit(None, dtype=pl.String),
            why=pl.lit("left out"),
        )
    )
