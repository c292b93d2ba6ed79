"""Write a corrected copy of a set of facts, with a list of all changes.

:func:`mend` makes only corrections that need no knowledge of the world. It unifies the
spellings of a name, removes repeated facts, and sets apart facts that cannot be right,
for their owner to decide. :func:`write_mended` writes the result; ``inweights audit
--fix`` calls both.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from inweights.audit.correction.near import missing_rows, near_spellings
from inweights.audit.correction.repairs import Change, repaired_facts
from inweights.worlds.arrays import Bools
from inweights.worlds.knowledge.checks.names import alias_groups, is_nothing
from inweights.worlds.knowledge.checks.remarks import contradictions
from inweights.worlds.knowledge.knowledge import Knowledge
from inweights.worlds.readers.new_folder import new_folder
from inweights.worlds.world import Ids

_CHANGES: dict[str, Any] = {
    "line": pl.Int64,
    "change": pl.String,
    "before": pl.String,
    "after": pl.String,
    "why": pl.String,
}
_SPELT = "differ in case, accents, spaces or punctuation only"


@dataclass(frozen=True, eq=False)
class Mended:
    """Result of :func:`mend`.

    Attributes:
        facts: One row per remaining fact, in the order of the file: ``line`` (in the
            file), ``subject``, ``relation``, ``object``, ``stage`` (of the curriculum).
        apart: One row per fact set apart, with the same columns and ``why`` (a reason).
        changes: One row per change, sorted by line: ``line``, ``change`` (``renamed``,
            ``split``, ``left out``, ``set apart`` or ``to decide``), ``before``,
            ``after`` (texts; ``after`` is empty if nothing replaces the old text),
            ``why`` (the reason). Rows with ``to decide`` are not changes, but similar
            spellings, uncertain dates, and several values of a single-valued relation.
        missing: One row per fact that a symmetric or inverse relation implies, but that
            the file does not state: ``subject``, ``relation``, ``object``, ``why`` (the
            reason). Such facts are proposals; ``facts`` does not contain them.
    """

    facts: pl.DataFrame
    apart: pl.DataFrame
    changes: pl.DataFrame
    missing: pl.DataFrame

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of remaining facts, of missing facts, and of changes of each kind.

        The keys are ``facts`` (remaining facts), ``missing``, ``renamed``, ``left
        out``, ``set apart``, ``to decide``, and ``split`` if a cell was split.
        """
        counts = {"facts": self.facts.height, "missing": self.missing.height}
        for kind in ("renamed", "split", "left out", "set apart", "to decide"):
            count = self.changes.filter(change=kind).height
            if count or kind != "split":
                counts[kind] = count
        return counts


def mend(knowledge: Knowledge, *, near: bool = False) -> Mended:
    r"""Repair names, unify spellings, remove duplicates, and set doubtful facts apart.

    Names with a character reference (``&amp;``), markup or enclosing quotes are
    repaired. A cell with several values is split if each part also occurs as a name of
    its own. A date with an unambiguous day is rewritten as ``YYYY-MM-DD`` if other
    values of the relation have this format (:mod:`inweights.audit.correction.repairs`).

    If a name has several spellings, the most frequent one is used. Two kinds of facts
    are set apart: facts with a placeholder such as ``n/a``, and contradictory facts.
    Facts contradict each other if a subject has several values of a relation for which
    at least nine in ten subjects have one value. If the values are dates or numbers,
    all other subjects must have one value.

    Args:
        knowledge: The facts.
        near: Whether to also unify similar spellings that
            :func:`~inweights.audit.correction.near.near_spellings` marks as ``sure``.
            By default (false), similar spellings are only listed.

    Returns:
        The remaining facts (``facts``), the facts set apart (``apart``), all
        ``changes``, and ``missing`` facts, which symmetric and inverse relations imply.

    Example:
        >>> import tempfile
        >>> from inweights.worlds import read_knowledge
        >>> path = Path(tempfile.mkdtemp()) / "facts.csv"
        >>> _ = path.write_text("Ann,in,São Paulo\nBob,in,Sao Paulo\nCid,in,São Paulo\n")
        >>> mend(read_knowledge(path)).facts["object"].to_list()
        ['São Paulo', 'São Paulo', 'São Paulo']
    """
    facts, changes = repaired_facts(knowledge)
    changes += _stated_again(facts)
    triples = _join_spellings(facts, changes)
    triples = _rename_near(facts, triples, near, changes)
    first = _first_statements(triples)
    # Of several lines that state the same fact, the first one is kept.
    kept = first == np.arange(len(triples))
    changes += _repeated(facts, first, kept)
    reasons = _reasons_apart(facts, triples, kept)
    left = kept.copy()
    left[sorted(reasons)] = False
    changes += _undecided(facts, triples, np.flatnonzero(left))
    table = _as_table(facts, triples)
    texts = [reasons[row] for row in sorted(reasons)]
    apart = table[sorted(reasons)].with_columns(why=pl.Series(texts))
    for line, s, r, o, _, text in apart.iter_rows():
        changes.append((line, "set apart", f"{s}, {r}, {o}", "", text))
    # The sort is stable: changes of one line stay in the order in which they were made.
    changes.sort(key=lambda change: change[0])
    return Mended(
        facts=table.filter(pl.Series(left)),
        apart=apart,
        changes=pl.DataFrame(changes, schema=_CHANGES, orient="row"),
        missing=_missing(facts, triples[left], facts.lines[left]),
    )


def _stated_again(facts: Knowledge) -> Iterator[Change]:
    """Yield a change for each duplicate that was removed when the file was read."""
    for remark in facts.remarks:
        if remark.kind == "duplicate":
            _, statement = remark.text.split(": ", 1)
            earlier, line = remark.lines[:2]
            yield line, "left out", statement, "", f"repeats line {earlier}"


def _join_spellings(facts: Knowledge, changes: list[Change]) -> Ids:
    """Return the facts with one spelling for names that differ only in case or punctuation."""
    triples = facts.triples.copy()
    for columns, names in (((0, 2), facts.entities), ((1,), facts.relations)):
        new, renamed = _joined(names, facts.triples[:, columns], facts.lines)
        triples[:, columns] = new[triples[:, columns]]
        changes += [
            (line, "renamed", old, name, f"they {_SPELT}")
            for line, old, name in renamed
        ]
    return triples


def _first_statements(triples: Ids) -> Ids:
    """Return, for each of ``M`` facts, the index of the first identical fact, ``[M]``."""
    _, first, place = np.unique(triples, axis=0, return_index=True, return_inverse=True)
    return np.asarray(first[place.reshape(-1)])


def _repeated(facts: Knowledge, first: Ids, kept: Bools) -> Iterator[Change]:
    """Yield a change for each fact that repeats another one after names were corrected."""
    for i in np.flatnonzero(~kept).tolist():
        why = f"repeats line {int(facts.lines[first[i]])}, with the corrected names"
        yield int(facts.lines[i]), "left out", ", ".join(facts.names(i)), "", why


def _reasons_apart(facts: Knowledge, triples: Ids, kept: Bools) -> dict[int, str]:
    """Return the reason for each fact that is set apart, by the index of the fact."""
    reasons: dict[int, str] = {}
    for i in np.flatnonzero(kept).tolist():
        subject, _, value = triples[i].tolist()
        if is_nothing(facts.entities[subject]) or is_nothing(facts.entities[value]):
            reasons[i] = "a placeholder instead of a name"
    before = -1
    while before < len(reasons):  # removing one contradiction may reveal another
        before = len(reasons)
        rows = np.setdiff1d(np.flatnonzero(kept), list(reasons))
        for found in contradictions(facts.entities, triples[rows]):
            if found.sure:
                several = _values(facts, triples[rows[found.rows]])
                text = f"{several}; nearly all other subjects have one"
                reasons |= dict.fromkeys(rows[found.rows].tolist(), text)
    return reasons


def _values(facts: Knowledge, triples: Ids) -> str:
    """Return the number of facts, and the names of their objects, as a phrase."""
    names = ", ".join(facts.entities[o] for o in triples[:, 2].tolist())
    return f"{len(triples)} values ({names})"


def _as_table(facts: Knowledge, triples: Ids) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "line": facts.lines,
            "subject": [facts.entities[i] for i in triples[:, 0].tolist()],
            "relation": [facts.relations[i] for i in triples[:, 1].tolist()],
            "object": [facts.entities[i] for i in triples[:, 2].tolist()],
            "stage": facts.stages,
        }
    )


def _rename_near(
    facts: Knowledge, triples: Ids, near: bool, changes: list[Change]
) -> Ids:
    """Return the facts with similar spellings unified, and append each pair to the changes."""
    new = np.arange(len(facts.entities))
    for found in near_spellings(facts.entities, triples):
        name = facts.entities[found.name]
        other = facts.entities[found.other]
        named = (triples[:, [0, 2]] == found.name).any(1)
        # The change refers to the first line that contains the name.
        line = int(facts.lines[named].min())
        change = "renamed" if near and found.sure else "to decide"
        changes.append((line, change, name, other, f"{found.why}, maybe one name"))
        if change == "renamed":
            new[found.name] = found.other
    renamed = triples.copy()
    # Applied twice, because the replacement may itself have been replaced.
    renamed[:, [0, 2]] = new[new[triples[:, [0, 2]]]]
    return renamed


def _undecided(facts: Knowledge, triples: Ids, rows: Ids) -> Iterator[Change]:
    """Yield contradictory values that are kept because the evidence against them is too weak."""
    for found in contradictions(facts.entities, triples[rows]):
        several = _values(facts, triples[rows[found.rows]])
        said = f"{facts.entities[found.subject]}, {facts.relations[found.relation]}"
        for i in rows[found.rows].tolist():
            before = f"{said}, {facts.entities[triples[i, 2]]}"
            why = f"{several}; most other subjects have one"
            yield int(facts.lines[i]), "to decide", before, "", why


def _missing(facts: Knowledge, triples: Ids, lines: Ids) -> pl.DataFrame:
    """Return facts that symmetric or inverse relations imply, each with its premise."""
    rows = []
    for (s, r, o), i in missing_rows(triples):
        source = facts.relations[int(triples[i, 1])]
        why = f"reverse of {source} in line {int(lines[i])}"
        rows.append((facts.entities[s], facts.relations[r], facts.entities[o], why))
    schema = dict.fromkeys(("subject", "relation", "object", "why"), pl.String)
    return pl.DataFrame(rows, schema=schema, orient="row")


def write_mended(mended: Mended, folder: str | Path) -> Path:
    """Write the four tables of a corrected set of facts as CSV files to a new folder.

    The files are ``facts.csv``, ``set_apart.csv``, ``changes.csv`` and ``missing.csv``.
    The first two have a column ``stage`` only if a remaining fact is not in stage 0;
    ``facts.csv`` has no column ``line``.

    Args:
        mended: Result of :func:`mend`.
        folder: Folder to create. It must not exist yet; missing parents are created.

    Returns:
        The path of ``facts.csv``.

    Raises:
        DataError: The folder already exists, or cannot be written.
    """
    staged = bool((mended.facts["stage"] != 0).any())
    columns = ["subject", "relation", "object", *(["stage"] if staged else [])]
    with new_folder(folder) as work:
        mended.facts.select(columns).write_csv(work / "facts.csv")
        mended.apart.select("line", *columns, "why").write_csv(work / "set_apart.csv")
        mended.changes.write_csv(work / "changes.csv")
        mended.missing.write_csv(work / "missing.csv")
    return Path(folder) / "facts.csv"


def _joined(
    names: Sequence[str], used: Ids, lines: Ids
) -> tuple[Ids, list[tuple[int, str, str]]]:
    """Replace names that differ only in case or punctuation by the spelling that most facts use.

    Args:
        names: Names of all entities, or of all relations.
        used: Indices of the ``K`` names in each of ``M`` facts, ``[M, K]``.
        lines: Line of each fact, ``[M]``.

    Returns:
        Two values: the new index of each name; and the line, old name and new name of
        each name that changes.
    """
    uses = np.bincount(used.ravel(), minlength=len(names))
    first = np.full(len(names), np.iinfo(np.int64).max)
    for column in used.T:
        np.minimum.at(first, column, lines)
    new = np.arange(len(names))
    renamed = []
    for members in alias_groups(names):
        best = max(members, key=lambda i: (uses[i], -i))
        new[members] = best
        others = [i for i in members if i != best]
        renamed += [(int(first[i]), names[i], names[best]) for i in others]
    return new, renamed
