"""A function or class of one's own in a config: its address and the hash of its source.

A config is plain data, so that it can be stored, hashed and sent. What it names is found again by
its address in a module that is loaded; nothing is imported because a file says so, and no function
is called whose first argument is not the one that is asked for.
"""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable
from typing import Any

from inweights.config import Config, digest
from inweights.errors import ConfigError
from inweights.support.sources import plain

#: What :func:`code_of` was given in this process: lambdas and functions of a notebook, too.
_GIVEN: dict[tuple[str, str], Any] = {}


class Code(Config):
    """A function or class by its address.

    Attributes:
        at: ``module:name``.
        source: Hash of its source and of what it uses of its own folder; unchecked if empty.
    """

    at: str
    source: str = ""

    @property
    def contents(self) -> dict[str, str]:
        """The hash of the source as it is now."""
        found = _GIVEN.get((self.at, self.source)) or _loaded(self.at)
        return {self.at: self.source if found is None else _source(found)}

    def load(self, *first: str) -> Callable[..., Any]:
        """Return what it names."""
        given = _GIVEN.get((self.at, self.source))
        if given is not None:
            return given
        found = _loaded(self.at)
        module = self.at.partition(":")[0]
        if found is None:
            raise ConfigError(
                f"there is no {self.at} here: import {module} first, or name it with "
                f"--plugin {module}"
            )
        if first and first_argument(found) not in first:
            raise ConfigError(
                f"{self.at} must take {' or '.join(map(repr, first))} as its first argument"
            )
        if self.source and _source(found) != self.source:
            raise ConfigError(
                f"the source of {self.at} is not what it was when this was written; restore it, "
                "or make it again with the new one"
            )
        return found


def code_of(thing: Any) -> Code:
    """Return a function or class as plain data; it can be loaded again in this process.

    Example:
        >>> def halved(step, steps):
        ...     return 0.5
        >>> code = code_of(halved)
        >>> code.at.partition(":")[2], code.load()(3, 10)
        ('halved', 0.5)
    """
    if not isinstance(thing, types.FunctionType | type):
        raise ConfigError(f"a function or a class is needed here, got {thing!r}")
    code = Code(at=f"{thing.__module__}:{thing.__qualname__}", source=_source(thing))
    _GIVEN[code.at, code.source] = thing
    return code


def first_argument(thing: Callable[..., Any]) -> str:
    """Return the name of the first positional argument; empty where there is none."""
    try:
        parameters = list(inspect.signature(thing).parameters.values())
    except ValueError:
        return ""
    taken = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return parameters[0].name if parameters and parameters[0].kind in taken else ""


def _source(thing: Any) -> str:
    return digest(plain(thing), 16)


def _loaded(at: str) -> Any:
    """What an address names in a module that is loaded, if it is that module's own."""
    module, _, path = at.partition(":")
    found: Any = sys.modules.get(module)
    for step in path.split("."):
        found = getattr(found, step, None)
    own = isinstance(found, types.FunctionType | type) and found.__module__ == module
    return found if own else None
