"""The audit of a user's facts: numbers computed by hand, and fast on large sets."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import FrozenInstanceError
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from inweights.audit import audit, outlook
from inweights.theory.prediction.parts_in_time import facts_within
from inweights.worlds import Knowledge, read_knowledge


def facts(tmp_path: Path, *rows: str, header: str = "") -> Knowledge:
    path = tmp_path / "facts.csv"
    path.write_text(
        "\n".join([*([header] if header else []), *rows]) + "\n", encoding="utf-8"
    )
    return read_knowledge(path)


def test_an_audit_says_how_long_it_took(tmp_path: Path) -> None:
    began = time.perf_counter()
    made = audit(facts(tmp_path, "ann,home,rome"), forecast=False)
    assert 0 <= made.seconds <= time.perf_counter() - began


def test_compositions_are_counted(tmp_path: Path) -> None:
    """Ann's two homes lead to two countries, so the complexity is 2."""
    made = audit(
        facts(
            tmp_path,
            "ann,home,rome",
            "ann,work,oslo",
            "bob,home,rome",
            "rome,in,italy",
            "oslo,in,norway",
            "ann,from,italy",
        ),
        forecast=False,
    )
    rows = {
        (r["first"], r["second"]): r for r in made.compositions.iter_rows(named=True)
    }
    assert set(rows) == {("home", "in"), ("work", "in")}
    home = rows["home", "in"]
    assert (home["chains"], home["subjects"], home["bridges"], home["complexity"]) == (
        2,
        2,
        1,
        2,
    )
    assert home["expected"] == pytest.approx((1 / 2 + 1) / 2)
    assert home["stated"] == 1  # ann is from italy, as line 6 states
    assert home["share"] == 1.0
    assert made.leaks.select("subject", "answer", "stated_as", "line").rows() == [
        ("ann", "italy", "from", 6)
    ]
    assert made.listed == 1.0
    assert made.entity_positions == {
        "subject only": 2,
        "object only": 2,
        "both": 2,
        "literal": 0,
    }


def test_identities_are_noticed(tmp_path: Path) -> None:
    made = audit(
        facts(
            tmp_path,
            "ann,home,rome",
            "rome,in,italy",
            "rome,is,rome",
            "bob,home,oslo",
            "oslo,in,norway",
        ),
    )
    told = dict(made.bridges.select("entity", "identity").rows())
    assert told == {"rome": True, "oslo": False}
    assert made.compositions["chains"].to_list() == [2]  # not through the self-loop
    assert made.forecast is not None
    verdicts = dict(made.forecast.queries.select("prompt", "verdict").rows())
    assert verdicts["ann home in"] == "follows"
    assert verdicts["bob home in"] == "fails"
    assert made.forecast.advice is not None
    assert made.forecast.advice.identities == ("oslo",)


def test_transfers_and_their_order(tmp_path: Path) -> None:
    made = audit(
        facts(
            tmp_path,
            "ann,eats,nuts,2",
            "bob,eats,nuts,2",
            "cid,eats,nuts,1",
            "ann,sings,songs,1",
            header="subject,relation,object,stage",
        ),
        forecast=False,
    )
    row = made.transfers.row(0, named=True)
    assert (row["shared"], row["attribute"], row["pairs"]) == ("eats", "sings", 2)
    assert row["late"] == 2  # the stage of "ann eats nuts" is after that of "ann sings"
    assert made.transfers.height == 1


def test_shortcuts(tmp_path: Path) -> None:
    made = audit(
        facts(
            tmp_path,
            "a,in,asia",
            "b,in,asia",
            "c,in,africa",
            "new york,state,york",
            "k,symbol,potassium",
            "zn,sign,zinn",
            "ann,short for,annette",
            "oslo city,called,slo",
        ),
        forecast=False,
    )
    rows = {r["relation"]: r for r in made.relations.iter_rows(named=True)}
    assert (rows["in"]["most_common"], rows["in"]["share"]) == (
        "asia",
        pytest.approx(2 / 3),
    )
    named = dict(made.name_overlap.rows())
    assert named["state"] == 1.0
    # Many names contain one or two letters.
    assert named["symbol"] == named["sign"] == 0.0
    assert named["short for"] == named["called"] == 1.0


def test_what_was_found_stays(tmp_path: Path) -> None:
    made = audit(facts(tmp_path, "ann,in,asia"), forecast=False)
    with pytest.raises(FrozenInstanceError):
        made.listed = 0.5  # type: ignore[misc]


def test_no_chain_no_forecast(tmp_path: Path) -> None:
    made = audit(facts(tmp_path, "a,r,b", "c,r,d"))
    assert made.forecast is None
    assert made.why_no_forecast == "no two facts form a chain"
    assert made.compositions.height == 0


def test_contradictions_do_not_stop_an_audit(tmp_path: Path) -> None:
    """Sums over tokens satisfy ``a r + x s = a s + x r``, but the answers are p, p and q, q."""
    rows = ["a,r,p", "x,s,p", "a,s,q", "x,r,q", "p,t,a"]
    made = audit(facts(tmp_path, *rows))
    assert made.forecast is not None
    for told in (
        "(a r) → p",
        "(x s) → p",
        "(a s) → q",
        "(x r) → q",
        "are incompatible",
    ):
        assert told in made.forecast.why
    assert "(p t)" not in made.forecast.why
    assert made.forecast.let_go["fact"].to_list() == [0, 1, 2, 3]
    chains = made.compositions.select("first", "second", "chains").rows()
    assert sorted(chains) == [
        ("r", "t", 1),
        ("s", "t", 1),
        ("t", "r", 1),
        ("t", "s", 1),
    ]
    for without in range(4):
        rest = audit(
            facts(tmp_path, *(row for i, row in enumerate(rows) if i != without))
        )
        assert rest.forecast is not None
        assert not rest.forecast.why


def test_answers_that_differ_by_relation_are_no_contradiction(tmp_path: Path) -> None:
    made = audit(
        facts(tmp_path, "a,r,b", "b,s,c", "x,r,y", "y,s,z", "x,s,z", "y,r,b", "a,s,c")
    )
    assert made.forecast is not None
    compositions = made.forecast.queries.filter(pl.col("role") == "composition")
    asked = compositions.select("prompt", "answer").rows()
    assert asked == [("a r s", "c"), ("x r s", "z"), ("x r r", "b"), ("y r s", "c")]
    assert [row[-1] for row in made.leaks.rows()] == [
        7,
        5,
    ]  # the facts state a and x directly


@pytest.mark.slow
def test_chains_of_large_sets_are_counted(tmp_path: Path) -> None:
    """Hubs give tens of millions of chains of 40,000 triples, a part of which is built."""
    rng = np.random.default_rng(0)
    ends, relations = (
        rng.zipf(1.3, size=(40_000, 2)) % 20_000,
        rng.integers(0, 40, 40_000),
    )
    rows = [
        f"e{s},r{r},e{o}"
        for (s, o), r in zip(ends.tolist(), relations.tolist(), strict=True)
    ]
    made = audit(facts(tmp_path, *rows), seconds=0.1)
    assert made.compositions["chains"].sum() > 10**7
    assert 0 < made.listed < 0.2
    assert made.forecast is not None
    assert "one program for all" in made.forecast.why


@pytest.mark.slow
def test_of_dense_sets_a_part_is_forecast(tmp_path: Path) -> None:
    """For a file like UMLS, the prediction covers a part, and all questions are of this part."""
    rng = np.random.default_rng(2)
    cells = rng.permutation(135 * 46 * 135)[:5_216].tolist()
    rows = [f"e{c % 135},r{c // 135 % 46},e{c // 135 // 46}" for c in cells]
    knowledge = facts(tmp_path, *rows)
    made = audit(knowledge, seconds=0.1)
    assert made.compositions.height > 46
    assert made.forecast is not None
    out = made.forecast.let_go.filter(why="left out")
    told = set(range(len(knowledge))) - set(out["fact"])
    assert 0 < len(told) <= facts_within(0.1)
    kept = {knowledge.names(i) for i in told}
    chained = {(a, r, s, c) for a, r, b in kept for b2, s, c in kept if b == b2}
    asked = made.forecast.queries.filter(role="composition")
    words = [
        (*prompt.split(" "), o) for prompt, o in asked.select("prompt", "answer").rows()
    ]
    assert set(words) <= chained
    by_pair = {
        (r["first"], r["second"]): r["questions"] for r in outlook(made).to_dicts()
    }
    assert by_pair == Counter((r, s) for _, r, s in {word[:3] for word in words})


def test_counts_are_those_of_the_list(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = {
        f"e{a},r{r},e{b}" for a, r, b in rng.integers(0, 12, size=(150, 3)).tolist()
    }
    knowledge = facts(tmp_path, *sorted(rows))
    made = audit(knowledge, forecast=False)
    triples = [knowledge.names(i) for i in range(len(knowledge))]
    by_hand: dict[tuple[str, str], int] = {}
    for _, r, b in triples:
        for s2, r2, _ in triples:
            # Also if a place is its own capital; no relation states identities.
            if b == s2:
                by_hand[r, r2] = by_hand.get((r, r2), 0) + 1
    assert {
        (f, s): n
        for f, s, n in made.compositions.select("first", "second", "chains").rows()
    } == by_hand
    assert isinstance(made.relations, pl.DataFrame)
