"""The corrected copy: merged names, removed repetitions, separate contradictions."""

from __future__ import annotations

import csv
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inweights.audit import audit, mend, write_mended
from inweights.audit.correction.edits import count_edits, differ_in_words
from inweights.audit.correction.near import Near, _is_best, near_spellings
from inweights.cli import main
from inweights.worlds import read_knowledge

ROWS = [
    "Malmö Hub,opened on,2019-05-01",
    "Malmö Hub,opened on,2020-05-01",
    "Oslo Hub,opened on,2018-01-01",
    "Bergen Hub,opened on,2017-01-01",
    "Turku Hub,opened on,2016-01-01",
    "Malmo Hub,lies in,Malmö",
    "Oslo Hub,lies in,Oslo",
    'Oslo Hub,motto,"Be ""kind"", always"',
    'Oslo Hub,motto,"Be ""kind"", always"',
    "Ann,works in,Malmö Hub",
    "Bob,works in,n/a",
    "Ann,grade,A+",
    "Bob,grade,A-",
    "Cid,works at,MALMÖ HUB",
    "Dee,Works in,Oslo Hub",
    "Ann,works in,Malmo Hub",
]


def write(folder: Path, *rows: str) -> Path:
    path = folder / "facts.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, *ROWS)
    out = tmp_path / "mended"
    assert main(["audit", str(path), "--no-forecast", "--fix", str(out)]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert (
        "facts.csv, 11 facts; 3 names changed, 2 duplicates removed, 3 facts set apart"
        in told
    )
    left = read_knowledge(out / "facts.csv")
    assert [left.names(i) for i in range(len(left))] == [
        ("Oslo Hub", "opened on", "2018-01-01"),
        ("Bergen Hub", "opened on", "2017-01-01"),
        ("Turku Hub", "opened on", "2016-01-01"),
        ("Malmö Hub", "lies in", "Malmö"),
        ("Oslo Hub", "lies in", "Oslo"),
        ("Oslo Hub", "motto", 'Be "kind", always'),
        ("Ann", "works in", "Malmö Hub"),
        ("Ann", "grade", "A+"),
        ("Bob", "grade", "A-"),
        ("Cid", "works at", "Malmö Hub"),
        ("Dee", "works in", "Oslo Hub"),
    ]
    with (out / "set_apart.csv").open(encoding="utf-8", newline="") as file:
        apart = list(csv.reader(file))
    assert [row[0] for row in apart] == ["line", "1", "2", "11"]
    assert (
        apart[1][-1]
        == "2 values (2019-05-01, 2020-05-01); nearly all other subjects have one"
    )
    with (out / "changes.csv").open(encoding="utf-8", newline="") as file:
        changes = [
            (row["line"], row["change"], row["after"]) for row in csv.DictReader(file)
        ]
    assert changes == [
        ("1", "set apart", ""),
        ("2", "set apart", ""),
        ("6", "renamed", "Malmö Hub"),
        ("9", "left out", ""),
        ("11", "set apart", ""),
        ("14", "renamed", "Malmö Hub"),
        ("15", "renamed", "works in"),
        ("16", "left out", ""),
    ]
    # Nothing was replaced.
    assert main(["audit", str(path), "--no-forecast", "--fix", str(out)]) == 2
    assert "already exists" in capsys.readouterr().err


def test_literals_are_no_entities(tmp_path: Path) -> None:
    rows = [
        "Ann,born,1980",
        "Bob,born,1980",
        "Cid,born,1990-01-01",
        "Ann,in,Rome",
        "Rome,size,3",
    ]
    more = [f"P{i},likes,Rome" for i in range(10)]
    made = audit(read_knowledge(write(tmp_path, *rows, *more)), forecast=False)
    assert made.entity_positions["literal"] == 3
    assert made.entity_positions["object only"] == 0
    again = read_knowledge(write(tmp_path, *rows, *more, "1980,event,Olympics"))
    (remark,) = [r for r in again.remarks if r.kind == "literal"]
    assert remark.lines == (1, 16)


def test_inverses_that_are_told_in_part(tmp_path: Path) -> None:
    rows = [
        row for i in range(5) for row in (f"p{i},reports to,m{i}", f"m{i},manages,p{i}")
    ]
    facts = read_knowledge(write(tmp_path, *rows, "q,reports to,m1", "r,reports to,m2"))
    (remark,) = [r for r in facts.remarks if r.kind == "inverse"]
    assert "reports to states 5 of the 5 triples of manages in reverse" in remark.text
    assert remark.text.endswith(
        "2 triples of reports to are stated in one direction only"
    )


NAMES = st.sampled_from(
    ["Ann", "ANN", "São", "Sao", "n/a", "1980", "1981", 'a "b", c', "Bob", "x;y"]
)


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.tuples(NAMES, st.sampled_from(["r", "R", "born"]), NAMES), min_size=1)
)
def test_nothing_is_lost_and_twice_is_once(rows: list[tuple[str, str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "facts.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("subject", "relation", "object"), *rows])
        facts = read_knowledge(path)
        made = mend(facts)
        repeated = made.changes.filter(change="left out").height
        assert made.facts.height + made.apart.height + repeated == len(rows)
        if made.facts.height:
            again = mend(read_knowledge(write_mended(made, Path(folder) / "out")))
            assert set(again.changes["change"]) <= {"to decide"}
            assert again.facts.drop("line").equals(made.facts.drop("line"))


def test_near_spellings_are_asked_or_renamed_and_conflicts_and_turned_rows_are_listed(
    tmp_path: Path,
) -> None:
    people = (
        "Hugo Lindqvist",
        "Ada Moreau",
        "Ravi Okafor",
        "Olga Svensson",
        "Tomas Moss",
    )
    rows = [f"{person},works in,Lyon" for person in people]
    rows += [
        f"{person},born in,{town}" for person, town in zip(people, "ABCDE", strict=True)
    ]
    rows += ["Ada Moreau,neighbour,Ravi Okafor", "Ravi Okafor,neighbour,Ada Moreau"]
    rows += ["Olga Svensson,neighbour,Tomas Moss", "Tomas Moss,neighbour,Olga Svensson"]
    rows += ["Hugo Lindquist,neighbour,Hanna Lee", "Ada Moreau,works in,Nice"]
    knowledge = read_knowledge(write(tmp_path, *rows))
    asked = mend(knowledge).changes.filter(change="to decide")
    assert ("Hugo Lindquist", "Hugo Lindqvist") in asked.select(
        "before", "after"
    ).rows()
    assert asked["before"].str.starts_with("Ada Moreau, works in").sum() == 2
    made = mend(knowledge, near=True)
    renamed = made.changes.filter(change="renamed")
    assert renamed.select("before", "after").rows() == [
        ("Hugo Lindquist", "Hugo Lindqvist")
    ]
    assert made.missing.select("subject", "relation", "object").rows() == [
        ("Hanna Lee", "neighbour", "Hugo Lindqvist")
    ]


def test_one_pair_that_is_there_both_ways_tells_that_another_lacks_its_turn(
    tmp_path: Path,
) -> None:
    rows = ["Ada,spouse,Ravi", "Ravi,spouse,Ada", "Olga,spouse,Tomas", "Ada,likes,Olga"]
    missing = mend(read_knowledge(write(tmp_path, *rows))).missing
    assert missing.select("subject", "relation", "object").rows() == [
        ("Tomas", "spouse", "Olga")
    ]


def test_near_spellings_say_how_many_of_their_facts_agree() -> None:
    names = ["Hugo Lindquist", "Hugo Lindqvist", "works in", "Lyon", "born in", "Oslo"]
    triples = np.array([[0, 2, 3], [1, 2, 3], [1, 4, 5], [0, 4, 5]])
    (near,) = near_spellings(names, triples)
    assert near.why == "1 letter apart; 2 facts agree"


def test_the_spelling_with_fewer_agreeing_facts_is_not_the_best() -> None:
    rivals = {0: [1, 2]}
    weaker = Near(0, 1, "1 letter apart", agree=1, sure=True)
    assert not _is_best(weaker, rivals)
    assert _is_best(weaker._replace(other=2, agree=2), rivals)
    assert not _is_best(weaker, {0: [1, 1]})


def edits(one: str, other: str) -> int:
    """Compute the edit distance by its recursive definition."""
    if not one or not other:
        return len(one) + len(other)
    least = min(edits(one[:-1], other), edits(one, other[:-1])) + 1
    least = min(least, edits(one[:-1], other[:-1]) + (one[-1] != other[-1]))
    if one[-2:] == other[-2:][::-1] and len(one) > 1 < len(other):
        least = min(least, edits(one[:-2], other[:-2]) + 1)
    return least


@given(st.text("abc", max_size=5), st.text("abc", max_size=5))
@settings(deadline=None)
def test_edits_are_counted_as_they_are_defined(one: str, other: str) -> None:
    assert count_edits(one, other) == edits(one, other)


@pytest.mark.parametrize(
    ("one", "other", "differ"),
    [
        ("anna berg", "anne berg", True),
        ("hall a", "hall b", False),  # letters that are compared
        ("team 1", "team 2", False),
        ("team1", "team2", False),
        ("new york", "newyork", True),
        ("room 12", "room12", False),
        ("anna berg", "anna berg", True),
    ],
)
def test_what_counts_is_no_spelling(one: str, other: str, *, differ: bool) -> None:
    assert differ_in_words(one, other) is differ


def test_a_placeholder_is_set_apart_wherever_it_stands(tmp_path: Path) -> None:
    path = write(
        tmp_path, "n/a,works in,Rome", "Ann,works in,unknown", "Bob,works in,Rome"
    )
    assert mend(read_knowledge(path)).apart["line"].to_list() == [1, 2]


def test_numbered_names_and_people_with_facts_of_their_own_are_not_near(
    tmp_path: Path,
) -> None:
    people = ("Anna Berg", "Anne Berg", "Team 1", "Team 2", "Hall A", "Hall B")
    rows = [f"{person},born on,19{k}0-01-01" for k, person in enumerate(people, 3)]
    assert mend(read_knowledge(write(tmp_path, *rows)), near=True).changes.is_empty()


def test_cleaning_finds_planted_errors() -> None:
    from benchmarks.cleaning import measured

    scores = measured(files=4, seed=200)
    assert scores["recall"] >= 0.8
    assert scores["precision"] >= 0.9
