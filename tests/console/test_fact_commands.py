"""Commands for facts: predict, audit and augment."""

from __future__ import annotations

import json

import pytest
from tests.console.calls import call


def test_predict_json_has_what_a_program_needs(capsys) -> None:
    words = ["two-hop", "--set", "n=6", "--set", "identity=0.5", "--json"]
    code, out, _ = call(capsys, "predict", *words)
    made = json.loads(out)
    assert code == 0
    assert made["status"] == "certified"
    assert made["gap"] <= 1e-3
    assert made["bound"] <= made["optimum"]
    assert len(made["queries"]) == 6
    for query in made["queries"]:
        assert {"prompt", "answer", "predicted", "margin", "role"} <= set(query)
        assert (query["verdict"] == "follows") == (
            query["predicted"] == query["answer"]
        )
    assert sum(query["verdict"] == "follows" for query in made["queries"]) == 3
    assert len(made["advice"]["identities"]) == 3
    assert made["advice"]["open"] == []


def test_predict_reads_facts_and_speaks_to_people(capsys, tmp_path) -> None:
    path = tmp_path / "facts.csv"
    path.write_text(
        "ann,mother,beth\nbeth,born_in,rome\ncarl,mother,dora\ndora,born_in,oslo\n"
    )
    code, out, _ = call(capsys, "predict", str(path))
    assert code == 0
    assert "certified" in out
    assert "beth,is,beth  dora,is,dora" in out
    assert "then 2 more of all 2 queries with an answer" in out
    _, every, _ = call(
        capsys, "predict", "two-hop", "--set", "n=9", "--no-advice", "--all"
    )
    assert every.count(", follows") + every.count(" follows +") == 9
    _, some, _ = call(
        capsys, "predict", "two-hop", "--set", "n=9", "--set", "identity=false"
    )
    assert "… and 6 more" in some


def test_predict_says_when_it_is_not_certain(capsys) -> None:
    few = ["--set", "n=12", "--set", "complexity=3", "--gap", "1e-7", "--seconds", "0"]
    _, out, _ = call(capsys, "predict", "two-hop", *few, "--no-advice")
    assert "not certified" in out
    (_, out, _) = call(capsys, "predict", "two-hop", *few, "--no-advice", "--json")
    assert json.loads(out)["status"] == "not certified"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["two-hpo"], "did you mean 'two-hop'"),
        (["@peple"], "did you mean '@people'"),
        (["two-hop", "--answers", "two"], "one, several"),
        (["two-hop", "--decay", "-1"], "'decay' must be above 0"),
        (["two-hop", "--gap", "2"], "gap must be at least 1e-7"),
        (["two-hop", "--tie", "1"], "'tie' must be at least 0"),
    ],
)
def test_predict_refuses_in_one_clear_line(capsys, words: list[str], says: str) -> None:
    code, _, err = call(capsys, "predict", *words)
    assert code == 2
    assert says in err
    assert "Traceback" not in err


def test_predict_names_facts_that_contradict(capsys, tmp_path) -> None:
    path = tmp_path / "facts.csv"
    path.write_text("ann,mother,beth\nann,mother,zoe\ncarl,mother,dora\n")
    code, _, err = call(capsys, "predict", str(path), "--answers", "one")
    assert code == 2
    assert "(ann mother) → beth" in err
    assert "(ann mother) → zoe" in err
    assert call(capsys, "predict", str(path))[0] == 0


@pytest.mark.slow
def test_audit_speaks_to_people_and_programs(capsys) -> None:
    code, out, _ = call(capsys, "audit", "@people")
    assert code == 0
    assert "90 facts" in out
    assert "55 of 55 bridges have no identity statement" in out
    assert "composition (70 queries): 0 follow" in out
    _, text, _ = call(capsys, "audit", "@people", "--no-forecast", "--json")
    made = json.loads(text)
    assert made["facts"] == 90
    assert {row["chains"] for row in made["compositions"]} == {35}
    assert made["why_no_forecast"] == "not requested"


def test_a_dense_graph_prints_no_flood_of_leaks(capsys, tmp_path) -> None:
    # All entities are near each other, so all 20 · 19 · 18 chains are stated directly.
    names = [f"p{i}" for i in range(20)]
    rows = [f"{a},near,{b}" for a in names for b in names if a != b]
    (tmp_path / "near.csv").write_text("\n".join(["subject,relation,object", *rows]))
    _, text, _ = call(
        capsys, "audit", str(tmp_path / "near.csv"), "--no-forecast", "--json"
    )
    made = json.loads(text)
    assert made["leaks_found"] == 20 * 19 * 18
    assert len(made["leaks"]) == 1000


def test_augment_writes_and_says_where(capsys, tmp_path) -> None:
    out = tmp_path / "data"
    code, text, _ = call(capsys, "augment", "@people", "--out", str(out), "--json")
    assert code == 0
    # Identities do not help a pretrained model.
    assert "identity" not in json.loads(text)["counts"]
    assert (out / "train.jsonl").exists()
    code, _, err = call(capsys, "augment", "@people", "--out", str(out))
    assert code == 2
    assert "already exists" in err
    code, text, _ = call(
        capsys,
        "augment",
        "@people",
        "--out",
        str(tmp_path / "b"),
        "--strategy",
        "identities",
    )
    assert code == 0
    assert "plain words" in text
    assert "identity               165" in text  # 55 bridges in three wordings
