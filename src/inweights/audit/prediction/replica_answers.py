"""Train small replicas on a world's facts, and count how many answer each query correctly.

:mod:`~inweights.audit.prediction.by_training` turns these counts into a prediction.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from statistics import mode
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from inweights.errors import RunError
from inweights.models.configs.model_config import ModelConfig
from inweights.support.statistics.intervals import interval, share_interval
from inweights.training.curriculum import Curriculum
from inweights.worlds.world import Ids, Statements, World

if TYPE_CHECKING:
    from inweights.models.base import Model
    from inweights.training.batches.worlds import Part

#: Maximum number of times that the learning rate is halved if a replica diverges.
HALVED = 4
_KINDS: dict[str, Any] = {
    "model": pl.String,
    "role": pl.String,
    "queries": pl.Int64,
    "share": pl.Float64,
    "lower": pl.Float64,
    "upper": pl.Float64,
    "right_answers": pl.Float64,
    "chance": pl.Float64,
}


def trained_replicas(
    world: World,
    config: ModelConfig,
    learner: Curriculum,
    seeds: list[int],
    report: Callable[[int], None],
) -> Model:
    """Train replicas on a world; if one diverges, train all again with half the learning rate.

    Args:
        world: The world on whose facts the replicas are trained.
        config: Architecture of the model.
        learner: Curriculum of the model.
        seeds: Root seed of each replica.
        report: Called with the number of updates so far; the number starts again from 0
            if training is repeated.

    Returns:
        The trained model, with one replica per seed.

    Raises:
        RunError: Even at a sixteenth of the learning rate (after :data:`HALVED`
            halvings), a replica diverges or training fails with a ``RunError``.
        ConfigError: A statement is longer than the context of the model, or the model
            lacks something that a phase of the curriculum needs.
        DataError: A phase of the curriculum names roles or tokens that the world lacks.
    """
    from inweights.training.loop import train
    from inweights.training.steps.machine import use_threads

    for halved in range(HALVED + 1):
        model = config.build(
            vocabulary=len(world.vocabulary),
            seeds=seeds,
            candidates=world.outputs.tolist(),
        )
        # The models are small: on a busy machine, several threads would only wait for
        # each other.
        with suppress(RunError), use_threads(1):
            slower = _slower(learner, 0.5**halved)
            losses = train(model, world, slower, seeds=seeds, progress=report)
            if losses.losses["loss"].is_finite().all():
                return model
    raise RunError(
        f"the training of a replica diverges even with 1/{2**HALVED} of the learning rate; "
        "use a curriculum with a lower learning rate"
    )


def _slower(learner: Curriculum, share: float) -> Curriculum:
    """Return a curriculum with all learning rates multiplied by ``share``."""
    change = msgspec.structs.replace
    phases = [
        change(p, optimizer=change(p.optimizer, rate=share * p.optimizer.rate))
        for p in learner.phases
    ]
    return change(learner, phases=tuple(phases))


def answers_of(model: Model, world: World, part: Part) -> Ids:
    """Return the token with which each replica answers each statement.

    Args:
        model: ``R`` replicas.
        world: The world that the replicas were trained on.
        part: Part of the world whose ``M`` statements are answered: ``facts`` or
            ``queries``.

    Returns:
        The index, in the vocabulary, of the candidate token with the largest logit,
        ``[R, M]`` (NumPy).

    Raises:
        ConfigError: The model has no replica axis, or a prompt is longer than the
            context of the model.
        DataError: The world does not match the model, for example because it has more
            tokens.
    """
    from inweights.training.scoring import answer_blocks

    found = np.zeros((model.replicas, len(getattr(world, part))), dtype=np.int64)
    for rows, logits in answer_blocks(model, world, part):
        answers = model.candidates[logits.argmax(-1)]
        found[:, rows.cpu().numpy()] = answers.cpu().numpy()
    return found


def are_right(statements: Statements, answers: Ids) -> NDArray[np.bool_]:
    """Return whether each replica answers each statement correctly.

    Args:
        statements: ``M`` facts or queries.
        answers: Index of a token for each of ``R`` replicas and each statement, from
            :func:`answers_of`, ``[R, M]``.

    Returns:
        Whether each answer is right, ``[R, M]`` (NumPy).
    """
    places, tokens = statements.right_pairs(np.arange(len(statements)))
    found = np.zeros(answers.shape, dtype=bool)
    replica, pair = np.nonzero(answers[:, places] == tokens)
    found[replica, places[pair]] = True
    return found


def shares_by_query(
    world: World, model: str, answers: Ids
) -> tuple[pl.DataFrame, NDArray[np.bool_]]:
    """Compute, for each query, the fraction of replicas that answer it correctly.

    A query of the role ``unstated`` has no correct answer. Its share is the fraction of
    replicas with the most frequent answer.

    Args:
        world: The world.
        model: Name of the model, for the column of this name.
        answers: Index of a token for each of ``R`` replicas and ``Q`` queries, from
            :func:`answers_of`, ``[R, Q]``.

    Returns:
        Two objects. First, a table with one row per query: ``model``, ``query`` (its
        index), ``predicted`` (name of the most frequent answer; if there is a tie, the
        one that occurs first in the order of the replicas), ``share``, ``lower`` and
        ``upper`` (its 95% interval, Clopper and Pearson), ``right_answers`` (number of
        correct answers; 0 for ``unstated``) and ``chance`` (probability that a random
        candidate is right; null for ``unstated``). Second, a Boolean array ``[R, Q]``:
        whether each replica's answer to each query counts towards ``share``.
    """
    queries = world.queries
    replicas = len(answers)
    most = list(map(mode, answers.T.tolist()))
    unstated = np.array(
        [queries.role_names[r] == "unstated" for r in queries.roles], dtype=bool
    )
    alike = answers == np.array(most, dtype=np.int64)
    came = np.where(unstated, alike, are_right(queries, answers))
    shares = [share_interval(hits, replicas) for hits in came.sum(0).tolist()]
    ends = dict.fromkeys(("share", "lower", "upper"), pl.Float64)
    names = world.vocabulary.names
    table = pl.DataFrame(
        {
            "model": [model] * len(queries),
            "query": np.arange(len(queries)),
            "predicted": [names[token] for token in most],
        },
        schema_overrides={"model": pl.String, "predicted": pl.String},
    )
    guessing = pl.DataFrame(
        {
            "right_answers": np.where(unstated, 0, queries.right_counts),
            "chance": pl.Series(world.chances).scatter(np.flatnonzero(unstated), None),
        }
    )
    return table.hstack(pl.DataFrame(shares, ends, orient="row")).hstack(guessing), came


def shares_by_role(
    world: World, model: str, table: pl.DataFrame, hits: NDArray[np.bool_]
) -> pl.DataFrame:
    """Return the mean share of correct answers over the queries of each role.

    Args:
        world: The world.
        model: Name of the model, for the column of this name.
        table: The table of this model, from :func:`shares_by_query`.
        hits: Whether each replica's answer to each query is counted as correct, as
            returned by :func:`shares_by_query`, ``[R, Q]`` (``R`` replicas, ``Q``
            queries).

    Returns:
        One row per role of queries: ``model``, ``role``, ``queries`` (their number),
        ``share`` (mean), ``lower`` and ``upper`` (95% Student interval over the
        replicas), ``right_answers`` and ``chance`` (means; null for the role
        ``unstated``).
    """
    rows = []
    for role in world.queries.role_names:
        queries = world.queries.with_role(role)
        share, lower, upper = interval(hits[:, queries].mean(1), bounds=(0.0, 1.0))
        right_answers, chance = _guessing(table, role, queries)
        rows.append(
            (model, role, len(queries), share, lower, upper, right_answers, chance)
        )
    return pl.DataFrame(rows, _KINDS, orient="row")


def _guessing(
    table: pl.DataFrame, role: str, rows: Ids
) -> tuple[float | None, float | None]:
    """Return the mean number of correct answers and mean chance; ``None`` for ``unstated``."""
    if role == "unstated":
        return None, None
    means = table[rows].select(pl.col("right_answers", "chance").mean()).row(0)
    return float(means[0]), float(means[1])
