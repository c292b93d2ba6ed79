"""Check arrays against the shapes in the signatures of functions while a test runs.

Signatures contain shapes such as ``Float[Tensor, "R S D"]`` (jaxtyping). In the library
these names are placeholders, so that it does not import jaxtyping. Here an import hook
wraps the functions of some packages whose signatures contain shapes. It checks that an
axis has the same length throughout a call; mypy checks the rest of a signature.

A checked call takes about eighty microseconds longer. Therefore only the first few calls
of each function in each test are checked; all steps of a training run have the same shapes.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import itertools
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import FunctionType, ModuleType
from typing import Any, TypeVar, cast, get_origin

import jaxtyping
import numpy as np
from beartype.door import is_bearable
from numpy.typing import NDArray

from inweights.errors import InweightsError

__all__ = ["ROOMS", "SHAPED", "ShapeError", "checked", "checking", "install"]

ROOMS = ("models", "probes", "theory", "training")
#: Array types that annotations with shapes use.
KINDS = {
    name: getattr(jaxtyping, name)
    for name in ("Bool", "Float", "Int", "Integer", "Num")
}
#: Pattern of an annotation with a shape.
SHAPED = re.compile(r"\b(?:Bool|Float|Int|Num)\[")
#: Number of checked calls of each function per test.
CALLS = 3

_tests = itertools.count(1)
_now = [0]  # number of the running test; 0 if there is none

F = TypeVar("F", bound=Callable[..., Any])


class ShapeError(TypeError):
    """An array does not have the shape or the kind of number that a signature says."""


@contextmanager
def checking(on: bool = True) -> Iterator[None]:
    """Check the first calls of each function until the block is left."""
    _now[0] = next(_tests) if on else 0
    yield
    _now[0] = 0


def install() -> None:
    """Wrap the functions of modules that are imported after this call."""
    early = [name for name in sys.modules if _is_checked(name)]
    assert not early, f"imported before they could be checked: {early}"
    sys.meta_path.insert(0, _Finder())


def checked(function: F) -> F:
    """Return a function that checks the shapes in its signature, or itself without shapes."""
    said = {n: a for n, a in function.__annotations__.items() if SHAPED.search(str(a))}
    if not said:
        return function
    signature = inspect.signature(function)
    hints: dict[str, Any] = {}
    seen = [0, 0]  # the test, and the number of calls in it
    torch = sys.modules.get("torch")
    compiling = torch.compiler.is_compiling if torch else lambda: False

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if compiling() or not _now[0]:
            return function(*args, **kwargs)
        seen[:] = _now[0], seen[1] + 1 if seen[0] == _now[0] else 1
        if seen[1] > CALLS:
            return function(*args, **kwargs)
        if not hints:
            own = inspect.unwrap(function).__globals__
            names = {name: _class(thing) for name, thing in own.items()} | KINDS
            # For a module that imports torch only for type checkers.
            if "Tensor" not in names:
                names["Tensor"] = importlib.import_module("torch").Tensor
            hints.update({name: eval(str(text), names) for name, text in said.items()})
        with jaxtyping.jaxtyped("context"):
            try:
                given = signature.bind(*args, **kwargs).arguments
            except TypeError:
                given = {}  # the function's own error names what is missing
            wrong = [
                n for n in given if n in hints and not is_bearable(given[n], hints[n])
            ]
            try:
                result = function(*args, **kwargs)
            except Exception as error:
                if wrong and not isinstance(error, InweightsError):
                    raise ShapeError(_told(function, wrong[0], given)) from error
                raise  # functions may refuse a shape themselves
            if (
                "return" in hints
                and not wrong
                and not is_bearable(result, hints["return"])
            ):
                wrong, given["return"] = ["return"], result
        if wrong:
            raise ShapeError(_told(function, wrong[0], given))
        return result

    return cast(F, call)


def _class(thing: Any) -> Any:
    """Return the class of arrays for ``NDArray``, which is only an alias since numpy 2.5."""
    return np.ndarray if thing is NDArray or get_origin(thing) is NDArray else thing


def _told(function: Callable[..., Any], name: str, values: Mapping[str, Any]) -> str:
    forms = ", ".join(
        f"{key} {_form(one)}" for key, one in values.items() if key != "self"
    )
    return (
        f"{function.__module__}.{function.__qualname__} says "
        f"{name}: {function.__annotations__[name]}; there were {forms}"
    )


def _form(value: Any) -> str:
    if isinstance(value, dict):
        return str({key: _form(one) for key, one in value.items()})
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_form, value))}]"
    return (
        f"{value.dtype} {tuple(value.shape)}"
        if hasattr(value, "dtype")
        else repr(value)
    )


def _is_checked(name: str) -> bool:
    return name.startswith("inweights.") and name.split(".")[1] in ROOMS


class _Finder(MetaPathFinder):
    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        spec = (
            PathFinder.find_spec(fullname, path, target)
            if _is_checked(fullname)
            else None
        )
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


class _Loader(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        for name, thing in list(vars(module).items()):
            if getattr(thing, "__module__", None) != module.__name__:
                continue  # already imported
            if isinstance(thing, type):
                for key, member in list(vars(thing).items()):
                    if (new := _wrapped(member)) is not member:
                        setattr(thing, key, new)
            else:
                setattr(module, name, _wrapped(thing))


def _wrapped(member: Any) -> Any:
    if isinstance(member, FunctionType):
        return checked(member)
    if (
        isinstance(member, property)
        and (get := _wrapped(member.fget)) is not member.fget
    ):
        return property(get, member.fset, member.fdel)
    if isinstance(member, cached_property):
        member.func = _wrapped(member.func)
    if isinstance(member, staticmethod | classmethod):
        inner = _wrapped(member.__func__)
        return member if inner is member.__func__ else type(member)(inner)
    return member
