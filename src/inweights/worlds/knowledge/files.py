"""Files of triples, read row by row: CSV, TSV, JSONL, JSON, Parquet, Arrow, and folders of these.

Wikidata, RDF, databases and the hub have files of their own. Every row comes with the place that it
came from, so that a message can name it.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from inweights.errors import ConfigError, DataError, nearest
from inweights.support.limits import missing_file, read_text
from inweights.worlds.knowledge import text
from inweights.worlds.readers.databases import database_rows, is_database
from inweights.worlds.readers.hub import hub_rows, is_hub_name
from inweights.worlds.readers.parquet import read_parquet
from inweights.worlds.readers.published import Fact, is_two_hop, two_hop_facts
from inweights.worlds.readers.rdf import FORMATS, rdf_facts
from inweights.worlds.readers.wikidata import is_wikidata, wikidata_facts

_EXPECTED = "expected subject, relation and object"
_KINDS = "CSV, TSV, JSONL, JSON, Parquet, Turtle, N-Triples, a dataset folder, or a database"
#: What is not read, and what to make of it.
_REFUSED = dict.fromkeys(
    (".rdf", ".owl", ".xml", ".jsonld", ".trig", ".nq", ".n3"), "Turtle (.ttl)"
)
_REFUSED |= dict.fromkeys((".xlsx", ".xls", ".ods"), "CSV")
_REFUSED |= dict.fromkeys((".db", ".sqlite", ".sqlite3"), "sqlite:///FILE with --query")


def read_rows(
    source: str | Path, *, edited: bool = False, query: str = "", download: bool = False
) -> Iterator[text.Row]:
    """Read every fact of a file or folder, a database, or a data set of the hub."""
    path, name = Path(source), str(source)
    suffix = path.suffix.lower()
    if is_database(name):
        yield from _rows(name, *database_rows(name, query), three=True)
    elif query:
        raise ConfigError(f"--query requires a database, such as sqlite:///facts.db, got {name}")
    elif path.is_dir():
        yield from _folder(path, edited=edited)
    elif not path.is_file() and is_hub_name(name):
        for number, record in enumerate(hub_rows(name, download=download), start=1):
            yield from text.record_rows(record, number, f"{name}, row {number}", edited=edited)
    elif not path.is_file():
        there = path.parent.iterdir() if path.parent.is_dir() else ()
        close = nearest(path.name, (file.name for file in there))
        hint = f"did you mean {path.with_name(close)}?" if close else f"facts come from {_KINDS}"
        raise missing_file(path, hint)
    elif suffix in _REFUSED:
        raise DataError(f"{path}: {suffix} is not supported; give {_REFUSED[suffix]}")
    elif suffix in (".parquet", ".arrow"):
        table = read_parquet(path, _wanted)
        yield from _rows(name, table.columns, table.iter_rows(), three=False)
    elif suffix in FORMATS:
        yield from _named(rdf_facts(path))
    elif is_wikidata(path):
        yield from _named(wikidata_facts(path))
    elif suffix in (".gz", ".bz2"):
        raise DataError(f"{path} is not a dump of Wikidata; unpack other files first")
    else:
        yield from text.text_rows(path, edited=edited)


def _named(facts: Iterator[tuple[int, Fact]]) -> Iterator[text.Row]:
    """Facts whose names may hold any white space."""
    for number, fact in facts:
        s, r, o = (" ".join(name.split()) for name in fact.triple)
        if not (s and r and o):
            raise DataError(f"fact {number} has a blank name: {fact.triple}")
        yield text.Row(number, fact._replace(triple=(s, r, o)))


def _rows(
    source: str, columns: Sequence[str], rows: Iterator[Sequence[Any]], *, three: bool
) -> Iterator[text.Row]:
    """Rows of a table; any ``three`` columns may be meant where their names do not say."""
    names = [name.lower() for name in columns]
    places = text.places_of(names)
    if places is None and three and len(names) == 3:
        places = {"subject": 0, "relation": 1, "object": 2}
    chain = not three and is_two_hop(names)
    if places is None and not chain:
        raise DataError(f"{source} gives the columns {list(columns)}; {_EXPECTED}")
    for number, row in enumerate(rows, start=1):
        cells, where = ["" if v is None else str(v) for v in row], f"{source}, row {number}"
        if chain:
            facts = two_hop_facts(dict(zip(names, cells, strict=True)), where)
            yield from (text.Row(number, fact, chain=True) for fact in facts)
        elif places is not None:
            yield text.row_of(*text.fields_at(cells, places), number, where)


def _folder(path: Path, *, edited: bool) -> Iterator[text.Row]:
    """All parts of a folder, numbered on."""
    splits = path / "dataset_dict.json"
    state = path / "state.json"
    try:
        if splits.is_file():
            parts = _below(path, json.loads(read_text(splits))["splits"])
        elif state.is_file():
            listed = json.loads(read_text(state))["_data_files"]
            parts = _below(path, [entry["filename"] for entry in listed])
        else:
            # No deeper: it may be the root of all files.
            depths = ("*.parquet", "*/*.parquet", "*/*/*.parquet")
            parts = sorted(part for below in depths for part in path.glob(below))
    except DataError:
        raise
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(f"{path} is a damaged dataset folder ({error}); save it again") from None
    if not parts:
        raise DataError(
            f"{path} is a folder without facts; expected one of Dataset.save_to_disk, or Parquet "
            f"files in it; for facts in another format give the file, as {path / 'facts.csv'}"
        )
    before = 0
    for part in parts:
        last = 0
        for row in read_rows(part, edited=edited):
            last = row.line
            yield row._replace(line=before + row.line)
        before += last


def _below(path: Path, names: Sequence[str]) -> list[Path]:
    """Parts of a folder by name; all of them lie in it."""
    home = path.resolve()
    for name in names:
        if home not in (path / name).resolve().parents:
            raise DataError(f"{path} names the part '{name}', which is not in it")
    return [path / name for name in names]


def _wanted(columns: Sequence[str]) -> Sequence[str]:
    """Columns that facts may come from; all where none may, so that the error names them."""
    known = {name for names in (*text.COLUMNS, text.STAGE) for name in names}
    lower = [name.lower() for name in columns]
    kept = columns if is_two_hop(lower) else [n for n in columns if n.lower() in known]
    return kept or columns
