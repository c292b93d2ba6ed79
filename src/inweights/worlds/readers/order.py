"""The order of columns by what they hold, where no header names them.

The relation of a table of facts has few values, which are no names of things; the weight of an edge
is a number. Where columns do not show it, the usual order stands: subject, relation, object.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from inweights.support.progress import plural
from inweights.worlds.readers.headers import EDGES

_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)*(e[+-]?\d+)?", re.IGNORECASE)
#: Rows from which on the number of values of a column says something.
_ENOUGH = 4
#: Share of the rows that a column of relations has as values, at most, where another column must
#: be one; and of one that is none, at least.
_FEW, _MANY = 0.34, 0.5
#: Rows that are looked at.
_SAMPLE = 100_000


class Order(NamedTuple):
    """Places of the needed columns, why these, or why none can be told."""

    places: tuple[int, ...]
    why: str = ""
    refused: str = ""


def order_of(rows: Sequence[Sequence[str]], needed: tuple[str, ...], *, named: bool) -> Order:
    """Return the order of columns.

    Args:
        rows: Cells of each row, without a header.
        needed: Subject, relation and object; or subject and object, for edges.
        named: Whether there is a header, of other words: a table with relations for its columns
            is then refused.

    Example:
        >>> facts = ("subject", "relation", "object")
        >>> rows = [("a", "b", "in"), ("b", "c", "in"), ("c", "d", "at")]
        >>> order_of(rows, facts, named=False).places
        (0, 2, 1)
    """
    usual = tuple(range(len(needed)))
    widths = {len(row) for row in rows}
    if len(widths) != 1:
        return Order(usual)  # each row that is too short or too long is named as it is read
    width = widths.pop()
    columns = [[row[k].strip() for row in rows[:_SAMPLE]] for k in range(width)]
    if needed == EDGES:
        return _edges(columns, usual)
    return _facts(columns, usual, named=named)


def _edges(columns: Sequence[Sequence[str]], usual: tuple[int, ...]) -> Order:
    numbers = [all(map(_NUMBER.fullmatch, column)) for column in columns]
    if len(columns) == 3 and numbers[2]:
        return Order(usual, "the third column, of numbers, is a weight and is not read")
    if len(columns) < 2:
        return Order(usual, refused="1 column; an edge has two ends: lines 'u=v', or 'u,v'")
    if len(columns) == 2:
        return Order(usual)
    return Order(
        usual,
        refused=f"{len(columns)} columns; more columns need a header 'source,target,…', or name "
        'two with --columns, such as --columns 1,3 (in Python columns="1,3")',
    )


def _facts(columns: Sequence[Sequence[str]], usual: tuple[int, ...], *, named: bool) -> Order:
    if len(columns) < 3:
        return Order(
            usual,
            refused=f"{plural(len(columns), 'column')}; a fact has a subject, a relation and an "
            "object, with a comma, tab or semicolon between. For a graph of pairs use 'inweights "
            "atlas'",
        )
    if len(columns) != 3:
        wide = "--wide if each column is a relation of the first, or " if len(columns) > 3 else ""
        what = "columns" if named else "field(s) {cells} and no header"
        return Order(
            usual,
            refused=f"{len(columns)} {what}; they do not say what is subject, relation and object: "
            f"use {wide}--columns with three names or numbers, such as --columns 1,3,2 "
            '(in Python columns="1,3,2")',
        )
    kinds = [set(column) for column in columns]
    count = len(columns[0])
    first, second, third = kinds
    numbers = [all(map(_NUMBER.fullmatch, column)) for column in columns]
    if numbers[2] and first & second and not numbers[0]:
        return Order(
            usual,
            refused="the third column holds only numbers, and the second holds names of the first: "
            "edges with weights, not facts. 'inweights atlas' reads them as a graph; for facts "
            "name the columns with --columns",
        )
    if first & second and not third & (first | second) and len(third) < len(second):
        return Order(
            (0, 2, 1),
            "the third column is read as the relation: the second holds names "
            "of the first, and the third has fewer values",
        )
    if second & third and not first & (second | third) and len(first) < len(second):
        return Order(
            (1, 0, 2),
            "the first column is read as the relation: the second and the third "
            "share names, and the first has fewer values",
        )
    varied = count >= _ENOUGH - named and len(second) > _MANY * count
    if varied and (named or (len(first) > _MANY * count and len(third) <= _FEW * count)):
        wide = "if each column is a relation of the first, use --wide; otherwise " * named
        return Order(
            usual,
            refused=f"the second column has {len(second)} values in {count} rows, and so seems to "
            f"be no relation; {wide}name the columns of subject, relation and object, such as "
            '--columns 1,3,2 (in Python columns="1,3,2")',
        )
    if named:
        return Order(usual, "its columns are read as subject, relation and object, in this order")
    return Order(usual)
