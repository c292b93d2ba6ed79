"""Facts from Wikidata: a dump or a part of one, read item by item.

The format is that of Wikidata's JSON dumps: one array with an item a line (as ``.json``,
``.json.gz`` or ``.json.bz2``), the same without the array, and ``{"entities": {…}}``, which
``Special:EntityData`` gives. A file is read twice: once for its statements, and once for the names
of what these are about.
"""

import bz2
import gzip
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import msgspec

from inweights.errors import DataError
from inweights.support.limits import MAX_ROWS, check_file, written
from inweights.worlds.readers.published import Fact

#: Bytes of a line, at most: the largest items have some megabytes.
LINE = 64 * 2**20
#: Languages of names, the best first; ``mul`` is Wikidata's own for all.
LANGUAGES = ("en", "mul")
_BEGIN = re.compile(
    rb'\s*\[?\s*\{\s*"(?:type"\s*:\s*"(?:item|property)"|id"\s*:\s*"[QP]\d|entities"\s*:|pageid"\s*:)'
)
#: What is no fact about the world but a place to look it up.
_POINTERS = {"external-id", "commonsMedia", "url", "tabular-data", "geo-shape", "math",
             "musical-notation", "globe-coordinate"}  # fmt: skip
#: Precision of a time: days, months, years, and what is coarser.
_DAY, _MONTH, _YEAR = 11, 10, 9


def is_wikidata(path: Path) -> bool:
    """Whether a file begins as one of Wikidata does."""
    try:
        with _open(path) as file:
            return bool(_BEGIN.match(file.read(4096)))
    except (OSError, EOFError):
        return False


def wikidata_facts(path: Path) -> Iterator[tuple[int, Fact]]:
    """Yield the best statement of each property of each item, in order, with its item's line.

    Of the statements of a property those of the best rank are read; dates are written as far as
    they are known (``1952-03-11``, ``1952-03``, ``1952``), amounts without their unit. Identifiers,
    links, media and places on a map are left out. Names are labels in English; what has none here
    goes by its number, and of two with one label the second has its number added.
    """
    triples: list[tuple[int, str, str, str, bool]] = []
    for line, item in _items(path):
        for relation, value, is_item in _statements(item, f"{path}, line {line}"):
            if len(triples) == MAX_ROWS:
                raise DataError(
                    f"{path} has more than {MAX_ROWS:,} statements, the limit; use a part of the "
                    "items"
                )
            triples.append((line, item["id"], relation, value, is_item))
    ids = {name for _, s, r, _, _ in triples for name in (s, r)}
    ids |= {value for *_, value, is_item in triples if is_item}
    labels: dict[str, str] = {}
    others: dict[str, tuple[str, ...]] = {}
    for _, item in _items(path):
        if (key := item["id"]) in ids:
            labels[key] = _label(item) or key
            others[key] = _aliases(item)
    names = _unlike(labels)
    for line, s, r, value, is_item in triples:
        thing = names.get(value, value) if is_item else value
        aliases = others.get(value, ()) if is_item else ()
        yield line, Fact((names.get(s, s), names.get(r, r), thing), aliases=aliases)


def _open(path: Path) -> IO[bytes]:
    check_file(path, factor=0)  # it is no pipe
    opener = {".gz": gzip.open, ".bz2": bz2.open}.get(path.suffix.lower(), open)
    return opener(path, "rb")  # type: ignore[operator]


def _items(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
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
                    if not isinstance(item, Mapping) or not isinstance(item.get("id"), str):
                        raise DataError(f"{where}: an item is not a JSON object with an id")
                    yield number, item
    except (OSError, EOFError) as error:
        raise DataError(f"cannot read {path}: {error}") from None


def _decoded(text: bytes, where: str) -> Mapping[str, Any]:
    try:
        found = msgspec.json.decode(text)
    except (ValueError, RecursionError) as error:  # of JSON, or of UTF-8
        raise DataError(f"{where}: not an item of Wikidata as JSON ({error})") from None
    if not isinstance(found, Mapping):
        raise DataError(f"{where}: an item is not a JSON object")
    return found


def _statements(item: Mapping[str, Any], where: str) -> Iterator[tuple[str, str, bool]]:
    """Property, value, and whether that is an item, of the best rank of each property."""
    try:
        claims = item.get("claims") or {}
        for relation, given in claims.items() if isinstance(claims, Mapping) else ():
            ranks = [claim.get("rank", "normal") for claim in given]
            best = "preferred" if "preferred" in ranks else "normal"
            for claim, rank in zip(given, ranks, strict=True):
                snak = claim["mainsnak"]
                known = snak["snaktype"] == "value" and snak.get("datatype") not in _POINTERS
                if rank == best and known:
                    value, is_item = _value(snak["datavalue"])
                    if value.strip():
                        yield relation, value, is_item
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise DataError(f"{where}: a statement of {item.get('id')} is damaged ({error})") from None


def _value(given: Mapping[str, Any]) -> tuple[str, bool]:
    value = given["value"]
    match given["type"]:
        case "wikibase-entityid":
            return str(value.get("id") or f"Q{int(value['numeric-id'])}"), True
        case "time":
            year, month, day = re.fullmatch(r"([+-]\d+)-(\d\d)-(\d\d)T.*", value["time"]).groups()  # type: ignore[union-attr]
            told = [str(int(year)), month, day]
            parts = {_DAY: 3, _MONTH: 2}.get(value["precision"], 1)
            return "-".join(told[:parts]) if value["precision"] >= _YEAR else "", False
        case "quantity":
            return str(value["amount"]).removeprefix("+"), False
        case "monolingualtext":
            return str(value["text"]), False
        case "string":
            return str(value), False
    return "", False


def _label(item: Mapping[str, Any]) -> str:
    labels = item.get("labels")
    if not isinstance(labels, Mapping):
        return ""
    for language in LANGUAGES:
        found = labels.get(language)
        if isinstance(found, Mapping) and str(found.get("value", "")).strip():
            return " ".join(str(found["value"]).split())
    return ""


def _aliases(item: Mapping[str, Any]) -> tuple[str, ...]:
    known = item.get("aliases")
    listed = known.get(LANGUAGES[0]) if isinstance(known, Mapping) else ()
    if not isinstance(listed, list):
        return ()
    found = [a.get("value") for a in listed if isinstance(a, Mapping)]
    return tuple(name for name in found if isinstance(name, str))


def _unlike(labels: Mapping[str, str]) -> dict[str, str]:
    """Names by number; of several with one label all but the first have their number added."""
    taken: dict[str, str] = {}
    return {
        key: label if taken.setdefault(label, key) == key else f"{label} ({key})"
        for key, label in labels.items()
    }
