"""Derived tables on curricula and the theory of Feature Resemblance, computed by hand."""

from __future__ import annotations

import polars as pl
import pytest
from tests.recipes.tables import table, told, values

from inweights.recipes.beyond import (
    curriculum_map,
    frozen_or_reversed,
)
from inweights.recipes.feature_resemblance import (
    fig1,
    late_similarity,
    table3,
    table3_grid,
    theorems,
)


def test_curriculum_map() -> None:
    labels = "model share rehearsed seed"
    one, gpt = ("one-layer", 0.1, True, 7), ("GPT", 0.1, False, 7)
    found = curriculum_map.derive(
        {
            "accuracy": pl.concat(
                [
                    told(labels, one, (0.9, 0.8, 0.7), 0.3),
                    told(labels, gpt, (0.6, 0.5, 0.4), 0.2),
                ]
            ),
            "resemblance": table(
                f"{labels} cosine other", (*one, 0.45, 0.01), (*gpt, 0.55, 0.02)
            ),
            "foretold": table(
                "model share seed from_facts",
                ("one-layer", 0.1, 7, 0.65),
                ("one-layer", 1, 7, 1),
            ),
        }
    )
    columns = "model success cosine attribution phase_2"
    told_again, alone = (
        "attribution rehearsed in phase 2",
        "similarity alone in phase 2",
    )
    assert values(found["table"], columns) == [
        ("one-layer", 0.3, 0.45, 0.7, told_again),
        ("GPT", 0.2, 0.55, 0.4, alone),
    ]
    assert values(found["predicted"], "model from_facts error") == [
        ("one-layer", 0.65, 0.2)
    ]
    assert set(values(found["shown"], "panel phase_2 value")) == {
        ("one-layer: success", told_again, 0.3),
        ("one-layer: similarity", told_again, 0.45),
        ("one-layer: attribution", told_again, 0.7),
        ("GPT: success", alone, 0.2),
        ("GPT: similarity", alone, 0.55),
        ("GPT: attribution", alone, 0.4),
    }


def test_frozen_or_reversed() -> None:
    labels = "course mlp sigma value seed"
    reverse, usual = (
        ("AS", "ReLU", 0.003, "frozen", 7),
        ("SA", "linear", 0.003, "moves", 7),
    )
    found = frozen_or_reversed.derive(
        {
            "accuracy": pl.concat(
                [
                    told(labels, reverse, (0.9, 0.8, 0.7), 0.3),
                    told(labels, usual, (0.6, 0.5, 0.4), 0.2),
                ]
            ),
            "resemblance": table(
                f"{labels} cosine other", (*reverse, 0.45, 0.01), (*usual, 0.55, 0.02)
            ),
        }
    )
    assert values(found["table"], "course success cosine panel line") == [
        ("AS", 0.3, 0.45, "AS, ReLU", "value matrix frozen in phase 2"),
        ("SA", 0.2, 0.55, "SA, linear", "value matrix moves in phase 2"),
    ]
    assert values(found["taught"], "course role accuracy") == [
        ("AS", "similarity", 0.8),
        ("SA", "attribution", 0.4),
    ]


def test_depth() -> None:
    same = {1: 0.1, 2: 0.4, 3: 0.3, 4: 0.6, 5: 0.8}
    other = {1: 0.02, 2: 0.1, 3: 0.1, 4: 0.1, 5: 0.12}
    found = fig1.derive(
        {
            "cosines": table(
                "model seed depth same other other_size",
                *(
                    ("linear network", 8, d, same[d], -0.5, other[d])
                    for d in (5, 4, 3, 2, 1)
                ),
                *(("GPT", 8, d, 0.5 + d / 10, -0.5, 0.9 - d / 10) for d in (2, 1)),
            ),
            "foretold": table(
                "model seed depth foretold",
                *(("linear network", 7, d, 0.2 * d) for d in (1, 2, 3, 4, 5)),
            ),
            "losses": table(
                "model seed step loss",
                ("GPT", 8, 20, 0.1),
                ("GPT", 8, 40, 0.05),
                ("GPT", 8, 0, 2.0),
            ),
        }
    )
    # It falls from .4 to .3; each model is treated separately.
    assert values(found["steps"], "model least") == [
        ("GPT", 0.1),
        ("linear network", -0.1),
    ]
    assert values(found["ends"], "model rise contrast other_rise") == [
        ("GPT", 0.1, 0.0, -0.1),
        ("linear network", 0.7, 0.68, 0.1),
    ]
    # Predicted once, with a different seed, and only up to layer 4.
    assert values(found["predicted"], "seed depth error") == [
        (8, 1, 0.1),
        (8, 2, 0.0),
        (8, 3, 0.3),
        (8, 4, 0.2),
    ]
    assert values(found["final_loss"], "model loss") == [("GPT", 0.05)]
    last = found["shown"].filter(pl.col("depth") == 5)
    assert values(last, "model pairs cosine") == [
        ("linear network", "same label", 0.8),
        ("linear network", "other label, absolute", 0.12),
        ("linear network", "same label, predicted", 1.0),
    ]


def test_table_3() -> None:
    found = table3.derive(
        {
            "accuracy": pl.concat(
                told("course setting seed", ("AS", name, 7), (0.9, 0.8, 0.7), right)
                for name, right in ((table3.TABLE, 0.3), ("wider", 0.0))
            ),
            "resemblance": table(
                "course setting seed cosine other",
                ("AS", table3.TABLE, 7, 0.45, 0.01),
                ("AS", "wider", 7, 0.9, 0.01),
            ),
        }
    )
    assert values(found["table"], "course cosine success") == [("AS", 0.45, 0.3)]
    shown = found["shown"].filter(pl.col("course") == "AS")
    assert set(values(shown, "seed what column value")) == {
        (7, "measured", "similarity", 0.45),
        (7, "measured", "success", 0.3),
        (-1, "published", "similarity", 0.4367),
        (-1, "published", "success", 0.0067),
    }
    assert values(found["extremes"], "seed least_success matching") == [(7, 0.0, 0)]


def test_readings_of_late_similarity() -> None:
    """AS-pair reproduces both printed numbers, at a different initial scale than joint and SA."""
    rows = [
        ("end-to-end", "joint", 0.01, 7, 0.5, 0.4),
        ("end-to-end", "SA", 0.01, 7, 0.53, 1.0),
        ("end-to-end", "AS-pair", 0.01, 7, 0.43, 0.0),
        ("end-to-end", "AS", 0.01, 7, 0.62, 1.0),
        ("end-to-end", "joint", 0.002, 7, 0.94, 1.0),
        ("end-to-end", "SA", 0.002, 7, 0.71, 1.0),
        ("end-to-end", "AS-pair", 0.002, 7, 0.45, 1.0),
        ("end-to-end", "AS", 0.002, 7, 0.96, 1.0),
        ("one-layer", "AS-pair", 0.001, 7, 0.0, 0.0),
        ("one-layer", "AS", 0.001, 7, 0.0, 0.0),
        ("GPT", "AS-pair", 0.02, 7, 0.98, 0.0),
        ("GPT", "AS", 0.02, 7, 0.48, 0.0),
    ]
    labels = "model course std seed"
    found = late_similarity.derive(
        {
            "accuracy": pl.concat(
                told(labels, row[:4], (0.9, 0.8, 0.7), row[5]) for row in rows
            ),
            "resemblance": table(
                f"{labels} cosine other", *((*row[:5], 0.0) for row in rows)
            ),
        }
    )
    # Of six numbers, AS-pair misses the GPT's similarity, and AS both numbers of the model
    # that is trained end to end.
    assert values(found["given"], "seed most") == [(7, 5)]
    assert values(found["starts"], "course seed matching") == [
        ("AS-pair", 7, 1),
        ("AS", 7, 0),
    ]
    assert values(
        found["table"].filter(pl.col("model") == "GPT"), "course cosine success"
    ) == [
        ("AS-pair", 0.98, 0.0),
        ("AS", 0.48, 0.0),
    ]


def test_which_settings_give_which_number_of_table_3() -> None:
    """Ten copies reproduce joint training, a long first phase SA: one setting in four has both."""
    short, long = "first phase to a loss of 1", "first phase to a loss of 0.015"
    shared = (0.01, 300.0, 5)
    rows = [
        ("joint", *shared, "1 copies", 7, 0.80, 1.0),
        ("joint", *shared, "10 copies", 7, 0.93, 1.0),
        ("SA", *shared, short, 7, 0.50, 1.0),
        ("SA", *shared, long, 7, 0.72, 0.98),
        ("AS", *shared, short, 7, 0.90, 0.0),
        ("AS", *shared, long, 7, 0.90, 1.0),
        ("AS-pair", *shared, short, 7, 0.30, 0.04),
        ("AS-pair", *shared, long, 7, 0.45, 0.06),
    ]
    labels = "course std kappa hidden variant seed"
    found = table3_grid.derive(
        {
            "accuracy": pl.concat(
                told(labels, row[:6], (0.9, 0.8, 0.7), row[7]) for row in rows
            ),
            "resemblance": table(
                f"{labels} cosine other", *((*row[:7], 0.0) for row in rows)
            ),
        }
    )
    # Two numbers of copies, combined with two lengths of the first phase, give four
    # settings.
    assert dict(values(found["given"], "printed settings")) == {
        "joint similarity": 2,
        "joint success": 4,
        "SA similarity": 2,
        "SA success": 4,
        "AS similarity": 0,
        "AS success": 2,
        "AS-pair similarity": 2,
        "AS-pair success": 2,
    }
    # With ten copies and the long phase, AS-pair misses only the success. With AS-pair the
    # order is as printed at every setting, and all successes are if the phase is short.
    assert values(found["together"], "reading most alike pattern gap") == [
        ("AS", 4, 0, 0, pytest.approx(0.03)),
        ("AS-pair", 5, 1, 2, pytest.approx(0.63)),
    ]
    assert found["where"].height == 4 * 8
    assert set(found["shown"]["scale"]) == {0.173}


def test_theorems() -> None:
    found = theorems.derive(
        {
            "accuracy": told("course seed", ("SA", 7), (0.9, 0.8, 0.7), 0.3),
            "resemblance": table("course seed cosine other", ("SA", 7, 0.45, 0.01)),
            "losses": table(
                "course seed phase step loss",
                ("SA", 7, "attention", 0, 3.0),
                ("SA", 7, "mlp", 60, 0.2),
                ("SA", 7, "mlp", 40, 1.0),
                ("SA", 7, "second phase", 80, 0.1),
                ("SA", 8, "mlp", 60, 0.7),
            ),
            "stage_one": table(
                "course seed attention span linear learnt",
                ("SA", 7, 0.01, 0.0, 0.02, 0.5),
            ),
        }
    )
    assert values(found["table"], "course cosine success") == [("SA", 0.45, 0.3)]
    assert sorted(values(found["fitted"], "seed phase loss")) == [
        (7, "mlp", 0.2),
        (7, "second phase", 0.1),
        (8, "mlp", 0.7),
    ]
    assert values(found["shown"], "column value") == [
        ("similarity", 0.45),
        ("success", 0.3),
    ]
    assert values(found["lemmas"], "column value") == [
        ("attention: largest distance from 1/2", 0.01),
        ("update: distance from the linear regime", 0.02),
    ]
