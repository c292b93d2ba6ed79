"""Derived tables of cosines and distances on the tiny graphs, computed by hand."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from tests.recipes.tables import close, holds, rows, table

from inweights.errors import ConfigError
from inweights.recipes.geometric_memory import common as gm
from inweights.recipes.geometric_memory import (
    derived,
    fig5,
    fig17_20,
    fig23_24,
    fig32,
    table1,
)
from inweights.recipes.geometric_memory.common import CODE, FROZEN, GPT, PLAIN


def test_claims_are_judged_under_one_condition_and_the_ends_of_all_are_kept() -> None:
    course = table(
        "condition step spearman",
        (CODE, 0, 0.0),
        (CODE, 9, -0.5),
        (PLAIN, 9, -0.2),
        graph="grid",
        architecture=GPT,
        seed=3,
    )
    shared = pl.concat([course.drop("condition").head(1), course], how="diagonal")
    made = derived.judged(
        {"correlation": course, "shared": shared, "plain": course.drop("condition")}
    )
    assert rows(made["correlation"], "step spearman") == [(0, 0.0), (9, -0.5)]
    assert made["shared"].height == 3
    assert made["plain"].height == 3
    assert rows(made["conditions"], "condition spearman") == [
        (CODE, -0.5),
        (PLAIN, -0.2),
    ]


def test_equally_close_pairs_share_a_rank() -> None:
    """Both far pairs are equally close up to rounding errors."""
    pairs = ((1, 0.9), (2, 0.0500005), (3, 0.0500004), (2, 0.05000045), (3, -0.4))
    found = derived.far_correlation(
        table("hops cosine", *pairs, graph="grid", seed=3), ["graph"]
    )
    assert close(rows(found, "far"), (-1 / np.sqrt(3),))


def test_fig5_ends_and_best_steps() -> None:
    """TinyGPT is best at step 10 of 20; the list, of 5 steps, is best at its start."""
    course = table(
        "architecture step spearman recall",
        (GPT, 0, -0.1, 0.0),
        (GPT, 10, -0.9, 0.5),
        (GPT, 20, -0.6, 1.0),
        (FROZEN, 0, -0.2, 0.0),
        (FROZEN, 5, 0.4, 0.75),
        graph="grid",
        seed=3,
        null_low=-0.3,
    )
    pairs = ((0, 1.0), (1, 0.8), (1, 0.6), (2, 0.5), (2, 0.1), (3, -0.2), (None, 0.9))
    made = fig5.derive(
        {
            "correlation": course.drop("recall"),
            "recall": course.drop("spearman", "null_low"),
            "cosines": table(
                "hops cosine", *pairs, architecture=GPT, graph="grid", seed=3
            ),
        }
    )
    assert close(
        rows(made["last"], "architecture step recall beyond_chance size"),
        (GPT, 20, 1.0, -0.3, 0.6),
        (FROZEN, 5, 0.75, 0.7, 0.4),
    )
    assert close(rows(made["lost"], "architecture loss"), (GPT, 0.3), (FROZEN, 0.6))
    assert [step for (step,) in rows(made["course"], "step")] == [10, 20, 5]
    # Without neighbours, the ranks of hops are 1.5, 1.5, 3 and those of cosines 3, 2, 1.
    far = -np.sqrt(3) / 2
    assert close(rows(made["far"], "far size drop"), (far, -far, 0.5))
    assert close(rows(made["by_hops"], "hops cosine"), (1, 0.7), (2, 0.3), (3, -0.2))


CORRELATION = table(
    "graph architecture edges seed spearman null_mean null_low",
    ("grid", "Node2Vec", "both", 0, -0.9, 0.01, -0.2),
    ("irregular", "Node2Vec", "forward", 0, -0.8, 0.02, -0.3),
    ("grid", "TinyGPT", "backward", 0, 0.5, 0.03, -0.1),
)
# The grid has one top eigenspace, the irregular graph two.
ENERGY = table(
    "graph architecture edges seed space energy null_mean null_high",
    ("grid", "Node2Vec", "both", 0, 0, 0.6, 0.1, 0.15),
    ("grid", "Node2Vec", "both", 0, 1, 0.4, 0.9, 0.95),
    ("irregular", "Node2Vec", "forward", 0, 0, 0.5, 0.1, 0.2),
    ("irregular", "Node2Vec", "forward", 0, 1, 0.3, 0.05, 0.1),
    ("irregular", "Node2Vec", "forward", 0, 2, 0.2, 0.85, 0.9),
    ("grid", "TinyGPT", "backward", 0, 0, 0.1, 0.3, 0.35),
    ("grid", "TinyGPT", "backward", 0, 1, 0.9, 0.7, 0.75),
)
#: Hops 1 to 4 with cosines of ranks 3, 4, 2, 1: ρ = 1 - 6 · 18 / 60 = -.8; without one
#: hop -1.
FALLING = ((1, 0.25), (2, 0.3), (3, 0.2), (4, 0.1))


def cosines(
    *seen: tuple[int, float], graph: str = "cycle", seed: int = 0, **more: str
) -> pl.DataFrame:
    """Return cosines by hops, with pairs that must be ignored: identical or unconnected nodes."""
    about = {
        "graph": graph,
        "architecture": "TinyGPT",
        "edges": "forward",
        "seed": seed,
        **more,
    }
    pairs = pl.DataFrame(
        [*seen, (0, 1.0), (-1, 5.0)], schema=["hops", "cosine"], orient="row"
    )
    return pairs.with_columns(
        pl.lit(value).alias(name) for name, value in about.items()
    )


def test_every_architecture_beside_chance() -> None:
    """Random vectors have the null distribution of the first architecture."""
    recall = table(
        "graph architecture seed accuracy ceiling loss floor",
        ("grid", "Node2Vec", 0, 0.3, 0.6, 1.5, 1.0),
        ("grid", "TinyGPT", 0, 0.5, 0.5, 1.1, 1.0),
    )
    found = fig17_20.derive(
        {"correlation": CORRELATION, "energy": ENERGY, "recall": recall}
    )
    holds(found["correlation"], size=[0.9, 0.8, 0.5], beyond_chance=[-0.7, -0.5, 0.6])
    holds(found["flat"], graph=["grid", "grid"], spearman=[-0.9, 0.5])
    holds(found["recall"], above_floor=[0.5, 0.1])
    holds(found["stored"], architecture=["TinyGPT"])
    holds(
        found["top"],
        first=[0.6, 0.5, 0.1],
        top=[0.6, 0.8, 0.1],
        beyond_chance=[0.45, 0.5, -0.25],
    )
    # The measured rows are followed by those of random vectors.
    holds(found["correlations"][:3], spearman=[-0.9, -0.8, 0.5])
    holds(found["correlations"][3:], graph=["grid", "irregular"], spearman=[0.01, 0.02])
    holds(found["correlations"][3:], architecture=["random vectors"] * 2)
    holds(found["energies"][3:], graph=["grid", "irregular"], top=[0.1, 0.15])
    holds(
        found["spectra"][7:], number=[1, 2, 1, 2, 3], energy=[0.1, 0.9, 0.1, 0.05, 0.85]
    )


def test_an_architecture_that_is_not_there() -> None:
    settings = fig17_20.Settings(architectures=("TinyGTP",))
    with pytest.raises(ConfigError, match="TinyGPT on path-star"):
        fig17_20.plan(settings)


def test_cosines_by_hops_and_matrices_of_the_first_seed() -> None:
    """The mean cosine is .6 for one hop, .2 for two hops, and 0 beyond; seed 3 is first.

    During training, the grid's TinyNN is drawn only at step 200.
    """
    seven = cosines((1, 0.5), (1, 0.7), (2, 0.4), (2, 0.0), (3, 0.1), (4, -0.1), seed=7)
    three = cosines((1, 0.1), (2, 0.2), (3, 0.9), seed=3, graph="grid")
    coded = pl.concat([seven, three]).with_columns(condition=pl.lit(gm.CODE))
    ours = coded.with_columns(cosine=-pl.col("cosine"), condition=pl.lit(gm.PLAIN))
    drawn = [
        cosines(
            (1, near), (2, 0.2), seed=3, graph="grid", architecture="TinyNN"
        ).with_columns(condition=pl.lit(gm.CODE), step=pl.lit(step))
        for step, near in ((0, 0.9), (200, 0.1), (400, 0.7))
    ]
    found = fig23_24.derive(
        {"cosines": pl.concat([ours, coded]), "early": pl.concat(drawn)}
    )
    assert found["conditions"]["condition"].to_list() == [gm.PLAIN] * 2 + [gm.CODE] * 2
    holds(found["far"], graph=["cycle", "grid"], drop=[0.2, -0.7], near=[0.4, -0.1])
    holds(found["by_hops"], seed=[7] * 4 + [3] * 3, hops=[1, 2, 3, 4, 1, 2, 3])
    holds(found["by_hops"], cosine=[0.6, 0.2, 0.1, -0.1, 0.1, 0.2, 0.9])
    assert found["matrix_cycle"].is_empty()
    assert found["matrix_path-star"].is_empty()
    holds(found["matrix_grid"], seed=[3] * 9, hops=[1, 2, 3, 0, -1, 1, 2, 0, -1])
    assert found["matrix_grid"]["architecture"].to_list()[5:] == [fig23_24.AS_DRAWN] * 4
    holds(found["early"], architecture=[fig23_24.AS_DRAWN], near=[-0.1])


def test_two_ways_to_remember() -> None:
    recall = table(
        "architecture recall recall_others",
        ("Node2Vec", 0.4, 0.9),
        ("TinyGPT", 0.5, 0.8),
        ("associative", 0.6, 0.7),
    )
    seen = [
        cosines(*FALLING, architecture=name) for name in ("Node2Vec", "associative")
    ]
    found = table1.derive(
        {"cosines": pl.concat(seen), "correlation": CORRELATION, "recall": recall}
    )
    holds(
        found["far"],
        all=[-0.8] * 2,
        far=[-1.0] * 2,
        all_size=[0.8] * 2,
        far_size=[1.0] * 2,
    )
    holds(found["pairs"], architecture=["associative"] * 2 + ["Node2Vec"] * 2)
    holds(found["pairs"], pairs=["all", "far"] * 2, rho=[-0.8, -1.0] * 2)
    holds(found["by_hops"], hops=[1, 2, 3, 4] * 2, cosine=[0.25, 0.3, 0.2, 0.1] * 2)
    holds(found["chance"], beyond_chance=[-0.7, -0.5, 0.6])
    holds(found["stored"], memory=[0.9, 0.5, 0.6])


def test_one_direction_leaves_out_what_saw_both() -> None:
    seen = pl.concat(cosines(*FALLING, edges=edges) for edges in ("both", "forward"))
    found = fig32.derive(
        {"correlation": CORRELATION, "energy": ENERGY, "cosines": seen}
    )
    holds(found["correlation"], beyond_chance=[-0.7, -0.5, 0.6], size=[0.9, 0.8, 0.5])
    holds(found["one_way"], edges=["forward", "backward"], beyond_chance=[-0.5, 0.6])
    holds(found["top"], edges=["both", "forward", "backward"], top=[0.6, 0.8, 0.1])
    holds(
        found["one_way_top"], edges=["forward", "backward"], beyond_chance=[0.5, -0.25]
    )
    holds(found["far"], edges=["forward"], all=[-0.8], far=[-1.0])
