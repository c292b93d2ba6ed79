"""The soft program at a point: its value and slope on the factors, and bounds on its optimum.

Shapes: ``M`` distinct prompts, ``P`` inputs, ``K`` outputs, ``F`` rank of the factors.
"""

from dataclasses import dataclass

import numpy as np

from inweights.theory.programs.operators import operator_norm
from inweights.theory.programs.program import Program
from inweights.worlds.arrays import Floats

#: Directions weaker than this, against the strongest, carry nothing.
WEAK = 1e-8


@dataclass(frozen=True)
class Point:
    """A point with its certificate, and what the next factors are made of."""

    templates: Floats
    optimum: float
    bound: float
    dual: Floats
    rank: int
    slope: Floats

    @property
    def gap(self) -> float:
        return 1.0 - self.bound / self.optimum if self.optimum > 0 else 0.0


class Problem:
    """Cross-entropy, its slope and both bounds."""

    def __init__(self, program: Program, decay: float) -> None:
        self.counts, self.turned = program.counts, program.counts.T.tocsr()
        self.shape, self.decay = program.shape, decay
        facts = program.stated.sum(1)
        self.weights, self.shares = facts / facts.sum(), program.stated / facts[:, None]

    def entropy(self, logits: Floats) -> tuple[float, Floats]:
        """Mean cross-entropy, and the softmax."""
        own = (self.shares * logits).sum(1)
        top = logits.max(1, keepdims=True)
        chances = np.exp(logits - top)
        total = chances.sum(1, keepdims=True)
        chances /= total
        return float(self.weights @ (np.log(total[:, 0]) + top[:, 0] - own)), chances

    def slope(self, chances: Floats) -> Floats:
        """Slope of the cross-entropy by the logits."""
        return self.weights[:, None] * (chances - self.shares)

    def objective(self, x: Floats) -> tuple[float, Floats]:
        """The objective on the factors, ``[P + K, F]`` one below the other, and its slope."""
        factors = x.reshape(sum(self.shape), -1)
        left, right = factors[: self.shape[0]], factors[self.shape[0] :]
        hidden = self.counts @ left
        value, chances = self.entropy(hidden @ right.T)
        slope = self.slope(chances)
        by_left, by_right = self.turned @ (slope @ right), slope.T @ hidden
        by_x = np.concatenate([by_left, by_right]) + self.decay * factors
        return value + self.decay / 2 * float(x @ x), by_x.ravel()

    def first_factors(self) -> Floats:
        """The factors of one step of steepest descent from nothing; none where nothing pays."""
        _, even = self.entropy(np.zeros(self.shares.shape))
        left, values, right = np.linalg.svd(-(self.turned @ self.slope(even)), full_matrices=False)
        if values[0] <= self.decay:
            return np.zeros((sum(self.shape), 0))
        kept = values > WEAK * values[0]
        root = np.sqrt(values[kept] / (4 * self.weights.max()))
        return np.concatenate([left[:, kept] * root, right[kept].T * root])

    def factors(self, templates: Floats) -> Floats:
        """Balanced factors of templates."""
        left, values, right = np.linalg.svd(templates, full_matrices=False)
        kept = values > WEAK * values[0]
        root = np.sqrt(values[kept])
        return np.concatenate([left[:, kept] * root, right[kept].T * root])

    def certify(self, factors: Floats) -> Point:
        """Both bounds at a point."""
        left, right = factors[: self.shape[0]], factors[self.shape[0] :]
        templates = left @ right.T
        value, chances = self.entropy(self.counts @ templates)
        one, other = (np.asarray(np.linalg.qr(side, mode="r")) for side in (left, right))
        values = np.linalg.svd(one @ other.T, compute_uv=False)
        slope = self.turned @ self.slope(chances)
        shift = min(1.0, self.decay / max(operator_norm(slope), 1e-300))
        dual = self.shares + shift * (chances - self.shares)
        logs = np.log(dual, out=np.zeros_like(dual), where=dual > 0)
        rank = int((values > WEAK * values[0]).sum()) if len(values) and values[0] > 0 else 0
        return Point(
            templates=templates,
            optimum=value + self.decay * float(values.sum()),
            bound=max(0.0, -float(self.weights @ (dual * logs).sum(1))),
            dual=dual,
            rank=rank,
            slope=slope,
        )

    def widen(self, factors: Floats, point: Point) -> Floats | None:
        """Add the directions that would still pay; none where no direction does."""
        left, values, right = np.linalg.svd(-point.slope, full_matrices=False)
        pays = values > self.decay * (1 + 1e-9)
        if not pays.any():
            return None
        size = 1e-3 * max(float(np.abs(factors).max(initial=0.0)), 1e-3)
        return np.hstack([factors, size * np.concatenate([left[:, pays], right[pays].T])])


def better(one: Point, other: Point) -> Point:
    """The lower point, with the higher of the two bounds."""
    lower = other if other.optimum <= one.optimum else one
    higher = other if other.bound >= one.bound else one
    return Point(lower.templates, lower.optimum, higher.bound, higher.dual, lower.rank, lower.slope)
