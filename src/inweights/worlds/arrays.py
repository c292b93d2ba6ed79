"""Array types with shapes for signatures, and functions for rows of different lengths.

``Float[Floats, "N D"]`` has the meaning that jaxtyping defines. Type checkers and tests
evaluate it; at run time the library does not import jaxtyping. :func:`flatten_rows` and
:func:`cut_rows` handle columns of tokens, such as all prompts of a world.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from inweights.errors import DataError

__all__ = [
    "Bool",
    "Bools",
    "Float",
    "Floats",
    "Ids",
    "Int",
    "Integer",
    "Num",
    "Reals",
    "as_matrix",
    "cut_rows",
    "flatten_rows",
]

Floats = NDArray[np.float64]
#: Real numbers of any precision.
Reals = NDArray[np.floating[Any]]
Ids = NDArray[np.int64]
Bools = NDArray[np.bool_]

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int, Integer, Num
else:  # annotations are text
    Bool = Float = Int = Integer = Num = None


def as_matrix(rows: Any, what: str) -> Ids:
    """Return rows of token ids as a matrix of integers.

    Args:
        rows: An array or nested lists, ``[m, T]``.
        what: Name of the rows, used in the error message.

    Returns:
        The matrix, as ``int64``. If ``rows`` is an ``int64`` array, the matrix is not
        a copy.

    Raises:
        DataError: The rows differ in length, ``rows`` does not have two dimensions (an
            empty list has only one), or an entry is not an integer.

    Example:
        >>> as_matrix([[0.5]], "prompts")
        Traceback (most recent call last):
        ...
        inweights.errors.DataError: prompts must be a matrix of integers, got float64 ...
    """
    try:
        found = np.asarray(rows)
    except ValueError:
        raise DataError(
            f"{what} must be a matrix, got rows that differ in length"
        ) from None
    if found.ndim != 2 or (found.size and found.dtype.kind not in "iu"):
        raise DataError(
            f"{what} must be a matrix of integers, got {found.dtype} of shape {found.shape}"
        )
    return found.astype(np.int64, copy=False)


def flatten_rows(matrices: Iterable[Ids]) -> tuple[Ids, Ids]:
    """Concatenate the rows of several matrices into one array.

    Args:
        matrices: Matrices of integers, which may have different widths.

    Returns:
        The ``K`` entries of all rows, one row after another, ``[K]``; and the end
        (exclusive) of each of the ``M`` rows in this array, ``[M]``.

    Example:
        >>> numbers, ends = flatten_rows([np.array([[1, 2], [3, 4]]), np.array([[5]])])
        >>> numbers.tolist(), ends.tolist()
        ([1, 2, 3, 4, 5], [2, 4, 5])
    """
    parts = [np.zeros(0, dtype=np.int64)]
    lengths = [np.zeros(0, dtype=np.int64)]
    for matrix in matrices:
        parts.append(matrix.ravel())
        lengths.append(np.full(len(matrix), matrix.shape[1]))
    return np.concatenate(parts), np.cumsum(np.concatenate(lengths))


def cut_rows(numbers: Ids, ends: Ids, rows: Ids) -> tuple[Ids, Ids]:
    """Select rows from an array returned by :func:`flatten_rows`.

    Args:
        numbers: The ``K`` entries of all rows, ``[K]``.
        ends: End (exclusive) of each of the ``M`` rows in ``numbers``, ``[M]``.
        rows: Indices of the ``m`` rows to select, in any order, ``[m]``.

    Returns:
        Two arrays: the entries of the selected rows, one row after another; and the end
        (exclusive) of each of these rows in the first array, ``[m]``.

    Example:
        >>> cut_rows(np.array([1, 2, 3, 4, 5]), np.array([2, 4, 5]), np.array([2, 0]))[0].tolist()
        [5, 1, 2]
    """
    lengths = np.diff(ends, prepend=0)
    new = np.cumsum(lengths[rows])
    # Distance of each selected number from its new position.
    shift = np.repeat(ends[rows] - new, lengths[rows])
    return numbers[np.arange(len(shift)) + shift], new
