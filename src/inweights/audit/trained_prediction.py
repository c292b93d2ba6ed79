"""Predict what a model will answer by short trainings of small replicas on the very facts.

:func:`predict_by_training` is slower than the program of :func:`inweights.predict`, and
nothing is certified; but it assumes no optimum, uses the order of tokens, and covers
models with attention. Used by ``inweights predict --train`` and the recipes that
compare both predictions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from statistics import mode
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from inweights.config import check_size
from inweights.errors import DataError, RunError
from inweights.models.configs import EmbMLPConfig, GPTConfig
from inweights.models.configs.model_config import ModelConfig
from inweights.seeds import Streams
from inweights.support.intervals import interval, share_interval
from inweights.support.progress import Progress
from inweights.training import learners
from inweights.training.curriculum import Curriculum
from inweights.worlds.registry import WorldConfig
from inweights.worlds.world import Ids, Statements, World

if TYPE_CHECKING:
    from inweights.models.base import Model
    from inweights.training.batches.worlds import Part

#: Rate of Emb-MLP for each fact, as the loss is a mean over them; and at most.
RATE, FASTEST = 0.05, 2.0
#: How often the rate is halved if a replica diverges.
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


@dataclass(frozen=True, eq=False)
class TrainedForecast:
    """What replicas answered after a short training on the facts.

    Attributes:
        queries: A row for each model and query: ``model``, ``query`` (its index),
            ``predicted`` (what most replicas answer), ``share`` (of the replicas whose
            answer is among the right ones; of a query that is ``unstated``, that answer
            ``predicted``), ``lower`` and ``upper`` (95% interval of that share, Clopper
            and Pearson), ``right_answers`` (their number) and ``chance`` (the share of
            the candidates that is right).
        kinds: A row for each model and role of queries: ``model``, ``role``,
            ``queries``, and ``share`` of them with its Student interval over the
            replicas, ``lower`` to ``upper``, ``right_answers`` and ``chance`` (means).
        memorised: Share of the facts to whose prompt each model gives a right answer,
            mean over its replicas.
        replicas: Number of replicas of each model.
        seconds: Time that all trainings took, in seconds.
    """

    queries: pl.DataFrame
    kinds: pl.DataFrame
    memorised: Mapping[str, float]
    replicas: int
    seconds: float


def replicas_for(
    facts: int, share: float = 1.0
) -> dict[str, tuple[ModelConfig, Curriculum]]:
    """Return the models to train on a given number of facts, and their curricula.

    They are those of ``identity-bridge/fig2`` with shorter training: Emb-MLP for 6,000
    updates, and a GPT of 2 layers and width 64 for 280.

    Args:
        facts: Number of facts, which the learning rate of Emb-MLP grows with.
        share: Factor of the numbers of updates.

    Returns:
        Config and curriculum by the name of the model, ``Emb-MLP`` and ``GPT``.
    """
    rate = min(FASTEST, RATE * facts)
    steps = [max(1, round(share * n)) for n in (6000, 280)]
    gpt = GPTConfig(tied=False, layers=2)
    return {
        "Emb-MLP": (EmbMLPConfig(), learners.two_hop_mlp(rate, steps=steps[0])),
        "GPT": (gpt, learners.two_hop(gpt.width, steps=steps[1])),
    }


def predict_by_training(
    world: World,
    models: Mapping[str, tuple[ModelConfig, Curriculum]] | None = None,
    *,
    replicas: int = 8,
    seed: int = 0,
    progress: Progress | None = None,
) -> TrainedForecast:
    """Train small replicas on a world's facts, and count how many answer each query.

    Args:
        world: The world; all answers must be single tokens.
        models: Config and curriculum of each model by name; by default those of
            :func:`replicas_for`.
        replicas: Number of replicas of each model.
        seed: Root seed of the replicas.
        progress: Called with updates done, all updates, and what is trained.

    Returns:
        Shares of the replicas that answer each query rightly, with intervals.

    Raises:
        ConfigError: ``replicas`` is not a positive number.
        DataError: There are no facts, or an answer has several tokens.
        RunError: A replica diverges even at the lowest rate that is tried.
    """
    check_size("replicas", replicas)
    _check_world(world)
    began = time.perf_counter()
    chosen = replicas_for(len(world.facts)) if models is None else models
    total, done = sum(learner.steps for _, learner in chosen.values()), 0
    seeds = [Streams(seed).seed("replica", i) for i in range(replicas)]
    tables, kinds, memorised = [], [], {}
    for name, (config, learner) in chosen.items():

        def report(step: int, name: str = name, before: int = done) -> None:
            if progress:
                progress(before + step, total, f"{replicas} replicas of {name}")

        model = _trained(world, config, learner, seeds, report)
        done += learner.steps
        facts = _right(world.facts, _answers(model, world, "facts"))
        memorised[name] = float(facts.mean())
        table, hits = _shares(world, name, _answers(model, world, "queries"))
        tables.append(table)
        kinds.append(_shares_by_role(world, name, table, hits))
    return TrainedForecast(
        queries=pl.concat(tables),
        kinds=pl.concat(kinds),
        memorised=memorised,
        replicas=replicas,
        seconds=time.perf_counter() - began,
    )


def _check_world(world: World) -> None:
    """Raise an error for a world without facts, or with answers of several tokens."""
    if not len(world.facts):
        raise DataError("there are no facts to train on")
    for kind, part in (("fact", world.facts), ("query", world.queries)):
        if len(part.answers) != len(part):
            raise DataError(
                f"a {kind} has an answer of several tokens; leave its role out"
            )


def trained_queries(
    world: WorldConfig, *, replicas: int = 4, share: float = 1.0, seed: int = 0
) -> pl.DataFrame:
    """Build a world, train replicas on it, and return how many answer each query, in words.

    Args:
        world: Config of the world.
        replicas: Number of replicas of each model.
        share: Factor of the numbers of updates of :func:`replicas_for`.
        seed: Root seed of the world and of the replicas.

    Returns:
        A row for each model and query: ``model``, ``predicted``, ``share``, ``lower``,
        ``upper``, ``prompt`` and ``answer``, as described at :class:`TrainedForecast`.
    """
    made = world.build(seed)
    names, queries = made.vocabulary.names, made.queries
    models = replicas_for(len(made.facts), share)
    rows = predict_by_training(made, models, replicas=replicas, seed=seed).queries
    places = rows["query"].to_list()
    prompts = [made.vocabulary.text(queries.prompt(i)) for i in places]
    return rows.drop("query", "right_answers", "chance").with_columns(
        prompt=pl.Series(prompts, dtype=pl.String),
        answer=pl.Series([names[queries.answers[i]] for i in places], dtype=pl.String),
    )


def _trained(
    world: World,
    config: ModelConfig,
    learner: Curriculum,
    seeds: list[int],
    report: Callable[[int], None],
) -> Model:
    """Train replicas; if one diverges, train all again at half the rate."""
    from inweights.training.loop import train
    from inweights.training.steps.machine import use_threads

    for halved in range(HALVED + 1):
        model = config.build(
            vocabulary=len(world.vocabulary),
            seeds=seeds,
            candidates=world.outputs.tolist(),
        )
        # More wait for each other on a busy machine.
        with (
            suppress(RunError),
            use_threads(1),
        ):
            slower = _slower(learner, 0.5**halved)
            losses = train(model, world, slower, seeds=seeds, progress=report)
            if losses.losses["loss"].is_finite().all():
                return model
    raise RunError(
        f"a replica diverges at 1/{2**HALVED} of the rate too; give a curriculum with a lower rate"
    )


def _slower(learner: Curriculum, share: float) -> Curriculum:
    """Return a curriculum at a share of its learning rates."""
    change = msgspec.structs.replace
    phases = [
        change(p, optimizer=change(p.optimizer, rate=share * p.optimizer.rate))
        for p in learner.phases
    ]
    return change(learner, phases=tuple(phases))


def _answers(model: Model, world: World, part: Part) -> Ids:
    """Return the token with which each replica answers each statement, ``[R, M]``."""
    from inweights.training.scoring import answer_blocks

    found = np.zeros((model.replicas, len(getattr(world, part))), dtype=np.int64)
    for rows, logits in answer_blocks(model, world, part):
        found[:, rows.cpu().numpy()] = model.candidates[logits.argmax(-1)].cpu().numpy()
    return found


def _right(statements: Statements, answers: Ids) -> NDArray[np.bool_]:
    """Return whether each answer is among the right ones to its prompt, ``[R, M]``."""
    places, tokens = statements.right_pairs(np.arange(len(statements)))
    found = np.zeros(answers.shape, dtype=bool)
    replica, pair = np.nonzero(answers[:, places] == tokens)
    found[replica, places[pair]] = True
    return found


def _shares_by_role(
    world: World, model: str, table: pl.DataFrame, hits: NDArray[np.bool_]
) -> pl.DataFrame:
    """Return the table ``kinds`` of one model: means over the queries of each role."""
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
    """Return the mean number of right answers of some queries, and the mean chance."""
    if role == "unstated":
        return None, None
    means = table[rows].select(pl.col("right_answers", "chance").mean()).row(0)
    return float(means[0]), float(means[1])


def _shares(
    world: World, model: str, answers: Ids
) -> tuple[pl.DataFrame, NDArray[np.bool_]]:
    """Return the share of replicas that answer each query rightly, and which do, ``[R, Q]``.

    An unstated query has no right answer; the share is that of the most frequent
    answer.
    """
    queries, replicas = world.queries, len(answers)
    most = [mode(column) for column in answers.T.tolist()]
    unstated = np.array(
        [queries.role_names[r] == "unstated" for r in queries.roles], dtype=bool
    )
    alike = answers == np.array(most, dtype=np.int64)
    came = np.where(unstated, alike, _right(queries, answers))
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
