"""Find runs below one folder: the run of a config, or all runs.

The commands and the Python entry points open a :class:`RunStore`;
:class:`~inweights.runs.RunFolder` is one of its runs.
"""

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
from inweights.support.border import guarded
from inweights.support.links import refuse_link, within


def default_root() -> Path:
    """Return the folder of all runs: ``$INWEIGHTS_RUNS``, or ``runs`` in the working folder.

    Returns:
        The value of the environment variable ``INWEIGHTS_RUNS`` as a path, or the
        relative path ``runs`` if it is not set. The folder need not exist, and is not
        created.
    """
    return Path(os.environ.get("INWEIGHTS_RUNS", "runs"))


class RunStore:
    """Store of all runs below one folder.

    Iterating yields a :class:`RunFolder` for each run, including runs in progress and
    damaged ones. The most recently started runs come first.

    Args:
        root: Path of the folder, which need not exist. ``None`` (the default) means
            :func:`default_root`.

    Attributes:
        root: The folder.

    Example:
        >>> store = RunStore("/tmp/inweights-doctest")
        >>> store.folder("identity-bridge/fig2", {"scale": "cpu"}).complete
        False
    """

    @guarded
    def __init__(self, root: str | Path | None = None) -> None:
        """Store the root; nothing is read or created.

        Args:
            root: Path of the folder, which need not exist. ``None`` (the default) means
                :func:`default_root`.
        """
        self.root = default_root() if root is None else Path(root)

    def folder(self, name: str, config: Mapping[str, Any]) -> RunFolder:
        """Return the run folder of a config; the same config always has the same folder.

        The folder need not exist, and is not created. If a process was killed while it
        published the run, the publication is finished first.

        Args:
            name: Name of a recipe, ``<paper>/<recipe>``, which is not checked.
            config: Config of the run, as values that JSON can store.

        Raises:
            FolderError: An interrupted publication has to be finished, and the run's
                path contains a link.
            WriteError: An interrupted publication cannot be finished.
            TypeError: A value of the config cannot be stored as JSON.
        """
        folder = RunFolder(self.root, f"{name}/{digest(config)}", config)
        folder.settle()
        return folder

    def has(self, name: str) -> bool:
        """Return whether a folder for runs of a recipe exists; the folder may be empty.

        Args:
            name: Name of the recipe, ``<paper>/<recipe>``.
        """
        return (self.root / name).is_dir()

    def of(self, name: str) -> Iterator[RunFolder]:
        """Yield all runs of one recipe, in any state, newest first.

        Folders of other recipes are not read.

        Args:
            name: Full name of the recipe, ``<paper>/<recipe>``. Nothing is yielded for
                a name of a different form, such as a path.

        Raises:
            FolderError: This process may not read the store's folder, or the path of
                the recipe's folder contains a link.
        """
        parts = name.split("/")
        if len(parts) == 2 and "\0" not in name and not {"", ".", ".."} & set(parts):
            yield from self._found([within(self.root, name)])

    def __iter__(self) -> Iterator[RunFolder]:
        """Yield all runs, newest first, including those in progress and damaged ones.

        If the folder of a paper or recipe is a link, it is left out, with a warning.

        Raises:
            FolderError: This process may not read the store's folder.
        """
        recipes: list[Path] = []
        for paper in _folders(self.root):
            recipes += _folders(paper)
        yield from self._found(recipes)

    def _found(self, recipes: Iterable[Path]) -> Iterator[RunFolder]:
        """Yield the runs in folders of recipes, newest first."""
        if self.root.is_dir() and not os.access(self.root, os.R_OK | os.X_OK):
            # Without this error, the folder would be treated as empty.
            raise FolderError(f"{self.root} cannot be read: permission denied")
        found: dict[Path, Path] = {}
        for recipe in recipes:
            for place in _names(recipe):
                if not (place / CONFIG).exists():
                    continue
                # <hash>, <hash>.old and <hash>.work belong to one run. The complete
                # folder is the first in alphabetical order, so that its config is read.
                name = place.name.removesuffix(".work").removesuffix(".old")
                found.setdefault(place.with_name(name), place / CONFIG)
        for path, file in sorted(found.items(), key=lambda item: -_changed(item[1])):
            try:
                refuse_link(file.parent)
                config = read_json(file, dict[str, Any])
            except FolderError:
                config = {}
            folder = RunFolder(
                self.root, path.relative_to(self.root).as_posix(), config
            )
            with suppress(RunError):  # a damaged run is listed, too
                folder.settle()
            yield folder


def _folders(home: Path) -> list[Path]:
    """Return the folders in a folder; a link is left out, with a warning."""
    found = _names(home)
    for link in filter(Path.is_symlink, found):
        warnings.warn(
            f"{link} is a link, which is not followed and therefore left out",
            stacklevel=2,
        )
    return [place for place in found if place.is_dir() and not place.is_symlink()]


def _names(home: Path) -> list[Path]:
    """Return the entries of a folder, in order; empty if the folder does not exist."""
    with suppress(OSError, ValueError):
        return sorted(home.iterdir())
    return []


def _changed(file: Path) -> float:
    """Return the time at which a file was changed; 0 if it was removed in the meantime."""
    with suppress(OSError):
        return file.stat().st_mtime
    return 0.0
