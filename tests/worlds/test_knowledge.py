"""Triples from files of all kinds, and what is remarked about them."""

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
    table = pl.DataFrame({"tail": ["x", "y"], "head": ["a", "b"], "relation": ["r", "r"]})
    table.write_parquet(tmp_path / "f.parquet")
    facts = read_knowledge(tmp_path / "f.parquet")
    assert [facts.names(i) for i in range(2)] == [("a", "r", "x"), ("b", "r", "y")]
    table.select("head").write_parquet(tmp_path / "g.parquet")
    with pytest.raises(DataError, match="expected subject, relation and object"):
        read_knowledge(tmp_path / "g.parquet")
    write(tmp_path / "h.parquet", "no parquet")
    with pytest.raises(DataError, match="no Parquet file"):
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
    facts = read_knowledge(write(tmp_path / "f.csv", "São Paulo,in,Brazil", "x,home,sao_paulo"))
    (remark,) = [r for r in facts.remarks if r.kind == "alias"]
    assert "'São Paulo', 'sao_paulo'" in remark.text


def test_inverse_and_symmetric_relations(tmp_path: Path) -> None:
    rows = ["a,parent,b", "b,child,a", "c,parent,d", "d,child,c", "x,likes,y", "y,likes,x"]
    told = [r.text for r in read_knowledge(write(tmp_path / "f.csv", *rows)).remarks]
    assert any("parent and child are inverses" in text for text in told)
    assert any("likes is symmetric" in text for text in told)


def test_a_stage_is_a_number(tmp_path: Path) -> None:
    path = write(tmp_path / "f.csv", "subject,relation,object,stage", "a,r,x,early")
    with pytest.raises(DataError, match="line 2: the stage is a whole number, not 'early'"):
        read_knowledge(path)


def test_the_file_is_not_touched(tmp_path: Path) -> None:
    path = write(tmp_path / "f.csv", "a,r,x", "a,r,x")
    before = path.read_bytes(), path.stat().st_mtime_ns
    read_knowledge(path)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
