"""Read facts from Wikidata: a dump or a part of one, item by item.

:func:`wikidata_facts` yields them. Three formats of Wikidata's JSON are read: dumps,
which are an array with one item per line (``.json``, ``.json.gz`` or ``.json.bz2``);
such lines without the array; and ``{"entities": {…}}``, returned by
``Special:EntityData``. A file is read twice: once for its statements, and once for the
names of items.
"""

import bz2
import gzip
import re
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import msgspec

from inweights.errors import DataError
from inweights.support.limits import MAX_ROWS, check_file, written
from inweights.worlds.readers.neo4j import distinct_names
from inweights.worlds.readers.published import Fact

#: Largest number of bytes of a line; the largest items have some megabytes.
LINE = 64 * 2**20
#: Languages of names, in order of preference; ``mul`` is Wikidata's code for all
#: languages.
LANGUAGES = ("en", "mul")
_BEGIN = re.compile(
    rb'\s*\[?\s*\{\s*"(?:type"\s*:\s*"(?:item|property)"|id"\s*:\s*"[QP]\d|entities"\s*:|pageid"\s*:)'
)
#: Types of values that refer to another source and are not facts.
_POINTERS = {
    "external-id",
    "commonsMedia",
    "url",
    "tabular-data",
    "geo-shape",
    "math",
    "musical-notation",
    "globe-coordinate",
}
#: Errors of the file system, and of compressed files that are damaged or cut off.
_UNREADABLE = (OSError, EOFError, zlib.error)
#: Wikidata's codes for the precision of a time; smaller numbers are coarser.
_DAY = 11
_MONTH = 10
_YEAR = 9


def is_wikidata(path: Path) -> bool:
    """Return whether a file begins like a JSON file of Wikidata, which may be compressed.

    A ``.gz`` or ``.bz2`` file is decompressed. The result is False for a file that
    cannot be read.

    Args:
        path: The file.

    Raises:
        DataError: The path is missing, or not a regular file.
    """
    try:
        with _open(path) as file:
            return bool(_BEGIN.match(file.read(4096)))
    except _UNREADABLE:
        return False


def wikidata_facts(path: Path) -> Iterator[tuple[int, Fact]]:
    """Yield the statements of all Wikidata items as facts, each with the line of its item.

    For each property of an item, only the statements with the best rank are read. Dates
    are written with their known precision (``1952-03-11``, ``1952-03``, ``1952``), and
    amounts without their unit. Identifiers, links, media and coordinates are left out.
    Names are English labels. An item without a label is named by its id; if two items
    have the same label, the id is appended to the second.

    Args:
        path: The file.

    Yields:
        The line of the item (1 for all items of a file on one line), and the fact, with
        the aliases of its object.

    Raises:
        DataError: The file cannot be read, is damaged (the message gives the line
            number) or has more than 3,000,000 statements.
    """
    triples: list[tuple[int, str, str, str, bool]] = []
    for line, item in _items(path):
        for relation, value, is_item in _statements(item, f"{path}, line {line}"):
            if len(triples) == MAX_ROWS:
                raise DataError(
                    f"{path} has more statements than the limit of {MAX_ROWS:,}; use a subset "
                    "of the items"
                )
            triples.append((line, item["id"], relation, value, is_item))
    ids: set[str] = set()
    for _, subject, relation, value, is_item in triples:
        ids |= {subject, relation, value} if is_item else {subject, relation}
    labels: dict[str, str] = {}
    others: dict[str, tuple[str, ...]] = {}
    for _, item in _items(path):
        key = item["id"]
        if key in ids:
            labels[key] = _label(item) or key
            others[key] = _aliases(item)
    names = distinct_names(labels)
    for line, s, r, value, is_item in triples:
        thing = names.get(value, value) if is_item else value
        aliases = others.get(value, ()) if is_item else ()
        yield line, Fact((names.get(s, s), names.get(r, r), thing), aliases=aliases)


def _open(path: Path) -> IO[bytes]:
    """Open a file for reading in binary mode, and decompress it if necessary."""
    check_file(path, factor=0)  # raises an error unless it is a regular file
    opener = {".gz": gzip.open, ".bz2": bz2.open}.get(path.suffix.lower(), open)
    return opener(path, "rb")  # type: ignore[operator]


def _items(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the items of a file, each with its line."""
    number = 0
    try:
        with _open(path) as file:
            while line := file.readline(LINE):
                number += 1
                where = f"{path}, line {number}"
                if len(line) == LINE:
                    raise DataError(
                        f"{where} has more than {written(LINE)}; a dump of Wikidata has one item "
                        "per line"
                    )
                text = line.strip().rstrip(b",")
                if text in (b"", b"[", b"]"):
                    continue
                found = _decoded(text.removeprefix(b"[").removesuffix(b"]"), where)
                inner = found.get("entities")
                for item in inner.values() if isinstance(inner, Mapping) else [found]:
                    if not isinstance(item, Mapping) or not isinstance(
                        item.get("id"), str
                    ):
                        raise DataError(
                            f"{where}: an item is not a JSON object with an id"
                        )
                    yield number, item
    except _UNREADABLE as error:
        raise DataError(f"cannot read {path}: {error}") from None


def _decoded(text: bytes, where: str) -> Mapping[str, Any]:
    """Return the JSON object in a line."""
    try:
        found = msgspec.json.decode(text)
    # an error in the JSON or in the UTF-8
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: not an item of Wikidata as JSON ({error})") from None
    if not isinstance(found, Mapping):
        raise DataError(f"{where}: an item is not a JSON object")
    return found


def _statements(item: Mapping[str, Any], where: str) -> Iterator[tuple[str, str, bool]]:
    """Yield the best statements of an item: property, value, whether the value is an item."""
    try:
        claims = item.get("claims") or {}
        for relation, given in claims.items() if isinstance(claims, Mapping) else ():
            ranks = [claim.get("rank", "normal") for claim in given]
            best = "preferred" if "preferred" in ranks else "normal"
            for claim, rank in zip(given, ranks, strict=True):
                snak = claim["mainsnak"]
                known = (
                    snak["snaktype"] == "value"
                    and snak.get("datatype") not in _POINTERS
                )
                if rank == best and known:
                    value, is_item = _value(snak["datavalue"])
                    if value.strip():
                        yield relation, value, is_item
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"{where}: a statement of {item.get('id')} is damaged ({error})"
        ) from None


def _value(given: Mapping[str, Any]) -> tuple[str, bool]:
    """Return a value as text, and whether it is an item; empty text for unsupported types."""
    value = given["value"]
    match given["type"]:
        case "wikibase-entityid":
            return str(value.get("id") or f"Q{int(value['numeric-id'])}"), True
        case "time":
            return _date(value["time"], value["precision"]), False
        case "quantity":
            return str(value["amount"]).removeprefix("+"), False
        case "monolingualtext":
            return str(value["text"]), False
        case "string":
            return str(value), False
    return "", False


def _date(time: str, precision: int) -> str:
    """Return a date with its known precision, such as ``1952-03``; empty if the year is unknown."""
    year, month, day = re.fullmatch(r"([+-]\d+)-(\d\d)-(\d\d)T.*", time).groups()  # type: ignore[union-attr]
    if precision < _YEAR:
        return ""
    known = {_DAY: 3, _MONTH: 2}.get(precision, 1)
    return "-".join([str(int(year)), month, day][:known])


def _label(item: Mapping[str, Any]) -> str:
    """Return the label of an item; empty if it has none in :data:`LANGUAGES`."""
    labels = item.get("labels")
    if not isinstance(labels, Mapping):
        return ""
    for language in LANGUAGES:
        found = labels.get(language)
        if isinstance(found, Mapping) and str(found.get("value", "")).strip():
            return " ".join(str(found["value"]).split())
    return ""


def _aliases(item: Mapping[str, Any]) -> tuple[str, ...]:
    """Return further English names of an item."""
    known = item.get("aliases")
    listed = known.get(LANGUAGES[0]) if isinstance(known, Mapping) else ()
    if not isinstance(listed, list):
        return ()
    found = [a.get("value") for a in listed if isinstance(a, Mapping)]
    return tuple(name for name in found if isinstance(name, str))
