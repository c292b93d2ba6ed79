"""Run folders: named by the hash of their config, whole or not there, and safe to resume.

While a run is at work its folder ends in ``.work``. When it is done, a manifest with the hash of
every file is written and the folder is renamed: so a folder without the ending is whole, and a
file that was edited afterwards is noticed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from inweights.config import digest
from inweights.errors import FolderError, RunError

__all__ = ["RunFolder", "RunStore", "default_root"]

_MANIFEST, _CONFIG = "manifest.json", "config.json"


def default_root() -> Path:
    """Return where runs are kept: ``$INWEIGHTS_RUNS``, or ``runs`` in the working folder."""
    return Path(os.environ.get("INWEIGHTS_RUNS", "runs"))


class RunFolder:
    """One run on disk, at work or complete.

    Args:
        path: The folder of the complete run.
        config: Everything that decides the run, as plain values.
    """

    def __init__(self, path: Path, config: Mapping[str, Any]) -> None:
        self.path, self.config = path, dict(config)
        self.work = path.with_name(path.name + ".work")

    @property
    def complete(self) -> bool:
        """Whether the run is done."""
        return (self.path / _MANIFEST).exists()

    def begin(self) -> Path:
        """Return the folder to work in, made if needed; what an interrupted run left is kept.

        Raises:
            RunError: The folder cannot be written.
        """
        with _told(self.work):
            self.work.mkdir(parents=True, exist_ok=True)
            write_json(self.work / _CONFIG, self.config)
        return self.work

    def discard(self) -> None:
        """Remove the run, complete or at work."""
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.rmtree(self.path, ignore_errors=True)

    def seal(self) -> None:
        """Write the manifest and give the folder its name. Only sealed folders count as whole."""
        with _told(self.work):
            shutil.rmtree(self.work / "parts", ignore_errors=True)
            files = sorted(p for p in self.work.rglob("*") if p.is_file() and p.name != _MANIFEST)
            hashes = {p.relative_to(self.work).as_posix(): _hash(p) for p in files}
            write_json(self.work / _MANIFEST, {"files": hashes})
            shutil.rmtree(self.path, ignore_errors=True)
            os.replace(self.work, self.path)

    def verify(self) -> None:
        """Check that no file of a complete run is missing or was changed.

        Raises:
            FolderError: Names the file, and says how to run it again.
        """
        again = "run it again with --fresh"
        try:
            manifest = msgspec.json.decode((self.path / _MANIFEST).read_bytes())["files"]
        except (OSError, KeyError, TypeError, msgspec.DecodeError):
            raise FolderError(f"{self.path} has no readable {_MANIFEST}; {again}") from None
        for name, expected in manifest.items():
            file = self.path / name
            if not file.is_file():
                raise FolderError(f"{self.path} is incomplete: {name} is missing; {again}")
            if _hash(file) != expected:
                raise FolderError(
                    f"{self.path} was edited: {name} is not what was written; {again}"
                )

    def json(self, name: str) -> Any:
        """Read a JSON file of the complete run.

        Raises:
            FolderError: It is missing or damaged.
        """
        try:
            return msgspec.json.decode((self.path / name).read_bytes())
        except (OSError, msgspec.DecodeError) as error:
            raise FolderError(f"cannot read {self.path / name}: {error}") from None

    def tables(self) -> dict[str, pl.DataFrame]:
        """Read every table of the complete run."""
        return read_tables(self.path / "tables")


class RunStore:
    """All runs below one folder.

    Args:
        root: The folder; :func:`default_root` if left out.

    Example:
        >>> store = RunStore("/tmp/inweights-doctest")
        >>> store.folder("identity-bridge/fig2", {"scale": "cpu"}).complete
        False
    """

    def __init__(self, root: str | Path | None = None) -> None:
        self.root = default_root() if root is None else Path(root)

    def folder(self, name: str, config: Mapping[str, Any]) -> RunFolder:
        """Return the run folder of a config: the same config, the same folder."""
        return RunFolder(self.root / name / digest(config), config)

    def __iter__(self) -> Iterator[RunFolder]:
        """All runs, newest first; runs at work included."""
        found = {}
        for file in self.root.glob(f"*/*/*/{_CONFIG}"):
            path = file.parent
            final = path.with_name(path.name.removesuffix(".work"))
            found[final] = file
        for path, file in sorted(found.items(), key=lambda item: -item[1].stat().st_mtime):
            try:
                config = msgspec.json.decode(file.read_bytes())
            except (OSError, msgspec.DecodeError):
                config = {}
            yield RunFolder(path, config if isinstance(config, dict) else {})


def write_json(path: Path, value: Any) -> None:
    """Write JSON, whole or not at all."""
    text = msgspec.json.format(msgspec.json.encode(value, order="sorted"))
    _atomically(path, lambda partial: partial.write_bytes(text))


def write_tables(folder: Path, tables: Mapping[str, pl.DataFrame]) -> None:
    """Write a folder of Parquet files, whole or not at all."""
    partial = folder.with_name(folder.name + ".partial")
    with _told(folder):
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        for name, table in tables.items():
            table.write_parquet(partial / f"{name}.parquet")
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(partial, folder)


def read_tables(folder: Path) -> dict[str, pl.DataFrame]:
    """Read a folder of Parquet files.

    Raises:
        FolderError: A file is damaged.
    """
    tables = {}
    for file in sorted(folder.glob("*.parquet")):
        try:
            tables[file.stem] = pl.read_parquet(file)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise FolderError(f"cannot read {file}: {error}") from None
    return tables


def _atomically(path: Path, write: Callable[[Path], Any]) -> None:
    partial = path.with_name(path.name + ".partial")
    with _told(path):
        try:
            write(partial)
            os.replace(partial, path)
        except OSError:
            partial.unlink(missing_ok=True)
            raise


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Turn a failed write into one clear line."""
    try:
        yield
    except OSError as error:
        raise RunError(
            f"cannot write {path}: {error.strerror or error}; nothing is lost, "
            "the run goes on from here when it is started again"
        ) from error


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
