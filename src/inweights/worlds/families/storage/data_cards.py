"""Describe files as a data set: a card for Hugging Face, and Croissant metadata.

:func:`write_cards` writes ``README.md`` and ``croissant.json`` into the folder of a
:class:`DataSet`, with the hash, the size and the columns of each file. Hugging Face
reads the first lines of the card (https://huggingface.co/docs/hub/datasets-cards), and
other tools read Croissant 1.0 (https://docs.mlcommons.org/croissant).
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import polars as pl

from inweights.support.version import __version__

CARD, CROISSANT = "README.md", "croissant.json"
_LICENCE = "apache-2.0"
_LICENCE_TEXT = "https://www.apache.org/licenses/LICENSE-2.0"
_CITE = f"The inweights authors: inweights {__version__}, a laboratory for in-weights reasoning"
_CONTEXT = msgspec.json.decode(Path(__file__).with_name("croissant.json").read_bytes())
_FORMATS = {
    ".parquet": "application/x-parquet",
    ".json": "application/json",
    ".jsonl": "application/jsonlines",
    ".safetensors": "application/octet-stream",
}
#: Size classes of Hugging Face, by their largest number of rows.
_SIZES = {
    1_000: "n<1K",
    10_000: "1K<n<10K",
    100_000: "10K<n<100K",
    1_000_000: "100K<n<1M",
}


class DataFile(NamedTuple):
    """A file of a data set.

    Attributes:
        path: Path relative to the folder, with ``/`` as separator.
        says: Description of the content in one sentence.
        part: Name of the Hugging Face configuration to which the table belongs; all
            tables of a configuration have the same columns. Empty for a file that is
            not a table.
        split: Name of the split to which the file belongs, such as ``train``.
    """

    path: str
    says: str
    part: str = ""
    split: str = "train"


@dataclass(frozen=True)
class DataSet:
    """Description of a folder of files, from which its card is written.

    Attributes:
        name: Short name, in lower case with hyphens.
        title: Heading of the card.
        says: Description of the data set in one sentence, for a general reader.
        body: Further description, as Markdown: how the data was made, its purpose and
            its limitations.
        files: The files of the data set; tables must be Parquet files.
        columns: Dictionary that maps the name of each column to its meaning.
        tags: Keywords for searching.
        published: Publication date of the content, as ``YYYY-MM-DD``; empty if it is
            unknown.
    """

    name: str
    title: str
    says: str
    body: str
    files: Sequence[DataFile]
    columns: Mapping[str, str] = field(default_factory=dict)
    tags: Sequence[str] = ()
    published: str = ""


class _Facts(NamedTuple):
    """Measured properties of a file."""

    hash: str
    bytes: int
    rows: int | None
    schema: dict[str, pl.DataType]


def write_cards(folder: Path, data: DataSet) -> None:
    """Write the card (``README.md``) and ``croissant.json`` of a data set into its folder.

    Args:
        folder: The folder, which contains all files of the data set; an existing card
            is replaced.
        data: Description of the files.

    Raises:
        OSError: A file is missing, or a card cannot be written.
        KeyError: The extension of a file is not ``.parquet``, ``.json``, ``.jsonl`` or
            ``.safetensors``.
        PolarsError: A Parquet file is damaged (``polars.exceptions.PolarsError``).

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as name:
        ...     pl.DataFrame({"x": [1, 2]}).write_parquet(f"{name}/a.parquet")
        ...     files = [DataFile("a.parquet", "Two numbers.", part="default")]
        ...     write_cards(Path(name), DataSet("two", "Two", "Two numbers.", "", files))
        ...     Path(name, "README.md").read_text().splitlines()[1]
        'pretty_name: "Two"'
    """
    facts = {file.path: _facts_of(folder / file.path) for file in data.files}
    (folder / CARD).write_text(_card(data, facts), encoding="utf-8")
    metadata = msgspec.json.format(msgspec.json.encode(_croissant(data, facts)))
    (folder / CROISSANT).write_bytes(metadata + b"\n")


def _facts_of(file: Path) -> _Facts:
    content = file.read_bytes()
    rows, schema = None, {}
    if file.suffix == ".parquet":
        rows = pl.scan_parquet(file).select(pl.len()).collect().item()
        schema = dict(pl.read_parquet_schema(file))
    return _Facts(hashlib.sha256(content).hexdigest(), len(content), rows, schema)


def _card(data: DataSet, facts: Mapping[str, _Facts]) -> str:
    """Return the text of ``README.md``."""
    rows = sum(fact.rows or 0 for fact in facts.values())
    size = next((name for most, name in _SIZES.items() if rows < most), "n>1M")
    front = {
        "pretty_name": data.title,
        "license": _LICENCE,
        "language": ["en"],
        "size_categories": [size],
        "tags": list(data.tags),
        "configs": _configs(_tables(data, facts)),
    }
    # Every value in JSON is also valid YAML.
    lines = ["---"]
    for name, value in front.items():
        lines.append(f"{name}: {msgspec.json.encode(value).decode()}")
    lines += ["---", f"# {data.title}", "", data.says, "", data.body.strip(), ""]
    lines += ["## Files", "", "| file | content | rows | bytes | SHA-256 |"]
    lines += ["|---|---|---|---|---|"]
    for file in data.files:
        fact = facts[file.path]
        count = "" if fact.rows is None else f"{fact.rows:,}"
        about = f"| `{file.path}` | {file.says} | {count} | {fact.bytes:,} |"
        lines.append(f"{about} `{fact.hash}` |")
    lines += ["", "## Columns", "", "| column | meaning |", "|---|---|"]
    present = {name for fact in facts.values() for name in fact.schema}
    for name, says in data.columns.items():
        if name in present:
            lines.append(f"| `{name}` | {says} |")
    lines += [
        "",
        f"To cite: {_CITE}. Licence: [Apache 2.0]({_LICENCE_TEXT}). `{CROISSANT}` contains "
        "the same information for programs.",
    ]
    return "\n".join(lines) + "\n"


def _tables(data: DataSet, facts: Mapping[str, _Facts]) -> list[DataFile]:
    """Return the files that are tables with rows, as Hugging Face cannot read an empty split."""
    return [file for file in data.files if file.part and facts[file.path].rows]


def _configs(files: Sequence[DataFile]) -> list[dict[str, Any]]:
    """Return the configurations and splits of the tables, in Hugging Face's format."""
    parts: dict[str, list[dict[str, str]]] = {}
    for file in files:
        if file.part:
            split = {"split": file.split, "path": file.path}
            parts.setdefault(file.part, []).append(split)
    return [{"config_name": part, "data_files": own} for part, own in parts.items()]


def _croissant(data: DataSet, facts: Mapping[str, _Facts]) -> dict[str, Any]:
    """Return the content of ``croissant.json``."""
    tables = _tables(data, facts)
    about = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": data.name,
        "description": data.says,
        "license": _LICENCE_TEXT,
        "version": __version__,
        "citeAs": _CITE,
        "keywords": list(data.tags),
        "creator": {"@type": "sc:Organization", "name": "the inweights authors"},
    }
    if data.published:
        about["datePublished"] = data.published
    about["distribution"] = [_object(file, facts[file.path]) for file in data.files]
    about["recordSet"] = [_records(file, facts[file.path], data) for file in tables]
    return about


def _object(file: DataFile, fact: _Facts) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": file.path,
        "name": file.path,
        "description": file.says,
        "contentUrl": file.path,
        "contentSize": f"{fact.bytes} B",
        "encodingFormat": _FORMATS[Path(file.path).suffix],
        "sha256": fact.hash,
    }


def _records(file: DataFile, fact: _Facts, data: DataSet) -> dict[str, Any]:
    """Return the Croissant description of the columns of a table."""
    name = f"{file.part}/{file.split}"
    fields = []
    for column, kind in fact.schema.items():
        one: dict[str, Any] = {
            "@type": "cr:Field",
            "@id": f"{name}/{column}",
            "name": column,
            "description": data.columns.get(column, column),
            "dataType": _type_of(kind),
            "source": {
                "fileObject": {"@id": file.path},
                "extract": {"column": column},
            },
        }
        if isinstance(kind, pl.List):
            one["repeated"] = True
        fields.append(one)
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": file.says,
        "field": fields,
    }


def _type_of(kind: pl.DataType) -> str:
    """Return the Croissant type of a column; for a column of lists, the type of their items."""
    inner = kind.inner if isinstance(kind, pl.List) else kind
    if inner.is_integer():
        return "sc:Integer"
    if inner.is_float():
        return "sc:Float"
    return "sc:Boolean" if inner == pl.Boolean else "sc:Text"
