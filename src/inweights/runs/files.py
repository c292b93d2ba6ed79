"""Read JSON files and folders of tables, and write them atomically.

:class:`~inweights.runs.RunFolder` stores everything through these functions, which
convert errors of the operating system to one-line messages.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from inweights.errors import FolderError
from inweights.support.limits import open_file, read_bytes
from inweights.support.links import refuse_link
from inweights.support.publish import (
    PARTIAL,
    explained_writes,
    publish_file,
    publish_folder,
    remove,
)

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")


def hash_of(path: Path) -> str:
    """Return the SHA-256 hash of a file, as 64 hexadecimal digits.

    Args:
        path: Path of a regular file.

    Raises:
        OSError: The file cannot be read, or is a link, pipe or device.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp(), "empty")
        >>> file.touch()
        >>> hash_of(file)[:8]
        'e3b0c442'
    """
    with open_file(path, links=False) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_json(path: Path, value: Any) -> None:
    """Write a value as a JSON file, atomically.

    Args:
        path: Path of the file. An existing file is replaced, and missing parent folders
            are created.
        value: A value that msgspec encodes, in which all keys of dictionaries are
            strings. Keys are sorted, and the text is indented. NaN and infinite numbers
            become ``null``.

    Raises:
        WriteError: The file cannot be written.
        TypeError: msgspec cannot encode the value (a DataError if the function is
            called as ``inweights.runs.write_json``).

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp(), "config.json")
        >>> write_json(file, {"n": 3})
        >>> read_json(file, dict)
        {'n': 3}
    """
    with explained_writes(path):
        publish_file(
            path, msgspec.json.format(msgspec.json.encode(value, order="sorted"))
        )


def read_json(path: Path, kind: type[T]) -> T:
    """Read a JSON file and check its type.

    Args:
        path: Path of the file, which must not be a symbolic link.
        kind: Expected type, such as ``dict[str, int]`` or a ``msgspec.Struct``.

    Returns:
        The decoded value, an instance of ``kind``.

    Raises:
        FolderError: The file is a link, is missing, cannot be read, is not valid JSON,
            or has content of a different type.
    """
    refuse_link(path)
    try:
        return msgspec.json.decode(read_bytes(path, links=False), type=kind)
    except (OSError, UnicodeDecodeError, RecursionError, msgspec.DecodeError) as error:
        raise FolderError(f"cannot read {path}: {error}") from None


def write_tables(folder: Path, tables: Mapping[str, pl.DataFrame]) -> None:
    """Write tables as a folder of Parquet files, atomically.

    Args:
        folder: Path of the folder. An existing folder is replaced, and all files in it
            are removed. Missing parent folders are created.
        tables: Tables by name; the file of a table is ``NAME.parquet``.

    Raises:
        WriteError: The folder cannot be written, or Parquet cannot store a column.

    Example:
        >>> import tempfile
        >>> import polars as pl
        >>> folder = Path(tempfile.mkdtemp(), "tables")
        >>> write_tables(folder, {"scores": pl.DataFrame({"x": [1, 2]})})
        >>> read_tables(folder)["scores"]["x"].to_list()
        [1, 2]
    """
    partial = folder.with_name(folder.name + PARTIAL)
    with explained_writes(folder):
        remove(partial)
        partial.mkdir(parents=True)
        for name, table in tables.items():
            table.write_parquet(partial / f"{name}.parquet")
        publish_folder(partial, folder, replace=True)


def read_tables(folder: Path) -> dict[str, pl.DataFrame]:
    """Read a folder of Parquet files.

    Args:
        folder: Path of the folder. Neither the folder nor a file in it may be a
            symbolic link.

    Returns:
        Tables by file name without ``.parquet``, in alphabetical order. The dictionary
        is empty if the folder does not exist. Files with other suffixes are ignored.

    Raises:
        FolderError: The folder or a file is a link, or a file cannot be read.
    """
    refuse_link(folder)
    return {file.stem: _read_table(file) for file in sorted(folder.glob("*.parquet"))}


def _read_table(file: Path) -> pl.DataFrame:
    import polars as pl

    refuse_link(file)
    try:
        return pl.read_parquet(file, glob=False)
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise FolderError(f"cannot read {file}: {error}") from None
