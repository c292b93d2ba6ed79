"""Triples from files: ``subject, relation, object``, with the line that each came from.

CSV, TSV (the delimiter and a header are recognised), JSONL, Parquet, a dataset folder, and the
published sets TwoHopFact, SOCRATES and MQuAKE; Wikidata, RDF, graphs, databases, and the hub.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl

from inweights.errors import DataError, check_names
from inweights.support.limits import MAX_ROWS, check_name
from inweights.worlds.knowledge.files import Source, read_rows
from inweights.worlds.knowledge.remarks import remarks_on
from inweights.worlds.parts import whole_components
from inweights.worlds.readers.arrange import Layout, parse_columns
from inweights.worlds.readers.databases import is_database
from inweights.worlds.readers.hub import is_hub_name
from inweights.worlds.readers.labels import read_labels
from inweights.worlds.readers.remark import Remark
from inweights.worlds.world import Ids

__all__ = ["Knowledge", "Remark", "is_source", "read_knowledge"]

_OWN = Path(__file__).parents[1] / "facts"


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Triples in columns; a triple that was written twice is there once.

    Attributes:
        entities: Names of all subjects and objects.
        relations: Names of all relations.
        triples: Subject, relation and object of each triple, as indices, ``[M, 3]``.
        lines: Line of the file that each came from, ``[M]``.
        stages: Stage of training of each, 0 where the file has none, ``[M]``.
        remarks: Duplicates, contradictions, blanks, aliases, one-sided entities and inverse
            relations.
        aliases: Other names of entities, where the file gives any.
        templates: Words of relations, where the file gives any, as :class:`.Wording` takes them.
        reading: How the file was read: header, order of columns, delimiter, what was left out.
            Those that are not ``sure`` were guessed.
    """

    entities: tuple[str, ...]
    relations: tuple[str, ...]
    triples: Ids
    lines: Ids
    stages: Ids
    remarks: tuple[Remark, ...] = field(default=())
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    templates: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    reading: tuple[Remark, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.triples)

    def names(self, index: int) -> tuple[str, str, str]:
        """Subject, relation and object of a triple, by name."""
        s, r, o = self.triples[index].tolist()
        return self.entities[s], self.relations[r], self.entities[o]

    def take(self, facts: Ids) -> Self:
        """Return some of the facts, by number, with their entities alone and all relations."""
        triples = self.triples[facts]
        ends, place = np.unique(triples[:, [0, 2]], return_inverse=True)
        triples[:, [0, 2]] = place.reshape(-1, 2)
        return replace(
            self,
            entities=tuple(self.entities[i] for i in ends.tolist()),
            triples=triples,
            lines=self.lines[facts],
            stages=self.stages[facts],
        )

    def part(self, most: int) -> Ids:
        """Return the indices of a limited number of facts, in whole components if one fits.

        Example:
            >>> facts = read_knowledge("@people")
            >>> len(facts.take(facts.part(40)))
            39
        """
        rows = np.arange(len(self))
        kept = whole_components(
            np.concatenate([rows, rows]), self.triples[:, [0, 2]].T.ravel(), total=len(self),
            most=most,
        )  # fmt: skip
        return np.flatnonzero(kept)

    def frame(self) -> pl.DataFrame:
        """All triples as a table: ``fact, line, stage, subject, relation, object``."""
        subject, relation, thing = self.triples.T
        entities, relations = pl.Series(self.entities), pl.Series(self.relations)
        return pl.DataFrame(
            {
                "fact": np.arange(len(self)),
                "line": self.lines,
                "stage": self.stages,
                "subject": entities.gather(subject),
                "relation": relations.gather(relation),
                "object": entities.gather(thing),
            }
        )


def read_knowledge(
    path: str | Path,
    *,
    edited: bool = False,
    query: str = "",
    download: bool = False,
    header: bool | None = None,
    columns: str = "",
    wide: bool = False,
    labels: str | Path = "",
) -> Knowledge:
    """Read triples from a file, a database or a data set of the hub.

    What had to be guessed about the file is in :attr:`Knowledge.reading`.

    Args:
        path: A CSV or TSV file with three columns (with or without a header; a column ``stage`` is
            read too), a JSONL or JSON file of objects or lists, Parquet, a folder that
            :meth:`datasets.Dataset.save_to_disk` wrote or that holds Parquet files, or one of the
            published files of TwoHopFact, SOCRATES, MQuAKE and CounterFact; JSON of Wikidata;
            Turtle, N-Triples, TriG, N-Quads or JSON-LD; GraphML, GEXF or GML; exports of Neo4j;
            ``sqlite:///facts.db``, or another address that SQLAlchemy knows; the name of a data set
            of the Hugging Face hub. ``@people`` and ``@chemistry`` are small sets of real facts
            that come with the package.
        edited: Facts after the edits, where the file is MQuAKE or CounterFact; else those before.
        query: What to ask of a database: rows of a subject, a relation and an object.
        download: Whether a data set of the hub may be fetched.
        header: Whether the first row of delimited text is a header; by default that is decided by
            its words and by what stands below, or refused.
        columns: The columns of subject, relation and object, in this order, by name or by number
            from 1, with commas between: ``"head,relation,tail"`` or ``"1,3,2"``. By default those
            that a header or their content shows.
        wide: Whether each column is a relation of what the first column names (or the one that
            ``columns`` names); empty cells are left out.
        labels: A file of ids and labels; names that are ids there are replaced.

    Raises:
        ConfigError: A query is missing or out of place, a package is not installed, or fetching is
            not allowed.
        UnclearHeaderError: The first row may be a header or a fact.
        DataError: The file is missing, empty or damaged; names the line.

    Example:
        >>> facts = read_knowledge("@people")
        >>> len(facts), facts.relations, facts.names(0)
        (90, ('born_in', 'country', 'currency'), ('Mozart', 'born_in', 'Salzburg'))
    """
    reading: list[Remark] = []
    source = Source(
        name=_find(str(path)),
        layout=Layout(header, parse_columns(columns), wide),
        remarks=reading,
        edited=edited,
        query=query,
        download=download,
    )
    called = _Labels(labels) if labels else None
    first: dict[tuple[str, str, str], tuple[int, int]] = {}
    repeated: list[Remark] = []
    aliases: dict[str, dict[str, None]] = {}
    templates: dict[str, dict[str, None]] = {}
    for line, fact, stage, chain in read_rows(source):
        triple = called.of(fact.triple) if called else fact.triple
        for name in triple:
            check_name(name, f"{path}, line {line}")
        if len(first) == MAX_ROWS:
            raise DataError(f"{path} has more than {MAX_ROWS:,} facts, the limit")
        if fact.template:
            templates.setdefault(triple[1], {})[fact.template] = None
        if fact.aliases:
            aliases.setdefault(triple[2], {}).update(dict.fromkeys(fact.aliases))
        if triple not in first:
            first[triple] = line, stage
        elif not chain:  # sets of chains repeat the facts that chains share
            before = first[triple][0]
            text = f"line {line} repeats line {before}: {', '.join(triple)}"
            repeated.append(Remark("duplicate", (before, line), text))
    if not first:
        raise DataError(f"{path} contains no facts; expected lines 'subject,relation,object'")
    if called:
        reading.append(called.remark(path))
    facts = Knowledge(
        **numbered(first),
        lines=np.array([line for line, _ in first.values()]),
        stages=np.array([stage for _, stage in first.values()]),
        aliases={name: tuple(others) for name, others in aliases.items()},
        templates={name: tuple(texts) for name, texts in templates.items()},
        reading=tuple(reading),
    )
    remarks = remarks_on(facts.entities, facts.relations, facts.triples, facts.lines, facts.aliases)
    return replace(facts, remarks=(*repeated, *remarks))


class _Labels:
    """Names of ids, and which ids were met."""

    def __init__(self, file: str | Path) -> None:
        self.file, self.names = file, read_labels(file)
        self.met: set[str] = set()
        self.lacking: dict[str, None] = {}

    def of(self, triple: tuple[str, str, str]) -> tuple[str, str, str]:
        s, r, o = map(self._of, triple)
        return s, r, o

    def _of(self, name: str) -> str:
        # What stands for an id in an address: the end of http://www.wikidata.org/entity/Q142.
        for key in (name, name.rstrip(">/").rsplit("/", 1)[-1]):
            if key in self.names:
                self.met.add(key)
                return self.names[key]
        self.lacking[name] = None
        return name

    def remark(self, path: str | Path) -> Remark:
        if not self.met:
            some = ", ".join(list(self.lacking)[:3])
            raise DataError(f"no name of {path} ({some}, …) is an id in {self.file}")
        text = f"{len(self.met)} ids are replaced by their labels in {self.file}"
        if self.lacking:
            some = ", ".join(list(self.lacking)[:3])
            text += f"; {len(self.lacking)} names have none there, such as {some}"
        return Remark("labels", (), text, sure=not self.lacking)


def numbered(triples: Iterable[tuple[str, str, str]]) -> dict[str, Any]:
    """Return names in the order that they come in, and the triples as their numbers.

    Args:
        triples: Subject, relation and object of each, by name.
    """
    found = list(triples)
    entities = dict.fromkeys(name for s, _, o in found for name in (s, o))
    relations = dict.fromkeys(r for _, r, _ in found)
    number = {name: i for i, name in enumerate(entities)}
    place = {name: i for i, name in enumerate(relations)}
    rows = np.array([[number[s], place[r], number[o]] for s, r, o in found])
    return {"entities": tuple(entities), "relations": tuple(relations), "triples": rows}


def is_source(name: str) -> bool:
    """Whether facts can be read from a name: no folder, which may hold a world."""
    if name.startswith("@") or is_database(name) or Path(name).is_file():
        return True
    return is_hub_name(name) and not Path(name).exists()


def _find(name: str) -> str | Path:
    """The source itself, or the package's own set of facts."""
    if not name.startswith("@"):
        return name
    own = {f"@{path.stem}": path for path in sorted(_OWN.glob("*.csv"))}
    check_names("set of facts", [name], own, error=DataError)
    return own[name]
