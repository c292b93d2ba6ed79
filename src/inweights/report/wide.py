"""Convert a tidy table to a wide one, with one column for each role, measure or model.

A table of a sweep has one row per number. The wide table that :func:`pivot` returns has
one row per condition and seed, as needed for a spreadsheet or a paired comparison.
"""

from collections.abc import Sequence
from typing import Any

import polars as pl

from inweights.errors import DataError, check_kind, check_names
from inweights.report.base import frames, tidy


def pivot(
    table: Any, values: str, *, on: str = "role", index: Sequence[str] | None = None
) -> pl.DataFrame:
    """Convert a tidy table to a wide one, with one column for each value of ``on``.

    The name of a new column is the value of ``on``. If this value is not a string, or
    is also the name of an index column, the new column is named ``on = value``. In a
    sweep over ``world.identity``, for example, the setting ``identity`` and the role
    ``identity`` have different columns.

    Args:
        table: polars or pandas DataFrame, such as the result of a sweep or a probe, or
            a dictionary of columns. If it has a column ``replica`` and no column
            ``seed``, the values of ``replica`` are used as seeds.
        values: Name of the column with the numbers. Rows in which it is null are left
            out.
        on: Name of the column whose values become columns; by default ``role``.
        index: Names of the columns that distinguish the rows of the result. By default
            the varied settings and ``seed``: all columns up to ``seed``, or all columns
            except floating-point numbers if there is no ``seed``, in each case without
            ``on``.

    Returns:
        One row for each combination of values in the index columns, in order of
        appearance. The columns are those of the index, followed by one column for each
        value of ``on``; missing numbers are null. If no row has a number, the table has
        only the index columns and no rows.

    Raises:
        DataError: ``table`` is not a table, a column is missing, or several numbers
            belong to the same cell. In the last case, the message names the columns in
            which these numbers differ.
        ConfigError: ``values`` or ``on`` is not a string, or ``index`` is not a list or
            tuple.

    Example:
        >>> sweep = pl.DataFrame({
        ...     "identity": [0.0, 0.0, 1.0, 1.0], "seed": [0, 0, 0, 0],
        ...     "role": ["identity", "composition"] * 2, "accuracy": [0.0, 0.1, 1.0, 0.9],
        ... })
        >>> pivot(sweep, "accuracy").rows(named=True)[1]
        {'identity': 1.0, 'seed': 0, 'role = identity': 1.0, 'composition': 0.9}
    """
    table = frames.as_polars(table)
    for option, given in (("values", values), ("on", on)):
        check_kind(option, given, str)
    if index is not None:
        check_kind("index", index, list, tuple)
    check_names("column", [on, values, *(index or ())], table.columns, error=DataError)
    rows = table.filter(pl.col(values).is_not_null())
    keys = list(index) if index is not None else _conditions(rows, on)
    _check_single(rows, values, [*keys, on])
    names = {value: _name(on, value, keys) for value in tidy.distinct(rows, on)}
    if not names:
        return rows.select(keys)
    # Values are numbered first, so that none of them is mistaken for the name of a
    # column.
    numbered = {value: f"\0{place}" for place, value in enumerate(names)}
    places = [numbered[value] for value in rows[on].to_list()]
    wide = rows.with_columns(pl.Series("\0on", places)).pivot(
        "\0on", index=keys, values=values
    )
    return wide.rename({numbered[value]: name for value, name in names.items()})


def _conditions(table: pl.DataFrame, on: str) -> list[str]:
    """Return the columns up to the seed or, without a seed, all that are not floating-point."""
    if frames.SEED not in table.columns:
        numbers = [name for name in table.columns if table[name].dtype.is_float()]
        return [name for name in table.columns if name not in (on, *numbers)]
    until = table.columns[: table.columns.index(frames.SEED) + 1]
    return [name for name in until if name != on]


def _check_single(table: pl.DataFrame, values: str, keys: list[str]) -> None:
    """Raise an error if several numbers belong to the same cell."""
    others = [name for name in table.columns if name not in (*keys, values)]
    counted = table.group_by(keys, maintain_order=True).agg(
        pl.len().alias("\0len"), pl.col(others).n_unique()
    )
    several = counted.filter(pl.col("\0len") > 1)
    if several.is_empty():
        return
    first = several.row(0, named=True)
    where = ", ".join(f"{name} {tidy.plain(first[name])}" for name in keys)
    telling = [
        name for name in others if first[name] > 1 and not table[name].dtype.is_float()
    ]
    apart = (
        f" They differ in {', '.join(telling)}: filter the table, or add the column to 'index'."
        if telling
        else ""
    )
    raise DataError(
        f"'{values}' has {first[chr(0) + 'len']} numbers for {where}, but a cell of a wide "
        f"table can hold only one number.{apart}"
    )


def _name(on: str, value: Any, keys: list[str]) -> str:
    """Return the name of a value's column: the value as text, if necessary with ``on``."""
    text = tidy.plain(value)
    return text if isinstance(value, str) and text not in keys else f"{on} = {text}"
