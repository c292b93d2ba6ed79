"""Refer to a file, folder or model whose content is part of a run's key."""

from __future__ import annotations

from inweights.config import Config
from inweights.config.forms import FORMS, Form
from inweights.support.keys.content import contents_of


class Outside(Config):
    """A file, a folder or a model to which an option refers.

    Its content is part of a run's key: if the content changes, the key changes. An
    instance can be used as a path, as in ``open(option)``. ``os.fspath`` returns
    ``name``, even if this is the name of a model on the Hugging Face hub and not a
    path.

    Attributes:
        name: A path, or the name of a model on the hub. A name that begins with ``@``,
            such as ``@people``, stands for data of an installed package.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from inweights.support.keys.sources import sources_of
        >>> file = Path(tempfile.mkdtemp()) / "weights.csv"
        >>> _ = file.write_text("0.5")
        >>> list(sources_of({"weights": Outside(name=str(file)), "scale": 2}).values())
        ['d2cbad71ff333de6']
        >>> Path(Outside(name=str(file))).read_text()
        '0.5'
    """

    name: str

    @property
    def contents(self) -> dict[str, str]:
        """Dictionary from ``name`` to the hash of the content; empty if there is nothing to hash.

        There is nothing to hash if the name begins with ``@``, or if it is neither an
        existing path nor a model on the hub in the local cache.

        Raises:
            DataError: The file or folder cannot be read.
        """
        return contents_of(self.name)

    def __fspath__(self) -> str:
        return self.name


FORMS[Outside] = Form(
    "$outside", lambda value: value.name, lambda data: Outside(name=data)
)
