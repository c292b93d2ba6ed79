"""Make the plain data of which keys are hashed: settings, the files that they name, a user's code.

:func:`plain` and :func:`plain_call` make it, :func:`sources_of` lists the files and
modules. Files and code count with their content: a file as bytes; a function or a
config of a user as the parsed source of its module and of every module that this
imports from its own folder. Comments, docstrings and formatting do not count. The
library's own code does not, either: what changes its numbers raises a version.
"""

import dis
import sys
import types
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from inweights.config import identity
from inweights.config.outside import Outside
from inweights.config.values import encode
from inweights.errors import ConfigError
from inweights.support.named_files import MARK, files_of
from inweights.support.source_code import (
    bytecode,
    file_of,
    hashed,
    is_own,
    module_sources,
)

#: Versions, from 2 on, of the library's own whose numbers are others than they were:
#: names of configs (of worlds, models, learners, optimizers) and of functions. A raised
#: one is another key. ``python -m tests.house.golden`` says where one is due.
RAISED: dict[str, int] = {
    "Curriculum": 2  # the loss and its gradient are rounded otherwise, and so is a GPT's attention
}
_PLAIN = (bool, int, float, complex, str, bytes, type(None))
#: What code uses and does not change.
_FIXED = (
    types.ModuleType,
    types.FunctionType,
    types.BuiltinFunctionType,
    type,
    tuple,
    frozenset,
)


def sources_of(value: Any) -> dict[str, str]:
    """Return the hash of every file and module that a value stands on, by its path."""
    found: dict[str, str] = {}
    for name, content in _found(value):
        free = name
        while found.get(free, content) != content:  # another file of the same name
            free += "'"
        found[free] = content
    return dict(sorted(found.items()))


def plain(value: Any) -> Any:
    """Return the JSON data of which a value's key is made: names and contents.

    A function of the library is its name, as a changed one raises the version. What is
    a user's counts with its source, and a file that a config names with its bytes.
    Lists and tuples are the same here; :func:`plain_call` distinguishes them for a
    function that sees the difference.

    Raises:
        ConfigError: A value has no exact form.
    """
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | range):
        return [plain(one) for one in value]
    if isinstance(value, Outside):
        return [value.name, *_contents(value)] if value.contents else value.name
    return encode(value, _named)


def plain_call(function: Any, options: Mapping[str, Any]) -> list[Any]:
    """Return the JSON data of which a call's key is made: function and keyword arguments.

    For code that is not the library's, values are distinguished that the code could
    distinguish, such as ``(1, 2)`` and ``[1, 2]``, and a text or path that names a file
    counts with its content.

    Args:
        function: The function.
        options: Its keyword arguments.

    Raises:
        ConfigError: An argument has no exact form.

    Example:
        >>> plain_call(plain, {"sizes": (1, 2), "most": float("inf")})
        ['inweights:plain', {'sizes': [1, 2], 'most': {'$float': 'inf'}}]
    """
    given = dict(options)
    if not has_own_code([function, given]):
        return [plain(function), plain(given)]
    about = [plain(function), encode(given, _named)]
    files = sorted(files_of(given).values())
    return [*about, files] if files else about


def has_own_code(value: Any) -> bool:
    """Return whether a function or class that is not the library's is part of a value."""
    if isinstance(value, Mapping):
        return any(map(has_own_code, value.values()))
    if isinstance(value, list | tuple):
        return any(type(one) not in _PLAIN and has_own_code(one) for one in value)
    if isinstance(value, partial):
        return has_own_code([value.func, value.args, value.keywords])
    named = value if isinstance(value, types.FunctionType | type) else type(value)
    if named is type(value) and not (
        isinstance(value, msgspec.Struct | Enum) or callable(value)
    ):
        return is_dataclass(value)
    return named.__module__.partition(".")[0] not in ("inweights", "builtins")


def _named(value: Any) -> Any:
    """What a key has of a thing that has a name and a source; nothing of any other value."""
    if isinstance(value, Outside):
        return [value.name, *_contents(value)] if value.contents else None
    if isinstance(value, msgspec.Struct):
        return [public_name(type(value)), identity(value), *_contents(value)]
    if isinstance(value, Enum):
        return {
            "$member": [public_name(type(value)), value.name, *_contents(type(value))]
        }
    if is_dataclass(value) and not isinstance(value, type):
        if type(value).__module__.startswith("inweights."):
            return msgspec.to_builtins(value, str_keys=True)
        own = {
            one.name: encode(getattr(value, one.name), _named) for one in fields(value)
        }
        return {"$fields": [public_name(type(value)), own, *_contents(type(value))]}
    if isinstance(value, partial):
        function, *rest = plain_call(value.func, value.keywords)
        return [function, _arguments(value), *rest]
    if isinstance(value, types.FunctionType):
        return _function(value)
    if isinstance(value, type):
        return [public_name(value), *_contents(value)]
    if callable(value):
        raise ConfigError(f"{value!r} must be a function or a functools.partial of one")
    return None


def _arguments(bound: partial[Any]) -> Any:
    if has_own_code(bound):
        return encode(list(bound.args), _named)
    return plain(list(bound.args))


def _defaults(value: types.FunctionType) -> list[Any]:
    return [[*(value.__defaults__ or ())], value.__kwdefaults__ or {}]


def _function(value: types.FunctionType) -> Any:
    name = public_name(value)
    if name.startswith("inweights:"):
        return [name, *raised] if (raised := _contents(value)) else name
    held = [*_defaults(value), [cell.cell_contents for cell in value.__closure__ or ()]]
    if "<" not in name:  # its source says what the defaults are
        return [name, *_contents(value), plain(held)]
    # Two lambdas of one place have one name.
    return [name, *_contents(value), bytecode(value.__code__), encode(held, _named)]


def _contents(value: Any) -> list[list[str]]:
    """Hashes of what a value stands on besides itself; none of most."""
    hashes = sorted(sources_of(value).values())
    return [hashes] if hashes else []


def public_name(thing: Any) -> str:
    """Return module and name of a function or class, without the library's inner modules."""
    home = thing.__module__
    return (
        f"{'inweights' if home.startswith('inweights.') else home}:{thing.__qualname__}"
    )


def check_sources(planned: Mapping[str, str], value: Any) -> None:
    """Raise an error if a file or module has changed since the work was planned.

    Args:
        planned: Hashes by path, from :func:`sources_of` when the work was planned.
        value: The configs and functions of the work.

    Raises:
        ConfigError: One has changed.
    """
    now = sources_of(value)
    # What an option names and was not there when it was planned, the work itself has
    # written.
    written = {name for name in now.keys() - planned.keys() if name.endswith(MARK)}
    changed = [name for name in differing(planned, now) if name not in written]
    if changed:
        advice = "run the same command again"
        if any(name.endswith(MARK) for name in changed):
            advice += "; make the name of a file that your code writes within the code"
        held = set(chain.from_iterable(map(_changeable, changed)))
        if held:
            advice += (
                f". What it uses counts with its content ({', '.join(sorted(held))}): if your code "
                "changes that itself, let it return what it notes, or write it to a file"
            )
        raise ConfigError(
            f"{', '.join(changed)} changed after this work was planned; nothing was stored, "
            f"{advice}"
        )


def _changeable(name: str) -> list[str]:
    """Names that a function of a script or notebook uses, and whose values it can change."""
    home, _, path = name.partition(":")
    found: Any = sys.modules.get(home)
    for step in path.split("."):
        found = getattr(found, step, None)
    if not isinstance(found, types.FunctionType):
        return []
    steps = dis.get_instructions(found)
    assigned = {step.argval for step in steps if step.opname == "STORE_GLOBAL"}
    used = _globals_of(found)
    fixed = (*_PLAIN, *_FIXED)
    return [
        name
        for name, one in used.items()
        if name in assigned or not isinstance(one, fixed)
    ]


def differing(one: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    """Return the names whose content is not the same in two tables of hashes.

    Args:
        one: Hashes by name.
        other: Hashes by name.
    """
    return sorted(
        name for name in one.keys() | other.keys() if one.get(name) != other.get(name)
    )


def _found(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, msgspec.Struct):
        yield from getattr(value, "contents", {}).items()
        yield from _code(type(value))
        for name in value.__struct_fields__:
            yield from _found(getattr(value, name))
    elif isinstance(value, partial):
        if has_own_code(value):
            yield from files_of([value.args, value.keywords]).items()
        yield from _found([value.func, value.args, value.keywords])
    elif isinstance(value, Enum) or (
        is_dataclass(value) and not isinstance(value, type)
    ):
        yield from _code(type(value))
    elif isinstance(value, type):
        yield from _code(value)
    elif isinstance(value, types.FunctionType):
        yield from _code(value)
        if not public_name(value).startswith("inweights:"):
            yield from files_of(_defaults(value)).items()
            yield from _found([cell.cell_contents for cell in value.__closure__ or ()])
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _found(one)
    elif isinstance(value, list | tuple):
        for one in value:
            # Such as the thousand names in a graph of one's own.
            if type(one) not in _PLAIN:
                yield from _found(one)


def _code(thing: type | types.FunctionType) -> Iterator[tuple[str, str]]:
    """The source behind a function or a class that is not the library's."""
    home = thing.__module__
    # versions, not sources.
    if home.partition(".")[0] in (
        "inweights",
        "builtins",
        "torch",
    ):
        if version := RAISED.get(thing.__qualname__):
            yield f"inweights:{thing.__qualname__}", f"version {version}"
        return
    file = file_of(home)
    if file is None:
        yield f"{home}:{thing.__qualname__}", hashed(repr(reached(thing)))
        return
    yield from module_sources(file, home).items()


def reached(thing: Any, seen: frozenset[str] = frozenset()) -> Any:
    """Return what a function or class without a source file consists of: code and globals.

    Args:
        thing: The function or class.
        seen: Names that were visited already.

    Raises:
        ConfigError: A global cannot be identified by its content.
    """
    name = getattr(thing, "__qualname__", "")
    if name in seen:
        return name
    seen = seen | {name}
    if isinstance(thing, type):
        own = {n: getattr(f, "__func__", f) for n, f in vars(thing).items()}
        made = {n: f for n, f in own.items() if isinstance(f, types.FunctionType)}
        bases = [base for base in thing.__bases__ if base.__module__ == "__main__"]
        members = [*bases, *map(made.__getitem__, sorted(made))]
        return [name, *(reached(one, seen) for one in members)]
    used = _globals_of(thing)
    contents = []
    for n, one in sorted(used.items()):
        contents.append([n, _content(one, f"{name} uses {n}", seen)])
    return [bytecode(thing.__code__), contents]


def _globals_of(function: types.FunctionType) -> dict[str, Any]:
    """What a function uses of its module, by name."""
    known = function.__globals__
    return {name: known[name] for name in _names(function.__code__) if name in known}


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
    # Whoever has an array has loaded it; 'list' has not.
    np: Any = sys.modules.get("numpy")
    if np and (
        isinstance(value, np.ndarray)
        or type(value).__module__.partition(".")[0] == "torch"
    ):
        with_bytes = np.asarray(
            value.detach().cpu() if hasattr(value, "detach") else value
        )
        return hashed(
            f"{with_bytes.dtype}{with_bytes.shape}{with_bytes.tobytes().hex()}"
        )
    if (
        callable(value)
        and getattr(value, "__module__", None)
        and hasattr(value, "__name__")
    ):
        return [value.__module__, value.__name__]  # a built-in function
    raise ConfigError(
        f"{what}, a {type(value).__name__}, whose content cannot be identified, so that changes "
        "would not be noticed. Pass it as an option, or move both into a module"
    )


def _of_own(file: Path, module: str) -> list[str]:
    """Hashes behind a module, if it is one's own."""
    if not is_own(module, file):
        return []
    return [
        f"{name} {content}"
        for name, content in sorted(module_sources(file, module).items())
    ]


def _names(code: types.CodeType) -> set[str]:
    inner = (one for one in code.co_consts if isinstance(one, types.CodeType))
    return set(code.co_names).union(*map(_names, inner))
