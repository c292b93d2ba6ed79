"""Data sets for pretrained models, evaluated before and after training on a tiny Llama."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from inweights.errors import ConfigError
from inweights.experiments import Outside, Plan
from inweights.experiments.engine.plan import expand_plan
from inweights.lm import FineTune, encode, load_model
from inweights.recipes import get_recipe
from inweights.recipes.shared.language.budget import fill_budget
from inweights.recipes.shared.language.experiment import computations, tell_and_ask
from inweights.recipes.shared.language.facts import (
    Facts,
    TrainingMix,
    asked_of,
    facts_of,
    statements,
    trained_bridges,
)
from inweights.recipes.shared.language.invented import CITIES, Invented
from inweights.recipes.shared.language.tables import accuracies, rises

WORLD = Invented(people=4, towns=2, countries=2)
SHORT = FineTune(method="full", rate=1e-2, epochs=1, batch_tokens=512)


def test_an_invented_world_is_balanced_and_drawn_by_its_seed() -> None:
    world = Invented(people=24, towns=12, countries=6)
    one, again, other = (world.build(seed).frame() for seed in (0, 0, 1))
    assert one.equals(again)
    assert not one.equals(other)
    born = one.filter(pl.col("relation") == "born_in")["object"].value_counts()["count"]
    assert born.to_list() == [2] * 12
    lies = one.filter(pl.col("relation") == "country")["object"].value_counts()["count"]
    assert lies.to_list() == [2] * 6
    people = set(one.filter(pl.col("relation") == "born_in")["subject"])
    assert not people & set(other["subject"])


def test_known_cities_are_in_their_countries_and_not_told() -> None:
    world = Invented(people=4, towns=2, countries=2, second="known")
    facts = world.build(0).frame().filter(pl.col("relation") == "country")
    assert all(
        CITIES[row["subject"]] == row["object"] for row in facts.iter_rows(named=True)
    )
    with pytest.raises(ConfigError, match="the number of known cities"):
        Invented(people=40, towns=20, countries=6, second="known")
    lesson = Facts(world=world, tokens=300)
    told = {example.prompt for example in lesson.examples(load_model("@tiny"), 0)}
    second = {q.prompt for q in lesson.quiz(0).questions if q.role == "second_hop"}
    assert len(second) == 2
    assert told.isdisjoint(second)


def test_mixes_cost_the_same_and_ask_the_same() -> None:
    lm = load_model("@tiny")
    facts, words = facts_of(WORLD, 3)
    asked = asked_of(facts, words)
    for mix in (
        TrainingMix(),
        TrainingMix(identity=True),
        TrainingMix(reverse=True),
        TrainingMix(paraphrase=3),
    ):
        told = statements(facts, words, mix, asked, 3)
        rows = fill_budget(lm, told, 1500, 3)
        tokens = sum(len(row.ids) for row in encode(lm, rows))
        assert 1500 - 40 < tokens <= 1500
        assert set(rows) == set(told)
        # No question is part of the training data.
        assert not {e.prompt for e in told} & {
            q.prompt for q in asked if q.role == "composition"
        }
    with pytest.raises(ConfigError, match="increase 'tokens'"):
        fill_budget(lm, told, 100, 3)


def test_composed_questions_are_told_through_their_bridges_alone() -> None:
    facts, words = facts_of(WORLD, 0)
    asked = asked_of(facts, words)
    mix = TrainingMix(composed=0.5)
    inside = trained_bridges(asked, mix, 0)
    assert len(inside) == 1
    told = {e.prompt for e in statements(facts, words, mix, asked, 0)}
    for question in asked:
        if question.role == "composition":
            assert (question.prompt in told) == (question.bridge in inside)
    quiz = Facts(world=WORLD, mix=mix).quiz(0)
    assert quiz.told == {q.id for q in asked if q.bridge in inside}
    assert len(quiz.told) == 2


def test_second_hops_are_told_without_the_first() -> None:
    facts, words = facts_of(None, 0)
    asked = asked_of(facts, words)
    told = {
        e.prompt for e in statements(facts, words, TrainingMix(hops="second"), asked, 0)
    }
    assert told.isdisjoint(q.prompt for q in asked if q.role == "first_hop")
    assert told == {q.prompt for q in asked if q.role == "second_hop"}


def test_an_experiment_is_a_function_of_its_seed() -> None:
    run: dict[str, Any] = {
        "model": Outside(name="@tiny"),
        "lesson": Facts(world=WORLD, tokens=300),
        "tuning": SHORT,
    }
    one, again, other = (tell_and_ask(**run, seed=seed) for seed in (0, 0, 1))
    assert one.equals(again, null_equal=True)
    assert not one.equals(other, null_equal=True)
    assert {"question", "thought", "layer", "training"} == set(one["kind"])
    row = one.row(-1, named=True)
    assert (row["kind"], row["steps"] > 0, row["loss"] > 0) == ("training", True, True)


def test_what_is_invented_is_not_thought_about_beforehand() -> None:
    """Conclusions that are part of the training data are marked in all rows of their chain."""
    lesson = Facts(world=WORLD, mix=TrainingMix(composed=0.5))
    table = tell_and_ask(model=Outside(name="@tiny"), lesson=lesson)
    assert set(table["kind"]) == {"question", "layer"}
    told = table.filter(pl.col("role") == "composition")["told"]
    assert sorted(told) == [False, False, True, True]
    assert table.filter(pl.col("kind") == "layer")["told"].null_count() == 3


def test_a_model_is_asked_once_before() -> None:
    """Evaluated for every seed if the seed determines questions or model, but not for a mixture."""
    lessons = {
        "one": Facts(tokens=1),
        "two": Facts(mix=TrainingMix(identity=True), tokens=1),
    }
    for model, asked, times in (
        ("x", Facts(), 1),
        ("x", Facts(world=WORLD), 3),
        ("@tiny", Facts(), 3),
    ):
        made = computations({}, lessons, asked=asked, model=model, tuning=SHORT)
        work = expand_plan(Plan(computations=made), seeds=[0, 1, 2])
        names = [task.computation.name for task in work.computations.values()]
        assert (names.count("before"), names.count("after")) == (times, 6)


def test_recipes_share_what_they_have_in_common() -> None:
    """Figure 1's condition of one hop is also the control of the bridge, and is trained once."""
    works = []
    for name in ("identity-bridge/fig1", "beyond/does-the-bridge-help"):
        recipe = get_recipe(name)
        works.append(expand_plan(recipe.plan(recipe.scales["cpu"]), seeds=[100]))
    one, other = (work.computations for work in works)
    common = [one[key].computation for key in one if key in other]
    assert [(c.name, dict(c.labels)) for c in common] == [
        ("before", {"facts": "invented"}),
        ("after", {"facts": "invented", "condition": "one hop"}),
    ]


def made_up(hits: dict[str, list[bool]]) -> pl.DataFrame:
    """Return compositions of two conditions, whose values increase tenfold by training."""
    rows = [
        {
            "condition": name,
            "seed": 0,
            "id": str(i),
            "kind": "question",
            "role": "composition",
            "distribution": "out",
            "set": "all",
            "hit_before": False,
            "hit_after": hit,
            "chance": 0.5,
            "reciprocal_after": 1.0,
            "probability_before": 0.01,
            "share_before": 0.5,
            "others_before": 0.5,
            "probability_after": 0.1,
            "share_after": 0.5,
            "others_after": 0.5,
        }
        for name, found in hits.items()
        for i, hit in enumerate(found)
    ]
    return pl.DataFrame(rows)


def test_what_rises_alike_is_no_rise() -> None:
    table = rises(made_up({"control": [True, False]}), ("condition",))
    assert table["decades"][0] == pytest.approx(1.0)
    assert table["own"][0] == pytest.approx(0.0)


def test_accuracy_is_judged_beside_chance() -> None:
    found = made_up({"control": [False] * 6, "identity": [True] * 6})
    table = accuracies(found, ("condition",))
    assert dict(zip(table["condition"], table["excess"], strict=True)) == {
        "control": -0.5,
        "identity": 0.5,
    }


def test_the_bridge_helps_refuses_conditions_that_there_are_not() -> None:
    recipe = get_recipe("beyond/does-the-bridge-help")
    with pytest.raises(ConfigError, match="did you mean 'reverse'"):
        recipe.resolve("smoke", overrides=['conditions=["revers"]'])
