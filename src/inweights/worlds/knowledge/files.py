"""Read facts from any source, row by row: :func:`read_rows` chooses the reader by the name.

Text, JSON and Parquet files, and folders of these, are read here and in ``text`` and
``records``. Wikidata, RDF, graphs, databases and the Hugging Face hub have readers in
``worlds/readers``. Every row has a line number for error messages, and every assumption
of a reader becomes a remark.
"""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from inweights.errors import ConfigError, DataError, InweightsError, nearest
from inweights.support.limits import encoding_of, missing_file, read_text
from inweights.worlds.knowledge.rows import text
from inweights.worlds.knowledge.rows.json_rows import json_rows
from inweights.worlds.knowledge.rows.records import Records
from inweights.worlds.knowledge.rows.refused import refusal_of
from inweights.worlds.knowledge.rows.row import Row, fields_at, row_of
from inweights.worlds.readers.databases import database_rows, is_database
from inweights.worlds.readers.graphs.graph_files import WITH_RELATIONS
from inweights.worlds.readers.graphs.linked import graph_facts
from inweights.worlds.readers.hub import hub_rows, is_hub_name
from inweights.worlds.readers.published import Fact, is_two_hop, two_hop_facts
from inweights.worlds.readers.rdf import FORMATS, rdf_facts
from inweights.worlds.readers.remark import Remark
from inweights.worlds.readers.tables.arrange import Layout
from inweights.worlds.readers.tables.headers import FACTS, places_of
from inweights.worlds.readers.tables.parquet import read_parquet
from inweights.worlds.readers.wikidata import is_wikidata, wikidata_facts

_KINDS = "CSV, TSV, JSONL, JSON, Parquet, RDF, GraphML, a dataset folder, or a database"
#: Extensions of files that are not supported, and the format to convert them to.
_REFUSED = dict.fromkeys((".rdf", ".owl", ".xml", ".n3"), "Turtle (.ttl)")
_REFUSED |= dict.fromkeys((".xlsx", ".xls", ".ods", ".numbers"), "CSV")
_REFUSED |= dict.fromkeys((".db", ".sqlite", ".sqlite3"), "sqlite:///FILE with --query")
_REFUSED |= dict.fromkeys(
    (".pkl", ".pickle", ".pt", ".npz", ".npy"), "CSV, Parquet or JSON"
)
_JSON = (".json", ".jsonl", ".ndjson")
_LD = re.compile(r'"@(context|graph|id)"\s*:')


class Source(NamedTuple):
    """A source of facts, and how to read it.

    Attributes:
        name: File, folder, address of a database, or name of a data set of the Hugging
            Face hub. Names that begin with ``@`` are not resolved here.
        layout: Header and columns, as specified by the caller.
        remarks: List to which readers append their assumptions.
        edited: Whether to read edited facts instead of the original ones, in a
            published set that contains both.
        query: Query for a database; empty for other sources.
        download: Whether a data set on the hub may be downloaded.
    """

    name: str | Path
    layout: Layout
    remarks: list[Remark]
    edited: bool = False
    query: str = ""
    download: bool = False


def read_rows(source: Source) -> Iterator[Row]:
    """Yield every fact of a file or folder, a database, or a data set on the hub.

    Args:
        source: The source, and how to read it. Readers append their assumptions to its
            ``remarks`` while rows are read.

    Yields:
        One row per fact, in the order of the source. The files of a folder are read one
        after another, and their rows are numbered consecutively.

    Raises:
        ConfigError: A database has no query or another source has one, a required
            package is not installed, a data set on the hub is given but downloading is
            not allowed, or the layout names an unknown column.
        UnclearHeaderError: It is unclear whether the first row is a header.
        DataError: The source is missing, damaged or of an unsupported kind; the message
            gives the line number.
    """
    path = Path(source.name)
    name = str(source.name)
    if is_database(name):
        yield from _rows(name, *database_rows(name, source.query), source, three=True)
    elif source.query:
        raise ConfigError(
            f"--query requires a database, such as sqlite:///facts.db, got {name}"
        )
    elif path.is_dir():
        yield from _folder(path, source)
    elif not path.is_file() and is_hub_name(name):
        records = Records(name, source.layout, source.remarks, edited=source.edited)
        found = hub_rows(name, download=source.download)
        for number, record in enumerate(found, start=1):
            yield from records.of_record(record, number, f"{name}, row {number}")
    elif not path.is_file():
        raise _missing(path)
    else:
        yield from _of_file(path, source)


def _of_file(path: Path, source: Source) -> Iterator[Row]:
    """Yield the facts of one file; the reader is chosen by its extension or its first bytes."""
    suffix = path.suffix.lower()
    if suffix in _REFUSED:
        raise DataError(f"{path}: {suffix} is not supported; give {_REFUSED[suffix]}")
    elif suffix in (".parquet", ".arrow"):
        table = read_parquet(path, lambda columns: _wanted(columns, source.layout))
        rows = table.iter_rows()
        yield from _rows(str(path), table.columns, rows, source, three=False)
    elif suffix in FORMATS:
        yield from _named(rdf_facts(path))
    elif suffix in WITH_RELATIONS:
        yield from _named(graph_facts(path, source.remarks))
    elif is_wikidata(path):
        yield from _named(wikidata_facts(path))
    elif suffix in (".gz", ".bz2"):
        raise DataError(
            f"{path} is compressed, and only dumps of Wikidata can be read compressed; "
            "decompress it first"
        )
    else:
        yield from _of_text(path, source)


def _missing(path: Path) -> InweightsError:
    """Return the error for a file that does not exist, with the most similar name."""
    siblings = path.parent.iterdir() if path.parent.is_dir() else ()
    close = nearest(path.name, (file.name for file in siblings))
    hint = f"facts come from {_KINDS}"
    if close:
        hint = f"did you mean {path.with_name(close)}?"
    return missing_file(path, hint)


def _of_text(path: Path, source: Source) -> Iterator[Row]:
    """Yield the facts of a text file; its extension and first characters determine the reader."""
    content = read_text(path)
    suffix = path.suffix.lower()
    encoding = encoding_of(path)
    if encoding != "utf-8":
        sentence = f"the file is read as {encoding}"
        source.remarks.append(Remark("encoding", (), sentence, sure=True))
    # A file called .json may also be JSON-LD, whose context is at the beginning.
    if suffix == ".json" and _LD.search(content[:4096]):
        source.remarks.append(Remark("format", (), "the file is read as JSON-LD"))
        yield from _named(rdf_facts(path, "json-ld"))
    elif suffix in _JSON:
        records = Records(path, source.layout, source.remarks, edited=source.edited)
        yield from json_rows(path, content, records)
    else:
        yield from text.text_rows(path, content, source.layout, source.remarks)


def _named(facts: Iterator[tuple[int, Fact]]) -> Iterator[Row]:
    """Yield facts of other readers as rows, with single spaces in names."""
    for number, fact in facts:
        s, r, o = (" ".join(name.split()) for name in fact.triple)
        if not (s and r and o):
            raise DataError(f"fact {number} has a blank name: {fact.triple}")
        yield Row(number, fact._replace(triple=(s, r, o)))


def _rows(
    place: str,
    columns: Sequence[str],
    rows: Iterator[Sequence[Any]],
    source: Source,
    *,
    three: bool,
) -> Iterator[Row]:
    """Yield the facts of a table.

    Args:
        place: Name of the source, used in error messages.
        columns: Names of the columns.
        rows: Cells of each row.
        source: How to read the table.
        three: Whether a table with exactly three columns is read as subject, relation
            and object, whatever the names of the columns.
    """
    names = list(map(str.lower, columns))
    layout = source.layout
    chain = not three and is_two_hop(names)
    if layout.columns or layout.wide:
        cells = list(columns)
        table = [(0, cells), *enumerate(map(_texts, rows), start=1)]
        layout = layout._replace(header=True)
        yield from text.table_rows(place, table, layout, source.remarks, line="row")
        return
    places = places_of(columns)
    if places is None and three and len(names) == 3:
        places = {role: k for k, role in enumerate(FACTS)}
    if places is None and not chain:
        raise refusal_of(columns, place, what="columns")
    for number, row in enumerate(rows, start=1):
        cells = _texts(row)
        where = f"{place}, row {number}"
        if chain:
            facts = two_hop_facts(dict(zip(names, cells, strict=True)), where)
            for fact in facts:
                yield Row(number, fact, chain=True)
        elif places is not None:
            yield row_of(*fields_at(cells, places), number, where)


def _texts(row: Sequence[Any]) -> list[str]:
    """Return the values of a row as text."""
    return ["" if value is None else str(value) for value in row]


def _folder(path: Path, source: Source) -> Iterator[Row]:
    """Yield the facts of all files of a folder; rows are numbered consecutively."""
    splits = path / "dataset_dict.json"
    state = path / "state.json"
    try:
        if splits.is_file():
            parts = _below(path, json.loads(read_text(splits))["splits"])
        elif state.is_file():
            listed = json.loads(read_text(state))["_data_files"]
            parts = _below(path, [entry["filename"] for entry in listed])
        else:
            # Not deeper, since the path may be the root of the file system.
            depths = ("*.parquet", "*/*.parquet", "*/*/*.parquet")
            parts = []
            for pattern in depths:
                parts += path.glob(pattern)
            parts.sort()
    except DataError:
        raise
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(
            f"{path} is a damaged dataset folder ({error}); save it again"
        ) from None
    if not parts:
        raise DataError(
            f"{path} is a folder without facts; expected a folder that Dataset.save_to_disk wrote, "
            "or Parquet files; for another format, give the path of a file, such as "
            f"{path / 'facts.csv'}"
        )
    before = 0
    for part in parts:
        last = 0
        for row in read_rows(source._replace(name=part)):
            last = row.line
            yield row._replace(line=before + row.line)
        before += last


def _below(path: Path, names: Sequence[str]) -> list[Path]:
    """Return the paths of named files in a folder; a path outside the folder is an error."""
    home = path.resolve()
    for name in names:
        if home not in (path / name).resolve().parents:
            raise DataError(
                f"{path} refers to the file '{name}', which is outside the folder and is not "
                "read; move the file into the folder"
            )
    return [path / name for name in names]


def _wanted(columns: Sequence[str], layout: Layout) -> Sequence[str]:
    """Return the columns of facts, or all columns if some are missing, for the error message."""
    lower = list(map(str.lower, columns))
    if layout.columns or layout.wide or is_two_hop(lower):
        return columns
    places = places_of(columns)
    if not places:
        return columns
    return [columns[place] for place in sorted(places.values())]
