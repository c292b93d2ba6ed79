"""Find files below a folder without following ``..`` or links.

Stores, plans and run folders may come from elsewhere. Only the folder that a user named
may be a link itself. Every step below it is checked before it is used; a link that
somebody puts there between the two is not noticed, and the last step alone is opened
without following links.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from inweights.errors import FolderError


def within(root: str | Path, name: str) -> Path:
    """Return the path of a name below a folder.

    Args:
        root: The folder.
        name: Relative name with ``/`` between its parts; empty for the folder itself.

    Raises:
        FolderError: A part of the name is ``..`` or the like, or a step is a link.

    Example:
        >>> within("/tmp/inweights-doctest", "ab/abcd").as_posix()
        '/tmp/inweights-doctest/ab/abcd'
    """
    # Stores ask this for each file; paths as objects take most of its time.
    place = str(root)
    for part in name.split("/") if name else ():
        if part in ("", ".", "..") or os.path.split(part) != ("", part):
            raise FolderError(f"'{name}' is not a name of a file within {root}")
        place = os.path.join(place, part)  # noqa: PTH118
        refuse_link(place)
    return Path(place)


def refuse_link(place: str | Path) -> None:
    """Raise an error if a path is a link.

    Raises:
        FolderError: It is one.
    """
    if os.path.islink(place):  # noqa: PTH114
        raise FolderError(
            f"{place} is a link, and links among runs are not followed; nor are they in stores and "
            "plans: replace it by its target, or remove it"
        )


def files_below(folder: str | Path) -> Iterator[str]:
    """Yield the relative name of every file below a folder; nothing if there is no such folder.

    Raises:
        FolderError: A link is among them.
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
