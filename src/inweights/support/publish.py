"""Write files and folders atomically: they get their final name when they are complete."""

import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from inweights.errors import WriteError

#: Suffix of a file or folder that is not completely written yet.
PARTIAL = ".partial"


def publish_file(
    path: Path, content: bytes, *, new: bool = False, sync: bool = True
) -> None:
    """Write a file atomically.

    Args:
        path: The file; its folder is created if needed.
        content: Bytes of the file.
        new: If true, an existing file raises an error, so that exactly one of several
            writers succeeds. By default an existing file is replaced.
        sync: Whether the content is flushed to the disk before the file is given its
            final name. Set it to false only if readers check the content.

    Raises:
        FileExistsError: ``new`` is true and the file exists.
        OSError: The file or its folder cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{secrets.token_hex(4)}{PARTIAL}")
    try:
        with partial.open("xb") as file:
            file.write(content)
            file.flush()
            if sync:
                os.fsync(file.fileno())
        # unlike os.replace, this fails if the name exists, on shared folders, too
        if new:
            os.link(partial, path)
            partial.unlink()
        else:
            os.replace(partial, path)
    except BaseException:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise


def publish_folder(made: Path, path: Path, *, replace: bool = False) -> None:
    """Rename a complete folder to its final name, after its files are flushed to the disk.

    Args:
        made: The folder, on the same file system as ``path``.
        path: The final path of the folder.
        replace: Whether an existing folder ``path`` is replaced. The existing folder is
            first renamed to ``<path>.old``, and is removed after the new folder has
            taken its name.

    Raises:
        OSError: A file cannot be read; a folder cannot be renamed or removed; or
            ``replace`` is false and ``path`` is a file or a folder that is not empty.
    """
    for file in filter(Path.is_file, made.rglob("*") if os.name == "posix" else ()):
        # Windows cannot sync a file that is opened for reading
        with file.open("rb") as opened:
            os.fsync(opened.fileno())
    old = path.with_name(f"{path.name}.old")
    if replace:
        remove(old)
        if path.exists():
            os.replace(path, old)
    os.replace(made, path)
    if replace:
        with suppress(OSError):  # an old folder that remains does no harm
            remove(old)


def remove(path: Path) -> None:
    """Remove a folder with its content, a file, or a symbolic link but not its target.

    Nothing happens if the path does not exist.

    Args:
        path: The folder, file or link.

    Raises:
        OSError: The path cannot be removed.
    """
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def explained_writes(path: Path) -> Iterator[None]:
    """Raise a ``WriteError`` in place of an error that a ``with`` block raises on writing.

    Args:
        path: The file or folder that is written, for the error message.

    Yields:
        ``None``.

    Raises:
        WriteError: The block raised an ``OSError`` or an error of polars. The message
            states that the same command can be run again.

    Example:
        >>> with explained_writes(Path("runs")):
        ...     raise OSError(28, "No space left on device")
        Traceback (most recent call last):
        ...
        inweights.errors.WriteError: cannot write runs: No space left on device; nothing is ...
    """
    try:
        yield
    except _write_errors() as error:
        why = getattr(error, "strerror", None) or str(error).partition("\n")[0]
        raise WriteError(
            f"cannot write {path}: {why}; nothing is lost; run the same command again to continue"
        ) from error


def _write_errors() -> tuple[type[Exception], ...]:
    """Return the errors that writing may raise, including those of polars if it is loaded."""
    polars = sys.modules.get("polars")
    return (OSError, polars.exceptions.PolarsError) if polars else (OSError,)
