"""Tolerances for sums of the same numbers in different orders, from operation counts.

Processors, BLAS kernels and numbers of threads differ in the order of additions. Each
rounding changes a number by at most a factor ``1 ± u``, with u = 2^-24 in single precision.
The relative error of n successive roundings of random sign is at most ``10 √n u``, with a
failure probability below ``2 n exp(-50)`` (Higham and Mary 2019, theorem 2.4 with λ = 10).
Sums of the same terms in two orders differ by at most twice that, in units of the largest
term.
"""

from __future__ import annotations

from math import sqrt

from torch import Tensor, nn
from torch.testing import assert_close

#: Half the distance from 1 to the next number of single precision.
UNIT = 2.0**-24


def relative(roundings: int) -> float:
    """Return the relative tolerance for two results of this many successive roundings each."""
    return 2 * 10 * sqrt(roundings) * UNIT


def of_forward(model: nn.Module, labels: int = 0) -> float:
    """Return the tolerance for the results of a forward pass, and for its mean loss.

    Each parameter is used by one product, whose sums are at most as long as its longest
    side.
    """
    sides = [max(p.shape[1:]) for p in model.parameters() if p.dim() > 1]
    return relative(sum(sides) + labels)


def of_training(model: nn.Module, labels: int, steps: int) -> float:
    """Return the tolerance for losses and parameters after some steps.

    A step has three products per parameter: forward, backward to the states, and
    backward to the parameters.
    """
    return of_forward(model, labels) * sqrt(3 * steps)


def assert_same(one: Tensor, other: Tensor, tolerance: float) -> None:
    """Compare in units of the largest element, since elements are sums of terms of that size."""
    size = float(other.detach().abs().max()) if other.numel() else 0.0
    assert_close(one, other, rtol=0.0, atol=tolerance * size)
