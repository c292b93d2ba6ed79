"""Derived tables of the path-star recipes, computed by hand from small tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from tests.recipes.tables import table, values

from inweights.recipes.geometric_memory import (
    e1,
    fig3,
    fig4,
    fig12,
    fig13,
    fig14_15,
    fig16,
    fig33,
    fig34,
    fig35,
    fig36,
)
from inweights.recipes.geometric_memory import paths as ways
from inweights.recipes.shared.derived import at_the_end, first_step
from inweights.recipes.shared.derived_paths import hardest, learnt, whole

Labels = Mapping[str, Any]
#: A path of four nodes; the leaf is learnt before the first node of the arm.
CASCADE = [[0.9, 0.0, 0.3, 0.6], [1.0, 0.2, 0.7, 0.8], [1.0, 0.9, 0.8, 0.7]]


def paths(
    labels: Labels,
    held: Sequence[Sequence[float]] = CASCADE,
    exact: Sequence[float] = (0.0, 0.5, 0.4),
    trained: Sequence[float] = (0.1, 0.6, 1.0),
    seed: int = 0,
) -> pl.DataFrame:
    """Return a table of ``path_accuracy`` at steps 0, 10 and 20 for held-out and trained leaves."""
    rows = []
    for at, places in enumerate(held):
        for place, value in enumerate(places):
            about = {**labels, "seed": seed, "step": 10 * at, "place": place}
            about |= {"hardest": place == 1, "chance": 0.25 if place == 1 else 1.0}
            told = {
                "part": "facts",
                "accuracy": 0.95 - place / 100,
                "exact": trained[at],
            }
            rows += [
                {**about, "part": "queries", "accuracy": value, "exact": exact[at]}
            ]
            rows += [about | told]
    return pl.DataFrame(rows)


def test_how_a_run_ends_and_when_it_succeeds() -> None:
    told = whole(paths({"graph": "a"}))
    shown = "step hardest exact easiest_last trained chance"
    assert values(at_the_end(told, ["graph", "seed"]), shown) == [
        (20, 0.9, 0.4, 0.7, 1.0, 0.25)
    ]
    assert values(first_step(told, "hardest", ["seed"], 0.2), "first") == [(10.0,)]
    assert values(first_step(told, "exact", ["seed"], 0.8), "first") == [(21.0,)]
    assert values(hardest(paths({"graph": "a"})), "part accuracy") == [
        ("queries", 0.0),
        ("queries", 0.2),
        ("queries", 0.9),
    ]


def test_a_reverse_cascade_is_told_from_its_absence() -> None:
    found = learnt(paths({}), ["seed"])
    assert values(found, "place step order hardest last lead") == [
        (1, 20.0, -1.0, 20.0, 0.0, -20.0),
        (2, 10.0, -1.0, 20.0, 0.0, -20.0),
        (3, 0.0, -1.0, 20.0, 0.0, -20.0),
    ]
    never = learnt(paths({}, [[1.0, 0.0, 0.0], [1.0, 0.4, 0.5]]), ["seed"])
    assert values(never, "step order") == [(11.0, -1.0), (10.0, -1.0)]


def test_fig3_counts_nodes_that_are_answered_with_a_neighbour() -> None:
    runs = [
        ("a", ways.INTERLEAVED, ways.FULL),
        ("a", ways.INTERLEAVED, ways.FIRST),
        ("a", fig3.FORWARD, ways.FULL),
        ("b", ways.GEOMETRY, ways.FULL),
    ]
    names = ("graph", "condition", "taught")
    edges = [
        (*run, 0, role, *scores)
        for run in runs
        for role, *scores in [("edge", 0.75, 0.2, 8), ("reverse_edge", 1.0, 0.7, 8)]
        if run[1] != fig3.FORWARD or role == "edge"
    ]
    derived = fig3.derive(
        {
            "paths": pl.concat(
                paths(dict(zip(names, run, strict=True))) for run in runs
            ),
            "edges": table(
                "graph condition taught seed role recall accuracy statements", *edges
            ),
        }
    )
    # Of nine nodes, .2 × 8 + .7 × 8 answer with a neighbour; unknown with edges in one
    # direction.
    assert values(derived["final"], "graph hardest exact trained recall answered") == [
        ("a", 0.9, 0.4, 1.0, 0.875, 0.8),
        ("a", 0.9, 0.4, 1.0, 0.875, 0.8),
        ("a", 0.9, 0.4, 1.0, 0.75, None),
        ("b", 0.9, 0.4, 1.0, 0.875, 0.8),
    ]
    shown = derived["conditions"].sort("condition", "what")
    assert values(shown, "condition what accuracy") == [
        (fig3.FORWARD, "hardest", 0.9),
        (fig3.FORWARD, "recall", 0.75),
        (fig3.FORWARD, "trained", 1.0),
        (ways.INTERLEAVED, "answered", 0.8),
        (ways.INTERLEAVED, "hardest", 0.9),
        (ways.INTERLEAVED, "recall", 0.875),
        (ways.INTERLEAVED, "trained", 1.0),
    ]
    assert set(derived["conditions"]["seed"]) == {0}
    assert values(derived["curves"], "line accuracy", step=20) == [
        ("interleaved, full path", 0.9),
        ("interleaved, first token", 0.9),
        ("geometry first, full path", 0.9),
    ]


COSINES = [(1, 1, True, 0.9), (1, 2, False, 0.2), (2, 1, False, 0.4), (2, 2, True, 0.5)]
NEAR = [(1, 0.75, 0.5), (2, 0.1, 0.2)]


def test_fig4_compares_own_and_other_arms() -> None:
    run = ("a", ways.ALONE)
    far = [(*run, 0, 19, 1, False, 0.3), (*run, 0, 1, 19, False, 0.3)]
    rows = [(*run, seed, *row) for seed in (1, 0) for row in COSINES]
    derived = fig4.derive(
        {
            "cosines": table("graph condition seed leaf first own cosine", *rows, *far),
            "navigation": table(
                "graph condition seed depth nearest ridge",
                *((*run, seed, *row) for seed in (0, 1) for row in NEAR),
            ),
        }
    )
    assert values(derived["runs"], "own others gap nearest ridge", seed=0) == [
        (0.7, 0.3, 0.4, 0.75, 0.5)
    ]
    assert values(derived["matrix"], "panel seed leaf first own cosine") == [
        ("a, edges alone", 0, *row) for row in COSINES
    ]
    assert values(derived["pairs"], "arm cosine", seed=0) == [
        ("own", 0.7),
        ("others", 0.3),
    ]


def test_fig12_follows_every_token() -> None:
    labels = {"graph": "a", "condition": ways.GEOMETRY}
    derived = fig12.derive({"paths": paths(labels)})
    assert values(derived["final"], "step exact") == [(20, 0.4)]
    assert values(derived["exact"], "step exact") == [(0, 0.0), (10, 0.5), (20, 0.4)]
    assert values(derived["tokens"], "panel token accuracy", step=20) == [
        ("a, geometry first", "root", 1.0),
        ("a, geometry first", "hardest (1st node)", 0.9),
        ("a, geometry first", "node 2", 0.8),
        ("a, geometry first", "node 3", 0.7),
    ]
    assert values(derived["order"], "lead order") == [(-20.0, -1.0)]


def test_fig13_measures_from_chance() -> None:
    held = [[1.0, 0.6, 0.95, 0.8], [1.0, 0.4, 0.85, 0.95]]
    conditions = (fig13.NEXT, fig13.FIRST, fig13.REVERSE, fig13.HIDDEN)
    tables = (
        paths({"graph": "a", "arms": 4, "condition": c}, held) for c in conditions
    )
    derived = fig13.derive({"paths": pl.concat(tables)})
    shown = "later exact above above_whole"
    assert values(derived["final"], shown, condition=fig13.NEXT) == [
        (0.85, 0.5, 0.15, 0.25)
    ]
    tokens = derived["tokens"].filter(step=10)
    named = {
        c: [t for t, at in values(tokens, "token condition") if at == c]
        for c in conditions
    }
    spoken = ["root", "hardest (1st node)", "node 2", "node 3"]
    assert named == {
        fig13.NEXT: spoken,
        fig13.FIRST: spoken[1:2],
        fig13.REVERSE: ["token 1", "token 2", "token 3", "token 4"],
        fig13.HIDDEN: spoken,
    }
    assert set(tokens["part"]) == {"queries"}
    assert tokens["panel"][0] == f"a, {fig13.NEXT}"
    # Nine in ten are right at place 2 from the start, at place 3 later, and at place 1
    # never.
    assert values(derived["order"], "condition order") == [(fig13.HIDDEN, -0.5)]


def test_fig14_15_looks_at_paths_where_they_were_taught() -> None:
    runs = [
        (ways.INTERLEAVED, ways.FULL),
        (ways.INTERLEAVED, ways.FIRST),
        (ways.GEOMETRY, ways.FULL),
        (ways.ALONE, ways.FULL),
    ]
    about = [("a", fig14_15.ADDS, *run) for run in runs]
    names = "graph block condition taught"
    labels = [dict(zip(names.split(), run, strict=True)) for run in about]
    cosines = [
        (*run, seed, *row) for run in about for seed in (0, 1) for row in COSINES
    ]
    near = [(*run, seed, *row) for run in about for seed in (0, 1) for row in NEAR]
    edges = [
        (*run, seed, recall)
        for run in about
        for seed in (0, 1)
        for recall in (0.5, 0.9)
    ]
    derived = fig14_15.derive(
        {
            "paths": pl.concat(paths(each) for each in labels),
            "cosines": table(f"{names} seed leaf first own cosine", *cosines),
            "navigation": table(f"{names} seed depth nearest ridge", *near),
            "edges": table(f"{names} seed recall", *edges),
            "hops": table("condition spearman null_low", (ways.ALONE, -0.4, -0.1)),
        }
    )
    assert values(derived["final"], "condition taught hardest") == [
        (*run, 0.9) for run in runs[:3]
    ]
    assert values(derived["curves"], "line panel", step=0)[0] == (
        "interleaved, full path",
        "a, residual",
    )
    assert len(derived["curves"]) == 9
    full = [ways.INTERLEAVED, ways.GEOMETRY]
    assert values(derived["order"], "condition lead") == [(how, -20.0) for how in full]
    assert values(derived["tokens"], "panel token", step=0, place=3) == [
        (f"{how}, residual", "node 3") for how in full
    ]
    assert set(derived["tokens"]["taught"]) == {ways.FULL}
    assert (
        values(derived["geometry"], "gap nearest", condition=ways.ALONE)
        == [(0.4, 0.75)] * 2
    )
    panels = [f"{how}, residual" for how in (ways.INTERLEAVED, ways.ALONE)]
    assert values(derived["matrix"], "panel seed cosine", own=True) == [
        (panel, 0, value) for panel in panels for value in (0.9, 0.5)
    ]
    assert values(derived["correlation"], "spearman") == [(-0.4,)]


def test_fig16_ends_with_the_leaf() -> None:
    labels = {"graph": "a", "condition": ways.RANDOM, "split": fig16.ARM}
    recall = [(*labels.values(), 0, value) for value in (0.5, 1.0)]
    edges = table("graph condition split seed recall", *recall)
    derived = fig16.derive({"paths": paths(labels), "edges": edges})
    assert values(derived["final"], "step exact hardest") == [(20, 0.4, 0.9)]
    assert derived["judged"].equals(derived["final"])
    unsure = paths(labels).with_columns(
        exact=pl.when(pl.col("part") == "facts").then(0.9).otherwise("exact")
    )
    judged = fig16.derive({"paths": unsure, "edges": edges})["judged"]
    assert judged["exact"].is_nan().all()
    assert judged["hardest"].is_nan().all()
    assert values(derived["curves"], "panel step exact")[1:] == [
        ("a, random", 10, 0.5),
        ("a, random", 20, 0.4),
    ]
    assert values(derived["ends"], "part place accuracy") == [("queries", 3, 0.7)]
    assert values(derived["places"], "panel place accuracy") == [
        ("a, random", place, value) for place, value in enumerate(CASCADE[-1])
    ]


def test_fig33_leaves_the_leaf_out() -> None:
    tasks = (fig33.FORWARD, fig33.REVERSE)
    labels = [{"graph": "a", "edges": "backward", "task": task} for task in tasks]
    end = [[0.5, 0.9, 0.8, 0.3]]
    derived = fig33.derive({"paths": pl.concat(paths(each, end) for each in labels)})
    assert values(derived["final"], "task hardest but_leaf") == [
        (fig33.FORWARD, 0.9, 0.5),  # the leaf, .3, is last
        (fig33.REVERSE, 0.9, 0.3),  # the leaf, .5, is first
    ]
    assert derived["curves"]["panel"].to_list() == [f"a, {task}" for task in tasks]


def test_fig34_and_fig35_tell_when_half_is_right() -> None:
    derived = fig34.derive({"paths": paths({"graph": "a", "task": fig34.REVERSE})})
    assert values(derived["final"], "step exact") == [(20, 0.4)]
    assert values(derived["when"], "task first") == [(fig34.REVERSE, 10.0)]
    assert derived["curves"]["exact"].to_list() == [0.0, 0.5, 0.4]
    derived = fig35.derive(
        {"paths": paths({"graph": "a", "pauses": "2"}, exact=(0.5, 0.3, 0.7))}
    )
    assert values(derived["final"], "step exact") == [(20, 0.7)]
    assert values(derived["when"], "pauses first") == [("2", 0.0)]
    assert values(derived["mean"], "pauses exact") == [("2", 0.5)]
    assert derived["curves"]["exact"].to_list() == [0.5, 0.3, 0.7]


def test_fig36_measures_the_loss_from_the_peak() -> None:
    labels = {"graph": "a", "condition": ways.TWO_PHASE}
    held = [[1.0, 0.1, 0.1], [1.0, 0.8, 0.9], [1.0, 0.5, 0.9]]
    recall = [(0, 0.2), (0, 0.4), (20, 0.6), (20, 0.7)]
    rows = [(*labels.values(), 0, step, value) for step, value in recall]
    edges = table("graph condition seed step recall", *rows)
    derived = fig36.derive({"paths": paths(labels, held), "edges": edges})
    shown = "step exact peak lost hardest lost_hardest"
    assert values(derived["final"], shown) == [(20, 0.4, 0.5, 0.1, 0.5, 0.3)]
    assert values(derived["curves"].sort("series"), "series value", step=20) == [
        ("edges recalled", 0.65),
        ("exact match, held out", 0.4),
        ("exact match, trained", 1.0),
        ("hardest token, held out", 0.5),
    ]
    assert values(derived["curves"], "value", series="edges recalled") == [
        (0.3,),
        (0.65,),
    ]


def test_e1_parts_frozen_and_learnt() -> None:
    held = [[1.0, 0.1], [1.0, 0.3], [1.0, 0.2]]
    names = (e1.LEARNT, "frozen")
    edges = [
        (name, 0, *row)
        for name in names
        for row in ((False, 0.5), (True, 0.2), (False, 0.9))
    ]
    derived = e1.derive(
        {
            "paths": pl.concat(paths({"embeddings": name}, held) for name in names),
            "edges": table("embeddings seed hub recall", *edges),
        }
    )
    for name, part in zip(names, ("learnt", "frozen"), strict=True):
        assert values(
            derived[part], "embeddings step hardest best trained recall root"
        ) == [(name, 20, 0.2, 0.3, 1.0, 0.7, 0.2)]
    assert values(
        derived["curves"], "series accuracy", step=20, embeddings="frozen"
    ) == [
        ("hardest token, held out", 0.2),
        ("exact match, trained", 1.0),
    ]
