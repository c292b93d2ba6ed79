"""Tables that the recipes of the tiny graphs, and two of analogies, derive: each worked by hand."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from inweights.config import apply_overrides
from inweights.errors import ConfigError
from inweights.recipes.feature_resemblance import table1 as analogies
from inweights.recipes.feature_resemblance import table4
from inweights.recipes.feature_resemblance.common import GPTTraining, OneLayerTraining
from inweights.recipes.geometric_memory import common as gm
from inweights.recipes.geometric_memory import e2_e3, fig17_20, fig23_24, fig25_31, fig32, table1


def table(columns: str, *rows: tuple[Any, ...]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=columns.split(), orient="row")


def holds(found: pl.DataFrame, **columns: list[Any]) -> None:
    """Assert that columns have these values, row by row."""
    for name, values in columns.items():
        assert found[name].to_list() == pytest.approx(values, abs=1e-12), name


CORRELATION = table(
    "graph architecture edges seed spearman null_mean null_low",
    ("grid", "Node2Vec", "both", 0, -0.9, 0.01, -0.2),
    ("irregular", "Node2Vec", "forward", 0, -0.8, 0.02, -0.3),
    ("grid", "TinyGPT", "backward", 0, 0.5, 0.03, -0.1),
)
# The grid has one top space, the irregular graph two.
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
#: Hops 1 to 4 with cosines that rank 3, 4, 2, 1: ρ = 1 - 6 · 18 / 60 = -.8; beyond one hop -1.
FALLING = ((1, 0.25), (2, 0.3), (3, 0.2), (4, 0.1))


def cosines(
    *seen: tuple[int, float], graph: str = "cycle", seed: int = 0, **more: str
) -> pl.DataFrame:
    """Cosines by hops, and what is not to count: a node with itself, a pair that no path joins."""
    about = {"graph": graph, "architecture": "TinyGPT", "edges": "forward", "seed": seed, **more}
    pairs = pl.DataFrame([*seen, (0, 1.0), (-1, 5.0)], schema=["hops", "cosine"], orient="row")
    return pairs.with_columns(pl.lit(value).alias(name) for name, value in about.items())


def test_every_architecture_beside_chance() -> None:
    """Random vectors have the null distribution of the architecture that comes first."""
    recall = table(
        "graph architecture seed accuracy ceiling loss floor",
        ("grid", "Node2Vec", 0, 0.3, 0.6, 1.5, 1.0),
        ("grid", "TinyGPT", 0, 0.5, 0.5, 1.1, 1.0),
    )
    found = fig17_20.derive({"correlation": CORRELATION, "energy": ENERGY, "recall": recall})
    holds(found["correlation"], size=[0.9, 0.8, 0.5], beyond_chance=[-0.7, -0.5, 0.6])
    holds(found["flat"], graph=["grid", "grid"], spearman=[-0.9, 0.5])
    holds(found["recall"], above_floor=[0.5, 0.1])
    holds(found["stored"], architecture=["TinyGPT"])
    holds(
        found["top"], first=[0.6, 0.5, 0.1], top=[0.6, 0.8, 0.1], beyond_chance=[0.45, 0.5, -0.25]
    )
    # After the rows that were measured come those of random vectors.
    holds(found["correlations"][:3], spearman=[-0.9, -0.8, 0.5])
    holds(found["correlations"][3:], graph=["grid", "irregular"], spearman=[0.01, 0.02])
    holds(found["correlations"][3:], architecture=["random vectors"] * 2)
    holds(found["energies"][3:], graph=["grid", "irregular"], top=[0.1, 0.15])
    holds(found["spectra"][7:], number=[1, 2, 1, 2, 3], energy=[0.1, 0.9, 0.1, 0.05, 0.85])


def test_cosines_by_hops_and_matrices_of_the_first_seed() -> None:
    """One hop: .6 on average; two: .2; beyond: 0. Seed 3 comes before seed 7."""
    seven = cosines((1, 0.5), (1, 0.7), (2, 0.4), (2, 0.0), (3, 0.1), (4, -0.1), seed=7)
    three = cosines((1, 0.1), (2, 0.2), (3, 0.9), seed=3, graph="grid")
    coded = pl.concat([seven, three]).with_columns(condition=pl.lit(gm.CODE))
    ours = coded.with_columns(cosine=-pl.col("cosine"), condition=pl.lit(gm.PLAIN))
    found = fig23_24.derive({"cosines": pl.concat([ours, coded])})
    assert found["conditions"]["condition"].to_list() == [gm.PLAIN] * 2 + [gm.CODE] * 2
    holds(found["far"], graph=["cycle", "grid"], drop=[0.2, -0.7], near=[0.4, -0.1])
    holds(found["by_hops"], seed=[7] * 4 + [3] * 3, hops=[1, 2, 3, 4, 1, 2, 3])
    holds(found["by_hops"], cosine=[0.6, 0.2, 0.1, -0.1, 0.1, 0.2, 0.9])
    assert found["matrix_cycle"].is_empty()
    assert found["matrix_path-star"].is_empty()
    holds(found["matrix_grid"], seed=[3] * 5, hops=[1, 2, 3, 0, -1])


def test_two_ways_to_remember() -> None:
    recall = table(
        "architecture recall recall_others",
        ("Node2Vec", 0.4, 0.9),
        ("TinyGPT", 0.5, 0.8),
        ("associative", 0.6, 0.7),
    )
    seen = [cosines(*FALLING, architecture=name) for name in ("Node2Vec", "associative")]
    found = table1.derive(
        {"cosines": pl.concat(seen), "correlation": CORRELATION, "recall": recall}
    )
    holds(found["far"], all=[-0.8] * 2, far=[-1.0] * 2, all_size=[0.8] * 2, far_size=[1.0] * 2)
    holds(found["pairs"], architecture=["associative"] * 2 + ["Node2Vec"] * 2)
    holds(found["pairs"], pairs=["all", "far"] * 2, rho=[-0.8, -1.0] * 2)
    holds(found["by_hops"], hops=[1, 2, 3, 4] * 2, cosine=[0.25, 0.3, 0.2, 0.1] * 2)
    holds(found["chance"], beyond_chance=[-0.7, -0.5, 0.6])
    holds(found["stored"], memory=[0.9, 0.5, 0.6])


def test_what_makes_a_cycle_geometric() -> None:
    correlation = table(
        "setting seed spearman null_mean",
        ("a", 0, -0.6, 0.1),
        ("a", 1, -0.5, 0.2),
        ("b", 0, 0.3, 0.3),
    )
    margin = table(
        "setting over margin rivals",
        ("a", "max", 0.5, "nodes"),
        ("a", "min", 0.0, "nodes"),
        ("b", "min", -0.5, "nodes"),
        ("b", "min", 0.5, "vocabulary"),
    )
    zigzag = table("setting bottom bottom_null", ("a", 0.7, 0.1))
    energy = table("setting space energy", ("a", 0, 0.2), ("a", 1, 0.8))
    found = fig25_31.derive(
        {"correlation": correlation, "margin": margin, "zigzag": zigzag, "energy": energy}
    )
    holds(found["correlation"], geometry=[0.6, 0.5, -0.3], size=[0.6, 0.5, 0.3])
    holds(found["correlations"], setting=["a", "a", "b", "random vectors", "random vectors"])
    holds(found["correlations"], graph=["cycle"] * 5, spearman=[-0.6, -0.5, 0.3, 0.1, 0.2])
    names = ["largest neighbour", "smallest neighbour", "smallest neighbour"]
    holds(found["margins"], neighbour=names, stored=[1, 0, 0])
    holds(found["zigzags"], bottom=[0.7])
    holds(found["spectra"], model=["TinyNN"] * 2, number=[1, 2], energy=[0.2, 0.8])


def test_one_direction_leaves_out_what_saw_both() -> None:
    seen = pl.concat(cosines(*FALLING, edges=edges) for edges in ("both", "forward"))
    found = fig32.derive({"correlation": CORRELATION, "energy": ENERGY, "cosines": seen})
    holds(found["correlation"], beyond_chance=[-0.7, -0.5, 0.6], size=[0.9, 0.8, 0.5])
    holds(found["one_way"], edges=["forward", "backward"], beyond_chance=[-0.5, 0.6])
    holds(found["top"], edges=["both", "forward", "backward"], top=[0.6, 0.8, 0.1])
    holds(found["one_way_top"], edges=["forward", "backward"], beyond_chance=[0.5, -0.25])
    holds(found["far"], edges=["forward"], all=[-0.8], far=[-1.0])


def test_costs_grow_from_the_smallest_graph_to_the_largest() -> None:
    costs = table(
        "seed graph directions size measure tied nodes ratio",
        (0, "cycle", "both", 9, "norm", True, 9, 0.9),
        (0, "cycle", "both", 5, "norm", True, 5, 0.6),
        (0, "cycle", "both", 5, "bits", False, 5, 0.3),
        (0, "complete bipartite", "forward", 4, "norm", False, 4, 2.0),
        (0, "complete bipartite", "forward", 4, "bits", False, 4, 4.0),
        (0, "complete bipartite", "forward", 8, "norm", False, 8, 5.0),
    )
    built = table(
        "seed graph construction on_edges off_edges across width_over_nodes",
        (0, "grid", "proposition 3", 0.1, 0.4, 0.0, 0.5),
        (0, "grid", "shifted", 0.3, 0.2, 0.1, 0.7),
    )
    star = table("seed nodes arms dimensions over_log over_arms ratio", (0, 9, 4, 2, 1.0, 0.5, 0.7))
    found = e2_e3.derive({"costs": costs, "constructions": built, "squeezed": star})
    holds(found["sparse"], graph=["cycle"] * 3, ratio=[0.9, 0.6, 0.3])
    holds(found["ratios"], ratio=[0.9, 0.6, 0.3, 2.0, 5.0])
    assert found["ratios"].select("panel", "storage").unique(maintain_order=True).rows() == [
        ("cycle, norm", "both directions, tied"),
        ("cycle, bits", "both directions, untied"),
        ("complete bipartite, norm", "one direction, untied"),
    ]
    growth = found["growth"].sort("graph", "measure")
    holds(growth, graph=["complete bipartite"] * 2 + ["cycle"] * 2)
    holds(growth, measure=["bits", "norm"] * 2, growth=[1.0, 2.5, 1.0, 1.5])
    holds(found["built"], error=[0.4, 0.3])
    holds(found["three"], construction=["proposition 3"], error=[0.4], across=[0.0])
    holds(found["widths"], construction=["proposition 3", "shifted"], value=[0.5, 0.7])


def measured(label: str, value: Any) -> dict[str, pl.DataFrame]:
    """A one-layer transformer and a GPT, of which the first one's similarity was foretold."""
    by, one, gpt = f"model {label} seed", ("one-layer", value, 0), ("GPT", value, 0)
    return {
        "accuracy": table(
            f"{by} part distribution role accuracy",
            (*one, "facts", "in", "similarity", 0.4),
            (*one, "queries", "out", "conclusion", 0.9),
            (*one, "queries", "in", "conclusion", 0.1),
            (*gpt, "queries", "out", "conclusion", 0.2),
        ),
        "resemblance": table(f"{by} cosine other", (*one, 0.8, 0.1), (*gpt, 0.3, 0.2)),
        "foretold": table(f"{by} from_facts closed_form", (*one, 0.85, 0.6)),
        "losses": table(f"{by} step loss", (*one, 10, 0.05), (*one, 2, 0.01), (*gpt, 5, 0.1)),
    }


def test_courses_measured_published_and_foretold() -> None:
    found = analogies.derive(measured("course", "joint"))
    models = ["one-layer", "GPT"]
    holds(found["table"], model=models, cosine=[0.8, 0.3], success=[0.9, 0.2], loss=[0.05, 0.1])
    holds(found["predicted"], model=models[:1], from_facts_error=[0.05], closed_form_error=[0.2])
    assert len(found["shown"]) == 2 + 10 + 1
    joint = found["shown"].filter(course="joint").sort("what", "model", descending=True)
    holds(joint, what=["published"] * 2 + ["predicted from the facts"] + ["measured"] * 2)
    holds(joint, similarity=[0.9202, 0.995, 0.85, 0.8, 0.3], seed=[-1, -1, 0, 0, 0])
    holds(
        found["kept"], role=["(b, r1) → c"] + ["the conclusion"] * 3, accuracy=[0.4, 0.9, 0.1, 0.2]
    )


def test_copies_of_the_premise_measured_published_and_foretold() -> None:
    found = table4.derive(measured("rho", 3.0))
    holds(found["table"], rho=[3.0, 3.0], cosine=[0.8, 0.3], success=[0.9, 0.2])
    holds(found["predicted"], rho=[3.0], from_facts_error=[0.05], closed_form_error=[0.2])
    published = found["shown"].filter(what="published", model="GPT")
    holds(published, rho=[1.0, 3.0, 5.0], similarity=[0.9756, 0.995, 0.9979])
    assert len(found["shown"]) == 2 + 6 + 1


@pytest.mark.parametrize(
    ("recipe", "override"),
    [
        *((one.RECIPE, 'graphs=["gird"]') for one in (fig17_20, fig23_24, fig32, table1, e2_e3)),
        (fig25_31.RECIPE, 'ablations=["GPT start"]'),
        (table4.RECIPE, "rhos=[2.0]"),
    ],
)
def test_settings_refuse_what_is_not_there(recipe: Any, override: str) -> None:
    with pytest.raises(ConfigError):
        apply_overrides(recipe.scales["smoke"], [override])


def test_courses_and_architectures_that_are_not_there() -> None:
    with pytest.raises(ConfigError, match="joint"):
        OneLayerTraining(late={"joined": 5})
    with pytest.raises(ConfigError, match="joint"):
        GPTTraining(losses={"joined": (0.1,)})
    settings = fig17_20.Settings(architectures=("TinyGTP",))
    with pytest.raises(ConfigError, match="TinyGPT on path-star"):
        fig17_20.plan(settings)
