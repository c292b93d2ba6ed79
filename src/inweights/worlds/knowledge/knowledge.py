"""Triples from any source: ``subject, relation, object``, each with its line in the file.

:func:`read_knowledge` reads CSV, TSV (delimiter and header are detected), JSONL,
Parquet, dataset folders, the published sets TwoHopFact, SOCRATES, MQuAKE and
CounterFact, Wikidata, RDF, graphs, databases and the hub into :class:`Knowledge`. An
audit examines them; ``triples`` builds a world from them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl

from inweights.errors import DataError, check_names
from inweights.support.limits import MAX_ROWS, check_name
from inweights.worlds.knowledge.checks.remarks import remarks_on
from inweights.worlds.knowledge.files import Source, read_rows
from inweights.worlds.knowledge.parts import whole_components
from inweights.worlds.readers.databases import is_database
from inweights.worlds.readers.hub import is_hub_name
from inweights.worlds.readers.labels import Labels
from inweights.worlds.readers.remark import Remark
from inweights.worlds.readers.tables.arrange import Layout, parse_columns
from inweights.worlds.world import Ids

__all__ = ["Knowledge", "Remark", "is_source", "read_knowledge"]

_OWN = Path(__file__).parents[1] / "facts"


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Triples as indices into lists of names, without repetitions.

    Attributes:
        entities: Names of all subjects and objects.
        relations: Names of all relations.
        triples: Subject, relation and object of each of ``M`` triples, as indices,
            ``[M, 3]``.
        lines: Line of the file from which each triple was first read, ``[M]``; for some
            sources, the number of its row, case or triple.
        stages: Training stage of each triple, 0 if the file has none, ``[M]``.
        remarks: Remarks on the facts, such as duplicates and contradictions
            (:class:`~inweights.worlds.readers.remark.Remark`).
        aliases: Dictionary that maps an entity to its other names; empty if the file
            contains none.
        templates: Dictionary that maps a relation to its sentence templates for
            :class:`.Wording`; empty if the file contains none.
        reading: Remarks on how the file was read: its header, the order of its columns,
            its delimiter, and what was left out. Remarks whose ``sure`` is False are
            guesses.
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
        """Return the names of subject, relation and object of the triple with the given index.

        Args:
            index: Index of the triple; a negative one counts from the end.

        Raises:
            IndexError: There is no such triple.
        """
        s, r, o = self.triples[index].tolist()
        return self.entities[s], self.relations[r], self.entities[o]

    def take(self, facts: Ids) -> Self:
        """Return a copy with only the facts of the given indices, and the entities in them.

        Entities are renumbered. Relations, remarks and all other fields are unchanged.

        Args:
            facts: Indices of the facts (NumPy), in the order of the result.
        """
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
        """Return the indices of at most ``most`` facts, in whole connected components if possible.

        Facts are connected if they share an entity.

        Args:
            most: Largest number of facts.

        Returns:
            The indices in ascending order (NumPy); :func:`.whole_components` explains
            which facts are chosen.

        Example:
            >>> facts = read_knowledge("@people")
            >>> len(facts.take(facts.part(40)))
            39
        """
        # Each fact connects two entities, and is listed with each of them.
        facts = np.tile(np.arange(len(self)), 2)
        ends = self.triples[:, [0, 2]].T.ravel()
        return np.flatnonzero(whole_components(facts, ends, total=len(self), most=most))

    def frame(self) -> pl.DataFrame:
        """Return all triples as a table, one row per triple.

        The columns are ``fact`` (index of the triple), ``line`` (in the file), ``stage``
        (of training), and the names ``subject``, ``relation`` and ``object``.
        """
        subject, relation, thing = self.triples.T
        entities = pl.Series(self.entities)
        relations = pl.Series(self.relations)
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
    """Read triples from a file, a database or a data set of the Hugging Face hub.

    :attr:`Knowledge.reading` lists the guesses about the file.

    Args:
        path: One of the following. Tables: a CSV or TSV file with three columns (with
            or without a header, and with an optional column ``stage``), a Parquet file,
            or a folder that :meth:`datasets.Dataset.save_to_disk` wrote or that has
            Parquet files. JSON: a JSONL or JSON file of objects or lists, JSON of
            Wikidata, or a published file of TwoHopFact, SOCRATES, MQuAKE or
            CounterFact. Graphs: Turtle, N-Triples, TriG, N-Quads, JSON-LD, GraphML,
            GEXF, GML, or an export of Neo4j. Databases: ``sqlite:///facts.db``, or
            another address that SQLAlchemy supports. ``owner/name``: a data set of the
            Hugging Face hub. ``@people`` or ``@chemistry``: a small set of real facts
            that comes with the package.
        edited: Whether to read edited facts instead of the original ones, for MQuAKE
            and CounterFact.
        query: SQL query for a database, whose rows have a subject, a relation and an
            object; empty for other sources.
        download: Whether a data set on the hub may be downloaded.
        header: Whether the first row of delimited text is a header. By default
            (``None``), this is inferred from its words and the rows below it; if it is
            unclear, an error is raised.
        columns: The columns of subject, relation and object, in this order, by name or
            by number from 1, separated by commas: ``"head,relation,tail"`` or
            ``"1,3,2"``. By default they are inferred from the header or the values.
        wide: Whether the first column (or the column that ``columns`` names) contains
            subjects and each further column is a relation; empty cells are left out.
        labels: File of ids and labels (:func:`.read_labels`); ids in the facts are
            replaced by their labels. If empty, ids are not replaced.

    Returns:
        The facts in the order of the source, without repetitions, and with remarks on
        them and on how they were read.

    Raises:
        ConfigError: A database has no query or another source has one, a required
            package is not installed, a data set on the hub is given but ``download`` is
            False, or ``columns`` does not name three existing columns.
        UnclearHeaderError: It is unclear whether the first row is a header (a
            ``DataError``).
        DataError: The source is missing, empty, too large or damaged (the message gives
            the line number), a set with ``@`` is unknown, the file ``labels`` cannot be
            read, or the facts contain none of its ids.

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
    replacing = Labels(labels) if labels else None
    first: dict[tuple[str, str, str], tuple[int, int]] = {}
    repeated: list[Remark] = []
    aliases: dict[str, dict[str, None]] = {}
    templates: dict[str, dict[str, None]] = {}
    for line, fact, stage, chain in read_rows(source):
        triple = replacing.replaced(fact.triple) if replacing else fact.triple
        for name in triple:
            check_name(name, f"{path}, line {line}")
        if len(first) == MAX_ROWS:
            raise DataError(f"{path} has more than {MAX_ROWS:,} facts, the limit")
        # Dictionaries with the values None are sets that keep the order of the file.
        if fact.template:
            templates.setdefault(triple[1], {})[fact.template] = None
        if fact.aliases:
            aliases.setdefault(triple[2], {}).update(dict.fromkeys(fact.aliases))
        if triple not in first:
            first[triple] = line, stage
        # chains in published files share facts, which is not worth a remark
        elif not chain:
            before = first[triple][0]
            text = f"line {line} repeats line {before}: {', '.join(triple)}"
            repeated.append(Remark("duplicate", (before, line), text))
    if not first:
        raise DataError(
            f"{path} contains no facts; expected lines of the form 'subject,relation,object'"
        )
    if replacing:
        reading.append(replacing.remark(path))
    facts = Knowledge(
        **numbered(first),
        lines=np.array([line for line, _ in first.values()]),
        stages=np.array([stage for _, stage in first.values()]),
        aliases={name: tuple(others) for name, others in aliases.items()},
        templates={name: tuple(texts) for name, texts in templates.items()},
        reading=tuple(reading),
    )
    remarks = remarks_on(
        facts.entities, facts.relations, facts.triples, facts.lines, facts.aliases
    )
    return replace(facts, remarks=(*repeated, *remarks))


def numbered(triples: Iterable[tuple[str, str, str]]) -> dict[str, Any]:
    """Number names in the order of their first occurrence.

    Args:
        triples: Subject, relation and object of each triple, by name.

    Returns:
        A dictionary with the fields ``entities``, ``relations`` (tuples of names) and
        ``triples`` (indices, ``[M, 3]``) of :class:`Knowledge`.
    """
    found = list(triples)
    entities: dict[str, None] = {}
    for subject, _, thing in found:
        entities[subject] = None
        entities[thing] = None
    relations = dict.fromkeys(r for _, r, _ in found)
    number = {name: i for i, name in enumerate(entities)}
    place = {name: i for i, name in enumerate(relations)}
    rows = np.array([[number[s], place[r], number[o]] for s, r, o in found])
    return {"entities": tuple(entities), "relations": tuple(relations), "triples": rows}


def is_source(name: str) -> bool:
    """Return whether a name is a source of facts; False for a folder, as it may contain a world.

    A source is a name that begins with ``@``, an address with ``://``, the path of an
    existing file, or ``owner/name`` of a data set on the hub. Only the existence of a
    path is checked.

    Args:
        name: The name.
    """
    if name.startswith("@") or is_database(name) or Path(name).is_file():
        return True
    return is_hub_name(name) and not Path(name).exists()


def _find(name: str) -> str | Path:
    """Return the path of a set of facts that comes with the package, or the source unchanged."""
    if not name.startswith("@"):
        return name
    own = {f"@{path.stem}": path for path in sorted(_OWN.glob("*.csv"))}
    check_names("set of facts", [name], own, error=DataError)
    return own[name]
