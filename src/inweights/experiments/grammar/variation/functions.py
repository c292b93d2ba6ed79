"""Create computations that call a user's function for its rows: ``function(seed, **settings)``.

Sweeps over such a function use :func:`computations_of`. The result of the function is
converted to a table; if that is not possible, an error states what the function must
return.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from inweights.config.border import as_number
from inweights.errors import ConfigError, DataError, check_names

if TYPE_CHECKING:
    import polars as pl

from inweights.experiments.grammar.trial import Computation, Point

#: Name of the column for the result of a function that returns a single number, Boolean
#: or text instead of rows.
RESULT = "result"


def computations_of(
    function: Callable[..., Any], points: Iterable[Point], *, replicated: bool = False
) -> list[Computation]:
    """Return one computation for each condition of a function ``function(seed, **settings)``.

    Args:
        function: A named Python function that returns one number, Boolean or string,
            one row (a mapping), several rows (a list of mappings, or a mapping whose
            values are lists, one for each column), or a polars DataFrame.
        points: The conditions, as returned by :func:`~.axes.points_of`. Each is a list
            of triples of an argument's name, its value and its label in the tables.
        replicated: Whether the function takes a list of all seeds as ``seeds`` and
            returns a column ``seed``. By default it takes one ``seed`` per call.

    Returns:
        The computations in the order of ``points``. All of them have the name of the
        function, so that their rows form one table. The function is not called here.

    Raises:
        ConfigError: The function does not take the argument ``seed`` (``seeds`` if
            ``replicated``) or one of the settings, or a condition lacks an argument
            that has no default. A function with ``**`` arguments is not checked.
    """
    found = []
    for point in points:
        settings = {path: value for path, value, _ in point}
        _check(function, settings, "seeds" if replicated else "seed")
        found.append(
            Computation(
                name=function.__name__.strip("<>"),
                labels={path: label for path, _, label in point},
                compute=rows_together if replicated else rows_of,
                options={"function": function, "settings": settings},
                seeded=True,
                together=replicated,
                uniform=True,
            )
        )
    return found


def rows_of(
    function: Callable[..., Any], settings: Mapping[str, Any], seed: int
) -> pl.DataFrame:
    """Call a function with one seed and return its result as a table.

    Errors that the function itself raises propagate.

    Args:
        function: A named Python function that returns one number, Boolean or string,
            one row (a mapping), several rows (a list of mappings, or a mapping whose
            values are lists, one for each column), or a polars DataFrame.
        settings: Keyword arguments of the function besides ``seed``.
        seed: Value of the function's argument ``seed``.

    Returns:
        The rows as a table, without columns for settings and seed, which are added
        later. A single number, Boolean or string becomes one row with the column
        ``result``.

    Raises:
        DataError: The result is not a table, is empty, has values that no column can
            contain, or has a column with the name of a setting or the name ``seed``.
    """
    return _table(function, function(seed=seed, **settings), {*settings, "seed"})


def rows_together(
    function: Callable[..., Any], settings: Mapping[str, Any], seeds: Sequence[int]
) -> pl.DataFrame:
    """Call a function once with several seeds and return its result as a table.

    Errors that the function itself raises propagate.

    Args:
        function: A named Python function that returns rows for every seed, with a
            column ``seed``: a mapping of columns, a list of mappings, or a polars
            DataFrame.
        settings: Keyword arguments of the function besides ``seeds``.
        seeds: Value of the function's argument ``seeds``, passed as a list.

    Returns:
        The rows as a table with a column ``seed``, in the order in which the function
        returns them.

    Raises:
        DataError: The result is not a table, is empty, has values that no column can
            contain or a column with the name of a setting, or does not have rows for
            exactly these seeds.
    """
    table = _table(function, function(seeds=list(seeds), **settings), {*settings})
    found = set(table["seed"].to_list()) if "seed" in table.columns else set()
    if found != set(seeds):
        raise DataError(
            f"{function.__name__} must return a table with a column 'seed' that contains "
            f"exactly the seeds {sorted(seeds)}, got the seeds {sorted(found)}"
        )
    return table


def _table(function: Callable[..., Any], result: Any, ours: set[str]) -> pl.DataFrame:
    """Return the checked result of a function as a table."""
    import polars as pl

    name = function.__name__
    table, what = _as_table(result)
    if what:
        raise DataError(
            f"{name} returned {what}; return a number, a string, a mapping such as "
            "{'score': 0.9}, a list of mappings, or a polars DataFrame"
        )
    if held := [column for column, kind in table.schema.items() if kind == pl.Object]:
        kind = type(table[held[0]][0]).__name__
        raise DataError(
            f"{name} returned an object of the type {kind} in the column '{held[0]}'; values "
            "must be numbers, strings, or lists of them"
        )
    if taken := sorted(ours & {*table.columns}):
        raise DataError(
            f"{name} returned the column '{taken[0]}', which the sweep adds itself; leave it out"
        )
    return table


def _as_table(result: Any) -> tuple[pl.DataFrame, str]:
    """Return rows as a table, and a description of the problem with them (empty if valid).

    A mapping is one row or, if some of its values are lists, a table with its values as
    columns. A number, Boolean or text is one row with the single column :data:`RESULT`.
    """
    import polars as pl

    result = as_number(result)
    if isinstance(result, bool | int | float | str):
        result = {RESULT: result}
    table = pl.DataFrame()
    why = ""
    try:
        if isinstance(result, Mapping):
            columns = any(isinstance(one, list | tuple) for one in result.values())
            table = pl.DataFrame(dict(result) if columns else [dict(result)])
        elif isinstance(result, pl.DataFrame):
            table = result
        else:
            rows = list(result)
            other = [repr(row) for row in rows if not isinstance(row, Mapping)]
            why = f"a row of it is {other[0]}" if other else ""
            table = pl.DataFrame(rows, infer_schema_length=None)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        why = why or str(error)
    if result is None:
        return table, "nothing"
    if why:
        return table, f"a {type(result).__name__}, which is not a table ({why})"
    return table, "" if table.width and table.height else "no row"


def _check(
    function: Callable[..., Any], settings: Mapping[str, Any], seed: str
) -> None:
    """Raise an error if a function does not take the seed and the settings."""
    parameters = inspect.signature(function).parameters
    if any(one.kind == inspect.Parameter.VAR_KEYWORD for one in parameters.values()):
        return
    name = function.__name__
    if seed not in parameters:
        all_at_once = "seeds" in parameters
        hint = "; replicated=True passes all of them as 'seeds'" if all_at_once else ""
        raise ConfigError(
            f"{name} must take an argument '{seed}', which every run passes: "
            f"def {name}({seed}, ...){hint}"
        )
    others = {one: about.default for one, about in parameters.items() if one != seed}
    check_names(f"argument of {name}", settings, others)
    needed = (
        one for one, default in others.items() if default is inspect.Parameter.empty
    )
    if lacking := [one for one in needed if one not in settings]:
        raise ConfigError(
            f"{name} needs a value for '{lacking[0]}'; pass "
            f"over={{'{lacking[0]}': [...]}}, or give it a default"
        )
