"""JSON and tables on disk, each written whole or not at all; parts that know what they hold.

A *part* is the folder of tables of one finished piece of work. It carries a list of its files, each
with its hash and its number of rows, which is checked when the part is read: what is missing or
damaged is no part, and never an empty table.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import polars as pl

from inweights.errors import FolderError, RunError

__all__ = [
    "hash_of",
    "part_is_whole",
    "read_json",
    "read_part",
    "read_tables",
    "told",
    "write_json",
    "write_part",
    "write_tables",
]

_LIST = "files.json"
T = TypeVar("T")


class _Listed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a part says of one of its files."""

    sha256: str
    rows: int


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Turn a failed write into one clear line."""
    try:
        yield
    except OSError as error:
        raise RunError(
            f"cannot write {path}: {error.strerror or error}; nothing is lost, "
            "the run goes on from here when it is started again"
        ) from error


def hash_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_json(path: Path, value: Any) -> None:
    """Write JSON, whole or not at all."""
    text = msgspec.json.format(msgspec.json.encode(value, order="sorted"))
    _atomically(path, lambda partial: partial.write_bytes(text))


def read_json(path: Path, kind: type[T]) -> T:
    """Read a JSON file that holds a value of the type ``kind``.

    Raises:
        FolderError: It is missing or damaged, or holds something else.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, UnicodeDecodeError, RecursionError, msgspec.DecodeError) as error:
        raise FolderError(f"cannot read {path}: {error}") from None


def write_tables(folder: Path, tables: Mapping[str, pl.DataFrame]) -> None:
    """Write a folder of Parquet files, whole or not at all."""
    _write_folder(folder, tables, listed=False)


def read_tables(folder: Path) -> dict[str, pl.DataFrame]:
    """Read a folder of Parquet files.

    Raises:
        FolderError: A file is damaged.
    """
    return {file.stem: _read_table(file) for file in sorted(folder.glob("*.parquet"))}


def write_part(folder: Path, tables: Mapping[str, pl.DataFrame]) -> None:
    """Write the tables of a finished piece of work and the list of them, whole or not at all."""
    _write_folder(folder, tables, listed=True)


def part_is_whole(folder: Path) -> bool:
    """Whether a part is there, with every file that it lists, each as it was written."""
    try:
        _check_part(folder)
    except FolderError:
        return False
    return True


def read_part(folder: Path) -> dict[str, pl.DataFrame]:
    """Read the tables of a finished piece of work.

    Raises:
        FolderError: The part is missing, or a table of it is missing or damaged.
    """
    tables = {}
    for name, about in _check_part(folder).items():
        table = _read_table(folder / name)
        if table.height != about.rows:
            raise _damaged(folder / name, f"it has {table.height} rows, not {about.rows}")
        tables[Path(name).stem] = table
    return tables


def _check_part(folder: Path) -> dict[str, _Listed]:
    """Return the list of a part, once every file in it was found and compared with its hash."""
    listed = read_json(folder / _LIST, dict[str, _Listed])
    for name, about in listed.items():
        file = folder / name
        if not file.is_file():
            raise _damaged(file, "it is missing")
        if hash_of(file) != about.sha256:
            raise _damaged(file, "it is not what was written")
    return listed


def _damaged(file: Path, what: str) -> FolderError:
    return FolderError(f"cannot read {file}: {what}; start the run again, and it is made anew")


def _read_table(file: Path) -> pl.DataFrame:
    try:
        return pl.read_parquet(file)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise FolderError(f"cannot read {file}: {error}") from None


def _write_folder(folder: Path, tables: Mapping[str, pl.DataFrame], *, listed: bool) -> None:
    partial = folder.with_name(folder.name + ".partial")
    with told(folder):
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        files = {}
        for name, table in tables.items():
            file = partial / f"{name}.parquet"
            table.write_parquet(file)
            files[file.name] = {"sha256": hash_of(file), "rows": table.height}
        if listed:
            write_json(partial / _LIST, files)
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(partial, folder)


def _atomically(path: Path, write: Callable[[Path], Any]) -> None:
    partial = path.with_name(path.name + ".partial")
    with told(path):
        try:
            write(partial)
            os.replace(partial, path)
        except OSError:
            partial.unlink(missing_ok=True)
            raise
