"""Refer to a user's function or class in a config by its import path and a hash of its source.

:func:`code_of` returns such a reference, a :class:`Code`. A config is plain data, so
that it can be stored, hashed and sent. The function is looked up by its import path,
and only in modules that are already imported. A module is never imported merely because
a file names it, and a function whose first argument does not have an expected name is
not called.
"""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from inweights.config import Config, digest, values
from inweights.errors import ConfigError
from inweights.support.keys.named_files import files_of
from inweights.support.keys.plain import plain

T = TypeVar("T")

if TYPE_CHECKING:
    _Given = Callable[..., Any] | Sequence[Callable[..., Any]]

    class Taken(Generic[T]):
        """Type of a field that stores a ``T`` and also accepts functions or classes."""

        def __get__(self, config: Any, kind: Any) -> T: ...

        def __set__(self, config: Any, value: T | _Given) -> None: ...

else:

    class Taken:
        """Stand-in at run time: ``Taken[T]`` is ``T``, the type that configs check."""

        def __class_getitem__(cls, kind: Any) -> Any:
            return kind


def usual(value: Any) -> Any:
    """Return a value unchanged, typed as ``Any``, for use as the default of a config's field.

    It is used for fields that also accept a function or a class (:class:`Taken`), which
    the config converts.

    Args:
        value: The default value of the field.
    """
    return value


#: Functions that :func:`code_of` was given in this process, including lambdas and
#: functions of a notebook.
_GIVEN: dict[tuple[str, str], Any] = {}
#: Functions that were found at an address with this source, cached because they are
#: needed at every step.
_CHECKED: dict[tuple[str, str], Any] = {}


class Code(Config):
    """Reference to a function or class by its import path.

    Attributes:
        at: Import path, ``module:name``.
        source: Hash (16 hexadecimal digits) of the source of the function or class and
            of the modules that its module imports from the same folder. If empty, the
            source is not checked.
        options: Keyword arguments that are bound to the function, as by
            ``functools.partial``.
    """

    later = {"options": {}}

    at: str
    source: str = ""
    options: dict[str, Any] = {}

    @property
    def contents(self) -> dict[str, str]:
        """Hashes of the function's current source, and of the files to which its options refer.

        Keys are the import path :attr:`at` and the names of the files. If the function
        is not found, the value for its import path is the stored hash :attr:`source`.

        Raises:
            ConfigError: The module was edited after it was imported, or what the
                function uses cannot be hashed.
            DataError: A file cannot be read.
        """
        found = _GIVEN.get((self.at, self.source)) or _loaded(self.at)
        source = self.source if found is None else _source(found)
        return {self.at: source, **files_of(self.options)}

    @property
    def name(self) -> str:
        """Name of the function or class without its module, for messages."""
        return self.at.rpartition(":")[2]

    def load(self, *first: str) -> Callable[..., Any]:
        """Return the function or class, with its options bound.

        Args:
            *first: Names that the first argument of the function may have; if none are
                given, any name is valid. The name is not checked if the object itself
                was passed to :func:`code_of` in this process.

        Returns:
            The object itself, or a ``functools.partial`` of it if there are options.

        Raises:
            ConfigError: The module is not imported or does not define the function; its
                first argument has a different name; its source has changed or cannot be
                hashed.
            DataError: A file on which it depends cannot be read.
        """
        given = _GIVEN.get((self.at, self.source))
        if given is not None:
            return partial(given, **self.options) if self.options else given
        found = _loaded(self.at)
        module = self.at.partition(":")[0]
        if found is None:
            hint = f"import {module} first, or name it with --plugin {module}"
            if module == "__main__":
                hint = "it belongs to a script or notebook; move it to a module, such as mine.py"
            raise ConfigError(f"cannot find {self.at}: {hint}")
        if first and first_argument(found) not in first:
            raise ConfigError(
                f"{self.at} must take {' or '.join(map(repr, first))} as its first argument"
            )
        known = _CHECKED.get((self.at, self.source)) is found
        if self.source and not known and _source(found) != self.source:
            raise ConfigError(
                f"the source of {self.at} has changed since it was stored; restore the source, or "
                "create the config again"
            )
        _CHECKED[self.at, self.source] = found
        return partial(found, **self.options) if self.options else found


def code_of(thing: Any) -> Code:
    """Return a reference to a function, a class or a ``functools.partial`` of either.

    In this process, :meth:`Code.load` returns the same object (with its options bound),
    even for a lambda or a function defined in a notebook.

    Args:
        thing: The function, class or ``functools.partial``, whose keyword arguments
            become :attr:`Code.options`.

    Raises:
        ConfigError: The argument is not a function, a class or a partial of one, binds
            positional arguments, has an option that cannot be stored, uses a global
            that cannot be hashed, or is defined in a module that was edited after it
            was imported.
        DataError: A file on which it depends cannot be read.
    """
    options: dict[str, Any] = {}
    if isinstance(thing, partial):
        if thing.args:
            raise ConfigError("a functools.partial may bind only keyword arguments")
        thing, options = thing.func, given_options(thing.keywords)
    if not isinstance(thing, types.FunctionType | type):
        raise ConfigError(f"expected a function or a class, got {thing!r}")
    code = Code(at=f"{thing.__module__}:{thing.__qualname__}", source=_source(thing))
    _GIVEN[code.at, code.source] = thing
    return Code(at=code.at, source=code.source, options=options)


def as_code(value: Any, *first: str) -> Any:
    """Return a function or class as a :class:`Code` with the hash of its source.

    Args:
        value: A function, a class, a ``functools.partial``, or a :class:`Code` without
            the hash of its source (as read from a file). Other values are returned
            unchanged.
        *first: Names that the first argument of the function may have; if none are
            given, any name is valid. This is checked only if ``value`` is a
            :class:`Code` without a hash.

    Returns:
        The reference, or ``value`` itself if it is not callable.

    Raises:
        ConfigError: The function cannot be loaded or stored (see :meth:`Code.load` and
            :func:`code_of`), or the value is callable but not a function, a class or a
            partial of one.
        DataError: A file on which it depends cannot be read.
    """
    if isinstance(value, Code) and not value.source:
        value = value.load(*first)
    return code_of(value) if callable(value) else value


def first_argument(thing: Callable[..., Any]) -> str:
    """Return the name of a function's first positional argument; empty if there is none.

    The name is also empty for a built-in function whose signature is not known.

    Args:
        thing: The function.
    """
    try:
        parameters = list(inspect.signature(thing).parameters.values())
    except ValueError:
        return ""
    taken = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return parameters[0].name if parameters and parameters[0].kind in taken else ""


def given_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return keyword arguments in the form in which they are restored after being stored.

    Args:
        options: Keyword arguments of a user's function.

    Returns:
        A new dictionary with the restored values, by name.

    Raises:
        ConfigError: An option cannot be stored and restored exactly; the message states
            what to write instead.

    Example:
        >>> given_options({"cap": float("inf"), "shape": (2, 3)})
        {'cap': inf, 'shape': (2, 3)}
    """
    given = {}
    for name, value in options.items():
        try:
            given[name] = values.decode(values.encode(value))
        except ConfigError as error:
            raise ConfigError(f"option '{name}': {error}") from None
    return given


def _source(thing: Any) -> str:
    return digest(plain(thing), 16)


def _loaded(at: str) -> Any:
    """Return the object with an import path, if its module is imported and defines it."""
    module, _, path = at.partition(":")
    torch = module == "torch.optim"  # torch defines its optimizers in other modules
    found: Any = import_module(module) if torch else sys.modules.get(module)
    for step in path.split("."):
        found = getattr(found, step, None)
    home = getattr(found, "__module__", "")
    own = isinstance(found, types.FunctionType | type) and (
        home == module or (torch and home.startswith("torch.optim."))
    )
    return found if own else None
