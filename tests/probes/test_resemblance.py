"""Feature resemblance on states with known results, and the contract of probes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

from inweights.errors import ConfigError, DataError
from inweights.models import DeepLinearConfig, GPTConfig, OneLayer, OneLayerConfig
from inweights.probes.resemblance import entity_pairs, resemblance
from inweights.worlds import Altered, AnalogicalTwoHop, Analogy, TwoHop, World

#: Probes of analogies; :func:`entity_pairs` takes only a world.
OF_ANALOGIES = (entity_pairs, resemblance)
SIZE: dict[str, Any] = {"width": 32, "hidden": 2}


def with_values(world: World, vectors: torch.Tensor) -> OneLayer:
    """Return a one-layer model with given ``W_V e``, ``[R, V, d]``."""
    model = OneLayerConfig(**SIZE).build(
        vocabulary=len(world.vocabulary), seeds=range(len(vectors))
    )
    with torch.no_grad():
        model.attention.value.zero_()
        model.attention.value[:, : vectors.shape[1], : vectors.shape[2]] = vectors
    return model


@pytest.mark.parametrize("prompt", ["entity", "premise", "query"])
@pytest.mark.parametrize("by_pair", [False, True])
def test_contract(prompt: Any, by_pair: bool) -> None:
    """A table has rows for every replica, which do not depend on other replicas."""
    worlds = [
        Analogy(n=6, categories=3, maps="permutation").build(seed) for seed in (1, 2)
    ]
    config = GPTConfig(layers=2, width=16)
    model = config.build(vocabulary=len(worlds[0].vocabulary), seeds=[3, 4])
    alone = config.build(vocabulary=len(worlds[0].vocabulary), seeds=[4])
    settings: dict[str, Any] = {"prompt": prompt, "by_pair": by_pair}
    before = [p.detach().clone() for p in model.parameters()]
    table = resemblance(model, worlds, **settings)
    assert all(
        torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True)
    )
    assert table["replica"].unique().sort().to_list() == [0, 1]
    assert set(table["layer"]) == {"block.1"}
    assert set(table["prompt"]) == {prompt}
    assert len(table) == (12 if by_pair else 2)
    own = table.filter(pl.col("replica") == 1).drop("replica")
    single = resemblance(alone, worlds[1], **settings).drop("replica")
    assert own.columns == single.columns
    for column in own.columns:
        if own[column].dtype == pl.Float64:
            np.testing.assert_allclose(own[column], single[column], atol=1e-5)
        else:
            assert own[column].to_list() == single[column].to_list()


def test_values_at_known_angles() -> None:
    world = Analogy(n=3).build()
    words = world.vocabulary
    vectors = torch.zeros(2, len(words), 4)
    for i, (a, b) in enumerate(zip(words["source"], words["target"], strict=True)):
        vectors[:, a, i] = 2.0
        vectors[0, b, i] = 5.0  # replica 0: the vectors of a pair are parallel
        vectors[1, b, i], vectors[1, b, 3] = 3.0, 4.0  # replica 1: cosine .6
    table = resemblance(with_values(world, vectors), world)
    assert table["cosine"].to_list() == pytest.approx([1.0, 0.6])
    assert table["other"].to_list() == pytest.approx([0.0, 0.0])
    vectors[0, words["target"][2]] = vectors[0, words["source"][0]]
    pairs = resemblance(with_values(world, vectors), world, by_pair=True)
    first = pairs.filter(replica=0)
    assert first.select("one", "two").rows() == [
        ("a1", "b1"),
        ("a2", "b2"),
        ("a3", "b3"),
    ]
    assert first["cosine"].to_list() == pytest.approx([1.0, 1.0, 0.0])
    assert first["other"].to_list() == pytest.approx([0.5, 0.0, 0.0])
    assert first["contrast"].to_list() == pytest.approx([0.5, 1.0, 0.0])


def test_entities_of_one_category_are_not_others() -> None:
    world = Analogy(n=4, categories=2).build()
    words = world.vocabulary
    vectors = torch.zeros(1, len(words), 2)
    for i in range(4):
        vectors[0, [words["source"][i], words["target"][i]], i % 2] = 1.0
    row = resemblance(with_values(world, vectors), world)
    assert row.select("cosine", "other").row(0) == pytest.approx((1.0, 0.0))
    lone = Analogy(n=4, categories=1).build()
    model = OneLayerConfig(**SIZE).build(vocabulary=len(lone.vocabulary), seeds=[0])
    assert math.isnan(resemblance(model, lone)["other"][0])


def test_pairs_are_known_without_attributions() -> None:
    whole = Analogy(n=3)
    alone = Altered(of=whole, without="attribution").build()
    assert set(alone.facts.role_names) == {"category", "similarity"}
    assert entity_pairs(alone).tolist() == entity_pairs(whole.build()).tolist()


@torch.no_grad()
def test_states_of_the_prompts_that_are_named() -> None:
    """Compared by hand: both entities with the same relation, each at its last token."""
    world = AnalogicalTwoHop(n=3, maps="permutation").build(seed=1)
    words = world.vocabulary
    model = GPTConfig(layers=2, width=16).build(vocabulary=len(words), seeds=[0])
    pairs = entity_pairs(world)
    told = {
        tuple(world.facts.prompt(int(i))): int(world.facts.answer(int(i))[0])
        for i in world.facts.with_role("first_hop")
    }
    assert [told[a, words.id("r1")] for a, _ in pairs] == pairs[:, 1].tolist()
    for prompt, relation in (("entity", []), ("premise", ["r1"]), ("query", ["r2"])):
        rest = [words.id(r) for r in relation]
        expected = []
        for a, b in pairs.tolist():
            tokens = torch.tensor([[a, *rest], [b, *rest]])
            one, two = model.hidden(tokens, layers=["block.1"])["block.1"][0]
            expected.append(float(torch.cosine_similarity(one, two, dim=0)))
        found = resemblance(model, world, prompt=prompt, by_pair=True)  # type: ignore[arg-type]
        assert found["cosine"].to_list() == pytest.approx(expected, abs=1e-5)


def test_the_default_is_that_of_the_paper() -> None:
    world = Analogy(n=3, similarity_relations=2, attribution_relations=2).build()
    size = len(world.vocabulary)
    for config, expected in (
        (OneLayerConfig(**SIZE), ("entity", "value", 0)),
        (GPTConfig(layers=2, width=16), ("premise", "block.1", 2)),
        (DeepLinearConfig(width=32, layers=3), ("premise", "layer2", 1)),
    ):
        table = resemblance(config.build(vocabulary=size, seeds=[0]), world)
        assert table.select("prompt", "layer", "depth").rows() == [expected]
    assert len(entity_pairs(world)) == 3


def test_what_does_not_fit_is_refused() -> None:
    world = Analogy(n=3).build()
    model = OneLayerConfig(**SIZE).build(vocabulary=len(world.vocabulary), seeds=[0])
    with pytest.raises(ConfigError, match="depends only on the last token"):
        resemblance(model, world, prompt="premise")
    assert (
        resemblance(model, world, prompt="premise", layers=["attention"])[
            "depth"
        ].item()
        == 1
    )
    with pytest.raises(ConfigError, match="did you mean 'premise'"):
        resemblance(model, world, prompt="premises")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="did you mean 'value'"):
        resemblance(model, world, layers=["values"])
    with pytest.raises(
        DataError,
        match=r"requires the query role 'conclusion'.*query roles \['composition'\]",
    ):
        entity_pairs(TwoHop(n=3).build())
