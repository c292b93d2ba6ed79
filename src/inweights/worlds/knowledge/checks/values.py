"""Remarks on values that a program damaged, or that are written in several ways.

:func:`value_remarks` yields one remark for each kind of problem and relation: the
problem, where it occurs, and what to do. It uses :mod:`.repair` for names and
:mod:`.dates` for dates.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from inweights.worlds.knowledge.checks.dates import (
    is_short_date,
    serial_day,
    written_date,
)
from inweights.worlds.knowledge.checks.repair import parts_of, repaired
from inweights.worlds.readers.remark import Remark
from inweights.worlds.world import Ids

#: Kinds of remarks on values.
KINDS = ("markup", "several", "date", "rounded", "digits")

_ROUNDED = re.compile(r"[+-]?\d([.,]\d+)?E\+?(\d{2,})", re.IGNORECASE)
_LONG = re.compile(r"\d{13,}000")
#: Largest number of names that a remark lists.
_NAMED = 5
#: Smallest exponent of a number that a spreadsheet rounded.
_EXACT = 10
#: Smallest fraction of dates among the values of a relation at which its numbers may be
#: dates.
_SOME = 0.3

#: A name, and the first line that contains it.
Cell = tuple[str, int]


def value_remarks(
    entities: Sequence[str], relations: Sequence[str], triples: Ids, lines: Ids
) -> Iterator[Remark]:
    """Yield remarks on damaged names, cells with several values, dates and numbers.

    Their kinds are :data:`KINDS`: ``markup`` (names that a program damaged),
    ``several`` (cells with several values), ``date`` (dates in several formats, days
    that do not exist, and names that a spreadsheet turned into dates), ``rounded``
    (numbers that lost digits) and ``digits`` (numbers that may have lost leading zeros,
    or are also written with ``.0``).

    Args:
        entities: Names of entities.
        relations: Names of relations.
        triples: Subject, relation and object of each of ``M`` triples, as indices,
            ``[M, 3]``.
        lines: Line of each triple, ``[M]``.

    Yields:
        The remarks on damaged names first, then those on each relation's subjects and
        objects.
    """
    columns: defaultdict[tuple[int, int], dict[str, list[int]]] = defaultdict(dict)
    first: dict[str, int] = {}
    for (s, r, o), line in zip(triples.tolist(), lines.tolist(), strict=True):
        for end, entity in ((0, s), (2, o)):
            columns[r, end].setdefault(entities[entity], []).append(line)
            first.setdefault(entities[entity], line)
        first.setdefault(relations[r], line)
    yield from _markup(first)
    known = frozenset(entities)
    for (r, end), values in sorted(columns.items()):
        what = relations[r] if end == 2 else f"subjects of {relations[r]}"
        cells = [(name, at[0]) for name, at in values.items()]
        yield from _several(what, cells, known)
        yield from _dates(what, cells)
        yield from _rounded(what, values)
        yield from _digits(what, cells)


def _markup(first: dict[str, int]) -> Iterator[Remark]:
    """Yield a remark for each kind of damage to names."""
    found: defaultdict[str, list[tuple[str, str, int]]] = defaultdict(list)
    for name, line in first.items():
        new, why = repaired(name)
        if why:
            found[why].append((name, new, line))
    for why, names in found.items():
        corrections = []
        for old, new, line in names[:_NAMED]:
            there = f" (line {first[new]})" if new in first else ""
            corrections.append(f"'{old}' (line {line}) as '{new}'{there}")
        text = f"{why}: read {'; '.join(corrections)}{_more(names)}? --fix makes this correction"
        yield Remark("markup", tuple(line for *_, line in names), text)


def _several(
    what: str, cells: Sequence[Cell], known: frozenset[str]
) -> Iterator[Remark]:
    """Yield a remark on cells that seem to contain several values."""
    found = []
    parts: set[str] = set()
    for name, line in cells:
        own = parts_of(name, known)
        if own:
            found.append((name, line))
            parts.update(own)
    # A single cell with a separator may be a name. Several such cells, or cells with
    # known parts, are reported.
    shared = not parts.isdisjoint(known)
    if found and (shared or len(found) > 1):
        text = (
            f"{what}: cells seem to contain several values, {_listed(found)}; no question chains "
            "facts there. Write a separate fact for each value (--fix does so if a semicolon or "
            "bar separates names that occur elsewhere)"
        )
        yield Remark("several", _lines(found), text)


def _dates(what: str, cells: Sequence[Cell]) -> Iterator[Remark]:
    """Yield remarks on dates in several formats, nonexistent days, and names that became dates."""
    dates = []
    forms: dict[str, Cell] = {}
    for name, line in cells:
        found = written_date(name)
        if found is not None:
            dates.append((name, line, found))
            forms.setdefault(found.form, (name, line))
    serials = [(name, line) for name, line in cells if serial_day(name)]
    # Any number of five digits could be a day, but is likely to be one only if there
    # are many dates.
    if len(dates) < _SOME * len(cells) or len(dates) <= len(serials):
        serials = []
    if len(forms) + bool(serials) > 1:
        shown = [*forms.values(), *serials[:1]]
        text = (
            f"{what}: dates in {len(shown)} formats, {_listed(shown)}, so that one day has several "
            "names; write all as YYYY-MM-DD (--fix does so if the day is unambiguous)"
        )
        yield Remark("date", _lines(shown), text)
    if serials:
        days = []
        for name, line in serials[:_NAMED]:
            days.append(f"{name} (line {line}): {serial_day(name)}")
        listed = ", ".join(days) + _more(serials)
        text = f"{what}: numbers among dates may be dates of a spreadsheet: {listed}"
        yield Remark("date", _lines(serials), text)
    missing = [(name, line) for name, line, found in dates if not found.exists]
    if missing:
        text = f"{what}: {_listed(missing)}: there is no such day; correct it"
        yield Remark("date", _lines(missing), text)
    short = [(name, line) for name, line in cells if is_short_date(name)]
    if short and len(short) + len(dates) < len(cells):
        text = (
            f"{what}: dates among names, {_listed(short)}: spreadsheets convert names such as "
            "SEPT2 or MARCH1 to dates; restore the names in a column that is formatted as text"
        )
        yield Remark("date", _lines(short), text)


def _rounded(what: str, values: dict[str, list[int]]) -> Iterator[Remark]:
    """Yield a remark on long numbers that lost digits."""
    cells = []
    every: list[int] = []
    shared = ""
    for name, lines in values.items():
        match = _ROUNDED.fullmatch(name)
        if not (match and int(match[2]) >= _EXACT) and not _LONG.fullmatch(name):
            continue
        cells.append((name, lines[0]))
        every += lines
        if len(lines) > 1 and not shared:
            shared = f"; {name} is in {len(lines)} lines"
    if cells:
        text = (
            f"{what}: numbers that lost digits, {_listed(cells)}{shared}: export them as text, "
            "since different numbers may have become the same name"
        )
        yield Remark("rounded", tuple(every), text)


def _digits(what: str, cells: Sequence[Cell]) -> Iterator[Remark]:
    """Yield remarks on whole numbers that lost leading zeros, or that end in ``.0``."""
    whole = [(name, line) for name, line in cells if name.isdigit()]
    padded = []
    longest = 0
    for name, line in whole:
        if name.startswith("0") and len(name) > 1:
            padded.append((name, line))
            longest = max(longest, len(name))
    short = [(name, line) for name, line in whole if len(name) < longest]
    if padded and short:
        text = (
            f"{what}: some numbers begin with zeros, {_listed(padded)}, and others are shorter, "
            f"{_listed(short)}: zeros may have been lost; write all with {longest} digits"
        )
        yield Remark("digits", _lines([*padded, *short]), text)
    plain = {name for name, _ in whole}
    point = [(name, line) for name, line in cells if re.fullmatch(r"\d+\.0", name)]
    both = [(name, line) for name, line in point if name[:-2] in plain]
    if both or (point and whole):
        odd = both or point
        text = f"{what}: whole numbers are also written with .0, {_listed(odd)}: write all alike"
        yield Remark("digits", _lines(odd), text)


def _lines(cells: Sequence[Cell]) -> tuple[int, ...]:
    """Return the first line of each name."""
    return tuple(line for _, line in cells)


def _listed(cells: Sequence[Cell]) -> str:
    """List the first names with their lines."""
    shown = ", ".join(f"'{name}' (line {line})" for name, line in cells[:_NAMED])
    return shown + _more(cells)


def _more(items: Sequence[object]) -> str:
    """Return a text with the number of items that are not shown."""
    return f" … and {len(items) - _NAMED:,} more" if len(items) > _NAMED else ""
