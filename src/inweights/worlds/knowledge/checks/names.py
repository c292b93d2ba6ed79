"""Recognise types of names: placeholders, dates and numbers, and several spellings of a name.

Remarks on facts, and predictions, use these functions to decide which names are
entities.
"""

import re
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from inweights.worlds.arrays import Bools
from inweights.worlds.readers.tables.headers import without_accents
from inweights.worlds.world import Ids

#: Smallest fraction of subjects that look like numbers at which numbers count as names
#: of entities.
_CALLED = 0.1
#: Placeholders for missing values, without ``na``, which is also a chemical symbol.
_NOTHING = {
    "n/a",
    "nan",
    "null",
    "none",
    "-",
    "–",
    "—",
    "?",
    "??",
    "unknown",
    "tbd",
    "missing",
}

#: Dates, and numbers with their sign, currency or per cent.
_LITERAL = re.compile(
    r"[+−-]?[€$£¥]?\s?\d[\d.,']*(e[+-]?\d+)?\s?[%€$£¥]?"
    r"|[+-]?\d{1,6}-\d\d(-\d\d([T ]\d\d:\d\d[\d:.Z+-]*)?)?"
    r"|\d{1,4}[./]\d{1,2}[./]\d{1,4}",
    re.IGNORECASE,
)

#: Characters in which spellings of the same name may differ: spaces, full stops,
#: quotes, inner hyphens.
_MARKS = re.compile(r"[\s_.,'\"’‘“”]|[‐‑–—-](?=\w)")


def is_nothing(name: str) -> bool:
    """Return whether a name is a placeholder such as ``n/a``, ``null``, ``Unknown`` or ``?``."""
    return name.casefold() in _NOTHING


def is_literal(name: str) -> bool:
    """Return whether a name is a date in digits, or a number without a unit.

    A number may have a sign, a per cent sign, or one of the currency signs €, $, £ and
    ¥.

    Args:
        name: A name or value from a file.

    Example:
        >>> [is_literal(name) for name in ("1952-03-11", "1,200.50", "12 %", "3 kg", "A1")]
        [True, True, True, False, False]
    """
    return bool(_LITERAL.fullmatch(name))


def alias_groups(names: Sequence[str]) -> list[list[int]]:
    """Group names that differ only in case, accents, spaces or punctuation.

    Dates, numbers and placeholders are never in a group. A sign at the end of a name is
    significant: ``A+`` and ``A-`` are different.

    Args:
        names: Names to compare.

    Returns:
        The groups of two or more names, each as ascending indices of its names.

    Example:
        >>> alias_groups(("São Paulo", "A+", "sao_paulo", "A-", "1.5", "15", "U.S.", "US"))
        [[0, 2], [6, 7]]
    """
    same: defaultdict[str, list[int]] = defaultdict(list)
    for i, name in enumerate(names):
        if not is_nothing(name) and not is_literal(name):
            same[_MARKS.sub("", without_accents(name)) or name].append(i)
    return [members for members in same.values() if len(members) > 1]


def literals(entities: Sequence[str], triples: Ids) -> Bools:
    """Return which names are dates or numbers rather than names of entities.

    If at least a tenth of all subjects are dates or numbers, dates and numbers are
    regarded as names of entities, and the result is False for all names.

    Args:
        entities: ``N`` names.
        triples: Subject, relation and object of each of ``M`` triples, as indices,
            ``[M, 3]``.

    Returns:
        Whether each name is a date or number, ``[N]``.

    Example:
        >>> literals(("Ann", "1980", "Rome"), np.array([[0, 0, 1], [0, 1, 2]])).tolist()
        [False, True, False]
    """
    found = np.fromiter(map(is_literal, entities), dtype=bool, count=len(entities))
    numbered = found[np.unique(triples[:, 0])].mean() if len(triples) else 0.0
    return found & (numbered < _CALLED)
