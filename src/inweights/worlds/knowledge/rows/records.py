"""Read facts from JSON: objects with three keys, lists of three, and formats of published sets.

:class:`Records` determines the format of each record. :func:`json_rows` reads files
with it, and rows of the Hugging Face hub are read with the same class.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, starmap
from pathlib import Path
from typing import Any

from inweights.errors import DataError
from inweights.worlds.knowledge.rows.refused import refusal_of
from inweights.worlds.knowledge.rows.row import Row, row_of
from inweights.worlds.knowledge.rows.text import table_rows
from inweights.worlds.readers import published
from inweights.worlds.readers.graphs.graph_files import is_linked
from inweights.worlds.readers.graphs.linked import linked_facts
from inweights.worlds.readers.neo4j import (
    export_record_facts,
    is_export_record,
    node_name,
)
from inweights.worlds.readers.remark import Remark
from inweights.worlds.readers.tables.arrange import Layout
from inweights.worlds.readers.tables.headers import FACTS, places_of

#: Keys of an object under which a list of facts is looked up.
_LISTS = (
    "triples",
    "triplets",
    "triple_list",
    "facts",
    "statements",
    "relations",
    "data",
    "rows",
)


class Records:
    """Reader of the facts in JSON records.

    Args:
        path: The file, used in error messages.
        layout: Columns, as specified by the caller; for objects, the names of their
            keys.
        remarks: List to which remarks on assumptions are appended while records are
            read.
        edited: Whether to read edited facts instead of the original ones, in a
            published set that contains both.
    """

    def __init__(
        self, path: str | Path, layout: Layout, remarks: list[Remark], *, edited: bool
    ) -> None:
        """Store how records are to be read; nothing is read yet.

        Args:
            path: The file, used in error messages.
            layout: Columns or keys, as specified by the caller.
            remarks: List to which remarks are appended while records are read.
            edited: Whether to read edited facts instead of the original ones.
        """
        self.path = path
        self.layout = layout
        self.remarks = remarks
        self.edited = edited
        self._remarked: set[str] = set()

    def rows(self, records: Sequence[tuple[int, Any]], unit: str) -> Iterator[Row]:
        """Yield the facts of numbered records.

        Args:
            records: Number and value of each record.
            unit: Unit of the numbers in error messages: ``line`` or ``case``.

        Yields:
            The facts in the order of the records. The line of a fact is the number of
            its record.

        Raises:
            DataError: A record is not a fact; the message lists its keys and says what
                is needed. If records are lists of texts, the error is also raised if it
                is unclear whether the first list is a header (``UnclearHeaderError``).
            ConfigError: Records are lists, and a column that the layout names does not
                exist.
        """
        if any(is_export_record(record) for _, record in records[:1]):
            exported = [(number, r) for number, r in records if is_export_record(r)]
            facts = export_record_facts(self.path, exported, self.remarks)
            yield from starmap(Row, facts)
        elif records and all(_is_list_of_texts(record) for _, record in records):
            cells = [(number, list(map(_text, record))) for number, record in records]
            yield from table_rows(
                self.path, cells, self.layout, self.remarks, line=unit
            )
        else:
            for number, record in records:
                yield from self.of_record(
                    record, number, f"{self.path}, {unit} {number}"
                )

    def whole(self, found: Any) -> Iterator[Row]:
        """Yield the facts in the value of a whole file: a list, or an object that contains one.

        Args:
            found: One of the following: a list of records; an object with a list under
                one of the keys ``triples``, ``triplets``, ``triple_list``, ``facts``,
                ``statements``, ``relations``, ``data`` or ``rows``, or with a single
                list under any key; a graph of nodes and links; results of a SPARQL
                query; or an object of objects, whose keys are subjects and whose inner
                keys are relations.

        Yields:
            The facts, each with the number of its record (from 1) as its line.

        Raises:
            DataError: The value contains no list of facts, or a record is not a fact.
            ConfigError: Records are lists, and a column that the layout names does not
                exist.
        """
        if isinstance(found, Mapping):
            if isinstance(found.get("elements"), Mapping):
                found = found["elements"]  # the format of Cytoscape
            if is_linked(found):
                yield from starmap(Row, linked_facts(self.path, found, self.remarks))
                return
            found = self._list_in(found)
        yield from self.rows([*enumerate(found, start=1)], "case")

    def of_record(self, record: Any, number: int, where: str) -> Iterator[Row]:
        """Yield the facts of one record, which may contain several.

        Args:
            record: One of the following: an object with the keys of a fact; an object
                that contains a list of facts under one of the keys that :meth:`whole`
                lists; or a record of a published data set (MQuAKE, CounterFact,
                TwoHopFact or SOCRATES).
            number: Number of the record, which becomes the line of its facts.
            where: File and number, used in error messages.

        Yields:
            The facts in their order; usually one, several for a chain or a list of facts.

        Raises:
            DataError: The record is not an object, lacks a subject, a relation or an
                object, or has a value that is not a string or number.
        """
        if published.is_mquake(record):
            facts = published.mquake_facts(record, where, edited=self.edited)
            yield from (Row(number, fact, chain=True) for fact in facts)
        elif published.is_counterfact(record):
            when = "after" if self.edited else "before"
            self._remark(
                "format",
                f"CounterFact: the facts {when} their edit are read, with the ids of relations as "
                "names",
            )
            fact = published.counterfact_fact(record, where, edited=self.edited)
            yield Row(number, fact)
        elif not isinstance(record, Mapping):
            raise DataError(
                f"{where}: expected a JSON object, got {json.dumps(record)[:40]}"
            )
        else:
            yield from self._of_object(record, number, where)

    def _of_object(
        self, record: Mapping[str, Any], number: int, where: str
    ) -> Iterator[Row]:
        """Yield the facts of an object."""
        lower = {str(key).lower(): value for key, value in record.items()}
        if published.is_two_hop(list(lower)):
            plain = {key: "" if v is None else str(v) for key, v in lower.items()}
            facts = published.two_hop_facts(plain, where)
            yield from (Row(number, fact, chain=True) for fact in facts)
            return
        keys = tuple(map(str, record))
        places = self._places(keys)
        if places is None:
            # Sentences with the triples that they state, as in data sets of relations.
            inner = [lower[key] for key in _LISTS if isinstance(lower.get(key), list)]
            if len(inner) == 1 and inner[0] is not record:
                for part in inner[0]:
                    yield from self._inner(part, number, where)
                return
            raise refusal_of(keys, where)
        values = list(record.values())
        fields = [self._field(values[places[role]], role, where) for role in FACTS]
        stage = values[places["stage"]] if "stage" in places else None
        yield row_of(fields, "" if stage is None else str(stage), number, where)

    def _inner(self, part: Any, number: int, where: str) -> Iterator[Row]:
        """Yield the facts of an entry in the list of a record."""
        if _is_list_of_texts(part) and len(part) == len(FACTS):
            self._remark(
                "order", "lists of three are read as subject, relation and object"
            )
            yield row_of(list(map(_text, part)), "", number, where)
        elif isinstance(part, Mapping):
            yield from self._of_object(part, number, where)
        else:
            raise DataError(
                f"{where}: expected a fact of three values, got {json.dumps(part)[:40]}"
            )

    def _places(self, keys: tuple[str, ...]) -> Mapping[str, int] | None:
        """Return the indices of subject, relation and object among the keys, or ``None``."""
        if not self.layout.columns:
            return _places(keys)
        lower = list(map(str.casefold, keys))
        named = list(map(str.casefold, self.layout.columns))
        if len(named) != len(FACTS) or not set(named) <= set(lower):
            return None
        return dict(zip(FACTS, map(lower.index, named), strict=True))

    def _field(self, value: Any, role: str, where: str) -> str:
        """Return a value as text; for an object, its name.

        Args:
            value: The value.
            role: Role of the value in the fact, used in error messages.
            where: File and number, used in error messages.

        Raises:
            DataError: The value is not a string, a number or an object with a name.
        """
        if isinstance(value, Mapping):  # a node with a name of its own
            found = node_name({str(key).lower(): v for key, v in value.items()}, "")
            found = found or _text(value.get("value", value.get("str")))
            if found:
                return found
        if isinstance(value, Mapping | list | bool):
            several = "; write one object per fact" if isinstance(value, list) else ""
            shown = json.dumps(value)[:40]
            raise DataError(f"{where}: {role} must be a string, got {shown}{several}")
        return _text(value)

    def _list_in(self, found: Mapping[str, Any]) -> Sequence[Any]:
        """Return the list of facts in an object, or a list made of its keys and values."""
        full = {key: value for key, value in found.items() if value}
        lists = {key: value for key, value in full.items() if isinstance(value, list)}
        # The list under a usual key, or the only list, whatever its key is.
        named = [key for key in lists if str(key).lower() in _LISTS]
        results = found.get("results")
        if isinstance(results, Mapping) and isinstance(results.get("bindings"), list):
            self._remark("format", "the file is read as results of a SPARQL query")
            return list(results["bindings"])
        if len(named) == 1 or len(lists) == 1:
            key = named[0] if len(named) == 1 else next(iter(lists))
            self._remark(
                "format", f"facts are read from the list under the key '{key}'"
            )
            return lists[key]
        if found and all(isinstance(value, Mapping) for value in found.values()):
            self._remark(
                "format", "keys are read as subjects, and the keys within as relations"
            )
            return list(chain.from_iterable(starmap(_spread, found.items())))
        keys = ", ".join(map(str, list(found)[:8])) or "none"
        raise DataError(
            f"{self.path} contains no list; expected a list of facts, each an object, or the cases "
            f"of MQuAKE; its keys are {keys}"
        )

    def _remark(self, kind: str, text: str) -> None:
        """Add a remark, unless it was added before."""
        if text not in self._remarked:
            self._remarked.add(text)
            self.remarks.append(Remark(kind, (), text))


@lru_cache(maxsize=256)
def _places(keys: tuple[str, ...]) -> Mapping[str, int] | None:
    """Return the result of :func:`places_of`, cached because most objects have the same keys."""
    return places_of(keys)


def _is_list_of_texts(record: Any) -> bool:
    """Return whether a record is a list of at least three values that can be read as text."""
    if not isinstance(record, list) or len(record) < len(FACTS):
        return False
    return all(isinstance(cell, str | int | float) or cell is None for cell in record)


def _spread(name: str, inner: Mapping[str, Any]) -> Iterator[list[Any]]:
    """Yield the facts of a subject whose relations are the keys of an object."""
    for relation, values in inner.items():
        for value in values if isinstance(values, list) else [values]:
            if value is not None:
                yield [name, relation, value]


def _text(value: Any) -> str:
    """Return a value as text; empty for null."""
    return "" if value is None else str(value)
