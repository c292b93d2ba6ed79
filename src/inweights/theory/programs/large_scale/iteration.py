"""Perform one iteration of the splitting of program (2) in single precision, block by block.

:class:`Iteration` is the state of the splitting that :mod:`~.splitting` explains, and
starts near the optimum. It stores no array of all prompts times all outputs, but only
the few logits that :mod:`~.blocks` stores.

Shapes: ``M`` distinct prompts, ``P`` inputs, ``K`` outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import splu

from inweights.theory.programs.large_scale.blocks import blocks_of, prices_of
from inweights.theory.programs.large_scale.pieces import own_inputs, start_near
from inweights.theory.programs.large_scale.relations import Relations
from inweights.theory.programs.large_scale.state_file import State
from inweights.theory.programs.program import Program
from inweights.worlds.arrays import Bools, Floats

#: Penalty of the augmented Lagrangian for up to PENALTY_TO prompts (for more, it
#: decreases with the square root of their number, as singular values grow), weight of
#: ``S = X W`` relative to ``Z = W``, and over-relaxation. Chosen on generated companies
#: of 200 to 20,000 facts.
PENALTY = 0.2
PENALTY_TO = 2_000
COUPLING = 0.2
RELAXATION = 1.7
#: Largest number of inputs that share prompts for which a dense matrix is inverted.
DENSE = 2_000
#: Singular values below this fraction of the largest one are rounding errors.
ROUNDING = 1e-3
#: Names of the stored arrays of an iteration, and of each of its blocks.
_WHOLE = ("z", "z_price", "v", "by_logits", "made")
_KEPT = ("at", "price", "moved")


class Iteration:
    """State of the splitting method for program (2); :meth:`advance` performs one iteration.

    Args:
        program: Program (2), whose constraints come from the facts.
        tiny: Differences of projected logits from ``X V`` up to this size are not
            stored. For comparison, the required margin is 1.
        coupling: Weight of ``S = X W`` relative to ``Z = W``.

    Attributes:
        coupling: The argument ``coupling``, or the value from a restored state.
        z: The shrunk templates, ``[P, K]`` (``P`` input tokens, ``K`` outputs).
        values: Positive singular values of ``z``.
        z_price: Multiplier of ``Z = W``, divided by the penalty, ``[P, K]``.
        v: Templates ``V``, ``[P, K]``: the projected logits are ``X V``, apart from the
            entries that the blocks store.
        made: Number of iterations made.
        by_logits: For each input token, the sum over its prompts of the projected
            logits minus their multipliers, ``[P, K]``.
    """

    def __init__(
        self, program: Program, tiny: float = 1e-4, coupling: float = COUPLING
    ) -> None:
        """Start near the optimum of program (2) of Identity Bridge (§4.3).

        Args:
            program: Facts as constraints on the matrix of logits ``W``.
            tiny: Differences of projected logits from ``X V`` up to this size are not
                stored. For comparison, the required margin is 1.
            coupling: Weight of ``S = X W`` relative to ``Z = W``, above 0, where ``Z``
                are the shrunk templates, ``X`` counts the tokens of prompts, and ``S``
                are the projected logits.
        """
        self.program = program
        self._tiny = tiny
        more = max(1.0, len(program.right) / PENALTY_TO)
        self._penalty = PENALTY / np.sqrt(more)
        self.blocks = blocks_of(program)
        self.relations = Relations(program)
        self.raised = own_inputs(program)
        self.made = 0
        self._scratch: Any = np.zeros(
            max(block.right.size for block in self.blocks), np.float32
        )
        self._couple(coupling)
        self._begin(start_near(program, self.raised))

    def _couple(self, coupling: float) -> None:
        """Set the weight of ``S = X W``, and the corresponding inverse."""
        self.coupling = coupling
        self._solve = inverse_of(self.program, self.relations.own, coupling)

    def _begin(self, start: Floats) -> None:
        """Start from templates, with the multipliers that correspond to tight margins."""
        start = start - start.mean(1, keepdims=True, dtype=np.float32)
        values, vectors = _gram_vectors(start)
        kept = vectors[:, values > ROUNDING * values[-1]]
        slope = start @ ((kept / values[values > ROUNDING * values[-1]]) @ kept.T)
        self.z = start
        self.z_price = slope / np.float32(self._penalty)
        self.v = start
        prompts, inputs, outputs, _ = self.raised
        gains: Any = np.zeros(len(self.program.right), np.float32)
        np.maximum.at(gains, prompts, slope[inputs, outputs])
        shares = self.relations.shares(gains)
        for block in self.blocks:
            rows = block.rows
            losses = np.where(block.right, 0.0, shares[self.relations.place[rows]])
            losses *= gains[rows, None]
            each = losses.sum(1) / block.right.sum(1)
            dual = np.where(block.right, each[:, None], -losses)
            block.begin((dual / (-self._penalty * self.coupling)).astype(np.float32))
        self._split(start + self.z_price)

    @property
    def prices(self) -> sparse.csr_array:
        """Lagrange multipliers of ``S = X W`` divided by the penalty, ``[M, K]``.

        This is a sparse array for ``M`` prompts and ``K`` outputs. ``X`` counts the
        tokens of prompts. ``S`` is a copy of the logits ``X W`` that is projected onto
        the margin constraints.
        """
        return prices_of(self.blocks)

    def state(self) -> State:
        """Return the arrays, keyed by name, that :meth:`restore` needs to continue later.

        Arrays are not copied, and :meth:`advance` overwrites some of them: store or
        copy the state before the next call.
        """
        found = {name: np.asarray(getattr(self, name)) for name in _WHOLE}
        found["coupling"] = np.asarray(self.coupling)
        found["count"] = np.array([len(block.at) for block in self.blocks])
        for name in (*_KEPT, "level"):
            each = [getattr(block, name) for block in self.blocks]
            found[name] = np.concatenate(each)
        return found

    def restore(self, state: State) -> None:
        """Restore the templates, logits and multipliers of a stored state.

        Args:
            state: Result of :meth:`state`, whose arrays are used and not copied.
        """
        for name in _WHOLE:
            setattr(self, name, state[name])
        self.made = int(state["made"])
        coupling = float(state.get("coupling", COUPLING))
        if coupling != self.coupling:
            self._couple(coupling)
        ends = np.cumsum(state["count"])[:-1]
        for name in _KEPT:
            parts = np.split(state[name], ends)
            for block, part in zip(self.blocks, parts, strict=True):
                setattr(block, name, part)
        for block in self.blocks:
            block.level = state["level"][block.rows]

    def advance(self) -> None:
        """Perform one over-relaxed iteration, which changes templates, logits and multipliers."""
        target = self.by_logits
        target *= np.float32(self.coupling)
        target += self.z
        target -= self.z_price
        w = self._solve(target)
        over = np.float32(RELAXATION if self.made else 1.0)
        self.v = over * w + (1 - over) * self.v
        w -= self.z
        w *= over
        w += self.z
        w += self.z_price
        self.made += 1
        self._split(w)

    def _split(self, above: Floats) -> None:
        """Shrink the templates, and project the logits.

        Args:
            above: ``Z`` plus its multiplier, ``[P, K]``; changed in place.
        """
        self.z, self.values = shrink_values(above, 1.0 / self._penalty)
        above -= self.z
        self.z_price = above
        self.by_logits: Floats = np.zeros_like(self.z)
        # After the first iteration many multipliers are not 0, most of which are 0
        # after the second one. Without over-relaxation, their logits need not be
        # stored.
        over = RELAXATION if self.made else 1.0
        for block in self.blocks:
            block.split(self.v, over, self.by_logits, self._scratch, self._tiny)


def _gram_vectors(matrix: Floats) -> tuple[Floats, Floats]:
    """Return singular values in ascending order, and right singular vectors ``[K, K]``."""
    gram = matrix.T @ matrix
    try:
        squares, vectors = linalg.eigh(gram, driver="evd", check_finite=False)
    except linalg.LinAlgError:  # the divide-and-conquer driver did not converge
        squares, vectors = linalg.eigh(gram, driver="ev")
    return np.sqrt(np.maximum(squares, 0.0)), vectors


def _gram_vectors_above(matrix: Floats, threshold: float) -> tuple[Floats, Floats]:
    """Return singular values above a threshold, with their right singular vectors as columns.

    Inverse iteration may fail for values that are nearly equal; then all values are
    returned.
    """
    above = float(threshold) ** 2, np.inf
    try:
        squares, vectors = linalg.eigh(
            matrix.T @ matrix, subset_by_value=above, driver="evr", check_finite=False
        )
    except linalg.LinAlgError:
        return _gram_vectors(matrix)
    return np.sqrt(np.maximum(squares, 0.0)), vectors


def shrink_values(
    matrix: Floats, threshold: float, *, few: bool = False
) -> tuple[Floats, Floats]:
    """Subtract a threshold from all singular values, and clip them at 0, in single precision.

    Args:
        matrix: Any matrix ``[P, K]`` (``P`` input tokens, ``K`` outputs).
        threshold: Number, above 0, that is subtracted from every singular value.
        few: Whether few singular values are expected to be above the threshold. If
            true, only these are computed, which is faster if they are at most a third
            of all singular values.

    Returns:
        The shrunk matrix ``[P, K]``, and its positive singular values in ascending
        order.
    """
    if matrix.shape[0] < matrix.shape[1]:
        turned, values = shrink_values(matrix.T, threshold, few=few)
        return turned.T, values
    if few:
        values, vectors = _gram_vectors_above(matrix, threshold)
    else:
        values, vectors = _gram_vectors(matrix)
    kept = values > threshold
    values, vectors = values[kept], vectors[:, kept]
    less = values - np.float32(threshold)
    if few:
        return (matrix @ (vectors * (less / values))) @ vectors.T, less
    # A product with its own transpose takes half as long as a general product.
    half = vectors * np.sqrt(less / values)
    return matrix @ (half @ half.T), less


def inverse_of(
    program: Program, own: Bools, coupling: float
) -> Callable[[Floats], Floats]:
    """Return a function that multiplies a matrix ``[P, K]`` by ``(I + κ Xᵀ X)⁻¹``.

    The rarest token of a prompt is called its own input. Inputs that are the own input
    of every prompt in which they occur are eliminated one by one, which is possible
    because no prompt contains two of them. A dense matrix of the remaining inputs is
    then inverted.

    Args:
        program: The program, whose token counts are ``X``.
        own: Mask of the inputs that are the own input of every prompt in which they
            occur, ``[P]``.
        coupling: Weight ``κ`` of the constraint ``S = X W``, above 0.
    """
    counts = program.counts
    gram = (sparse.eye_array(counts.shape[1]) + coupling * (counts.T @ counts)).tocsr()
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
