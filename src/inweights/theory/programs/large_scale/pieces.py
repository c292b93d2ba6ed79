"""Parts of the solver of large programs: a start near the optimum, and norms.

:mod:`~.large_scale.iteration` and :mod:`~.large_scale.bounds` use them. Shapes: ``M``
distinct prompts, ``P`` inputs, ``K`` outputs.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from scipy import linalg, sparse

from inweights.support.statistics.decompositions import eigh
from inweights.theory.programs.program import Program
from inweights.worlds.arrays import Float, Floats, Ids


def own_inputs(program: Program) -> tuple[Ids, Ids, Ids, Floats]:
    """Return the own inputs of each prompt, together with its correct answers.

    A prompt's own inputs are its tokens that occur in the fewest prompts. Usually, the
    own input is the subject of a fact, and not its relation.

    Args:
        program: The program.

    Returns:
        Four arrays with one entry for each prompt, own input and correct answer: index
        of the prompt, index of the input, column of the answer, and the share of the
        prompt's logit that the input has to contribute.
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
    rows, outputs = program.pairs.nonzero()
    picked = inputs[rows].tocoo()
    share = (picked.data / counts[rows[picked.row], picked.col]).astype(np.float32)
    return rows[picked.row], picked.col, outputs[picked.row], share


def start_near(
    program: Program, own: tuple[Ids, Ids, Ids, Floats]
) -> Float[Floats, "P K"]:
    """Return templates near the optimum, from which the iteration starts.

    Args:
        program: The program.
        own: Result of :func:`own_inputs`.

    Returns:
        Templates ``[P, K]`` (``P`` input tokens, ``K`` outputs), in single precision.
        In the column of a correct answer to a prompt, the row of each own input of the
        prompt contains the share given in ``own``, and the rows of all other tokens
        of the prompt contain 1. All remaining entries are 0.
    """
    prompts, inputs, outputs, share = own
    start: Any = np.zeros(program.shape, np.float32)
    others = program.counts.tolil(copy=True)
    others[prompts, inputs] = 0.0
    ranges = (others.tocsr().T @ (program.pairs > 0).astype(float)).tocoo()
    start[ranges.row, ranges.col] = 1.0
    start[inputs, outputs] = share
    return start


def singular_values(matrix: Floats) -> Floats:
    """Return the singular values of a matrix in ascending order, in double precision.

    Args:
        matrix: Any matrix; the number of its singular values is the smaller of its two
            sizes.
    """
    wide = matrix.shape[0] < matrix.shape[1]
    small = matrix @ matrix.T if wide else matrix.T @ matrix
    squares = np.linalg.eigvalsh(small.astype(float))
    return np.sqrt(np.maximum(squares, 0.0))


def largest_of_gram(
    gram: Float[Floats, "K K"], count: int
) -> tuple[Float[Floats, " k"], Float[Floats, "K k"]]:
    """Return the largest eigenvalues of a Gram matrix, with their eigenvectors.

    Lanczos' method would take less time, but it is not used: its rounding errors depend
    on where its arrays lie in memory, so that two runs would differ.

    Args:
        gram: The matrix, ``[K, K]`` (``K`` outputs).
        count: Maximum number ``k`` of eigenvalues. There are fewer for a smaller
            matrix, and may be fewer if some eigenvalues are nearly equal.

    Returns:
        Eigenvalues in ascending order, ``[k]``, and eigenvectors as columns, ``[K,
        k]``.
    """
    size = len(gram)
    wanted = [max(0, size - count), size - 1]
    values = gram[:0, 0]
    # Inverse iteration may fail for eigenvalues that are nearly equal, or return none.
    with suppress(linalg.LinAlgError):
        values, vectors = linalg.eigh(
            gram, subset_by_index=wanted, driver="evx", check_finite=False
        )
    if not len(values):
        values, vectors = eigh(gram)
    return values[-count:], vectors[:, -count:]
