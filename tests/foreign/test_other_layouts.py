"""The same seven facts in other layouts: languages, delimiters, orders, encodings and formats."""

from __future__ import annotations

import json
import sys
from io import StringIO
from pathlib import Path

import networkx as nx
import pytest
import rdflib
from tests.foreign.test_files_of_facts import TRIPLES, facts_of

from inweights.audit import mend
from inweights.cli import console, main
from inweights.errors import DataError
from inweights.worlds import read_knowledge
from inweights.worlds.readers.tables.first_row import UnclearHeaderError


def lines(
    header: str = "", delimiter: str = ",", order: tuple[int, ...] = (0, 1, 2)
) -> str:
    rows = [delimiter.join(row[k] for k in order) for row in TRIPLES]
    return "\n".join([*([header] if header else []), *rows]) + "\n"


@pytest.mark.parametrize(
    "text",
    [
        lines(),
        lines("Quelle;Beziehung;Ziel", ";"),
        lines("Sujet,Prédicat,Objet"),
        lines("SUJETO,PREDICADO,OBJETO"),
        lines("soggetto|relazione|oggetto", "|"),
        lines("主体,关系,客体"),
        lines("источник\tотношение\tцель", "\t"),
        lines("özne,ilişki,nesne"),
        lines("?s,?p,?o"),
        lines("head_entity,relation_type,tail_entity"),
        lines("Person A,Relation,Person B"),
        lines("entity,attribute,value"),
        lines("fromNode,edgeType,toNode"),
        lines("V1,V2,V3"),
        lines("subject,verb,object"),
        lines("# subject,relation,object"),
        "# a comment, of this file, made by, somebody\n" + lines("s,p,o"),
        "Facts of May\n" + lines("subject,relation,object"),
        lines("object,relation,subject", order=(2, 1, 0)),
        lines("head\ttail\trelation", "\t", (0, 2, 1)),
        lines("", "\t", (0, 2, 1)),
        lines("", "\t", (1, 0, 2)),
        "\n".join(f'"{s}","{r}","{o}"' for s, r, o in TRIPLES),
        "\n".join(f'"{s}", "{r}", "{o}"' for s, r, o in TRIPLES),
        "\n".join(f"“{s}”,“{r}”,“{o}”" for s, r, o in TRIPLES),
        "\n".join(str(row) for row in TRIPLES),
        "\n".join(json.dumps(row) + "," for row in TRIPLES),
        "Source,Target,Type,Id,Label,Weight\n"
        + "\n".join(
            f"{s},{o},Directed,{k},{r},1" for k, (s, r, o) in enumerate(TRIPLES)
        ),
        "| subject | relation | object |\n|---|---|---|\n"
        + "\n".join(f"| {s} | {r} | {o} |" for s, r, o in TRIPLES),
    ],
)
def test_the_facts_are_the_same_in_every_layout(tmp_path: Path, text: str) -> None:
    for name, encoding in (
        ("f.csv", "utf-8"),
        ("g.csv", "utf-8-sig"),
        ("h.txt", "utf-16"),
    ):
        path = tmp_path / name
        path.write_text(text, encoding=encoding)
        assert facts_of(read_knowledge(path)) == TRIPLES


@pytest.mark.parametrize(
    "found",
    [
        [list(row) for row in TRIPLES],
        {"triples": [list(row) for row in TRIPLES]},
        {"data": [{"head": s, "type": r, "tail": o} for s, r, o in TRIPLES]},
        [
            {"subject": {"id": s, "name": s}, "predicate": r, "object": o}
            for s, r, o in TRIPLES
        ],
        [
            {
                "text": "t",
                "triplets": [
                    {"head": s, "relation": r, "tail": o} for s, r, o in TRIPLES
                ],
            }
        ],
        {
            "results": {
                "bindings": [
                    {
                        k: {"type": "literal", "value": v}
                        for k, v in zip("spo", row, strict=True)
                    }
                    for row in TRIPLES
                ]
            }
        },
        {
            "nodes": [
                {"id": n}
                for n in dict.fromkeys(x for s, _, o in TRIPLES for x in (s, o))
            ],
            "relationships": [
                {"source": {"id": s}, "target": {"id": o}, "type": r}
                for s, r, o in TRIPLES
            ],
        },
    ],
)
def test_the_facts_are_the_same_in_every_form_of_json(
    tmp_path: Path, found: object
) -> None:
    path = tmp_path / "f.json"
    path.write_text(json.dumps(found), encoding="utf-8")
    assert facts_of(read_knowledge(path)) == TRIPLES


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:NTSerializer")
@pytest.mark.parametrize("suffix", ["jsonld", "nq", "trig", "ttl", "nt"])
def test_rdf_that_rdflib_writes(tmp_path: Path, suffix: str) -> None:
    form = {
        "jsonld": "json-ld",
        "nq": "nquads",
        "trig": "trig",
        "ttl": "turtle",
        "nt": "nt",
    }
    graph = rdflib.Dataset() if suffix in ("nq", "trig") else rdflib.Graph()
    space = rdflib.Namespace("http://example.org/")
    for row in TRIPLES:
        subject, relation, target = (space[name.replace(" ", "_")] for name in row)
        graph.add((subject, relation, target))
    graph.serialize(tmp_path / f"f.{suffix}", format=form[suffix])
    found = facts_of(read_knowledge(tmp_path / f"f.{suffix}"))
    assert sorted(found) == sorted((s, r.replace("_", " "), o) for s, r, o in TRIPLES)


def test_a_context_from_elsewhere_is_not_fetched(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonld"
    path.write_text(
        '{"@context": "https://example.org/c.jsonld", "@id": "x:a", "p": "b"}'
    )
    with pytest.raises(DataError, match="which is not downloaded"):
        read_knowledge(path)


@pytest.mark.parametrize("suffix", ["graphml", "gexf", "gml"])
def test_graphs_whose_edges_have_labels_are_facts(tmp_path: Path, suffix: str) -> None:
    graph = nx.DiGraph()
    for s, r, o in TRIPLES:
        graph.add_edge(s, o, relation=r)
    getattr(nx, f"write_{suffix}")(graph, tmp_path / f"f.{suffix}")
    assert sorted(facts_of(read_knowledge(tmp_path / f"f.{suffix}"))) == sorted(TRIPLES)
    bare = nx.DiGraph([("a", "b")])
    getattr(nx, f"write_{suffix}")(bare, tmp_path / f"g.{suffix}")
    with pytest.raises(DataError, match=r"no relation.*inweights atlas"):
        read_knowledge(tmp_path / f"g.{suffix}")


def test_labels_for_ids_come_from_a_second_file(tmp_path: Path) -> None:
    (tmp_path / "f.tsv").write_text("Q1\tP2\tQ3\nQ3\tP4\tQ5\n")
    (tmp_path / "l.tsv").write_text(
        "id\tlabel\nQ1\tAna\nP2\tlives in\nQ3\tOslo\nP4\tcountry\n"
    )
    found = read_knowledge(tmp_path / "f.tsv", labels=tmp_path / "l.tsv")
    assert facts_of(found) == [("Ana", "lives in", "Oslo"), ("Oslo", "country", "Q5")]
    assert "4 ids are replaced" in found.reading[-1].text
    assert "names without a label: 1, such as Q5" in found.reading[-1].text
    (tmp_path / "n.json").write_text('{"X": "y"}')
    with pytest.raises(DataError, match=r"no name in .* is an id in"):
        read_knowledge(tmp_path / "f.tsv", labels=tmp_path / "n.json")


@pytest.mark.parametrize("text", ["5", '["Ana", "Oslo"]', '"Ana"', "null"])
def test_labels_without_ids_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "f.tsv").write_text("0\tP2\t1\n1\tP4\t2\n")
    (tmp_path / "l.json").write_text(text)
    with pytest.raises(DataError, match="a list of objects that each have an id"):
        read_knowledge(tmp_path / "f.tsv", labels=tmp_path / "l.json")


def test_a_first_row_of_unknown_words_is_refused_or_asked_about(
    tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "f.csv"
    path.write_text(lines("Mitarbeiter,Verb,Firma"), encoding="utf-8")
    with pytest.raises(UnclearHeaderError):
        read_knowledge(path)
    assert main(["audit", str(path), "--no-forecast"]) == 2
    said = capsys.readouterr().err
    assert "'Mitarbeiter, Verb, Firma' may be a header or a fact" in said
    assert "--header yes or --header no" in said
    assert facts_of(read_knowledge(path, header=True)) == TRIPLES
    assert len(read_knowledge(path, header=False)) == len(TRIPLES) + 1
    answers = StringIO("what\ny\n")
    answers.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stdin", answers)
    monkeypatch.setattr(console.base.err, "_force_terminal", True)
    assert main(["audit", str(path), "--no-forecast", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["facts"] == len(TRIPLES)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a name,b name\nAna,Oslo\nBen,Oslo\n", "2 columns.*inweights atlas"),
        (
            "subject,relation,object\nAna,in,Oslo,Norway\n",
            "line 2: expected 3 fields, got 4.*double quotes",
        ),
        ("subject,prompt,answer,more\nA,b,c,d\nE,b,f,d\n", "--columns"),
    ],
)
def test_refusals_name_the_option(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "f.csv").write_text(text)
    with pytest.raises(DataError, match=says):
        read_knowledge(tmp_path / "f.csv", header=True)


def test_columns_by_name_or_number(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("id,wer,was,wo\n1,Ana,in,Oslo\n2,Ben,in,Rom\n")
    for columns in ("wer,was,wo", "2,3,4"):
        found = read_knowledge(tmp_path / "f.csv", header=True, columns=columns)
        assert facts_of(found) == [("Ana", "in", "Oslo"), ("Ben", "in", "Rom")]


@pytest.mark.parametrize(
    ("name", "should"),
    [
        ("[[Oslo]]", "Oslo"),
        ("[[Os|Oslo]]", "Oslo"),
        ("MÃ¼ller", "Müller"),
        ("'Oslo'", "Oslo"),
        ("R&amp;D", "R&D"),
    ],
)
def test_broken_names_are_named_and_mended(
    tmp_path: Path, name: str, should: str
) -> None:
    path = tmp_path / "f.csv"
    path.write_text(
        f"subject,relation,object\nAna,in,{name}\nBen,in,Rom\n", encoding="utf-8"
    )
    facts = read_knowledge(path)
    (remark,) = [remark for remark in facts.remarks if remark.kind == "markup"]
    assert f"'{name}' (line 2) as '{should}'" in remark.text
    assert mend(facts).facts["object"].to_list() == [should, "Rom"]


def test_a_place_with_its_country_is_named_and_left(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_text('s,r,o\nAna,in,"Paris, France"\nBen,in,Paris\nParis,of,France\n')
    facts = read_knowledge(path)
    assert [r.lines for r in facts.remarks if r.kind == "several"] == [(2,)]
    assert mend(facts).facts["object"].to_list() == ["Paris, France", "Paris", "France"]


def test_a_wide_table_of_three_columns_is_no_table_of_triples(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_text("name,city,boss\nAna,Oslo,Ben\nBen,Rom,Cleo\nCleo,Bonn,Dag\n")
    with pytest.raises(DataError, match="--wide"):
        read_knowledge(path)
    with pytest.raises(DataError, match=r"does not seem to be a relation.*--wide"):
        read_knowledge(path, header=True)
    assert len(read_knowledge(path, wide=True)) == 6


def test_brackets_around_names_are_no_brackets_around_lines(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_text("[[Ana]],in,[[Oslo]]\n[[Ben]],in,[[Rom]]\n")
    assert facts_of(read_knowledge(path))[0] == ("[[Ana]]", "in", "[[Oslo]]")


@pytest.mark.parametrize(
    "text", ["in(ana, oslo).\nin(ben, rom).\n", "- subject: Ana\n  relation: in\n"]
)
def test_too_few_columns_are_refused_whatever_stands_in_the_first_row(
    tmp_path: Path, text: str
) -> None:
    (tmp_path / "f.txt").write_text(text)
    with pytest.raises(
        DataError, match="a fact has a subject, a relation and an object"
    ):
        read_knowledge(tmp_path / "f.txt")
