"""From 300 facts about an invented company to a tuned model, as a new user would do it."""

from __future__ import annotations

import csv
import html
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from inweights.audit import augment, write_augmented
from inweights.cli import main
from inweights.worlds import read_knowledge

NAMES = [
    "Zoë",
    "Björn",
    "Anaïs",
    "Łukasz",
    "Yūki",
    "Nnamdi",
    "Siobhán",
    "Tomáš",
    "İpek",
    "Olga",
]
NAMES += ["Ravi", "Dr. Lee", "José"]
FAMILIES = ["O'Brien", "Svensson", "Müller", "Nguyễn", "Tanaka"]
SITES = {
    "Malmö Hub": "Malmö",
    "Lund Campus": "Lund",
    "Kraków Office": "Kraków",
    "Depot": "Cork",
}
LAND = {"Malmö": "Sweden", "Lund": "Sweden", "Kraków": "Poland", "Cork": "Ireland"}


def company(seed: int = 3) -> list[tuple[str, str, str]]:
    """Write facts with several values, dates, accents, inverses, aliases and contradictions."""
    rng = np.random.default_rng(seed)
    people = [f"{name} {family}" for family in FAMILIES for name in NAMES][:45]
    teams = [f'Team "{bird}", Ltd.' for bird in ("Heron", "Kite", "Wren", "Crane")]
    sites = list(SITES)
    rows = [(site, "located in", town) for site, town in SITES.items()]
    rows += [(site, "opened on", f"201{i}-05-1{i}") for i, site in enumerate(sites)]
    rows += [(town, "country", land) for town, land in LAND.items()]
    for i, team in enumerate(teams):
        rows += [(team, "led by", people[i]), (team, "based at", sites[i])]
    for i, person in enumerate(people):
        rows += [
            (person, "member of", teams[i % 4]),
            (person, "works at", sites[i % 4]),
        ]
        rows += [(person, "member of", teams[(i + 1) % 4])] if i % 5 == 0 else []
        rows.append(
            (person, "born on", f"19{rng.integers(60, 99)}-0{rng.integers(1, 9)}-11")
        )
        rows.append(
            (person, "speaks", str(rng.choice(["Swedish", "Polish", "English"])))
        )
        if i >= 4:
            rows += [
                (person, "reports to", people[i % 4]),
                (people[i % 4], "manages", person),
            ]
    rows += [
        (sites[0], "opened on", "2031-01-01"),
        ("Malmo hub", "motto", 'Say "yes"; kindly'),
    ]
    rows += [(people[9], "works at", sites[0]), *rows[:6]]
    return rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("company")
    with (place / "facts.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("subject", "relation", "object"), *company()])
    return place


def run(capsys: pytest.CaptureFixture[str], *words: object) -> Any:
    assert main([*map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.slow
def test_five_commands(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = list(dict.fromkeys(company()))
    made = run(
        capsys,
        "audit",
        folder / "facts.csv",
        "--fix",
        folder / "mended",
        "--seconds",
        2,
        "--page",
        folder / "audit.html",
    )
    chains = [(a, r, b, s, c) for a, r, b in rows for b2, s, c in rows if b == b2]
    by_pair = Counter((r, s) for _, r, _, s, _ in chains)
    assert {
        (c["first"], c["second"]): c["chains"] for c in made["compositions"]
    } == by_pair
    assert made["leaks_found"] == sum(
        sum((a, r, c) in rows for r in {r for _, r, _ in rows})
        for a, _, _, _, c in chains
    )
    line = dict(enumerate(company(), start=2))
    page = html.unescape((folder / "audit.html").read_text(encoding="utf-8"))
    assert len(made["leaks"]) >= 10
    for leak in made["leaks"]:
        assert line[leak["line"]] == (
            leak["subject"],
            leak["stated_as"],
            leak["answer"],
        )
        assert (leak["subject"], leak["first"], leak["bridge"]) in rows
        assert (leak["bridge"], leak["second"], leak["answer"]) in rows
        assert leak["subject"] in page
    kinds = Counter(remark["kind"] for remark in made["remarks"])
    assert kinds["duplicate"] == 6
    assert kinds["contradiction"] == 2
    assert kinds["alias"] == 1
    assert kinds["inverse"] == 2  # the leader of a team is a member of it
    assert made["mended"] == {
        "facts": len(rows) - 4,
        "renamed": 1,
        "left out": 6,
        "set apart": 4,
        "missing": 0,
        "to decide": 0,
    }

    mended = folder / "mended" / "facts.csv"
    left = set(pl.read_csv(mended).rows())
    assert {row for row in rows if row not in left} == {
        ("Malmö Hub", "opened on", "2010-05-10"),
        ("Malmö Hub", "opened on", "2031-01-01"),
        ("Malmo hub", "motto", 'Say "yes"; kindly'),
        *((a, r, b) for a, r, b in rows if (a, r) == ("Olga O'Brien", "works at")),
    }
    forecast = run(
        capsys, "predict", mended, "--seconds", 8, "--gap", 0.1, "--no-advice"
    )
    asked = {q["prompt"] for q in forecast["queries"] if q["role"] == "composition"}
    assert asked == {f"{a} {r} {s}" for a, r, b in left for b2, s, _ in left if b == b2}

    made = augment(read_knowledge(mended), strategies=["derive"], most=50, floor=0.25)
    write_augmented(made, folder / "data")
    questions = pl.read_parquet(folder / "data" / "questions.parquet")
    for q in questions.filter(role="composition").sample(20, seed=0).to_dicts():
        assert (q["subject"], q["first"], q["bridge"]) in left
        assert (q["bridge"], q["second"], q["answer"]) in left
        right = {
            c
            for a, r, b in left
            for b2, s, c in left
            if (a, r, b, s) == (q["subject"], q["first"], b2, q["second"])
        }
        assert right & set(q["candidates"]) == {q["answer"]}
    few = folder / "few.parquet"
    questions.sample(20, seed=1).write_parquet(few)
    tuned = run(
        capsys,
        "finetune",
        "@tiny",
        folder / "data",
        "--out",
        folder / "tuned",
        "--set",
        "epochs=1",
        "--set",
        "method=full",
        "--set",
        "batch_tokens=4096",
        "--set",
        "replay=0.05",
    )
    assert tuned["stages"]
    found = run(capsys, "evaluate", folder / "tuned", few, "--no-words")
    assert sum(row["questions"] for row in found["summary"] if "questions" in row)
