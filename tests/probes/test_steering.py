"""Steering changes the requested states at the requested positions, like a plain hook."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
import torch
from tests.foreign.stranger import GPT, gpt, taught
from torch import Tensor

import inweights as iw
from inweights.errors import ConfigError, DataError
from inweights.models import pack
from inweights.probes.interventions.changes import places

WORLD = iw.TwoHop(n=4).build(seed=0)
TOKENS = len(WORLD.vocabulary)
ID = WORLD.vocabulary.id
PROMPTS = torch.tensor([[ID("a1"), ID("r1"), ID("r2")], [ID("a2"), ID("r1"), ID("r2")]])
BLOCK = "transformer.h.0"


def vector(width: int = 24) -> Tensor:
    return torch.randn(width, generator=torch.Generator().manual_seed(3))


def with_hook(module: GPT, change: Any, tokens: Tensor) -> Tensor:
    """Return the logits of a plain module whose first block's output a hook changes."""
    handle = module.transformer["h"][0].register_forward_hook(
        lambda *args: change(args[2])
    )
    try:
        logits: Tensor = module(tokens)[0][:, 0]
        return logits
    finally:
        handle.remove()


@torch.no_grad()
@pytest.mark.parametrize("change", ["add", "replace", "project_out", "scale"])
def test_a_change_is_what_a_plain_hook_does(change: str) -> None:
    plain, given = gpt(vocab_size=TOKENS), vector()
    unit = given / given.norm()
    by_hand = {
        "add": lambda state: state + given,
        "replace": lambda state: given,
        "project_out": lambda state: state - (state @ unit)[..., None] * unit,
        "scale": lambda state: 3.0 * state,
    }

    def at_the_second_token(state: Tensor) -> Tensor:
        state = state.clone()
        state[:, 1] = by_hand[change](state[:, 1])
        return state

    theirs = with_hook(plain, at_the_second_token, PROMPTS)
    model, batch = iw.wrap(plain), pack([PROMPTS])
    wanted: dict[str, Any] = {change: 3.0 if change == "scale" else given}
    positions: tuple[Any, ...] = (
        "r1",
        1,
        -2,
        ["r1"],
        torch.tensor([[False, True, False]] * 2),
    )
    for position in positions:
        with iw.steered(model, WORLD, at=BLOCK, position=position, **wanted):
            ours = model(batch, at=batch.last)[0]
        torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-5)
    assert not torch.equal(theirs, plain(PROMPTS)[0][:, 0])


@torch.no_grad()
def test_hooks_see_prompts_and_positions() -> None:
    """A hook receives the prompts of each length, also if replicas have other tokens."""
    configs: list[Any] = [iw.GPTConfig(layers=1, width=8), iw.EmbMLPConfig(width=8)]
    models: list[iw.Model] = [
        one.build(vocabulary=TOKENS, seeds=[0, 1]) for one in configs
    ]
    models.append(iw.wrap([gpt(0, vocab_size=TOKENS), gpt(1, vocab_size=TOKENS)]))
    for model in models:
        layer = model.layer_names[0]
        seen: list[Any] = []

        def see(
            state: Tensor, model: iw.Model = model, seen: list[Any] = seen
        ) -> Tensor:
            assert model.reading is not None
            assert model.reading.tokens is not None
            seen.append((tuple(state.shape[:3]), tuple(model.reading.tokens.shape)))
            return state

        batch = pack([PROMPTS[:, :2], PROMPTS])
        plain = model(batch, at=batch.last)
        with model.hooks({layer: see}):
            assert torch.equal(model(batch, at=batch.last), plain)
        assert set(seen) == {((2, 2, 2), (2, 2)), ((2, 2, 3), (2, 3))}
        assert model.reading is None


def test_a_state_put_in_by_name_gives_the_other_answer() -> None:
    hops = [s for s in WORLD.facts if len(s.prompt) == 2]
    prompts = torch.tensor([list(s.prompt) for s in hops])
    plain = taught(
        60, prompts, torch.tensor([s.answer[0] for s in hops]), vocab_size=TOKENS
    )
    model, last = iw.wrap(plain), "transformer.h.1"
    table = iw.steer(model, WORLD, at=last, position="r1", replace="a2 r1", toward="b2")
    first = {
        row["change"]: row for row in table.filter(role="first_hop").rows(named=True)
    }
    assert first["none"]["accuracy"] == 1.0
    # Of the four subjects, the one to which the state belongs.
    assert first["replace"]["accuracy"] == 0.25
    with torch.no_grad():
        other = (
            plain(torch.tensor([[ID("a2"), ID("r1")]]))[0]
            .softmax(-1)[0, 0, ID("b2")]
            .item()
        )
    assert first["replace"]["toward"] == pytest.approx(other, abs=1e-5)
    assert first["random"]["toward"] < 0.5 < first["replace"]["changed"]
    assert first["none"]["divergence"] == 0.0 < first["random"]["divergence"]
    assert first["random"]["divergence"] < first["replace"]["divergence"]
    # The prompts that contain r1.
    assert set(table["role"]) == {
        "first_hop",
        "composition",
    }


def test_the_control_moves_states_as_far() -> None:
    model = iw.wrap(gpt(vocab_size=TOKENS))
    before = model.hidden(PROMPTS, at="all")[BLOCK]
    for change in ({"scale": 0.5}, {"add": vector()}, {"project_out": vector()}):
        moved = []
        for random in (None, 0, 1):
            how: dict[str, Any] = {
                "at": BLOCK,
                "position": "r1",
                "random": random,
                **change,
            }
            with iw.steered(model, WORLD, **how):
                moved.append(model.hidden(PROMPTS, at="all")[BLOCK] - before)
        sizes = [one.norm(dim=-1) for one in moved]
        torch.testing.assert_close(sizes[1], sizes[0], atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(sizes[2], sizes[0], atol=1e-5, rtol=1e-4)
        assert not torch.allclose(moved[1], moved[2], atol=1e-3)
        assert not sizes[0][:, :, [0, 2]].any()


@pytest.mark.slow
def test_a_replica_says_the_same_alone() -> None:
    both = iw.GPTConfig(layers=2, width=8).build(vocabulary=TOKENS, seeds=[3, 4])
    one = iw.GPTConfig(layers=2, width=8).build(vocabulary=TOKENS, seeds=[4])
    how: dict[str, Any] = {"at": "block.0", "position": "r1", "add": ("a2 r1", "a1 r1")}
    together = iw.steer(both, WORLD, **how).filter(replica=1).drop("replica")
    alone = iw.steer(one, WORLD, **how).drop("replica")
    assert together.columns == alone.columns
    for column in ("accuracy", "changed", "divergence"):
        assert together[column].to_list() == pytest.approx(
            alone[column].to_list(), abs=1e-5
        )
    rows = torch.stack([vector(8), -vector(8)])
    each = iw.steer(both, WORLD, at="block.0", add=rows).filter(replica=1, change="add")
    own = iw.steer(one, WORLD, at="block.0", add=(-vector(8)).tolist()).filter(
        change="add"
    )
    assert each["divergence"].to_list() == pytest.approx(
        own["divergence"].to_list(), abs=1e-5
    )


@pytest.mark.filterwarnings("ignore:Facts are not known")  # after two steps
def test_in_a_sweep_with_a_control(tmp_path: Path) -> None:
    options = {"at": "block.0", "position": "r1", "add": ["a2 r1", "a1 r1"], "draws": 2}
    table = iw.sweep(
        iw.TwoHop(n=4),
        iw.GPTConfig(layers=1, width=16),
        iw.learners.two_hop(width=16, steps=2),
        measures=[iw.Measure(iw.steer, options=options)],
        seeds=2,
        runs=tmp_path,
        progress=False,
    )
    assert table["change"].unique().sort().to_list() == ["add", "none", "random"]
    assert table.filter(change="none")["divergence"].to_list() == [0.0] * 4
    assert table.select(pl.col("divergence").is_finite().all()).item()


def test_what_cannot_be_steered_is_named() -> None:
    model = iw.wrap(gpt(vocab_size=TOKENS))
    cases: list[tuple[dict[str, Any], type[Exception], str]] = [
        (
            {},
            ConfigError,
            "give exactly one of add, replace, project_out, scale, got none",
        ),
        ({"add": vector(), "scale": 2.0}, ConfigError, "got add, scale"),
        (
            {"add": [1.0, 2.0]},
            DataError,
            "must have 24 entries, .* got 2",
        ),
        ({"add": torch.zeros(2, 24)}, DataError, r"\[R, D\] with R = 1, got \[2, 24\]"),
        ({"scale": 2.0, "position": "r9"}, DataError, "unknown token 'r9'"),
        (
            {"scale": 2.0, "position": 7},
            DataError,
            "no statement among the .* has a position 7",
        ),
        ({"scale": 2.0, "toward": "b9"}, DataError, "unknown token 'b9'"),
        (
            {"add": "r1 r1", "position": "r1"},
            DataError,
            "the position 'r1' exactly once, but has it 2 times",
        ),
        (
            {"add": ("a1", "a2", "a3")},
            DataError,
            "must contain two prompts; .* got a list of length 3",
        ),
        ({"scale": 2.0, "parts": ["fact"]}, ConfigError, "unknown part 'fact'"),
    ]
    for given, error, message in cases:
        with pytest.raises(error, match=message):
            iw.steer(model, WORLD, **{"at": BLOCK, **given})
    misspelt: Any = {"ad": vector()}
    with (
        pytest.raises(ConfigError, match=r"unknown change 'ad'.*'add'"),
        iw.steered(model, WORLD, at=BLOCK, **misspelt),
    ):
        pass
    with pytest.raises(ConfigError, match=r"unknown layer 'transformer\.h\.9'"):
        iw.steer(model, WORLD, at="transformer.h.9", scale=2.0)
    with (
        pytest.raises(
            DataError,
            match="none of the prompts that the model read has a position 'r2'",
        ),
        iw.steered(model, WORLD, at=BLOCK, position="r2", scale=2.0),
    ):
        model.hidden(PROMPTS[:, :2])
    with (
        pytest.raises(
            DataError,
            match=r"the mask must have the shape \[B, T\] of the prompts, .*, got \[3\]",
        ),
        iw.steered(model, WORLD, at=BLOCK, position=torch.ones(3), scale=2.0),
    ):
        model.hidden(PROMPTS)


def test_a_mask_is_for_the_prompts_of_every_replica() -> None:
    mask = torch.tensor([[False, True], [True, False]])
    prompts = torch.zeros(3, 2, 2, dtype=torch.long)  # [R, B, T]
    assert places(mask, [], prompts).equal(mask.expand(3, 2, 2))


def gpt_with_heads() -> iw.Model:
    return iw.GPTConfig(layers=2, width=16, heads=4).build(
        vocabulary=TOKENS, seeds=[0, 1]
    )


@torch.no_grad()
def test_a_head_is_steered_as_its_columns_are() -> None:
    """Compared by hand: the head's output before the output matrix, at one token."""
    model, given = gpt_with_heads(), vector(4)

    def by_hand(state: Tensor) -> Tensor:
        state = state.clone()
        state[:, :, 1, 8:12] += given
        return state

    with model.hooks({"block.1.heads": by_hand}):
        theirs = model(PROMPTS)
    with iw.steered(model, WORLD, at="block.1.head.2", position="r1", add=given):
        ours = model(PROMPTS)
    assert torch.equal(ours, theirs)
    assert not torch.equal(ours, model(PROMPTS))


def test_a_head_takes_the_state_of_another_prompt_and_has_a_control() -> None:
    model = gpt_with_heads()
    table = iw.steer(
        model, WORLD, at="block.0.head.1", position="r1", replace="a2 r1", draws=2
    )
    assert table["change"].unique(maintain_order=True).to_list() == [
        "none",
        "replace",
        "random",
    ]
    with iw.steered(model, WORLD, at="block.0.head.1", scale=0.0):
        silent = iw.probes.accuracy(model, WORLD)
    assert silent.height == iw.probes.accuracy(model, WORLD).height
    with (
        pytest.raises(ConfigError, match=r"head of block\.0"),
        iw.steered(model, WORLD, at="block.0.head.4", scale=0.0),
    ):
        pass
    with (
        pytest.raises(DataError, match=r"'block\.0\.head\.1' must have 4 entries"),
        iw.steered(model, WORLD, at="block.0.head.1", add=vector(16)),
    ):
        model(PROMPTS)


@torch.no_grad()
def test_a_change_within_another_gets_what_the_other_made() -> None:
    model, given = gpt_with_heads(), vector(16)
    how: dict[str, Any] = {"at": "block.0", "position": "r1"}
    with iw.steered(model, WORLD, add=2 * given, **how):
        twice = model(PROMPTS)
    with (
        iw.steered(model, WORLD, add=given, **how),
        iw.steered(model, WORLD, add=given, **how),
    ):
        torch.testing.assert_close(model(PROMPTS), twice)
