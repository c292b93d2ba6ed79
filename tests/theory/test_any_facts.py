"""Every set of triples gets a prediction, or as much of it as the time limit allows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inweights.theory import Prediction, SoftSolution, bridges, largest_part, predict
from inweights.theory.prediction.largest_part import parts_of
from inweights.worlds import TwoHop, World, read_knowledge
from inweights.worlds.knowledge.questions import KINDS
from inweights.worlds.knowledge.triples import world_of

#: Few names, so that facts share entities, contradict each other and form cycles. One
#: name is both an entity and a relation.
NAMES = st.sampled_from(["a", "b", "c", "d", "e", "r"])
FACTS = st.lists(
    st.tuples(NAMES, st.sampled_from(["r", "s", "is"]), NAMES), min_size=1, max_size=24
)


def of(folder: Path, rows: list[tuple[str, str, str]]) -> World:
    path = folder / "facts.csv"
    path.write_text("\n".join(",".join(row) for row in rows) + "\n", encoding="utf-8")
    return world_of(read_knowledge(path), kinds=KINDS)


def check(forecast: Prediction, world: World) -> None:
    """Check that every query has a verdict and that the retained facts are answered correctly."""
    assert forecast.queries.height == len(world.queries)
    assert forecast.queries["margin"].is_not_nan().all()
    unstated = forecast.queries["role"] == "unstated"
    verdicts = forecast.queries["verdict"]
    assert verdicts.filter(unstated).is_in(["asserted", "open"]).all()
    assert verdicts.filter(~unstated).is_in(["follows", "tied", "fails"]).all()
    solution = forecast.solution
    program = solution.program
    assert solution.bound <= solution.optimum * (1 + 1e-9)
    logits = program.counts.toarray() @ solution.templates
    lost = set(forecast.let_go["fact"])
    for fact, row in enumerate(program.row):
        right, wrong = logits[row][program.right[row]], logits[row][~program.right[row]]
        if len(wrong):
            assert (right.max() > wrong.max() + 1e-6) == (fact not in lost)
    assert not (lost or forecast.why) or isinstance(solution, SoftSolution)


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(rows=FACTS)
def test_any_facts(rows: list[tuple[str, str, str]], tmp_path: Path) -> None:
    world = of(tmp_path, rows)
    check(predict(world, seconds=0.1), world)


@pytest.mark.slow
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(rows=FACTS, decay=st.sampled_from([None, None, 1e-3]))
def test_many_facts(
    rows: list[tuple[str, str, str]], decay: float | None, tmp_path: Path
) -> None:
    world = of(tmp_path, rows)
    check(predict(world, seconds=0.1, decay=decay, advise=False), world)


def test_advice_that_no_matrix_can_follow_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both identities of a symmetric relation contradict its facts; a single one does not."""
    rows = [
        ("ann", "spouse", "bob"),
        ("bob", "spouse", "ann"),
        ("ann", "born", "rome"),
        ("bob", "born", "oslo"),
    ]
    world = of(tmp_path, rows)
    forecast = predict(world)
    assert forecast.solution.status == "certified"
    assert not forecast.why
    assert forecast.advice is not None
    assert len(forecast.advice.identities) == 1
    assert forecast.advice.status == "certified"
    assert "not all 2 can be stored" in forecast.advice.why
    assert len(forecast.advice.mended) == 2
    monkeypatch.setattr("inweights.theory.prediction.advice.TRIALS", 1)
    both = predict(world).advice
    assert both is not None
    assert both.identities == ()
    assert "incompatible" in both.why


def test_facts_that_exclude_each_other_are_named_with_the_forecast(
    tmp_path: Path,
) -> None:
    rows = [
        ("a", "r", "x"),
        ("a", "s", "y"),
        ("b", "r", "y"),
        ("b", "s", "x"),
        ("x", "t", "z"),
    ]
    forecast = predict(of(tmp_path, rows), advise=False)
    assert "(a r) → x" in forecast.why
    assert "(x t)" not in forecast.why
    # Each answer has the same logit as its rival.
    assert forecast.let_go["why"].to_list() == ["answered otherwise by the program"] * 4
    assert set(forecast.let_go["statement"]) == {
        f"({s} {r}) → {o}" for s, r, o in rows[:4]
    }
    assert forecast.queries.filter(pl.col("role") == "composition").height == 2


def test_too_many_facts_are_forecast_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Separate parts have the same verdicts as one program, and no query occurs in two parts."""
    world = TwoHop(n=50, identity=0.5).build(1)
    whole = predict(world, advise=False)
    monkeypatch.setattr("inweights.theory.prediction.parts_in_time.MAX_FACTS", 60)
    forecast = predict(world, advise=False)
    assert len(forecast.parts) == 3
    assert forecast.certified
    facts = sum(len(part.program.world.facts) for part in forecast.parts)
    assert facts + forecast.let_go.height == len(world.facts)
    assert forecast.queries["query"].is_unique().all()
    assert "would exceed" in forecast.why
    one, other = (
        f.queries.select("query", "verdict", "prompt") for f in (whole, forecast)
    )
    same = one.join(other, on="query")
    assert same.height == forecast.queries.height == len(world.queries)
    assert (same["prompt"] == same["prompt_right"]).all()
    assert (same["verdict"] == same["verdict_right"]).to_numpy().mean() > 0.9


@pytest.mark.slow
def test_a_cut_part_is_not_asked_for_chains_that_it_lacks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A part of a large component evaluates exactly the chains of its own facts."""
    monkeypatch.setattr("inweights.theory.prediction.parts_in_time.MAX_FACTS", 40)
    world = TwoHop(n=20, maps="sampled", first_relations=3, identity=False).build(2)
    forecast = predict(world)
    assert len(forecast.parts) == 3
    assert 0 < forecast.queries.height < len(world.queries)
    whole: set[int] = set()
    for part in forecast.parts:
        of = part.program.world
        assert {query for query, _ in bridges(of)} == set(range(len(of.queries)))
        whole |= {query for query, _ in bridges(replace(world, facts=of.facts))}
    assert set(forecast.queries["query"]) == whole
    if forecast.advice:
        asked = set(forecast.queries["query"])
        assert set(forecast.advice.mended) | set(forecast.advice.open) <= asked


def test_the_largest_part_is_whole_components() -> None:
    world = TwoHop(n=6, identity=False).build()
    part, kept = largest_part(world, 7)
    assert kept.sum() == 6  # three chains of two facts
    assert len(part.queries) == 3
    same, every = largest_part(world, 12)
    assert same is world
    assert every.all()
    assert [(len(rows), cut) for rows, cut in parts_of(world, 7)] == [
        (6, False),
        (6, False),
    ]


def test_a_component_that_is_too_large_is_cut() -> None:
    world = TwoHop(n=4, maps="sampled", first_relations=3, identity=False).build(2)
    part, kept = largest_part(world, 5)
    assert 0 < kept.sum() <= 5
    assert len(part.facts) == kept.sum()
    assert np.isin(part.inputs, world.inputs).all()
    assert all(cut for _, cut in parts_of(world, 5))
