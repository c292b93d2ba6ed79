"""All runs below one folder, found by their config or one after another."""

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from inweights.config import digest
from inweights.errors import FolderError, RunError
from inweights.runs.files import read_json
from inweights.runs.folder import CONFIG, RunFolder
from inweights.support.links import refuse_link, within


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
        folder = RunFolder(self.root, f"{name}/{digest(config)}", config)
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
            yield from self._found([within(self.root, name)])

    def __iter__(self) -> Iterator[RunFolder]:
        """All runs, newest first; runs at work included."""
        papers = _folders(self.root)
        yield from self._found([recipe for paper in papers for recipe in _folders(paper)])

    def _found(self, recipes: Iterable[Path]) -> Iterator[RunFolder]:
        if self.root.is_dir() and not os.access(self.root, os.R_OK | os.X_OK):
            raise FolderError(f"{self.root} cannot be read: permission denied")  # nor is it empty
        found: dict[Path, Path] = {}
        for place in (run for recipe in recipes for run in _names(recipe)):
            # <hash>, <hash>.old, <hash>.work
            if (place / CONFIG).exists():
                name = place.name.removesuffix(".work").removesuffix(".old")
                found.setdefault(place.with_name(name), place / CONFIG)
        for path, file in sorted(found.items(), key=lambda item: -_changed(item[1])):
            try:
                refuse_link(file.parent)
                config = read_json(file, dict[str, Any])
            except FolderError:
                config = {}
            folder = RunFolder(self.root, path.relative_to(self.root).as_posix(), config)
            with suppress(RunError):  # a damaged run is listed like any other
                folder.settle()
            yield folder


def _folders(home: Path) -> list[Path]:
    """The folders in a folder; a link is left out, and said to be."""
    found = _names(home)
    for link in filter(Path.is_symlink, found):
        warnings.warn(f"{link} is a link, which is not followed: it is left out", stacklevel=2)
    return [place for place in found if place.is_dir() and not place.is_symlink()]


def _names(home: Path) -> list[Path]:
    """What is in a folder, in order; nothing where there can be no such folder."""
    with suppress(OSError, ValueError):
        return sorted(home.iterdir())
    return []


def _changed(file: Path) -> float:
    """When a file was changed; 0 if it has gone in the meantime."""
    with suppress(OSError):
        return file.stat().st_mtime
    return 0.0
