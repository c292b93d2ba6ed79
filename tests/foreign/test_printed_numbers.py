"""Every number that ``audit`` prints about a file is recounted in plain Python.

Numbers that are not counted here are listed in :data:`NOT_COUNTED` with a reason, so that
a new number has to be counted or explained.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from inweights.cli import main

DATA = Path(__file__).parent / "data" / "facts"
Row = tuple[str, str, str]

#: Numbers of the program that are not counts of the file's rows.
NOT_COUNTED = {
    "complexity": "a theory's number: hidden dimensions that the relations need",
    "expected": "what follows from the complexity at best",
    "contained": "compares spellings of subject and object",
    "values": "counted where relations are",
    "seconds": "a time",
    "listed": "the share of a large file's chains that is listed; 1 here",
}


@pytest.fixture(scope="module")
def florentine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the marriages of Florentine families in networkx, each once."""
    file = tmp_path_factory.mktemp("graphs") / "florentine.csv"
    edges = nx.florentine_families_graph().edges
    rows = ["subject,relation,object", *(f"{a},married,{b}" for a, b in edges)]
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return file


@pytest.fixture(params=["citystates", "homonyms", "florentine"])
def file(request: pytest.FixtureRequest) -> Path:
    if request.param == "florentine":
        found: Path = request.getfixturevalue("florentine")
        return found
    return DATA / f"{request.param}.csv"


def rows_of(file: Path) -> list[Row]:
    """Return the distinct facts of a file."""
    with file.open(encoding="utf-8", newline="") as text:
        rows = [
            (row["subject"], row["relation"], row["object"])
            for row in csv.DictReader(text)
        ]
    return list(dict.fromkeys(rows))


def audited(file: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["audit", str(file), "--no-forecast", "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def chains_of(rows: list[Row]) -> list[tuple[Row, Row]]:
    return [(one, two) for one in rows for two in rows if one[2] == two[0]]


def test_numbers_of_the_whole_file(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, found = rows_of(file), audited(file, capsys)
    subjects, objects = {row[0] for row in rows}, {row[2] for row in rows}
    assert found["facts"] == len(rows)
    assert found["entities"] == len(subjects | objects)
    assert found["ends"] == {
        "subject only": len(subjects - objects),
        "object only": len(objects - subjects),
        "both": len(subjects & objects),
        "literal": 0,
    }
    stated = {(row[0], row[2]) for row in rows}
    leaks = {(one, two) for one, two in chains_of(rows) if (one[0], two[2]) in stated}
    assert found["leaks_found"] == len(leaks)


def test_numbers_of_relations(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows, found = rows_of(file), audited(file, capsys)
    assert {one["relation"] for one in found["relations"]} == {row[1] for row in rows}
    for one in found["relations"]:
        own = [row for row in rows if row[1] == one["relation"]]
        most = Counter(row[2] for row in own).most_common(1)[0][1]
        assert one["triples"] == len(own)
        assert one["subjects"] == len({row[0] for row in own})
        assert one["objects"] == len({row[2] for row in own})
        assert one["values"] == pytest.approx(len(own) / one["subjects"])
        # Of subjects with this relation.
        assert one["share"] == pytest.approx(most / one["subjects"])


def test_numbers_of_compositions(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, found = rows_of(file), audited(file, capsys)
    chains = chains_of(rows)
    pairs = Counter((one[1], two[1]) for one, two in chains)
    printed = {(one["first"], one["second"]): one for one in found["compositions"]}
    assert {pair: one["chains"] for pair, one in printed.items()} == pairs
    stated = {(row[0], row[2]) for row in rows}
    for (first, second), made in printed.items():
        own = [(a, b) for a, b in chains if (a[1], b[1]) == (first, second)]
        assert made["subjects"] == len({a[0] for a, _ in own})
        assert made["bridges"] == len({a[2] for a, _ in own})
        assert made["answers"] == len({b[2] for _, b in own})
        assert made["stated"] == sum((a[0], b[2]) in stated for a, b in own)


def test_numbers_of_bridges(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows, found = rows_of(file), audited(file, capsys)
    bridges = {row[2] for row in rows} & {row[0] for row in rows}
    assert {one["entity"] for one in found["bridges"]} == bridges
    for one in found["bridges"]:
        assert one["incoming"] == sum(row[2] == one["entity"] for row in rows)
        assert one["outgoing"] == sum(row[0] == one["entity"] for row in rows)


def test_every_number_is_counted_or_explained(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    counted = {
        "facts",
        "entities",
        "leaks_found",
        "subject only",
        "object only",
        "both",
        "literal",
    }
    counted |= {
        "triples",
        "subjects",
        "objects",
        "values",
        "share",
        "chains",
        "bridges",
    }
    counted |= {"answers", "stated", "incoming", "outgoing"}
    # Line numbers to which remarks refer.
    places = {
        "line",
        "lines",
        "fact",
        "first",
        "second",
    }
    names = set(names_of_numbers(audited(file, capsys)))
    assert names - counted - places <= NOT_COUNTED.keys()


def names_of_numbers(data: Any, name: str = "") -> list[str]:
    """Return the keys that contain numbers."""
    if isinstance(data, dict):
        return [
            one for key, value in data.items() for one in names_of_numbers(value, key)
        ]
    if isinstance(data, list):
        return [one for value in data for one in names_of_numbers(value, name)]
    return (
        [name] if isinstance(data, int | float) and not isinstance(data, bool) else []
    )
