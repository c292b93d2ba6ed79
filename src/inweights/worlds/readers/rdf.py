"""Facts from RDF: Turtle, N-Triples, TriG, N-Quads, JSON-LD, by ``rdflib``; nothing is fetched."""

from __future__ import annotations

import json
import logging
import re
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from inweights.errors import DataError
from inweights.support.extras import optional
from inweights.support.limits import check_file, read_text
from inweights.worlds.readers.published import Fact

#: Suffixes and what rdflib calls them. XML is not read: its entities make much of little.
FORMATS = {
    ".ttl": "turtle",
    ".nt": "nt",
    ".trig": "trig",
    ".nq": "nquads",
    ".jsonld": "json-ld",
}
_CALLED = {
    "turtle": "Turtle",
    "nt": "N-Triples",
    "trig": "TriG",
    "nquads": "N-Quads",
    "json-ld": "JSON-LD",
}
#: A context that stands for itself: its terms are the ends of its addresses.
_SCHEMA = re.compile(r"https?://(www\.)?schema\.org/?(docs/jsonldcontext\.json)?")
#: Those with several graphs in one file.
_NAMED = ("trig", "nquads")
#: Bytes of memory that a byte of the file takes: 14 were measured on N-Triples; Turtle is denser.
_MEMORY = 40
#: Properties that say what a thing is called, the best first.
_NAMES = (
    "http://www.w3.org/2000/01/rdf-schema#label",
    "http://www.w3.org/2004/02/skos/core#prefLabel",
    "http://xmlns.com/foaf/0.1/name",
    "https://schema.org/name",
    "http://schema.org/name",
)
_ALSO = "http://www.w3.org/2004/02/skos/core#altLabel"
_LANGUAGES = ("en", None)


def rdf_facts(path: Path, kind: str = "") -> Iterator[tuple[int, Fact]]:
    """Yield every triple between names, numbered in the order of the file.

    What a thing is called (``rdfs:label``, ``skos:prefLabel``, ``foaf:name``, ``schema:name``; in
    English, or without a language) is its name, else the end of its address; of two with one name
    the second is called by its whole address. Blank nodes have no name, and their triples are left
    out. Named graphs are read as one.

    Args:
        path: The file.
        kind: What rdflib calls its format; by default what its ending says.
    """
    optional("rdf", f"reading {path}")
    from rdflib import BNode, Literal

    check_file(path, factor=_MEMORY)
    found = _parsed(path, kind or FORMATS[path.suffix.lower()])
    names: dict[str, str] = {}
    best: dict[str, tuple[int, int]] = {}
    others: defaultdict[str, list[str]] = defaultdict(list)
    told: list[tuple[Any, Any, Any]] = []
    for s, r, o in dict.fromkeys(found):
        if isinstance(s, BNode) or isinstance(o, BNode):
            continue
        if isinstance(o, Literal) and str(r) in (*_NAMES, _ALSO):
            if o.language not in _LANGUAGES or not str(o).strip():
                continue
            if str(r) == _ALSO:
                others[str(s)].append(str(o))
                continue
            rank = (_NAMES.index(str(r)), _LANGUAGES.index(o.language))
            if rank < best.get(str(s), (len(_NAMES), 0)):
                best[str(s)], names[str(s)] = rank, " ".join(str(o).split())
        else:
            told.append((s, r, o))
    called: dict[str, str] = {}
    taken: dict[str, str] = {}

    def name(address: Any) -> str:
        key = str(address)
        if key not in called:
            short = names.get(key) or _end(key)
            called[key] = short if taken.setdefault(short, key) == key else key
        return called[key]

    for number, (s, r, o) in enumerate(told, start=1):
        if isinstance(o, Literal):
            text = str(o)
            if text.strip() and o.language in _LANGUAGES:
                yield number, Fact((name(s), name(r), text))
        else:
            yield number, Fact((name(s), name(r), name(o)), aliases=tuple(others.get(str(o), ())))


def _parsed(path: Path, kind: str) -> list[tuple[Any, Any, Any]]:
    """All triples of a file, in its order."""
    from rdflib import Dataset, Graph
    from rdflib.plugins.stores.memory import Memory

    found: list[tuple[Any, Any, Any]] = []

    class Listed(Memory):
        """Keeps the triples as they come; rdflib's own store has them in no order."""

        def add(self, triple: Any, context: Any, quoted: bool = False) -> None:
            found.append(triple)
            super().add(triple, context, quoted)

    text = read_text(path)
    if kind == "json-ld":
        text = _without_remote_contexts(path, text)
    logger = logging.getLogger("rdflib.term")  # prints what looks odd to it
    before, logger.disabled = logger.disabled, True
    try:
        with warnings.catch_warnings():  # rdflib calls what it deprecates itself
            warnings.simplefilter("ignore", DeprecationWarning)
            graph = Dataset(store=Listed()) if kind in _NAMED else Graph(store=Listed())
            graph.parse(data=text, format=kind)
    except DataError:
        raise
    except Exception as error:  # noqa: BLE001 - rdflib raises no narrower one for a bad file
        what = re.sub(r"\s+", " ", str(error)).strip(" :")[:200]
        raise DataError(f"{path} is not {_CALLED[kind]}: {what}") from None
    finally:
        logger.disabled = before
    return found


def _without_remote_contexts(path: Path, text: str) -> str:
    """JSON-LD whose contexts all stand in the file; that of schema.org is known by heart."""
    try:
        return json.dumps(_local(path, json.loads(text)))
    except json.JSONDecodeError as error:
        raise DataError(f"{path}, line {error.lineno}: not JSON ({error.msg})") from None
    except RecursionError:
        raise DataError(f"{path} is nested too deeply") from None


def _local(path: Path, value: Any, *, context: bool = False) -> Any:
    if isinstance(value, str) and context:
        if _SCHEMA.fullmatch(value):
            return {"@vocab": "http://schema.org/"}
        raise DataError(
            f"{path} takes its context from {value}, and nothing is fetched; put the context into "
            "the file, or expand it (jsonld expand)"
        )
    if isinstance(value, list):
        return [_local(path, part, context=context) for part in value]
    if not isinstance(value, dict):
        return value
    if "@import" in value:
        raise DataError(f"{path} imports the context {value['@import']}, and nothing is fetched")
    found = {}
    for key, part in value.items():
        is_context = key == "@context"
        found[key] = part if context and not is_context else _local(path, part, context=is_context)
    return found


def _end(address: str) -> str:
    """The last part of an address, read as words."""
    end = re.split(r"[/#:]", address.rstrip("/#"))[-1]
    return " ".join(unquote(end).replace("_", " ").split()) or address
