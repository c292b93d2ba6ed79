"""Feature resemblance (equation 10): similarity of the states of entities that share a property.

:func:`resemblance` measures it in a trained model, :func:`predicted_similarity`
computes the prediction of theory, and :func:`entity_pairs` returns the entities that
are compared. Shapes: ``R`` replicas, ``P`` pairs, ``T`` tokens of a prompt, ``D``
width.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import polars as pl
import torch
from torch import Tensor

from inweights.errors import ConfigError, DataError, check_names
from inweights.models.base import Model
from inweights.models.configs import OneLayerConfig
from inweights.models.one_layer import OneLayer
from inweights.probes.needs import holds
from inweights.probes.states import cosine_blocks, last_states
from inweights.theory.feature_resemblance.resemblance import (
    Course,
    curriculum_cosine,
    linear_cosines,
    noise,
)
from inweights.training.batches.worlds import as_worlds
from inweights.worlds.arrays import Float, Int
from inweights.worlds.registry import WorldConfig
from inweights.worlds.world import Ids, World, Worlds

#: Prompt that is read before the states are compared; see :func:`resemblance`.
Prompt = Literal["entity", "premise", "query"]

_PROMPTS = ("entity", "premise", "query")
# Layers whose states depend only on the token at the same position.
_POSITION_WISE = ("embedding", "value")


@holds(cosines=8, kept=25)
def resemblance(
    model: Model,
    worlds: Worlds,
    *,
    prompt: Prompt | None = None,
    layers: Sequence[str] | None = None,
    by_pair: bool = False,
) -> pl.DataFrame:
    """Compute the cosine between the states of two entities that share a property (equation 10).

    The equation is from Feature Resemblance. In a :class:`~inweights.models.OneLayer`,
    the states are ``W_V e_a`` and ``W_V e_b``, the embeddings of both entities times
    the value matrix. In a deeper model, they are the penultimate layer's states at the
    last token of a prompt. The paper does not state the prompt. Since all states of a
    layer may have similar directions, the table also contains the mean cosine with
    entities of *other* tuples.

    Args:
        model: Model with ``R`` replicas.
        worlds: One ``Analogy`` or ``AnalogicalTwoHop`` world, or one for each replica.
        prompt: ``entity`` (the entity alone), ``premise`` (the entity with the relation
            of the property that both share) or ``query`` (the entity with the relation
            of the conclusion). Default: ``entity`` for a OneLayer, ``premise`` for
            other models (with a small GPT, ``premise`` gave the values closest to the
            paper's Table 1).
        layers: Names of layers, among ``model.layer_names``; by default the penultimate
            layer (``value`` of a OneLayer, the last block's output of a GPT).
        by_pair: If true, return one row per pair; otherwise one row with the mean over
            pairs.

    Returns:
        One row per replica and layer, and with ``by_pair`` also per pair, with the
        columns ``replica``, ``prompt``, ``layer``, ``depth`` (index of the layer),
        ``one`` and ``two`` (names of the pair's entities, only with ``by_pair``),
        ``cosine`` (of the pair, or the mean over pairs), ``other`` (mean cosine of an
        entity ``one`` with all entities ``two`` from which a different conclusion
        follows; NaN if there are none) and ``contrast`` (``cosine − other``).

    Raises:
        ConfigError: The prompt or a layer is unknown, a layer (``embedding``,
            ``value``) depends only on the last token and ``prompt`` is not ``entity``,
            the model has no replica axis or cannot read prompts of this length, or the
            probe would need more memory than is available.
        DataError: The world has no pairs of entities, or the worlds do not fit the
            model.

    Example:
        >>> from inweights.models import OneLayerConfig
        >>> from inweights.worlds import Analogy
        >>> world = Analogy(n=4).build()
        >>> model = OneLayerConfig(width=32).build(vocabulary=len(world.vocabulary), seeds=[0])
        >>> resemblance(model, world).select("prompt", "layer").row(0)
        ('entity', 'value')
    """
    chosen = prompt or ("entity" if isinstance(model, OneLayer) else "premise")
    check_names("prompt", [chosen], _PROMPTS)
    wanted = (model.layer_names[-2],) if layers is None else tuple(layers)
    for name in wanted:
        if name in _POSITION_WISE and chosen != "entity":
            raise ConfigError(
                f"the state of layer '{name}' depends only on the last token, which is the same "
                f"in both prompts of '{chosen}'; use prompt = 'entity' or a deeper layer"
            )
    each = as_worlds(worlds, model)
    prompts = [_prompts(world, chosen) for world in each]
    first_states = last_states(model, [one for one, _, _ in prompts], wanted)
    second_states = last_states(model, [two for _, two, _ in prompts], wanted)
    labels = np.stack([label for _, _, label in prompts])

    tables = []
    for name in wanted:
        own, other = _compare(first_states[name], second_states[name], labels)
        for replica in range(model.replicas):
            world = each[replica % len(each)]
            names = world.vocabulary.names
            pairs = entity_pairs(world).tolist()
            table = pl.DataFrame(
                {
                    "one": [names[a] for a, _ in pairs],
                    "two": [names[b] for _, b in pairs],
                    "cosine": own[replica].double().tolist(),
                    "other": other[replica].double().tolist(),
                }
            )
            if not by_pair:
                table = table.select(pl.col("cosine", "other").mean())
            constants = {
                "replica": replica,
                "prompt": chosen,
                "layer": name,
                "depth": model.layer_names.index(name),
            }
            lead = [pl.lit(value).alias(key) for key, value in constants.items()]
            contrast = (pl.col("cosine") - pl.col("other")).alias("contrast")
            tables.append(table.select(*lead, pl.all(), contrast))
    return pl.concat(tables)


def _compare(
    one: Float[Tensor, "R P D"], two: Float[Tensor, "R P D"], labels: Int[Ids, "_ P"]
) -> tuple[Float[Tensor, "R P"], Float[Tensor, "R P"]]:
    """Return the cosine within every pair, and the mean cosine with entities of other labels."""
    # Cosines of all pairs of entities would be a matrix [P, P] for each replica, so
    # they are computed in blocks.
    own, other = one.new_empty(2, *one.shape[:2])
    for rows, cosines, same_label in cosine_blocks(one, two, labels):
        own[:, rows] = cosines[:, :, rows].diagonal(dim1=1, dim2=2)
        other[:, rows] = cosines.masked_fill(same_label, torch.nan).nanmean(2)
    return own, other


def entity_pairs(world: World) -> Int[Ids, "P 2"]:
    """Return the pairs of entities that conclusions link, ``[P, 2]``.

    Pair ``i`` contains the entities ``a_i`` and ``b_i`` of the ``i``-th analogy. In a
    two-hop world, ``b_i`` is the bridge to which ``a_i`` leads.

    Args:
        world: An ``Analogy`` or ``AnalogicalTwoHop`` world.

    Returns:
        Token ids of all ``P`` pairs, including pairs without a conclusion, ``[P, 2]``.

    Raises:
        DataError: The world has no conclusions, or neither first hops nor categories
            with similarities; or facts of one of these roles differ in length.

    Example:
        >>> from inweights.worlds import Analogy
        >>> world = Analogy(n=3).build()
        >>> [world.vocabulary.text(pair) for pair in entity_pairs(world)]
        ['a1 b1', 'a2 b2', 'a3 b3']
    """
    facts = world.facts
    if "conclusion" in world.queries.role_names:
        if {"category", "similarity"} <= set(facts.role_names):
            # Both roles list the tuples in the same order, relation by relation.
            one, _ = facts.matrix(facts.with_role("category"))
            two, _ = facts.matrix(facts.with_role("similarity"))
            count = int((one[:, 1] == one[0, 1]).sum())
            return np.stack([one[:count, 0], two[:count, 0]], axis=1)
        if "first_hop" in facts.role_names:
            prompts, bridges = facts.matrix(facts.with_role("first_hop"))
            return np.stack([prompts[:, 0], bridges[:, 0]], axis=1)
    raise DataError(
        "the probe 'resemblance' requires the query role 'conclusion', and either the fact "
        "roles 'category' and 'similarity' or the fact role 'first_hop'; the world has fact "
        f"roles {list(facts.role_names)} and query roles {list(world.queries.role_names)}"
    )


def _prompts(world: World, prompt: str) -> tuple[Ids, Ids, Ids]:
    """Return prompts of both entities of each pair, ``[P, T]``, and the pairs' labels, ``[P]``.

    If a world has several relations of a role, the first one is used.
    """
    pairs = entity_pairs(world)
    facts = world.facts
    queries = world.queries
    conclusions, answers = queries.matrix(queries.with_role("conclusion"))
    entities = conclusions[:, 0].tolist()
    # Reversed, so that the first of several conclusions about an entity is used.
    concluded = dict(reversed(list(zip(entities, answers[:, 0].tolist(), strict=True))))
    # In an analogy, conclusions are about b of a pair; with two hops, about a.
    labels = np.array(
        [concluded.get(a, concluded.get(b, -1)) for a, b in pairs.tolist()]
    )
    shared = "similarity" if "similarity" in facts.role_names else "first_hop"
    first = facts.prompt(int(facts.with_role(shared)[0]))
    relation = {"entity": first[:0], "premise": first[1:], "query": conclusions[0, 1:]}[
        prompt
    ]
    after = np.broadcast_to(relation, (len(pairs), len(relation)))
    one = np.concatenate([pairs[:, [0]], after], axis=1)
    two = np.concatenate([pairs[:, [1]], after], axis=1)
    return one, two, labels


def predicted_similarity(
    world: WorldConfig,
    roles: Mapping[str, float],
    *,
    seed: int = 0,
    model: OneLayerConfig | None = None,
    rate: float = 0.47,
    steps: int = 50,
    course: Course | None = None,
    rho: float = 1.0,
    by_pair: bool = False,
) -> pl.DataFrame:
    """Predict the resemblance (a cosine) of the entities of a world without training a model.

    Args:
        world: Config of an ``Analogy`` or ``AnalogicalTwoHop`` world.
        roles: Dictionary from each role whose facts the model is trained on in stage 1,
            such as ``similarity``, to the number of times that these facts are counted.
        seed: Root seed of the world.
        model: Config with the scale ``κ0`` of the logits and the width ``m``; by
            default the paper's values.
        rate: Learning rate ``η`` of stage 1, above 0.
        steps: Number of steps ``T1`` of stage 1, above 0.
        course: One of the paper's curricula, whose closed form is also computed:
            ``joint`` (similarity and attribution together), ``SA`` (similarity first),
            ``AS`` (attribution first), ``two-hop``, or ``two-hop without identity``; by
            default none.
        rho: ``ρ`` of the closed form: number of copies of the similarity premise, at
            least 1. Without ``course``, it is ignored.
        by_pair: If true, return one row per pair; otherwise one row with the mean over
            pairs.

    Returns:
        One row, or one per pair, with the columns ``one`` and ``two`` (names of the
        pair's entities, only with ``by_pair``), ``from_facts`` (the predicted cosine;
        see :func:`~inweights.theory.feature_resemblance.resemblance.linear_cosines`)
        and, with a ``course``, ``closed_form`` (see
        :func:`~inweights.theory.feature_resemblance.resemblance.curriculum_cosine`).

    Raises:
        DataError: The world has no pairs of entities or no facts of a role, or facts of
            a role differ in length.
        ConfigError: ``rate`` or ``steps`` is not above 0, ``rho`` is below 1,
            ``course`` is unknown, ``seed`` is not between 0 and 2**63 - 1, or a count
            in ``roles`` is negative or all are 0.
    """
    built = world.build(seed)
    about = model or OneLayerConfig()
    pairs = entity_pairs(built)
    cosines = linear_cosines(
        built,
        pairs,
        roles,
        rate=rate,
        steps=steps,
        kappa=about.kappa,
        hidden=about.hidden,
    )
    table = pl.DataFrame({"from_facts": cosines})
    if by_pair:
        names = built.vocabulary.names
        one = pl.Series("one", [names[i] for i, _ in pairs.tolist()])
        two = pl.Series("two", [names[i] for _, i in pairs.tolist()])
        table = table.select(one, two, "from_facts")
    else:
        table = table.mean()
    if course is None:
        return table
    start = noise(
        len(pairs),
        rate=rate,
        steps=steps,
        kappa=about.kappa,
        hidden=about.hidden,
    )
    return table.with_columns(
        closed_form=pl.lit(curriculum_cosine(course, rho=rho, noise=start))
    )
