"""Files of facts in common formats, each with the required output of the commands.

The files in ``data/facts`` are small examples of formats in use: exports of spreadsheets,
Neo4j and Wikidata, and data sets for training and editing language models.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from inweights.audit import mend
from inweights.audit.homonyms import contradicted_chains
from inweights.cli import main
from inweights.errors import CautionWarning, DataError
from inweights.lm import read_examples
from inweights.worlds import Knowledge, Wording, read_knowledge

DATA = Path(__file__).parent / "data" / "facts"
TRIPLES = [
    ("Ana Ruiz", "works_for", "Nordwerk"),
    ("Ben Okoro", "works_for", "Nordwerk"),
    ("Cleo Marsh", "works_for", "Tallpine"),
    ("Nordwerk", "based_in", "Bergen"),
    ("Tallpine", "based_in", "Turku"),
    ("Bergen", "lies_in", "Norway"),
    ("Turku", "lies_in", "Finland"),
]
EIGHT = [*TRIPLES[:3], ("Dag Holm", "works_for", "Tallpine"), *TRIPLES[3:]]
TWO = [("Ana Ruiz", "works_for", "Nordwerk"), ("Nordwerk", "based_in", "Bergen")]


def audited(
    capsys: pytest.CaptureFixture[str], name: str, *words: str
) -> dict[str, Any]:
    """Return the output of ``audit --json`` for a file in the folder of the data."""
    assert main(["audit", str(DATA / name), "--no-forecast", "--json", *words]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Return the error of one line with which a command refuses a file."""
    assert main(list(words)) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    return lines[0]


def facts_of(found: Knowledge) -> list[tuple[str, str, str]]:
    return [found.names(i) for i in range(len(found))]


def remarks(found: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [remark for remark in found["remarks"] if remark["kind"] == kind]


@pytest.mark.parametrize(
    "name",
    [
        "head_entity1_relation_entity2.csv",
        "head_from_relation_to.csv",
        "head_node_1_edge_node_2.csv",
        "head_source_type_target.csv",
        "head_subject_property_value.csv",
    ],
)
def test_a_header_in_other_words_is_no_fact(capsys, name: str) -> None:
    assert facts_of(read_knowledge(DATA / name)) == TRIPLES
    assert audited(capsys, name)["facts"] == 7


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("newline_in_header.csv", EIGHT),
        ("triples_list.json", EIGHT),
        ("source_target.csv", TWO),
        (
            "neo4j_import.csv",
            [("ana", "WORKS_FOR", "nordwerk"), ("nordwerk", "BASED_IN", "bergen")],
        ),
        ("apoc_all.csv", [(s, r.upper(), o) for s, r, o in TWO]),
        (
            "wikidata_sparql.csv",
            [
                ("Ana Ruiz", "employer", "Nordwerk"),
                ("Nordwerk", "headquarters", "Bergen"),
            ],
        ),
        ("counterfact.json", [("Danielle D.", "P103", "French")]),
    ],
)
def test_what_is_read_are_the_facts(capsys, name: str, expected: list[Any]) -> None:
    assert facts_of(read_knowledge(DATA / name)) == expected
    assert audited(capsys, name)["facts"] == len(expected)


def test_an_export_of_neo4j_that_is_cut_off_names_the_line(tmp_path: Path) -> None:
    whole = (DATA / "apoc_all.csv").read_text(encoding="utf-8")
    cut = tmp_path / "cut.csv"
    cut.write_text(whole[: whole.index(',"BASED_IN"')], encoding="utf-8")
    with pytest.raises(DataError, match=r"line 6: a relationship has no type"):
        read_knowledge(cut)


def test_counterfact_after_its_edit_and_in_its_words() -> None:
    found = read_knowledge(DATA / "counterfact.json", edited=True)
    assert facts_of(found) == [("Danielle D.", "P103", "English")]
    assert found.templates == {"P103": ("The mother tongue of {subject} is {object}.",)}


def test_a_relation_in_the_last_column_is_recognised_and_said(
    capsys, tmp_path: Path
) -> None:
    found = audited(capsys, "ent2.triples")
    assert {row["relation"] for row in found["relations"]} == {
        "works_for",
        "based_in",
        "lies_in",
    }
    (guess,) = [remark for remark in found["reading"] if not remark["sure"]]
    assert "third column is read as the relation" in guess["text"]
    assert (
        main(["augment", str(DATA / "ent2.triples"), "--out", str(tmp_path / "out")])
        == 0
    )
    assert "assumed: the third column" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (
            "alpaca.jsonl",
            "Alpaca .*subject, relation and object; .*prompt and completion",
        ),
        (
            "dup_qa.jsonl",
            "questions and answers .*expected facts with subject, relation",
        ),
        ("knowedit.json", "KnowEdit .*add a key 'relation'"),
        ("weighted_edges.tsv", "edges with weights, not facts. 'inweights atlas'"),
        ("wide.csv", "name, city, boss, started.*--wide if each column is a relation"),
    ],
)
def test_what_is_no_file_of_facts_says_what_is_needed(
    capsys, name: str, says: str
) -> None:
    for command in (["audit"], ["predict"], ["augment", "--out", "new"]):
        text = refused(capsys, command[0], str(DATA / name), *command[1:])
        assert re.search(says, text), text


@pytest.mark.parametrize(
    ("name", "learnt"),
    [
        ("alpaca.jsonl", "the completion is the output"),
        ("dup_qa.jsonl", "the completion is the answer"),
    ],
)
def test_rows_of_trainers_are_examples_and_what_is_learnt_is_said(
    name: str, learnt: str
) -> None:
    rows = [
        json.loads(line)
        for line in (DATA / name).read_text(encoding="utf-8").splitlines()
    ]
    with pytest.warns(CautionWarning, match=learnt):
        examples = read_examples(DATA / name)
    answers = [row.get("output") or row.get("answer") for row in rows]
    assert [example.completion.strip() for example in examples] == answers


def test_finetune_names_the_columns_that_it_needs(capsys, tmp_path: Path) -> None:
    file = tmp_path / "other.jsonl"
    file.write_text('{"chapter": "one", "verse": "two"}\n', encoding="utf-8")
    text = refused(
        capsys, "finetune", "@tiny", str(file), "--out", str(tmp_path / "out")
    )
    assert "prompt and completion" in text
    assert "other.jsonl" in text


def test_a_wide_table_is_melted_when_that_is_said(capsys) -> None:
    found = audited(capsys, "wide.csv", "--wide")
    assert found["facts"] == 8
    assert facts_of(read_knowledge(DATA / "wide.csv", wide=True))[:2] == [
        ("Ana Ruiz", "city", "Bergen"),
        ("Ana Ruiz", "boss", "Ben Okoro"),
    ]


def test_homonyms_are_reported_and_never_stated(capsys, tmp_path: Path) -> None:
    found = audited(capsys, "homonyms.csv")
    assert len(found["contradicted"]) == 3
    (finding,) = [
        f for f in found["findings"] if "contradicted by the file" in f["title"]
    ]
    assert (
        "Each of the names Warren, Bethel, Dover may refer to two things"
        in finding["text"]
    )
    out = tmp_path / "data"
    words = [
        "augment",
        str(DATA / "homonyms.csv"),
        "--out",
        str(out),
        "--strategy",
        "derive",
    ]
    assert main([*words, "--strategy", "steps", "--strategy", "qa"]) == 0
    assert "3 facts begin no chain" in capsys.readouterr().out
    for name in ("train.jsonl", "questions.jsonl"):
        for line in (out / name).read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            text = " ".join([row["prompt"], row.get("completion", "")])
            for field, state in (
                ("Sugar Bush", "AZ"),
                ("Oak Field", "AK"),
                ("Elm Field", "NH"),
            ):
                assert not (field in text and state in text), text


def test_a_chain_through_a_person_is_no_homonym() -> None:
    facts = read_knowledge(DATA / "wide.csv", wide=True)
    assert contradicted_chains(facts, Wording()) == []


@pytest.mark.parametrize(
    ("name", "kind", "says"),
    [
        ("company.csv", "date", ["2011-12-03", "12/05/2019"]),
        ("company.csv", "date", ["2018-02-30", "no such day"]),
        ("date_formats.csv", "date", ["01/04/2019", "1 April 2019", "Apr 1, 2019"]),
        ("date_formats.csv", "date", ["43556", "2019-04-01"]),
        ("date_formats.csv", "date", ["2019-02-30", "no such day"]),
        ("excel_dates.csv", "date", ["2-Sep", "1-Mar", "SEPT2"]),
        (
            "html_entities.csv",
            "markup",
            ["Quill &amp; Co", "(line 2)", "'Quill & Co' (line 3)"],
        ),
        ("multi_cell.csv", "several", ["Spanish; Norwegian", "no question chains"]),
        (
            "sci_account.csv",
            "rounded",
            ["1.9143100000101E+18", "lost digits", "2 lines"],
        ),
    ],
)
def test_values_that_only_look_alike_are_named(
    capsys, name: str, kind: str, says: list[str]
) -> None:
    texts = [remark["text"] for remark in remarks(audited(capsys, name), kind)]
    assert any(all(word in text for word in says) for text in texts), texts


@pytest.mark.parametrize(
    ("name", "facts"),
    [("date_formats.csv", 7), ("excel_dates.csv", 8), ("sci_account.csv", 3)],
)
def test_odd_values_cost_no_fact(capsys, name: str, facts: int) -> None:
    assert audited(capsys, name)["facts"] == facts


def test_names_in_single_quotes_lose_them_and_bridge(capsys) -> None:
    found = audited(capsys, "single_quoted.tsv")
    assert found["facts"] == 3
    assert sum(row["chains"] for row in found["compositions"]) == 1
    assert [row["entity"] for row in found["bridges"]] == ["bowel disease"]
    assert (
        facts_of(read_knowledge(DATA / "single_quoted.tsv"))[2][0]
        == "3',5'-phosphatase"
    )


def test_the_misspelt_name_of_a_company(capsys) -> None:
    found = audited(capsys, "company.csv")["findings"]
    (near,) = [f for f in found if "though a value differs" in f["title"]]
    assert "'Emi Kettering', 'Emil Kettering': 1 letter apart" in near["text"]
    changes = mend(read_knowledge(DATA / "company.csv"), near=True).changes
    left = changes.filter(change="to decide", before="Emi Kettering")
    assert left["after"].to_list() == ["Emil Kettering"]


def test_only_what_is_sure_is_fixed() -> None:
    dates = mend(read_knowledge(DATA / "date_formats.csv"))
    assert dates.facts["object"].to_list() == [
        "2019-04-01",
        "01/04/2019",
        "2019-04-01",
        "2019-04-01",
        "2019-04-01",
        "43556",
        "2019-02-30",
    ]
    left = dates.changes.filter(change="to decide")
    assert left["line"].to_list() == [3, 7, 8]
    cells = mend(read_knowledge(DATA / "multi_cell.csv"))
    assert ("Cleo Marsh", "speaks", "Sami") in cells.facts.select(
        "subject", "relation", "object"
    ).rows()
    assert cells.counts["facts"] == 11
    names = mend(read_knowledge(DATA / "html_entities.csv")).facts
    assert "Quill & Co" in names["subject"].to_list()
    assert "&amp;" not in " ".join([*names["subject"], *names["object"]])
    rounded = read_knowledge(DATA / "sci_account.csv")
    assert mend(rounded).changes.is_empty()


def test_chains_of_a_file_whose_capitals_are_their_countries(capsys) -> None:
    chains = audited(capsys, "citystates.csv")
    assert chains["facts"] == 15
