"""Wide tables equal those of pandas and have distinct names for roles and settings."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import inweights as iw
from inweights.errors import DataError

ROLES = ("first_hop", "identity", "composition")


def study(setting: str = "identity", roles: tuple[str, ...] = ROLES) -> pl.DataFrame:
    """Return a table like that of a sweep over one setting, with random numbers."""
    draw = np.random.default_rng(0)
    rows = [
        {setting: value, "seed": seed, "role": role, "accuracy": float(draw.random())}
        for value in (0.0, 0.5, 1.0)
        for seed in (0, 1, 2)
        for role in roles
        if (value, role) != (0.0, "identity")  # there is no such fact
    ]
    return pl.DataFrame(rows)


@pytest.mark.parametrize("setting", ["identity", "n", "composition"])
def test_a_wide_table_has_the_numbers_of_pandas(setting: str) -> None:
    pandas = pytest.importorskip("pandas")
    table = study(setting)
    theirs = pandas.DataFrame(table.to_dict(as_series=False)).pivot(
        index=[setting, "seed"], columns="role", values="accuracy"
    )
    wide = iw.pivot(table, "accuracy")
    assert len(set(wide.columns)) == wide.width == 5
    for role in ROLES:
        column = f"role = {role}" if role == setting else role
        ours = wide[column].fill_null(float("nan")).to_numpy()
        assert np.array_equal(ours, theirs[role].to_numpy(), equal_nan=True)


def test_a_frame_of_pandas_is_one_too() -> None:
    pytest.importorskip("pandas")
    table = study()
    assert iw.pivot(table.to_pandas(), "accuracy").equals(iw.pivot(table, "accuracy"))


def test_what_becomes_columns_need_be_no_text() -> None:
    wide = iw.pivot(
        study().filter(role="composition"), "accuracy", on="identity", index=["seed"]
    )
    assert wide.columns == ["seed", "identity = 0", "identity = 0.5", "identity = 1"]
    probed = pl.DataFrame(
        {"replica": [0, 0], "role": ["a", "b"], "accuracy": [0.0, 1.0]}
    )
    assert iw.pivot(probed, "accuracy").rows() == [(0, 0.0, 1.0)]
    odd = pl.DataFrame(
        {"seed": [0, 0], "role": ["accuracy", ""], "accuracy": [0.0, 1.0]}
    )
    assert iw.pivot(odd, "accuracy").columns == ["seed", "accuracy", ""]


@pytest.mark.parametrize(
    ("about", "words"),
    [
        (
            {"index": ["identity"]},
            "'accuracy' has 3 numbers for identity 0, role first_hop.*seed:",
        ),
        ({"on": "rol"}, "unknown column 'rol'; did you mean 'role'"),
        ({"index": ["sed"]}, "unknown column 'sed'; did you mean 'seed'"),
    ],
)
def test_what_would_be_averaged_is_refused(about: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError, match=words):
        iw.pivot(study(), "accuracy", **about)


def test_a_drawing_says_which_is_the_role() -> None:
    for setting, label in [("identity", "role = identity"), ("n", "identity")]:
        figure = iw.plot(study(setting), x=setting, y="accuracy")
        texts = [
            text.get_text() for legend in figure.legends for text in legend.get_texts()
        ]
        texts += [
            text.get_text()
            for axes in figure.axes
            if axes.get_legend()
            for text in axes.get_legend().get_texts()
        ]
        assert label in texts
        assert "composition" in texts
