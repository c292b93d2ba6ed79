"""Repair broken names, split cells with several values, and write dates in one format.

:func:`repaired_facts` corrects only what is certain: names that contain markup or
character references, cells whose parts all occur as names of their own, and dates whose
day is unambiguous. Doubtful cases are listed as ``to decide``. It is the first step of
:func:`~inweights.audit.mend`.
"""

from collections import defaultdict
from dataclasses import replace

import numpy as np

from inweights.worlds.knowledge.checks.dates import serial_day, written_date
from inweights.worlds.knowledge.checks.repair import parts_of, repaired
from inweights.worlds.knowledge.knowledge import Knowledge, numbered

#: A change of a line: line number, kind of change, text before, text after, and reason.
Change = tuple[int, str, str, str, str]
_ISO = "YYYY-MM-DD"


def repaired_facts(facts: Knowledge) -> tuple[Knowledge, list[Change]]:
    """Make those repairs of facts that are certain to be correct, and list all changes.

    Args:
        facts: The facts.

    Returns:
        Two values. First, the repaired facts, or the same object if nothing was
        repaired. Repaired facts may contain repetitions, and a split cell adds facts.
        Second, the changes as tuples ``(line, change, before, after, reason)``, where
        ``change`` is ``renamed``, ``split`` or ``to decide``.
    """
    changes: list[Change] = []
    known = frozenset(facts.entities)
    with_dates = _relations_of_dates(facts)
    reported: set[str] = set()
    rows: list[tuple[str, str, str]] = []
    origin: list[int] = []
    for i in range(len(facts)):
        names = facts.names(i)
        line = int(facts.lines[i])
        subject, relation, value = (
            _repair_name(n, line, reported, changes) for n in names
        )
        if relation in with_dates and names[1] == relation:
            value = _repair_date(names, value, line, changes)
        parts = parts_of(value, known, sure=True)
        if parts:
            before = ", ".join(names)
            changes.append(
                (
                    line,
                    "split",
                    before,
                    "; ".join(parts),
                    "each part is a name elsewhere",
                )
            )
        for part in parts or (value,):
            rows.append((subject, relation, part))
            origin.append(i)
    if not any(change != "to decide" for _, change, *_ in changes):
        return facts, changes
    place = np.array(origin)
    named = numbered(rows)
    return replace(
        facts, **named, lines=facts.lines[place], stages=facts.stages[place]
    ), changes


def _repair_name(
    name: str, line: int, reported: set[str], changes: list[Change]
) -> str:
    """Return a name with its damage repaired, and list the change once for each name."""
    new, why = repaired(name)
    if why and name not in reported:
        reported.add(name)
        changes.append((line, "renamed", name, new, why))
    return new


def _relations_of_dates(facts: Knowledge) -> set[str]:
    """Return the relations whose values are dates in several formats, including ``YYYY-MM-DD``."""
    forms: defaultdict[str, list[str]] = defaultdict(list)
    for _, r, o in facts.triples.tolist():
        found = written_date(facts.entities[o])
        forms[facts.relations[r]].append(found.form if found else "")
    return {
        relation
        for relation, own in forms.items()
        if _ISO in own and len(set(own)) > 1 and own.count("") <= 0.5 * len(own)
    }


def _repair_date(
    names: tuple[str, str, str], value: str, line: int, changes: list[Change]
) -> str:
    """Return a date as ``YYYY-MM-DD`` if its day is certain; otherwise list it as ``to decide``."""
    before = ", ".join(names)
    found = written_date(value)
    if found is None:
        day = serial_day(value)
        if day:
            changes.append(
                (
                    line,
                    "to decide",
                    before,
                    day,
                    "may be a date that a spreadsheet stored as a number",
                )
            )
    elif not found.exists:
        changes.append((line, "to decide", before, "", "there is no such day"))
    elif not found.day:
        changes.append(
            (line, "to decide", before, "", "the order of day and month is ambiguous")
        )
    elif found.day != value:
        why = f"a date in another format, {found.form}"
        changes.append((line, "renamed", value, found.day, why))
        return found.day
    return value
