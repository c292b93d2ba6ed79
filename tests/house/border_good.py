"""Call public functions with one invalid argument among valid ones.

:func:`one_wrong` yields the calls of a function in which one argument is invalid and all
others are valid. A function without valid values here is only called with the same
invalid value for all arguments (:mod:`tests.house.border`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any

import numpy as np
import polars as pl
import torch

import inweights as iw
from inweights.theory import Program, solve

Make = Callable[[], Any]
#: Parameters that are not changed, as they may make a call long or search the whole disk.
LONG = {
    "steps",
    "seconds",
    "runs",
    "jobs",
    "progress",
    "iterations",
    "download",
    "plugins",
}
#: Functions that are left out, as they take long even if one argument is invalid.
AT_LENGTH = {"audit", "augment", "bridge_projection", "predict", "run", "train"}
NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@cache
def _world() -> iw.World:
    return iw.TwoHop(n=3, complexity=2, first_relations=1, second_relations=2).build()


@cache
def _model() -> iw.Model:
    words = len(_world().vocabulary)
    return iw.EmbMLPConfig(width=4).build(vocabulary=words, seeds=[0, 1])


@cache
def _graph() -> tuple[iw.Model, iw.World]:
    world = iw.worlds.Graph(shape="cycle", n=6).build()
    words = len(world.vocabulary)
    return iw.models.Node2VecConfig(width=4).build(vocabulary=words, seeds=[0]), world


@cache
def _solution() -> Any:
    return solve(_world())


def _table() -> pl.DataFrame:
    rows = {
        "n": [3, 3, 4, 4],
        "seed": [0, 1, 0, 1],
        "role": ["a"] * 4,
        "accuracy": [0.1] * 4,
    }
    return pl.DataFrame(rows)


def _karate() -> Any:
    import networkx as nx

    return nx.karate_club_graph()


#: Valid values of parameters by name; several if a name has several meanings.
GOOD: Mapping[str, tuple[Make, ...]] = {
    "model": (_model, lambda: iw.EmbMLPConfig(width=4), lambda: _graph()[0]),
    "first": (_model,),
    "second": (_model,),
    "models": (lambda: [_model(), _model()],),
    "world": (_world, lambda: iw.TwoHop(n=3), lambda: _graph()[1]),
    "worlds": (_world, _world, lambda: _graph()[1]),
    "replicas": (lambda: 2,),
    "vocabulary": (lambda: len(_world().vocabulary), lambda: _world().vocabulary),
    "facts": (lambda: _world().facts, lambda: 5),
    "queries": (lambda: _world().queries, lambda: _solution().queries),
    "part": (lambda: "queries",),
    "at": (lambda: "sum",),
    "layers": (lambda: ["sum"],),
    "role": (lambda: "composition",),
    "program": (lambda: Program.of(_world(), "several"),),
    "solution": (_solution,),
    "knowledge": (lambda: iw.worlds.read_knowledge("@people"),),
    "table": (_table, lambda: "accuracy"),
    "before": (_table,),
    "after": (_table,),
    "tables": (lambda: {"accuracy": _table()},),
    "values": (lambda: "accuracy", lambda: {"n": 3}),
    "column": (lambda: "accuracy",),
    "name": (lambda: "two-hop",),
    "kind": (lambda: "auto",),
    "text": (lambda: "a text",),
    "title": (lambda: "a title",),
    "n": (lambda: 4,),
    "width": (lambda: 4,),
    "inputs": (lambda: 4,),
    "outputs": (lambda: 4,),
    "tokens": (lambda: 4, lambda: torch.arange(4)),
    "positions": (lambda: torch.arange(4),),
    "seeds": (lambda: [0, 1],),
    "decay": (lambda: 0.1,),
    "gap": (lambda: 0.1,),
    "bound": (lambda: 1.0,),
    "members": (lambda: 4,),
    "told": (lambda: 2,),
    "graph": (_karate,),
    "edges": (lambda: np.array([[0, 1], [1, 2]]),),
    "vectors": (lambda: np.eye(4),),
    "config": (
        lambda: iw.EmbMLPConfig(width=4),
        lambda: iw.GPTConfig(width=8, layers=1),
    ),
    "question": (lambda: "a1 r1",),
    "groups": (lambda: {"entity": ["a", "b"]},),
}


def fitting(thing: Any) -> dict[str, Make] | None:
    """Return arguments with which a function succeeds, or ``None`` if none are known."""
    parameters = inspect.signature(thing).parameters.values()
    needed = [
        one.name for one in parameters if one.default is one.empty and one.kind in NAMED
    ]
    if getattr(thing, "__name__", "") in AT_LENGTH:
        return None
    if not (needed or inspect.isclass(thing)) or not GOOD.keys() >= set(needed):
        return None
    for which in range(3):
        made = {name: GOOD[name][min(which, len(GOOD[name]) - 1)] for name in needed}
        try:
            thing(**{name: make() for name, make in made.items()})
        except Exception:  # noqa: BLE001  # another value may be valid
            continue
        return made
    return None


def one_wrong(
    thing: Any, wrong: Mapping[str, Make]
) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield a description and the call for every parameter and every invalid value."""
    good = fitting(thing)
    if good is None:
        return
    parameters = inspect.signature(thing).parameters
    names = [
        name
        for name, one in parameters.items()
        if one.kind in NAMED and name not in LONG
    ]
    for name in names:
        for what, bad in wrong.items():
            yield f"{name} = {what}", partial(_called, thing, {**good, name: bad})


def _called(thing: Any, made: Mapping[str, Make]) -> Any:
    return thing(**{name: make() for name, make in made.items()})
