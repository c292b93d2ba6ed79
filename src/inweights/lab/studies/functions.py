"""A function of one's own as an experiment: varied, seeded and stored like any other."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from inweights.errors import ConfigError, DataError, unknown_name
from inweights.lab.grammar.axes import Over, points_of
from inweights.lab.grammar.trial import Computation


def computations_of(
    function: Callable[..., Any], over: Over, *, replicated: bool = False
) -> list[Computation]:
    """Return a computation for each condition of a function ``function(seed, **settings)``.

    Example:
        >>> def squares(seed, size):
        ...     return {"value": seed + size**2}
        >>> [one.labels for one in computations_of(squares, {"size": [2, 3]})]
        [{'size': 2}, {'size': 3}]
    """
    found = []
    for point in points_of(over):
        labels = {path: label for path, _, label in point}
        settings = {path: value for path, value, _ in point}
        _check(function, settings, "seeds" if replicated else "seed")
        options = {"function": function, "settings": settings}
        name = function.__name__.strip("<>")
        found.append(
            Computation(
                name=name,
                labels=labels,
                compute=rows_together if replicated else rows_of,
                options=options,
                seeded=True,
                together=replicated,
                uniform=True,
            )
        )
    return found


def rows_of(function: Callable[..., Any], settings: Mapping[str, Any], seed: int) -> pl.DataFrame:
    """Return what a function gives for one seed, as a table.

    Example:
        >>> rows_of(lambda seed: {"value": seed}, {}, seed=3).rows()
        [(3,)]
    """
    table = _table(function, function(seed=seed, **settings), settings)
    if "seed" in table.columns:
        raise DataError(
            f"{function.__name__} returned the column 'seed', which the sweep adds; leave it out"
        )
    return table


def rows_together(
    function: Callable[..., Any], settings: Mapping[str, Any], seeds: Sequence[int]
) -> pl.DataFrame:
    """Return what a function gives for several seeds at once, as a table with a column ``seed``."""
    table = _table(function, function(seeds=list(seeds), **settings), settings)
    told = set(table["seed"].to_list()) if "seed" in table.columns else set()
    if told != set(seeds):
        raise DataError(
            f"{function.__name__} must return rows for every seed, in a column 'seed': "
            f"{sorted(seeds)}, got {sorted(told)}"
        )
    return table


def takes_all_seeds(function: Callable[..., Any]) -> bool:
    """Whether a function takes ``seeds``, all at once."""
    return "seeds" in inspect.signature(function).parameters


def _table(function: Callable[..., Any], result: Any, settings: Mapping[str, Any]) -> pl.DataFrame:
    """Rows as a table: of a mapping, whose lists are columns; of mappings; of a frame."""
    name, table, why = function.__name__, result, ""
    try:
        if isinstance(result, Mapping):
            columns = any(isinstance(one, list | tuple) for one in result.values())
            table = pl.DataFrame(dict(result) if columns else [dict(result)])
        elif not isinstance(result, pl.DataFrame):
            rows = list(result)
            other = [repr(row) for row in rows if not isinstance(row, Mapping)]
            why = f"a row of it is {other[0]}" if other else ""
            table = pl.DataFrame(rows, infer_schema_length=None)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        why = why or str(error)
    what = "nothing" if result is None else f"a {type(result).__name__}, which is no table ({why})"
    what = what if why else "" if table.width and table.height else "no row"
    if what:
        raise DataError(
            f"{name} returned {what}; return a mapping such as {{'score': 0.9}}, a list of them, "
            "or a polars frame"
        )
    if held := [column for column, kind in table.schema.items() if kind == pl.Object]:
        raise DataError(
            f"{name} returned in '{held[0]}' a {type(table[held[0]][0]).__name__}, which no table "
            "keeps; return numbers, texts or lists of them"
        )
    if taken := sorted({*settings} & {*table.columns}):
        raise DataError(
            f"{name} returned the column '{taken[0]}', which the sweep adds; leave it out"
        )
    return table


def _check(function: Callable[..., Any], settings: Mapping[str, Any], seed: str) -> None:
    parameters = inspect.signature(function).parameters
    if any(one.kind == inspect.Parameter.VAR_KEYWORD for one in parameters.values()):
        return
    name = function.__name__
    if seed not in parameters:
        all_at_once = "seeds" in parameters
        hint = "; replicated=True gives it all of them as 'seeds'" if all_at_once else ""
        raise ConfigError(
            f"{name} must take an argument '{seed}', as every run has one: def {name}({seed}, ...)"
            + hint
        )
    for path in settings:
        if path not in parameters:
            known = [one for one in parameters if one != seed]
            raise unknown_name(f"argument of {name}", path, known)
    lacking = [
        one.name
        for one in parameters.values()
        if one.default is inspect.Parameter.empty and one.name not in {*settings, seed}
    ]
    if lacking:
        raise ConfigError(
            f"{name} needs a value of '{lacking[0]}'; give it, over={{'{lacking[0]}': [...]}}, or "
            "a default"
        )
