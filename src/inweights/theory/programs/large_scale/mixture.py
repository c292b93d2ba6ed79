"""Combine multipliers of several iterations into multipliers that prove a better bound.

The multipliers of a large program oscillate around their limit for a long time, in a
few directions and differently in each iteration. Sums of multipliers with non-negative
weights are also multipliers, so :class:`Mixture` looks for the weights whose sum proves
the largest lower bound. Shapes: ``P`` inputs, ``K`` outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inweights.theory.programs.large_scale.pieces import largest_of_gram
from inweights.theory.programs.large_scale.state_file import State
from inweights.worlds.arrays import Float, Floats, Reals

#: Number of parts that are stored.
MOST = 12
#: Largest number of cuts (directions in which a sum was too large) that are stored.
CUTS = 60
#: Number of weights that are tried in each call.
ROUNDS = 6
#: Number of largest singular vectors of a sum that become cuts.
VECTORS = 6
#: The search for weights ends if the bound can increase by less than this fraction.
ENOUGH = 5e-4


@dataclass(frozen=True, eq=False)
class Part:
    """Multipliers of an iteration, or a part of them.

    Attributes:
        name: Key by which the caller identifies the multipliers: number of the
            iteration, and index of the part.
        slope: ``Xᵀ U``, where ``X`` counts the tokens of prompts and ``U`` is the dual
            matrix of the multipliers, ``[P, K]`` (``P`` input tokens, ``K`` outputs).
        total: Sum of the multipliers, to which the bound is proportional.
    """

    name: tuple[int, int]
    slope: Float[Reals, "P K"]
    total: float


class Mixture:
    """Weighted sum of multipliers that certifies the largest lower bound found so far.

    Args:
        most: Largest number of parts that are stored, by default 12.

    Attributes:
        bound: The certified lower bound.
        weights: Weight of each part of the best sum, keyed by the name of the part.
        parts: List of the stored parts (:class:`Part`), the oldest first.
    """

    def __init__(self, most: int = MOST) -> None:
        """Begin without parts, and with the bound 0; ``most`` is the largest number of parts."""
        self._most = most
        self.bound = 0.0
        self.weights: dict[tuple[int, int], float] = {}
        self.parts: list[Part] = []
        self._weights: Floats = np.zeros(0)
        self._cuts: Floats = np.zeros((0, 0))
        self._left: list[Floats] = []
        self._right: list[Floats] = []

    def add(self, parts: Sequence[Part]) -> None:
        """Add multipliers, and drop old ones with the smallest weight if there are too many.

        Args:
            parts: Multipliers of iterations, or parts of them. All new parts are kept,
                even if there are more of them than the limit allows.
        """
        for part in parts:
            along = [
                float(left @ (part.slope @ right))
                for left, right in zip(self._left, self._right, strict=True)
            ]
            self.parts.append(part)
            self._weights = np.append(self._weights, 0.0)
            self._cuts = np.column_stack([self._cuts, np.array(along)])
        totals = np.array([part.total for part in self.parts])
        # New parts are kept, whatever their weight.
        old = len(self.parts) - len(parts)
        while len(self.parts) > self._most and old > 0:
            least = int((self._weights * totals)[:old].argmin())
            del self.parts[least]
            self._weights = np.delete(self._weights, least)
            self._cuts = np.delete(self._cuts, least, axis=1)
            totals = np.delete(totals, least)
            old -= 1

    def mix(self) -> None:
        """Look for weights with which the sum of the stored parts certifies a larger bound.

        The cutting-plane method starts from the best weights. The attributes
        :attr:`bound` and :attr:`weights` change if the new bound is larger.
        """
        totals = np.array([part.total for part in self.parts])
        if not totals.sum() > 0:
            return
        best, weights = 0.0, self._weights
        if not weights @ totals > 0:
            weights = np.ones(len(totals))
        weights = weights / (weights @ totals)
        for _ in range(ROUNDS):
            size = self._cut(weights)
            if 1 / size > best:
                best, self._weights = 1 / size, weights
            limit, ideal = self._program(totals)
            if limit <= best * (1 + ENOUGH):
                break
            weights = (self._weights + ideal) / 2
        if best > self.bound:
            self.bound = best
            names = [part.name for part in self.parts]
            self.weights = dict(zip(names, self._weights.tolist(), strict=True))

    def state(self) -> State:
        """Return the arrays, keyed by name, that :meth:`restore` needs besides the parts."""
        return {
            "bound": np.asarray(self.bound),
            "names": np.array([part.name for part in self.parts]).reshape(-1, 2),
            "best": np.array([*self.weights], dtype=np.int64).reshape(-1, 2),
            "by": np.array([*self.weights.values()]),
            "weights": self._weights,
            "cuts": self._cuts,
            "left": np.array(self._left),
            "right": np.array(self._right),
        }

    def restore(self, state: State, parts: Sequence[Part]) -> None:
        """Restore the bound, parts and weights of a stored state.

        Args:
            state: Result of :meth:`state`.
            parts: The parts of the state, in the order of its array ``names``.
        """
        self.bound = float(state["bound"])
        self.parts = list(parts)
        names = [(int(a), int(b)) for a, b in state["best"]]
        self.weights = dict(zip(names, state["by"].tolist(), strict=True))
        self._weights, self._cuts = state["weights"], state["cuts"]
        self._left, self._right = [*state["left"]], [*state["right"]]

    def _cut(self, weights: Floats) -> float:
        """Return the operator norm of a weighted sum, and add cuts along its largest directions."""
        total = np.zeros_like(self.parts[0].slope)
        for part, weight in zip(self.parts, weights, strict=True):
            if weight > 0:
                total += np.float32(weight) * part.slope
        values, vectors = largest_of_gram(total.T @ total, VECTORS)
        left = total @ vectors
        left /= np.maximum(np.linalg.norm(left, axis=0), 1e-30)
        rows = [((part.slope @ vectors) * left).sum(0) for part in self.parts]
        found = np.vstack([self._cuts, np.column_stack(rows)])
        # Copied, so that products with them have the same bits after they were stored
        # and read.
        self._left = [*self._left, *left.T.copy()][-CUTS:]
        self._right = [*self._right, *vectors.T.copy()][-CUTS:]
        self._cuts = found[-CUTS:]
        return float(np.sqrt(max(values.max(), 1e-30)))

    def _program(self, totals: Floats) -> tuple[float, Floats]:
        """Return the largest bound that the current cuts allow, and its weights."""
        from scipy.optimize import linprog

        # The norm of a matrix is at least its absolute value along any pair of
        # directions.
        both, count = np.vstack([self._cuts, -self._cuts]), len(totals)
        found = linprog(
            np.append(np.zeros(count), 1.0),
            A_ub=np.column_stack([both, -np.ones(len(both))]),
            b_ub=np.zeros(len(both)),
            A_eq=np.append(totals, 0.0)[None],
            b_eq=[1.0],
            bounds=[(0, None)] * count + [(None, None)],
        )
        if not found.success:
            return np.inf, np.ones(count) / totals.sum()
        size = max(float(found.x[-1]), np.finfo(float).tiny)
        return 1 / size, np.maximum(found.x[:-1], 0.0)
