"""What each condition of Feature Resemblance, Table 2, trains and asks."""

from __future__ import annotations

from collections import Counter

import pytest

from inweights.errors import ConfigError
from inweights.lm.tuning import FineTune
from inweights.recipes.feature_resemblance.table2 import CONDITIONS, Settings, examples, measure
from inweights.worlds.analogy_rows import read_analogies

ROWS = read_analogies(limit=6)


@pytest.mark.parametrize(
    ("condition", "stages"),
    [
        ("joint", {0: 18}),
        ("SA", {0: 12, 1: 6}),
        ("AS", {0: 12, 1: 6}),
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
    """Attributions in SA; in AS what is told of the subject that is asked about."""
    late = {c: {e.prompt for e in examples(ROWS, c) if e.stage == 1} for c in ("SA", "AS")}
    assert late["SA"] == {row.attribution[0] for row in ROWS}
    assert late["AS"] == {row.similarity[0][0] for row in ROWS}
    assert [(e.prompt, e.stage) for e in examples(ROWS, "shuffled AS")] == [
        (e.prompt, e.stage) for e in examples(ROWS, "AS")
    ]


@pytest.mark.slow
def test_a_random_model_learns_what_it_is_told() -> None:
    """And is at chance before; of shuffled categories it is asked the shuffled ones."""
    training = FineTune(method="full", rate=1e-2, epochs=120, batch_tokens=2048)
    options = {"model": "@tiny", "rows": 3, "training": training, "seed": 1}
    before = measure(condition="zero-shot", **options)
    after = measure(condition="shuffled joint", **options)
    assert before["loss"].null_count() == before.height == 6
    recall = {
        name: table.filter(table["role"] == "recall")["hit"].mean()
        for name, table in (("before", before), ("after", after))
    }
    assert recall["before"] < 1
    assert recall["after"] == 1
    assert after["loss"][0] < 1.0
    assert -1 <= after["similarity"][0] <= 1


def test_settings() -> None:
    with pytest.raises(ConfigError, match="joint"):
        Settings(conditions=("jiont",))
    with pytest.raises(ConfigError, match="2 or more, or 0 for all, not 1"):
        Settings(rows=1)
    assert Settings().conditions == CONDITIONS
