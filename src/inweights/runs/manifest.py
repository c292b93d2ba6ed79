"""The manifest of a complete run: every file with its hash, so that any change is noticed."""

from pathlib import Path

import msgspec

from inweights.errors import FolderError
from inweights.runs.files import hash_of, read_json
from inweights.support.links import files_below

MANIFEST = "manifest.json"


class Manifest(msgspec.Struct):
    """The files of a complete run, each with its hash."""

    files: dict[str, str]


def verify(path: Path) -> None:
    """Check that no file of a complete run is missing, was changed, or was added."""
    again = "run it again with --fresh"
    there = files_of(path)
    try:
        manifest = read_json(path / MANIFEST, Manifest)
    except FolderError:
        raise FolderError(f"{path} has no readable {MANIFEST}; {again}") from None
    for name in sorted({*there} - {*manifest.files}):
        raise FolderError(f"{path} was edited: {name} was added; remove it, or {again}")
    for name, expected in manifest.files.items():
        if name not in there:  # nor is any name that leads out of the folder
            raise FolderError(f"{path} is incomplete: {name} is missing; {again}")
        if hash_of(path / name) != expected:
            raise FolderError(f"{path} was edited: {name} differs from what was written; {again}")


def files_of(path: Path) -> list[str]:
    """Every file of a run folder but its manifest, by its path within; a link is an error."""
    return sorted(name for name in files_below(path) if name != MANIFEST)


def is_whole(path: Path) -> bool:
    """Whether a folder is a complete run."""
    try:
        verify(path)
    except (FolderError, OSError):
        return False
    return True
