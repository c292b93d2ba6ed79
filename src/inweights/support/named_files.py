"""Files that options name, as texts or paths: they count with their content.

A text is taken for the name of a file if it looks like one (it has an ending such as ``.pt``, or a
separator) and the file or folder is there. So ``path="bag.pt"`` is another run once the file has
changed, and ``mode="train"`` never looks for a folder ``train``.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

from inweights.errors import ConfigError
from inweights.support.content import fingerprint

#: What follows the name of such a file in a list of what a run stands on.
MARK = " (named by an option)"
#: Files in a folder that an option may name, and characters of a name, at most.
MAX_FILES, _MAX_NAME = 1_000, 1_000


def files_of(options: Any) -> dict[str, str]:
    """Return the hash of each file or folder that options name, by its name and :data:`MARK`.

    Args:
        options: Keyword arguments of a function of one's own, or any value; lists and tables are
            looked through.

    Raises:
        ConfigError: A folder has too many files to be read whenever a run is looked up.
        DataError: A file cannot be read.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "bag.csv"
        >>> _ = file.write_text("0.5")
        >>> list(files_of({"path": str(file), "mode": "train"}).values())
        ['d2cbad71ff333de6']
    """
    names = sorted(set(_names(options)))
    return {f"{name}{MARK}": fingerprint(_checked(name)) for name in names}


def _names(value: Any) -> Iterator[str]:
    """Names of files and folders that are there."""
    if isinstance(value, str | Path):
        if _is_there(value):
            yield str(value)
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _names(one)
    elif isinstance(value, list | tuple | set | frozenset):
        for one in value:
            yield from _names(one)


def _is_there(name: str | Path) -> bool:
    if isinstance(name, str):
        separated = os.sep in name or (os.altsep or os.sep) in name
        last = PurePath(name).name.strip(".")  # "/" and ".." stand for more than a file's name
        if len(name) > _MAX_NAME or not last or not (separated or PurePath(name).suffix):
            return False
    try:
        return Path(name).is_file() or Path(name).is_dir()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _checked(name: str) -> str:
    """A name, if what it stands for is small enough to be read at each look-up."""
    path = Path(name)
    if path.is_dir():
        for count, _ in enumerate(path.rglob("*")):
            if count >= MAX_FILES:
                raise ConfigError(
                    f"the option {name!r} names a folder of more than {MAX_FILES:,} files, whose "
                    "content would be read for every run; name a file in it, or write "
                    f"Outside(name={name!r}) (from inweights.lab) if all of it counts"
                )
    return name
