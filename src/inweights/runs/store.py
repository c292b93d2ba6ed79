"""All runs below one folder, found by their config or one after another."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from inweights.config import digest
from inweights.errors import FolderError, RunError
from inweights.runs.files import read_json
from inweights.runs.folder import CONFIG, RunFolder

__all__ = ["RunStore", "default_root"]


def default_root() -> Path:
    """Return where runs are kept: ``$INWEIGHTS_RUNS``, or ``runs`` in the working folder."""
    return Path(os.environ.get("INWEIGHTS_RUNS", "runs"))


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
        folder = self._at(self.root / name / digest(config), config)
        folder.settle()
        return folder

    def has(self, name: str) -> bool:
        """Whether there is a folder with runs of a recipe, whatever their state."""
        return (self.root / name).is_dir()

    def of(self, name: str) -> Iterator[RunFolder]:
        """All runs of one recipe, newest first; no other's folder is looked at.

        What can be no recipe's name, such as a path from elsewhere, has none.
        """
        parts = name.split("/")
        if len(parts) == 2 and "\0" not in name and not {"", ".", ".."} & set(parts):
            yield from self._found(Path(self.root, *parts).glob(f"*/{CONFIG}"))

    def __iter__(self) -> Iterator[RunFolder]:
        """All runs, newest first; runs at work included."""
        yield from self._found(self.root.glob(f"*/*/*/{CONFIG}"))

    def _found(self, configs: Iterable[Path]) -> Iterator[RunFolder]:
        if self.root.is_dir() and not os.access(self.root, os.R_OK | os.X_OK):
            raise FolderError(f"{self.root} cannot be read: permission denied")  # nor is it empty
        found: dict[Path, Path] = {}
        for file in sorted(configs):  # <hash>, <hash>.old, <hash>.work
            path = file.parent
            name = path.name.removesuffix(".work").removesuffix(".old")
            found.setdefault(path.with_name(name), file)
        for path, file in sorted(found.items(), key=lambda item: -_changed(item[1])):
            try:
                config = read_json(file, dict[str, Any])
            except FolderError:
                config = {}
            folder = self._at(path, config)
            with suppress(RunError):  # a damaged run is listed like any other
                folder.settle()
            yield folder

    def _at(self, path: Path, config: Mapping[str, Any]) -> RunFolder:
        return RunFolder(path, config, self.root / ".locks" / f"{path.name}.lock")


def _changed(file: Path) -> float:
    """When a file was changed; 0 if it has gone in the meantime."""
    with suppress(OSError):
        return file.stat().st_mtime
    return 0.0
