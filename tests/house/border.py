"""Call every public function and class with invalid arguments, and print unexpected errors.

A call may return a result or raise one of the library's own errors. It runs in a new
process, without the checks of shapes that the other tests have: ``python -m
tests.house.border WALK…``, with names of :data:`WALKS`; by default all calls of all
functions are made.
"""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import chdir
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import torch
from tests.house.border_good import one_wrong

import inweights as iw
from inweights.errors import InweightsError

FACES = (
    "inweights",
    "inweights.worlds",
    "inweights.models",
    "inweights.theory",
    "inweights.training",
    "inweights.probes",
    "inweights.audit",
    "inweights.lm",
    "inweights.experiments",
    "inweights.recipes",
    "inweights.report",
    "inweights.runs",
    "inweights.actions",
)
#: Functions that are not called, as they train, read the whole ledger or inspect the
#: machine whatever their arguments are.
AT_WORK = {
    "board",
    "costs",
    "demo",
    "doctor",
    "history",
    "league",
    "record",
    "state",
    "sweep",
    "verdicts",
}
REQUIRED = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def unusual() -> dict[str, Callable[[], Any]]:
    """Return functions that make unusual arguments, by a description of each."""
    return {
        "None": lambda: None,
        "numpy scalar": lambda: np.float64(0.5),
        "numpy integer": lambda: np.int64(-1),
        "empty list": list,
        "empty text": str,
        "empty dict": dict,
        "wrong rank": lambda: np.zeros((2, 2, 2, 2)),
        "wrong length": lambda: torch.zeros(3),
        "token ids, one-dimensional": lambda: torch.arange(3),
        "nan": lambda: float("nan"),
        "nan among numbers": lambda: np.array([[0.0, np.nan]]),
        "infinity": lambda: float("inf"),
        "generator": lambda: (i for i in range(2)),
        "path": lambda: Path("no/such/place"),
        "unknown name": lambda: "no such name",
        "wrong type": object,
        "negative": lambda: -1,
        "frame": pl.DataFrame,
        "config": lambda: iw.TwoHop(n=3),
        "world": lambda: iw.TwoHop(n=3).build(),
        "model": lambda: iw.EmbMLPConfig(width=4).build(vocabulary=3, seeds=[0]),
    }


def public() -> Iterator[tuple[str, Any]]:
    """Yield the name and value of every public function and class of the library once."""
    seen: set[int] = set()
    for face in FACES:
        module = import_module(face)
        for name in module.__all__:
            thing = getattr(module, name)
            own = getattr(thing, "__module__", "").startswith("inweights")
            if not callable(thing) or not own or name in AT_WORK or _is_no_call(thing):
                continue
            if id(thing) not in seen:
                seen.add(id(thing))
                yield f"{face}.{name}", thing


def _is_no_call(thing: Any) -> bool:
    """Return whether it is an error or a protocol, which are not called."""
    is_error = inspect.isclass(thing) and issubclass(thing, BaseException)
    return is_error or getattr(thing, "_is_protocol", False)


def required(thing: Any) -> tuple[list[str], list[str]]:
    """Return the names of required arguments: positional ones and keyword-only ones."""
    found = inspect.signature(thing).parameters.values()
    needed = [one for one in found if one.default is one.empty]
    by_place = [one.name for one in needed if one.kind in REQUIRED]
    return by_place, [one.name for one in needed if one.kind is one.KEYWORD_ONLY]


def wrong(call: Callable[[], Any]) -> str:
    """Return the error of a call that is not one of the library's, or an empty string."""
    try:
        call()
    except InweightsError as error:
        return "" if str(error).strip() else "an error without a message"
    except Exception as error:  # noqa: BLE001  # any other error is a finding
        return f"{type(error).__name__}: {error}".partition("\n")[0]
    return ""


def all_wrong(thing: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the calls of a function with one wrong value for all of its required arguments."""
    for what, make in unusual().items():
        yield what, partial(_called, thing, make)


def _called(thing: Any, make: Callable[[], Any]) -> Any:
    by_place, by_name = required(thing)
    return thing(*(make() for _ in by_place), **{name: make() for name in by_name})


class Walk(NamedTuple):
    """A selection of the calls.

    Attributes:
        step: One of so many functions is called.
        among_good: Whether one argument is wrong and the others are valid
            (:mod:`tests.house.border_good`), instead of one wrong value for all.
    """

    step: int
    among_good: bool = False


WALKS = {
    "all": Walk(1),
    "third": Walk(3),
    "few": Walk(10),
    "one": Walk(1, among_good=True),
    "one-of-few": Walk(10, among_good=True),
}


def main(*names: str) -> int:
    """Print wrong calls and the number of calls; return 1 if any call was wrong.

    Args:
        *names: Names of :data:`WALKS`; by default all calls of all functions.
    """
    warnings.simplefilter("ignore")
    calls = failed = functions = 0
    every = list(public())
    for walk in [WALKS[name] for name in names or ("all", "one")]:
        for name, thing in every[:: walk.step]:
            made = one_wrong(thing, unusual()) if walk.among_good else all_wrong(thing)
            before = calls
            for what, call in made:
                calls += 1
                if text := wrong(call):
                    failed += 1
                    sys.stdout.write(f"{name}({what}): {text}\n")
            functions += calls > before
    sys.stdout.write(f"{functions} functions, {calls} calls, {failed} of them wrong\n")
    return min(failed, 1)


if __name__ == "__main__":
    with TemporaryDirectory() as place, chdir(place):  # some functions write files
        raise SystemExit(main(*sys.argv[1:]))
