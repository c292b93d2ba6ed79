"""Read and write small files by name, in a folder or in an object store; each write is atomic.

:func:`open_files` returns a :class:`Folder` or an
:class:`~inweights.runs.tables.object_store.ObjectStore`, which have the same methods;
:class:`~inweights.runs.tables.store.Store` stores its tables in one of them.
"""

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from inweights.errors import ConfigError
from inweights.runs import explained_writes
from inweights.runs.tables.object_store import ObjectStore
from inweights.runs.tables.patience import patiently
from inweights.support.limits import read_bytes
from inweights.support.links import files_below, within
from inweights.support.publish import PARTIAL, publish_file


class Folder:
    """Files in a folder on a local disk or on a disk that several machines share.

    The parts of a file name are separated by ``/``. The folder itself may be a link, but
    links below it are not allowed. Methods raise a
    :class:`~inweights.errors.FolderError` for a name that refers to a file outside the
    folder or to a link. While a shared disk is unavailable, reading and writing are
    retried for up to ten minutes.

    Args:
        root: The folder, which is created when something is written.

    Example:
        >>> import tempfile
        >>> files = Folder(tempfile.mkdtemp())
        >>> files.create("a/one", b"1"), files.create("a/one", b"2"), files.read("a/one")
        (True, False, b'1')
        >>> files.names("a")
        ['a/one']
    """

    def __init__(self, root: str | Path) -> None:
        """Store the root; no folder is created.

        Args:
            root: The folder, which need not exist.
        """
        self.root = Path(root)

    def read(self, name: str) -> bytes | None:
        """Return the bytes of a file; ``None`` if the file does not exist or cannot be read.

        Args:
            name: Name of the file, relative to the root.

        Raises:
            FolderError: The name refers to a file outside the folder or to a link.
        """
        path = within(self.root, name)
        with suppress(OSError):
            return patiently(lambda: read_bytes(path, links=False))
        return None

    def write(self, name: str, content: bytes) -> None:
        """Write a file atomically; an existing file is replaced.

        Args:
            name: Name of the file, relative to the root.
            content: Content of the file.

        Raises:
            FolderError: The name refers to a file outside the folder or to a link.
            WriteError: The file cannot be written.
        """
        self._publish(name, content, new=False)

    def create(self, name: str, content: bytes) -> bool:
        """Write a file unless one of this name exists; exactly one of several writers succeeds.

        Args:
            name: Name of the file, relative to the root.
            content: Content of the file.

        Returns:
            Whether this call wrote the file; false if the file already existed.

        Raises:
            FolderError: The name refers to a file outside the folder or to a link.
            WriteError: The file cannot be written.
        """
        return self._publish(name, content, new=True)

    def names(self, folder: str) -> list[str]:
        """Return the names of all files below a folder, in alphabetical order.

        Args:
            folder: Path of the folder relative to the root; an empty string means the
                root itself.

        Returns:
            Names relative to the root, including those of files in subfolders; empty if
            the folder does not exist or cannot be read. Files that are not completely
            written yet are left out.

        Raises:
            FolderError: The name leads out of the folder, or the path or the folder
                contains a link.
        """
        start = f"{folder}/" if folder else ""
        found = files_below(within(self.root, folder))
        return sorted(start + name for name in found if not name.endswith(PARTIAL))

    def remove(self, name: str) -> None:
        """Remove a file, if it exists.

        Args:
            name: Name of the file, relative to the root.

        Raises:
            FolderError: The name refers to a file outside the folder or to a link.
            OSError: The file cannot be removed, for example because the name refers to
                a folder.
        """
        within(self.root, name).unlink(missing_ok=True)

    def remove_folder(self, folder: str) -> None:
        """Remove a folder and everything in it, if it exists.

        Args:
            folder: Path of the folder relative to the root.

        Raises:
            FolderError: The path leads out of the root or to a link.
            OSError: A file cannot be removed, or the name refers to a file.
        """
        path = within(self.root, folder)
        # The first call ignores errors, since another process may be removing the same
        # files.
        shutil.rmtree(path, ignore_errors=True)
        with suppress(FileNotFoundError):
            shutil.rmtree(path)  # raises an error for files that remain

    @contextmanager
    def near(self, name: str) -> Iterator[tuple[Path, Callable[[], None]]]:
        """Provide a file on a local disk for a ``with`` block that reads and changes it.

        Args:
            name: Name of the file, relative to the root.

        Yields:
            The path of the file, which need not exist, and a function without arguments
            that the block calls after each change of the file. The function does
            nothing here, because the path is that of the stored file itself.

        Raises:
            FolderError: The name refers to a file outside the folder or to a link.
        """
        # the file is local, so that there is nothing to copy back
        yield within(self.root, name), lambda: None

    def _publish(self, name: str, content: bytes, *, new: bool) -> bool:
        """Write a file; return ``False`` if it must be ``new`` but already exists."""
        path = within(self.root, name)
        with explained_writes(path):
            try:
                # The file is not synced to the disk. If it is damaged by a power
                # failure, its hash does not match its name, and it counts as missing.
                patiently(lambda: publish_file(path, content, new=new, sync=False))
            except FileExistsError:
                if not new:
                    raise
                return False
        return True


#: Storage of files: a folder, or an object store.
Files = Folder | ObjectStore


#: An address in which the second slash is missing. A single letter before the colon is
#: not matched, since it is a drive of Windows.
_ONE_SLASH = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/(?!/)")


def open_files(place: str | Path) -> Files:
    """Return an object that reads and writes the files of a store.

    Args:
        place: Path of a folder, or the address of an object store, with ``://``.

    Returns:
        A :class:`Folder` if ``place`` is a path, and an
        :class:`~inweights.runs.tables.object_store.ObjectStore` if it is an address.
        Nothing is read or created.

    Raises:
        ConfigError: The address is invalid or has only one slash (as in
            ``Path("s3://bucket")``, which is ``s3:/bucket``), or the optional package
            for object stores is not installed.

    Example:
        >>> type(open_files("/tmp/inweights-doctest")).__name__
        'Folder'
    """
    if miswritten := _ONE_SLASH.match(str(place)):
        rest = str(place)[miswritten.end() :]
        raise ConfigError(
            f"'{place}' looks like the address of an object store with a slash missing; "
            f"write '{miswritten[1]}://{rest}' as a string, or './{place}' for a folder"
        )
    return ObjectStore(str(place)) if "://" in str(place) else Folder(place)
