"""Predict what a model will answer by training small replicas on the facts themselves.

:func:`predict_by_training` is slower than the convex program of
:func:`inweights.predict`, and its result is not certified. However, it does not assume
that training reaches an optimum, it takes the order of tokens into account, and it
covers models with attention. ``inweights predict --by training`` and the recipes that
compare both predictions use it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from inweights.audit.prediction.replica_answers import (
    answers_of,
    are_right,
    shares_by_query,
    shares_by_role,
    trained_replicas,
)
from inweights.config import check_size
from inweights.errors import ConfigError, DataError
from inweights.models.configs import EmbMLPConfig, GPTConfig
from inweights.models.configs.model_config import ModelConfig
from inweights.seeds import Streams
from inweights.support.progress import Progress
from inweights.training import learners
from inweights.training.curriculum import Curriculum
from inweights.worlds.registry import WorldConfig
from inweights.worlds.world import World

#: Learning rate per fact of Emb-MLP, and its maximum. The rate is proportional to the
#: number of facts because the loss is a mean over facts.
RATE = 0.05
FASTEST = 2.0


@dataclass(frozen=True, eq=False)
class TrainedForecast:
    """Answers of small models, with several replicas each, after a short training on the facts.

    Attributes:
        queries: One row per model and query: ``model``, ``query`` (its index in the
            world), ``predicted`` (name of the most frequent answer of the replicas),
            ``share`` (the fraction of the replicas whose answer is right; for a query
            of the role ``unstated``, which no fact answers, the fraction whose answer
            is ``predicted``), ``lower`` and ``upper`` (95% interval of ``share``,
            Clopper and Pearson), ``right_answers`` (number of correct answers; 0 for the
            role ``unstated``) and ``chance`` (the fraction of the candidate answers
            that are right; null for the role ``unstated``).
        kinds: One row per model and role of queries: ``model``, ``role``, ``queries``
            (their number), ``share`` (mean of the shares of these queries), ``lower``
            and ``upper`` (95% Student interval of that mean over the replicas),
            ``right_answers`` and ``chance`` (means over these queries; null for the
            role ``unstated``).
        memorised: Fraction of the facts that the replicas of a model answer correctly
            (mean over the replicas), keyed by the name of the model.
        replicas: Number of replicas of each model.
        seconds: Time that the training of all models took, in seconds.
    """

    queries: pl.DataFrame
    kinds: pl.DataFrame
    memorised: Mapping[str, float]
    replicas: int
    seconds: float


def replicas_for(
    facts: int, share: float = 1.0
) -> dict[str, tuple[ModelConfig, Curriculum]]:
    """Return the models to train on a given number of facts, with their curricula.

    These are the models of the recipe ``identity-bridge/fig2``, but they are trained
    for fewer updates: 6,000 for Emb-MLP, and 280 for a GPT with 2 layers and width 64.

    Args:
        facts: Number of facts, at least 1. The learning rate of Emb-MLP is 0.05 times
            this number, but at most 2.
        share: Factor by which the numbers of updates are multiplied, such as 0.1 for a
            short trial. The number of updates is at least one.

    Returns:
        Config and curriculum of each model, under the keys ``Emb-MLP`` and ``GPT``.

    Raises:
        ConfigError: ``facts`` is below 1.
    """
    if facts < 1:
        raise ConfigError(f"facts must be at least 1, got {facts}")
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
    """Train small replicas on a world's facts, and count how many answer each query correctly.

    Args:
        world: The world; the answer to each fact and to each query must be a single
            token.
        models: Config and curriculum of each model, keyed by the name of the model; by
            default the result of :func:`replicas_for`.
        replicas: Number of replicas of each model, at least 1.
        seed: Root seed of the replicas, from 0 to 2**63 - 1.
        progress: Called with the number of updates done, the total number over all
            models, and a description; ``None`` disables progress reporting.

    Returns:
        A :class:`TrainedForecast` with two tables: ``queries``, with one row per model
        and query (the fraction of the replicas that answer it correctly, with a 95%
        interval), and ``kinds``, with one row per model and role of queries (means).
        ``memorised`` contains the fraction of the facts that are answered correctly.

    Raises:
        ConfigError: ``replicas`` is below 1, ``seed`` is not between 0 and 2**63 - 1, a
            statement is longer than the context of a model, or a model lacks something
            that its curriculum needs.
        DataError: There are no facts, an answer has several tokens, or a curriculum
            names roles or tokens that the world lacks.
        RunError: A replica diverges even at a sixteenth of its learning rate.
    """
    check_size("replicas", replicas)
    _check_world(world)
    began = time.perf_counter()
    chosen = replicas_for(len(world.facts)) if models is None else models
    total = sum(learner.steps for _, learner in chosen.values())
    done = 0
    seeds = [Streams(seed).seed("replica", i) for i in range(replicas)]
    tables = []
    kinds = []
    memorised = {}
    for name, (config, learner) in chosen.items():

        def report(step: int, name: str = name, before: int = done) -> None:
            if progress:
                progress(before + step, total, f"{replicas} replicas of {name}")

        model = trained_replicas(world, config, learner, seeds, report)
        done += learner.steps
        facts = are_right(world.facts, answers_of(model, world, "facts"))
        memorised[name] = float(facts.mean())
        table, hits = shares_by_query(world, name, answers_of(model, world, "queries"))
        tables.append(table)
        kinds.append(shares_by_role(world, name, table, hits))
    return TrainedForecast(
        queries=pl.concat(tables),
        kinds=pl.concat(kinds),
        memorised=memorised,
        replicas=replicas,
        seconds=time.perf_counter() - began,
    )


def _check_world(world: World) -> None:
    """Raise :class:`DataError` if a world has no facts, or answers of several tokens."""
    if not len(world.facts):
        raise DataError("there are no facts to train on")
    for kind, part in (("fact", world.facts), ("query", world.queries)):
        if len(part.answers) != len(part):
            raise DataError(
                f"the answer of a {kind} has several tokens, but a prediction by training "
                f"requires answers of one token; remove the role of this {kind} from the world"
            )


def trained_queries(
    world: WorldConfig, *, replicas: int = 4, share: float = 1.0, seed: int = 0
) -> pl.DataFrame:
    """Train replicas on a world and return the share that answer each query correctly.

    Args:
        world: Config of the world.
        replicas: Number of replicas of each model, at least 1.
        share: Factor by which the numbers of updates of :func:`replicas_for` are
            multiplied; the number of updates is at least one.
        seed: Root seed of the world and of the replicas, from 0 to 2**63 - 1.

    Returns:
        One row per model and query: ``model`` (``Emb-MLP`` or ``GPT``), ``predicted``
        (name of the most frequent answer of the replicas), ``share`` (the fraction of
        the replicas whose answer is right; for queries of the role ``unstated``, which
        no fact answers, the fraction whose answer is ``predicted``), ``lower`` and
        ``upper`` (its 95% interval), ``prompt`` (the query as text) and ``answer`` (its
        answer in the world; if there are several, the first).

    Raises:
        ConfigError: ``replicas`` is below 1, ``seed`` is not between 0 and 2**63 - 1,
            or the world is too large for the memory.
        DataError: The world has no facts or an answer of several tokens, or its file is
            missing or damaged.
        RunError: A replica diverges even at a sixteenth of its learning rate.
    """
    made = world.build(seed)
    names = made.vocabulary.names
    queries = made.queries
    models = replicas_for(len(made.facts), share)
    rows = predict_by_training(made, models, replicas=replicas, seed=seed).queries
    places = rows["query"].to_list()
    prompts = [made.vocabulary.text(queries.prompt(i)) for i in places]
    return rows.drop("query", "right_answers", "chance").with_columns(
        prompt=pl.Series(prompts, dtype=pl.String),
        answer=pl.Series([names[queries.answers[i]] for i in places], dtype=pl.String),
    )
