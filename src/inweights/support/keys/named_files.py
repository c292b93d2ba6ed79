"""Find the files to which options refer by strings or paths, so that their content is hashed.

A string is treated as the name of a file if it looks like one (it has a suffix such as
``.pt``, or a separator) and the file exists. Therefore the key for ``path="bag.pt"``
changes when the file changes, and ``mode="train"`` never refers to a file ``train``. A
folder is identified only by its name, with a warning, since it is not known whether the
code reads or writes it.
"""

import os
import warnings
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path, PurePath
from typing import Any

from inweights.errors import CautionWarning
from inweights.support.keys.content import fingerprint

#: Suffix of a file's name in the list of what a run depends on.
MARK = " (named by an option)"
#: Largest number of characters of a name.
_MAX_NAME = 1_000


def files_of(options: Any) -> dict[str, str]:
    """Return the hash of each file to which the options of a function refer.

    A path or a string refers to a file if the file exists. A string must also have a
    suffix or a separator, as in ``bag.pt`` or ``data/bag``.

    Args:
        options: Keyword arguments of a user's function, or any value; lists, tuples,
            sets and the values of dictionaries are searched.

    Returns:
        Hashes of 16 hexadecimal digits, sorted by key. The key is the name of the file
        followed by `` (named by an option)``. The dictionary is empty if there are no
        such files.

    Raises:
        DataError: A file cannot be read.

    Warns:
        CautionWarning: An option names a folder, whose content is not hashed (once per
            folder).

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "bag.csv"
        >>> _ = file.write_text("0.5")
        >>> list(files_of({"path": str(file), "mode": "train"}).values())
        ['d2cbad71ff333de6']
    """
    return {f"{name}{MARK}": fingerprint(name) for name in sorted(set(_names(options)))}


def _names(value: Any) -> Iterator[str]:
    """Yield the names of existing files."""
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
        # Names such as "/" and ".." do not refer to files.
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
    except (OSError, ValueError):  # no file can have this name
        return False


@cache
def _caution(folder: str) -> None:
    """Warn once about a folder whose content is not hashed."""
    warnings.warn(
        f"the option {folder!r} names a folder; its name is part of a run's key, but not "
        f"its content. If the code reads it, write Outside(name={folder!r}) (from "
        "inweights.experiments)",
        CautionWarning,
        stacklevel=2,
    )
