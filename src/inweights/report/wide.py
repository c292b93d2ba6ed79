"""Convert a tidy table to a wide one, with one column for each role, measure or model.

:func:`pivot` is the public name. A sweep's table has one row per number. The wide table
has one row per condition and seed, as a spreadsheet or a paired comparison needs it.
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

    A column is named by its value, as text. If the value is not a text, or also the
    name of a column of the index, its column is called ``on = value``. In a sweep over
    ``world.identity``, for example, the setting ``identity`` and the role ``identity``
    have different columns.

    Args:
        table: Frame of polars or pandas, as a sweep or a probe returns it, or a
            dictionary of columns. Its column ``replica`` counts as ``seed``.
        values: Column of the numbers; rows without a number are left out.
        on: Column whose values become columns; by default ``role``.
        index: Columns that distinguish the rows of the result; by default the varied
            settings and ``seed``, which are all columns up to ``seed`` (in a table
            without seeds, all columns that do not contain decimal numbers), except
            ``on``.

    Returns:
        One row per condition and seed: the columns of the index, then one column per
        value of ``on`` in order of appearance; null for missing numbers.

    Raises:
        DataError: A column is missing, or several numbers belong to the same cell. The
            message names the columns in which these differ.
        ConfigError: ``values``, ``on`` or ``index`` has the wrong type.

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
    # Numbered, so that no value is a column's name before it has one of its own.
    numbered = {value: f"\0{place}" for place, value in enumerate(names)}
    places = [numbered[value] for value in rows[on].to_list()]
    wide = rows.with_columns(pl.Series("\0on", places)).pivot(
        "\0on", index=keys, values=values
    )
    return wide.rename({numbered[value]: name for value, name in names.items()})


def _conditions(table: pl.DataFrame, on: str) -> list[str]:
    """Return the varied settings and the seed: columns up to it, or all without numbers."""
    if frames.SEED not in table.columns:
        numbers = [name for name in table.columns if table[name].dtype.is_float()]
        return [name for name in table.columns if name not in (on, *numbers)]
    until = table.columns[: table.columns.index(frames.SEED) + 1]
    return [name for name in until if name != on]


def _check_single(table: pl.DataFrame, values: str, keys: list[str]) -> None:
    """Raise an error if several numbers belong to one cell and would have to be averaged."""
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
        f" They differ in {', '.join(telling)}: filter, or add to index."
        if telling
        else ""
    )
    raise DataError(
        f"'{values}' has {first[chr(0) + 'len']} numbers for {where}, but a cell of a wide table "
        f"has one.{apart}"
    )


def _name(on: str, value: Any, keys: list[str]) -> str:
    """Return the column of a value: its text, with the name of ``on`` if that is needed."""
    text = tidy.plain(value)
    return text if isinstance(value, str) and text not in keys else f"{on} = {text}"
