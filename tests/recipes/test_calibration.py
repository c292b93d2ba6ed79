"""Predictions compared with outcomes: by counting pairs, by scikit-learn, and by hand."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inweights.recipes.shared.calibration import EDGES, agreement, reliability, roc_auc

scored = st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=1, max_size=15)


@given(scored, scored)
def test_area_is_the_chance_that_a_hit_outranks_a_miss(
    one: list[tuple[int, bool]], other: list[tuple[int, bool]]
) -> None:
    """Counted for all pairs, with ties; a group's area does not depend on other groups."""
    from sklearn import metrics  # its import takes a second

    rows = [("u", "x", s, float(h)) for s, h in one] + [
        ("v", "x", s, float(h)) for s, h in other
    ]
    table = pl.DataFrame(rows, schema=["at", "seed", "score", "hit"], orient="row")
    found = {
        r["at"]: r for r in roc_auc(table, "score", "hit", ["at", "seed"]).to_dicts()
    }
    for at, group in (("u", one), ("v", other)):
        hits, misses = ([s for s, h in group if h == came] for came in (True, False))
        if not hits or not misses:
            assert at not in found
            continue
        pairs = [(h > m) + 0.5 * (h == m) for h in hits for m in misses]
        assert found[at]["auc"] == pytest.approx(np.mean(pairs))
        assert found[at]["auc"] == pytest.approx(
            metrics.roc_auc_score([h for _, h in group], [s for s, _ in group])
        )


def test_half_a_hit_is_none_and_places_count_the_last_column() -> None:
    table = pl.DataFrame(
        {
            "seed": [0, 0, 1, 1, 0, 0],
            "world": ["ring", "ring", "ring", "ring", "grid", "grid"],
            "score": [0.0, 1.0, 1.0, 0.0, 0.0, 1.0],
            "hit": [0.5, 0.51, 0.0, 1.0, 1.0, 1.0],
        }
    )
    found = roc_auc(table, "score", "hit", ["seed", "world"])
    # All outcomes of the grid are positive, so it has no area but keeps its row.
    assert found.select("seed", "world", "auc", "place").rows() == [
        (0, "ring", 1.0, 1),
        (1, "ring", 0.0, 1),
    ]
    turned = roc_auc(table[::-1], "score", "hit", ["seed", "world"])
    assert turned["place"].to_list() == [2, 2]


def test_agreement_leaves_ties_out() -> None:
    table = pl.DataFrame(
        [
            ("u", "follows", 1.0),
            ("u", "follows", 0.0),
            ("u", "fails", 0.0),
            ("u", "fails", 0.5),
            ("u", "tied", 1.0),
            ("v", "tied", 0.0),
            ("v", "fails", 1.0),
            ("w", "tied", 1.0),
        ],
        schema=["at", "verdict", "hit"],
        orient="row",
    )
    assert agreement(table, ["at"]).rows() == [("u", 0.75), ("v", 0.0)]


def test_reliability_by_bins_of_the_margin() -> None:
    """Two bins of two groups; the position of a bin is the mean margin of its groups."""
    table = pl.DataFrame(
        {
            "at": ["u", "u", "u", "v", "v"],
            "predicted_margin": [0.3, 0.4, -0.3, 0.5 - 1e-9, -0.01],
            "hit": [1.0, 0.0, 0.0, 1.0, 1.0],
        }
    )
    found = reliability(table, ["at"])
    assert found.select("at", "bin", "hit", "queries").rows() == [
        ("u", 1, 0.0, 1),
        ("u", 7, 0.5, 2),
        ("v", 4, 1.0, 1),
        ("v", 7, 1.0, 1),
    ]
    assert found["predicted_margin"].to_list() == pytest.approx([-0.3, 0.4, -0.01, 0.4])


@pytest.mark.parametrize("end", range(1, len(EDGES) - 1))
def test_a_bin_begins_at_its_edge(end: int) -> None:
    edge = EDGES[end]
    table = pl.DataFrame(
        {"at": [0] * 3, "predicted_margin": [edge - 1e-9, edge, edge + 1e-9]}
    )
    found = reliability(table.with_columns(hit=pl.Series([0.0, 1.0, 1.0])), ["at"])
    assert found["bin"].to_list() == [end - 1, end]
    assert found["hit"].to_list() == [0.0, 1.0]


def test_margins_beyond_the_edges_have_a_bin() -> None:
    table = pl.DataFrame(
        {"at": [0, 0], "predicted_margin": [-7.0, 7.0], "hit": [0.0, 1.0]}
    )
    assert reliability(table, ["at"])["bin"].to_list() == [0, len(EDGES) - 2]
