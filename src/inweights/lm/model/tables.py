"""Read the tables of a data set: single files, and parts of a folder that ``augment`` wrote.

:func:`read_table` reads one file, and :func:`read_part` reads a part by its name.
"""

from pathlib import Path

import polars as pl

from inweights.errors import DataError
from inweights.support.limits import check_file
from inweights.worlds.readers.tables.parquet import read_parquet


def read_table(path: str | Path) -> pl.DataFrame:
    """Read a JSONL, JSON or Parquet file as one table.

    Args:
        path: Path of the file, which ends in ``.jsonl``, ``.ndjson``, ``.json`` (a list
            of rows) or ``.parquet``.

    Returns:
        One row per line or record of the file.

    Raises:
        DataError: There is no such file, or it has a different suffix, is too large, or
            cannot be read.

    Example:
        >>> read_table("no-such-file.jsonl")
        Traceback (most recent call last):
        ...
        inweights.errors.DataError: there is no file or folder no-such-file.jsonl
    """
    place = Path(path)
    if not place.exists():
        raise DataError(f"there is no file or folder {place}")
    try:
        if place.suffix == ".parquet":
            return read_parquet(place)
        if place.suffix in (".jsonl", ".ndjson"):
            check_file(place)
            return pl.read_ndjson(place, infer_schema_length=None)
        if place.suffix == ".json":
            check_file(place)
            return pl.read_json(place, infer_schema_length=None)
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = str(error).strip().splitlines()
        raise DataError(
            f"cannot read {place}: {reason[0] if reason else 'it is empty'}"
        ) from None
    raise DataError(
        f"{place} must be a .jsonl, .json or .parquet file, such as the files that "
        "'inweights augment' writes"
    )


def read_part(folder: Path, part: str, *, chat: bool = False) -> pl.DataFrame:
    """Read a part of a data set as a table, optionally with the user's turns as prompts.

    Args:
        folder: Data set that ``inweights augment`` wrote.
        part: Name of the file without its suffix, such as ``train``.
        chat: Whether to replace ``prompt`` by the user's turn with the same ``id`` in
            the file ``<part>_chat``, if this file exists; by default False.

    Returns:
        One row per line or record of the file. The columns are those of the file.

    Raises:
        DataError: The part is missing, exists twice with different content, or cannot
            be read.
    """
    table = read_table(found_in(folder, part))
    if not chat or not any(folder.glob(f"{part}_chat.*")):
        return table
    place = found_in(folder, f"{part}_chat")
    try:
        turns = read_table(place).select(
            "id", turn=pl.col("messages").list[0].struct["content"]
        )
        joined = table.join(turns, on="id", how="left", maintain_order="left")
        return joined.with_columns(prompt=pl.coalesce("turn", "prompt")).drop("turn")
    except pl.exceptions.PolarsError as error:
        first = str(error).strip().splitlines()[0]
        raise DataError(
            f"{place} was not written by 'inweights augment': {first}"
        ) from None


def found_in(folder: Path, part: str) -> Path:
    """Return the file of a part of a data set: Parquet if it exists, otherwise JSONL.

    Args:
        folder: The data set.
        part: Name of the file without its suffix.

    Returns:
        Path of the existing file.

    Raises:
        DataError: Neither file exists, or both exist and one cannot be read or they
            differ.
    """
    places = [folder / f"{part}.{kind}" for kind in ("parquet", "jsonl")]
    there = [place for place in places if place.exists()]
    if len(there) == 2:
        first, second = map(read_table, there)
        same = first.columns == second.columns and first.height == second.height
        rows = _different_rows(first, second) if same else []
        if rows or not same:
            newer = max(there, key=lambda place: place.stat().st_mtime)
            where = (
                f"in {len(rows)} rows, the first is row {rows[0]}"
                if rows
                else "in their rows"
            )
            raise DataError(
                f"{there[0]} and {there[1].name} differ {where}; {newer.name} is newer; remove "
                "the one that is out of date"
            )
    if there:
        return there[0]
    raise DataError(
        f"{folder} contains no {part}.parquet and no {part}.jsonl; 'inweights augment' writes them"
    )


def _different_rows(first: pl.DataFrame, second: pl.DataFrame) -> list[int]:
    """Return the numbers, from 1, of the rows in which two tables of equal height differ."""
    pairs = zip(first.rows(), second.rows(), strict=True)
    return [number for number, (a, b) in enumerate(pairs, 1) if a != b]
