"""Derived tables of Feature Resemblance: measured, published and predicted values."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from tests.recipes.tables import holds, table

from inweights.config import apply_overrides
from inweights.errors import ConfigError
from inweights.recipes import get_recipe
from inweights.recipes.feature_resemblance import table1 as analogies
from inweights.recipes.feature_resemblance import table4
from inweights.recipes.feature_resemblance.trainings import (
    GPTTraining,
    OneLayerTraining,
)


def measured(label: str, value: Any) -> dict[str, pl.DataFrame]:
    """Return tables of a one-layer transformer, with a predicted similarity, and of a GPT."""
    by, one, gpt = f"model {label} seed", ("one-layer", value, 0), ("GPT", value, 0)
    return {
        "accuracy": table(
            f"{by} part distribution role accuracy",
            (*one, "facts", "in", "similarity", 0.4),
            (*one, "queries", "out", "conclusion", 0.9),
            (*one, "queries", "in", "conclusion", 0.1),
            (*gpt, "queries", "out", "conclusion", 0.2),
        ),
        "resemblance": table(f"{by} cosine other", (*one, 0.8, 0.1), (*gpt, 0.3, 0.2)),
        "foretold": table(f"{by} from_facts closed_form", (*one, 0.85, 0.6)),
        "losses": table(
            f"{by} step loss", (*one, 10, 0.05), (*one, 2, 0.01), (*gpt, 5, 0.1)
        ),
    }


def test_courses_measured_published_and_foretold() -> None:
    found = analogies.derive(measured("course", "joint"))
    models = ["one-layer", "GPT"]
    holds(
        found["table"],
        model=models,
        cosine=[0.8, 0.3],
        success=[0.9, 0.2],
        loss=[0.05, 0.1],
    )
    holds(
        found["predicted"],
        model=models[:1],
        from_facts_error=[0.05],
        closed_form_error=[0.2],
    )
    assert len(found["shown"]) == 2 + 10 + 1
    joint = found["shown"].filter(course="joint").sort("what", "model", descending=True)
    holds(
        joint, what=["published"] * 2 + ["predicted from the facts"] + ["measured"] * 2
    )
    holds(joint, similarity=[0.9202, 0.995, 0.85, 0.8, 0.3], seed=[-1, -1, 0, 0, 0])
    holds(
        found["kept"],
        role=["(b, r1) → c"] + ["the conclusion"] * 3,
        accuracy=[0.4, 0.9, 0.1, 0.2],
    )


def test_copies_of_the_premise_measured_published_and_foretold() -> None:
    found = table4.derive(measured("rho", 3.0))
    holds(found["table"], rho=[3.0, 3.0], cosine=[0.8, 0.3], success=[0.9, 0.2])
    holds(
        found["predicted"], rho=[3.0], from_facts_error=[0.05], closed_form_error=[0.2]
    )
    published = found["shown"].filter(what="published", model="GPT")
    holds(published, rho=[1.0, 3.0, 5.0], similarity=[0.9756, 0.995, 0.9979])
    assert len(found["shown"]) == 2 + 6 + 1


def test_other_ratios_are_refused() -> None:
    with pytest.raises(ConfigError):
        apply_overrides(
            get_recipe("feature-resemblance/table4").scales["smoke"], ["rhos=[2.0]"]
        )


def test_courses_that_are_not_there() -> None:
    with pytest.raises(ConfigError, match="joint"):
        OneLayerTraining(late={"joined": 5})
    with pytest.raises(ConfigError, match="joint"):
        GPTTraining(losses={"joined": (0.1,)})
    with pytest.raises(ConfigError, match="unknown course 'AS-pair'"):
        GPTTraining().curriculum("AS-pair")
