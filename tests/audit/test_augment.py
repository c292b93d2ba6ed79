"""Training data from facts: its rows, and held-out questions."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.counting import lines_of

from inweights.audit import augment
from inweights.audit.questions import held_out
from inweights.audit.questions.kinds import of_one_each
from inweights.audit.strategies.inputs import StrategyInput
from inweights.cli.commands.augment import Added, Text
from inweights.errors import ConfigError
from inweights.worlds import Knowledge, Wording, read_knowledge
from inweights.worlds.knowledge.two_steps import spread_chains

PEOPLE = read_knowledge("@people")


def facts(tmp_path: Path, *rows: str) -> Knowledge:
    path = tmp_path / "facts.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return read_knowledge(path)


def test_statements_identities_and_questions() -> None:
    made = augment(PEOPLE, strategies=["identities"], wordings=1)
    told = made.train.filter(pl.col("role") == "fact")
    assert told["fact"].to_list() == list(range(90))
    assert told["line"].to_list() == list(range(2, 92))
    identity = made.train.filter(pl.col("role") == "identity")
    assert set(identity["text"]) >= {"Salzburg is Salzburg.", "Austria is Austria."}
    assert identity.height == 55
    asked = made.questions.filter(pl.col("role") == "composition")
    assert asked.height == 70
    for row in made.questions.iter_rows(named=True):
        assert row["answer"] in row["candidates"]
        assert len(set(row["candidates"])) == len(row["candidates"]) > 1


def test_facts_are_told_in_three_wordings_unless_asked() -> None:
    asked = augment(PEOPLE, strategies=["paraphrases"], wordings=2)
    assert asked.train.height == 2 * 90
    assert augment(PEOPLE, strategies=["paraphrases"]).train.height == 3 * 90


def test_what_is_left_out_is_the_same_on_the_command_line() -> None:
    """Except for single facts, which the command repeats and the function only on request."""
    options = inspect.signature(augment).parameters
    for group in (Added(), Text(), StrategyInput):
        given = {name: getattr(group, name) for name in options if hasattr(group, name)}
        assert given
        for name in set(given) - {"floor", "want", "wording"}:
            assert given[name] == options[name].default, name


@pytest.mark.parametrize(
    ("relation", "values", "one_each"),
    [
        ("hue", "red blue green", True),
        ("hue", "red blue", False),  # too few to decide
        ("hue", "red blue green green", False),
        ("mentor", "ann bob", True),
        ("mentor", "ann bob eve eve", False),  # half of them
        ("mentor", "ann bob dan eve eve", True),
        ("nickname", "red red", True),
    ],
)
def test_values_that_tell_one_subject_from_the_others(
    tmp_path, relation, values, one_each
) -> None:
    """A relation does if nearly all values are unique, or most for persons; names always do."""
    rows = [f"s{i},{relation},{value}" for i, value in enumerate(values.split())]
    assert of_one_each(facts(tmp_path, *rows), Wording()) == (
        {0} if one_each else set()
    )


def test_no_other_candidate_is_right(tmp_path: Path) -> None:
    """Ann has two homes, so one question has two right countries; Bob has one home."""
    rows = [
        "ann,home,rome",
        "ann,home,oslo",
        "bob,home,bonn",
        "rome,in,italy",
        "oslo,in,norway",
    ]
    asked = augment(
        facts(tmp_path, *rows, "bonn,in,germany", "bob,from,germany")
    ).questions
    made = asked.filter(pl.col("role") == "composition")
    told = {(r["subject"], r["answer"]): r for r in made.iter_rows(named=True)}
    # The bridge, at which a model may stop, is a candidate; of Ann's right answers, only
    # one is.
    (ann,) = made.filter(subject="ann").iter_rows(named=True)
    assert {*ann["accepted"], *ann["also_right"]} == {"italy", "norway"}
    bridge = {"italy": "rome", "norway": "oslo"}[ann["answer"]]
    assert ann["candidates"] == sorted(["germany", ann["answer"], bridge])
    assert told["bob", "germany"]["candidates"] == [
        "bonn",
        "germany",
        "italy",
        "norway",
    ]
    assert [r["stated"] for r in told.values()] == [False, True]  # by 'from'
    assert told["bob", "germany"]["facts"] == [2, 5]


def test_analogies(tmp_path: Path) -> None:
    """Bob and Cid eat nuts like Ann, who sings; Dora also eats them, but hums."""
    rows = ["ann,eats,nuts", "bob,eats,nuts", "cid,eats,nuts", "ann,does,singing"]
    rows += ["eve,eats,figs", "eve,does,humming", "fay,eats,figs", "guy,eats,figs"]
    asked = augment(facts(tmp_path, *rows, "guy,does,singing")).questions
    made = asked.filter(pl.col("role") == "analogy")
    told = {
        (r["subject"], r["answer"], r["bridge"]) for r in made.iter_rows(named=True)
    }
    # Those who eat figs do not agree.
    assert told == {
        ("bob", "singing", "ann"),
        ("cid", "singing", "ann"),
    }
    assert made["prompt"][0] == "The does of bob is"
    assert made["candidates"][0].to_list() == ["humming", "singing"]
    assert made["facts"][0].to_list() == [1, 0, 3]


def test_questions_with_one_candidate_are_left_out_and_counted(tmp_path: Path) -> None:
    made = augment(facts(tmp_path, "ann,home,rome", "rome,in,italy"))
    assert made.questions["candidates"].to_list() == [["italy", "rome"]]
    assert made.alone == 2  # both reversals


@pytest.mark.slow
def test_work_on_large_sets_grows_with_facts_not_with_chains(
    tmp_path: Path, monkeypatch
) -> None:
    """Twice the facts give over three times the chains, of which a hundred are evaluated."""
    monkeypatch.setattr(held_out, "QUESTIONS", 100)
    rng = np.random.default_rng(0)
    ends, relations = (
        rng.zipf(1.3, size=(4_000, 2)) % 20_000,
        rng.integers(0, 40, 4_000),
    )
    rows = [
        f"e{s},r{r},e{o}"
        for (s, o), r in zip(ends.tolist(), relations.tolist(), strict=True)
    ]
    half, whole = facts(tmp_path, *rows[:2_000]), facts(tmp_path, *rows)
    assert spread_chains(whole.triples, 1)[1] > 3 * spread_chains(half.triples, 1)[1]
    assert augment(whole).counts["question: composition"] == 100
    lines = [lines_of(partial(augment, data)) for data in (half, whole)]
    assert lines[1] < 2 * lines[0]


def test_questions_are_held_out() -> None:
    made = augment(PEOPLE, strategies=["reversals", "paraphrases"])
    trained = set(made.train["prompt"])
    assert not trained & set(made.questions["prompt"])
    assert "reversal" not in set(made.questions["role"])  # reversals are trained here
    assert (made.train["role"] == "reverse").sum() == 2 * 90


def test_control_has_no_identities_and_as_many_words() -> None:
    made = augment(PEOPLE, strategies=["identities"], wordings=2)
    assert set(made.control["role"]) == {"fact"}
    assert made.words["train"] - 3 <= made.words["control"] <= made.words["train"]
    assert set(made.control["text"]) <= set(made.train["text"])
    bare = augment(PEOPLE)
    assert bare.control["text"].to_list() == bare.train["text"].to_list()


def test_control_of_as_many_tokens() -> None:
    """If tokens are counted (here letters), the control has the same number of tokens."""

    def letters(texts: Sequence[str]) -> list[int]:
        return [len(text) for text in texts]

    made = augment(PEOPLE, strategies=["identities"], tokens=letters)
    shortest = min(letters(made.control["text"].to_list()))
    assert made.tokens["train"] == sum(letters(made.train["text"].to_list()))
    assert (
        made.tokens["train"] - shortest < made.tokens["control"] <= made.tokens["train"]
    )


def test_stated_identities_are_not_added_again(tmp_path: Path) -> None:
    rows = facts(tmp_path, "ann,home,rome", "rome,in,italy", "rome,is,rome")
    assert "identity" not in augment(rows, strategies=["identities"]).counts
    # A person who loves also himself is not an identity.
    rows = facts(tmp_path, "ann,loves,rome", "rome,in,italy", "rome,loves,rome")
    assert augment(rows, strategies=["identities"], wordings=1).counts["identity"] == 1


@pytest.mark.parametrize(
    ("most", "each"), [(3, [1, 1, 1]), (6, [2, 2, 2]), (9, [3, 3, 3])]
)
def test_every_fact_begins_a_chain_before_any_begins_another(
    tmp_path: Path, most: int, each: list[int]
) -> None:
    towns = [
        f"{who},home,{town}"
        for who, town in (("ann", "rome"), ("bob", "oslo"), ("cid", "bern"))
    ]
    rows = facts(
        tmp_path,
        *towns,
        *(f"{t},{r},{t}{r}" for t in ("rome", "oslo", "bern") for r in "xyz"),
    )
    inputs = StrategyInput(rows, Wording().over(rows), rows.stages, most=most)
    begun = [first for first, _ in inputs.chains(2)]
    assert [begun.count(fact) for fact in sorted(set(begun))] == each


def test_chains_have_neither_circles_nor_what_is_held_out(tmp_path: Path) -> None:
    rows = facts(
        tmp_path, "ann,likes,bob", "bob,likes,cid", "cid,likes,ann", "cid,home,rome"
    )
    inputs = StrategyInput(rows, Wording().over(rows), rows.stages)
    assert inputs.chains(2) == [(0, 1), (1, 2), (1, 3), (2, 0)]
    assert inputs.chains(3) == [(0, 1, 3)]
    assert inputs.chains(4) == []
    held = replace(inputs, hold_out=0.4, seed=1)
    assert len(held.held) == 1
    (bridge,) = held.held
    left = [chain for chain in inputs.chains(2) if rows.triples[chain[0], 2] != bridge]
    assert held.chains(2) == left


def test_chains_to_be_stated_first_are_unless_they_are_held_out(tmp_path: Path) -> None:
    rows = facts(
        tmp_path, "ann,likes,bob", "bob,likes,cid", "cid,likes,dan", "dan,likes,eve"
    )
    for chain in ((0, 1), (1, 2), (2, 3)):
        inputs = StrategyInput(
            rows, Wording().over(rows), rows.stages, most=1, first=[chain]
        )
        assert inputs.chains(2) == [chain]
        bridges = {inputs.facts.triples[chain[0], 2]}
        held = next(
            one
            for seed in range(99)
            if (one := replace(inputs, hold_out=0.4, seed=seed)).held == bridges
        )
        assert held.chains(2) != [chain]


def test_only_entities_with_two_facts_have_a_passage(tmp_path: Path) -> None:
    rows = facts(tmp_path, "ann,home,rome", "ann,likes,bob", "cid,home,oslo")
    made = augment(rows, strategies=["passages"], wordings=1)
    passages = made.train.filter(pl.col("role") == "passage")["text"].to_list()
    assert len(passages) == 1
    assert "oslo" not in passages[0]


def test_a_question_has_fifty_candidates_at_most(tmp_path: Path) -> None:
    towns = [(f"t{i}", f"l{i}") for i in range(60)]
    rows = [f"p{i},home,{town}" for i, (town, _) in enumerate(towns)]
    rows += [f"{town},country,{land}" for town, land in towns]
    asked = augment(facts(tmp_path, *rows)).questions.filter(role="composition")
    for answer, bridge, names in asked.select("answer", "bridge", "candidates").rows():
        assert len(names) == len(set(names)) == 50
        assert {answer, bridge} <= set(names)


def test_similarity_comes_first() -> None:
    made = augment(PEOPLE, strategies=["identities"], curriculum="sa")
    assert made.train["stage"].is_sorted()
    first = set(made.train.filter(pl.col("stage") == 0)["role"])
    assert first == {"fact", "identity"}
    late = made.train.filter(pl.col("stage") == 1)
    assert "Mozart" in " ".join(late["text"])  # nobody else was born in his place


def test_two_subjects_with_one_value_are_a_first_stage(tmp_path: Path) -> None:
    rows = facts(
        tmp_path, "ann,home,rome", "bob,home,rome", "cid,home,oslo", "rome,in,italy"
    )
    made = augment(rows, strategies=["identities"], curriculum="sa")
    told = made.train.filter(role="fact").unique("fact").sort("fact")
    assert told["stage"].to_list() == [0, 0, 1, 1]


def test_own_words(tmp_path: Path) -> None:
    path = tmp_path / "words.toml"
    path.write_text(
        '[statements]\nborn_in = ["{subject} was born in {object}."]\n'
        '[phrases]\nborn_in = "birthplace"\n'
    )
    made = augment(
        PEOPLE, wording=Wording.read(path), strategies=["paraphrases"], wordings=2
    )
    assert made.train["text"][:2].to_list() == [
        "Mozart was born in Salzburg.",
        "The birthplace of Mozart is Salzburg.",
    ]
    assert made.questions["prompt"][0] == "The country of the birthplace of Mozart is"
    assert made.plain == ("country", "currency")


@pytest.mark.parametrize(
    "template",
    ["{object} is where {subject} was born.", "{subject} was born.", "{object}"],
)
def test_templates_end_with_the_object(template: str) -> None:
    with pytest.raises(ConfigError, match="end with"):
        Wording(statements={"born_in": (template,)})


def test_options_that_cannot_be() -> None:
    with pytest.raises(ConfigError, match="joint, sa"):
        augment(PEOPLE, curriculum="as")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"from 1 to 6, .* got 7; define more"):
        augment(PEOPLE, wordings=7)


def test_other_names_are_used_in_paraphrases() -> None:
    words = Wording(aliases={"Mozart": ("Wolfgang Amadeus Mozart",)})
    made = augment(PEOPLE, wording=words, strategies=["paraphrases"], wordings=2)
    assert made.train["text"][:2].to_list() == [
        "Mozart was born in Salzburg.",
        "The birthplace of Wolfgang Amadeus Mozart is Salzburg.",
    ]
