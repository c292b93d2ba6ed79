"""Read facts from data sets of the Hugging Face hub, which are downloaded only if allowed.

:func:`hub_rows` yields the rows of a data set; ``knowledge/files`` converts them to
facts.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from inweights.errors import ConfigError, DataError
from inweights.support.extras import optional


def is_hub_name(source: str) -> bool:
    """Return whether a source could be the name of a data set on the Hugging Face Hub.

    Args:
        source: Name of the source. The result is True if it has the form
            ``owner/name``, without an extension. Whether the data set exists is not
            checked.

    Example:
        >>> is_hub_name("someone/facts"), is_hub_name("data/facts.csv"), is_hub_name("facts")
        (True, False, False)
    """
    found = re.fullmatch(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", source)
    return found is not None and "." not in source.rsplit("/", 1)[1]


def hub_rows(name: str, *, download: bool) -> Iterator[Mapping[str, Any]]:
    """Yield all rows of all splits of a data set while they are downloaded.

    Code in the data set is never run.

    Args:
        name: Owner and name of the data set, ``owner/name``.
        download: Whether the data set may be downloaded.

    Yields:
        Rows as dictionaries, with one value per column.

    Raises:
        ConfigError: ``download`` is False, or ``datasets`` is not installed.
        DataError: The data set cannot be read.
    """
    if not download:
        raise ConfigError(
            f"there is no file {name}; to download a data set from the Hugging Face "
            "hub, pass --download"
        )
    datasets = optional("hf", f"fetching {name}", "datasets")
    try:
        splits = datasets.load_dataset(name, streaming=True)
        for part in splits.values() if isinstance(splits, Mapping) else [splits]:
            yield from part
    except Exception as error:  # noqa: BLE001 - of the network, the hub and the formats
        lines = str(error).splitlines() or [type(error).__name__]
        raise DataError(f"cannot read the data set {name}: {lines[0][:200]}") from None
