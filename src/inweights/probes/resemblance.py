"""Feature resemblance, equation 10: are entities that share a property alike?"""

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

#: What is read before the states are compared; see :func:`resemblance`.
Prompt = Literal["entity", "premise", "query"]

_PROMPTS = ("entity", "premise", "query")
# Layers whose state at a position depends on the token there alone.
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
    """Cosine of the states of two entities that share a property, by layer (equation 10).

    Of a :class:`~inweights.models.OneLayer` it is that of ``W_V e_a`` and ``W_V e_b``; of a deeper
    model that of the penultimate states at the last token of a prompt. The paper does not say of
    which prompt, so the table does. A high cosine alone says little, since all states of a layer
    may point the same way: the mean cosine with entities of *other* tuples stands beside it.

    Args:
        model: ``R`` replicas.
        worlds: Analogies or two hops as analogies: one, or one a replica.
        prompt: ``entity``: the entity alone. ``premise``: with the relation of the property that
            both share. ``query``: with the relation of the conclusion. Left out: ``entity`` for a
            :class:`~inweights.models.OneLayer`, ``premise`` for other models, which in trials with
            a small GPT came closest to the similarities of Table 1.
        layers: Names of layers; the last but one if left out, which is ``value`` of a
            :class:`~inweights.models.OneLayer` and the last block's output of a GPT.
        by_pair: Whether each pair has a row of its own, or all share one with their mean.

    Returns:
        A row for each replica and layer: ``replica, prompt, layer, depth, cosine, other,
        contrast``, where ``contrast`` is ``cosine − other``; and with ``by_pair`` for each pair,
        with ``one`` and ``two``, its entities. ``other`` is the mean over pairings of an entity
        ``one`` with all entities ``two`` from which another conclusion follows; not a number where
        there are none.

    Raises:
        ConfigError: A prompt or layer is unknown, or the layer sees only the last token where both
            prompts end alike.
        DataError: The world has no pairs of entities.

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
                f"the state of layer '{name}' depends on the last token alone, which is the same "
                f"in both prompts of '{chosen}'; take prompt = 'entity' or a deeper layer"
            )
    each = as_worlds(worlds, model)
    pairs = [_prompts(world, chosen) for world in each]
    sides = [last_states(model, [pair[side] for pair in pairs], wanted) for side in (0, 1)]
    labels = np.stack([label for *_, label in pairs])

    tables = []
    for name in wanted:
        own, other = _compared(sides[0][name], sides[1][name], labels)
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
            place = {"replica": replica, "prompt": chosen, "layer": name}
            depth = model.layer_names.index(name)
            lead = [pl.lit(value).alias(key) for key, value in {**place, "depth": depth}.items()]
            contrast = (pl.col("cosine") - pl.col("other")).alias("contrast")
            tables.append(table.select(*lead, pl.all(), contrast))
    return pl.concat(tables)


def _compared(
    one: Float[Tensor, "R P D"], two: Float[Tensor, "R P D"], labels: Int[Ids, "_ P"]
) -> tuple[Float[Tensor, "R P"], Float[Tensor, "R P"]]:
    """Cosine within every pair, and the mean with entities of other labels."""
    own, other = one.new_empty(2, *one.shape[:2])
    for rows, cosines, alike in cosine_blocks(one, two, labels):
        own[:, rows] = cosines[:, :, rows].diagonal(dim1=1, dim2=2)
        other[:, rows] = cosines.masked_fill(alike, torch.nan).nanmean(2)
    return own, other


def entity_pairs(world: World) -> Int[Ids, "P 2"]:
    """Return the pairs of entities that a conclusion passes between.

    Of an analogy they are ``(a_i, b_i)``, tuple by tuple; of two hops ``(a_i, b_i)`` too, where the
    entity ``b_i`` is the bridge that ``a_i`` reaches.

    Raises:
        DataError: The world has neither, or no conclusions.

    Example:
        >>> from inweights.worlds import Analogy
        >>> world = Analogy(n=3).build()
        >>> [world.vocabulary.text(pair) for pair in entity_pairs(world)]
        ['a1 b1', 'a2 b2', 'a3 b3']
    """
    facts = world.facts
    if "conclusion" in world.queries.role_names:
        if {"category", "similarity"} <= set(facts.role_names):
            # Both roles tell the tuples in the same order, relation after relation.
            one, two = (facts.matrix(facts.with_role(r))[0] for r in ("category", "similarity"))
            count = int((one[:, 1] == one[0, 1]).sum())
            return np.stack([one[:count, 0], two[:count, 0]], axis=1)
        if "first_hop" in facts.role_names:
            prompts, bridges = facts.matrix(facts.with_role("first_hop"))
            return np.stack([prompts[:, 0], bridges[:, 0]], axis=1)
    raise DataError(
        "resemblance needs conclusions, and similarities or first hops that pair the entities; "
        f"this world has facts {', '.join(facts.role_names) or 'none'} and queries "
        f"{', '.join(world.queries.role_names) or 'none'}"
    )


def _prompts(world: World, prompt: str) -> tuple[Ids, Ids, Ids]:
    """Prompts of both entities of each pair, ``[P, T]``, and the label of each pair, ``[P]``.

    Where a world has several relations of a kind, the first is taken.
    """
    pairs, facts, queries = entity_pairs(world), world.facts, world.queries
    asked, answers = queries.matrix(queries.with_role("conclusion"))
    concluded = dict(reversed(list(zip(asked[:, 0].tolist(), answers[:, 0].tolist(), strict=True))))
    # A conclusion is asked of one entity of a pair: of b in an analogy, of a in two hops.
    labels = np.array([concluded.get(a, concluded.get(b, -1)) for a, b in pairs.tolist()])
    shared = "similarity" if "similarity" in facts.role_names else "first_hop"
    first = facts.prompt(int(facts.with_role(shared)[0]))
    relation = {"entity": first[:0], "premise": first[1:], "query": asked[0, 1:]}[prompt]
    after = np.broadcast_to(relation, (len(pairs), len(relation)))
    one, two = (np.concatenate([pairs[:, [side]], after], axis=1) for side in (0, 1))
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
    """Return the predicted resemblance of the entities of a world, before any training.

    Args:
        world: Config of an analogy, or of two hops as one.
        roles: Facts of the first stage 1, with how often each counts.
        seed: Root seed of the world.
        model: Gives ``κ0`` and ``m``; the paper's if left out.
        rate: ``η`` of stage 1.
        steps: ``T1``.
        course: Where given, the closed form of the paper's curricula stands beside the prediction
            from the facts.
        rho: ``ρ`` of the closed form.
        by_pair: Whether each pair has a row of its own, or all share one with their mean.

    Returns:
        ``from_facts`` (:func:`~inweights.theory.feature_resemblance.resemblance.linear_cosines`),
        with a course ``closed_form``
        (:func:`~inweights.theory.feature_resemblance.resemblance.curriculum_cosine`), and with
        ``by_pair`` the entities ``one`` and ``two``.
    """
    built, about = world.build(seed), model or OneLayerConfig()
    pairs = entity_pairs(built)
    cosines = linear_cosines(
        built, pairs, roles, rate=rate, steps=steps, kappa=about.kappa, hidden=about.hidden
    )
    table = pl.DataFrame({"from_facts": cosines})
    if by_pair:
        names = built.vocabulary.names
        one, two = ([names[i] for i in side] for side in pairs.T.tolist())
        table = table.select(pl.Series("one", one), pl.Series("two", two), "from_facts")
    else:
        table = table.mean()
    if course is None:
        return table
    start = noise(len(pairs), rate=rate, steps=steps, kappa=about.kappa, hidden=about.hidden)
    return table.with_columns(closed_form=pl.lit(curriculum_cosine(course, rho=rho, noise=start)))
