"""Triples from files: ``subject, relation, object``, with the line that each came from.

CSV, TSV (the delimiter and a header are recognised), JSONL and Parquet.
"""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np
import polars as pl

from inweights.errors import DataError, unknown_name
from inweights.worlds.world import Ids

__all__ = ["Knowledge", "Remark", "read_knowledge"]

_COLUMNS = (
    ("subject", "head", "source", "s", "h"),
    ("relation", "predicate", "property", "r", "p"),
    ("object", "tail", "target", "o", "t"),
)
_STAGE = ("stage", "phase")
_OWN = Path(__file__).with_name("facts")
#: A relation has one value a subject, as a rule, when at least this share of its subjects has one.
_FUNCTIONAL = 0.9
#: Two relations are inverses when this share of the triples of each is in the other, turned.
_INVERSE = 0.8


class Remark(msgspec.Struct, frozen=True):
    """Something about a file that its owner should know.

    Attributes:
        kind: ``duplicate``, ``contradiction``, ``alias`` or ``inverse``.
        lines: Lines of the file that it is about; empty where it is about the whole.
        text: What it is, in a sentence.
    """

    kind: str
    lines: tuple[int, ...]
    text: str


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Triples in columns; a triple that was written twice is there once.

    Attributes:
        entities: Names of all subjects and objects.
        relations: Names of all relations.
        triples: Subject, relation and object of each triple, as indices, ``[M, 3]``.
        lines: Line of the file that each came from, ``[M]``.
        stages: Stage of training of each, 0 where the file has none, ``[M]``.
        remarks: Duplicates, contradictions, aliases and inverse relations.
    """

    entities: tuple[str, ...]
    relations: tuple[str, ...]
    triples: Ids
    lines: Ids
    stages: Ids
    remarks: tuple[Remark, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.triples)

    def names(self, index: int) -> tuple[str, str, str]:
        """Subject, relation and object of a triple, by name."""
        s, r, o = self.triples[index].tolist()
        return self.entities[s], self.relations[r], self.entities[o]

    def frame(self) -> pl.DataFrame:
        """All triples as a table: ``fact, line, stage, subject, relation, object``."""
        subject, relation, thing = self.triples.T
        entities, relations = np.array(self.entities), np.array(self.relations)
        return pl.DataFrame(
            {
                "fact": np.arange(len(self)),
                "line": self.lines,
                "stage": self.stages,
                "subject": entities[subject],
                "relation": relations[relation],
                "object": entities[thing],
            }
        )


def read_knowledge(path: str | Path) -> Knowledge:
    """Read triples from a file.

    Args:
        path: A CSV or TSV file with three columns (with or without a header; a column ``stage`` is
            read too), a JSONL file of objects, or Parquet. ``@people`` and ``@chemistry`` are small
            sets of real facts that come with the package.

    Raises:
        DataError: The file is missing, empty or damaged; names the line.

    Example:
        >>> facts = read_knowledge("@people")
        >>> len(facts), facts.relations, facts.names(0)
        (90, ('born_in', 'country', 'currency'), ('Mozart', 'born_in', 'Salzburg'))
    """
    found = _find(str(path))
    rows = list(_read(found))
    if not rows:
        raise DataError(f"{path} holds no facts; a line is 'subject,relation,object'")
    first: dict[tuple[str, str, str], int] = {}
    kept: list[tuple[tuple[str, str, str], int, int]] = []
    repeated: list[Remark] = []
    for line, triple, stage in rows:
        if triple in first:
            text = f"line {line} repeats line {first[triple]}: {', '.join(triple)}"
            repeated.append(Remark("duplicate", (first[triple], line), text))
        else:
            first[triple] = line
            kept.append((triple, line, stage))
    entities = list(dict.fromkeys(x for (s, _, o), _, _ in kept for x in (s, o)))
    relations = list(dict.fromkeys(r for (_, r, _), _, _ in kept))
    number = {name: i for i, name in enumerate(entities)}
    place = {name: i for i, name in enumerate(relations)}
    made = Knowledge(
        entities=tuple(entities),
        relations=tuple(relations),
        triples=np.array([[number[s], place[r], number[o]] for (s, r, o), _, _ in kept]),
        lines=np.array([line for _, line, _ in kept]),
        stages=np.array([stage for _, _, stage in kept]),
    )
    remarks = (*repeated, *_contradictions(made), *_aliases(made), *_inverses(made))
    return Knowledge(made.entities, made.relations, made.triples, made.lines, made.stages, remarks)


def _find(name: str) -> Path:
    """The file itself, or the package's own set of facts."""
    if not name.startswith("@"):
        return Path(name)
    own = {f"@{path.stem}": path for path in sorted(_OWN.glob("*.csv"))}
    if name not in own:
        raise unknown_name("set of facts", name, own, error=DataError)
    return own[name]


def _read(path: Path) -> Iterator[tuple[int, tuple[str, str, str], int]]:
    """Line, triple and stage of every fact."""
    if not path.is_file():
        raise DataError(f"there is no file {path}; facts come from CSV, TSV, JSONL or Parquet")
    for number, fields, stage in _fields(path):
        if len(fields) != 3 or not all(field.strip() for field in fields):
            raise DataError(
                f"{path}, line {number}: {len(fields)} field(s) {fields}; expected three that are "
                "not blank: subject, relation, object"
            )
        subject, relation, thing = (field.strip() for field in fields)
        if not re.fullmatch(r"\d{1,4}|", stage.strip()):
            raise DataError(f"{path}, line {number}: the stage is a whole number, not '{stage}'")
        yield number, (subject, relation, thing), int(stage.strip() or 0)


def _fields(path: Path) -> Iterator[tuple[int, list[str], str]]:
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        try:
            table = pl.read_parquet(path)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise DataError(f"{path} is no Parquet file: {error}") from None
        places = _places([name.lower() for name in table.columns])
        if places is None:
            raise DataError(
                f"{path} has columns {table.columns}; expected subject, relation and object"
            )
        for number, row in enumerate(table.iter_rows(), start=1):
            yield number, *_pick(["" if cell is None else str(cell) for cell in row], places)
        return
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text ({error.reason}); save it as UTF-8") from None
    yield from _objects(path, lines) if suffix in (".jsonl", ".ndjson") else _cells(lines)


def _cells(lines: list[str]) -> Iterator[tuple[int, list[str], str]]:
    """Cells of every line, with its number; a header and empty lines are left out."""
    first = next((line for line in lines if line.strip()), "")
    delimiter = max("\t;,", key=first.count)
    places: dict[str, int] | None = None
    head = True
    for number, cells in enumerate(csv.reader(lines, delimiter=delimiter), start=1):
        if not any(cell.strip() for cell in cells):
            continue
        if head:
            head = False
            places = _places([cell.strip().lower() for cell in cells])
            if places is not None:
                continue
        yield (number, cells, "") if places is None else (number, *_pick(cells, places))


def _objects(path: Path, lines: list[str]) -> Iterator[tuple[int, list[str], str]]:
    """The fields of every object, with its line."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = msgspec.json.decode(line, type=dict[str, str | int | float | None])
        except msgspec.DecodeError as error:
            raise DataError(f"{path}, line {number}: not a JSON object ({error})") from None
        lower = {key.lower(): "" if v is None else str(v) for key, v in record.items()}
        fields = [next((lower[n] for n in names if n in lower), "") for names in _COLUMNS]
        yield number, fields, next((lower[n] for n in _STAGE if n in lower), "")


def _places(names: Sequence[str]) -> dict[str, int] | None:
    """Where a header puts each column; none if it is no header."""
    found = {
        known[0]: names.index(name)
        for known in (*_COLUMNS, _STAGE)
        for name in known
        if name in names
    }
    return found if {"subject", "relation", "object"} <= set(found) else None


def _pick(cells: list[str], places: dict[str, int]) -> tuple[list[str], str]:
    """The three fields in order, and the stage."""
    if len(cells) <= max(places[k] for k in ("subject", "relation", "object")):
        return cells, ""
    stage = places.get("stage", len(cells))
    fields = [cells[places[name]] for name in ("subject", "relation", "object")]
    return fields, cells[stage] if stage < len(cells) else ""


def _contradictions(facts: Knowledge) -> Iterator[Remark]:
    """Second values of relations that have one value a subject, as a rule."""
    for relation, name in enumerate(facts.relations):
        rows = np.flatnonzero(facts.triples[:, 1] == relation)
        subjects, starts, counts = np.unique(
            facts.triples[rows, 0], return_inverse=True, return_counts=True
        )
        if len(subjects) < 3 or (counts == 1).mean() < _FUNCTIONAL:
            continue
        for k in np.flatnonzero(counts > 1).tolist():
            same = rows[starts == k]
            values = [facts.entities[o] for o in facts.triples[same, 2]]
            lines = tuple(facts.lines[same].tolist())
            yield Remark(
                "contradiction",
                lines,
                f"lines {', '.join(map(str, lines))}: {facts.entities[subjects[k]]} has "
                f"{len(values)} values of {name} ({', '.join(values)}); nearly all others have one",
            )


def _aliases(facts: Knowledge) -> Iterator[Remark]:
    """Names that differ only in case, accents, spaces or punctuation."""
    same: dict[str, list[str]] = {}
    for name in facts.entities:
        plain = unicodedata.normalize("NFKD", name.casefold())
        key = re.sub(r"[\W_]+", "", "".join(c for c in plain if not unicodedata.combining(c)))
        same.setdefault(key or name, []).append(name)
    for names in same.values():
        if len(names) > 1:
            listed = ", ".join(f"'{name}'" for name in names)
            yield Remark("alias", (), f"{listed} may be one entity; give it one name")


def _inverses(facts: Knowledge) -> Iterator[Remark]:
    """Pairs of relations that say the same, turned round."""
    pairs = [
        {(int(s), int(o)) for s, _, o in facts.triples[facts.triples[:, 1] == r]}
        for r in range(len(facts.relations))
    ]
    for a in range(len(pairs)):
        turned = {(o, s) for s, o in pairs[a]}
        for b in range(a, len(pairs)):
            both = len(turned & pairs[b])
            if both and both >= _INVERSE * max(len(pairs[a]), len(pairs[b])):
                one, other = facts.relations[a], facts.relations[b]
                text = (
                    f"{one} is symmetric: {both} triples are there both ways"
                    if a == b
                    else f"{one} and {other} are inverses: {both} triples say the same, turned"
                )
                yield Remark("inverse", (), text)
