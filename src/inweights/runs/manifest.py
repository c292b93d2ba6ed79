"""Verify complete runs against their manifest, which lists every file with its hash.

:func:`verify` and :func:`is_whole` detect any change;
:class:`~inweights.runs.RunFolder` writes the manifest.
"""

from pathlib import Path

import msgspec

from inweights.errors import FolderError
from inweights.runs.files import hash_of, read_json
from inweights.support.links import files_below

MANIFEST = "manifest.json"


class Manifest(msgspec.Struct):
    """Content of the manifest, the file that lists the files of a run.

    Attributes:
        files: SHA-256 hash of every file of the run except the manifest, keyed by its
            path within the folder.
    """

    files: dict[str, str]


def verify(path: Path) -> None:
    """Raise an error if a file of a complete run is missing, was changed, or was added.

    Args:
        path: Folder of the run.

    Raises:
        FolderError: A file is missing, was changed, was added, is a link or cannot be
            read. The message names the file.

    Example:
        >>> import tempfile
        >>> verify(Path(tempfile.mkdtemp()))
        Traceback (most recent call last):
        ...
        inweights.errors.FolderError: ... has no readable manifest.json; run the recipe ...
    """
    again = "run the recipe again with --fresh"
    there = files_of(path)
    try:
        manifest = read_json(path / MANIFEST, Manifest)
    except FolderError:
        raise FolderError(f"{path} has no readable {MANIFEST}; {again}") from None
    for name in sorted({*there} - {*manifest.files}):
        raise FolderError(
            f"{path} was edited: it contains an additional file, {name}; remove this file, or "
            f"{again}"
        )
    for name, expected in manifest.files.items():
        if name not in there:  # names of files outside the folder are missing, too
            raise FolderError(f"{path} is incomplete: {name} is missing; {again}")
        try:
            found = hash_of(path / name)
        except OSError as error:
            raise FolderError(
                f"cannot read {path / name}: {error.strerror or error}"
            ) from None
        if found != expected:
            raise FolderError(
                f"{path} was edited: {name} differs from what was written; {again}"
            )


def files_of(path: Path) -> list[str]:
    """Return the paths of all files of a run folder except its manifest, in alphabetical order.

    Args:
        path: Folder of the run.

    Returns:
        Paths relative to the folder, with ``/`` between their parts; empty if the
        folder does not exist.

    Raises:
        FolderError: The folder contains a link. (The folder itself may be a link.)

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> (folder / "config.json").touch()
        >>> files_of(folder)
        ['config.json']
    """
    return sorted(name for name in files_below(path) if name != MANIFEST)


def is_whole(path: Path) -> bool:
    """Return whether a folder contains a complete run whose files all match its manifest.

    All files are read. The result is false if a file is missing, was changed, was
    added, is a link or cannot be read.

    Args:
        path: The folder; it need not exist.

    Example:
        >>> is_whole(Path("/tmp/no-such-run"))
        False
    """
    try:
        verify(path)
    except (FolderError, OSError):
        return False
    return True
