"""What the cases on an accelerator share; the variable ``DEVICE`` names it, or it is pretended.

The pretend one has the kernels of the CPU, so that results are the same up to the order
of sums: fp32 rounds each by 6e-8, and they have a thousand terms at most.
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
#: Only imported where it is used: it needs a torch that takes backends written in
#: Python.
_pretend: Any = import_module("tests.accelerator.pretend") if PRETENDED else None
DEVICE: str = _pretend.NAME if PRETENDED else os.environ["DEVICE"]
Accelerator: Any = _pretend.Accelerator if PRETENDED else nullcontext
counted: Any = _pretend.counted if PRETENDED else nullcontext
#: Of tests that count, which a real device does not, and that compare bits.
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
