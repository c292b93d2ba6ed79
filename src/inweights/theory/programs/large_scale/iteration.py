"""Make one iteration of the splitting of program (2) in single precision, block by block.

:class:`Blocks` are the prompts in parts that fit a cache, and :class:`Iteration` is the
state of the splitting that :mod:`~.splitting` explains, from a start near the optimum.
Both hold as few arrays of all prompts times all outputs as they can: three.

Shapes: ``M`` distinct prompts, ``P`` inputs, ``K`` outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import splu

from inweights.theory.programs.large_scale.pieces import own_inputs, start_near
from inweights.theory.programs.large_scale.relations import Relations
from inweights.theory.programs.operators import MarginProjection
from inweights.theory.programs.program import Program
from inweights.worlds.arrays import Bools, Float, Floats, Ids

#: Penalty of the augmented Lagrangian up to so many prompts; with more it falls with the
#: root of their number, as singular values grow. The weight of ``S = X W`` against
#: ``Z = W``, and over-relaxation. Measured on generated companies of 200 to 20,000 facts.
PENALTY = 0.2
PENALTY_TO = 2_000
COUPLING = 0.2
RELAXATION = 1.7
#: Prompts whose margins are computed at a time, times outputs: a block fits the cache.
BLOCK = 200_000
#: Inputs that share prompts, up to which these are solved for as a dense matrix.
DENSE = 2_000
#: Singular values below this share of the largest one are rounding.
ROUNDING = 1e-3


class Block:
    """Some prompts: which they are, and products with their tokens.

    Args:
        program: Constraints.
        rows: Which prompts.
    """

    def __init__(self, program: Program, rows: slice) -> None:
        self.rows = rows
        counts = program.counts[rows].tocsr().astype(np.float32)
        self._inputs: Ids = np.unique(counts.indices)
        self._counts = counts[:, self._inputs].tocsr()
        self._turned = self._counts.T.tocsr()
        self.right = program.right[rows]

    def logits(self, templates: Float[Floats, "P K"]) -> Float[Floats, "m K"]:
        """Return the logits of the prompts, in the precision of the templates."""
        counts = self._counts.astype(templates.dtype)
        made: Floats = counts @ templates[self._inputs]
        return made

    def add_by_input(self, total: Float[Floats, "P K"], rows: Floats) -> None:
        """Add rows of the prompts to those of their inputs, in place.

        Args:
            total: Matrix to which rows are added, ``[P, K]``.
            rows: A row for each prompt of the block, ``[m, K]``.
        """
        total[self._inputs] += self._turned.astype(rows.dtype) @ rows

    def least_margins(self, templates: Float[Floats, "P K"]) -> Float[Floats, " m"]:
        """Return the least margin of each prompt, in the precision of the templates."""
        logits = self.logits(templates)
        worst = np.where(self.right, logits, np.inf).min(1)
        best: Floats = np.where(self.right, -np.inf, logits).max(1)
        return worst - best


def blocks_of(program: Program) -> list[Block]:
    """Return the prompts in blocks whose logits fit a cache."""
    prompts, outputs = program.right.shape
    size = max(1, BLOCK // outputs)
    slices = [slice(at, min(at + size, prompts)) for at in range(0, prompts, size)]
    return [Block(program, rows) for rows in slices]


class Iteration:
    """State of the splitting; :meth:`advance` makes one iteration.

    Args:
        program: Constraints.

    Attributes:
        z: The shrunk templates, ``[P, K]``.
        values: Positive singular values of ``z``.
        z_price: Multiplier of ``Z = W``, over the penalty, ``[P, K]``.
        s: The projected logits, ``[M, K]``.
        s_price: Multiplier of ``S = X W``, over the penalty, ``[M, K]``.
        made: Iterations made.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        more = max(1.0, len(program.right) / PENALTY_TO)
        self._penalty = PENALTY / np.sqrt(more)
        self.blocks = blocks_of(program)
        self.relations = Relations(program)
        self.raised = own_inputs(program)
        self.made = 0
        self._project: list[Callable[[Floats], Floats]] = [
            MarginProjection(program, block.rows) for block in self.blocks
        ]
        self._solve = _inverse(program, self.relations.own)
        self._begin(start_near(program, self.raised))

    def _begin(self, start: Floats) -> None:
        """Start from templates and the multipliers that belong to them if all were tight."""
        start = start - start.mean(1, keepdims=True, dtype=np.float32)
        values, vectors = _gram_vectors(start)
        kept = vectors[:, values > ROUNDING * values[-1]]
        slope = start @ ((kept / values[values > ROUNDING * values[-1]]) @ kept.T)
        self.z = start
        self.z_price = slope / np.float32(self._penalty)
        self.s: Any = np.empty(self.program.right.shape, np.float32)
        self.s_price: Any = np.empty_like(self.s)
        prompts, inputs, outputs, _ = self.raised
        gains: Any = np.zeros(len(self.s), np.float32)
        np.maximum.at(gains, prompts, slope[inputs, outputs])
        shares = self.relations.shares(gains)
        for block in self.blocks:
            rows = block.rows
            losses = np.where(block.right, 0.0, shares[self.relations.place[rows]])
            losses *= gains[rows, None]
            each = losses.sum(1) / block.right.sum(1)
            dual = np.where(block.right, each[:, None], -losses)
            self.s[rows] = block.logits(start)
            self.s_price[rows] = dual / np.float32(-self._penalty * COUPLING)
        self._split(start + self.z_price, None)

    def advance(self) -> None:
        """Make one over-relaxed iteration."""
        target = self.z - self.z_price + np.float32(COUPLING) * self._by_logits
        w = self._solve(target)
        over = np.float32(RELAXATION)
        self._split(self.z + self.z_price + over * (w - self.z), w)
        self.made += 1

    def _split(self, above: Floats, w: Floats | None) -> None:
        """Apply the operators to both halves; ``w`` is what the logits are moved towards."""
        self.z, self.values = _shrink(above, 1.0 / self._penalty)
        self.z_price = above - self.z
        self._by_logits: Floats = np.zeros_like(self.z)
        for block, project in zip(self.blocks, self._project, strict=True):
            s = self.s[block.rows]
            below = self.s_price[block.rows]
            if w is None:
                below += s
            else:
                below += np.float32(1.0 - RELAXATION) * s
                below += np.float32(RELAXATION) * block.logits(w)
            s[:] = project(below)
            below -= s
            block.add_by_input(self._by_logits, s - below)


def _gram_vectors(matrix: Floats) -> tuple[Floats, Floats]:
    """Return singular values in ascending order, and right singular vectors ``[K, K]``."""
    squares, vectors = linalg.eigh(
        matrix.T @ matrix, driver="evd", overwrite_a=True, check_finite=False
    )
    return np.sqrt(np.maximum(squares, 0.0)), vectors


def _shrink(matrix: Floats, threshold: float) -> tuple[Floats, Floats]:
    """Return the result of :func:`~.operators.shrink` in single precision."""
    if matrix.shape[0] < matrix.shape[1]:
        turned, values = _shrink(matrix.T, threshold)
        return turned.T, values
    values, vectors = _gram_vectors(matrix)
    kept = values > threshold
    vectors = vectors[:, kept]
    less = values[kept] - np.float32(threshold)
    return matrix @ ((vectors * (less / values[kept])) @ vectors.T), less


def _inverse(program: Program, own: Bools) -> Callable[[Floats], Floats]:
    """Return a function that multiplies by ``(I + κ Xᵀ X)⁻¹``.

    Inputs that are the own one of all their prompts share no prompt, so that they are
    eliminated one by one; what is left is a dense matrix of the others.

    Args:
        program: Its token counts are ``X``.
        own: Mask of these inputs.
    """
    counts = program.counts
    gram = (sparse.eye_array(counts.shape[1]) + COUPLING * (counts.T @ counts)).tocsr()
    others = np.flatnonzero(~own)
    if len(others) > DENSE:
        factors = splu(gram.tocsc())
        return lambda matrix: factors.solve(matrix.astype(float)).astype(matrix.dtype)
    lone = np.flatnonzero(own)
    weights = (1.0 / gram.diagonal()[lone]).astype(np.float32)[:, None]
    across = gram[others][:, lone].tocsr().astype(np.float32)
    turned = across.T.tocsr()
    exact = gram[others][:, lone].toarray()
    schur = gram[others][:, others].toarray() - (exact * weights[:, 0]) @ exact.T
    dense = np.linalg.inv(schur).astype(np.float32)

    def solve(matrix: Floats) -> Floats:
        solved = np.empty_like(matrix)
        scaled = weights * matrix[lone]
        solved[others] = dense @ (matrix[others] - across @ scaled)
        solved[lone] = scaled - weights * (turned @ solved[others])
        return solved

    return solve
