"""TwoHopFact, SOCRATES and MQuAKE: small samples that we wrote with the documented columns."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from inweights.audit import augment
from inweights.errors import DataError
from inweights.worlds import read_knowledge

COLUMNS = (
    "uid",
    "fact_comp_type",
    "e1.value",
    "e2.value",
    "e3.value",
    "e2.aliases",
    "e3.aliases",
    "r1.category",
    "r2.category",
    "r1(e1).prompt",
    "r2(e2).prompt",
    "r2(r1(e1)).prompt",
)
ROWS = (
    (
        "0",
        "singer-city-country",
        "Ada",
        "Tarn",
        "Velia",
        "(('Tarn City', 'Tarn'),)",
        "()",
        "person-birthcity",
        "city-cntry",
        "Ada was born in the city of",
        "Tarn is in the country of",
        "The city where Ada was born is in the country of",
    ),
    (
        "1",
        "singer-city-country",
        "Bo",
        "Tarn",
        "Velia",
        "(('Tarn City',),)",
        "not a tuple",
        "person-birthcity",
        "city-cntry",
        "Bo was born in the city of",
        "Tarn is in the country of",
        "The city where Bo was born is in the country of",
    ),
)


def two_hop_fact(path: Path, rows: Any = ROWS, columns: Any = COLUMNS) -> Path:
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([columns, *rows])
    return path


def test_two_hop_fact(tmp_path: Path) -> None:
    facts = read_knowledge(two_hop_fact(tmp_path / "TwoHopFact.csv"))
    assert [facts.names(i) for i in range(len(facts))] == [
        ("Ada", "person-birthcity", "Tarn"),
        ("Tarn", "city-cntry", "Velia"),
        ("Bo", "person-birthcity", "Tarn"),
    ]
    assert facts.lines.tolist() == [2, 2, 3]
    assert facts.remarks == ()  # two chains may share a fact
    assert facts.aliases == {"Tarn": ("Tarn City",)}
    assert facts.templates["person-birthcity"] == (
        "{subject} was born in the city of {object}.",
    )


def test_its_words_are_used(tmp_path: Path) -> None:
    made = augment(read_knowledge(two_hop_fact(tmp_path / "f.csv")))
    assert made.train["text"][0] == "Ada was born in the city of Tarn."
    assert made.plain == ()


def test_socrates_as_parquet_without_categories(tmp_path: Path) -> None:
    names = [
        c.replace("category", "template_id").replace(".aliases", ".minimal_aliases")
        for c in COLUMNS
    ]
    table = pl.DataFrame(ROWS, schema=names, orient="row")
    table.write_parquet(tmp_path / "SOCRATES.parquet")
    facts = read_knowledge(tmp_path / "SOCRATES.parquet")
    assert facts.relations == ("person-birthcity", "city-cntry")
    assert facts.lines.tolist() == [1, 1, 2]
    assert facts.aliases == {"Tarn": ("Tarn City",)}


def test_cells_may_be_long(tmp_path: Path) -> None:
    """The limit of the module ``csv``, 128 KiB per cell, is global and is not changed."""
    others = tuple(f"Tarn, called so by number {i}" for i in range(9000))
    rows = [(*ROWS[0][:5], repr((others,)), *ROWS[0][6:])]
    facts = read_knowledge(two_hop_fact(tmp_path / "f.csv", rows))
    assert facts.aliases == {"Tarn": others}
    assert csv.field_size_limit() == 131072


def test_broken_rows_are_named(tmp_path: Path) -> None:
    short = two_hop_fact(tmp_path / "a.csv", [ROWS[0], ROWS[1][:5]])
    with pytest.raises(
        DataError, match=r"a.csv, line 3: the row has 5 cells, but the header has 12"
    ):
        read_knowledge(short)
    blank = two_hop_fact(tmp_path / "b.csv", [("0", "", "Ada", "", *ROWS[0][4:])])
    with pytest.raises(DataError, match=r"b.csv, line 2: e1.value.*not be blank"):
        read_knowledge(blank)


CASE = {
    "case_id": 7,
    "questions": ["What is the capital of the country of Ann?"],
    "answer": "Port Vel",
    "single_hops": [
        {
            "question": "?",
            "cloze": "Ann is a citizen of",
            "answer": "Velia",
            "answer_alias": [],
        },
        {
            "question": "?",
            "cloze": "The capital of Velia is",
            "answer": "Port Vel",
            "answer_alias": ["Vel"],
        },
    ],
    "new_single_hops": [],
    "orig": {
        "triples": [["Q1", "P27", "Q2"], ["Q2", "P36", "Q3"]],
        "triples_labeled": [
            ["Ann", "citizen of", "Velia"],
            ["Velia", "capital", "Port Vel"],
        ],
        "new_triples_labeled": [
            ["Ann", "citizen of", "Tarn"],
            ["Tarn", "capital", "Old Tarn"],
        ],
    },
}


def test_mquake_before_and_after_its_edits(tmp_path: Path) -> None:
    path = tmp_path / "MQuAKE-CF.json"
    path.write_text(json.dumps([CASE, CASE], indent=1), encoding="utf-8")
    facts = read_knowledge(path)
    assert [facts.names(i)[2] for i in range(2)] == ["Velia", "Port Vel"]
    assert facts.lines.tolist() == [1, 1]
    assert facts.aliases == {"Port Vel": ("Vel",)}
    assert facts.templates["citizen of"] == ("{subject} is a citizen of {object}.",)
    after = read_knowledge(path, edited=True)
    assert [after.names(i)[2] for i in range(2)] == ["Tarn", "Old Tarn"]


def test_the_flat_copies_of_mquake(tmp_path: Path) -> None:
    path = tmp_path / "flat.jsonl"
    flat = {"orig_triples_labeled": [["Ann", "in", "Velia"]]}
    path.write_text(json.dumps(flat) + "\n", encoding="utf-8")
    assert read_knowledge(path).names(0) == ("Ann", "in", "Velia")


@pytest.mark.parametrize(
    ("orig", "message"),
    [
        ({}, "case 1: no facts; expected 'triples_labeled' within 'orig'"),
        ({"triples_labeled": [["a", "b"]]}, "case 1: .* is not a triple"),
        ({"triples_labeled": [["a", " ", "b"]]}, "case 1: .* is not a triple"),
    ],
)
def test_broken_cases_are_named(
    tmp_path: Path, orig: dict[str, Any], message: str
) -> None:
    path = tmp_path / "cases.json"
    path.write_text(json.dumps([{**CASE, "orig": orig}]), encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_knowledge(path)
