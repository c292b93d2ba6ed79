"""Triples from files: ``subject, relation, object``, with the line that each came from.

CSV, TSV (the delimiter and a header are recognised), JSONL, Parquet, a dataset folder, and the
published sets TwoHopFact, SOCRATES and MQuAKE; Wikidata, RDF, databases, and the hub.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl

from inweights.errors import DataError, check_names
from inweights.support.limits import MAX_ROWS, check_name
from inweights.worlds.knowledge.files import read_rows
from inweights.worlds.knowledge.remarks import Remark, remarks_on
from inweights.worlds.parts import whole_components
from inweights.worlds.readers.databases import is_database
from inweights.worlds.readers.hub import is_hub_name
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
    """

    entities: tuple[str, ...]
    relations: tuple[str, ...]
    triples: Ids
    lines: Ids
    stages: Ids
    remarks: tuple[Remark, ...] = field(default=())
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    templates: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

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
    path: str | Path, *, edited: bool = False, query: str = "", download: bool = False
) -> Knowledge:
    """Read triples from a file, a database or a data set of the hub.

    Args:
        path: A CSV or TSV file with three columns (with or without a header; a column ``stage`` is
            read too), a JSONL file of objects, Parquet, a folder that
            :meth:`datasets.Dataset.save_to_disk` wrote or that holds Parquet files, or one of the
            published files of TwoHopFact, SOCRATES and MQuAKE; JSON of Wikidata; Turtle or
            N-Triples; ``sqlite:///facts.db``, or another address that SQLAlchemy knows; the name
            of a data set of the Hugging Face hub. ``@people`` and ``@chemistry`` are small sets of
            real facts that come with the package.
        edited: Facts after the edits, where the file is MQuAKE; else those before.
        query: What to ask of a database: rows of a subject, a relation and an object.
        download: Whether a data set of the hub may be fetched.

    Raises:
        ConfigError: A query is missing or out of place, a package is not installed, or fetching is
            not allowed.
        DataError: The file is missing, empty or damaged; names the line.

    Example:
        >>> facts = read_knowledge("@people")
        >>> len(facts), facts.relations, facts.names(0)
        (90, ('born_in', 'country', 'currency'), ('Mozart', 'born_in', 'Salzburg'))
    """
    source = _find(str(path))
    first: dict[tuple[str, str, str], tuple[int, int]] = {}
    repeated: list[Remark] = []
    aliases: dict[str, dict[str, None]] = {}
    templates: dict[str, dict[str, None]] = {}
    for line, fact, stage, chain in read_rows(
        source, edited=edited, query=query, download=download
    ):
        triple = fact.triple
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
    facts = Knowledge(
        **_numbered(first),
        lines=np.array([line for line, _ in first.values()]),
        stages=np.array([stage for _, stage in first.values()]),
        aliases={name: tuple(others) for name, others in aliases.items()},
        templates={name: tuple(texts) for name, texts in templates.items()},
    )
    remarks = remarks_on(facts.entities, facts.relations, facts.triples, facts.lines, facts.aliases)
    return replace(facts, remarks=(*repeated, *remarks))


def _numbered(triples: Iterable[tuple[str, str, str]]) -> dict[str, Any]:
    """Names in the order that they come in, and the triples as their numbers."""
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
