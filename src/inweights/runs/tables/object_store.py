"""Read and write small files by name in an object store; each write is atomic.

:class:`ObjectStore` has the methods of :class:`~inweights.runs.tables.files.Folder`, so
that :class:`~inweights.runs.tables.store.Store` can store its tables in either.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from itertools import chain
from pathlib import Path
from typing import Any

from inweights.errors import ConfigError, WriteError
from inweights.runs.tables import patience


class ObjectStore:
    """Files in an object store, below an address such as ``s3://bucket/folder``.

    The class has the same methods as :class:`~inweights.runs.tables.files.Folder`.
    Access is configured by the usual environment variables (``AWS_ACCESS_KEY_ID``,
    ``AWS_ENDPOINT_URL``, ``GOOGLE_SERVICE_ACCOUNT``, …). If a store does not respond,
    operations are repeated for ten minutes, with increasing pauses. Methods raise a
    :class:`~inweights.errors.WriteError` after these ten minutes, or if the store
    denies access.

    Args:
        address: Address with ``://``, such as ``s3://bucket/folder``.

    Attributes:
        address: The address, as given.

    Raises:
        ConfigError: The optional package for object stores is not installed, or the
            address is invalid.
    """

    def __init__(self, address: str) -> None:
        """Open an object store; no request is sent.

        Args:
            address: Address with ``://``, such as ``s3://bucket/folder``.

        Raises:
            ConfigError: The optional package is not installed, or the address is not
                valid.
        """
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
        retries = {
            "max_retries": 1000,
            "retry_timeout": timedelta(seconds=patience.PATIENCE),
        }
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
        """Return the bytes of an object; ``None`` if the object does not exist.

        Args:
            name: Name of the object, relative to the store's address.

        Raises:
            WriteError: The store denies access, or does not respond for ten minutes.
        """
        with suppress(*self._gone), self._reaching(name, *self._gone):
            return bytes(self._obstore.get(self._store, name).bytes())
        return None

    def write(self, name: str, content: bytes) -> None:
        """Write an object; an existing object is replaced.

        Args:
            name: Name of the object, relative to the store's address.
            content: Content of the object.

        Raises:
            WriteError: The store denies access, or does not respond for ten minutes.
        """
        self._put(name, content, "overwrite")

    def create(self, name: str, content: bytes) -> bool:
        """Write an object unless one of this name exists; an existing object is never replaced.

        Args:
            name: Name of the object, relative to the store's address.
            content: Content of the object.

        Returns:
            Whether there is now an object with this content: true if this call wrote
            it, or if an existing object has the same content; false if the existing
            object has different content.

        Raises:
            WriteError: The bucket does not exist, or the store denies access or does not
                respond for ten minutes.
        """
        try:
            # obstore repeats a request only if it is certain that the request had no
            # effect. Here, repeating is safe in any case.
            patience.patiently(lambda: self._put(name, content, "create"), self._silent)
        except (self._errors.AlreadyExistsError, FileExistsError):
            # If the response to the first attempt was lost, the second attempt finds
            # the object that the first one created.
            return self.read(name) == content
        return True

    def names(self, folder: str) -> list[str]:
        """Return the names of all objects below a folder, in alphabetical order.

        Args:
            folder: Path of the folder, relative to the store's address; an empty string
                means the whole store.

        Returns:
            Names relative to the store's address; empty if there are no objects.

        Raises:
            WriteError: The store denies access, or does not respond for ten minutes.
        """
        with self._reaching(folder):
            pages = self._obstore.list(self._store, folder)
            # The store lists names in pages.
            return sorted(entry["path"] for entry in chain.from_iterable(pages))

    def remove(self, name: str) -> None:
        """Remove an object, if it exists.

        Args:
            name: Name of the object, relative to the store's address.

        Raises:
            WriteError: The store denies access, or does not respond for ten minutes.
        """
        with suppress(*self._gone), self._reaching(name, *self._gone):
            self._obstore.delete(self._store, name)

    def remove_folder(self, folder: str) -> None:
        """Remove all objects below a folder, if there are any.

        Args:
            folder: Path of the folder, relative to the store's address.

        Raises:
            WriteError: The store denies access, or does not respond for ten minutes.
        """
        for name in self.names(folder):
            self.remove(name)

    @contextmanager
    def near(self, name: str) -> Iterator[tuple[Path, Callable[[], None]]]:
        """Provide a temporary local copy of an object for a ``with`` block that changes it.

        Args:
            name: Name of the object, relative to the store's address.

        Yields:
            The path of the local file, which does not exist if there is no such object,
            and a function without arguments that uploads the file. The block calls the
            function after each change of the file.

        Raises:
            WriteError: The store denies access, or does not respond for ten minutes.
        """
        with tempfile.TemporaryDirectory(prefix="inweights-") as folder:
            path = Path(folder) / "state"
            content = self.read(name)
            if content is not None:
                path.write_bytes(content)
            yield path, lambda: self.write(name, path.read_bytes())

    def _put(self, name: str, content: bytes, mode: str) -> None:
        with self._reaching(name, self._errors.AlreadyExistsError, missing=True):
            # In one request, since the store cannot check whether the object exists
            # when the upload has several parts.
            self._obstore.put(
                self._store, name, content, mode=mode, use_multipart=False
            )

    def _silent(self, error: Exception) -> bool:
        """Return whether an error means that the store did not respond."""
        return isinstance(error.__cause__, self._errors.GenericError)

    @contextmanager
    def _reaching(
        self, name: str, *expected: type[Exception], missing: bool = False
    ) -> Iterator[None]:
        """Convert errors of a store, except for expected errors, to a one-line WriteError.

        Args:
            name: Name of the object.
            *expected: Errors that are not converted.
            missing: Whether the error for a missing object is converted as well. When
                an object is written, this error means that the bucket is missing.
        """
        converted = (self._errors.BaseError, *(self._gone if missing else ()))
        try:
            yield
        except expected:
            raise
        except converted as error:
            why = str(error).strip().partition("\n")[0]
            raise WriteError(
                f"{self.address}: cannot read or write {name}: {why}; nothing is lost; repeat "
                "the command to continue"
            ) from error
