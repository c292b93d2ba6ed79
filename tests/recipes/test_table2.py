"""Training and evaluation of each condition of Feature Resemblance, Table 2."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from inweights.errors import ConfigError
from inweights.experiments import Outside
from inweights.lm.tuning.tuning import FineTune
from inweights.recipes.feature_resemblance.table2 import Settings
from inweights.recipes.shared.language.analogies import CONDITIONS, Analogies, examples
from inweights.recipes.shared.language.experiment import tell_and_ask
from inweights.worlds.knowledge.analogy_rows import read_analogies

ROWS = read_analogies(limit=6)


@pytest.mark.parametrize(
    ("condition", "stages"),
    [
        ("joint", {0: 18}),
        ("SA", {0: 12, 1: 6}),
        ("AS", {0: 12, 1: 6}),
        ("AS-pair", {0: 6, 1: 12}),
        ("AS-target", {0: 6, 1: 6}),
        ("attribution only", {0: 6}),
    ],
)
def test_every_sentence_is_in_one_stage(condition: str, stages: dict[int, int]) -> None:
    made = examples(ROWS, condition)
    assert Counter(example.stage for example in made) == stages
    assert len({example.prompt for example in made}) == len(made)
    asked = {row.question[0] for row in ROWS}
    assert not asked & {example.prompt for example in made}


def test_what_comes_last() -> None:
    """SA ends with the attributions, and AS with the first similarity of each row.

    The other readings of AS begin with the attributions alone.
    """
    for reading in ("AS-pair", "AS-target"):
        first = {e.prompt for e in examples(ROWS, reading) if e.stage == 0}
        assert first == {row.attribution[0] for row in ROWS}
        assert Analogies(rows=6, condition=reading).condition == reading
    late = {
        c: {e.prompt for e in examples(ROWS, c) if e.stage == 1} for c in ("SA", "AS")
    }
    assert late["SA"] == {row.attribution[0] for row in ROWS}
    assert late["AS"] == {row.similarity[0][0] for row in ROWS}
    assert [(e.prompt, e.stage) for e in examples(ROWS, "shuffled AS")] == [
        (e.prompt, e.stage) for e in examples(ROWS, "AS")
    ]


@pytest.mark.slow
def test_a_random_model_learns_what_it_is_told() -> None:
    """Before training it is at chance; shuffled categories are also used in its evaluation."""
    training = FineTune(method="full", rate=1e-2, epochs=120, batch_tokens=2048)
    before = tell_and_ask(
        model=Outside(name="@tiny"),
        lesson=Analogies(rows=3, condition="zero-shot"),
        seed=1,
    )
    lesson = Analogies(rows=3, condition="shuffled joint")
    after = tell_and_ask(
        model=Outside(name="@tiny"), lesson=lesson, tuning=training, seed=1
    )
    assert before["kind"].value_counts(sort=True).rows() == [
        ("question", 6),
        ("layer", 3),
    ]
    recall = {
        name: table.filter(table["role"] == "recall")["hit"].to_numpy().mean()
        for name, table in (("before", before), ("after", after))
    }
    assert recall["before"] < 1
    assert recall["after"] == 1
    assert after["loss"].drop_nulls().to_list() == [after["loss"][-1]]
    assert after["loss"][-1] < 1.0


def test_shuffled_categories_are_the_answers() -> None:
    """Training and evaluation use the same categories, which differ from the true ones."""
    lesson, true = (
        Analogies(rows=6, condition="shuffled SA"),
        Analogies(rows=6, condition="SA"),
    )
    asked = {q.prompt: q.answer for q in lesson.quiz(1).questions}
    nobody: Any = None
    told = [e for e in lesson.examples(nobody, 1) if e.prompt in asked]
    assert len(told) == 6
    assert all(asked[e.prompt] == e.completion.strip(" .") for e in told)
    assert asked != {q.prompt: q.answer for q in true.quiz(1).questions}


def test_settings() -> None:
    with pytest.raises(ConfigError, match="joint"):
        Settings(conditions=("jiont",))
    with pytest.raises(ConfigError, match="at least 2, or 0 to use all rows, got 1"):
        Settings(rows=1)
    assert Settings().conditions == CONDITIONS
