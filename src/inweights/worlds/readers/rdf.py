"""Facts from RDF: Turtle and N-Triples, by ``rdflib``; nothing is fetched."""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from inweights.errors import DataError
from inweights.support.extras import optional
from inweights.support.limits import check_file, read_text
from inweights.worlds.readers.published import Fact

#: Suffixes and what rdflib calls them. XML (entities) and JSON-LD (remote contexts) are not read.
FORMATS = {".ttl": "turtle", ".nt": "nt"}
_CALLED = {"turtle": "Turtle", "nt": "N-Triples"}
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


def rdf_facts(path: Path) -> Iterator[tuple[int, Fact]]:
    """Yield every triple between names, numbered in the order of the file.

    What a thing is called (``rdfs:label``, ``skos:prefLabel``, ``foaf:name``, ``schema:name``; in
    English, or without a language) is its name, else the end of its address; of two with one name
    the second is called by its whole address. Blank nodes have no name, and their triples are left
    out.
    """
    optional("rdf", f"reading {path}")
    from rdflib import BNode, Literal

    check_file(path, factor=_MEMORY)
    found = _parsed(path)
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


def _parsed(path: Path) -> list[tuple[Any, Any, Any]]:
    """All triples of a file, in its order."""
    from rdflib import Graph

    kind = FORMATS[path.suffix.lower()]
    found: list[tuple[Any, Any, Any]] = []

    class Listed(Graph):
        """Keeps the triples as they come; rdflib's own store has them in no order."""

        def add(self, triple: Any) -> Listed:
            found.append(triple)
            return self

    logger = logging.getLogger("rdflib.term")  # prints what looks odd to it
    before, logger.disabled = logger.disabled, True
    try:
        Listed(bind_namespaces="none").parse(data=read_text(path), format=kind)
    except DataError:
        raise
    except Exception as error:  # noqa: BLE001 - rdflib raises no narrower one for a bad file
        what = re.sub(r"\s+", " ", str(error)).strip(" :")[:200]
        raise DataError(f"{path} is not {_CALLED[kind]}: {what}") from None
    finally:
        logger.disabled = before
    return found


def _end(address: str) -> str:
    """The last part of an address, read as words."""
    end = re.split(r"[/#:]", address.rstrip("/#"))[-1]
    return " ".join(unquote(end).replace("_", " ").split()) or address
