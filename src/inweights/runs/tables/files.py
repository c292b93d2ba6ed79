"""Small files by name, each written whole or not at all: in a folder, or in an object store."""

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
    for name in ("ESTALE", "ETIMEDOUT", "EHOSTDOWN", "EHOSTUNREACH", "ENOTCONN", "EREMOTEIO")
    if hasattr(errno, name)
}
T = TypeVar("T")


class Folder:
    """A folder on a disk, of this machine or shared by several; it may be a link, nothing below.

    Names of files have ``/`` between their parts.
    """

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)

    def read(self, name: str) -> bytes | None:
        """Return the content of a file; ``None`` where it is not there or cannot be read."""
        path = within(self.root, name)
        with suppress(OSError):
            return _patiently(lambda: read_bytes(path, links=False))
        return None

    def write(self, name: str, content: bytes) -> None:
        """Write a file, whole or not at all."""
        self._publish(name, content, new=False)

    def create(self, name: str, content: bytes) -> bool:
        """Write a file if there is none of this name; of several that try, one does."""
        return self._publish(name, content, new=True)

    def names(self, folder: str) -> list[str]:
        """Return the names of all files below a folder, in order."""
        start = f"{folder}/" if folder else ""
        found = files_below(within(self.root, folder))
        return sorted(start + name for name in found if not name.endswith(PARTIAL))

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        within(self.root, name).unlink(missing_ok=True)

    def remove_folder(self, folder: str) -> None:
        """Remove all that is below a folder, if it is there; what cannot be removed is an error."""
        path = within(self.root, folder)
        shutil.rmtree(path, ignore_errors=True)  # another process may be removing it, too
        with suppress(FileNotFoundError):
            shutil.rmtree(path)  # what is still there is an error

    @contextmanager
    def near(self, name: str) -> Iterator[tuple[Path, Callable[[], None]]]:
        """Give a file on a disk of this machine, and what has to be called when it has changed."""
        yield within(self.root, name), lambda: None  # the file is in its place

    def _publish(self, name: str, content: bytes, *, new: bool) -> bool:
        """Whether the file was written; it is not where it should be new, and is there."""
        path = within(self.root, name)
        with explained_writes(path):
            try:
                # Not synced to the disk: after a power cut a torn file does not fit its name.
                _patiently(lambda: publish_file(path, content, new=new, sync=False))
            except FileExistsError:
                if not new:
                    raise
                return False
        return True


class ObjectStore:
    """What lies below an address such as ``s3://bucket/folder``; its methods are a folder's.

    Access is configured by the environment (``AWS_ACCESS_KEY_ID``, ``AWS_ENDPOINT_URL``,
    ``GOOGLE_SERVICE_ACCOUNT``, …), as everywhere. A store that does not answer is tried again for
    ten minutes, with growing pauses.
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
            raise ConfigError(f"'{address}' is not an address of an object store: {why}") from None

    def read(self, name: str) -> bytes | None:
        with suppress(*self._gone), self._reaching(name, *self._gone):
            return bytes(self._obstore.get(self._store, name).bytes())
        return None

    def write(self, name: str, content: bytes) -> None:
        self._put(name, content, "overwrite")

    def create(self, name: str, content: bytes) -> bool:
        try:
            # obstore tries this again only if it surely was not done. Here a second try is safe.
            _patiently(lambda: self._put(name, content, "create"), self._silent)
        except (self._errors.AlreadyExistsError, FileExistsError):
            # An answer that was lost makes a second try of one's own meet the first.
            return self.read(name) == content
        return True

    def names(self, folder: str) -> list[str]:
        with self._reaching(folder):
            pages = self._obstore.list(self._store, folder)
            return sorted(entry["path"] for page in pages for entry in page)

    def remove(self, name: str) -> None:
        with suppress(*self._gone), self._reaching(name, *self._gone):
            self._obstore.delete(self._store, name)

    def remove_folder(self, folder: str) -> None:
        for name in self.names(folder):
            self.remove(name)

    @contextmanager
    def near(self, name: str) -> Iterator[tuple[Path, Callable[[], None]]]:
        with tempfile.TemporaryDirectory(prefix="inweights-") as folder:
            path = Path(folder) / "state"
            content = self.read(name)
            if content is not None:
                path.write_bytes(content)
            yield path, lambda: self.write(name, path.read_bytes())

    def _put(self, name: str, content: bytes, mode: str) -> None:
        with self._reaching(name, self._errors.AlreadyExistsError):
            # In one request: only such a one can be made to depend on what is there.
            self._obstore.put(self._store, name, content, mode=mode, use_multipart=False)

    def _silent(self, error: Exception) -> bool:
        """Whether a store gave no answer, rather than a refusal."""
        return isinstance(error.__cause__, self._errors.GenericError)

    @contextmanager
    def _reaching(self, name: str, *expected: type[Exception]) -> Iterator[None]:
        """Turn what a store says into one clear line, but for what is expected."""
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
    """Return the files below a folder, or below an address with ``://``."""
    return ObjectStore(str(place)) if "://" in str(place) else Folder(place)


def _gone(error: Exception) -> bool:
    """Whether it is the machine that has the folder that is away."""
    return isinstance(error, OSError) and error.errno in _AWAY


def _patiently(work: Callable[[], T], away: Callable[[Exception], bool] = _gone) -> T:
    """Try again, with growing pauses, while what keeps the files is away."""
    pause, ends = 0.5, time.monotonic() + PATIENCE
    while True:
        try:
            return work()
        except Exception as error:
            if not away(error) or time.monotonic() + pause > ends:
                raise
        time.sleep(pause)
        pause = min(2 * pause, 30.0)
