"""Read Parquet and Arrow files, after estimating how much memory they need.

A few kilobytes may contain millions of equal rows, or a million copies of a long text.
:func:`read_parquet` therefore counts rows and bytes first.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl

from inweights.errors import DataError
from inweights.support.limits import MAX_ROWS, check_file, check_memory

#: Bytes of a cell in addition to its content.
_CELL = 24


def read_parquet(
    path: Path, columns: Callable[[Sequence[str]], Sequence[str]] | None = None
) -> pl.DataFrame:
    """Read a Parquet file, or a stream of Arrow batches if the file ends in ``.arrow``.

    Args:
        path: The file.
        columns: Function that takes the names of all columns and returns those to read,
            which must be among them; by default, all are read.

    Returns:
        The table, with the chosen columns in the order in which the function returns
        them.

    Raises:
        DataError: The file is missing or damaged, the table would need too much memory,
            or a Parquet file has more than 3,000,000 rows
            (:data:`~inweights.support.limits.MAX_ROWS`).
    """
    arrow = path.suffix.lower() == ".arrow"
    check_file(path)
    try:
        # usually not compressed, so that checking the size of the file suffices
        if arrow:
            table = pl.read_ipc_stream(path)
            return table.select(columns(table.columns)) if columns else table
        lazy = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        schema = lazy.collect_schema()
        chosen = list(columns(schema.names()) if columns else schema.names())
        rows = lazy.select(pl.len()).collect().item()
        if rows > MAX_ROWS:
            raise DataError(f"{path} has {rows:,} rows; at most {MAX_ROWS:,} are read")
        sizes = [_content(name, schema[name]) for name in chosen]
        total = (
            lazy.select(size=pl.sum_horizontal(0, *sizes))
            .collect(engine="streaming")
            .item()
        )
        needed = 3 * (int(total or 0) + _CELL * rows * len(chosen))
        check_memory(
            f"reading {path}", needed, error=DataError, hint="cut it into parts"
        )
        return lazy.select(chosen).collect()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        kind = "Arrow" if arrow else "Parquet"
        lines = str(error).splitlines()
        raise DataError(
            f"{path} cannot be read as {kind}: {lines[0] if lines else 'the file is damaged'}"
        ) from None


def _content(name: str, kind: pl.DataType) -> pl.Expr:
    """Return the number of bytes in a column; only outer entries of nested lists are counted."""
    column = pl.col(name)
    if kind == pl.String:
        return column.str.len_bytes().cast(pl.Float64).sum()
    if isinstance(kind, pl.List):
        size = 8 * column.list.len().cast(pl.Float64)
        if kind.inner == pl.String:
            size = size + column.list.eval(pl.element().str.len_bytes()).list.sum()
        return size.sum()
    return pl.lit(0.0)
