"""What our own recipes on the bridge derive, by hand."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from msgspec.structs import replace
from tests.recipes.tables import crossed, table, told, values

from inweights.recipes.beyond import (
    partial_identity,
    predicted_composition,
    when_to_decay,
    where_the_bridge_holds,
    where_the_bridge_is,
)


def test_where_the_bridge_holds() -> None:
    runs = (  # in another order than the axes are written down
        ("rate", "3e-3", "C = 1", (0.0, 0.2, 0.6), (0.0, 0.8, 1.0), 3.0, 0.9),
        ("rate", "1e-3", "C = 1", (0.0, 0.1, 0.2), (0.0, 0.0, 0.9), 1.0, 0.8),
        ("head", "untied", "C = 1", (0.0, 0.3, 0.4), (0.0, 0.0, 0.1), 2.0, 0.7),
        ("head", "untied", "C = 2", (0.0, 0.5, 0.5), (0.0, 0.1, 1.0), 4.0, 0.6),
        ("head", "untied", "no identity", (0.0, 0.9, 0.9), (0.0, 0.1, 1.0), 5.0, 0.5),
    )
    accuracy, alignment = [], []
    for axis, value, world, answered, nearest, contrast, worst in runs:
        for i, step in enumerate((0, 20, 40)):
            labels = (
                "axis value init world seed step",
                (axis, value, "small", world, 7, step),
            )
            facts = (0.99, worst if i == 2 else 0.0, 1.0)
            accuracy.append(told(*labels, facts, answered[i]))
            looks = table(
                "layer place contrast nearest",
                ("block 1", "query", i * contrast / 2 + 1, nearest[i] + 0.05),
                ("block 2", "query", i * contrast / 2 - 1, nearest[i] - 0.05),
                ("block 2", "first_hop", 90.0, 0.5),
                ("embedding", "query", 80.0, 0.5),
            )
            alignment.append(crossed(table(*labels), looks))
    found = where_the_bridge_holds.derive(
        {"accuracy": pl.concat(accuracy), "alignment": pl.concat(alignment)}
    )
    assert values(
        found["final"], "axis value world step accuracy contrast nearest"
    ) == [
        ("head", "untied", "C = 1", 40, 0.4, 2.0, 0.1),
        ("head", "untied", "C = 2", 40, 0.5, 4.0, 1.0),
        ("head", "untied", "no identity", 40, 0.9, 5.0, 1.0),
        ("rate", "1e-3", "C = 1", 40, 0.2, 1.0, 0.9),
        ("rate", "3e-3", "C = 1", 40, 0.6, 3.0, 1.0),
    ]
    assert values(found["map_c1"], "accuracy") == [(0.4,), (0.2,), (0.6,)]
    assert values(found["map_harder"], "accuracy") == [(0.5,)]
    assert values(found["map_without"], "accuracy") == [(0.9,)]
    # Accuracy is a fifth of the contrast at C = 1; one run at C = 2 has no correlation.
    tells = dict(found["alignment_tells"].select("world", "correlation").rows())
    assert set(tells) == {"C = 1", "C = 2"}
    assert tells["C = 1"] == pytest.approx(1.0)
    # Half of the peak at .25 (step 20) and .5 (step 40); at .3 (step 40) and .5 (step 20).
    assert values(found["leads"], "axis world answered aligned lead") == [
        ("head", "C = 2", 20.0, 40.0, -20.0),
        ("rate", "C = 1", 40.0, 20.0, 20.0),
    ]


def test_when_to_decay() -> None:
    """A gain is relative to ``never``, for the same head, width and seed."""
    spared, everything = when_to_decay.DECAYED.values()
    runs = (
        ("tied", 64, spared, "throughout", 7, 0.9, 1.0),
        ("tied", 64, everything, "throughout", 7, 0.8, 0.5),
        ("tied", 64, spared, "never", 7, 0.4, 1.0),
        ("tied", 64, spared, "throughout", 8, 0.9, 1.0),
        ("tied", 64, spared, "never", 8, 0.1, 0.98),
        ("tied", 32, spared, "throughout", 7, 0.3, 0.99),
        ("tied", 32, spared, "never", 7, 0.5, 0.99),
    )
    tables = [
        told("head width decayed when seed", run[:5], (1.0, run[6], 1.0), run[5])
        for run in runs
    ]
    found = when_to_decay.derive({"accuracy": pl.concat(tables)})
    assert values(found["runs"].filter(width=32), "panel when recall") == [
        ("tied head, width 32", "never", 0.99),
        ("tied head, width 32", "throughout", 0.99),
    ]
    gains = found["gain"].filter(when="throughout")
    known = gains.filter(pl.col("gain").is_not_nan())
    assert values(known, "width seed gain") == [(64, 7, 0.5), (32, 7, -0.2)]
    assert values(gains.filter(pl.col("gain").is_nan()), "decayed seed") == [
        (everything, 7),
        (spared, 8),
    ]
    assert found["runs"]["accuracy"].is_not_nan().all()


def test_predicted_composition_names_each_share_of_identities() -> None:
    drawn = replace(predicted_composition.Settings().drawn, identity=1.0)
    worlds: dict[Any, Any] = {**predicted_composition.Settings(drawn=drawn).worlds()}
    stated = {key: config.identity for key, config in worlds.items()}
    assert set(stated.values()) == {0.0, 0.5, 1.0}
    assert all(share == identity for (_, share), identity in stated.items())


def test_predicted_composition() -> None:
    at = "world identity seed prompt answer"
    first, half = ("permuted, C = 1", 1.0, 7), ("permuted, C = 1", 0.5, 7)
    harder = ("shared answers", 0.5, 7)
    predicted = table(
        f"{at} margin verdict expected trivial",
        (*first, "p", "x", 0.9, "follows", 1.0, 1.0),
        (*first, "q", "x", -0.9, "excluded", 0.0, 1.0),
        (*half, "p", "x", 0.4, "follows", 1.0, 1.0),
        (*half, "q", "x", 0.0, "tied", 0.5, 0.0),
        (*harder, "p", "x", 0.0, "tied", 0.5, 1.0),
        (*harder, "q", "x", 0.2, "follows", 0.8, 1.0),
    )
    softly = predicted.with_columns(
        model=pl.lit("GPT"), margin=-pl.col("margin"), expected=0.5
    )
    tried = table(
        f"{at} model share",
        (*harder, "p", "x", "GPT", 0.25),
        (*harder, "q", "x", "GPT", 0.75),
    )
    trained = table(
        f"{at} model margin",
        (*first, "p", "x", "GPT", 3.0),
        (*first, "q", "x", "GPT", -3.0),
        (*half, "p", "x", "GPT", -0.1),
        (*half, "q", "x", "GPT", 0.2),
        (*harder, "p", "x", "GPT", 0.0),
        (*harder, "q", "x", "GPT", 2.0),
        (*harder, "q", "y", "GPT", 2.0),  # there is no prediction for it
    )
    accuracy = crossed(
        table("world identity seed model", (*first, "GPT"), (*harder, "GPT")),
        table(
            "part role accuracy",
            ("facts", "a", 0.9),
            ("facts", "b", 0.8),
            ("queries", "c", 0),
        ),
    )
    found = predicted_composition.derive(
        {
            "predicted": predicted,
            "softly": softly,
            "tried": tried,
            "trained": trained,
            "accuracy": accuracy,
        }
    )
    by = pl.col("forecaster")
    program = found["by_world"].filter(by == "program (2)")
    assert values(program, "world kind hit expected error") == [
        ("permuted, C = 1", "even", 0.5, 0.5, 0.0),
        ("permuted, C = 1", "even", 0.5, 0.75, 0.25),
        ("shared answers", "uneven", 0.5, 0.65, 0.15),
    ]
    training = found["by_world"].filter(by == "short training")
    assert values(training, "world hit expected error") == [
        ("shared answers", 0.5, 0.5, 0.0)
    ]
    # Only C = 1 is used; ties are not decided.
    assert values(found["complexity_one"], "identity identities agrees") == [
        (1.0, "all or none", 1.0),
        (0.5, "some", 0.0),
    ]
    area = (
        found["auc"]
        .filter(by != "bridge has an identity")
        .sort("forecaster", "world", "identity")
    )
    assert values(area, "forecaster world auc") == [
        ("program (2)", "permuted, C = 1", 0.0),
        ("program (2)", "permuted, C = 1", 1.0),
        ("program (2)", "shared answers", 1.0),
        ("short training", "shared answers", 1.0),
        ("soft program", "permuted, C = 1", 1.0),
        ("soft program", "permuted, C = 1", 0.0),
        ("soft program", "shared answers", 0.0),
    ]
    # The trivial predictor has half of a pair if all bridges have an identity, or predicts
    # wrongly.
    above = found["above"].filter(pl.col("world") == "shared answers")
    assert values(above, "pair gain spared") == [
        ("program (2) above bridge has an identity", 0.5, 0.35),
        ("soft program above bridge has an identity", -0.5, 0.5),
        ("soft program above program (2)", -1.0, 0.15),
        ("short training above soft program", 1.0, 0.0),
    ]
    assert set(found["map"]["cell"]) == {
        "permuted, C = 1, 1.0",
        "permuted, C = 1, 0.5",
        "shared answers, 0.5",
    }
    assert found["reliability"]["queries"].sum() == 6
    assert values(found["memorised"], "world accuracy fair") == [
        ("permuted, C = 1", 0.8, True),
        ("shared answers", 0.8, False),
    ]


def test_partial_identity() -> None:
    trial = ("GPT", 0.75, 7)
    learnt = {"a1": (0.9, 2.0), "a2": (0.7, -1.0), "a3": (0.6, 3.0), "a4": (-0.6, 0.0)}
    foreseen = {"a1": 0.8, "a2": 0.6, "a3": 0.5, "a4": 0.2}
    found = partial_identity.derive(
        {
            "resemblance": table(
                "model fraction seed one cosine",
                *((*trial, a, c) for a, (c, _) in learnt.items()),
            ),
            "margins": table(
                "model fraction seed prompt margin",
                *((*trial, f"{a} r1 r2", m) for a, (_, m) in learnt.items()),
            ),
            "foretold": table(
                "fraction seed one two from_facts",
                *((0.75, 7, a, "b", f) for a, f in foreseen.items()),
                *((0.5, 7, a, "b", 1 - f) for a, f in foreseen.items()),
            ),
            "accuracy": told("model fraction seed", trial, (0.9, 0.6, 0.8), 0.1),
        }
    )
    # Means: .4 is measured and .525 predicted; half are answered if three quarters have an
    # identity.
    assert values(found["worlds"], "cosine from_facts hit agrees off gap") == [
        (0.4, 0.525, 0.5, 0.5, 0.125, 0.25)
    ]
    assert values(found["sides"], "chain hit cosine from_facts") == [
        ("with identity", 0.5, 0.8, 0.7),
        ("without", 0.5, 0.0, 0.35),
    ]
    assert values(found["shown"], "column value from_facts") == [
        ("hit", 0.5, 0.525),
        ("cosine", 0.4, 0.525),
    ]
    assert values(found["memorised"], "model fraction accuracy") == [("GPT", 0.75, 0.6)]


def test_where_the_bridge_is() -> None:
    """Shares are maxima over places; influence is the ratio without and with a bridge."""
    head, seed = "tied", 7
    columns = "head control seed place depth position bridge relation answer"
    places = (
        ("none", "embedding", 0, 0, 0.9, 0.0, 0.1),
        ("none", "block.0", 1, 2, 0.1, 0.3, 0.2),
        ("none", "block.2", 3, 2, 0.2, 0.1, 0.7),
        ("untrained", "block.2", 3, 2, 0.01, 0.02, 0.03),
    )
    effects = (("none", "composition", 0.8), ("no-bridge", "composition", 0.6))
    found = where_the_bridge_is.derive(
        {
            "carries": table(columns, *((head, c, seed, *rest) for c, *rest in places)),
            "patching": table(
                "head control seed role layer position effect",
                *((head, c, seed, role, "block.2", 2, e) for c, role, e in effects),
                (head, "none", seed, "first_hop", "block.2", 2, 0.1),
            ),
            "accuracy": table(
                "head control seed part role distribution accuracy",
                (head, "none", seed, "facts", "first_hop", "trained", 0.9),
                (head, "none", seed, "queries", "composition", "out", 0.4),
            ),
        }
    )
    assert values(found["after"], "control bridge") == [
        ("none", 0.2),
        ("untrained", 0.01),
    ]
    assert values(found["largest"], "control either") == [
        ("none", 0.9),
        ("untrained", 0.03),
    ]
    assert values(found["influence"], "part") == [(0.75,)]
    assert values(found["compositions"], "accuracy") == [(0.4,)]
    shares = found["shares"].filter(carried="answer", control="none")
    assert values(shares, "depth share") == [(1, 0.2), (3, 0.7)]
