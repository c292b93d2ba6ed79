"""Results of users' functions: single values, strings, and side effects."""

from __future__ import annotations

import subprocess
import sys
from math import inf, isnan, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import inweights as iw
from inweights.errors import DataError

#: Studies in tests are too small for their models to memorise the facts.
pytestmark = pytest.mark.filterwarnings("ignore::inweights.errors.CautionWarning")


def said(seed: int, at: Any) -> str:
    """Return the argument as a string."""
    return repr(at)


def same(seed: int, at: Any) -> Any:
    """Return the argument."""
    return at


def test_five_values_give_five_texts(tmp_path: Path) -> None:
    over = {"at": [1.0, inf, -inf, None, nan]}
    table = iw.sweep(said, over=over, seeds=1, runs=tmp_path, progress=False)
    assert table.columns == ["at", "seed", "result"]
    assert table["result"].to_list() == ["1.0", "inf", "-inf", "None", "nan"]


@pytest.mark.parametrize(
    "number", [2, 0.5, True, np.float64(0.5), np.int8(3), np.bool_(True), np.array(0.5)]
)
def test_a_number_is_a_row(number: Any, tmp_path: Path) -> None:
    table = iw.sweep(
        same, over={"at": [number]}, seeds=2, runs=tmp_path, progress=False
    )
    assert table["result"].to_list() == [number, number]
    assert table["result"].dtype.is_numeric() or isinstance(table["result"][0], bool)


def test_a_tensor_of_one_number_is_one(tmp_path: Path) -> None:
    table = iw.sweep(
        lambda seed: torch.tensor(seed * 0.5), seeds=2, runs=tmp_path, progress=False
    )
    assert table["result"].to_list() == [0.0, 0.5]
    with pytest.raises(
        DataError, match="returned nothing; return a number, a string, a mapping"
    ):
        iw.sweep(lambda seed: None, seeds=2, runs=tmp_path, progress=False)
    with pytest.warns(match="NaN|nan"):
        table = iw.sweep(lambda seed: nan, seeds=2, runs=tmp_path, progress=False)
    assert all(map(isnan, table["result"]))


def test_a_text_is_neither_drawn_nor_judged(tmp_path: Path) -> None:
    table = iw.sweep(
        said, over={"at": [1.0, 2.0]}, seeds=2, runs=tmp_path, progress=False
    )
    with pytest.raises(
        DataError,
        match="'result' contains text, which can be neither drawn nor averaged",
    ):
        iw.plot(table)
    with pytest.raises(
        DataError, match="needs numbers as y, but column 'result' contains strings"
    ):
        iw.plot(table, y="result")
    is_one = iw.experiments.number("result", "result") >= 1.0
    with pytest.raises(DataError, match="'result' contains String"):
        iw.claim(table, is_one, "The texts '1.0' and '2.0' are no numbers.")


SCRIPT = """
import sys
import inweights as iw

calls = []
total = 0

def noting(seed, at):
    calls.append(at)
    return at

def counting(seed, at):
    global total
    total += 1
    return at

iw.sweep({name}, over={{"at": [1, 2]}}, seeds=1, runs=sys.argv[1], progress=False)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "held"), [("noting", "calls"), ("counting", "total")])
def test_a_script_that_changes_what_it_uses_is_told_what(
    name: str, held: str, tmp_path: Path
) -> None:
    """Objects that a script's function uses are part of its key, so changing them is reported."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(name=name), encoding="utf-8")
    words = [sys.executable, str(script), str(tmp_path / "runs")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"__main__:{name} changed after this work was planned" in done.stderr
    assert f"Your code uses {held}, whose content is part of the key" in done.stderr
