"""Write a corrected copy of a set of facts, with a list of all changes.

:func:`mend` changes only what needs no knowledge of the world: spellings of one name are
unified, repeated facts removed, and facts that cannot be right as they stand are set apart for
their owner to decide. :func:`write_mended` writes the result, which ``inweights audit --fix``
calls.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from inweights.audit.near import missing_rows, near_spellings
from inweights.audit.repairs import repaired_facts
from inweights.worlds.knowledge.knowledge import Knowledge
from inweights.worlds.knowledge.names import alias_groups, is_nothing
from inweights.worlds.knowledge.remarks import contradictions
from inweights.worlds.readers.new_folder import new_folder
from inweights.worlds.world import Ids

_CHANGES: dict[str, Any] = {
    "line": pl.Int64, "change": pl.String, "before": pl.String, "after": pl.String,
    "why": pl.String,
}  # fmt: skip
_SPELT = "differ in case, accents, spaces or punctuation only"


@dataclass(frozen=True, eq=False)
class Mended:
    """Result of :func:`mend`.

    Attributes:
        facts: The facts that remain: ``line`` (of the file), ``subject``, ``relation``,
            ``object``, ``stage``.
        apart: Facts that were set apart: the same columns, and ``why``.
        changes: A row for each change: ``line``, ``change`` (``renamed``, ``split``, ``left
            out``, ``set apart`` or ``to decide``), ``before``, ``after``, ``why``. Of ``to
            decide`` nothing was changed: near spellings that were not renamed, and second
            values where most others have one.
        missing: Facts that a symmetric or inverse relation lacks, for their owner to accept:
            ``subject``, ``relation``, ``object``, ``why``.
    """

    facts: pl.DataFrame
    apart: pl.DataFrame
    changes: pl.DataFrame
    missing: pl.DataFrame

    @property
    def counts(self) -> dict[str, int]:
        """Number of remaining facts, of missing facts, and of changes of each kind.

        ``split`` is counted only if a cell was split.
        """
        split = self.changes.filter(change="split").height
        kinds = ("renamed", *(["split"] if split else []), "left out", "set apart", "to decide")
        return {"facts": self.facts.height, "missing": self.missing.height} | {
            kind: self.changes.filter(change=kind).height for kind in kinds
        }


def mend(knowledge: Knowledge, *, near: bool = False) -> Mended:
    r"""Repair names, merge spellings, remove duplicates, and set doubtful facts apart.

    Broken names have a character reference (``&amp;``), markup or quotes around them; cells
    with several values are split where each part is a name elsewhere; dates become
    ``YYYY-MM-DD`` where others of the relation are written so and the day is certain
    (:mod:`inweights.audit.repairs`).

    Of several spellings the one that most facts use is kept. Set apart are facts about a name
    that stands for nothing (``n/a``), and all values of a subject that has several dates or
    numbers, or several values of a relation where nine in ten subjects have one.

    Args:
        knowledge: The facts.
        near: Whether to rename near spellings, too
            (:func:`~inweights.audit.near.near_spellings`), where the facts speak for it.

    Returns:
        The remaining facts, those set apart, all changes, and missing facts.

    Example:
        >>> import tempfile
        >>> from inweights.worlds import read_knowledge
        >>> path = Path(tempfile.mkdtemp()) / "facts.csv"
        >>> _ = path.write_text("Ann,in,São Paulo\nBob,in,Sao Paulo\nCid,in,São Paulo\n")
        >>> mend(read_knowledge(path)).facts["object"].to_list()
        ['São Paulo', 'São Paulo', 'São Paulo']
    """
    facts, changes = repaired_facts(knowledge)
    changes += [
        (remark.lines[1], "left out", remark.text.split(": ", 1)[1], "",
         f"repeats line {remark.lines[0]}")
        for remark in facts.remarks if remark.kind == "duplicate"
    ]  # fmt: skip
    triples = facts.triples.copy()
    for columns, names in (((0, 2), facts.entities), ((1,), facts.relations)):
        new, renamed = _joined(names, facts.triples[:, columns], facts.lines)
        triples[:, columns] = new[triples[:, columns]]
        changes += [(line, "renamed", old, name, f"they {_SPELT}") for line, old, name in renamed]
    triples = _renamed(facts, triples, near, changes)
    _, first, place = np.unique(triples, axis=0, return_index=True, return_inverse=True)
    # The first that says it is kept, whichever line number the others have.
    kept = first[place.reshape(-1)] == np.arange(len(triples))
    for i in np.flatnonzero(~kept).tolist():
        earlier = int(facts.lines[first[place.reshape(-1)[i]]])
        text = f"repeats line {earlier}, with the corrected names"
        changes.append((int(facts.lines[i]), "left out", ", ".join(facts.names(i)), "", text))
    why = {
        i: "a placeholder instead of a name"
        for i in np.flatnonzero(kept).tolist()
        if any(is_nothing(facts.entities[triples[i, k]]) for k in (0, 2))
    }
    before = -1
    while before < len(why):  # without one contradiction another may stand out
        before = len(why)
        rows = np.setdiff1d(np.flatnonzero(kept), list(why))
        for found in contradictions(facts.entities, triples[rows]):
            if found.sure:
                values = ", ".join(facts.entities[o] for o in triples[rows[found.rows], 2].tolist())
                text = f"{len(found.rows)} values ({values}) where nearly all others have one"
                why |= dict.fromkeys(rows[found.rows].tolist(), text)
    rows = np.setdiff1d(np.flatnonzero(kept), list(why))
    changes += _undecided(facts, triples, rows)
    table = pl.DataFrame(
        {
            "line": facts.lines,
            "subject": [facts.entities[i] for i in triples[:, 0].tolist()],
            "relation": [facts.relations[i] for i in triples[:, 1].tolist()],
            "object": [facts.entities[i] for i in triples[:, 2].tolist()],
            "stage": facts.stages,
        }
    )
    apart = table[sorted(why)].with_columns(why=pl.Series([why[i] for i in sorted(why)]))
    for line, s, r, o, _, text in apart.iter_rows():
        changes.append((line, "set apart", f"{s}, {r}, {o}", "", text))
    left = kept.copy()
    left[sorted(why)] = False
    changes.sort(key=lambda change: change[0])
    return Mended(
        table.filter(pl.Series(left)), apart,
        pl.DataFrame(changes, schema=_CHANGES, orient="row"),
        _missing(facts, triples[left], facts.lines[left]),
    )  # fmt: skip


def _renamed(
    facts: Knowledge, triples: Ids, near: bool, changes: list[tuple[int, str, str, str, str]]
) -> Ids:
    """The facts with near spellings renamed, or each as a change to decide."""
    new = np.arange(len(facts.entities))
    for found in near_spellings(facts.entities, triples):
        name, other = facts.entities[found.name], facts.entities[found.other]
        line = int(facts.lines[(triples[:, [0, 2]] == found.name).any(1)].min())
        change = "renamed" if near and found.sure else "to decide"
        changes.append((line, change, name, other, f"{found.why}, maybe one name"))
        if change == "renamed":
            new[found.name] = found.other
    renamed = triples.copy()
    renamed[:, [0, 2]] = new[new[triples[:, [0, 2]]]]
    return renamed


def _undecided(
    facts: Knowledge, triples: Ids, rows: Ids
) -> Iterator[tuple[int, str, str, str, str]]:
    """Second values that stay, as too few others have one to be sure."""
    for found in contradictions(facts.entities, triples[rows]):
        values = ", ".join(facts.entities[o] for o in triples[rows[found.rows], 2].tolist())
        said = f"{facts.entities[found.subject]}, {facts.relations[found.relation]}"
        why = f"{len(found.rows)} values ({values}) where most others have one"
        for i in rows[found.rows].tolist():
            before = f"{said}, {facts.entities[triples[i, 2]]}"
            yield int(facts.lines[i]), "to decide", before, "", why


def _missing(facts: Knowledge, triples: Ids, lines: Ids) -> pl.DataFrame:
    """Facts that a symmetric relation or an inverse lacks."""
    rows = [
        (facts.entities[s], facts.relations[r], facts.entities[o],
         f"{facts.relations[int(triples[i, 1])]} in line {int(lines[i])}, turned")
        for (s, r, o), i in missing_rows(triples)
    ]  # fmt: skip
    schema = dict.fromkeys(("subject", "relation", "object", "why"), pl.String)
    return pl.DataFrame(rows, schema=schema, orient="row")


def write_mended(mended: Mended, folder: str | Path) -> Path:
    """Write the four tables of a corrected set of facts as CSV, to a new folder.

    Args:
        mended: Result of :func:`mend`.
        folder: Folder to write.

    Returns:
        The path of ``facts.csv``.

    Raises:
        DataError: The folder exists already, or cannot be written.
    """
    staged = bool((mended.facts["stage"] != 0).any())
    columns = ["subject", "relation", "object", *(["stage"] if staged else [])]
    with new_folder(folder) as work:
        mended.facts.select(columns).write_csv(work / "facts.csv")
        mended.apart.select("line", *columns, "why").write_csv(work / "set_apart.csv")
        mended.changes.write_csv(work / "changes.csv")
        mended.missing.write_csv(work / "missing.csv")
    return Path(folder) / "facts.csv"


def _joined(names: Sequence[str], used: Ids, lines: Ids) -> tuple[Ids, list[tuple[int, str, str]]]:
    """The new number of each name, and the line, old and new name of each that has another."""
    uses = np.bincount(used.ravel(), minlength=len(names))
    first = np.full(len(names), np.iinfo(np.int64).max)
    for column in used.T:
        np.minimum.at(first, column, lines)
    new, renamed = np.arange(len(names)), []
    for members in alias_groups(names):
        best = max(members, key=lambda i: (uses[i], -i))
        new[members] = best
        renamed += [(int(first[i]), names[i], names[best]) for i in members if i != best]
    return new, renamed
