"""Predictions from facts alone, and verified advice."""

from __future__ import annotations

import time
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import polars as pl
import pytest
from tests.theory.test_program import world

from inweights.errors import ConfigError
from inweights.theory import Program, bridges, predict
from inweights.theory.prediction.remedies import remedies
from inweights.theory.prediction.tables import query_table
from inweights.worlds import Reversal, TwoHop
from inweights.worlds.world import Statements, Vocabulary, World


def test_identity_decides_at_complexity_one() -> None:
    yes = predict(TwoHop(n=6, identity=True).build())
    no = predict(TwoHop(n=6, identity=False).build(), advise=False)
    assert yes.queries["verdict"].to_list() == ["follows"] * 6
    assert yes.queries["predicted"].to_list() == yes.queries["answer"].to_list()
    assert yes.advice is None
    assert no.queries["verdict"].to_list() == ["fails"] * 6
    assert no.advice is None
    assert set(no.queries["predicted"].str.slice(0, 1)) == {"b"}  # the bridge wins


def test_half_the_identities_help_half_the_queries() -> None:
    made = TwoHop(n=8, identity=0.5).build(seed=3)
    forecast = predict(made)
    given = {
        made.vocabulary.names[t]
        for t in made.facts.prompts[made.facts.prompt_ends[16:] - 1]
    }
    follow = forecast.queries.filter(pl.col("verdict") == "follows")["answer"].to_list()
    assert {answer.replace("c", "b") for answer in follow} == given
    assert forecast.advice is not None
    assert set(forecast.advice.identities) == {f"b{i + 1}" for i in range(8)} - given
    assert len(forecast.advice.mended) == 4
    assert not forecast.advice.open
    assert not forecast.advice.broken
    assert (forecast.advice.status, forecast.advice.parts) == ("certified", 1)


def test_advice_holds_when_it_is_followed() -> None:
    made = TwoHop(n=7, complexity=2, maps="sampled", identity=0.4).build(seed=5)
    before = predict(made)
    assert before.advice is not None
    assert before.advice.identities
    column = [[made.vocabulary.id(name)] for name in before.advice.identities]
    import numpy as np

    ids = np.array(column)
    after = predict(made.with_facts("identity", ids, ids), advise=False).queries
    follows = set(after.filter(pl.col("verdict") == "follows")["query"].to_list())
    assert set(before.advice.mended) <= follows
    assert not follows & set(before.advice.open)


def test_a_limit_of_time_may_have_begun_before() -> None:
    world = TwoHop(n=12, complexity=2).build()
    ends = [
        predict(world, seconds=60.0, began=began, advise=False).solution.status
        for began in (None, time.perf_counter() - 61)
    ]
    assert ends == ["certified", "not certified"]


def test_ties_are_shared_by_the_objects() -> None:
    forecast = predict(TwoHop(n=6, complexity=2).build())
    assert forecast.queries["verdict"].to_list() == ["tied"] * 12
    assert forecast.queries["tied"].to_list() == [2] * 12
    assert forecast.queries["expected"].to_list() == [0.5] * 12
    assert forecast.advice is None  # all identities are stated already
    assert forecast.summary(by=["role"])["expected"].to_list() == [0.5]


def test_no_queries() -> None:
    forecast = predict(world(("a r", "x"), ("b r", "y")))
    assert len(forecast.queries) == 0
    assert len(forecast.summary()) == 0
    assert forecast.advice is None


def test_several_answers_to_one_question() -> None:
    """``a`` leads to both ``x`` and ``y``, so one question has two right answers."""
    made = world(
        ("a r", "b"),
        ("b s", "x"),
        ("b s", "y"),
        ("b", "b"),
        ("z r", "z"),
        ("z s", "z"),
        queries=(("a r s", "x"), ("a r s", "y")),
    )
    forecast = predict(made, answers="several")
    (query,) = forecast.queries.iter_rows(named=True)
    assert (query["answer"], query["right_answers"], query["chance"]) == ("x", 2, 2 / 4)
    assert (query["verdict"], query["tied"], query["expected"]) == ("follows", 2, 1.0)
    assert bridges(made) == [(0, 1)]


def test_the_margin_is_of_the_best_right_answer_over_the_best_wrong_one() -> None:
    """One of two right answers leads; that a wrong one exceeds the other has no effect."""
    facts = (("a r", "b"), ("b s", "x"), ("z r", "z"), ("z s", "y"), ("b", "b"))
    one = predict(
        world(*facts, queries=(("a r s", "x"),)), answers="several", advise=False
    )
    two = world(*facts, queries=(("a r s", "y"), ("a r s", "x")))
    both = predict(two, answers="several", advise=False)
    assert (one.queries.height, both.queries.height) == (1, 1)
    logits = both.solution.compare(two.queries)[0][0]
    names = [two.vocabulary.names[token] for token in two.outputs]
    right = [names.index(name) for name in ("x", "y")]
    margin = max(logits[right]) - max(np.delete(logits, right))
    assert both.queries["margin"][0] == pytest.approx(margin / both.solution.scale)
    assert both.queries["margin"][0] >= one.queries["margin"][0] - 1e-9


def test_an_answer_to_the_same_tokens_in_another_order_is_wrong() -> None:
    """A sum over tokens gives ``(a, r, s) → x`` and ``(a, s, r) → y`` the same answer."""
    facts = (("a r", "b"), ("b s", "x"), ("a s", "z"), ("z r", "y"))
    made = predict(
        world(*facts, queries=(("a r s", "x"), ("a s r", "y"))), advise=False
    )
    assert made.queries["predicted"].n_unique() == 1
    assert (made.queries["expected"] == 1).sum() <= 1


def test_leaks_are_not_chains() -> None:
    facts = (("a r", "b"), ("b s", "x"))
    assert bridges(world(*facts, queries=(("a r s", "y"),))) == []
    assert bridges(world(*facts, queries=(("a r s", "y"), ("a r s", "x")))) == [(0, 1)]


def test_tie_is_below_the_margin_of_the_facts() -> None:
    with pytest.raises(ConfigError, match="tie"):
        predict(TwoHop(n=3).build(), tie=1.0)


def test_queries_of_one_form_have_one_pattern() -> None:
    """A pattern contains relations by name and other tokens by their group."""
    made = predict(TwoHop(n=3, complexity=3, identity=True).build()).queries
    patterns = made["pattern"].value_counts(sort=True).rows()
    assert sorted(patterns) == [(f"subject r1_{i} r2 → object", 3) for i in (1, 2, 3)]


def test_a_bridge_may_follow_from_one_token() -> None:
    words = Vocabulary({"node": ["a", "b", "c"], "relation": ["r"]})
    a, b, c, r = range(4)
    facts = Statements.build({"edge": ([[a]], [[b]]), "second_hop": ([[b, r]], [[c]])})
    queries = Statements.build({"composition": ([[a, r]], [[c]])})
    world = World(name="mine", vocabulary=words, facts=facts, queries=queries)
    assert bridges(world) == [(0, b)]


def test_more_reversals_are_advised_only_where_more_follow() -> None:
    """One reversal corrects two of three others; two reversals correct one of the other two."""
    world = Reversal(n=4).build()
    failing = pl.DataFrame({"query": range(4), "role": "reversal", "verdict": "fails"})

    def forecast(more: World, what: str):
        number = int(what.split()[1])
        follows = {0: [], 1: [1, 2], 2: [2], 4: []}[number]
        verdicts = pl.Series(["follows" if q in follows else "fails" for q in range(4)])
        return (
            SimpleNamespace(status="certified"),
            failing.with_columns(verdict=verdicts),
            "",
        )

    (remedy,) = remedies(world, failing, forecast, None)
    assert (len(remedy.statements), remedy.flipped, remedy.of) == (1, 2, 3)


def test_a_margin_as_large_as_the_tie_is_a_tie() -> None:
    program = Program.of(TwoHop(n=3).build())
    nothing = np.zeros((program.counts.shape[1], len(program.world.outputs)))
    solved = SimpleNamespace(program=program, templates=nothing, scale=1.0)
    assert set(query_table(cast("Any", solved), tie=0.0)["verdict"]) == {"tied"}


def test_a_summary_counts_each_verdict() -> None:
    made = predict(TwoHop(n=4, complexity=2, identity=0.5).build(), advise=False)
    verdicts = made.queries.group_by("role", "pattern", maintain_order=True).agg(
        pl.col("verdict")
    )
    for row, (_, _, found) in zip(
        made.summary().iter_rows(named=True), verdicts.rows(), strict=True
    ):
        assert row["queries"] == len(found)
        assert row["follow"] == found.count("follows")
        assert row["tied"] == found.count("tied")
        assert row["fail"] == found.count("fails")


def test_rounding_does_not_decide_the_order_of_symmetric_queries() -> None:
    made = predict(TwoHop(n=6, identity=False).build(), advise=False)
    noise = np.random.default_rng(0).normal(0, 1e-9, 6)
    rounded_otherwise = replace(
        made, queries=made.queries.with_columns(pl.col("margin") + pl.Series(noise))
    )
    assert made.surprising()["query"].to_list() == list(range(6))
    assert rounded_otherwise.surprising()["query"].to_list() == list(range(6))
