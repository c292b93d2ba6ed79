"""Bound the optimum of a large program from both sides, near a point of the iteration.

:class:`Bounds` keeps the best matrix and the best multipliers so far. Both are repaired
before they are judged: what the iteration is slow to find is how much each relation
favours its range, and that is a few numbers (:class:`~.relations.Relations`).

Shapes: ``M`` distinct prompts, ``P`` inputs, ``K`` outputs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from inweights.theory.programs.large_scale.iteration import Iteration
from inweights.theory.programs.large_scale.pieces import norm_of_gram, singular_values
from inweights.theory.programs.operators import operator_norm
from inweights.worlds.arrays import Float, Floats

#: Times that missing margins are repaired before the matrix is scaled.
REPAIRS = 3
#: Weights of rivals beyond the range that are tried, by halving the interval.
LEAST_WEIGHT = 0.3
TRIES = 6
#: How much larger the norm of a second solution may be.
NEAR = 1e-2


class Bounds:
    """The best bounds so far.

    Args:
        run: The iteration; its blocks and relations are used.

    Attributes:
        templates: The best feasible matrix, ``[P, K]``; ``None`` without any.
        another: The other candidate of the last evaluation.
        optimum: Its nuclear norm.
        bound: The best lower bound.
        dual: The multipliers that prove it, after :meth:`check`.
        rank: Numerical rank of ``templates``.
    """

    def __init__(self, run: Iteration) -> None:
        self.blocks = run.blocks
        self.relations = run.relations
        self._raised = run.raised
        self._shape = run.program.shape
        self.templates: Floats | None = None
        self.another: Floats | None = None
        self.optimum = np.inf
        self.bound = 0.0
        self.rank = 0
        self.dual: Floats = np.zeros((1, 1), np.float32)
        self._weight = 1.0

    @property
    def gap(self) -> float:
        """The certified relative gap."""
        return 1.0 - self.bound / self.optimum if np.isfinite(self.optimum) else np.inf

    def take_upper(self, templates: Float[Floats, "P K"]) -> float:
        """Take a matrix if it is the best so far, once it is repaired.

        Args:
            templates: Any matrix.

        Returns:
            The nuclear norm of what it became, by its least margin; infinite where that
            is not positive.
        """
        repaired, least = self._repair(templates)
        if not least > 0:
            return np.inf
        values = singular_values(repaired)
        optimum = float(values.sum()) / least
        if optimum < self.optimum:
            self.templates = repaired / np.float32(least)
            self.optimum = optimum
            self.rank = int((values > 1e-4 * values[-1]).sum())
        return optimum

    def take_lower(self, prices: Float[Floats, "M K"]) -> None:
        """Take multipliers if they prove the best bound so far, once they are repaired.

        Rivals beyond the range of a prompt's relation get the weight that proves most.

        Args:
            prices: Of any scale, as :meth:`~.relations.Relations.divide` takes them.
        """
        near, far, totals = self._slopes(prices)
        grams = near.T @ near, near.T @ far, far.T @ far
        cross = grams[1] + grams[1].T

        def proved(weight: float) -> float:
            small = np.float32(weight)
            gram = grams[0] + small * cross + small**2 * grams[2]
            total = totals[0] + weight * totals[1]
            return float(total / max(norm_of_gram(gram), 1e-30))

        weight, bound = _largest(proved, LEAST_WEIGHT, 1.0, TRIES)
        if bound > self.bound:
            self.bound = bound
            self.dual = prices.copy()
            self._weight = weight

    def _slopes(self, prices: Floats) -> tuple[Floats, Floats, tuple[float, float]]:
        """Return ``Xᵀ U`` within ranges and beyond, and the sums of the multipliers."""
        near = np.zeros(self._shape, prices.dtype)
        far = np.zeros_like(near)
        sums = [0.0, 0.0]
        for block in self.blocks:
            parts = self.relations.divide(prices[block.rows], block.rows)
            for place, (total, part) in enumerate(zip((near, far), parts, strict=True)):
                block.add_by_input(total, part)
                sums[place] += float(part[block.right].sum(dtype=float))
        return near, far, (sums[0], sums[1])

    def _repair(self, templates: Floats) -> tuple[Floats, float]:
        """Raise ranges, then right answers, where margins are below 1; return the least one."""
        templates = templates.copy()
        missing = np.zeros(len(self.relations.inputs))
        for block in self.blocks:
            logits = block.logits(templates)
            found = self.relations.missing(logits, block.rows, 1.0)
            np.maximum(missing, found, out=missing)
        for place, relation in enumerate(self.relations.inputs.tolist()):
            raised = np.float32(missing[place]) * self.relations.ranges[place]
            templates[relation] += raised
        for attempt in range(REPAIRS + 1):
            least = self._least_margins(templates)
            if attempt == REPAIRS or least.min() >= 1:
                break
            prompts, inputs, outputs, share = self._raised
            more = np.zeros_like(templates)
            np.maximum.at(
                more, (inputs, outputs), np.maximum(0, 1 - least)[prompts] * share
            )
            templates += more
        return templates, float(least.min())

    def _least_margins(self, templates: Floats) -> Floats:
        """Return the least margin of each prompt, in the precision of the templates."""
        return np.concatenate([block.least_margins(templates) for block in self.blocks])

    def check(self) -> None:
        """Compute both bounds again in double precision, for what is returned."""
        templates = np.asarray(self.templates, dtype=float)
        least = float(self._least_margins(templates).min())
        self.templates = templates / least
        self.optimum = float(singular_values(self.templates).sum())
        slope = np.zeros(self._shape)
        total = 0.0
        for block in self.blocks:
            prices = self.dual[block.rows].astype(float)
            near, far = self.relations.divide(prices, block.rows)
            dual = near + self._weight * far
            total += float(dual[block.right].sum())
            block.add_by_input(slope, dual)
            self.dual[block.rows] = dual
        size = operator_norm(slope)
        self.bound = total / size
        self.dual /= np.float32(size)
        if self.another is not None:
            another, least = self._repair(self.another)
            norm = float(singular_values(another).sum())
            near_enough = norm <= least * self.optimum * (1 + max(self.gap, NEAR))
            self.another = another / np.float32(least) if near_enough else None


def _largest(
    function: Callable[[float], float], low: float, high: float, tries: int
) -> tuple[float, float]:
    """Return where a function with one maximum is largest, and its value there."""
    ratio = (np.sqrt(5) - 1) / 2
    tried = {at: function(at) for at in (high,)}
    left = high - ratio * (high - low)
    right = low + ratio * (high - low)
    for _ in range(tries):
        for at in (left, right):
            if at not in tried:
                tried[at] = function(at)
        if tried[left] > tried[right]:
            high, right = right, left
            left = high - ratio * (high - low)
        else:
            low, left = left, right
            right = low + ratio * (high - low)
    best = max(tried, key=lambda at: tried[at])
    return best, tried[best]
