"""What the cases on the pretend accelerator share.

Kernels are those of the CPU, so that results are the same up to the order of sums: fp32 rounds each
by 6e-8, and they have a thousand terms at most.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from tests.accelerator.pretend import Accelerator

from inweights.worlds import TwoHop

ATOL, RTOL = 1e-5, 1e-4
TWO_HOP = [TwoHop(n=4, complexity=2, maps="permutation").build(seed) for seed in (1, 2)]


@pytest.fixture(autouse=True)
def accelerator() -> Iterator[None]:
    with Accelerator():
        yield


def both(table: pl.DataFrame, other: pl.DataFrame, tolerance: float = RTOL) -> None:
    assert_frame_equal(table, other, rel_tol=tolerance, abs_tol=ATOL)
