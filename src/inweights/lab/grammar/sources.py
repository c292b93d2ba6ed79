"""What influences numbers besides settings: files named by a config, and users' code.

Both count with their content. A file counts as bytes; a function or a config of somebody else's
counts as the parsed source of its module and of every module that this imports from its own folder.
Comments, docstrings and formatting do not count. The library's own code does not, either: what
changes its numbers raises a version.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from inweights.errors import ConfigError
from inweights.support.source_code import bytecode, file_of, hashed, is_own, module_sources

__all__ = ["check_sources", "differing", "reached", "sources_of"]

_PLAIN = (bool, int, float, complex, str, bytes, type(None))


def sources_of(value: Any) -> dict[str, str]:
    """Return the hash of every file and module that a value stands on, by its path.

    Args:
        value: A config, a function, a partial, or lists and mappings of these.

    Raises:
        ConfigError: A function uses something whose content cannot be told, or a module was edited
            after it was imported.
        DataError: A file is missing.

    Example:
        >>> from inweights.probes import accuracy
        >>> sources_of([accuracy, {"n": 3}])
        {}
    """
    found: dict[str, str] = {}
    for name, content in _found(value):
        free = name
        while found.get(free, content) != content:  # another file of the same name
            free += "'"
        found[free] = content
    return dict(sorted(found.items()))


def check_sources(planned: Mapping[str, str], value: Any) -> None:
    """Refuse to go on where a file or a module is not what it was when the work was planned.

    Raises:
        ConfigError: Says which differs.
    """
    now = sources_of(value)
    if changed := differing(planned, now):
        raise ConfigError(
            f"{', '.join(changed)} changed after this work was planned; nothing was stored, run "
            "the same command again"
        )


def differing(one: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    """Return the names whose content is not the same in both."""
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def _found(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, msgspec.Struct):
        yield from getattr(value, "contents", {}).items()
        yield from _code(type(value))
        for name in value.__struct_fields__:
            yield from _found(getattr(value, name))
    elif isinstance(value, partial):
        yield from _found([value.func, value.args, value.keywords])
    elif isinstance(value, types.FunctionType):
        yield from _code(value)
        yield from _found([cell.cell_contents for cell in value.__closure__ or ()])
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _found(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _found(one)


def _code(thing: type | types.FunctionType) -> Iterator[tuple[str, str]]:
    """The source behind a function or a class that is not the library's."""
    home = thing.__module__
    if home.partition(".")[0] in ("inweights", "builtins"):
        return
    file = file_of(home)
    if file is None:
        yield f"{home}:{thing.__qualname__}", hashed(repr(reached(thing)))
        return
    yield from module_sources(file, home).items()


def reached(thing: Any, seen: frozenset[str] = frozenset()) -> Any:
    """Return what a function or class without a module's file stands on: its code, and globals.

    Raises:
        ConfigError: It uses something whose content cannot be told.

    Example:
        >>> scale = 2
        >>> def double(x):
        ...     return scale * x
        >>> before = reached(double)
        >>> scale = 3
        >>> before == reached(double)
        False
    """
    name = getattr(thing, "__qualname__", "")
    if name in seen:
        return name
    seen = seen | {name}
    if isinstance(thing, type):
        own = {n: getattr(f, "__func__", f) for n, f in vars(thing).items()}
        made = {n: f for n, f in own.items() if isinstance(f, types.FunctionType)}
        return [name, *(reached(f, seen) for _, f in sorted(made.items()))]
    used = {n: thing.__globals__[n] for n in _names(thing.__code__) if n in thing.__globals__}
    return [
        bytecode(thing.__code__),
        [[n, _content(one, f"{name} uses {n}", seen)] for n, one in sorted(used.items())],
    ]


def _content(value: Any, what: str, seen: frozenset[str]) -> Any:
    """What a global is, as plain values."""
    if isinstance(value, _PLAIN):
        return repr(value)
    if isinstance(value, types.ModuleType):
        file = file_of(value.__name__)
        return [value.__name__, *(_of_own(file, value.__name__) if file else ())]
    if isinstance(value, types.FunctionType | type):
        home = value.__module__
        if home == "__main__" or home not in sys.modules:
            return reached(value, seen)
        file = file_of(home)
        return [home, value.__qualname__, *(_of_own(file, home) if file else ())]
    if isinstance(value, msgspec.Struct | partial):
        return [repr(value), sorted(sources_of(value).items())]
    if isinstance(value, list | tuple | set | frozenset):
        items = [_content(one, what, seen) for one in value]
        return sorted(items, key=repr) if isinstance(value, set | frozenset) else items
    if isinstance(value, Mapping):
        return [[repr(key), _content(one, what, seen)] for key, one in value.items()]
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, np.ndarray) or type(value).__module__.partition(".")[0] == "torch":
        with_bytes = np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)
        return hashed(f"{with_bytes.dtype}{with_bytes.shape}{with_bytes.tobytes().hex()}")
    if callable(value) and getattr(value, "__module__", None) and hasattr(value, "__name__"):
        return [value.__module__, value.__name__]  # a built-in function
    raise ConfigError(
        f"{what}, a {type(value).__name__}, whose content cannot be identified, so that changes "
        "would not be noticed. Pass it as an option, or move both into a module"
    )


def _of_own(file: Path, module: str) -> list[str]:
    """Hashes behind a module, if it is one's own."""
    if not is_own(module, file):
        return []
    return [f"{name} {content}" for name, content in sorted(module_sources(file, module).items())]


def _names(code: types.CodeType) -> set[str]:
    inner = (one for one in code.co_consts if isinstance(one, types.CodeType))
    return set(code.co_names).union(*map(_names, inner))
