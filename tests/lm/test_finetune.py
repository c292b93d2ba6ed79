"""Fine-tuning: the loss, the result, resuming after an interruption, and replay."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest
import torch
from msgspec import structs
from tests.lm.four_facts import FACTS, LONG, weights

from inweights.errors import ConfigError, RunError
from inweights.lm import Example, FineTune, encode, finetune, load_model
from inweights.lm.tuning.adapters import adapted, with_adapters
from inweights.lm.tuning.job import finetune_to
from inweights.lm.tuning.updates import objective
from inweights.lm.tuning.updates.objective import drift, remembered
from inweights.lm.tuning.writing import replayed

FULL = FineTune(method="full", rate=1e-2, epochs=3, batch_tokens=40)


def test_the_loss_is_the_mean_over_tokens_of_completions(lm) -> None:
    """The first update's loss equals a loss computed without batches or masks."""
    total, count = 0.0, 0
    for row in encode(lm, FACTS, end=True):
        with torch.no_grad():
            scores = lm.model(torch.tensor([row.ids])).logits[0].log_softmax(-1)
        learnt = range(row.start, len(row.ids))
        total -= sum(float(scores[t - 1, row.ids[t]]) for t in learnt)
        count += len(learnt)
    done = finetune(lm, FACTS, structs.replace(FULL, batch_tokens=10_000, epochs=1))
    assert done.losses["loss"][0] == pytest.approx(total / count, rel=1e-5)
    assert done.tokens == sum(len(row.ids) for row in encode(lm, FACTS, end=True))


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("method", ["full", "lora"])
def test_facts_are_learnt(lm, method) -> None:
    # Adapters do not change the embedding, which must already distinguish letters.
    finetune(
        lm, [Example("", "Oslo is in Norway, Lima in Peru, Mozart in Salzburg.")], LONG
    )
    before = weights(lm)
    done = finetune(lm, FACTS, structs.replace(LONG, method=method))
    assert done.losses["loss"].tail(3).max() < 0.3 * done.losses["loss"][0]
    assert not torch.equal(before, weights(lm))
    # Adapters are merged, so the modules are the original ones.
    assert not any("lora" in name for name, _ in lm.model.named_modules())
    assert all(p.requires_grad for p in lm.model.parameters())


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    ("method", "stop", "more"),
    [
        ("full", 2, {}),
        ("lora", 5, {"layout": "packed"}),
        ("full", 5, {"replay": 0.2, "until": 0.01}),
    ],
    ids=str,
)
def test_resumed_is_uninterrupted_bit_for_bit(method, stop, more, tmp_path) -> None:
    facts = [replace(fact, stage=i // 2) for i, fact in enumerate(FACTS)]
    config = structs.replace(FULL, method=method, batch_tokens=18, **more)
    one, other = load_model("@tiny"), load_model("@tiny")
    whole = finetune(one, facts, config, seed=3)

    def halt(done: int, total: int, what: str) -> None:
        if done > stop:
            raise KeyboardInterrupt

    keep = {"checkpoint": tmp_path / "state", "every_steps": 1, "seed": 3}
    with pytest.raises(KeyboardInterrupt):
        finetune(other, facts, config, progress=halt, **keep)
    assert (tmp_path / "state").exists()
    again = load_model("@tiny")
    with pytest.raises(RunError, match="another run"):
        finetune(load_model("@tiny"), facts, structs.replace(config, rate=1e-3), **keep)
    rest = finetune(again, facts, config, **keep)
    assert torch.equal(weights(one), weights(again))
    assert whole.losses.equals(rest.losses)
    assert not (tmp_path / "state").exists()


def test_stages_come_in_order(lm) -> None:
    facts = [replace(fact, stage=1 - i % 2) for i, fact in enumerate(FACTS)]
    done = finetune(lm, facts, FULL)
    assert done.losses["stage"].is_sorted()
    assert done.losses["stage"].unique().to_list() == [0, 1]


def test_the_seed_decides_and_nothing_global_moves() -> None:
    before = torch.random.get_rng_state()
    runs = []
    for seed in (0, 0, 1):
        lm = load_model("@tiny")
        finetune(lm, FACTS, structs.replace(FULL, method="lora"), seed=seed)
        runs.append(weights(lm))
    assert torch.equal(runs[0], runs[1])
    assert not torch.equal(runs[0], runs[2])
    assert torch.equal(before, torch.random.get_rng_state())


def test_bf16_is_near_fp32() -> None:
    losses = []
    for precision in ("fp32", "bf16"):
        done = finetune(
            load_model("@tiny"), FACTS, structs.replace(FULL, precision=precision)
        )
        losses.append(done.losses["loss"][0])
    assert losses[0] == pytest.approx(losses[1], rel=0.01)
    assert losses[0] != losses[1]


def test_bad_settings_are_refused() -> None:
    with pytest.raises(ConfigError, match="rate must be above 0"):
        FineTune(rate=0.0)
    with pytest.raises(
        ConfigError, match="epochs must be above 0 and at most 1e9, got 10000"
    ):
        FineTune(epochs=10**320)
    with pytest.raises(ConfigError, match="warmup"):
        FineTune(warmup=1.0)


def test_a_loss_that_is_no_number_stops(lm, tmp_path) -> None:
    with torch.no_grad():
        next(lm.model.parameters()).fill_(float("nan"))
    with pytest.raises(RunError, match="lower the learning rate"):
        finetune(lm, FACTS, FULL)


def test_preparation_and_updates_are_told_apart(tmp_path) -> None:
    """Thus the remaining time is estimated from updates alone."""
    told: list[tuple[int, int, str]] = []
    done = finetune_to(
        tmp_path / "out",
        "@tiny",
        FACTS,
        structs.replace(FULL, replay=1.0),
        progress=lambda *report: told.append(report),
    )
    writing = [what for *_, what in told if not what.startswith("stage")]
    assert set(writing) == {"generating text"}
    shares = [done / total for done, total, _ in told[: len(writing)]]
    assert shares[0] == 0, (
        "where one block is all, its end alone would be no line of a log"
    )
    assert shares.count(0) == shares.count(1) == 2, "texts and answers"
    updates = told[len(writing) :]
    assert [part for part, *_ in updates] == list(range(1, done.losses.height + 1))
    assert {(total, what[:7]) for _, total, what in updates} == {
        (len(updates), "stage 0")
    }


def test_what_a_model_writes_itself_is_replayed(lm) -> None:
    facts = [Example("Rome is in", " Italy.", stage) for stage in (2, 3)] * 20
    config = FineTune(replay=0.5, epochs=2)
    more = replayed(lm, facts, config, 5)
    assert more == replayed(load_model("@tiny"), facts, config, 5)
    assert {e.prompt for e in more} == {""}
    assert all(e.old for e in more)
    stages = [{e.completion for e in more if e.stage == stage} for stage in (2, 3)]
    assert not stages[0] & stages[1]  # each process has its own texts
    once = 20 * len("Rome is in Italy.")
    for texts in stages:
        # For both epochs.
        assert 0.5 * once < sum(len(lm.tokens(text)) for text in texts) <= once
    assert replayed(lm, facts, FineTune(), 5) == []
    with pytest.raises(ConfigError, match="replay must be from 0 to 4"):
        FineTune(replay=-1.0)
    with pytest.raises(ConfigError, match="'until' must be a fraction"):
        FineTune(until=1.5)


def test_drift_is_the_divergence_from_what_was_said_before(lm, monkeypatch) -> None:
    texts = [
        Example("", "The weather is fine.", old=True),
        Example("", "Ice.", old=True),
    ]
    rows = remembered(lm, encode(lm, texts, end=True))
    monkeypatch.setattr(objective, "_LIKELY", 257)  # all tokens of the vocabulary
    full = remembered(lm, encode(lm, texts, end=True))
    finetune(lm, FACTS, FULL)
    found, whole = (
        float(drift(lm, lm.model, part, torch.device("cpu"))[0].detach())
        for part in (rows, full)
    )
    exact = 0.0
    for row in rows:
        ids, both = torch.tensor([row.ids]), (load_model("@tiny").model, lm.model)
        with torch.no_grad():
            before, now = (model(ids).logits[0].log_softmax(-1) for model in both)
        exact += float((before.exp() * (before - now)).sum(1)[row.start - 1 : -1].sum())
    assert whole == pytest.approx(exact, rel=1e-3)
    assert 0 < found < exact  # unlikely tokens are grouped into one
    same = load_model("@tiny")
    assert float(drift(same, same.model, rows, torch.device("cpu"))[0].detach()) < 1e-4


def test_texts_to_keep_hold_a_model_where_it_was() -> None:
    """They are part of every update, and the reported loss is that of the facts."""
    drifts = []
    for replay in (0.0, 1.0):
        lm = load_model("@tiny")
        rows = remembered(
            lm, encode(lm, [Example("", "The weather is fine.", old=True)])
        )
        done = finetune(lm, FACTS, structs.replace(FULL, replay=replay, epochs=6))
        assert done.losses["loss"][0] == pytest.approx(5.55, abs=0.1)  # log 257
        drifts.append(float(drift(lm, lm.model, rows, torch.device("cpu"))[0].detach()))
    assert drifts[1] < 0.7 * drifts[0]


def test_a_stage_ends_when_its_facts_are_known(lm) -> None:
    facts = [replace(fact, stage=i // 2) for i, fact in enumerate(FACTS)]
    done = finetune(lm, facts, structs.replace(LONG, until=1.0))
    lengths = done.losses.group_by("stage", maintain_order=True).len()["len"].to_list()
    assert max(lengths) < LONG.epochs
    last = done.losses.group_by("stage", maintain_order=True).last()
    assert last["known"].to_list() == last["new"].to_list() == [2, 2]


@pytest.mark.parametrize("variant", ["rslora", "dora"])
def test_variants_of_adapters_are_peft_s_own_and_are_merged(lm, variant) -> None:
    before = weights(lm)
    done = finetune(
        lm, FACTS, structs.replace(LONG, method="lora", epochs=3, variant=variant)
    )
    assert done.losses["loss"][-1] < done.losses["loss"][0]
    assert not torch.equal(before, weights(lm))
    assert not any("lora" in name for name, _ in lm.model.named_modules())


def test_texts_to_keep_are_read_apart_and_are_no_padding(lm) -> None:
    long = Example("", "Oslo is in Norway, Lima in Peru, Mozart in Salzburg.", old=True)
    done = finetune(
        lm, [FACTS[0], long], structs.replace(FULL, epochs=1, batch_tokens=10_000)
    )
    assert done.padding == 0


def test_adapters_require_peft(tmp_path, monkeypatch) -> None:
    model = load_model("@tiny").model
    monkeypatch.setitem(sys.modules, "peft", None)
    with (
        pytest.raises(ConfigError, match="pip install peft; or use method 'full'"),
        adapted(model, FineTune(), 0),
    ):
        pass
    # Stored epochs may be evaluated on another machine.
    with (
        pytest.raises(ConfigError, match="pip install peft"),
        with_adapters(model, tmp_path),
    ):
        pass
    # The advice in the message is also valid for the default layout.
    packed = structs.replace(FULL, epochs=1, layout="packed")
    assert finetune(load_model("@tiny"), [FACTS[0]], packed).losses.height == 1
