"""Probes of hidden states: their contract for every architecture, and known results."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from polars.testing import assert_frame_equal

from inweights import models
from inweights.errors import ConfigError, DataError
from inweights.models import EmbMLPConfig, GPTConfig, Init, OneLayerConfig
from inweights.probes import (
    accuracy,
    activation_patching,
    attention,
    attribution_patching,
    carries,
    cka,
    edits,
    logit_attribution,
    logit_lens,
    patch,
    path_accuracy,
    stepwise,
)
from inweights.training import Curriculum, Optimizer, Phase, train
from inweights.worlds import PathStar, Statements, TwoHop, Vocabulary, World

#: Studies in tests are too small for their models to memorise the facts.
pytestmark = pytest.mark.filterwarnings("ignore::inweights.errors.CautionWarning")

WORLDS = [TwoHop(n=5, complexity=2, maps="permutation").build(seed) for seed in (1, 2)]
TOKENS = len(WORLDS[0].vocabulary)
OF_THE_INSIDE = (activation_patching, attention, logit_lens)

#: A small model of every architecture.
SMALL: dict[str, dict[str, Any]] = {
    "DeepLinearConfig": {"width": 40, "layers": 2},
    "EmbMLPConfig": {"width": 12, "init": Init(std=0.3)},
    "GPTConfig": {"layers": 2, "width": 12, "heads": 3, "init": Init(std=0.3)},
    "MambaConfig": {"layers": 2, "width": 12, "init": Init(std=0.3)},
    "Node2VecConfig": {"width": 12},
    "OneLayerConfig": {"width": 40, "kappa": 1.0, "init": Init(std=0.3)},
    "TinyNNConfig": {"width": 12, "init": Init(std=0.3)},
}
ATTENDING = (OneLayerConfig, GPTConfig)


def config_of(name: str) -> Any:
    return getattr(models, name)(**SMALL[name])


def build(config: Any, *seeds: int) -> Any:
    return config.build(
        vocabulary=TOKENS, seeds=seeds, candidates=WORLDS[0].outputs.tolist()
    )


def test_every_architecture_is_looked_into() -> None:
    assert set(SMALL) == {n for n in dir(models) if n.endswith("Config")} - {
        "ModelConfig",
        "TrainedConfig",
        "WrapConfig",
    }


@pytest.mark.parametrize("probe", OF_THE_INSIDE, ids=lambda p: p.__name__)
@pytest.mark.parametrize("name", SMALL)
def test_contract(probe: Any, name: str) -> None:
    """Every replica has rows about its own world, which are the same alone and in a group."""
    config = config_of(name)
    model, alone = build(config, 3, 4), build(config, 4)
    if probe is attention and not isinstance(config, ATTENDING):
        with pytest.raises(ConfigError, match="no attention"):
            probe(model, WORLDS)
        return
    before = [p.detach().clone() for p in model.parameters()]
    table = probe(model, WORLDS)
    assert table["replica"].unique().sort().to_list() == [0, 1]
    assert all(
        torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True)
    )
    one, single = (
        t.drop("replica") for t in (table.filter(replica=1), probe(alone, WORLDS[1]))
    )
    assert_frame_equal(one, single, check_row_order=False, abs_tol=1e-4)
    shared = probe(model, WORLDS[0]).filter(replica=0)
    assert_frame_equal(
        shared, table.filter(replica=0), check_row_order=False, abs_tol=1e-4
    )


@pytest.fixture(scope="module")
def trained() -> Any:
    """Return two Emb-MLPs that compose."""
    world = TwoHop(n=4).build()
    model = EmbMLPConfig().build(vocabulary=len(world.vocabulary), seeds=[0, 1])
    descent = Optimizer(kind="sgd", rate=2.0, weight_decay=0.0)
    train(
        model,
        world,
        Curriculum(phases=(Phase(steps=800, optimizer=descent),)),
        seeds=[0, 1],
    )
    assert accuracy(model, world).filter(role="composition")["accuracy"].to_list() == [
        1.0,
        1.0,
    ]
    return model, world


def test_the_subject_carries_the_answer(trained: Any) -> None:
    """Queries (a, r1, r2) differ only in their subject."""
    table = activation_patching(*trained)
    assert table.height == 2 * 2 * 3
    assert table["statements"].unique().to_list() == [4]
    for layer, place in (("embedding", 0), ("sum", 2)):
        rows = table.filter(layer=layer)
        carries = rows.filter(position=place)
        np.testing.assert_allclose(carries["effect"], 1.0, atol=1e-5)
        assert carries["accuracy"].to_list() == [1.0, 1.0]
        others = rows.filter(pl.col("position") != place)
        np.testing.assert_allclose(others["effect"], 0.0, atol=1e-5)
        assert others["accuracy"].to_list() == [0.0] * 4


def test_effects_are_the_definition() -> None:
    """For a GPT, effects equal their definition for each replica and pair of prompts."""
    model = build(config_of("GPTConfig"), 3, 4)
    table = activation_patching(model, WORLDS, layers=["block.0"])
    for r, world in enumerate(WORLDS):
        prompts, answers = world.queries.matrix(world.queries.with_role("composition"))
        m, rows = len(prompts), model.candidates.tolist()
        for position in range(3):
            differences: list[list[float]] = [[], [], []]
            for i in range(m):
                j = next(
                    k % m
                    for k in range(i + 1, i + m)
                    if answers[k % m, 0] != answers[i, 0]
                )
                own, other = (torch.from_numpy(prompts[[k]]) for k in (i, j))
                state = model.hidden(other, at="all")["block.0"][:, :, position]
                patched = patch(model, own, state, layer="block.0", position=position)
                columns = [rows.index(answers[k, 0]) for k in (j, i)]
                for logits, into in zip(
                    (model(own), patched, model(other)), differences, strict=True
                ):
                    said = logits[r, 0, -1, columns].tolist()
                    into.append(said[0] - said[1])
            before, now, goal = (np.mean(one) for one in differences)
            found = table.filter(replica=r, position=position)["effect"].item()
            assert found == pytest.approx((now - before) / (goal - before), abs=1e-4)


def test_a_donor_gives_its_own_states(trained: Any) -> None:
    model, world = trained
    own = activation_patching(model, world)
    assert_frame_equal(activation_patching(model, world, donor=model), own)
    fresh = EmbMLPConfig().build(vocabulary=len(world.vocabulary), seeds=[7])
    strange = activation_patching(model, world, donor=fresh)
    assert (
        strange.filter(layer="embedding", position=0)["effect"].to_numpy().max() < 0.9
    )
    wide = EmbMLPConfig(width=8).build(vocabulary=len(world.vocabulary), seeds=[7])
    with pytest.raises(DataError, match=r"shape \[2, 4, 64\], got \[1, 4, 8\]"):
        activation_patching(model, world, donor=wide)


def test_what_cannot_be_patched_is_refused(trained: Any) -> None:
    model, _ = trained
    tokens = torch.tensor([[0, 1]])
    with pytest.raises(DataError, match="'position' must be from -2 to 1, got 2"):
        patch(model, tokens, torch.zeros(1), layer="sum", position=2)
    for look in (
        model.hidden,
        lambda t, at: patch(model, t, torch.zeros(1), layer="sum", at=at),
    ):
        with pytest.raises(
            ConfigError, match="unknown place 'lst'; did you mean 'last'"
        ):
            look(tokens, at="lst")
    with pytest.raises(ConfigError, match="did you mean 'sum'"):
        patch(model, tokens, torch.zeros(1), layer="sums")
    words = Vocabulary({"all": ["a", "b", "c"]})
    facts = Statements.build({"edge": ([[0], [1]], [[2], [2]])})
    alike = World(
        name="alike", vocabulary=words, facts=facts, queries=Statements.build({})
    )
    for part, message in (
        ("facts", "no such statement for some of the 2 statements of the role 'edge'"),
        ("queries", "no"),
    ):
        with pytest.raises(DataError, match=message):
            activation_patching(model, alike, part=part)  # type: ignore[arg-type]


@pytest.mark.parametrize("probe", OF_THE_INSIDE, ids=lambda p: p.__name__)
def test_unknown_or_empty_parts_are_refused(probe: Any) -> None:
    words = Vocabulary({"all": ["a", "b"]})
    facts = Statements.build({"edge": ([[0], [1]], [[1], [0]])})
    world = World(
        name="mute", vocabulary=words, facts=facts, queries=Statements.build({})
    )
    model = GPTConfig(layers=1, width=8).build(vocabulary=2, seeds=[0])
    name = "part" if probe is activation_patching else "parts"
    with pytest.raises(
        ConfigError, match="unknown part 'querys'; did you mean 'queries'"
    ):
        probe(model, world, **{name: "querys"})
    with pytest.raises(DataError, match="'mute' has no queries"):
        probe(model, world, **{name: "queries"})
    assert set(probe(model, world, **{name: "facts"})["role"]) == {"edge"}


def test_a_head_that_does_not_cover_the_answers_says_what_to_do() -> None:
    config = EmbMLPConfig(width=8)
    model = config.build(vocabulary=TOKENS, seeds=[0], candidates=[0, 1])
    for probe in (accuracy, logit_lens, activation_patching):
        with pytest.raises(
            DataError, match=r"build the model with candidates=world\.outputs"
        ):
            probe(model, WORLDS[0])


def test_the_deepest_layer_of_the_lens_is_the_model() -> None:
    model = build(config_of("GPTConfig"), 3, 4)
    said = accuracy(model, WORLDS).sort("replica", "part", "role")
    table = logit_lens(model, WORLDS)
    deepest = table.filter(layer="final").sort("replica", "part", "role")
    assert deepest["accuracy"].to_list() == pytest.approx(said["accuracy"].to_list())
    assert deepest["statements"].to_list() == said["statements"].to_list()
    assert ((deepest["rank"] == 0) == (deepest["accuracy"] == 1)).all()
    assert set(table["layer"]) == set(model.layer_names)
    assert table.filter(layer="block.0")["rank"].mean() != deepest["rank"].mean()


def test_the_lens_sees_the_answer_come(trained: Any) -> None:
    """Before the sum, the lens sees only the last token, r2, which precedes every object."""
    table = logit_lens(*trained, parts=["queries"])
    assert table.filter(layer="embedding")["accuracy"].max() == 0.25
    assert table.filter(layer="sum")["accuracy"].min() == 1.0
    assert table.filter(layer="sum")["probability"].to_numpy().min() > 0.3


def test_attention_is_averaged_over_prompts() -> None:
    model = build(config_of("GPTConfig"), 3, 4)
    table = attention(model, WORLDS, parts=["queries"])
    prompts = torch.from_numpy(
        np.stack([w.queries.prompts.reshape(-1, 3) for w in WORLDS])
    )
    mean = model.attention_patterns(prompts)["block.1"].mean(1)
    row = table.filter(replica=1, layer="block.1", head=2, position=2, attended=1)
    assert row["weight"].item() == pytest.approx(mean[1, 2, 2, 1].item())
    assert table.height == 2 * 2 * 3 * 6
    sums = table.group_by("replica", "layer", "head", "position").agg(
        pl.col("weight").sum()
    )
    np.testing.assert_allclose(sums["weight"], 1.0, atol=1e-5)


def test_cka_sees_no_rotation_and_no_scale() -> None:
    generator = torch.Generator().manual_seed(0)
    states = torch.randn(2, 40, 6, generator=generator)
    turn = torch.linalg.qr(torch.randn(2, 6, 6, generator=generator))[0]
    torch.testing.assert_close(
        cka(states, 5 * states @ turn + 1), torch.ones(2).double()
    )
    other = torch.randn(2, 40, 3, generator=generator)
    both = cka(states, other)
    assert both.max() < 0.4
    torch.testing.assert_close(both, cka(other, states))
    # For one centred column on each side it is the mean squared correlation.
    one, two = states[..., :1], other[..., :1]
    found = cka(one, two)
    for r in range(2):
        correlation = np.corrcoef(one[r, :, 0], two[r, :, 0])[0, 1]
        assert found[r].item() == pytest.approx(correlation**2, abs=1e-6)
    for wrong in (other[:, :5], other[0]):
        with pytest.raises(DataError, match="for the same replicas and prompts"):
            cka(states, wrong)
    assert cka(states, torch.full((2, 40, 1), 0.1, requires_grad=True)).isnan().all()


def test_they_are_measures_of_a_study(tmp_path: Any) -> None:
    from inweights.experiments import Measure
    from inweights.experiments.studies import sweep

    table = sweep.sweep(
        TwoHop(n=4),
        GPTConfig(layers=1, width=8, heads=1),
        Curriculum(phases=(Phase(steps=2),)),
        seeds=2,
        measures=[
            attention,
            logit_lens,
            Measure(
                name="patching",
                probe=activation_patching,
                options={"layers": ["block.0"]},
            ),
        ],
        runs=tmp_path,
    )
    assert set(table["measure"]) == {"attention", "logit_lens", "patching"}
    assert set(table["seed"]) == {0, 1}


@pytest.mark.parametrize("most", [0, -1])
@pytest.mark.parametrize(
    "probe",
    [*OF_THE_INSIDE, attribution_patching, carries, edits, logit_attribution],
)
def test_at_least_one_statement_is_read(probe: Any, most: int) -> None:
    with pytest.raises(ConfigError, match=f"most must be at least 1, got {most}"):
        probe(build(config_of("GPTConfig"), 0), WORLDS[0], most=most)


def test_paths_need_a_statement_and_all_is_0() -> None:
    world = PathStar(arms=3, nodes=3).build()
    model = GPTConfig(width=8).build(vocabulary=len(world.vocabulary), seeds=[0])
    with pytest.raises(ConfigError, match="most must be at least 1, got 0"):
        path_accuracy(model, world, most=0)
    with pytest.raises(ConfigError, match="hardest must be at least 0, got -1"):
        path_accuracy(model, world, hardest=-1)
    with pytest.raises(ConfigError, match="most must be at least 0, got -1"):
        stepwise(model, world, most=-1)
    assert (stepwise(model, world, most=0)["statements"] > 1).any()
