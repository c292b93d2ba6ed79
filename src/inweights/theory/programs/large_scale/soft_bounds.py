"""Compute both bounds of the soft program for thousands of facts, block by block.

:class:`SoftBounds` stores the best matrix and the best distributions of
:mod:`~.soft_solver`. For any distributions ``P`` with ``‖Xᵀ diag(w) (P − Q)‖_op ≤ λ``,
where ``Q`` are the stated answers, the mean entropy is a lower bound. The distributions
of single iterations give too much probability to answers outside the range of a
prompt's relation, by amounts that many facts share. Therefore these probabilities are
scaled first, and then all probabilities are scaled together.

Shapes: ``M`` distinct prompts, ``P`` inputs, ``K`` outputs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from inweights.theory.programs.large_scale.blocks import Block
from inweights.theory.programs.large_scale.relations import Relations
from inweights.theory.programs.program import Program
from inweights.worlds.arrays import Float, Floats

#: Factors between two scales of the probabilities outside of the ranges, the smallest
#: scale, and the number of scales that are tried with one factor.
FACTORS = (0.7, 1 / 0.7, 0.92, 1 / 0.92)
LEAST = 1e-3
TRIED = 6


class SoftBounds:
    """The best bounds found so far, with the matrix and the distributions that certify them.

    Args:
        program: The facts.
        decay: ``λ``, the weight of the nuclear norm.
        blocks: Blocks of the program's prompts.
        relations: Relations of the program, with their ranges.

    Attributes:
        weights: Fraction of the facts that have each prompt, ``[M]``.
        shares: Distribution of the stated answers of each prompt, as a sparse array
            ``[M, K]``.
        templates: The matrix with the lowest objective, ``[P, K]``.
        optimum: Objective at ``templates``, an upper bound, in nats.
        bound: The lower bound, in nats.
        dual: Distributions that certify the lower bound, ``[M, K]``.
        rank: Rank of ``templates``.
    """

    def __init__(
        self,
        program: Program,
        decay: float,
        blocks: list[Block],
        relations: Relations,
    ) -> None:
        """Begin with the bounds that the matrix 0 and the stated answers prove.

        Args:
            program: The facts.
            decay: ``λ``, the weight of the nuclear norm in the objective, above 0.
            blocks: Blocks of the program's prompts, as returned by
                :func:`~.blocks.blocks_of`.
            relations: Relations of the program, with their ranges.
        """
        facts = np.asarray(program.pairs.sum(1)).ravel()
        self._decay = decay
        self._blocks = blocks
        self._relations = relations
        self._shape = program.shape
        self._scale = 1.0
        self.weights = facts / facts.sum()
        self.shares = program.pairs.multiply(1.0 / facts[:, None]).tocsr()
        self.templates: Floats = np.zeros(program.shape)
        self.optimum = float(np.log(program.shape[1]))  # objective of W = 0
        self.rank = 0
        self.bound = 0.0
        self.dual: Floats = self.shares.toarray().astype(np.float32)

    @property
    def gap(self) -> float:
        """Relative duality gap, ``1 - bound / optimum``; 0 if the upper bound is 0."""
        return 1.0 - self.bound / self.optimum if self.optimum > 0 else 0.0

    def take_upper(
        self, templates: Float[Floats, "P K"], values: Float[Floats, " rank"]
    ) -> None:
        """Evaluate the soft objective at a matrix, and store the matrix if it improves the bound.

        Args:
            templates: ``W``, ``[P, K]`` (``P`` input tokens, ``K`` outputs).
            values: Positive singular values of ``W``, whose number is its rank.
        """
        exact = templates.astype(np.float64)
        small = exact if exact.shape[0] >= exact.shape[1] else exact.T
        squares = np.linalg.eigvalsh(small.T @ small)
        norm = float(np.sqrt(np.maximum(squares, 0.0)).sum())
        entropy = 0.0
        for block in self._blocks:
            logits = block.logits(exact)
            shares = self.shares[block.rows]
            own = np.asarray(shares.multiply(logits).sum(1)).ravel()
            top = logits.max(1)
            logits -= top[:, None]
            total = np.log(np.exp(logits, out=logits).sum(1)) + top
            entropy += float(self.weights[block.rows] @ (total - own))
        objective = float(entropy + self._decay * norm)
        if objective < self.optimum:
            self.templates = exact
            self.optimum = objective
            self.rank = len(values)

    def take_lower(self, chances: Float[Floats, "M K"]) -> None:
        """Compute a lower bound from distributions over outputs; store it if it is larger.

        Args:
            chances: Distribution over the ``K`` outputs for each of ``M`` prompts,
                ``[M, K]``. Several scaled versions of it are tried.
        """
        scaled = _Scaled(self, self._blocks, self._relations, chances, self._shape)
        best = scaled.prove(self._scale, self._decay)
        # Scales near the best one of the previous call, as long as the bound improves.
        for factor in FACTORS:
            for _ in range(TRIED):
                outside = min(1.0, best.outside * factor)
                if not LEAST <= outside != best.outside:
                    break
                found = scaled.prove(outside, self._decay)
                if found.bound <= best.bound:
                    break
                best = found
        self._scale = best.outside
        if best.bound > self.bound:
            self.bound = best.bound
            self.dual = scaled.distributions(best)


class _Proof:
    """A lower bound, and the two scales of the distributions that prove it."""

    def __init__(self, bound: float, outside: float, shift: float) -> None:
        self.bound = bound
        self.outside = outside
        self.shift = shift


class _Scaled:
    """Distributions whose probabilities can be scaled, outside ranges or as a whole.

    Args:
        bounds: Weights and stated answers of the prompts.
        blocks: Blocks of the prompts.
        relations: Relations, with their ranges.
        chances: A distribution for each prompt, ``[M, K]``.
        shape: Numbers of inputs and outputs.
    """

    def __init__(
        self,
        bounds: SoftBounds,
        blocks: list[Block],
        relations: Relations,
        chances: Floats,
        shape: tuple[int, int],
    ) -> None:
        self._chances = chances
        self._blocks = blocks
        self._relations = relations
        self._shares = bounds.shares
        self._weights = bounds.weights
        self._slope = np.zeros(shape)
        self._of_outside = np.zeros(shape)
        self._outside_mass = np.zeros(len(chances))
        stated, answers = bounds.shares.nonzero()
        self._prompts = stated
        self._stated = np.asarray(bounds.shares[stated, answers]).ravel()
        self._right = np.zeros(len(stated))
        # Sums of p and of p log p over wrong answers, within ranges and outside.
        self._sums = np.zeros((2, 2))
        for block in blocks:
            self._add(block, answers)
        self._squares = _squares_of(self._slope, self._of_outside)

    def _add(self, block: Block, answers: Floats) -> None:
        """Add the part of a block to all sums."""
        rows = block.rows
        chances = self._chances[rows].astype(np.float64)
        chances /= chances.sum(1, keepdims=True)
        weights = self._weights[rows, None]
        shares = self._shares[rows].toarray()
        block.add_by_input(self._slope, weights * (chances - shares))
        first, last = np.searchsorted(self._prompts, [rows.start, rows.stop])
        at = self._prompts[first:last] - rows.start, answers[first:last]
        self._right[first:last] = chances[at]
        near = self._relations.ranges[self._relations.place[rows]]
        outside = np.where(near, 0.0, chances)
        mass = outside.sum(1)
        self._outside_mass[rows] = mass
        block.add_by_input(
            self._of_outside, weights * (outside - mass[:, None] * shares)
        )
        inside = chances - outside
        inside[at] = 0.0
        for kind, part in enumerate((inside, outside)):
            logs = np.log(part, out=np.zeros_like(part), where=part > 0)
            self._sums[kind, 0] += float((weights * part).sum())
            self._sums[kind, 1] += float((weights * part * logs).sum())

    def prove(self, outside: float, decay: float) -> _Proof:
        """Return the bound for a given scale of probabilities outside the relations' ranges.

        Args:
            outside: The scale, above 0 and at most 1. The probability that the scaling
                removes is added to the answers that the facts state.
            decay: ``λ``. If the operator norm of the gradient exceeds ``λ``, all
                distributions are moved towards the answers that the facts state until
                the norm is ``λ``.
        """
        less = 1.0 - outside
        first, mixed, second = self._squares
        squares = np.linalg.eigvalsh(first - less * mixed + less**2 * second)
        norm = float(np.sqrt(max(squares[-1], 0.0))) * (1 + 1e-9)
        shift = min(1.0, decay / norm) if norm > 0 else 1.0
        right = self._right_after(outside, shift)
        bound = -float(self._weights[self._prompts] @ (right * np.log(right)))
        for scale, (mass, logs) in zip(
            (shift, shift * outside), self._sums, strict=True
        ):
            bound -= scale * logs + scale * np.log(scale) * mass
        return _Proof(max(0.0, float(bound)), outside, float(shift))

    def distributions(self, proof: _Proof) -> Float[Floats, "M K"]:
        """Return the distributions that certify the bound of a proof, in single precision."""
        found: Any = np.empty(self._chances.shape, np.float32)
        for block in self._blocks:
            near = self._relations.ranges[self._relations.place[block.rows]]
            scale = np.where(near, proof.shift, proof.shift * proof.outside)
            found[block.rows] = self._chances[block.rows] * scale
        answers = self._shares.nonzero()[1]
        found[self._prompts, answers] = self._right_after(proof.outside, proof.shift)
        distributions: Floats = found
        return distributions

    def _right_after(self, outside: float, shift: float) -> Floats:
        """Return the probabilities of the stated answers after both changes."""
        moved = 1.0 - shift + shift * (1.0 - outside) * self._outside_mass
        return shift * self._right + self._stated * moved[self._prompts]


def _squares_of(slope: Floats, other: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the matrices that give the Gram matrix of ``slope − c other`` for any ``c``.

    It is the first matrix minus ``c`` times the second plus ``c²`` times the third.
    """
    if slope.shape[0] < slope.shape[1]:
        slope, other = slope.T, other.T
    mixed = slope.T @ other
    return slope.T @ slope, mixed + mixed.T, other.T @ other
