"""How far two sums of the same numbers may lie apart: tolerances that follow from counting.

Another processor, BLAS kernel or number of threads adds in another order. Each rounding
changes a number by ``u`` of it at most, 2^-24 in single precision; n of them, one after
another and of no common sign, by ``10 √n u``, but for a chance below ``2 n exp(-50)``
(Higham and Mary 2019, theorem 2.4 with λ = 10). What two orders make of the same terms
lies apart by twice that, in units of the largest term.
"""

from __future__ import annotations

from math import sqrt

from torch import Tensor, nn
from torch.testing import assert_close

#: Half the distance from 1 to the next number of single precision.
UNIT = 2.0**-24


def relative(roundings: int) -> float:
    """Relative tolerance for two results of so many roundings, one after another, each."""
    return 2 * 10 * sqrt(roundings) * UNIT


def of_forward(model: nn.Module, labels: int = 0) -> float:
    """Tolerance for what a forward pass gives, and for its mean loss over some labels.

    Each parameter is read by one product, whose sums are no longer than its longest
    side.
    """
    sides = [max(p.shape[1:]) for p in model.parameters() if p.dim() > 1]
    return relative(sum(sides) + labels)


def of_training(model: nn.Module, labels: int, steps: int) -> float:
    """Tolerance for losses and parameters after some steps.

    A step goes forward, back to the states and back to the parameters: three products
    for one.
    """
    return of_forward(model, labels) * sqrt(3 * steps)


def assert_same(one: Tensor, other: Tensor, tolerance: float) -> None:
    """Compare in units of the largest element: each is a sum of terms of about that size."""
    size = float(other.detach().abs().max()) if other.numel() else 0.0
    assert_close(one, other, rtol=0.0, atol=tolerance * size)
