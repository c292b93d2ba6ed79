"""Readers of embedding files: NumPy, safetensors, and the text formats of word2vec and GloVe.

:func:`read_embedding` chooses a reader by the file's suffix. Pickles are rejected,
since loading them could run code.
"""

import json
import math
from collections.abc import Collection
from pathlib import Path
from tokenize import TokenError
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from inweights.errors import DataError, unknown_name
from inweights.probes.geometry.embedding import Embedding
from inweights.support.limits import check_memory, missing_file, read_text

#: Maximum number of digits of a count in a header; no file has more rows or columns.
_DIGITS = 18
_PICKLES = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".model")


def read_embedding(
    path: str | Path,
    *,
    names: str | Path | None = None,
    tensor: str | None = None,
    only: Collection[str] | None = None,
) -> Embedding:
    r"""Read an embedding from a file: a matrix, and a name for each of its rows.

    Args:
        path: A ``.npy`` or ``.safetensors`` file, such as a checkpoint, with an array
            ``[N, D]`` (``N`` rows, width ``D``) or ``[R, N, D]`` (``R`` such matrices).
            Any other file is read as text with a line ``name x1 … xD`` for each row. A
            first line ``rows D``, as in files of word2vec and fastText, is optional.
        names: Text file with the names of the rows, one per line. It is required for
            ``.npy``, and for ``.safetensors`` unless its metadata contains ``names``, a
            JSON list. It is not allowed for a text file, which contains the names
            itself.
        tensor: Name of the tensor in a ``.safetensors`` file; required if the file
            contains several tensors with two or more axes. It has no effect on other
            files.
        only: Names whose rows are read from a text file; by default all. Names that are
            not in the file are ignored. It has no effect on other files.

    Returns:
        The matrix with the names of its rows. Numbers from a ``.npy`` file keep their
        type; all others are in double precision.

    Raises:
        DataError: The file is missing, damaged, a pickle or too large for memory; rows
            have no names, or the number of names differs from the number of rows; a
            number is NaN or exceeds 1e15 in absolute value; the array has one axis or
            more than three, or is empty; ``names`` is given for a text file; none of
            the names in ``only`` occurs in the file; or the file contains several
            matrices and ``tensor`` is not given.
        ConfigError: The file has no tensor of the name ``tensor`` with two or more
            axes.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "words.vec"
        >>> _ = file.write_text("2 3\nNew York 1 0 0\nRome 0 1 .5\n")
        >>> read_embedding(file).names, read_embedding(file).vectors.shape
        (('New York', 'Rome'), (2, 3))
    """
    file = Path(path)
    if not file.is_file():
        raise missing_file(file, "expected .npy, .safetensors or word2vec text")
    kind = file.suffix.lower()
    if kind in _PICKLES:
        raise DataError(
            f"{file} is a pickle, which could run code, or another binary file; save the matrix as "
            ".npy or .safetensors, or as word2vec text"
        )
    if kind == ".npy":
        matrix = _numpy(file)
        found = None
    elif kind == ".safetensors":
        matrix, found = _safetensors(file, tensor)
    else:
        if names is not None:
            raise DataError(
                f"{file} already has a name in each line; leave out the file of names"
            )
        return _text(file, only)
    if names is not None:
        found = tuple(map(str.strip, _lines(Path(names))))
    if found is None:
        raise DataError(
            f"{file} has no row names; give a text file with a name for each of its "
            f"{matrix.shape[-2] if matrix.ndim > 1 else len(matrix):,} rows, one per "
            "line (--names)"
        )
    return Embedding(found, matrix, str(file))


def _numpy(file: Path) -> NDArray[Any]:
    """Read an array from ``.npy``, after checking that it fits into memory."""
    try:
        with file.open("rb") as opened:
            check_memory(f"reading {file}", _promised(opened), error=DataError)
        matrix = np.load(file, allow_pickle=False)
    except DataError:
        raise
    except (ValueError, OSError, EOFError, SyntaxError, TokenError) as error:
        raise DataError(f"cannot read {file} as an array of numbers: {error}") from None
    return _numbers(matrix, str(file))


def _promised(opened: BinaryIO) -> int:
    """Return the size in bytes of the array that an ``.npy`` header states; 0 for other files.

    NumPy allocates this memory before it reads any number.
    """
    start = opened.read(len(np.lib.format.MAGIC_PREFIX))
    if start != np.lib.format.MAGIC_PREFIX:
        return 0
    opened.seek(0)
    version = np.lib.format.read_magic(opened)
    if version == (1, 0):
        shape, _, kind = np.lib.format.read_array_header_1_0(opened)
    else:
        shape, _, kind = np.lib.format.read_array_header_2_0(opened)
    return math.prod(shape) * kind.itemsize


def _safetensors(
    file: Path, tensor: str | None
) -> tuple[NDArray[Any], tuple[str, ...] | None]:
    """Read a matrix from ``.safetensors``, and the names in its metadata, if there are any."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, framework="pt") as opened:
            names_of = opened.keys()
            known = [
                key for key in names_of if len(opened.get_slice(key).get_shape()) > 1
            ]
            if tensor is not None and tensor not in known:
                raise unknown_name("tensor", tensor, known)
            if tensor is None and len(known) != 1:
                raise DataError(
                    f"{file} has {len(known)} matrices; choose one (--tensor): "
                    f"{', '.join(known[:8])}{', …' if len(known) > 8 else ''}"
                )
            matrix = opened.get_tensor(tensor or known[0]).double().numpy()
            written = (opened.metadata() or {}).get("names")
    except SafetensorError as error:
        raise DataError(
            f"{file} is not a safetensors file, or is damaged: {error}"
        ) from None
    if written is None:
        return matrix, None
    try:
        names = json.loads(written)
    except ValueError:
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise DataError(f"{file}: its metadata 'names' must be a JSON list of strings")
    return matrix, tuple(names)


def _numbers(matrix: NDArray[Any], source: str) -> NDArray[Any]:
    """Return a matrix unchanged, after checking that its entries are real numbers."""
    if not np.issubdtype(matrix.dtype, np.number) or np.iscomplexobj(matrix):
        raise DataError(f"{source} must contain real numbers, got {matrix.dtype}")
    return matrix


def _text(file: Path, only: Collection[str] | None) -> Embedding:
    """Read a text file that has a name followed by numbers on each line."""
    lines = _lines(file)
    first = lines[0].split() if lines else []
    counted = len(first) == 2 and all(part.isdecimal() for part in first)
    body = lines[1:] if counted else lines
    if not body:
        raise DataError(
            f"{file} has no rows; expected lines of the form 'name x1 x2 …'"
        )
    rows_said, width_said = (part[:_DIGITS] for part in first) if counted else ("", "")
    if counted and int(rows_said) != len(body):
        raise DataError(
            f"the header of {file} states {rows_said} rows, but the file has {len(body)}"
        )
    width = int(width_said) if counted else _trailing(body[0].split())
    if width > len(body[0]):  # n numbers have at least n characters
        raise DataError(
            f"the header of {file} states at least {width_said} numbers per row, but the "
            f"first row has {len(body[0].split()) - 1}"
        )
    names = []
    rows = []
    for number, line in enumerate(body, 2 if counted else 1):
        name, *cells = line.rstrip().rsplit(maxsplit=width) if width else [line]
        if len(cells) != width or not width:
            raise DataError(
                f"{file}, line {number}: expected a name and {width or 'some'} numbers, got "
                f"'{line[:60]}'"
            )
        name = name.strip()
        if only is not None and name not in only:
            continue
        try:
            rows.append(list(map(float, cells)))
        except ValueError as error:
            raise DataError(f"{file}, line {number}: {error}") from None
        names.append(name)
    if not rows:
        raise DataError(
            f"none of the {len(body):,} names in {file} is a node; the first name in the file is "
            f"'{body[0].rsplit(maxsplit=width)[0]}'"
        )
    return Embedding(tuple(names), np.array(rows), str(file))


def _trailing(cells: list[str]) -> int:
    """Count the numbers at the end of a line; the first cell is always a name."""
    count = 0
    for cell in reversed(cells[1:]):
        try:
            float(cell)
        except ValueError:
            break
        count += 1
    return count


def _lines(file: Path) -> list[str]:
    """Return the lines of a file that are not blank."""
    return [line for line in read_text(file).split("\n") if line.strip()]
