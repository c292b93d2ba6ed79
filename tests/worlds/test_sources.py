"""Facts from Wikidata, RDF, databases and the Hugging Face hub."""

from __future__ import annotations

import bz2
import gzip
import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from inweights.errors import ConfigError, DataError
from inweights.worlds import Knowledge, Triples, read_knowledge
from inweights.worlds.readers import wikidata


def told(facts: Knowledge) -> list[tuple[str, str, str]]:
    return [facts.names(i) for i in range(len(facts))]


def claim(
    kind: str, value: Any, rank: str = "normal", datatype: str = "any"
) -> dict[str, Any]:
    snak = {
        "snaktype": "value",
        "datatype": datatype,
        "datavalue": {"type": kind, "value": value},
    }
    return {"mainsnak": snak, "rank": rank}


def item(
    key: str, label: str, claims: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    labels = {"en": {"language": "en", "value": label}} if label else {}
    kind = "property" if key.startswith("P") else "item"
    return {"type": kind, "id": key, "labels": labels, "claims": claims or {}, **more}


def entity(key: str) -> dict[str, str]:
    return {"id": key}


DUMP = [
    item(
        "Q42",
        "Douglas Adams",
        {
            "P19": [claim("wikibase-entityid", entity("Q350"))],
            "P569": [claim("time", {"time": "+1952-03-11T00:00:00Z", "precision": 11})],
            "P570": [
                claim(
                    "time",
                    {"time": "+2001-05-00T00:00:00Z", "precision": 10},
                    "preferred",
                ),
                claim("time", {"time": "+2002-00-00T00:00:00Z", "precision": 9}),
            ],
            "P2048": [claim("quantity", {"amount": "+1.96", "unit": "1"})],
            "P18": [claim("string", "face.jpg", datatype="commonsMedia")],
            "P26": [{"mainsnak": {"snaktype": "novalue"}, "rank": "normal"}],
            "P551": [
                claim("wikibase-entityid", entity("Q7")),
                claim("wikibase-entityid", entity("Q8"), "deprecated"),
            ],
        },
    ),
    item("Q350", "Cambridge", aliases={"en": [{"language": "en", "value": "Cantab"}]}),
    item("Q7", "Cambridge"),
    item("P19", "place of birth"),
    item("P569", "born"),
]
FACTS = [
    ("Douglas Adams", "place of birth", "Cambridge"),
    ("Douglas Adams", "born", "1952-03-11"),
    ("Douglas Adams", "P570", "2001-05"),
    ("Douglas Adams", "P2048", "1.96"),
    ("Douglas Adams", "P551", "Cambridge (Q7)"),
]


@pytest.mark.parametrize(
    "form", ["array.json", "lines.jsonl", "array.json.gz", "array.json.bz2", "id.json"]
)
def test_a_dump_of_wikidata(tmp_path: Path, form: str) -> None:
    # Keys may be in any order.
    first = {"id": {"id": ""}}.get(form.split(".", maxsplit=1)[0], {})
    lines = [json.dumps(first | each) for each in DUMP]
    text = "\n".join(lines) if "lines" in form else "[\n" + ",\n".join(lines) + "\n]\n"
    data = text.encode()
    packed = {".gz": gzip.compress(data), ".bz2": bz2.compress(data)}
    (tmp_path / form).write_bytes(packed.get(Path(form).suffix, data))
    facts = read_knowledge(tmp_path / form)
    assert told(facts) == FACTS
    assert facts.aliases == {"Cambridge": ("Cantab",)}


def test_a_dump_that_is_not_compressed_as_it_says_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "dump.json.gz"
    # A valid header, followed by blocks of an invalid type.
    path.write_bytes(gzip.compress(b"")[:10] + b"\xff" * 20)
    with pytest.raises(DataError, match="only dumps of Wikidata"):
        read_knowledge(path)
    with pytest.raises(DataError, match=r"cannot read .* while decompressing"):
        list(wikidata.wikidata_facts(path))


def test_the_data_of_one_item(tmp_path: Path) -> None:
    path = tmp_path / "Q42.json"
    path.write_text(json.dumps({"entities": {each["id"]: each for each in DUMP}}))
    assert told(read_knowledge(path)) == FACTS


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (
            '{"type":"item","id":"Q1","claims":{"P1":[{"mainsnak":{}}]}}',
            "line 2: a statement of Q1",
        ),
        ('{"type":"item"', "line 2: not an item"),
        ("[1]", "line 2: an item is not a JSON object"),
        ('{"type":"item","id":[]}', "line 2: an item is not a JSON object with an id"),
        ("[" * 5000, "line 2: not an item"),
        (" " * 300, "line 2 has more than 200 B"),
    ],
)
def test_damaged_dumps_name_the_line(
    tmp_path: Path, line: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wikidata, "LINE", 200 if line.isspace() else wikidata.LINE)
    path = tmp_path / "dump.json"
    path.write_text(f'[{{"type":"item","id":"Q9","claims":{{}}}},\n{line}\n')
    with pytest.raises(DataError, match=says):
        read_knowledge(path)


TURTLE = """@prefix ex: <http://ex.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:ann ex:lives_in ex:new_york ; rdfs:label "Anne"@fr , "Ann"@en ; ex:born "1980-01-02" .
ex:new_york ex:country ex:S%C3%A3o . ex:new_york ex:twin <http://other.org/S%C3%A3o> .
[] ex:owns ex:ann .
"""


def test_turtle(tmp_path: Path) -> None:
    (tmp_path / "f.ttl").write_text(TURTLE, encoding="utf-8")
    assert told(read_knowledge(tmp_path / "f.ttl")) == [
        ("Ann", "lives in", "new york"),
        ("Ann", "born", "1980-01-02"),
        ("new york", "country", "São"),
        ("new york", "twin", "http://other.org/S%C3%A3o"),
    ]


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("f.ttl", "ann lives rome .", "is not Turtle"),
        ("f.nt", "<http://a> <http://b> .", "is not N-Triples: Invalid line"),
        ("f.rdf", "<rdf/>", r"give Turtle \(\.ttl\)"),
        ("f.db", "", "sqlite:///FILE with --query"),
        ("f.csv.gz", "", "only dumps of Wikidata"),
    ],
)
def test_what_is_no_rdf_says_so(
    tmp_path: Path, name: str, text: str, says: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=says):
        read_knowledge(tmp_path / name)


@pytest.fixture
def base(tmp_path: Path) -> str:
    path = tmp_path / "facts.db"
    with closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE people (name, town, born)")
        made.execute(
            "INSERT INTO people VALUES ('Ann', 'Rome', 1980), ('Bob', 'Oslo', NULL)"
        )
        made.commit()
    return f"sqlite:///{path}"


def test_a_query(base: str) -> None:
    query = "SELECT town AS object, 'lives in' AS relation, name AS subject FROM people"
    assert told(read_knowledge(base, query=query)) == [
        ("Ann", "lives in", "Rome"),
        ("Bob", "lives in", "Oslo"),
    ]
    world = Triples(path=base, query="SELECT name, 'in', town FROM people").build()
    assert len(world.facts) == 2


@pytest.mark.parametrize(
    ("query", "says"),
    [
        (
            "",
            r"is a database: give --query .* it has the tables people \(name, town, born\)",
        ),
        ("SELECT name FROM people", r"gives the columns \['name'\]"),
        ("SELECT name, 'born', born FROM people", "row 2: expected three .* got 3"),
        ("SELECT * FROM nowhere", "no such table: nowhere"),
        ("DROP TABLE people", "not authorized"),
        ("ATTACH 'other.db' AS other", "not authorized"),
        ("PRAGMA writable_schema=1", "not authorized"),
        ("SELECT load_extension('x'), 1, 2", "not authorized"),
    ],
)
def test_a_query_reads_and_nothing_else(base: str, query: str, says: str) -> None:
    with pytest.raises((ConfigError, DataError), match=says):
        read_knowledge(base, query=query)
    assert not Path("other.db").exists()


def test_other_databases_need_no_password_in_the_address(
    base: str, tmp_path: Path
) -> None:
    other = base.replace("sqlite:", "sqlite+pysqlite:")
    query = "SELECT name, 'in', town FROM people"
    assert len(read_knowledge(other, query=query)) == 2
    with pytest.raises(ConfigError, match="must not contain a password") as error:
        read_knowledge("postgresql://ann:secret@host/facts", query=query)
    assert "secret" not in str(error.value)
    with pytest.raises(DataError, match="not an address of a database"):
        read_knowledge("http://example.org/facts.csv", query=query)
    with pytest.raises(ConfigError, match="--query requires a database"):
        read_knowledge("@people", query=query)


def test_the_hub_is_asked_only_where_that_is_allowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = [{"head": "Ann", "relation": "lives in", "tail": "Rome"}]
    seen: list[Any] = []

    def load_dataset(*given: Any, **options: Any) -> Any:
        seen.append((given, options))
        return {"train": iter(rows), "test": iter(rows)}

    monkeypatch.setitem(
        sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset)
    )
    with pytest.raises(ConfigError, match=r"no file someone/facts; .* pass --download"):
        read_knowledge("someone/facts")
    assert not seen
    facts = read_knowledge("someone/facts", download=True)
    assert told(facts) == [("Ann", "lives in", "Rome")]
    assert seen == [(("someone/facts",), {"streaming": True})]


def test_a_misspelt_file_is_guessed(tmp_path: Path) -> None:
    (tmp_path / "facts.csv").write_text("a,r,b\n")
    with pytest.raises(DataError, match=r"did you mean .*facts\.csv"):
        read_knowledge(tmp_path / "fatcs.csv")
