"""Parts of the solver of large programs: sparse factorisation, blocks of margins, a start, norms.

:mod:`~.large_scale.solver` is made of them. Shapes: ``M`` distinct prompts, ``P``
inputs, ``K`` outputs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import eigsh, splu

from inweights.theory.programs.operators import MarginProjection, operator_norm
from inweights.theory.programs.program import Program
from inweights.theory.programs.splitting import coupling_of
from inweights.worlds.arrays import Bools, Float, Floats, Ids

#: Prompts whose margins are computed at a time, times outputs: a block fits the cache.
BLOCK = 200_000


class MarginsInBlocks:
    """Project logits as :class:`~.operators.MarginProjection` does, block by block."""

    def __init__(self, program: Program) -> None:
        rows = prompt_blocks(program)
        self._parts = [(block, MarginProjection(program, block)) for block in rows]

    def __call__(self, logits: Float[Floats, "M K"]) -> Float[Floats, "M K"]:
        projected = np.empty_like(logits)
        for rows, project in self._parts:
            projected[rows] = project(logits[rows])
        return projected


class SparseInverse:
    """Multiply by ``(I + κ Xᵀ X)⁻¹``, which stays factorised: prompts are short."""

    def __init__(self, program: Program) -> None:
        counts = program.counts
        eye = sparse.eye_array(counts.shape[1])
        gram = eye + coupling_of(program) * (counts.T @ counts)
        self._factors = splu(gram.tocsc())

    def __matmul__(self, matrix: Float[Floats, "P K"]) -> Float[Floats, "P K"]:
        return self._factors.solve(matrix.astype(float)).astype(matrix.dtype)


def prompt_blocks(program: Program) -> list[slice]:
    """Return the rows of blocks of prompts whose logits fit a cache."""
    prompts, outputs = program.right.shape
    size = max(1, BLOCK // outputs)
    return [slice(at, min(at + size, prompts)) for at in range(0, prompts, size)]


def margins_of(logits: Floats, right: Bools) -> Floats:
    """Return the margin of each prompt, ``[M]``: its worst right logit less its best other one.

    Args:
        logits: ``[M, K]``.
        right: Which outputs are right, ``[M, K]``.
    """
    worst = np.where(right, logits, np.inf).min(1)
    best: Floats = np.where(right, -np.inf, logits).max(1)
    return worst - best


def own_inputs(program: Program) -> tuple[Ids, Ids, Ids, Floats]:
    """Return prompts, their rarest inputs and right answers, and the share of each input.

    A prompt's own inputs are those that occur in the fewest prompts: the subject of a
    fact, and not its relation.
    """
    counts = program.counts.tocsr()
    used = np.bincount(counts.indices, minlength=counts.shape[1])
    prompts = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    use = used[counts.indices]
    fewest = np.minimum.reduceat(use, counts.indptr[:-1])
    own = use == fewest[prompts]
    shares = 1.0 / np.bincount(prompts[own], minlength=counts.shape[0])
    inputs = sparse.csr_array(
        (shares[prompts[own]], (prompts[own], counts.indices[own])), shape=counts.shape
    )
    rows, outputs = np.nonzero(program.right)
    picked = inputs[rows].tocoo()
    share = (picked.data / counts[rows[picked.row], picked.col]).astype(np.float32)
    return rows[picked.row], picked.col, outputs[picked.row], share


def start_near(
    program: Program, own: tuple[Ids, Ids, Ids, Floats]
) -> Float[Floats, "P K"]:
    """Return templates near the optimum: subjects prefer their answers, relations their range.

    Args:
        program: The program.
        own: Result of :func:`own_inputs`.
    """
    prompts, inputs, outputs, share = own
    start: Any = np.zeros(program.shape, np.float32)
    others = program.counts.tolil(copy=True)
    others[prompts, inputs] = 0.0
    ranges = (others.tocsr().T @ sparse.csr_array(program.right.astype(float))).tocoo()
    start[ranges.row, ranges.col] = 1.0
    start[inputs, outputs] = share
    return start


def singular_values(matrix: Floats) -> Floats:
    """Return the singular values in ascending order, in double precision."""
    wide = matrix.shape[0] < matrix.shape[1]
    small = matrix @ matrix.T if wide else matrix.T @ matrix
    squares = np.linalg.eigvalsh(small.astype(float))
    return np.sqrt(np.maximum(squares, 0.0))


def estimated_norm(matrix: Floats) -> float:
    """Return the largest singular value, by Lanczos' method; the final bound does not use it."""
    wide = matrix.shape[0] < matrix.shape[1]
    small = matrix @ matrix.T if wide else matrix.T @ matrix
    if len(small) < 3:
        return operator_norm(matrix)
    first = np.ones(len(small), small.dtype)
    largest = eigsh(small, 1, which="LA", v0=first, tol=1e-4, return_eigenvectors=False)
    return float(np.sqrt(max(largest[0], 0.0)))
