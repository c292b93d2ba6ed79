"""TransformerLens reads and patches an exported GPT with the same results as our probes."""

from __future__ import annotations

import sys
from functools import partial
from importlib.util import find_spec
from typing import Any

import pytest
import torch
from tests.models.test_export import TOKENS, gpt
from torch import Tensor

import inweights as iw
from inweights.errors import ConfigError
from inweights.models import to_transformer_lens
from inweights.probes import logit_attribution, patch
from inweights.probes.interventions.interchange import _pairs

#: Importing it takes seconds, so only the tests import it.
if find_spec("transformer_lens") is None:
    pytest.skip("needs inweights[lens]", allow_module_level=True)
pytestmark = pytest.mark.slow

CLOSE: dict[str, Any] = {"atol": 1e-5, "rtol": 1e-5}
OTHER = TOKENS.flip(0)


@pytest.fixture(scope="module", params=[True, False], ids=["tied", "untied"])
def pair(request: Any) -> tuple[Any, list[Any]]:
    model = gpt(tied=request.param)
    return model, [to_transformer_lens(model, replica) for replica in (0, 1)]


@torch.no_grad()
def test_logits_states_and_patterns_are_equal(pair: Any) -> None:
    model, bridges = pair
    ours, patterns = model.hidden(TOKENS, at="all"), model.attention_patterns(TOKENS)
    for replica, bridge in enumerate(bridges):
        logits, cache = bridge.run_with_cache(TOKENS)
        torch.testing.assert_close(logits, model(TOKENS)[replica], **CLOSE)
        torch.testing.assert_close(
            cache["resid_pre", 0], ours["embedding"][replica], **CLOSE
        )
        torch.testing.assert_close(
            cache["ln_final.hook_out"], ours["final"][replica], **CLOSE
        )
        for i in range(2):
            there = cache["resid_post", i]
            torch.testing.assert_close(there, ours[f"block.{i}"][replica], **CLOSE)
            pattern = patterns[f"block.{i}"][replica]
            torch.testing.assert_close(cache["pattern", i], pattern, **CLOSE)


@torch.no_grad()
def test_the_lens_is_theirs(pair: Any) -> None:
    model, bridges = pair
    lens = model.logit_lens(TOKENS, at="all")
    for replica, bridge in enumerate(bridges):
        _, cache = bridge.run_with_cache(TOKENS)
        for i in range(2):
            theirs = bridge.unembed(bridge.ln_final(cache["resid_post", i]))
            torch.testing.assert_close(theirs, lens[f"block.{i}"][replica], **CLOSE)


NAMES = {
    "embedding": "blocks.0.hook_resid_pre",
    "block.0": "blocks.0.hook_resid_post",
    "block.1": "blocks.1.hook_resid_post",
    "final": "ln_final.hook_out",
}


def put(value: Tensor, hook: Any, *, state: Tensor, position: int) -> Tensor:
    del hook
    value[:, position] = state
    return value


@pytest.mark.parametrize("layer", NAMES)
@pytest.mark.parametrize("source", ["prompt", "run"])
@torch.no_grad()
def test_patching_gives_what_their_hooks_give(
    pair: Any, layer: str, source: str
) -> None:
    """A state at one position is replaced with that of another prompt or replica."""
    model, bridges = pair
    if source == "prompt":
        states = model.hidden(OTHER, layers=[layer], at="all")[layer]
    else:
        states = model.hidden(TOKENS, layers=[layer], at="all")[layer].flip(0)
    for position in (0, 3):
        new = states[:, :, position]
        patched = patch(model, TOKENS, new, layer=layer, position=position)
        assert not torch.allclose(patched, model(TOKENS), atol=1e-3)
        for replica, bridge in enumerate(bridges):
            edit = partial(put, state=new[replica], position=position)
            theirs = bridge.run_with_hooks(TOKENS, fwd_hooks=[(NAMES[layer], edit)])
            torch.testing.assert_close(theirs, patched[replica], **CLOSE)


@torch.no_grad()
def test_an_interchange_gives_what_their_hooks_give() -> None:
    """The shares of ``carries`` equal those counted with TransformerLens's cache and hooks."""
    world = iw.TwoHop(n=5, complexity=2, first_relations=1, second_relations=2).build()
    model = iw.GPTConfig(layers=2, width=32).build(
        vocabulary=len(world.vocabulary), seeds=[0]
    )
    phase = iw.Phase(steps=150, random_offset=True, optimizer=iw.Optimizer(rate=3e-3))
    with torch.enable_grad():
        iw.train(model, world, iw.Curriculum(phases=(phase,)), seeds=[0])
    table, pairs = iw.probes.carries(model, world), _pairs([world], "composition", 256)
    bridge = to_transformer_lens(model, 0)
    base, source = pairs.bases[0], pairs.sources[0]
    clean, theirs = (bridge(tokens)[:, -1].argmax(-1) for tokens in (base, source))
    _, cache = bridge.run_with_cache(source)
    seen = 0
    for row in table.iter_rows(named=True):
        place, position = NAMES[row["place"]], row["position"]
        edit = partial(put, state=cache[place][:, position], position=position)
        answered = bridge.run_with_hooks(base, fwd_hooks=[(place, edit)])[:, -1].argmax(
            -1
        )
        for name in ("bridge", "relation", "answer", "unchanged"):
            token, counts = pairs.answers[name][0], pairs.valid[0].clone()
            if name != "unchanged":
                counts &= clean != token
            if name in ("bridge", "relation"):
                counts &= theirs != token
            share = float(((answered == token) & counts).sum() / pairs.valid.sum())
            assert row[name] == pytest.approx(share, abs=1e-5), (row, name)
            seen += 0 < share < 1
    assert seen > 5  # the shares are neither all 0 nor all 1


def test_without_it_one_is_told_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "transformer_lens.model_bridge.sources", None)
    with pytest.raises(
        ConfigError, match=r"requires transformer_lens: pip install 'inweights\[lens\]'"
    ):
        to_transformer_lens(gpt())


@torch.no_grad()
def test_logit_attribution_is_theirs() -> None:
    """Attributions of heads and MLPs agree; norms keep their initial gains and biases."""
    world = iw.TwoHop(n=6).build()
    config = iw.GPTConfig(layers=2, width=16, heads=2)
    model = config.build(vocabulary=len(world.vocabulary), seeds=[0, 1])
    for parameter in model.tokens.parameters():
        parameter.data *= 20  # the states differ
    table = logit_attribution(model, world)
    prompts = torch.tensor([query.prompt for query in world.queries])
    answers = torch.tensor([query.answer[0] for query in world.queries])
    for replica in (0, 1):
        _, cache = to_transformer_lens(model, replica).run_with_cache(prompts)
        stack, names = cache.get_full_resid_decomposition(
            layer=-1, return_labels=True, expand_neurons=False, pos_slice=-1
        )
        theirs: Any = 0.0
        for other in answers.unique():
            wrong = other.expand_as(answers)
            theirs += cache.logit_attrs(stack, answers, wrong, pos_slice=-1).mean(-1)
        found = dict(zip(names, (theirs / len(answers.unique())).tolist(), strict=True))
        ours = dict(
            table.filter(replica=replica).select("component", "contribution").rows()
        )
        for block in (0, 1):
            assert ours[f"block.{block}.mlp"] == pytest.approx(
                found[f"{block}_mlp_out"], abs=1e-5
            )
            for head in (0, 1):
                assert ours[f"block.{block}.head.{head}"] == pytest.approx(
                    found[f"L{block}H{head}"], abs=1e-5
                )
        assert ours["embedding"] == pytest.approx(
            found["embed"] + found["pos_embed"], abs=1e-5
        )
