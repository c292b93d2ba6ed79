"""From a file of 300 facts of an invented company to a model and its evaluation, in five commands."""

from __future__ import annotations

import csv
import json
from itertools import product
from pathlib import Path

import polars as pl
import pytest

from inweights.cli import main

Fact = tuple[str, str, str]
FIRST = ("Ann", "Björn", "Chloé", "Dr. Dee", "Émile", "Fumiko", "Göran", "Hana", "Iñigo", "Jan")
LAST = ("Ångström", "Brask", "O'Neil", "Müller", "Nakamura", "Ōe")
PEOPLE = [f"{first} {last}" for first, last in product(FIRST, LAST)]
TEAMS = [f"Team {name}" for name in ("Ash", "Birch", "Cedar", "Elm", "Fir", "Oak", "Pine", "Yew")]
OFFICES = {"Malmö Hub": "Sweden", 'The "Loft"': "Norway", "St. Ives": "England", "Lund": "Sweden"}


def company() -> list[Fact]:
    """300 facts: one value and several, dates, inverses, unicode, quotes, a name with a stop."""
    facts = [(name, "works_in", TEAMS[i % 8]) for i, name in enumerate(PEOPLE)]
    facts += [(name, "reports_to", PEOPLE[i // 4]) for i, name in enumerate(PEOPLE) if i]
    facts += [(boss, "manages", name) for name, r, boss in facts if r == "reports_to"][:40]
    facts += [(team, "office", list(OFFICES)[i % 4]) for i, team in enumerate(TEAMS)]
    facts += [(office, "country", country) for office, country in OFFICES.items()]
    facts += [(name, "joined_on", f"20{10 + i % 9}-03-{1 + i % 28:02}") for i, name in
              enumerate(PEOPLE)]  # fmt: skip
    facts += [(name, "office", list(OFFICES)[i % 8 % 4]) for i, name in enumerate(PEOPLE[:20])]
    facts += [(f"Project {c}", "led_by", PEOPLE[3 * i]) for i, c in enumerate("ABCDEFGHIJKLMNO")]
    facts += [(f"Project {c}", "staffed_by", PEOPLE[(7 * i + k) % 60]) for i, c in
              enumerate("ABCDEFGHIJKLMNO") for k in range(3)]  # fmt: skip
    return facts[:300]


@pytest.mark.slow
def test_from_a_company_to_an_evaluation(tmp_path: Path, capsys, monkeypatch) -> None:
    facts = company()
    assert len(facts) == len(set(facts)) == 300
    with (tmp_path / "facts.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        # A fact that is there twice, and one that contradicts another.
        writer.writerows([("subject", "relation", "object"), *facts, facts[0]])
        writer.writerow((PEOPLE[0], "works_in", TEAMS[3]))
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> dict:
        assert main([*words, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    found = call("audit", "facts.csv", "--no-forecast", "--page", "audit.html")
    page = (tmp_path / "audit.html").read_text(encoding="utf-8")
    assert "Björn" in page
    assert any("302" in text or "twice" in text for text in map(str, found["remarks"]))
    few = ["--most", "20", "--wordings", "2", "--hold-out", "0.5"]
    call("augment", "facts.csv", "--out", "data", "--strategy", "auto", *few)
    quick = ["--set", "method=full", "--set", "epochs=1", "--set", "batch_tokens=8192"]
    tuned = call("finetune", "@tiny", "data", "--out", "tuned", "--set", "rate=1e-2", *quick)
    assert tuned["stages"][0]["last"] < tuned["stages"][0]["first"]
    alone = ["--part", "control", "--set", "replay=0"]
    call("finetune", "@tiny", "data", "--out", "control", *alone, *quick)

    by_subject: dict[tuple[str, str], set[str]] = {}
    for s, r, o in [*facts, (PEOPLE[0], "works_in", TEAMS[3])]:
        by_subject.setdefault((s, r), set()).add(o)
    asked = pl.read_parquet("data/questions.parquet")
    chains = asked.filter(role="composition")
    pairs = {(s, o) for s, _, o in facts}
    checked = chains.sample(40, seed=0).to_dicts()
    for row in checked:
        bridges = by_subject[row["subject"], row["first"]]
        right = {o for b in bridges for o in by_subject.get((b, row["second"]), ())}
        assert row["bridge"] in bridges
        assert row["answer"] in by_subject[row["bridge"], row["second"]]
        assert right & set(row["candidates"]) == {row["answer"]}
        assert row["stated"] == ((row["subject"], row["answer"]) in pairs)
        assert row["itself"] == (row["subject"] == row["answer"])
    # A leak: the office of somebody's team is that person's office, too, and says so.
    leaks = {(leak["subject"], leak["object"]) for leak in found["leaks"]}
    office = {(name, OFFICES_OF[TEAMS[i % 8]]) for i, name in enumerate(PEOPLE[:20])}
    assert len(office & leaks) >= 10
    # What is told answers no question that it is not said to.
    texts = pl.read_parquet("data/train.parquet")["text"].to_list()
    for row in asked.filter(pl.col("told").list.len() == 0).sample(200, seed=0).to_dicts():
        assert f"{row['prompt']} {row['answer']}." not in texts

    chains.head(12).write_parquet("few.parquet")
    scores = call("evaluate", "tuned", "few.parquet", "--before", "@tiny", "--card")
    assert scores["summary"][0]["questions"] == 12
    assert "damage" in scores["kept"]
    assert "Strategies: paraphrases, derive." in Path("tuned/README.md").read_text("utf-8")


OFFICES_OF = {team: list(OFFICES)[i % 4] for i, team in enumerate(TEAMS)}
