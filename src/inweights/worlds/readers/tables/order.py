"""Infer the order of columns from their values if no header names them: :func:`order_of`.

The relation of a table of facts has few values, which are not names of entities; the
weight of an edge is a number. If the values suggest no order, the usual one is assumed:
subject, relation, object.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from inweights.support.progress import plural
from inweights.worlds.readers.tables.headers import EDGES

_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)*(e[+-]?\d+)?", re.IGNORECASE)
#: Smallest number of rows at which the number of distinct values of a column is
#: evidence.
_ENOUGH = 4
#: Largest number of distinct values per row of a column that may be the relation.
_FEW = 0.34
#: Smallest number of distinct values per row of a column that is not a relation.
_MANY = 0.5
#: Number of rows that are examined.
_SAMPLE = 100_000


class Order(NamedTuple):
    """Order of the required columns.

    Attributes:
        places: Index (from 0) of each required column, in the order of the roles.
        why: Reason for an unusual order, or for an assumption; may be empty.
        refused: Reason why the columns cannot be determined; empty if they can. The
            text may contain the placeholder ``{cells}``.
    """

    places: tuple[int, ...]
    why: str = ""
    refused: str = ""


def order_of(
    rows: Sequence[Sequence[str]], needed: tuple[str, ...], *, named: bool
) -> Order:
    """Infer the order of columns from their values.

    Args:
        rows: Cells of each row, without the header.
        needed: Roles of the columns: ``subject``, ``relation`` and ``object``; or
            ``subject`` and ``object``, for edges.
        named: Whether there is a header with unknown words. If so, a table whose
            columns seem to be relations is rejected.

    Returns:
        The order, or the reason why it cannot be determined. If rows have different
        numbers of cells, the order is that of ``needed``.

    Example:
        >>> facts = ("subject", "relation", "object")
        >>> rows = [("a", "b", "in"), ("b", "c", "in"), ("c", "d", "at")]
        >>> order_of(rows, facts, named=False).places
        (0, 2, 1)
    """
    usual = tuple(range(len(needed)))
    widths = set(map(len, rows))
    if len(widths) != 1:
        # Rows that are too short or too long are reported when they are read.
        return Order(usual)
    width = widths.pop()
    columns = [_column(rows, k) for k in range(width)]
    if needed == EDGES:
        return _edges(columns, usual)
    return _facts(columns, usual, named=named)


def _column(rows: Sequence[Sequence[str]], place: int) -> list[str]:
    """Return the values of a column in the first rows."""
    return [row[place].strip() for row in rows[:_SAMPLE]]


def _edges(columns: Sequence[Sequence[str]], usual: tuple[int, ...]) -> Order:
    """Return the order of the columns of edges."""
    numbers = [all(map(_NUMBER.fullmatch, column)) for column in columns]
    if len(columns) == 3 and numbers[2]:
        return Order(usual, "the third column, of numbers, is a weight and is not read")
    if len(columns) < 2:
        return Order(
            usual, refused="1 column; an edge has two ends: lines 'u=v', or 'u,v'"
        )
    if len(columns) == 2:
        return Order(usual)
    return Order(
        usual,
        refused=f"{len(columns)} columns; more columns need a header 'source,target,…', or name "
        'two with --columns, such as --columns 1,3 (in Python columns="1,3")',
    )


def _facts(
    columns: Sequence[Sequence[str]], usual: tuple[int, ...], *, named: bool
) -> Order:
    """Return the order of the columns of facts."""
    if len(columns) < 3:
        return Order(
            usual,
            refused=f"{plural(len(columns), 'column')}; a fact has a subject, a relation and an "
            "object, separated by a comma, tab or semicolon. For a graph of pairs use 'inweights "
            "atlas'",
        )
    if len(columns) != 3:
        wide = (
            "--wide if each column is a relation of the first, or "
            if len(columns) > 3
            else ""
        )
        what = "columns" if named else "field(s) {cells} and no header"
        return Order(
            usual,
            refused=f"{len(columns)} {what}; it is unclear which are subject, relation and object: "
            f"use {wide}--columns with three names or numbers, such as --columns 1,3,2 "
            '(in Python columns="1,3,2")',
        )
    return _three_columns(columns, usual, named=named)


def _three_columns(
    columns: Sequence[Sequence[str]], usual: tuple[int, ...], *, named: bool
) -> Order:
    """Return the order of three columns of facts."""
    count = len(columns[0])
    first, second, third = map(set, columns)
    numbers = [all(map(_NUMBER.fullmatch, column)) for column in columns]
    if numbers[2] and first & second and not numbers[0]:
        return Order(
            usual,
            refused="the third column contains only numbers, and the second contains names of "
            "the first: edges with weights, not facts. 'inweights atlas' reads them as a graph; "
            "for facts, name the columns with --columns",
        )
    if first & second and not third & (first | second) and len(third) < len(second):
        return Order(
            (0, 2, 1),
            "the third column is read as the relation: the second contains names "
            "of the first, and the third has fewer values",
        )
    if second & third and not first & (second | third) and len(first) < len(second):
        return Order(
            (1, 0, 2),
            "the first column is read as the relation: the second and the third "
            "share names, and the first has fewer values",
        )
    varied = count >= _ENOUGH - named and len(second) > _MANY * count
    if varied and (
        named or (len(first) > _MANY * count and len(third) <= _FEW * count)
    ):
        wide = (
            "if each column is a relation of the first, use --wide; otherwise " * named
        )
        return Order(
            usual,
            refused=f"the second column has {len(second)} values in {count} rows, so it does not "
            f"seem to be a relation; {wide}name the columns of subject, relation and object, such "
            'as --columns 1,3,2 (in Python columns="1,3,2")',
        )
    if named:
        return Order(
            usual, "its columns are read as subject, relation and object, in this order"
        )
    return Order(usual)
