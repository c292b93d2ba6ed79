"""Shared parts of the tests on an accelerator, which the variable ``DEVICE`` names.

Without the variable, the accelerator is simulated with the kernels of the CPU. Results are
then equal up to the order of sums: fp32 rounds each term by 6e-8, and sums have at most a
thousand terms.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import nullcontext
from importlib import import_module
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from inweights.worlds import TwoHop

PRETENDED = "DEVICE" not in os.environ
#: Imported only where it is used, since it needs a version of PyTorch that accepts
#: backends written in Python.
_pretend: Any = import_module("tests.accelerator.pretend") if PRETENDED else None
DEVICE: str = _pretend.NAME if PRETENDED else os.environ["DEVICE"]
Accelerator: Any = _pretend.Accelerator if PRETENDED else nullcontext
counted: Any = _pretend.counted if PRETENDED else nullcontext
#: Mark of tests that count operations, which a real device does not, or compare bits.
counts = pytest.mark.skipif(not PRETENDED, reason="a real accelerator counts nothing")
repeats = pytest.mark.skipif(
    not PRETENDED, reason="a GPU adds in another order each time"
)
ATOL, RTOL = 1e-5, 1e-4
TWO_HOP = [TwoHop(n=4, complexity=2, maps="permutation").build(seed) for seed in (1, 2)]


@pytest.fixture(autouse=True)
def accelerator() -> Iterator[None]:
    with Accelerator():
        yield


def both(table: pl.DataFrame, other: pl.DataFrame, tolerance: float = RTOL) -> None:
    assert_frame_equal(table, other, rel_tol=tolerance, abs_tol=ATOL)
