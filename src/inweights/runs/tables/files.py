"""Read and write small files by name, in a folder or in an object store; each write is atomic.

:func:`open_files` returns a :class:`Folder` or an :class:`ObjectStore`, which have the
same methods; :class:`~inweights.runs.tables.store.Store` keeps its tables in one of
them.
"""

import errno
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from inweights.errors import ConfigError, WriteError
from inweights.runs import explained_writes
from inweights.support.limits import read_bytes
from inweights.support.links import files_below, within
from inweights.support.publish import PARTIAL, publish_file

#: Seconds that one waits for a store that does not answer.
PATIENCE = 600.0
#: What a folder of another machine says while that is away, and may stop to say.
_AWAY = {
    getattr(errno, name)
    for name in (
        "ESTALE",
        "ETIMEDOUT",
        "EHOSTDOWN",
        "EHOSTUNREACH",
        "ENOTCONN",
        "EREMOTEIO",
    )
    if hasattr(errno, name)
}
T = TypeVar("T")


class Folder:
    """Files in a folder on a disk, of this machine or shared by several machines.

    Names of files have ``/`` between their parts. The folder may be a link; nothing
    below it may. Methods raise a :class:`~inweights.errors.FolderError` for a name that
    leads out of the folder or to a link. A shared disk that is away is tried again for
    ten minutes.

    Args:
        root: The folder; made when something is written.

    Example:
        >>> import tempfile
        >>> files = Folder(tempfile.mkdtemp())
        >>> files.create("a/one", b"1"), files.create("a/one", b"2"), files.read("a/one")
        (True, False, b'1')
        >>> files.names("a")
        ['a/one']
    """

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)

    def read(self, name: str) -> bytes | None:
        """Return the content of a file; ``None`` where it does not exist or cannot be read.

        Args:
            name: Name of the file, below the root.
        """
        path = within(self.root, name)
        with suppress(OSError):
            return _patiently(lambda: read_bytes(path, links=False))
        return None

    def write(self, name: str, content: bytes) -> None:
        """Write a file, completely or not at all; replace it if it exists.

        Args:
            name: Name of the file, below the root.
            content: Its bytes.

        Raises:
            WriteError: The file cannot be written.
        """
        self._publish(name, content, new=False)

    def create(self, name: str, content: bytes) -> bool:
        """Write a file if there is none of this name; of several writers one succeeds.

        Args:
            name: Name of the file, below the root.
            content: Its bytes.

        Returns:
            Whether this call wrote the file.

        Raises:
            WriteError: The file cannot be written.
        """
        return self._publish(name, content, new=True)

    def names(self, folder: str) -> list[str]:
        """Return the names of all files below a folder, in order.

        Args:
            folder: Folder below the root; an empty text is the root itself.
        """
        start = f"{folder}/" if folder else ""
        found = files_below(within(self.root, folder))
        return sorted(start + name for name in found if not name.endswith(PARTIAL))

    def remove(self, name: str) -> None:
        """Remove a file, if it exists.

        Args:
            name: Name of the file, below the root.

        Raises:
            OSError: The file cannot be removed.
        """
        within(self.root, name).unlink(missing_ok=True)

    def remove_folder(self, folder: str) -> None:
        """Remove everything below a folder, if it exists.

        Args:
            folder: Folder below the root.

        Raises:
            OSError: Something cannot be removed.
        """
        path = within(self.root, folder)
        # Another process may be removing it, too.
        shutil.rmtree(path, ignore_errors=True)
        with suppress(FileNotFoundError):
            shutil.rmtree(path)  # what is still there is an error

    @contextmanager
    def near(self, name: str) -> Iterator[tuple[Path, Callable[[], None]]]:
        """Provide a file on a disk of this machine for a block that reads and changes it.

        Args:
            name: Name of the file, below the root.

        Yields:
            The path of the local file, and a function to call whenever the file was
            changed, which stores it.
        """
        yield within(self.root, name), lambda: None  # the file is in its place

    def _publish(self, name: str, content: bytes, *, new: bool) -> bool:
        """Write a file; return False where it should be new and exists."""
        path = within(self.root, name)
        with explained_writes(path):
            try:
                # Not synced to the disk: after a power cut a torn file does not fit its
                # name.
                _patiently(lambda: publish_file(path, content, new=new, sync=False))
            except FileExistsError:
                if not new:
                    raise
                return False
        return True


class ObjectStore:
    """Files below an address such as ``s3://bucket/folder``.

    The methods are those of :class:`Folder`. Access is configured by the environment
    (``AWS_ACCESS_KEY_ID``, ``AWS_ENDPOINT_URL``, ``GOOGLE_SERVICE_ACCOUNT``, …), as
    everywhere. A store that does not answer is tried again for ten minutes, with
    growing pauses; after that, and where it refuses, methods raise a
    :class:`~inweights.errors.WriteError`.

    Args:
        address: Address with ``://``.

    Raises:
        ConfigError: The optional package is not installed, or the address is not valid.
    """

    def __init__(self, address: str) -> None:
        try:
            import obstore
            from obstore.store import from_url
        except ImportError:
            raise ConfigError(
                f"'{address}' is an object store; it requires: pip install 'inweights[cluster]'"
            ) from None
        self.address = address
        self._obstore: Any = obstore
        self._errors: Any = obstore.exceptions
        self._gone = (self._errors.NotFoundError, FileNotFoundError)
        retries = {"max_retries": 1000, "retry_timeout": timedelta(seconds=PATIENCE)}
        options = {"timeout": "60s"}
        if os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://"):
            options["allow_http"] = "true"
        try:
            opened: Any = from_url
            self._store = opened(address, client_options=options, retry_config=retries)
        except (self._errors.BaseError, ValueError, OSError) as error:
            why = str(error).partition("\n")[0]
            raise ConfigError(
                f"'{address}' is not an address of an object store: {why}"
            ) from None

    def read(self, name: str) -> bytes | None:
        """Return the content of an object; ``None`` where there is none.

        Args:
            name: Name of the object, below the address.
        """
        with suppress(*self._gone), self._reaching(name, *self._gone):
            return bytes(self._obstore.get(self._store, name).bytes())
        return None

    def write(self, name: str, content: bytes) -> None:
        """Write an object; replace it if it exists.

        Args:
            name: Name of the object, below the address.
            content: Its bytes.
        """
        self._put(name, content, "overwrite")

    def create(self, name: str, content: bytes) -> bool:
        """Write an object if there is none of this name; of several writers one succeeds.

        Args:
            name: Name of the object, below the address.
            content: Its bytes.

        Returns:
            Whether this call wrote the object.
        """
        try:
            # obstore tries this again only if it surely was not done. Here a second try
            # is safe.
            _patiently(lambda: self._put(name, content, "create"), self._silent)
        except (self._errors.AlreadyExistsError, FileExistsError):
            # An answer that was lost makes a second try of one's own meet the first.
            return self.read(name) == content
        return True

    def names(self, folder: str) -> list[str]:
        """Return the names of all objects below a folder, in order.

        Args:
            folder: Folder below the address; an empty text is all of it.
        """
        with self._reaching(folder):
            pages = self._obstore.list(self._store, folder)
            return sorted(entry["path"] for page in pages for entry in page)

    def remove(self, name: str) -> None:
        """Remove an object, if it exists.

        Args:
            name: Name of the object, below the address.
        """
        with suppress(*self._gone), self._reaching(name, *self._gone):
            self._obstore.delete(self._store, name)

    def remove_folder(self, folder: str) -> None:
        """Remove all objects below a folder, if there are any.

        Args:
            folder: Folder below the address.
        """
        for name in self.names(folder):
            self.remove(name)

    @contextmanager
    def near(self, name: str) -> Iterator[tuple[Path, Callable[[], None]]]:
        """Provide a temporary local copy of an object for a block that reads and changes it.

        Args:
            name: Name of the object, below the address.

        Yields:
            The path of the local file, and a function to call whenever the file was
            changed, which uploads it.
        """
        with tempfile.TemporaryDirectory(prefix="inweights-") as folder:
            path = Path(folder) / "state"
            content = self.read(name)
            if content is not None:
                path.write_bytes(content)
            yield path, lambda: self.write(name, path.read_bytes())

    def _put(self, name: str, content: bytes, mode: str) -> None:
        with self._reaching(name, self._errors.AlreadyExistsError):
            # In one request: only such a one can be made to depend on what is there.
            self._obstore.put(
                self._store, name, content, mode=mode, use_multipart=False
            )

    def _silent(self, error: Exception) -> bool:
        """Return whether a store gave no answer, rather than a refusal."""
        return isinstance(error.__cause__, self._errors.GenericError)

    @contextmanager
    def _reaching(self, name: str, *expected: type[Exception]) -> Iterator[None]:
        """Turn errors of a store into a WriteError of one line, except for expected ones."""
        try:
            yield
        except expected:
            raise
        except self._errors.BaseError as error:
            why = str(error).strip().partition("\n")[0]
            raise WriteError(
                f"{self.address}: cannot read or write {name}: {why}; nothing is lost, repeat the "
                "command to continue"
            ) from error


#: The place where a store is.
Files = Folder | ObjectStore


def open_files(place: str | Path) -> Files:
    """Open the files of a store, at a folder or an address.

    Args:
        place: Path of a folder; or an address with ``://``.

    Returns:
        A :class:`Folder` or an :class:`ObjectStore`.

    Raises:
        ConfigError: The address is not valid, or its optional package is not installed.

    Example:
        >>> type(open_files("/tmp/inweights-doctest")).__name__
        'Folder'
    """
    return ObjectStore(str(place)) if "://" in str(place) else Folder(place)


def _gone(error: Exception) -> bool:
    """Return whether an error says that the machine with the folder is away."""
    return isinstance(error, OSError) and error.errno in _AWAY


def _patiently(work: Callable[[], T], away: Callable[[Exception], bool] = _gone) -> T:
    """Try again, with growing pauses, while the machine or store with the files is away."""
    pause, ends = 0.5, time.monotonic() + PATIENCE
    while True:
        try:
            return work()
        except Exception as error:
            if not away(error) or time.monotonic() + pause > ends:
                raise
        time.sleep(pause)
        pause = min(2 * pause, 30.0)
