"""Facts from a user's file."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.world_case import WorldCase

from inweights.errors import DataError
from inweights.worlds import Triples, open_world

FACTS = [
    ("ann", "mother", "beth"),
    ("beth", "born_in", "rome"),
    ("rome", "in", "italy"),
]


def write(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


def lines(mark: str, *, header: bool = False) -> str:
    rows = [("Subject", "Relation", "Object"), *FACTS] if header else FACTS
    return "\n".join(mark.join(row) for row in rows) + "\n"


FAMILY = str(Path(__file__).parents[1] / "data" / "family.csv")


class TestTriples(WorldCase):
    configs = [Triples(path=FAMILY), Triples(path=FAMILY, identity=0.5)]


@pytest.mark.parametrize("mark", [",", "\t", ";"])
@pytest.mark.parametrize("header", [True, False])
def test_delimiter_and_header_are_found(
    tmp_path: Path, mark: str, header: bool
) -> None:
    made = open_world(write(tmp_path / "f.csv", lines(mark, header=header)))
    told = [made.vocabulary.text(made.facts.prompt(i)) for i in range(len(made.facts))]
    assert told == ["ann mother", "beth born_in", "rome in"]
    asked = [
        made.vocabulary.text(made.queries.prompt(i)) for i in range(len(made.queries))
    ]
    assert asked == ["ann mother born_in", "beth born_in in"]
    assert made.queries.out_of_distribution.all()


def test_json_lines(tmp_path: Path) -> None:
    text = "\n".join(
        f'{{"head": "{s}", "relation": "{r}", "tail": "{o}"}}' for s, r, o in FACTS
    )
    assert len(open_world(write(tmp_path / "f.jsonl", text)).facts) == 3


def test_identities_are_those_of_bridges(tmp_path: Path) -> None:
    path = write(tmp_path / "f.csv", lines(","))
    made = open_world(path, ["identity=true"])
    rows = made.facts.with_role("identity")
    assert [made.vocabulary.text(made.facts.prompt(int(i))) for i in rows] == [
        "beth",
        "rome",
    ]
    half = [open_world(path, ["identity=0.5"], seed) for seed in range(8)]
    chosen = {made.vocabulary.text(made.facts.prompt(3)) for made in half}
    assert chosen == {"beth", "rome"}


def test_a_fact_said_twice_is_one(tmp_path: Path) -> None:
    assert len(open_world(write(tmp_path / "f.csv", lines(",") * 2)).facts) == 3


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("f.csv", "a,r,b\na,r\n", "line 2: expected three .* got 2"),
        ("f.csv", "a,r,b\n\nb, ,c\n", "line 3: expected three .* got 3"),
        ("f.csv", "", "contains no facts"),
        ("f.jsonl", '{"subject": "a"\n', "line 1: not a JSON object"),
        (
            "f.jsonl",
            '{"subject": "a", "relation": "r"}\n',
            "line 1 has keys .*known word for object",
        ),
    ],
)
def test_files_that_cannot_be_read(
    tmp_path: Path, name: str, text: str, says: str
) -> None:
    with pytest.raises(DataError, match=says):
        open_world(write(tmp_path / name, text))


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(DataError, match="there is no file"):
        Triples(path="nowhere.csv").build()
    with pytest.raises(DataError, match="no file is given"):
        Triples().build()
