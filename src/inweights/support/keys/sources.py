"""Find the files and code on which a value depends, each with the hash of its content.

:func:`sources_of` lists them; :mod:`inweights.support.keys.plain` builds the data of a
key from them. Files and code are identified by their content: a file by its bytes, a
user's function or config by the parsed source of its module and of every module that
this module imports from the same folder. Comments, docstrings and formatting have no
effect. The library's own code is left out, since a version number is increased when its
results change.
"""

import sys
import types
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from inweights.errors import ConfigError
from inweights.support.keys.named_files import files_of
from inweights.support.keys.source_code import (
    bytecode,
    file_of,
    hashed,
    is_own,
    module_sources,
)

#: Versions, from 2 on, of the library's own configs (of worlds, models, learners,
#: optimizers) and functions whose numbers have changed, by name. Raising a version
#: changes the key. ``python -m tests.house.golden`` reports where a new version is
#: needed.
RAISED: dict[str, int] = {
    "Curriculum": 2  # loss, its gradient and a GPT's attention are rounded differently
}
PLAIN = (bool, int, float, complex, str, bytes, type(None))


def sources_of(value: Any) -> dict[str, str]:
    """Return the hash of every file and module on which a value depends, keyed by path.

    Args:
        value: A config, function, class, ``functools.partial``, member of an
            enumeration or instance of a dataclass, or a list, tuple or dictionary of
            these. Other values depend on no file or module.

    Returns:
        Hashes of 16 hexadecimal digits, sorted by path. A function without a source
        file is listed as ``module:name``. If two files have the same relative path, the
        second has ``'`` appended. A function or config of the library whose results
        have changed since an earlier version (:data:`RAISED`) is listed as
        ``inweights:name`` with ``version N`` instead of a hash.

    Raises:
        ConfigError: A global of a function without a source file cannot be hashed, or a
            module was edited after it was imported or is not valid Python.
        DataError: A file cannot be read.
    """
    found: dict[str, str] = {}
    for name, content in _found(value):
        free = name
        while found.get(free, content) != content:  # another file has the same name
            free += "'"
        found[free] = content
    return dict(sorted(found.items()))


def has_own_code(value: Any) -> bool:
    """Return whether a value contains a function or class from outside this library.

    Mappings, lists, tuples and ``functools.partial`` are searched. The result is also
    true for a config, a member of an enumeration or a callable object whose class is
    defined outside this library, and for an instance of any dataclass. Built-in
    functions and classes, such as ``len`` and ``int``, are ignored.

    Args:
        value: Any value.
    """
    if isinstance(value, Mapping):
        return any(map(has_own_code, value.values()))
    if isinstance(value, list | tuple):
        return any(type(one) not in PLAIN and has_own_code(one) for one in value)
    if isinstance(value, partial):
        return has_own_code([value.func, value.args, value.keywords])
    named = value if isinstance(value, types.FunctionType | type) else type(value)
    if named is type(value) and not (
        isinstance(value, msgspec.Struct | Enum) or callable(value)
    ):
        return is_dataclass(value)
    return named.__module__.partition(".")[0] not in ("inweights", "builtins")


def defaults_of(value: types.FunctionType) -> list[Any]:
    """Return a list of two items with the default values of a function.

    The first item is the list of defaults of positional arguments, and the second is
    the dictionary of defaults of keyword-only arguments. Both may be empty.

    Args:
        value: The function.
    """
    return [[*(value.__defaults__ or ())], value.__kwdefaults__ or {}]


def public_name(thing: Any) -> str:
    """Return the name of a function or class in the form ``module:name``.

    For objects of the library, the module is always written as ``inweights``.

    Args:
        thing: The function or class.
    """
    home = thing.__module__
    return (
        f"{'inweights' if home.startswith('inweights.') else home}:{thing.__qualname__}"
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
            yield from files_of(defaults_of(value)).items()
            yield from _found([cell.cell_contents for cell in value.__closure__ or ()])
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _found(one)
    elif isinstance(value, list | tuple):
        for one in value:
            # Plain values are skipped, such as the names of nodes in a user's graph.
            if type(one) not in PLAIN:
                yield from _found(one)


def _code(thing: type | types.FunctionType) -> Iterator[tuple[str, str]]:
    """Yield the sources of a function or class that is not part of the library."""
    home = thing.__module__
    # Code of these packages is identified by version numbers instead of its source.
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
    """Return plain values that identify a function or class that has no source file.

    Args:
        thing: The function or class.
        seen: Qualified names that were already visited, so that recursion ends.

    Returns:
        For a function, a list of its bytecode and the list of ``[name, content]`` for
        each global that it uses. For a class, a list of its name and of the same data
        for its methods and its bases in the same script or notebook. For a name in
        ``seen``, the name.

    Raises:
        ConfigError: A global cannot be identified by its content, or belongs to a
            module that was edited after it was imported.
        DataError: A file cannot be read.
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
    used = globals_of(thing)
    contents = []
    for n, one in sorted(used.items()):
        contents.append([n, _content(one, f"{name} uses {n}", seen)])
    return [bytecode(thing.__code__), contents]


def globals_of(function: types.FunctionType) -> dict[str, Any]:
    """Return the globals used by a function and by the functions nested in it, keyed by name.

    Args:
        function: The function. Names that are not defined in its module are ignored.
    """
    known = function.__globals__
    return {name: known[name] for name in _names(function.__code__) if name in known}


def _content(value: Any, what: str, seen: frozenset[str]) -> Any:
    """Return plain values that identify the content of a global."""
    if isinstance(value, PLAIN):
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
    # An array can exist only if NumPy is loaded, so that it is not imported here.
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
        f"{what} is a {type(value).__name__}, whose content cannot be hashed, so changes to it "
        "would not be noticed. Pass it as an option, or define it in a module"
    )


def _of_own(file: Path, module: str) -> list[str]:
    """Return hashes of a user's module and of its imports; empty for other modules."""
    if not is_own(module, file):
        return []
    return [
        f"{name} {content}"
        for name, content in sorted(module_sources(file, module).items())
    ]


def _names(code: types.CodeType) -> set[str]:
    inner = (one for one in code.co_consts if isinstance(one, types.CodeType))
    return set(code.co_names).union(*map(_names, inner))
