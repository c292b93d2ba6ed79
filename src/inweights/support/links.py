"""Find files below a folder without following ``..`` or symbolic links.

Stores, plans and run folders may come from other machines. Only the folder that a user
named may itself be a symbolic link. Every component below it is checked before it is
used. A link that is created between the check and the use is not detected, except for
the last component, which is opened without following links.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from inweights.errors import FolderError


def within(root: str | Path, name: str) -> Path:
    """Return the path of a file within a folder; raise an error if it would lie outside.

    The path need not exist.

    Args:
        root: The folder.
        name: Relative name with ``/`` between its parts; empty for the folder itself.

    Raises:
        FolderError: A part of the name is empty, ``.`` or ``..``, or a file or folder
            on the path below ``root`` is a symbolic link.

    Example:
        >>> within("/tmp/inweights-doctest", "ab/abcd").as_posix()
        '/tmp/inweights-doctest/ab/abcd'
    """
    # Stores call this for each file, and Path objects would take most of the time.
    place = str(root)
    for part in name.split("/") if name else ():
        if part in ("", ".", "..") or os.path.split(part) != ("", part):
            raise FolderError(f"the name '{name}' must refer to a file inside {root}")
        place = os.path.join(place, part)  # noqa: PTH118
        refuse_link(place)
    return Path(place)


def refuse_link(place: str | Path) -> None:
    """Raise an error if a path is a symbolic link.

    Args:
        place: The path, which need not exist.

    Raises:
        FolderError: The path is a symbolic link.
    """
    if os.path.islink(place):  # noqa: PTH114
        raise FolderError(
            f"{place} is a link, and links in folders of runs, stores and plans are "
            "not followed; replace it with its target, or remove it"
        )


def files_below(folder: str | Path) -> Iterator[str]:
    """Yield the path of every file in a folder and its subfolders, relative to the folder.

    The parts of a path are separated by ``/``. Paths are sorted within each folder. A
    folder that does not exist or cannot be read is treated as empty.

    Args:
        folder: Path of the folder.

    Raises:
        FolderError: A file or folder is a symbolic link.
    """
    entries: list[os.DirEntry[str]] = []
    with suppress(OSError), os.scandir(folder) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        if entry.is_symlink():
            refuse_link(entry.path)
        elif entry.is_dir(follow_symlinks=False):
            yield from (f"{entry.name}/{name}" for name in files_below(entry.path))
        else:
            yield entry.name
