"""Detect whether files or code have changed since work was planned.

:func:`check_sources` compares the hashes of
:func:`~inweights.support.keys.sources.sources_of` at the time of planning with the
current ones.
"""

import dis
import sys
import types
from collections.abc import Mapping
from itertools import chain
from typing import Any

from inweights.errors import ConfigError
from inweights.support.keys.named_files import MARK
from inweights.support.keys.sources import PLAIN, globals_of, sources_of

#: Types of values that code uses without changing them.
_FIXED = (
    types.ModuleType,
    types.FunctionType,
    types.BuiltinFunctionType,
    type,
    tuple,
    frozenset,
)


def check_sources(planned: Mapping[str, str], value: Any) -> None:
    """Raise an error if a file or module has changed since the work was planned.

    A file that an option names and that did not exist at the time of planning is not
    treated as a change, since the work itself may have written it.

    Args:
        planned: Hashes keyed by path, as returned by
            :func:`~inweights.support.keys.sources.sources_of` when the work was
            planned.
        value: The configs and functions of the work.

    Raises:
        ConfigError: A file or module has changed since then (the message names it), or
            code of the work cannot be hashed; see
            :func:`~inweights.support.keys.sources.sources_of`.
        DataError: A file cannot be read.
    """
    now = sources_of(value)
    # A named file that did not exist when the run was planned was written by the work
    # itself.
    written = {name for name in now.keys() - planned.keys() if name.endswith(MARK)}
    changed = [name for name in differing(planned, now) if name not in written]
    if changed:
        advice = "run the same command again"
        if any(name.endswith(MARK) for name in changed):
            advice += "; if your code writes this file, construct the file's name within the code"
        held = set(chain.from_iterable(map(_changeable, changed)))
        if held:
            advice += (
                f". Your code uses {', '.join(sorted(held))}, whose content is part of the key "
                "of a run; if the code itself changes it, return the changes, or write them to a "
                "file"
            )
        raise ConfigError(
            f"{', '.join(changed)} changed after this work was planned; nothing was stored. "
            f"To continue, {advice}"
        )


def _changeable(name: str) -> list[str]:
    """Return the globals that a function of a script or notebook uses and can change."""
    home, _, path = name.partition(":")
    found: Any = sys.modules.get(home)
    for step in path.split("."):
        found = getattr(found, step, None)
    if not isinstance(found, types.FunctionType):
        return []
    steps = dis.get_instructions(found)
    assigned = {step.argval for step in steps if step.opname == "STORE_GLOBAL"}
    used = globals_of(found)
    fixed = (*PLAIN, *_FIXED)
    return [
        name
        for name, one in used.items()
        if name in assigned or not isinstance(one, fixed)
    ]


def differing(one: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    """Return the sorted names whose hashes differ, or that are in only one dictionary.

    Args:
        one: Hashes by name.
        other: Hashes by name, to compare with ``one``.
    """
    return sorted(
        name for name in one.keys() | other.keys() if one.get(name) != other.get(name)
    )
