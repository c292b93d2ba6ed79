"""Read facts from JSON files with one value, or with one value per line.

:func:`json_rows` determines which form a file has, and passes the values to
:class:`~inweights.worlds.knowledge.rows.records.Records`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from inweights.errors import DataError
from inweights.worlds.knowledge.rows.records import Records
from inweights.worlds.knowledge.rows.row import Row


def json_rows(path: Path, text: str, records: Records) -> Iterator[Row]:
    """Yield the facts of a JSON file: one value in ``.json``, otherwise one value per line.

    A ``.json`` file that is not a single JSON value is also read as one value per line.

    Args:
        path: The file; its extension determines the format.
        text: Content of the file.
        records: Converter from JSON values to facts.

    Yields:
        The facts in the order of the file, each with the number of its line or, in a
        file with a single value, of its record.

    Raises:
        DataError: The text is not JSON, or a value is neither a fact nor a list of
            facts; the message gives the line number or the number of the record.
        ConfigError: A column that the layout of ``records`` names does not exist.
    """
    if path.suffix.lower() != ".json":
        yield from records.rows([*_lines(path, text)], "line")
        return
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        # Some files called .json contain one value per line.
        lines = _lines_or_none(path, text)
        if lines is None or len(lines) < 2:
            raise DataError(
                f"{path}, line {error.lineno}: not JSON ({error.msg})"
            ) from None
        yield from records.rows(lines, "line")
        return
    except RecursionError:
        raise DataError(
            f"{path} is nested too deeply; expected a list of objects"
        ) from None
    if not isinstance(found, list | Mapping):
        raise DataError(
            f"{path} contains no list; expected a list of cases of MQuAKE, or a list of objects "
            "with one fact each"
        )
    yield from records.whole(found)


def _lines_or_none(path: Path, text: str) -> list[tuple[int, Any]] | None:
    """Return the values of all lines with their numbers; ``None`` if a line is not JSON."""
    try:
        return [*_lines(path, text)]
    except DataError:
        return None


def _lines(path: Path, text: str) -> Iterator[tuple[int, Any]]:
    """Yield the value of every line that is not blank, with its number."""
    # str.splitlines would also split at rarer separators, which a name may contain.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                yield number, msgspec.json.decode(line)
            except (msgspec.DecodeError, RecursionError) as error:
                raise DataError(
                    f"{path}, line {number}: not a JSON object ({error})"
                ) from None
