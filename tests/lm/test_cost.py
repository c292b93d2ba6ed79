"""The cost of training is estimated before writing, and limits are enforced."""

from __future__ import annotations

import re
from typing import Any

import pytest

from inweights import lm as lm_package
from inweights.cli import main
from inweights.lm import (
    Cost,
    Example,
    FineTune,
    cost_of,
    encode,
    finetune,
    least_seconds,
    load_model,
    read_examples,
)

pytestmark = pytest.mark.slow

FACTS = "Ann,born_in,Rome\nRome,country,Italy\nBob,born_in,Oslo\nOslo,country,Norway\n"


def test_updates_and_tokens_are_those_of_the_training(lm) -> None:
    rows = [
        Example(f"{a}{b} is in", f" {c}.")
        for a in "abcd"
        for b in "efgh"
        for c in ("x", "yes")
    ]
    config = FineTune(method="full", epochs=5, batch_tokens=60)
    few, more = (cost_of(load_model("@tiny"), rows, config, steps=n) for n in (3, 40))
    assert (few.rows, few.epochs) == (32, 5)
    done = finetune(load_model("@tiny"), rows, config)
    assert few.updates == more.updates == done.losses.height
    assert 0 < few.padding == more.padding == pytest.approx(done.padding)
    assert few.each == few.seconds / few.tokens
    fewer = cost_of(load_model("@tiny"), rows[:7], config, each=few.each)
    done = finetune(load_model("@tiny"), rows[:7], config)
    assert (fewer.rows, fewer.updates) == (7, done.losses.height)
    assert fewer.tokens * config.epochs == done.tokens
    assert fewer.padding == pytest.approx(done.padding)
    assert fewer.each == pytest.approx(few.each)


def test_augment_prints_the_cost_and_stays_below_a_limit(tmp_path, capsys) -> None:
    facts = tmp_path / "facts.csv"
    facts.write_text(FACTS)
    words = ["augment", str(facts), "--model", "@tiny", "--strategy", "derive"]
    assert main([*words, "--out", str(tmp_path / "all")]) == 0
    assert "20 updates" in " ".join(capsys.readouterr().out.split())
    assert main([*words, "--out", str(tmp_path / "few"), "--for", "3000tokens"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "as long as --for 3000tokens allows" in out
    config = FineTune(method="full", epochs=12, batch_tokens=128)
    done = finetune(load_model("@tiny"), read_examples(tmp_path / "few"), config)
    assert 2500 < done.tokens <= 3000
    rows, tokens, _, updates = (
        int(cell.replace(",", ""))
        for cell in re.findall(r"on this machine (\S+) (\S+) (\S+) (\S+)", out)[0]
    )
    assert (12 * tokens, updates) == (done.tokens, done.losses.height)
    assert rows == len(read_examples(tmp_path / "few"))
    assert (
        main(["augment", str(facts), "--out", str(tmp_path / "no"), "--for", "1min"])
        == 2
    )
    assert "requires --model" in capsys.readouterr().err


def test_a_limit_below_the_facts_is_refused_with_what_they_take(
    tmp_path, capsys
) -> None:
    words = ["augment", "@people", "--out", str(tmp_path / "x"), "--model", "@tiny"]
    assert main([*words, "--for", "5tokens"]) == 2
    told = re.search(r"the facts alone require (\d+) tokens", capsys.readouterr().err)
    assert told
    assert main([*words, "--for", f"{int(told[1]) - 1}tokens"]) == 2
    assert main([*words, "--for", f"{told[1]}tokens"]) == 0
    assert len(read_examples(tmp_path / "x")) == 90


def test_a_limit_in_minutes_is_that_of_all_epochs(
    tmp_path, capsys, monkeypatch
) -> None:
    seconds = 0.01  # for each token of one pass, over all epochs

    def measured(*given: Any, each: float = 0.0) -> Cost:
        return cost_of(*given, each=each or seconds)

    monkeypatch.setattr(lm_package, "cost_of", measured)
    words = [
        "augment",
        "@people",
        "--model",
        "@tiny",
        "--strategy",
        "derive",
        "--for",
        "1min",
    ]
    assert main([*words, "--out", str(tmp_path / "x")]) == 0
    examples = read_examples(tmp_path / "x")
    tokens = sum(
        len(row.ids) for row in encode(load_model("@tiny"), examples, end=True)
    )
    assert 5900 < tokens <= 6000
    assert f"{tokens:,}" in capsys.readouterr().out
    seconds = 0.1
    assert main([*words, "--out", str(tmp_path / "y")]) == 2
    assert re.search(
        r"--for 1min is too small: .* require [2-9] min", capsys.readouterr().err
    )
    assert not (tmp_path / "y").exists()


def test_a_limit_that_is_far_too_short_is_refused_before_updates_are_measured(
    tmp_path, capsys, monkeypatch
) -> None:
    def measured(*_: Any, **__: Any) -> Cost:
        raise AssertionError("no update is measured")

    monkeypatch.setattr(lm_package, "cost_of", measured)
    monkeypatch.setattr(lm_package, "least_seconds", lambda *_: 3600.0)
    words = ["augment", "@people", "--model", "@tiny", "--out", str(tmp_path / "x")]
    assert main([*words, "--for", "6min"]) == 2
    assert "the facts alone require at least 60 min" in capsys.readouterr().err


def test_the_least_time_leaves_the_model_as_it_is() -> None:
    model = load_model("@tiny")
    before = {name: weight.clone() for name, weight in model.model.named_parameters()}
    assert (
        least_seconds(model, [Example("Rome is in", " Italy.")] * 9, FineTune(epochs=2))
        > 0
    )
    for name, weight in model.model.named_parameters():
        assert weight.requires_grad
        assert weight.grad is None
        assert weight.equal(before[name])


@pytest.mark.parametrize(
    "limit",
    [
        "1h",
        "tokens",
        "-3min",
        "0min",
        "00tokens",
        "1e9tokens",
        "10 parsecs",
        "9" * 400 + "min",
    ],
)
def test_a_limit_is_of_minutes_or_tokens(limit, tmp_path, capsys) -> None:
    words = ["augment", "@people", "--out", str(tmp_path / "x"), "--model", "@tiny"]
    assert main([*words, f"--for={limit}"]) == 2
    assert "20min or 200000tokens" in capsys.readouterr().err
