"""Compute the logits of a large program block by block, and store only those that are needed.

An array of all prompts times all outputs would take more memory and time than all other
arrays together. The projected logits equal a product ``X V`` except where a margin was
too small in one of the last iterations. This was the case for 5% of the entries in worlds
of generated companies. A :class:`Block` stores these entries; the iteration stores ``V``.

Shapes: ``M`` distinct prompts, ``m`` prompts of a block, ``P`` inputs, ``K`` outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from inweights.theory.programs.program import Program
from inweights.worlds.arrays import Bools, Float, Floats, Ids

#: Number of logits of a block (prompts times outputs), which fits in the cache.
BLOCK = 200_000
#: A level is exact in single precision if a step changes it by less.
EXACT = 1e-6
#: Largest expected decrease of a level between two iterations.
SLACK = 0.05
#: Maximum number of steps to find a level; Newton's method usually needs a few.
STEPS = 100


class Block:
    """A block of consecutive prompts, with the stored entries of their logits.

    Args:
        program: Program (2), whose constraints come from the facts.
        rows: Slice of the prompts.

    Attributes:
        right: Mask of the correct answers, ``[m, K]`` (``K`` outputs).
        at: Flat indices in ``[m, K]`` of the stored entries. An entry is stored if its
            multiplier is not 0, if its projected logit differs from ``X V`` (``V`` is
            :attr:`.Iteration.v`), or if it belongs to a correct answer.
        price: Multipliers of these entries, divided by the penalty.
        moved: Numbers that are added to the stored entries of ``X V`` before the next
            projection.
        level: Threshold ``t`` of the last :class:`~.operators.MarginProjection`, ``[m]``.
    """

    def __init__(self, program: Program, rows: slice) -> None:
        """Prepare the prompts ``rows`` (a slice) of a program, with stored multipliers of 0."""
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
        self.moved: Any = np.zeros(len(self.at), np.float32)
        self.price: Any = np.zeros_like(self.moved)
        self.level: Floats = np.full(len(self.right), -np.inf, np.float32)

    def logits(self, templates: Float[Floats, "P K"]) -> Float[Floats, "m K"]:
        """Return the logits of the ``m`` prompts of this block, in the precision of the templates.

        Args:
            templates: ``W``, ``[P, K]`` (``P`` input tokens, ``K`` outputs).

        Returns:
            Logits ``[m, K]``.
        """
        counts = self._counts.astype(templates.dtype, copy=False)
        made: Floats = counts @ templates[self._inputs]
        return made

    def add_by_input(self, total: Float[Floats, "P K"], rows: Floats) -> None:
        """Add each prompt's row to the rows of all its input tokens in a matrix, in place.

        Args:
            total: Matrix to which rows are added, ``[P, K]`` (``P`` input tokens, ``K``
                outputs).
            rows: A row for each of the ``m`` prompts of the block, ``[m, K]``.
        """
        total[self._inputs] += self._turned.astype(rows.dtype, copy=False) @ rows

    def worst_right(self, logits: Float[Floats, "m K"]) -> Float[Floats, " m"]:
        """Return the smallest logit of each prompt's correct answers, ``[m]``.

        Args:
            logits: Logits of the block's ``m`` prompts, ``[m, K]`` (``K`` outputs).
        """
        right = logits.reshape(-1)[self._right_at]
        worst: Floats = np.minimum.reduceat(right, self._right_from)
        return worst

    def without_right(self, logits: Float[Floats, "m K"]) -> Float[Floats, "m K"]:
        """Set the logits of correct answers to minus infinity, in place, and return the array.

        Args:
            logits: Logits of the block's ``m`` prompts, ``[m, K]`` (``K`` outputs);
                changed in place.
        """
        logits.reshape(-1)[self._right_at] = -np.inf
        return logits

    def least_margins(self, templates: Float[Floats, "P K"]) -> Float[Floats, " m"]:
        """Return the smallest margin of each of the block's prompts, in the templates' precision.

        Args:
            templates: ``W``, ``[P, K]`` (``P`` input tokens, ``K`` outputs).

        Returns:
            Margins ``[m]``.
        """
        logits = self.logits(templates)
        worst = self.worst_right(logits)
        best: Floats = self.without_right(logits).max(1)
        return worst - best

    def begin(self, prices: Float[Floats, "m K"]) -> None:
        """Store the initial multipliers of the margin constraints of the block's prompts.

        Args:
            prices: Multipliers, divided by the penalty of the augmented Lagrangian,
                ``[m, K]`` (``m`` prompts, ``K`` outputs).
        """
        flat = prices.reshape(-1)
        needed = flat != 0
        needed[self._right_at] = True
        self.at = np.flatnonzero(needed).astype(np.int32)
        self.price = flat[self.at]
        self.moved = self.price

    def split(
        self,
        v: Float[Floats, "P K"],
        relaxation: float,
        total: Float[Floats, "P K"],
        scratch: Float[Floats, " n"],
        tiny: float,
    ) -> None:
        """Project the block's logits to margins of at least 1, and update the multipliers.

        Args:
            v: Templates ``V``, ``[P, K]`` (``P`` input tokens, ``K`` outputs): the
                logits are ``X V``, where ``X`` counts the tokens of each prompt, plus
                the stored differences.
            relaxation: Factor of over-relaxation of the next iteration.
            total: Matrix ``[P, K]``. The projected logits of each prompt minus their
                multipliers are added to the rows of the prompt's tokens.
            scratch: Array of zeros with at least ``m K`` entries for the ``m`` prompts
                of the block. It is changed, but contains only zeros again on return.
            tiny: Differences from ``X V`` up to this size are not stored. For
                comparison, the required margin is 1.
        """
        logits = self.logits(v)
        flat = logits.reshape(-1)
        before = self.at.astype(np.int64)
        flat[before] += self.moved
        at, low = self._candidates(logits, before)
        scratch[before] = self.moved
        moved = scratch[at]
        scratch[before] = 0.0
        below = flat[at]
        right = self.right.reshape(-1)[at]
        projected = self._project(below, right, at, low)
        price = below - projected
        flat[at] = below - 2 * price
        self.add_by_input(total, logits)
        # The projected logits' distance from X V is multiplied by 1 - relaxation.
        moved = price + np.float32(1 - relaxation) * (moved - price)
        kept = (np.abs(moved) > tiny) | (price != 0) | right
        self.at = at[kept].astype(np.int32)
        self.price = price[kept]
        self.moved = moved[kept]

    def _candidates(
        self, logits: Float[Floats, "m K"], kept: Ids
    ) -> tuple[Ids, Float[Floats, " m"]]:
        """Return all logits that a projection may change, and lower bounds on the levels.

        Args:
            logits: Logits to project, ``[m, K]``.
            kept: Flat indices that are returned in any case.

        Returns:
            Sorted flat indices of the logits, and for each row a lower bound on its
            level.
        """
        least = self.worst_right(logits)
        low = np.maximum(least, self.level - np.float32(SLACK))
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
        """Return the projection of logits, which include all those that are too large.

        A row's correct answers are raised to at least a level, and its wrong ones
        lowered to at most one less. Newton's method finds the level that balances the
        two changes; a step outside the known bracket is replaced by bisection.

        Args:
            logits: The logits, one after another.
            right: Mask of the correct answers among them.
            at: Their flat indices in ``[m, K]``.
            low: Lower bound on the level of each row, ``[m]``.
        """
        starts = _starts(at, self.right.shape)
        count = np.diff(starts, append=len(at))
        points = np.where(right, logits, logits + 1)
        high = np.maximum.reduceat(np.where(right, -np.inf, points), starts)
        low, high = low.copy(), np.maximum(low, high)
        level = np.clip(self.level, low, high)
        for _ in range(STEPS):
            found = _balance(points, right, starts, level)
            low = np.where(found >= level, level, low)
            high = np.where(found <= level, level, high)
            found = np.where((found < low) | (found > high), (low + high) / 2, found)
            done = np.abs(found - level).max(initial=0.0) <= EXACT
            level = found
            if done:
                break
        self.level = level
        everywhere = np.repeat(level, count)
        raised = np.maximum(logits, everywhere)
        lowered = np.minimum(logits, everywhere - 1)
        projected: Floats = np.where(right, raised, lowered)
        return projected


def _balance(points: Floats, right: Bools, starts: Ids, level: Floats) -> Floats:
    """Return Newton's next estimate of the level at which equal amounts are raised and lowered.

    Args:
        points: Logits of correct answers, and logits of wrong answers plus 1.
        right: Mask of the correct answers among them.
        starts: Index of the first point of each row.
        level: Current level of each row, at least the level of its worst correct
            answer.
    """
    everywhere = np.repeat(level, np.diff(starts, append=len(points)))
    chosen = (points > everywhere) ^ right
    total = np.add.reduceat(np.where(chosen, points, 0), starts)
    number = np.add.reduceat(chosen.astype(points.dtype), starts)
    return total / number


def _starts(at: Ids, shape: tuple[int, ...]) -> Ids:
    """Return the position of each row's first entry in sorted flat indices of a matrix."""
    return np.searchsorted(at, np.arange(shape[0]) * shape[1])


def blocks_of(program: Program) -> list[Block]:
    """Return the blocks of a program: consecutive prompts whose logits fit in the cache.

    Args:
        program: The program, with ``M`` prompts and ``K`` outputs.
    """
    prompts, outputs = program.right.shape
    size = max(1, BLOCK // outputs)
    slices = [slice(at, min(at + size, prompts)) for at in range(0, prompts, size)]
    return [Block(program, rows) for rows in slices]


def prices_of(blocks: Sequence[Block]) -> sparse.csr_array:
    """Return the multipliers of ``S = X W``, divided by the penalty, as a sparse array ``[M, K]``.

    ``S`` is a copy of the logits ``X W`` that is projected onto the margin constraints.
    The penalty is that of the augmented Lagrangian.

    Args:
        blocks: All blocks of a program, in the order of their prompts.
    """
    outputs = blocks[0].right.shape[1]
    starts, columns, data = [], [], []
    before = 0
    for block in blocks:
        used = block.price != 0
        at = block.at[used]
        starts.append(before + _starts(at, block.right.shape))
        columns.append(at % outputs)
        data.append(block.price[used])
        before += len(at)
    indptr = np.append(np.concatenate(starts), before)
    shape = len(indptr) - 1, outputs
    return sparse.csr_array(
        (np.concatenate(data), np.concatenate(columns), indptr), shape=shape
    )
