"""Read facts from RDF: Turtle, N-Triples, TriG, N-Quads and JSON-LD, with ``rdflib``.

:func:`rdf_facts` yields the triples of a file, with names for IRIs. Nothing is
downloaded.
"""

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

#: Extensions of files, and rdflib's names of their formats. XML is not supported: its
#: entities can expand to huge texts.
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
#: URLs of schema.org's context, whose terms are the last parts of their IRIs.
_SCHEMA = re.compile(r"https?://(www\.)?schema\.org/?(docs/jsonldcontext\.json)?")
#: Formats with several graphs in one file.
_NAMED = ("trig", "nquads")
#: Bytes of memory for each byte of the file. For N-Triples, 14 were measured; Turtle is
#: denser.
_MEMORY = 40
#: Properties that name a resource, in order of preference.
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
    """Yield all triples without blank nodes as facts, numbered in the order of the file.

    An entity is named by its ``rdfs:label``, ``skos:prefLabel``, ``foaf:name`` or
    ``schema:name`` in English or without a language, or else by the end of its IRI. If
    two entities have the same name, the second is named by its whole IRI. These labels
    are not facts. Blank nodes have no name, so their triples are left out. Named graphs
    are merged, and a repeated triple is yielded only once.

    Args:
        path: The file.
        kind: Name of the format in rdflib, a value of :data:`FORMATS` such as
            ``turtle``; by default (empty), the format of the file's extension.

    Yields:
        The number of each fact, from 1, and the fact. Values in languages other than
        English are left out, but are included in the numbering.

    Raises:
        ConfigError: ``rdflib`` is not installed.
        DataError: The file is missing, too large or damaged, or refers to a remote
            context.
        KeyError: ``kind`` is empty, and the extension is not a key of :data:`FORMATS`.
    """
    optional("rdf", f"reading {path}")
    from rdflib import BNode, Literal

    check_file(path, factor=_MEMORY)
    names = _Names()
    triples: list[tuple[Any, Any, Any]] = []
    for s, r, o in dict.fromkeys(_parsed(path, kind or FORMATS[path.suffix.lower()])):
        if isinstance(s, BNode) or isinstance(o, BNode):
            continue
        if isinstance(o, Literal) and str(r) in (*_NAMES, _ALSO):
            names.add(str(s), str(r), o)
        else:
            triples.append((s, r, o))
    for number, (s, r, o) in enumerate(triples, start=1):
        if isinstance(o, Literal):
            text = str(o)
            if text.strip() and o.language in _LANGUAGES:
                yield number, Fact((names.of(s), names.of(r), text))
        else:
            triple = (names.of(s), names.of(r), names.of(o))
            yield number, Fact(triple, aliases=names.others(o))


class _Names:
    """Names of resources by IRI, which are collected from the literals of a file."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._ranks: dict[str, tuple[int, int]] = {}
        self._others: defaultdict[str, list[str]] = defaultdict(list)
        self._chosen: dict[str, str] = {}
        self._taken: dict[str, str] = {}

    def add(self, address: str, relation: str, literal: Any) -> None:
        """Use a literal as the name, or as an additional name, of a resource.

        Args:
            address: IRI of the resource.
            relation: IRI of the property, which determines whether the literal is the
                name or an additional one.
            literal: Value of the property.
        """
        if literal.language not in _LANGUAGES or not str(literal).strip():
            return
        if relation == _ALSO:
            self._others[address].append(str(literal))
            return
        rank = (_NAMES.index(relation), _LANGUAGES.index(literal.language))
        if rank < self._ranks.get(address, (len(_NAMES), 0)):
            self._ranks[address] = rank
            self._names[address] = " ".join(str(literal).split())

    def of(self, address: Any) -> str:
        """Return the name of a resource; no two resources have the same name."""
        key = str(address)
        if key not in self._chosen:
            short = self._names.get(key) or _end(key)
            first = self._taken.setdefault(short, key)
            self._chosen[key] = short if first == key else key
        return self._chosen[key]

    def others(self, address: Any) -> tuple[str, ...]:
        """Return additional names (aliases) of a resource."""
        return tuple(self._others.get(str(address), ()))


def _parsed(path: Path, kind: str) -> list[tuple[Any, Any, Any]]:
    """Return all triples of a file, in its order."""
    from rdflib import Dataset, Graph
    from rdflib.plugins.stores.memory import Memory

    found: list[tuple[Any, Any, Any]] = []

    class Listed(Memory):
        """A store that returns triples in the order of the file, unlike rdflib's own."""

        def add(self, triple: Any, context: Any, quoted: bool = False) -> None:
            found.append(triple)
            super().add(triple, context, quoted)

    text = read_text(path)
    if kind == "json-ld":
        text = _without_remote_contexts(path, text)
    # this logger prints warnings about single terms
    logger = logging.getLogger("rdflib.term")
    before = logger.disabled
    logger.disabled = True
    try:
        # Rdflib calls its own deprecated functions.
        with warnings.catch_warnings():
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
    """Return JSON-LD without remote contexts; only the one of schema.org is replaced."""
    try:
        return json.dumps(_local(path, json.loads(text)))
    except json.JSONDecodeError as error:
        raise DataError(
            f"{path}, line {error.lineno}: not JSON ({error.msg})"
        ) from None
    except RecursionError:
        raise DataError(f"{path} is nested too deeply") from None


def _local(path: Path, value: Any, *, context: bool = False) -> Any:
    """Return a JSON-LD value without remote contexts, or raise :class:`DataError`."""
    if isinstance(value, str) and context:
        if _SCHEMA.fullmatch(value):
            return {"@vocab": "http://schema.org/"}
        raise DataError(
            f"{path} refers to the context {value}, which is not downloaded; put the context into "
            "the file, or expand it (jsonld expand)"
        )
    if isinstance(value, list):
        return [_local(path, part, context=context) for part in value]
    if not isinstance(value, dict):
        return value
    if "@import" in value:
        raise DataError(
            f"{path} imports the context {value['@import']}, which is not downloaded; put the "
            "context into the file, or expand it (jsonld expand)"
        )
    found = {}
    for key, part in value.items():
        is_context = key == "@context"
        found[key] = (
            part
            if context and not is_context
            else _local(path, part, context=is_context)
        )
    return found


def _end(address: str) -> str:
    """Return the last part of an IRI as words."""
    end = re.split(r"[/#:]", address.rstrip("/#"))[-1]
    return " ".join(unquote(end).replace("_", " ").split()) or address
