"""Convert Python's errors in public functions to errors that name the unsuitable argument.

Functions of the library trust each other's arguments, and each function checks only its
own requirements. If a public function fails with one of Python's own errors, such as
``'NoneType' object has no attribute 'facts'``, :func:`guarded` converts it to an error
that names the unsuitable argument, with the original error as its cause. Without an
error, :func:`guarded` has no effect. Public packages apply it to their functions
(:mod:`inweights.support.lazy`).
"""

import inspect
import re
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from functools import cache, wraps
from pathlib import Path
from types import FunctionType, TracebackType
from typing import Any, ParamSpec, TypeVar

from inweights.errors import DataError, InweightsError

P = ParamSpec("P")
T = TypeVar("T")
#: Errors that an argument of the wrong type or shape can cause. All other errors, such
#: as an undefined name, are bugs, and are not changed.
_LED_TO = (
    TypeError,
    ValueError,
    AttributeError,
    LookupError,
    ArithmeticError,
    RuntimeError,
)
#: Errors among these that already describe the problem.
_PASS = (InweightsError, Warning, NotImplementedError, RecursionError)
_LIBRARY = str(Path(__file__).parents[1])
_OTHERS = (
    sysconfig.get_path("stdlib"),
    sysconfig.get_path("purelib"),
    sysconfig.get_path("platlib"),
    sys.prefix,
    sys.base_prefix,
)
#: File names of code of Python or NumPy that has no file.
_UNNAMED = ("<frozen", "<string>", "<__array_function__")
#: For each type of value, names in annotations that it fits.
_FITTING: tuple[tuple[type | tuple[type, ...], set[str]], ...] = (
    ((list, tuple, range), {"Sequence", "Iterable", "Collection", "ArrayLike"}),
    (Mapping, {"Mapping", "dict"}),
    (int, {"int", "float"}),
    (str, {"str", "Path", "PathLike", "StrPath", "Literal"}),
    (Path, {"Path", "PathLike", "StrPath"}),
)
_ARRAYS = {
    "Tensor",
    "ndarray",
    "NDArray",
    "Float",
    "Int",
    "Bool",
    "Ids",
    "Floats",
    "Bools",
    "ArrayLike",
}
#: Names of the library in annotations, and the types for which they are short.
_ALIASES = {
    "Worlds": {"World", "Sequence"},
    "Learner": {"Curriculum", "Descent", "Optimum"},
    "Probe": {"Callable"},
}
_LONGEST = 60


def at_the_border(thing: Any) -> Any:
    """Return the :func:`guarded` form of a library function, and any other value unchanged.

    Args:
        thing: Any value. The guarded form of a function is the same object at every
            call.
    """
    own = isinstance(thing, FunctionType) and thing.__module__.startswith("inweights")
    return _guarded_once(thing) if own else thing


@cache
def _guarded_once(function: FunctionType) -> Any:
    """Return the guarded form, which is one object for all packages that export the function."""
    return guarded(function)


def guard_names(package: str, names: Sequence[str]) -> None:
    """Replace functions that a package imports eagerly with their :func:`guarded` forms.

    Public objects that are not functions, such as classes, are left unchanged.

    Args:
        package: ``__name__`` of the package, which must already be imported.
        names: Public names of the package.
    """
    held = vars(sys.modules[package])
    held.update({name: at_the_border(held[name]) for name in names})


def guarded(function: Callable[P, T]) -> Callable[P, T]:
    """Wrap a function so that its errors name the argument that is unsuitable.

    Python's errors for an unsuitable value, such as ``TypeError``, ``ValueError``,
    ``AttributeError`` or ``KeyError``, and errors of polars are replaced by a
    ``DataError``. The following errors are not replaced: errors in user-defined code,
    such as a function that is passed in; Python's error for a missing argument; and
    every :class:`~inweights.errors.InweightsError`.

    Args:
        function: A public function, or a method.

    Returns:
        A function with the same signature.

    Raises:
        DataError: The returned function raises it when an argument is unsuitable; the
            message states the argument, its expected type and its value.

    Example:
        >>> import inweights as iw
        >>> iw.predict(None)
        Traceback (most recent call last):
        ...
        inweights.errors.DataError: predict got world = None, expected World ('NoneType' object has
        no attribute 'facts')
    """

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except _PASS:
            raise
        except Exception as error:
            text = (
                _explained(function, args, kwargs, error)
                if _may_be_led_to(error)
                else None
            )
            if text is None:
                raise
            raise DataError(text) from error

    return checked


def _may_be_led_to(error: Exception) -> bool:
    """Return whether an argument of the wrong type or shape can have caused an error."""
    # compared by name, since polars may not be loaded
    of_tables = type(error).__module__.startswith("polars")
    return isinstance(error, _LED_TO) or of_tables


def _explained(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    error: Exception,
) -> str | None:
    """Return a message that blames an argument for an error; ``None`` if none is to blame."""
    if "memory" in str(error).lower() or _is_of_others(error.__traceback__):
        return None
    # The arguments of a dataclass are its fields.
    if function.__name__ == "__post_init__":
        given: Mapping[str, Any] = vars(args[0])
        kinds = {
            name: _expected(type(args[0]).__annotations__.get(name, ""))
            for name in given
        }
    else:
        signature = inspect.signature(function)
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError:
            return None
        kinds = {
            name: _expected(signature.parameters[name].annotation) for name in given
        }
    misfits = [name for name, value in given.items() if not _fits(value, kinds[name])]
    parts = [
        f"{name} = {_shown(given[name])}"
        + (f", expected {kinds[name]}" if kinds[name] else "")
        for name in misfits or given
        if name != "self"
    ]
    name = function.__qualname__.removesuffix(".__init__").removesuffix(
        ".__post_init__"
    )
    why = str(error).partition("\n")[0] or type(error).__name__
    text = f"{name} got {'; '.join(parts) or 'no argument'} ({why})"
    return (
        text
        if misfits
        else f"{text}; if these arguments are valid, this is a bug in inweights"
    )


def _is_of_others(trace: TracebackType | None) -> bool:
    """Return whether an error was raised in a user's code, or in a package that it called."""
    others = False
    while trace:
        file = trace.tb_frame.f_code.co_filename
        if file.startswith(_LIBRARY):
            others = False
        elif not file.startswith((*_OTHERS, *_UNNAMED)) and "site-packages" not in file:
            others = True
        trace = trace.tb_next
    return others


def _expected(kind: Any) -> str:
    """Return the type of a parameter as text, from its annotation."""
    if kind is inspect.Parameter.empty:
        return ""
    text = kind if isinstance(kind, str) else inspect.formatannotation(kind)
    return re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Z])", "", text)  # without modules


def _fits(value: Any, expected: str) -> bool:
    """Return whether a value is of a type that an annotation names."""
    words = {*re.findall(r"[A-Za-z_]\w*", _outermost(expected))}
    words = words.union(*(_ALIASES.get(word, ()) for word in words))
    if not words or words & {"Any", "object"}:
        return True
    if value is None:
        return "None" in words
    own = {kind.__name__ for kind in type(value).__mro__} - {"object"}
    if own & words or (callable(value) and "Callable" in words):
        return True
    if own & {"ndarray", "Tensor"} and words & _ARRAYS:
        return True
    return any(isinstance(value, kinds) and names & words for kinds, names in _FITTING)


def _outermost(expected: str) -> str:
    """Return an annotation without element types: ``Sequence`` for ``Sequence[int]``."""
    while (shorter := re.sub(r"\[[^\[\]]*\]", "", expected)) != expected:
        expected = shorter
    return expected


def _shown(value: Any) -> str:
    """Return a short text that represents a value."""
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and shape:
        return f"{type(value).__name__} of shape {list(shape)}"
    text = " ".join(repr(value).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
