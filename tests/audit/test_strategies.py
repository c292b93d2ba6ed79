"""Texts of strategies: what they state, never state, and that nothing else is added."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.house.strategies import (
    STORED,
    accuracy_rows,
    gain,
    gains_rows,
    measured,
    short,
)

from inweights.audit import Augmented, augment, failing_chains, write_augmented
from inweights.audit.strategies import STRATEGIES, strategies_of
from inweights.audit.strategies.measured import ASKED, MEASURED
from inweights.errors import ConfigError, DataError
from inweights.theory import predict
from inweights.worlds import Knowledge, Triples, Wording, read_knowledge

PEOPLE = read_knowledge("@people")
#: Names that no template contains, and none of which contains another.
NAMES = tuple(f"Zq{a}{b}x" for a in "bdfgk" for b in "aeiou")
RELATIONS = ("country", "reports_to", "born_in", "hue", "manages", "part_of")


def knowledge(rows: Sequence[tuple[int, int, int]]) -> Knowledge:
    found = np.array(list(dict.fromkeys(rows)))
    return Knowledge(
        entities=NAMES,
        relations=RELATIONS,
        triples=found,
        lines=np.arange(len(found)) + 2,
        stages=np.zeros(len(found), dtype=np.int64),
    )


def sentences(row: dict[str, object]) -> list[str]:
    """Return the sentences of a text with several facts; any other text is one sentence."""
    text = str(row["text"])
    return (
        re.split(r"(?<=[.])\s", text)
        if row["role"] in ("passage", "entity")
        else [text]
    )


@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 24), st.integers(0, 5), st.integers(0, 24)),
        min_size=1,
        max_size=40,
    ),
    names=st.lists(st.sampled_from(list(STRATEGIES)), unique=True),
    replayed=st.lists(
        st.lists(st.sampled_from(NAMES), max_size=4), min_size=1, max_size=6
    ),
    hops=st.integers(2, 4),
    hold_out=st.sampled_from((0.0, 0.5, 1.0)),
    seed=st.integers(0, 3),
)
def test_what_is_asked_is_told_only_where_it_says_so(
    rows, names, replayed, hops, hold_out, seed
) -> None:
    """Checked on the texts alone: a sentence with the question's names followed by the answer."""
    text = [f"Once {' saw '.join(met)} all was well" for met in replayed]
    made = augment(
        knowledge(rows),
        strategies=names,
        hops=hops,
        hold_out=hold_out,
        seed=seed,
        most=30,
        replay=text if "replay" in names else None,
    )
    told: dict[tuple[str, str], set[str]] = {}
    for row in made.train.iter_rows(named=True):
        for sentence in sentences(row):
            met = re.findall("Zq..x", sentence)
            for i, a in enumerate(met):
                for b in met[i + 1 :]:
                    told.setdefault((a, b), set()).add(row["role"])
    prompts = set(made.train["prompt"])
    for q in made.questions.iter_rows(named=True):
        assert q["prompt"] not in prompts
        start = re.findall("Zq..x", q["prompt"])[0]
        assert told.get((start, q["answer"]), set()) == set(q["told"]), q
        assert q["itself"] == (start == q["answer"])


def test_chains_through_held_out_bridges_are_told_by_nothing() -> None:
    made = augment(
        PEOPLE, strategies=["derive", "steps", "passages", "qa"], hold_out=0.3
    )
    asked = made.questions.filter(pl.col("role") == "composition")
    kept = asked.filter(pl.col("told").list.len() == 0)
    assert 0 < kept.height < asked.height
    assert not set(kept["bridge"]) & set(
        asked.filter(pl.col("told").list.len() > 0)["bridge"]
    )
    assert made.counts["question: composition, told"] == asked.height - kept.height
    none = augment(PEOPLE, strategies=["derive", "steps"], hold_out=1.0)
    assert set(none.train["role"]) == {"fact"}


def test_chains_are_spread_where_there_are_too_many() -> None:
    """Every fact begins one chain before any begins a second one."""
    hub = [(i, 0, 20) for i in range(10)] + [(20, 3, 10 + i) for i in range(10)]
    made = augment(knowledge(hub), strategies=["derive"], wordings=1, most=10)
    derived = made.train.filter(pl.col("role") == "derived")
    assert derived.height == 10
    assert len({re.findall("Zq..x", text)[0] for text in derived["text"]}) == 10


def test_chains_that_fail_are_told_first() -> None:
    """Chains are ordered by margin, then all others; held-out chains are never stated."""
    failing = failing_chains(PEOPLE)
    forecast = predict(Triples().world(PEOPLE), advise=False).queries
    margins = dict(forecast.select("prompt", "margin").iter_rows())

    def margin(i: int, j: int) -> float:
        return margins[f"{' '.join(PEOPLE.names(i)[:2])} {PEOPLE.names(j)[1]}"]

    found = [margin(*pair) for pair in failing]
    assert found == pytest.approx(sorted(found), abs=2e-3)
    assert len(failing) == forecast.filter(pl.col("verdict") != "follows").height
    for hold_out in (0.0, 0.5):
        options: Any = {"strategies": ["derive"], "wordings": 1, "hold_out": hold_out}
        all_of_them = set(derived(augment(PEOPLE, **options)))
        wanted = [end for end in map(ends_of, failing) if end in all_of_them]
        told = derived(augment(PEOPLE, most=3, first=failing, **options))
        assert sorted(told) == sorted(wanted[:3])
        assert set(derived(augment(PEOPLE, first=failing, **options))) == all_of_them


def ends_of(pair: tuple[int, int]) -> tuple[str, str]:
    return PEOPLE.names(pair[0])[0], PEOPLE.names(pair[1])[2]


def derived(made: Augmented) -> list[tuple[str, str]]:
    """Return the first subject and the answer of every stated chain."""
    rows = made.train.filter(role="derived").select("prompt", "completion").iter_rows()
    return [(prompt.split(" has ")[0], said.strip(" .")) for prompt, said in rows]


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Mozart came from his birthplace Salzburg.", True),
        ("Born was Mozart, as all know, in Salzburg", True),
        ("Mozart was born in Salzburg", False),  # the same words
        ("Mozart was not born in Salzburg.", False),
        ("Mozart was born in Vienna.", False),
        ("Mozart, unlike Schubert, was born in Salzburg.", False),
        ("Salzburg is the birthplace of Mozart.", False),  # would state the reversal
        ("Mozart died in Salzburg.", False),
        ("Was Mozart born in Salzburg?", False),
        ("Mozart was born in Salzburg, a town.", False),
        ("", False),
    ],
)
def test_a_model_says_facts_again(said: str, kept: bool) -> None:
    """A model's text is used only if it still contains the fact."""

    def rewrite(texts: Sequence[str]) -> list[str]:
        assert texts[0] == "Mozart was born in Salzburg."
        return [said] + [""] * (len(texts) - 1)

    made = augment(PEOPLE, strategies=["paraphrases"], rewrite=rewrite)
    told = made.train.filter(role="rewritten")
    assert told.height == kept
    assert made.rewritten == (kept, len(PEOPLE))
    if kept:
        assert told["completion"].to_list() == [" Salzburg."]
        assert told["text"][0].removesuffix(".") == said.removesuffix(".")
    with pytest.raises(ConfigError, match="'paraphrases'"):
        augment(PEOPLE, strategies=["derive"], rewrite=rewrite)


@pytest.mark.parametrize("returned", [0, len(PEOPLE) - 1, len(PEOPLE) + 1])
def test_texts_that_are_fewer_or_more_than_the_facts_are_refused(returned: int) -> None:
    with pytest.raises(DataError, match=f"returned {returned} texts for {len(PEOPLE)}"):
        augment(PEOPLE, strategies=["paraphrases"], rewrite=lambda _: [""] * returned)


def test_budget_counts_and_control() -> None:
    def letters(texts: Sequence[str]) -> list[int]:
        return [len(text) for text in texts]

    made = augment(PEOPLE, strategies=["derive", "qa"], budget=20_000, tokens=letters)
    short = {
        name: min(letters(getattr(made, name)["text"].to_list()))
        for name in made.tokens
    }
    assert 20_000 - short["train"] < made.tokens["train"] <= 20_000
    assert (
        made.tokens["train"] - short["control"]
        < made.tokens["control"]
        <= made.tokens["train"]
    )
    assert set(made.control["role"]) == {"fact"}
    assert set(made.train["role"]) == {"fact", "qa", "derived"}
    little = augment(PEOPLE, strategies=["derive"], budget=600)
    # Facts are never left out.
    assert little.train.filter(pl.col("role") == "fact").height == 90
    assert 0 < little.train.filter(pl.col("role") == "derived").height < 210
    with pytest.raises(ConfigError, match="'budget' must be at least"):
        augment(PEOPLE, budget=20)


def test_replayed_text(tmp_path: Path) -> None:
    """Replayed text is at most a quarter of the rest; lines that reveal an answer are marked."""
    file = tmp_path / "text.txt"
    file.write_text(
        "Water is wet.\n\nMozart, some say, was from Austria.\n" + "So it goes.\n" * 500
    )
    made = augment(PEOPLE, strategies=["replay"], replay=file)
    facts, old = (
        made.train.filter(pl.col("role") == role) for role in ("fact", "replay")
    )
    words = [
        int(table["text"].str.split(" ").list.len().sum()) for table in (facts, old)
    ]
    assert 0.2 * words[0] < words[1] <= 0.25 * words[0]
    file.write_text("Water is wet.\n\nMozart, some say, was from Austria.\n")
    made = augment(PEOPLE, strategies=["replay"], replay=str(file))
    asked = made.questions.filter(pl.col("told").list.contains("replay"))
    assert asked["prompt"].to_list() == ["The country of the birthplace of Mozart is"]
    folder = write_augmented(made, tmp_path / "data")
    # No question has this answer.
    assert pl.read_parquet(folder / "train_chat.parquet").height == 90
    assert {p.stem for p in (folder / "lm_eval").glob("*.yaml")} == {
        "composition",
        "composition_told",
        "reversal",
    }
    for text, match in (("", "contains no text"), (None, "text.txt")):
        if text is None:
            file.unlink()
        else:
            file.write_text(text)
        with pytest.raises(DataError, match=match):
            augment(PEOPLE, strategies=["replay"], replay=file)
    with pytest.raises(ConfigError, match="requires a text file"):
        augment(PEOPLE, strategies=["replay"])
    with pytest.raises(ConfigError, match="without the strategy 'replay'"):
        augment(PEOPLE, replay=file)


def test_a_strategy_that_does_not_mark_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    derive = STRATEGIES["derive"]
    silent = lambda t: (row._replace(says=()) for row in derive(t))  # noqa: E731
    monkeypatch.setitem(STRATEGIES, "derive", silent)
    with pytest.raises(DataError, match=r"contains the answer .* not marked"):
        augment(PEOPLE, strategies=["derive"])


def test_questions_in_the_very_words_of_a_fact_are_left_out() -> None:
    words = Wording(phrases={"hue": "country of the birthplace"})
    rows = [(0, 2, 1), (1, 0, 2), (0, 3, 2), (3, 2, 4), (4, 0, 5)]
    made = augment(knowledge(rows), wording=words, strategies=["paraphrases"])
    assert made.dropped == 1
    asked = made.questions.filter(pl.col("role") == "composition")["subject"].to_list()
    assert asked == [NAMES[3]]


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"strategies": ["derrive"]}, "did you mean 'derive'"),
        ({"hops": 1}, "hops must be from 2 to 6"),
        ({"hold_out": 1.5}, "from 0 to 1, got 1.5"),
        ({"most": 0}, "'most' must be at least 1"),
        ({"wordings": 0}, "from 1 to 6"),
    ],
)
def test_options_that_cannot_be(options, match: str) -> None:
    with pytest.raises(ConfigError, match=match):
        augment(PEOPLE, **options)


def test_what_is_said_of_strategies_is_what_is_stored() -> None:
    """Medians and intervals follow from the seeds' numbers, and the page has the same ones."""
    stored = json.loads(STORED.read_text())
    assert {(row.strategy, row.asked) for row in MEASURED} == {
        (name, asked) for name in measured(stored) for asked in ASKED
    }
    for row in MEASURED:
        found = gain(stored, row.strategy, row.asked)
        assert (row.gain, row.low, row.high) == pytest.approx(found, abs=1e-3)
        assert row.seeds == len(stored["seeds"])
    middle, low, high = (short(x) for x in gain(stored, "derive", "composition, held"))
    (derived,) = (
        r for r in MEASURED if (r.strategy, r.asked) == ("derive", "composition")
    )
    assert f"{middle} ({low} to {high})" in derived.source
    page = (STORED.parents[1] / "docs" / "own-facts-measured.md").read_text()
    for name, cells in zip(measured(stored), gains_rows(stored), strict=True):
        assert re.search(rf"\| `{name}` \| [^|]+ {re.escape(cells)}", page)
    assert all(cells in page for cells in accuracy_rows(stored))


def test_auto_takes_what_the_measurements_speak_for() -> None:
    known = knowledge([(0, 2, 1), (1, 0, 2), (3, 2, 4), (4, 0, 5)])
    made = augment(
        known, strategies=["auto"], want=["composition", "reverse", "recall"]
    )
    assert made.strategies == ("derive", "paraphrases")
    assert [choice.strategy for choice in made.choices] == ["derive", "", "paraphrases"]
    assert made.choices[1].why.startswith("no strategy is known to help")
    for choice in (made.choices[0], made.choices[2]):
        rows = [row for row in MEASURED if row.asked == choice.asked]
        (best,) = (row for row in rows if row.strategy == choice.strategy)
        assert all(best.gain >= row.gain for row in rows)
        assert best.source in choice.why
    # A strategy for one kind of question may harm another kind.
    cost = "but derive, selected for others, -.17"
    assert [cost in choice.why for choice in made.choices] == [False, False, True]
    with pytest.raises(ConfigError, match="unknown kind of question 'step'"):
        augment(known, strategies=["auto"], want=["step"])


def test_a_floor_states_each_fact_as_often_as_it_takes() -> None:
    """At least a given share of the text is single facts, each equally often."""
    sparse = augment(PEOPLE, strategies=["derive"], hold_out=0.2)
    more = augment(PEOPLE, strategies=["derive"], hold_out=0.2, floor=0.6)
    assert sparse.often == (1, 1)
    assert augment(PEOPLE, strategies=["derive"], hold_out=0.2, floor=0.1).train.equals(
        sparse.train
    )
    least, most = more.often
    assert least == most > 1
    words = {
        single: sum(len(text.split(" ")) for text in rows["text"])
        for (single,), rows in more.train.group_by(pl.col("fact") >= 0)
    }
    share = words[True] / (words[True] + words[False])
    once = words[True] * (least - 1) / least
    assert once / (once + words[False]) < 0.6 <= share
    with pytest.raises(ConfigError, match=r"'floor' must be at least 0 and below 0\.9"):
        augment(PEOPLE, floor=0.9)


def test_entities_are_described_and_related_but_for_held_out_bridges() -> None:
    rows = [(0, 2, 1), (2, 2, 1), (1, 0, 3), (4, 2, 5), (5, 0, 3)]
    one, other, town, lone, place, land = (NAMES[i] for i in (0, 2, 1, 4, 5, 3))
    texts = augment(knowledge(rows), strategies=["entities"]).train.filter(
        role="entity"
    )["text"]
    prompts = {text.partition(":")[0] for text in texts}
    assert {f"About {name}" for name in (one, other, town, lone, place, land)} < prompts
    assert f"How {one} and {land} are related" in prompts
    assert f"How {one} and {other} are related" in prompts
    none = augment(knowledge(rows), strategies=["entities"], hold_out=1.0).train
    related = none.filter(pl.col("text").str.starts_with("How"))["text"].to_list()
    assert [text.partition(":")[0] for text in related] == [
        f"How {town} and {place} are related"
    ]


def test_auto_is_no_strategy_of_its_own() -> None:
    with pytest.raises(ConfigError, match=r"unknown strategy 'auto'\. Known: derive"):
        strategies_of(["auto"])
