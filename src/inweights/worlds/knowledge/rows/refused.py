"""Errors for data that are not facts: known formats, such as instructions, and missing columns.

:func:`refusal_of` constructs the error that readers of tables and of JSON raise.
"""

import tomllib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from inweights.errors import DataError
from inweights.worlds.readers.tables.headers import FACTS, found_roles

_SHOWN = 10


@lru_cache(maxsize=1)
def _formats() -> Sequence[Mapping[str, Any]]:
    """Read the known formats."""
    text = Path(__file__).with_name("refused.toml").read_text(encoding="utf-8")
    formats: Sequence[Mapping[str, Any]] = tomllib.loads(text)["format"]
    return formats


def known_format(keys: Sequence[str]) -> Mapping[str, Any] | None:
    """Return the known format without facts that matches the keys, or ``None``.

    Args:
        keys: Keys of an object, or names of columns.

    Returns:
        An entry of ``refused.toml`` with the keys ``name`` (name of the format),
        ``keys`` (keys that every table or object of this format has) and ``advice``
        (what the user can do). If several formats match, the first entry is returned.
        If no format matches, the result is ``None``.

    Example:
        >>> known_format(["instruction", "input", "output"])["name"]
        'instructions in the form of Alpaca'
    """
    lower = set(map(str.lower, keys))
    return next((one for one in _formats() if set(one["keys"]) <= lower), None)


def refusal_of(keys: Sequence[str], where: str, *, what: str = "keys") -> DataError:
    """Return the error for an object or a table that lacks a subject, a relation or an object.

    The caller raises the error. Its message names a known format without facts, or the
    missing parts.

    Args:
        keys: Keys of the object, or columns of the table.
        where: File and line, used in the message.
        what: Term for ``keys`` in the message: ``keys`` or ``columns``.

    Returns:
        The error, for the caller to raise.
    """
    known = known_format(keys)
    shown = ", ".join(keys[:_SHOWN])
    if len(keys) > _SHOWN:
        shown += " …"
    if known:
        return DataError(
            f"{where}: {known['name']} ({what} {shown}); expected facts with subject, relation "
            f"and object; {known['advice']}"
        )
    found = found_roles(keys)
    lacking = [role for role in FACTS if role not in found]
    if what == "columns":
        given = f"gives the columns {list(keys[:_SHOWN])}"
    else:
        given = f"has {what} {shown}"
    example = ",".join([*keys, "SUBJECT", "RELATION", "OBJECT"][:3])
    return DataError(
        f"{where} {given}; expected subject, relation and object, but no name is a "
        f"known word for {' or '.join(lacking)}; name three with --columns, such as "
        f"--columns {example} (columns= in Python)"
    )
