"""What the linear regime of stage 1 says of a world, as a table to hold against training."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from inweights.models.configs import OneLayerConfig
from inweights.probes.resemblance import entity_pairs
from inweights.theory.feature_resemblance.resemblance import (
    Course,
    curriculum_cosine,
    linear_cosines,
    noise,
)
from inweights.worlds.registry import WorldConfig


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
    closed = curriculum_cosine(course, rho=rho, noise=start)
    return table.with_columns(closed_form=pl.lit(closed))
