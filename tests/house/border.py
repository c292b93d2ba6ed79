"""Calls every public function and class with arguments that do not fit; prints what is not ours.

A result, one of the library's own errors, or Python's error of a call that lacks an
argument is right. It runs in a process of its own, without the checks of shapes that
the other tests have: ``python -m tests.house.border WALK…``, with the walks of
:data:`WALKS`; without any, all calls of all functions are made.
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
#: They do their whole work whatever is given: train, read the whole ledger, look at the
#: machine.
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
    """Arguments that no function was written for; made anew for each call."""
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
    """Every public function and class of the library, once."""
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
    """Whether it is an error, or a protocol, which nobody makes."""
    is_error = inspect.isclass(thing) and issubclass(thing, BaseException)
    return is_error or getattr(thing, "_is_protocol", False)


def required(thing: Any) -> tuple[list[str], list[str]]:
    """Names of arguments without a default: those given by place, and by name."""
    found = inspect.signature(thing).parameters.values()
    needed = [one for one in found if one.default is one.empty]
    by_place = [one.name for one in needed if one.kind in REQUIRED]
    return by_place, [one.name for one in needed if one.kind is one.KEYWORD_ONLY]


def wrong(call: Callable[[], Any]) -> str:
    """What a call raises that is none of the library's errors; "" where all is right."""
    try:
        call()
    except InweightsError as error:
        return "" if str(error).strip() else "an error without a message"
    except Exception as error:  # noqa: BLE001  # it is what is looked for
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
    """Some of the calls.

    Attributes:
        step: Every how many functions one is called.
        among_good: One wrong argument among good ones (:mod:`tests.house.border_good`),
            in place of the same wrong value for all.
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
    """Print each call that went wrong, and how many calls there were; return 1 if any went wrong.

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
    with TemporaryDirectory() as place, chdir(place):  # some of them write files
        raise SystemExit(main(*sys.argv[1:]))
