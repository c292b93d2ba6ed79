"""Every probe on a model with known results, and the contract of all probes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from tests.probes.test_arrangement import OF_ARRANGEMENTS
from tests.probes.test_embedding import OF_EMBEDDINGS
from tests.probes.test_film import OF_FILMS
from tests.probes.test_graph_probes import OF_GRAPHS
from tests.probes.test_inside import OF_THE_INSIDE
from tests.probes.test_interchange import OF_INTERCHANGES
from tests.probes.test_paths import OF_PATHS
from tests.probes.test_resemblance import OF_ANALOGIES

from inweights import probes
from inweights.errors import ConfigError, DataError
from inweights.models import EmbMLP, EmbMLPConfig, GPTConfig
from inweights.probes import (
    accuracy,
    align_frames,
    alignment,
    bridge_projection,
    cka,
    direction,
    margins,
    nuclear_norm,
    patch,
    project,
    shared_memory,
    templates,
    winners,
)
from inweights.training import Curriculum, Phase, train
from inweights.worlds import TwoHop, World

N = 5
WORLD = TwoHop(n=N, complexity=1).build(seed=0)

#: Probes that take a model and worlds; the others take tables or points.
OF_MODELS = (accuracy, alignment, bridge_projection, margins, shared_memory, templates)
OF_TABLES = (align_frames, project, winners, probes.bridge_pairs)


#: Tested in ``tests/recipes/test_derive_local_or_global.py``.
OF_KNOWN_GEOMETRY = (probes.known_geometries, probes.skew)
#: Tested in ``test_optimum.py``.
OF_OPTIMA = (direction, nuclear_norm)


def rote(world: World, replicas: int = 2) -> EmbMLP:
    """Return an Emb-MLP with one dimension per token and given templates.

    Only replica 0 has the second diagonal, which maps a subject to its object.
    """
    model = EmbMLPConfig(width=len(world.vocabulary)).build(
        vocabulary=len(world.vocabulary),
        seeds=range(replicas),
        candidates=world.outputs.tolist(),
    )
    a, b, c = (world.vocabulary[g] for g in ("subject", "bridge", "object"))
    (r1,), (r2,) = (
        world.vocabulary["first_relation"],
        world.vocabulary["second_relation"],
    )
    w = torch.zeros(replicas, len(world.vocabulary), len(model.candidates))
    col = model.column
    for i in range(len(a)):
        w[:, a[i], col[b[i]]] = 2.0
        w[:, b[i], col[b[i]]] = 2.0
        w[:, b[i], col[c[i]]] = 2.0
        w[0, a[i], col[c[i]]] = 2.0
    w[:, r1, col[b]] = 4.0
    w[:, r2, col[c]] = 4.0
    w[:, r2, col[b]] = -1.0
    with torch.no_grad():
        model.tokens.weight.copy_(
            torch.eye(len(world.vocabulary)).expand(replicas, -1, -1)
        )
        model.projection.weight.copy_(w)
    return model


def test_every_public_probe_is_tested_here() -> None:
    tested: tuple[Any, ...] = (
        *OF_MODELS,
        *OF_TABLES,
        *OF_GRAPHS,
        *OF_PATHS,
        *OF_OPTIMA,
        *OF_ANALOGIES,
    )
    tested = (*tested, *OF_ARRANGEMENTS, *OF_FILMS, *OF_THE_INSIDE, patch, cka)
    tested = (*tested, *OF_INTERCHANGES, *OF_EMBEDDINGS, *OF_KNOWN_GEOMETRY)
    # Probes of loops, edits and steering need further options and have files of their own.
    elsewhere = {"after_edits", "by_loops", "edits", "realignment", "steer", "steered"}
    elsewhere |= {"activations", "write_activations"}
    elsewhere |= {"attribution_patching", "logit_attribution"}
    assert {p.__name__ for p in tested} == set(probes.__all__) - elsewhere


@pytest.mark.parametrize("probe", OF_MODELS, ids=lambda p: p.__name__)
def test_contract(probe) -> None:
    """A table has rows for every replica, which do not depend on other replicas."""
    config = GPTConfig(layers=2, width=16)
    model = config.build(vocabulary=len(WORLD.vocabulary), seeds=[3, 4, 5])
    alone = config.build(vocabulary=len(WORLD.vocabulary), seeds=[4])
    before = [p.detach().clone() for p in model.parameters()]
    table = probe(model, WORLD)
    assert table["replica"].unique().sort().to_list() == [0, 1, 2]
    assert all(
        torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True)
    )
    one = table.filter(pl.col("replica") == 1).drop("replica")
    single = probe(alone, WORLD).drop("replica")
    assert one.columns == single.columns
    for column in one.columns:
        if one[column].dtype == pl.Float64 and column not in (
            "x",
            "y",
            "trustworthiness",
        ):
            np.testing.assert_allclose(one[column], single[column], atol=1e-4)


@pytest.mark.parametrize("probe", OF_MODELS, ids=lambda p: p.__name__)
def test_replicas_with_worlds_of_their_own(probe) -> None:
    worlds = [
        TwoHop(n=N, complexity=2, maps="permutation").build(seed) for seed in (1, 2)
    ]
    model = GPTConfig(layers=1, width=16).build(
        vocabulary=len(worlds[0].vocabulary), seeds=[0, 1]
    )
    alone = GPTConfig(layers=1, width=16).build(
        vocabulary=len(worlds[0].vocabulary), seeds=[1]
    )
    table = probe(model, worlds).filter(pl.col("replica") == 1).drop("replica")
    single = probe(alone, worlds[1]).drop("replica")
    for column in table.columns:
        if table[column].dtype == pl.String:
            assert table[column].to_list() == single[column].to_list()


def test_accuracy_tells_the_two_argmaxes_apart() -> None:
    model = rote(WORLD)
    queries = accuracy(model, WORLD).filter(pl.col("part") == "queries")
    assert queries["accuracy"].to_list() == [1.0, 0.0]
    assert queries["distribution"].to_list() == ["out", "out"]
    facts = accuracy(model, WORLD).filter(
        pl.col("part") == "facts", pl.col("replica") == 0
    )
    assert set(facts["role"]) == {"first_hop", "second_hop", "identity"}
    # Without the contribution of r2 the bridge exceeds all outputs, but the right object is
    # first among objects.
    with torch.no_grad():
        model.projection.weight[0, WORLD.vocabulary["second_relation"][0]] = 0.0
    queries = accuracy(model, WORLD).filter(
        pl.col("part") == "queries", pl.col("replica") == 0
    )
    assert queries["accuracy"].item() == 0.0
    assert queries["accuracy_among"].item() == 1.0
    assert queries["chance"].item() == pytest.approx(1 / N)


def test_the_loss_of_a_role_is_the_training_loss_on_that_role() -> None:
    config = EmbMLPConfig(width=8)
    model = config.build(vocabulary=len(WORLD.vocabulary), seeds=[0, 1])
    table = accuracy(model, WORLD).filter(pl.col("role") == "identity")
    only = Curriculum(phases=(Phase(roles={"identity": 1.0}, steps=1),))
    before = train(model, WORLD, only, seeds=[0, 1], every=1).losses.head(2)
    np.testing.assert_allclose(table["loss"], before["loss"], rtol=1e-6)


def test_margins_are_those_written_in_the_weights() -> None:
    table = margins(rote(WORLD), WORLD)
    # a + r1 + r2: own bridge 2 + 4 − 1, other bridges 3, objects 4, own object 4 + 2
    # (replica 0).
    assert table.filter(pl.col("replica") == 0)["margin"].to_list() == pytest.approx(
        [1.0] * N
    )
    assert table.filter(pl.col("replica") == 1)["margin"].to_list() == pytest.approx(
        [-1.0] * N
    )
    assert table.filter(pl.col("replica") == 1)[
        "margin_among"
    ].to_list() == pytest.approx([0.0] * N)
    first = table.row(0, named=True)
    assert (first["prompt"], first["answer"], first["predicted"]) == (
        "a1 r1 r2",
        "c1",
        "c1",
    )


def test_templates_are_the_product_of_the_weights() -> None:
    model = rote(WORLD)
    table = templates(model, WORLD)
    w = model.templates()[0]
    row = table.filter(pl.col("replica") == 0, pl.col("row") == "b2")
    names = [WORLD.vocabulary.names[i] for i in model.candidates.tolist()]
    row_of = w[WORLD.vocabulary.id("b2")].detach()
    expected = (row_of - row_of.mean()).numpy()
    got = dict(zip(row["column"], row["value"], strict=True))
    np.testing.assert_allclose([got[n] for n in names], expected, atol=1e-6)
    best = winners(table.filter(pl.col("replica") == 0))
    own = best.filter(pl.col("row") == "a3", pl.col("column_group") == "object")
    assert own["column"].item() == "c3"
    with pytest.raises(ConfigError, match="composition"):
        templates(model, WORLD, rows="compositions")


@pytest.mark.parametrize("probe", [templates, shared_memory, probes.direction])
def test_a_head_without_all_outputs_is_refused(probe: Callable[..., object]) -> None:
    size = len(WORLD.vocabulary)
    few = WORLD.outputs.tolist()[:-1]
    model = EmbMLPConfig(width=4).build(vocabulary=size, seeds=[0], candidates=few)
    with pytest.raises(DataError, match="candidates of the model do not include"):
        probe(model, WORLD)


def test_templates_mark_the_right_answer() -> None:
    table = templates(rote(WORLD), WORLD, rows="composition").filter(
        pl.col("replica") == 0
    )
    assert table.filter(pl.col("answer"))["column"].to_list() == [
        f"c{i + 1}" for i in range(N)
    ]
    assert table.filter(pl.col("top"))["column"].to_list() == [
        f"c{i + 1}" for i in range(N)
    ]


def test_alignment_of_equal_states_is_one() -> None:
    model = rote(WORLD)
    with (
        torch.no_grad()
    ):  # bridges have the vectors of their subjects, and r1 contributes nothing
        weight = model.tokens.weight
        weight[:, WORLD.vocabulary["bridge"]] = weight[:, WORLD.vocabulary["subject"]]
        weight[:, WORLD.vocabulary["first_relation"]] = 0.0
    table = alignment(model, WORLD, layers=["sum"])
    assert table["cosine"].to_list() == pytest.approx([1.0] * 4)
    assert table["nearest"].to_list() == [1.0] * 4
    hop = table.filter(pl.col("place") == "first_hop")
    assert hop["other"].to_list() == pytest.approx([0.0, 0.0], abs=1e-6)


def test_alignment_needs_a_two_hop_world() -> None:
    empty = World(
        name="hops", vocabulary=WORLD.vocabulary, facts=WORLD.facts, queries=WORLD.facts
    )
    with pytest.raises(DataError, match="compositions"):
        alignment(rote(WORLD), empty)


def test_unknown_names_of_places_and_methods_are_errors() -> None:
    with pytest.raises(ConfigError, match="unknown place 'bridge'"):
        alignment(rote(WORLD), WORLD, places=["bridge"])
    with pytest.raises(ConfigError, match="unknown method 'umap'"):
        project(np.eye(9), method="umap")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="samples must be at least 1"):
        bridge_projection(rote(WORLD), WORLD, samples=0)


@pytest.mark.parametrize("option", ["layers", "places", "parts", "methods"])
def test_no_probe_gives_a_table_of_nothing(option: str) -> None:
    taking = [
        one
        for one in map(probes.__dict__.get, probes.__all__)
        if callable(one)
        and hasattr(one, "holds")
        and option in inspect.signature(one).parameters
    ]
    assert taking
    for probe in taking:
        with pytest.raises(ConfigError, match=rf"{option} must not be empty, got \[\]"):
            probe(rote(WORLD), WORLD, **{option: []})


def test_shared_memory_sees_the_second_diagonal() -> None:
    table = shared_memory(rote(WORLD), WORLD)
    with_, without = (table.filter(pl.col("replica") == r) for r in (0, 1))
    assert with_["contrast"].to_list() == pytest.approx([2.0, 2.0])
    assert with_["reached"].to_list() == [1.0, 1.0]
    assert without["contrast"].to_list() == pytest.approx([0.0, 0.0])


def test_project_keeps_clusters_and_says_how_far_to_trust() -> None:
    rng = np.random.default_rng(0)
    centres = np.eye(3, 16) * 10
    points = np.repeat(centres, 8, axis=0) + rng.normal(size=(24, 16)) * 0.1
    for method in ("pca", "tsne"):
        where, trust = project(points, method=method, seed=1)
        again, _ = project(points, method=method, seed=1)
        np.testing.assert_array_equal(where, again)
        means = where.reshape(3, 8, 2).mean(1)
        spread = np.abs(where.reshape(3, 8, 2) - means[:, None]).max()
        apart = min(
            np.linalg.norm(means[i] - means[j]) for i, j in ((0, 1), (0, 2), (1, 2))
        )
        assert apart > 2 * spread
        assert trust > 0.7
    with pytest.raises(DataError, match="8 points"):
        project(points[:4])
    with pytest.raises(DataError, match="finite points"):
        project(np.full((9, 3), np.nan))


@pytest.mark.parametrize(
    ("count", "neighbours"), [(8, 3), (9, 4), (10, 4), (11, 5), (30, 5)]
)
def test_trustworthiness_is_that_of_scikit_learn(count: int, neighbours: int) -> None:
    manifold = pytest.importorskip("sklearn.manifold")
    points = np.random.default_rng(count).normal(size=(count, 6))
    where, trust = project(points)
    same = points / np.linalg.norm(points, axis=1, keepdims=True)
    assert trust == pytest.approx(
        manifold.trustworthiness(same, where, n_neighbors=neighbours)
    )


def test_align_frames_takes_out_rotation_and_scale() -> None:
    rng = np.random.default_rng(0)
    shape = rng.normal(size=(9, 2))
    frames = []
    for step, angle in enumerate((0.0, 1.0, 2.5)):
        turn = np.array(
            [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
        )
        turned = shape @ turn * (step + 1)
        frames.append(
            pl.DataFrame({"step": step, "x": turned[:, 0], "y": turned[:, 1]})
        )
    aligned = align_frames(pl.concat(frames))
    first, last = (
        aligned.filter(pl.col("step") == s).select("x", "y").to_numpy() for s in (0, 2)
    )
    np.testing.assert_allclose(first, last, atol=1e-9)
