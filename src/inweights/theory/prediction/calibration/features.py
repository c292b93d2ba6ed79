"""Compute the inputs of the fit: features of each query, and properties of its world.

:mod:`~.fitted` computes probabilities from :func:`query_features`, and uses
:func:`properties` to find the nearest family of worlds.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import chain, pairwise

import numpy as np
import polars as pl

from inweights.theory.prediction.advice import bridges, stated_identities
from inweights.worlds.arrays import Floats, Ids
from inweights.worlds.world import World

#: Roles of queries that have a probability: those that chain facts.
CHAINED = ("composition", "chain")
#: Knots of the linear spline in the margin.
KNOTS = (-1.0, -0.5, -0.1, 0.0, 0.1, 1.0)
#: Features of a query, and the sign that the effect of each must have.
FEATURES = {
    "margin": 1,
    "identity": 1,
    "identities": 1,
    "common": 1,
    "reached": 1,
    "rivals": -1,
    "complexity": -1,
    "steps": -1,
}
#: Features of a query with several correct answers, with their signs; 0 if only one is
#: right. The effect of the last may have either sign.
SEVERAL = {"right": 1, "density": 1, "several": 0}
#: Properties of a world by which the nearest family is found.
PROPERTIES = (
    "facts",
    "identities",
    "evenness",
    "shared",
    "symmetric",
    "several",
    "steps",
)
#: Properties of the correct answers to its queries; 0 if each query has only one.
OF_ANSWERS = ("right", "density")


def query_features(world: World, queries: pl.DataFrame) -> pl.DataFrame:
    """Return the features from which the probability of a correct answer is computed.

    Args:
        world: Facts and queries.
        queries: Table of a prediction, with the columns ``query``, ``role`` and
            ``margin``.

    Returns:
        One row per query of the role ``composition`` or ``chain``, in the order of
        ``queries``, with the columns ``query`` (its index) and the :data:`FEATURES`:

        - ``margin``: the predicted margin.
        - ``identity``: fraction of the query's bridges that have an identity.
        - ``identities``: this fraction for the bridges of all queries.
        - ``common``: fraction of the facts of the last relation whose answer is correct
          for the query.
        - ``reached``: logarithm of one plus the number of facts whose answer is a
          bridge of the query.
        - ``rivals``: logarithm of the number of distinct answers of the last relation.
        - ``complexity``: logarithm of the number of objects that chains with the same
          last relation reach from the subject.
        - ``steps``: number of facts in the chain.

        The last columns are the features :data:`SEVERAL`, which are 0 for a query with
        one correct answer:

        - ``right``: logarithm of the number of correct answers.
        - ``density``: logarithm of the factor by which several correct answers reduce
          the number of wrong ones. ``right`` plus ``density`` is the increase of the
          log odds of a guess, compared with a single correct answer.
        - ``several``: 1 for a query with several correct answers.
    """
    rows = queries.filter(pl.col("role").is_in(CHAINED))
    asked = world.queries
    known = stated_identities(world)
    over: defaultdict[int, set[int]] = defaultdict(set)
    for query, bridge in bridges(world, rows["query"].to_list()):
        over[query].add(bridge)
    every = set().union(*over.values())
    identities = len(every & known) / max(len(every), 1)
    after = _after(world)
    answers = _answers(after)
    into: Counter[int] = Counter()
    for links in after.values():
        into.update(thing for _, thing in links)
    things = _by_relation(after)
    found = []
    for query, margin in rows.select("query", "margin").iter_rows():
        prompt = asked.prompt(query).tolist()
        right = asked.right_answers(query).tolist()
        own = over[query]
        last = answers[prompt[-1]]
        ends = _ends(after, things, prompt)
        identity = len(own & known) / max(len(own), 1)
        stated = sum([last[answer] for answer in right if answer in last])
        common = stated / max(last.total(), 1)
        reached = np.log1p(sum([into[bridge] for bridge in own]))
        rivals = np.log(max(len(last), 1))
        complexity = np.log(max(len(ends), 1))
        steps = float(len(prompt) - 1)
        row = (query, margin, identity, identities, common)
        found.append((*row, reached, rivals, complexity, steps))
    schema = {"query": pl.Int64, **dict.fromkeys(FEATURES, pl.Float64)}
    table = pl.DataFrame(found, schema=schema, orient="row")
    right, density = _of_answers(world, rows["query"].to_numpy())
    several = (right > 0).astype(float)
    return table.with_columns(
        right=pl.Series(right), density=pl.Series(density), several=pl.Series(several)
    )


def _of_answers(world: World, rows: Ids) -> tuple[Floats, Floats]:
    """Return the features ``right`` and ``density`` of the queries with indices ``rows``."""
    counts = world.queries.right_counts[rows]
    outputs = len(world.outputs)
    # If all outputs are correct, half of a wrong one is assumed, so that the logarithm
    # is finite.
    wrong = np.maximum(outputs - counts, 0.5)
    density = np.where(counts > 1, np.log(max(outputs - 1, 0.5) / wrong), 0.0)
    return np.log(np.maximum(counts, 1)), np.maximum(density, 0.0)


def columns(features: pl.DataFrame) -> tuple[Floats, tuple[str, ...]]:
    """Return the design matrix of a linear model of the features.

    The predicted margin enters the model as a linear spline with the knots
    :data:`KNOTS`, so that its effect may be steep around 0.

    Args:
        features: Table of :func:`query_features`, with ``Q`` rows.

    Returns:
        The matrix, ``[Q, F]``, and the names of its ``F`` columns. The first five
        columns belong to the intervals between the knots, with values from 0 to 1. The
        remaining columns contain the other features.
    """
    margin = features["margin"].to_numpy()
    parts = {}
    for low, high in pairwise(KNOTS):
        share = np.clip((margin - low) / (high - low), 0.0, 1.0)
        parts[f"margin from {low:g} to {high:g}"] = share
    for name in (*FEATURES, *SEVERAL):
        if name != "margin" and (name in FEATURES or name in features.columns):
            parts[name] = features[name].to_numpy()
    return np.stack([*parts.values()], axis=1), tuple(parts)


def properties(world: World) -> dict[str, float]:
    """Return the properties by which a world is compared with families of calibration worlds.

    Args:
        world: Facts and queries.

    Returns:
        Dictionary that maps the name of each property to its value. Only facts whose
        prompts have two tokens (a subject and a relation) and that are not identities
        are considered. The properties are:

        - ``facts``: logarithm of the number of distinct facts.
        - ``identities``: fraction of the answers that are also subjects for which the
          world has an identity.
        - ``evenness``: entropy of the answers of a relation divided by its maximum,
          averaged over the relations.
        - ``shared``: fraction of the answers that belong to several relations.
        - ``symmetric``: fraction of the facts whose reverse is also a fact.
        - ``several``: fraction of the prompts of facts that have several answers.
        - ``steps``: mean number of facts in the chain of a query; 2 if no query chains
          facts.
        - ``right`` and ``density``: means of these features of :func:`query_features`
          over the queries that chain facts.
    """
    after = _after(world)
    known = stated_identities(world)
    answers = _answers(after)
    triples: set[tuple[int, int, int]] = set()
    for subject, links in after.items():
        triples.update((subject, relation, thing) for relation, thing in links)
    # number of relations that have a thing as an answer
    relations: Counter[int] = Counter()
    for found in answers.values():
        relations.update(found.keys())
    middle = [thing for thing in relations if thing in after]
    prompts = Counter((s, r) for s, r, _ in triples)
    asked = world.queries
    roles = [asked.role_names[role] for role in asked.roles]
    chained = [query for query, role in enumerate(roles) if role in CHAINED]
    steps = [len(asked.prompt(query)) - 1 for query in chained]
    right, density = _of_answers(world, np.array(chained, dtype=np.int64))
    return {
        "facts": float(np.log(max(len(triples), 1))),
        "identities": sum(b in known for b in middle) / max(len(middle), 1),
        "evenness": _mean(list(map(_evenness, answers.values())), 1.0),
        "shared": _mean([count > 1 for count in relations.values()]),
        "symmetric": _mean([(o, r, s) in triples for s, r, o in triples]),
        "several": _mean([count > 1 for count in prompts.values()]),
        "steps": _mean(steps, 2.0),
        "right": _mean(right.tolist()),
        "density": _mean(density.tolist()),
    }


def _mean(values: Sequence[float], empty: float = 0.0) -> float:
    """Return the mean of the values, or ``empty`` if there are none."""
    return float(np.mean(values)) if values else empty


def _evenness(answers: Counter[int]) -> float:
    """Return the entropy of the frequencies of answers divided by its maximum."""
    shares = np.array(list(answers.values())) / answers.total()
    if len(shares) < 2:
        return 1.0
    return float(-(shares * np.log(shares)).sum() / np.log(len(shares)))


def _after(world: World) -> dict[int, list[tuple[int, int]]]:
    """Return the relation and object of each fact, keyed by subject; identities are left out."""
    after: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for fact in world.facts:
        thing = fact.answer[0]
        if len(fact.prompt) == 2 and fact.prompt[0] != thing:
            subject, relation = fact.prompt
            after[subject].append((relation, thing))
    return dict(after)


def _answers(after: dict[int, list[tuple[int, int]]]) -> defaultdict[int, Counter[int]]:
    """Return the number of times that each object occurs in facts of each relation."""
    answers: defaultdict[int, Counter[int]] = defaultdict(Counter)
    for links in after.values():
        for relation, thing in links:
            answers[relation][thing] += 1
    return answers


def _by_relation(
    after: dict[int, list[tuple[int, int]]],
) -> dict[tuple[int, int], list[int]]:
    """Return the objects of each pair of subject and relation."""
    found: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for subject, links in after.items():
        for relation, thing in links:
            found[subject, relation].append(thing)
    return dict(found)


def _ends(
    after: dict[int, list[tuple[int, int]]],
    things: dict[tuple[int, int], list[int]],
    prompt: Sequence[int],
) -> set[int]:
    """Return the objects that any chain from a prompt's subject reaches, up to its length.

    Args:
        after: Relations and objects of each subject.
        things: Result of :func:`_by_relation`.
        prompt: A subject, followed by one relation for each fact of a chain.
    """
    here = {prompt[0]}
    ends = set[int]()
    for left in range(len(prompt) - 1, 0, -1):
        for one in here:
            ends.update(things.get((one, prompt[-1]), ()))
        # Not after the last step, whose objects are looked up by subject and relation
        # above: a subject may have thousands of other objects.
        if left > 1:
            links = chain.from_iterable(after[one] for one in here & after.keys())
            here = {thing for _, thing in links}
    return ends
