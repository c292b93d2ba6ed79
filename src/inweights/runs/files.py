"""JSON and tables on disk, each written whole or not at all."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from inweights.errors import FolderError, WriteError
from inweights.support.limits import open_file, read_bytes
from inweights.support.links import refuse_link
from inweights.support.publish import PARTIAL, publish_file, publish_folder, remove

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")


@contextmanager
def explained_writes(path: Path) -> Iterator[None]:
    """Turn a failed write into one clear line."""
    try:
        yield
    except _write_errors() as error:
        why = getattr(error, "strerror", None) or str(error).partition("\n")[0]
        raise WriteError(
            f"cannot write {path}: {why}; nothing is lost; run the same command again to continue"
        ) from error


def _write_errors() -> tuple[type[Exception], ...]:
    """What writing may raise; errors of tables only where tables are used at all."""
    polars = sys.modules.get("polars")
    return (OSError, polars.exceptions.PolarsError) if polars else (OSError,)


def hash_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with open_file(path, links=False) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_json(path: Path, value: Any) -> None:
    """Write JSON, whole or not at all."""
    with explained_writes(path):
        publish_file(path, msgspec.json.format(msgspec.json.encode(value, order="sorted")))


def read_json(path: Path, kind: type[T]) -> T:
    """Read a JSON file that holds a value of the type ``kind``."""
    refuse_link(path)
    try:
        return msgspec.json.decode(read_bytes(path, links=False), type=kind)
    except (OSError, UnicodeDecodeError, RecursionError, msgspec.DecodeError) as error:
        raise FolderError(f"cannot read {path}: {error}") from None


def write_tables(folder: Path, tables: Mapping[str, pl.DataFrame]) -> None:
    """Write a folder of Parquet files, whole or not at all."""
    partial = folder.with_name(folder.name + PARTIAL)
    with explained_writes(folder):
        remove(partial)
        partial.mkdir(parents=True)
        for name, table in tables.items():
            table.write_parquet(partial / f"{name}.parquet")
        publish_folder(partial, folder, replace=True)


def read_tables(folder: Path) -> dict[str, pl.DataFrame]:
    """Read a folder of Parquet files."""
    refuse_link(folder)
    return {file.stem: _read_table(file) for file in sorted(folder.glob("*.parquet"))}


def _read_table(file: Path) -> pl.DataFrame:
    import polars as pl

    refuse_link(file)
    try:
        return pl.read_parquet(file, glob=False)
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise FolderError(f"cannot read {file}: {error}") from None
