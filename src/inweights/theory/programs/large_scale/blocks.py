"""Hold the logits of a large program a block of prompts at a time, and few of them longer.

All prompts times all outputs take more memory, and more time to go through, than
everything else. Of the logits only those differ from a product ``X V`` whose margin was
too small in one of the last iterations: a twentieth in generated companies. A
:class:`Block` keeps these, and the iteration keeps ``V``.

Shapes: ``M`` distinct prompts, ``m`` those of a block, ``P`` inputs, ``K`` outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from inweights.theory.programs.program import Program
from inweights.worlds.arrays import Bools, Float, Floats, Ids

#: Prompts whose margins are computed at a time, times outputs: a block fits the cache.
BLOCK = 200_000
#: Change of a level from which on it is exact in single precision.
EXACT = 1e-6
#: How much less than before a level is expected to be, at most.
SLACK = 0.05
#: Steps to a level; Newton's method takes a few.
STEPS = 100


class Block:
    """Some prompts: which they are, products with their tokens, and what is kept of them.

    Args:
        program: Constraints.
        rows: Which prompts.

    Attributes:
        right: Which outputs are right, ``[m, K]``.
        at: Places of the logits that are kept, among all of the block: those with a
            multiplier, other than ``X V``, or right.
        price: Their multipliers, over the penalty.
    """

    def __init__(self, program: Program, rows: slice) -> None:
        self.rows = rows
        counts = program.counts[rows].tocsr().astype(np.float32)
        self._inputs: Ids = np.unique(counts.indices)
        self._counts = counts[:, self._inputs].tocsr()
        self._turned = self._counts.T.tocsr()
        self.right = program.right[rows]
        self._outputs = self.right.shape[1]
        self._right_at = np.flatnonzero(self.right)
        self._right_from = _starts(self._right_at, self.right.shape)
        self.at: Any = self._right_at.astype(np.int32)
        self._moved: Any = np.zeros(len(self.at), np.float32)
        self.price: Any = np.zeros_like(self._moved)
        self._level: Floats | None = None

    def logits(self, templates: Float[Floats, "P K"]) -> Float[Floats, "m K"]:
        """Return the logits of the prompts, in the precision of the templates."""
        counts = self._counts.astype(templates.dtype, copy=False)
        made: Floats = counts @ templates[self._inputs]
        return made

    def add_by_input(self, total: Float[Floats, "P K"], rows: Floats) -> None:
        """Add rows of the prompts to those of their inputs, in place.

        Args:
            total: Matrix to which rows are added, ``[P, K]``.
            rows: A row for each prompt of the block, ``[m, K]``.
        """
        total[self._inputs] += self._turned.astype(rows.dtype, copy=False) @ rows

    def worst_right(self, logits: Float[Floats, "m K"]) -> Float[Floats, " m"]:
        """Return the least logit of each prompt's right answers."""
        right = logits.reshape(-1)[self._right_at]
        worst: Floats = np.minimum.reduceat(right, self._right_from)
        return worst

    def without_right(self, logits: Float[Floats, "m K"]) -> Float[Floats, "m K"]:
        """Return the logits with those of right answers minus infinity, set in place."""
        logits.reshape(-1)[self._right_at] = -np.inf
        return logits

    def least_margins(self, templates: Float[Floats, "P K"]) -> Float[Floats, " m"]:
        """Return the least margin of each prompt, in the precision of the templates."""
        logits = self.logits(templates)
        worst = self.worst_right(logits)
        best: Floats = self.without_right(logits).max(1)
        return worst - best

    def begin(self, prices: Float[Floats, "m K"]) -> None:
        """Set the multipliers, over the penalty, of logits that are ``X V``."""
        flat = prices.reshape(-1)
        needed = flat != 0
        needed[self._right_at] = True
        self.at = np.flatnonzero(needed).astype(np.int32)
        self.price = flat[self.at]
        self._moved = self.price

    def split(
        self,
        v: Float[Floats, "P K"],
        relaxation: float,
        total: Float[Floats, "P K"],
        scratch: Float[Floats, " n"],
        tiny: float,
    ) -> None:
        """Project the logits on margins of at least 1, and update their multipliers.

        Args:
            v: What the logits are a product with, up to those that are kept.
            relaxation: Over-relaxation of the next iteration.
            total: Matrix to which the logits less the multipliers are added by input.
            scratch: Zeros, at least as many as the block has logits; zeros again after.
            tiny: Differences that are dropped, where margins are 1.
        """
        logits = self.logits(v)
        flat = logits.reshape(-1)
        before = self.at.astype(np.int64)
        flat[before] += self._moved
        at, low = self._candidates(logits, before)
        scratch[before] = self._moved
        moved = scratch[at]
        scratch[before] = 0.0
        below = flat[at]
        right = self.right.reshape(-1)[at]
        projected = self._project(below, right, at, low)
        price = below - projected
        flat[at] = below - 2 * price
        self.add_by_input(total, logits)
        # What the projected logits differ from X V by shrinks by (1 - relaxation).
        moved = price + np.float32(1 - relaxation) * (moved - price)
        kept = (np.abs(moved) > tiny) | (price != 0) | right
        self.at = at[kept].astype(np.int32)
        self.price = price[kept]
        self._moved = moved[kept]

    def _candidates(
        self, logits: Float[Floats, "m K"], kept: Ids
    ) -> tuple[Ids, Float[Floats, " m"]]:
        """Return all logits that a projection may change, and levels that are too low.

        Args:
            logits: What is projected.
            kept: Further places to return.

        Returns:
            Sorted places in the flat logits, and for each row a number that its level is
            not below.
        """
        least = self.worst_right(logits)
        low = least
        if self._level is not None:
            low = np.maximum(least, self._level - SLACK)
        while True:
            needed = logits > (low - 1)[:, None]
            needed.reshape(-1)[kept] = True
            at = np.flatnonzero(needed)
            right = self.right.reshape(-1)[at]
            points = np.where(right, logits.reshape(-1)[at], logits.reshape(-1)[at] + 1)
            found = _balance(points, right, _starts(at, logits.shape), low)
            wrong = (found < low) & (low > least)
            if not wrong.any():
                return at, low
            low = np.where(wrong, least, low)

    def _project(self, logits: Floats, right: Bools, at: Ids, low: Floats) -> Floats:
        """Return the projection of some logits, among them all that are too large.

        A row's right answers are raised to at least a level, and its wrong ones lowered
        to at most one less. Newton's method finds the level that balances the two; where
        it leaves what is known to enclose it, a bisection does.
        """
        starts = _starts(at, self.right.shape)
        count = np.diff(starts, append=len(at))
        points = np.where(right, logits, logits + 1)
        high = np.maximum.reduceat(np.where(right, -np.inf, points), starts)
        low, high = low.copy(), np.maximum(low, high)
        level = low if self._level is None else np.clip(self._level, low, high)
        for _ in range(STEPS):
            found = _balance(points, right, starts, level)
            low = np.where(found >= level, level, low)
            high = np.where(found <= level, level, high)
            found = np.where((found < low) | (found > high), (low + high) / 2, found)
            done = np.abs(found - level).max(initial=0.0) <= EXACT
            level = found
            if done:
                break
        self._level = level
        everywhere = np.repeat(level, count)
        raised = np.maximum(logits, everywhere)
        lowered = np.minimum(logits, everywhere - 1)
        projected: Floats = np.where(right, raised, lowered)
        return projected


def _balance(points: Floats, right: Bools, starts: Ids, level: Floats) -> Floats:
    """Return the level that balances what the given one raises and lowers.

    Args:
        points: Logits of right answers, and those of others plus 1.
        right: Which of them are right.
        starts: Where each row begins.
        level: A level for each row, at least that of its worst right answer.
    """
    everywhere = np.repeat(level, np.diff(starts, append=len(points)))
    chosen = (points > everywhere) ^ right
    total = np.add.reduceat(np.where(chosen, points, 0), starts)
    number = np.add.reduceat(chosen.astype(points.dtype), starts)
    return total / number


def _starts(at: Ids, shape: tuple[int, ...]) -> Ids:
    """Return where each row begins in sorted places of a flat matrix."""
    return np.searchsorted(at, np.arange(shape[0]) * shape[1])


def blocks_of(program: Program) -> list[Block]:
    """Return the prompts in blocks whose logits fit a cache."""
    prompts, outputs = program.right.shape
    size = max(1, BLOCK // outputs)
    slices = [slice(at, min(at + size, prompts)) for at in range(0, prompts, size)]
    return [Block(program, rows) for rows in slices]


def prices_of(blocks: Sequence[Block]) -> sparse.csr_array:
    """Return the multipliers of all prompts, sparse ``[M, K]``, over the penalty."""
    outputs = blocks[0].right.shape[1]
    starts, columns = [], []
    before = 0
    for block in blocks:
        starts.append(before + _starts(block.at, block.right.shape))
        columns.append(block.at % outputs)
        before += len(block.at)
    indptr = np.append(np.concatenate(starts), before)
    data = np.concatenate([block.price for block in blocks])
    shape = len(indptr) - 1, outputs
    return sparse.csr_array((data, np.concatenate(columns), indptr), shape=shape)
