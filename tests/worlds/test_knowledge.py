"""Triples from files in all formats, and the remarks about them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from inweights.errors import DataError
from inweights.worlds import read_knowledge


def write(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_parquet(tmp_path: Path) -> None:
    table = pl.DataFrame(
        {"tail": ["x", "y"], "head": ["a", "b"], "relation": ["r", "r"]}
    )
    table.write_parquet(tmp_path / "f.parquet")
    facts = read_knowledge(tmp_path / "f.parquet")
    assert [facts.names(i) for i in range(2)] == [("a", "r", "x"), ("b", "r", "y")]
    table.select("head").write_parquet(tmp_path / "g.parquet")
    with pytest.raises(DataError, match="expected subject, relation and object"):
        read_knowledge(tmp_path / "g.parquet")
    write(tmp_path / "h.parquet", "no parquet")
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        read_knowledge(tmp_path / "h.parquet")


def test_columns_may_stand_in_any_order(tmp_path: Path) -> None:
    path = write(tmp_path / "f.tsv", "stage\tobject\tsubject\trelation", "2\tx\ta\tr")
    facts = read_knowledge(path)
    assert facts.names(0) == ("a", "r", "x")
    assert facts.stages.tolist() == [2]
    assert facts.lines.tolist() == [2]


def test_duplicates_are_remarked_with_their_lines(tmp_path: Path) -> None:
    facts = read_knowledge(write(tmp_path / "f.csv", "a,r,x", "b,r,y", "a,r,x"))
    assert len(facts) == 2
    (remark,) = facts.remarks
    assert (remark.kind, remark.lines) == ("duplicate", (1, 3))


def test_contradictions_of_functional_relations(tmp_path: Path) -> None:
    rows = [f"p{i},born,c{i}" for i in range(20)]
    facts = read_knowledge(write(tmp_path / "f.csv", *rows, "p3,born,c4"))
    (remark,) = [r for r in facts.remarks if r.kind == "contradiction"]
    assert remark.lines == (4, 21)
    assert "p3 has 2 values of born (c3, c4)" in remark.text
    friends = [f"p{i},friend,p{j}" for i in range(5) for j in range(5) if i != j]
    many = read_knowledge(write(tmp_path / "g.csv", *friends))
    assert "contradiction" not in {r.kind for r in many.remarks}


def test_aliases(tmp_path: Path) -> None:
    facts = read_knowledge(
        write(tmp_path / "f.csv", "São Paulo,in,Brazil", "x,home,sao_paulo")
    )
    (remark,) = [r for r in facts.remarks if r.kind == "alias"]
    assert "'São Paulo' (line 1), 'sao_paulo' (line 2)" in remark.text
    assert remark.lines == (1, 2)


def test_inverse_and_symmetric_relations(tmp_path: Path) -> None:
    rows = [
        "a,parent,b",
        "b,child,a",
        "c,parent,d",
        "d,child,c",
        "x,likes,y",
        "y,likes,x",
    ]
    found = read_knowledge(write(tmp_path / "f.csv", *rows)).remarks
    told = {r.text: r.lines for r in found if r.kind == "inverse"}
    assert list(told.values()) == [(1, 2), (5, 6)]
    inverse, symmetric = told
    assert "parent and child are inverses: 2 triples" in inverse
    assert "likes is symmetric: 2 triples" in symmetric


def test_a_stage_is_a_number(tmp_path: Path) -> None:
    path = write(tmp_path / "f.csv", "subject,relation,object,stage", "a,r,x,early")
    with pytest.raises(
        DataError, match="line 2: the stage must be a whole number, got 'early'"
    ):
        read_knowledge(path)


def test_one_sided_entities(tmp_path: Path) -> None:
    """Kyoto is only an answer, Peru only a subject, and the other entities are both."""
    rows = [
        "a,home,rome",
        "b,home,oslo",
        "c,home,bonn",
        "d,home,kyoto",
        "rome,in,italy",
    ]
    rows += ["oslo,in,norway", "bonn,in,germany", "lima,in,peru"]
    told = read_knowledge(write(tmp_path / "f.csv", *rows)).remarks
    assert [(r.kind, r.lines) for r in told] == [
        ("one-sided", (4,)),
        ("one-sided", (8,)),
    ]
    assert told[0].text.startswith("1 of 4 objects of home are not the subject")
    assert told[1].text.startswith("1 of 4 subjects of in are not the object")


def test_names_that_stand_for_nothing(tmp_path: Path) -> None:
    facts = read_knowledge(
        write(tmp_path / "f.csv", "a,r,x", "b,r,N/A", "Na,symbol_of,sodium")
    )
    assert [(r.kind, r.lines) for r in facts.remarks] == [("blank", (2,))]


def test_identities_are_no_symmetric_relation(tmp_path: Path) -> None:
    facts = read_knowledge(write(tmp_path / "f.csv", "a,is,a", "b,is,b"))
    assert facts.remarks == ()


def test_quoted_cells_may_span_lines(tmp_path: Path) -> None:
    path = write(tmp_path / "f.csv", 'a,says,"one,', 'two ""three"""', "b,r,c")
    facts = read_knowledge(path)
    assert facts.names(0) == ("a", "says", 'one, two "three"')
    assert facts.lines.tolist() == [1, 3]


def test_rare_separators_are_no_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    path.write_bytes(
        '{"subject":"a\u2028b","relation":"r","object":"x"}\n'.encode() * 1
    )
    assert read_knowledge(path).names(0) == ("a b", "r", "x")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("f.csv", "a,r,x\nb,r\n", "f.csv, line 2: expected three fields .* got 2"),
        (
            "f.csv",
            "a,r,x\n\nb,,y\n",
            "line 3: expected three fields that are not blank .* got 3",
        ),
        (
            "f.csv",
            'a,r,x\nb,r,"y\nc,r,z\n',
            "line 2: unexpected end of data; if a cell contains a quote",
        ),
        ("f.tsv", "a\tr\tx\tz\n", "line 1: 4 field"),
        (
            "f.jsonl",
            '{"subject": "a"}\n',
            "line 1 has keys subject; .*known word for relation or object",
        ),
        (
            "f.jsonl",
            '{"s": "a", "r": "r", "o": ["x"]}\n',
            "line 1: object must be a string",
        ),
        ("f.jsonl", '\n{"subject": \n', "line 2: not a JSON object"),
        ("f.jsonl", "[1]\n", r"line 1: expected a JSON object, got \[1\]"),
        ("f.json", '[\n{"s": 1,}]', "line 2: not JSON"),
        ("f.json", "{}", "contains no list"),
        ("f.csv", "\n\n", "contains no facts"),
        (
            "f.csv",
            "e1.value,e2.value,e3.value\na,b,c\n",
            "line 2: the relation has no name",
        ),
    ],
)
def test_broken_lines(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message) as caught:
        read_knowledge(path)
    assert "\n" not in str(caught.value)


def test_other_encodings_and_missing_files(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_bytes("a,r,Zürich\n".encode("latin-1"))
    with pytest.raises(DataError, match="not text in UTF-8"):
        read_knowledge(path)
    with pytest.raises(DataError, match="there is no file"):
        read_knowledge(tmp_path / "none.csv")


def test_dataset_folders(tmp_path: Path) -> None:
    datasets = pytest.importorskip(
        "datasets", reason="pip install 'inweights[hf]' lifts this"
    )
    rows = {"subject": ["a", "b"], "relation": ["r", "r"], "object": ["x", "y"]}
    one, other = (
        datasets.Dataset.from_dict(rows),
        datasets.Dataset.from_dict(rows).select([1]),
    )
    one.save_to_disk(tmp_path / "one")
    assert read_knowledge(tmp_path / "one").names(1) == ("b", "r", "y")
    datasets.DatasetDict(train=one, test=other).save_to_disk(tmp_path / "both")
    both = read_knowledge(tmp_path / "both")
    # The test file repeats the training file.
    assert (len(both), [r.lines for r in both.remarks]) == (
        2,
        [(2, 3)],
    )
    (tmp_path / "parts" / "data").mkdir(parents=True)
    one.to_parquet(tmp_path / "parts" / "data" / "train-0.parquet")
    assert len(read_knowledge(tmp_path / "parts")) == 2


def test_damaged_folders(tmp_path: Path) -> None:
    with pytest.raises(
        DataError,
        match=r"a folder without facts.* give the path of a file, such as .*csv",
    ):
        read_knowledge(tmp_path)
    write(tmp_path / "state.json", "{}")
    with pytest.raises(DataError, match="damaged dataset folder"):
        read_knowledge(tmp_path)


def test_the_file_is_not_touched(tmp_path: Path) -> None:
    path = write(tmp_path / "f.csv", "a,r,x", "a,r,x")
    before = path.read_bytes(), path.stat().st_mtime_ns
    read_knowledge(path)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
