"""Attributions sum to the logit, and gradients agree with patching."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from polars.testing import assert_frame_equal
from scipy import stats
from tests.foreign.stranger import gpt

import inweights as iw
from inweights import probes
from inweights.errors import ConfigError
from inweights.models import DeepLinearConfig, pack
from inweights.probes.recall import answers_among

WORLD = iw.TwoHop(n=6).build()
TOKENS = len(WORLD.vocabulary)
PROMPTS = torch.tensor([query.prompt for query in WORLD.queries])
ANSWERS = torch.tensor([query.answer[0] for query in WORLD.queries])
KEY = ["replica", "role", "layer", "position"]
GPTS: dict[str, dict[str, Any]] = {
    "untied": {},
    "tied": {"tied": True},
    "uniform": {"attention": "uniform"},
    "no attention": {"attention": "none"},
    "memory": {"memory": 4},
    "loops": {"loops": 3, "inject": True},
    "no norm": {"norm": False},
    "no positions": {"positions": "none"},
}


def built(**settings: Any) -> Any:
    """Return a GPT of two replicas with random biases and norms."""
    config = iw.GPTConfig(layers=2, width=16, heads=2, **settings)
    model = config.build(vocabulary=TOKENS, seeds=[0, 1])
    generator = torch.Generator().manual_seed(5)
    for parameter in model.parameters():
        parameter.data += 0.3 * torch.randn(parameter.shape, generator=generator)
    return model


@torch.no_grad()
@pytest.mark.parametrize("kind", GPTS)
def test_contributions_sum_to_the_logit(kind: str) -> None:
    model = built(**GPTS[kind])
    table = probes.logit_attribution(model, WORLD)
    sums = table.group_by("replica", maintain_order=True).agg(pl.sum("contribution"))
    batch = pack([PROMPTS])
    logits = model(batch, at=batch.last).double()
    allowed = answers_among(model, [WORLD], "queries", "composition")
    for replica in range(2):
        own = logits[replica].gather(1, ANSWERS[:, None]).mean()
        others = logits[replica][:, allowed[replica]].mean()
        assert sums["contribution"][replica] == pytest.approx(
            float(own - others), abs=1e-5
        )


def test_what_a_part_adds_is_what_is_missing_without_it() -> None:
    """Without a norm, the last MLP's contribution equals the effect of setting it to 0."""
    model = built(norm=False)
    table = probes.logit_attribution(model, WORLD)
    last = table.filter(component="block.1.mlp")["contribution"].to_numpy()
    whole = table.group_by("replica", maintain_order=True).agg(pl.sum("contribution"))
    with model.hooks({"block.1.mlp": torch.zeros_like}):
        without = probes.logit_attribution(model, WORLD)
    left = without.group_by("replica", maintain_order=True).agg(pl.sum("contribution"))
    change = (whole["contribution"] - left["contribution"]).to_numpy()
    assert change == pytest.approx(last, abs=1e-5)


def test_a_trained_model_knows_and_an_untrained_one_does_not() -> None:
    stored = iw.load("two-hop/gpt")
    config: Any = stored.model.config
    control = config.build(
        vocabulary=len(stored.world.vocabulary),
        seeds=range(4),
        candidates=stored.model.candidates.tolist(),
    )
    trained = probes.logit_attribution(stored.model, stored.world)
    fresh = probes.logit_attribution(control, stored.world)
    assert trained["contribution"].sum() > 1.0
    by_seed = fresh.group_by("replica").agg(pl.sum("contribution"))
    assert (by_seed["contribution"].abs() < 0.1).all()


@pytest.mark.parametrize(
    "config", [DeepLinearConfig(), iw.EmbMLPConfig(width=8)], ids=["deep", "embedding"]
)
def test_a_linear_model_gives_what_patching_gives(config: Any) -> None:
    """The logits of EmbMLP are linear in its states as well, since its MLP is the head."""
    model = config.build(vocabulary=TOKENS, seeds=[0, 1])
    estimated = probes.attribution_patching(model, WORLD)
    exact = probes.activation_patching(model, WORLD)
    assert estimated.drop("effect").equals(exact.drop("effect", "accuracy"))
    assert np.abs((estimated["effect"] - exact["effect"]).to_numpy()).max() < 1e-4


def test_it_agrees_with_patching_on_a_trained_model() -> None:
    stored = iw.load("two-hop/gpt")
    estimated = probes.attribution_patching(stored.model, stored.world)
    layers = estimated["layer"].unique(maintain_order=True).to_list()
    assert {"block.0.head.1", "block.1.attention", "block.1.mlp", "final"} < {*layers}
    exact = probes.activation_patching(stored.model, stored.world, layers=layers)
    both = estimated.join(exact, on=KEY, suffix="_exact")
    assert both.height == estimated.height == exact.height
    rank = stats.spearmanr(both["effect"], both["effect_exact"]).statistic
    assert rank > 0.8
    large = both.filter(pl.col("effect_exact").abs() > 0.05)
    assert large.height > 8
    same_sign = large["effect"].sign() == large["effect_exact"].sign()
    assert same_sign.sum() > 0.9 * len(same_sign)


def test_at_the_deepest_layer_it_is_exact() -> None:
    model = built()
    end = probes.attribution_patching(model, WORLD, layers=["final"])
    last = end.filter(position=2)["effect"].to_list()
    assert last == pytest.approx([1.0, 1.0], abs=1e-4), "in single precision"
    assert end.filter(pl.col("position") < 2)["effect"].to_list() == [0.0] * 4


def test_the_gradient_is_that_of_a_plain_module() -> None:
    """The estimate for a wrapped module equals that by hooks and autograd on the module."""
    plain = gpt(vocab_size=TOKENS)
    layer, block = "transformer.h.0", plain.transformer["h"][0]
    table = probes.attribution_patching(iw.wrap(plain), WORLD, layers=[layer])
    partners = PROMPTS.roll(-1, 0)
    pair = torch.stack([ANSWERS, ANSWERS.roll(-1, 0)], 1)
    states: list[torch.Tensor] = []

    def keep(_: Any, __: Any, output: torch.Tensor) -> None:
        output.retain_grad()
        states.append(output)

    handle = block.register_forward_hook(keep)
    differences = []
    for tokens in (PROMPTS, partners):
        logits = plain(tokens)[0][:, -1].gather(1, pair)
        differences.append((logits[:, 1] - logits[:, 0]).sum())
    handle.remove()
    differences[0].backward()
    own, theirs = states
    assert own.grad is not None
    moved = ((theirs - own) * own.grad).sum((0, 2))
    expected = moved / (differences[1] - differences[0])
    assert table["effect"].to_numpy() == pytest.approx(
        expected.detach().numpy(), abs=1e-4
    )


def test_patching_a_head_changes_its_columns_alone() -> None:
    model = built()
    table = probes.activation_patching(
        model, WORLD, layers=["block.0.head.0", "block.0.head.1", "block.0.heads"]
    )
    alone = probes.activation_patching(model, WORLD, layers=["block.0.heads"])
    effect = table.filter(layer="block.0.heads")["effect"]
    assert effect.to_list() == alone["effect"].to_list()
    own = model.hidden(PROMPTS, at="all")["embedding"]
    assert own.shape[-1] == 16
    state = torch.zeros(2, len(PROMPTS), 8)
    seen: list[torch.Tensor] = []

    def watch(state: torch.Tensor) -> torch.Tensor:
        seen.append(state.clone())
        return state

    with model.hooks({"block.0.heads": watch}):
        model(PROMPTS)
    head = probes.patch(
        model, PROMPTS, state, layer="block.0.head.1", position=1, at="last"
    )
    put = seen[0].clone()
    put[:, :, 1, 8:] = 0.0
    whole = probes.patch(model, PROMPTS, put, layer="block.0.heads", at="last")
    assert torch.equal(head, whole)


def test_what_cannot_be_attributed_is_refused() -> None:
    model = iw.wrap(gpt(vocab_size=TOKENS))
    with pytest.raises(ConfigError, match="logit_attribution requires a GPT"):
        probes.logit_attribution(model, WORLD)
    with pytest.raises(ConfigError, match="needs a residual stream"):
        probes.logit_attribution(built(residual=False), WORLD)
    with pytest.raises(ConfigError, match=r"head of block\.0"):
        probes.attribution_patching(built(), WORLD, layers=["block.0.head.2"])
    with pytest.raises(ConfigError, match="unknown layer"):
        probes.attribution_patching(built(), WORLD, layers=["block.9"])


@pytest.mark.parametrize(
    "probe", [probes.attribution_patching, probes.logit_attribution]
)
def test_a_replica_says_alone_what_it_says_among_others(probe: Any) -> None:
    """Each replica has its own world; no parameter changes or keeps a gradient."""
    worlds = [iw.TwoHop(n=6).build(seed=seed) for seed in (0, 1)]
    model = built()
    before = [parameter.detach().clone() for parameter in model.parameters()]
    table = probe(model, worlds)
    for parameter, old in zip(model.parameters(), before, strict=True):
        assert torch.equal(parameter, old)
        assert parameter.grad is None
    alone = probe(model.select([1]), worlds[1])
    assert_frame_equal(
        table.filter(replica=1).drop("replica"), alone.drop("replica"), abs_tol=1e-4
    )
