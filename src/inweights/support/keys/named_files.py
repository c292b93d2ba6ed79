"""Find the files that options name as texts or paths, since they count with their content.

A text is taken for the name of a file if it looks like one (it has an ending such as
``.pt``, or a separator) and the file exists. So ``path="bag.pt"`` is another run once
the file has changed, and ``mode="train"`` never looks for a file ``train``. A folder
may be read or written to, and nothing tells which: it counts with its name alone, and a
warning says so.
"""

import os
import warnings
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path, PurePath
from typing import Any

from inweights.errors import CautionWarning
from inweights.support.keys.content import fingerprint

#: What follows the name of such a file in a list of what a run depends on.
MARK = " (named by an option)"
#: Characters of a name, at most.
_MAX_NAME = 1_000


def files_of(options: Any) -> dict[str, str]:
    """Return the hash of each file that options name, by its name and :data:`MARK`.

    Args:
        options: Keyword arguments of a user's function, or any value; lists and tables
            are searched.

    Raises:
        DataError: A file cannot be read.

    Warns:
        CautionWarning: An option names a folder, whose content does not count.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "bag.csv"
        >>> _ = file.write_text("0.5")
        >>> list(files_of({"path": str(file), "mode": "train"}).values())
        ['d2cbad71ff333de6']
    """
    return {f"{name}{MARK}": fingerprint(name) for name in sorted(set(_names(options)))}


def _names(value: Any) -> Iterator[str]:
    """Names of files that are there."""
    if isinstance(value, str | Path):
        if _is_a_file(value):
            yield str(value)
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _names(one)
    elif isinstance(value, list | tuple | set | frozenset):
        for one in value:
            yield from _names(one)


def _is_a_file(name: str | Path) -> bool:
    if isinstance(name, str):
        separated = os.sep in name or (os.altsep or os.sep) in name
        # "/" and ".." stand for more than a file's name.
        last = PurePath(name).name.strip(".")
        if (
            len(name) > _MAX_NAME
            or not last
            or not (separated or PurePath(name).suffix)
        ):
            return False
    try:
        path = Path(name)
        if path.is_dir():
            _caution(str(name))
        return path.is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False


@cache
def _caution(folder: str) -> None:
    """Say once of a folder that its content does not count."""
    warnings.warn(
        f"the option {folder!r} names a folder; its name is part of a run's key and its content is "
        f"not. If the code reads it, write Outside(name={folder!r}) (from inweights.experiments)",
        CautionWarning,
        stacklevel=2,
    )
