"""Convert tables of other libraries to polars, and write tables as CSV.

:func:`as_polars` converts a user's table for the drawings, and :func:`csv_text` writes
a table for a spreadsheet.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from inweights.errors import DataError

#: Column that distinguishes replicates. Tables of probes have REPLICA in its place.
SEED = "seed"
REPLICA = "replica"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"


def as_polars(table: Any) -> pl.DataFrame:
    """Return a table as a polars DataFrame, in which a column ``replica`` is copied to ``seed``.

    Args:
        table: A polars DataFrame or LazyFrame (which is collected), a pandas DataFrame,
            or a dictionary of columns.

    Returns:
        The table. If it has a column ``replica`` and no column ``seed``, a copy of
        ``replica`` with the name ``seed`` is inserted before it.

    Raises:
        DataError: The table has a different type.
        polars.exceptions.PolarsError: The columns of a dictionary differ in length.

    Example:
        >>> as_polars({"replica": [0, 1], "accuracy": [0.5, 1.0]}).columns
        ['seed', 'replica', 'accuracy']
    """
    if isinstance(table, pl.LazyFrame):
        table = table.collect()
    if not isinstance(table, pl.DataFrame):
        names = (
            list(table)
            if isinstance(table, Mapping)
            else getattr(table, "columns", None)
        )
        # Objects of other libraries may have a method of this name.
        if names is None or callable(names):
            raise DataError(
                "expected a polars or pandas data frame or a dictionary of columns, got "
                f"{type(table).__name__}"
            )
        table = pl.DataFrame(
            # One column of pandas may have values of several types.
            [pl.Series(str(name), list(table[name]), strict=False) for name in names]
        )
    if SEED not in table.columns and REPLICA in table.columns:
        place = table.columns.index(REPLICA)
        table = table.select(pl.all()).insert_column(place, table[REPLICA].alias(SEED))
    return table


def csv_text(table: pl.DataFrame, *, raw: bool = False) -> str:
    """Return a table as CSV, with text escaped so that spreadsheets do not run it as formulas.

    Args:
        table: The table. Columns of lists, arrays, structs or objects are not allowed:
            polars raises an error (``polars.exceptions.ComputeError`` for lists).
        raw: Whether text is written unchanged. By default, strings and column names
            that begin with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return are
            preceded by a ``'``, unless they are numbers.

    Returns:
        The CSV text, with the names of the columns in the first line.
    """
    if raw or not table.width:
        return table.write_csv()
    # A spreadsheet could run the name of a column as a formula, too.
    names = pl.DataFrame(_quoted(pl.Series(table.columns))).transpose()
    texts = (c for c in table if c.dtype in (pl.String, pl.Categorical, pl.Enum))
    rows = table.with_columns(map(_quoted, texts))
    return names.write_csv(include_header=False) + rows.write_csv(include_header=False)


def _quoted(texts: pl.Series) -> pl.Series:
    texts = texts.cast(pl.String)
    # A negative number begins like a formula, but is not one.
    runs = texts.str.contains(r"^[=+\-@\t\r]") & ~texts.str.contains(_NUMBER)
    return ("'" + texts).zip_with(runs.fill_null(False), texts).alias(texts.name)
