"""Every number that ``predict`` prints about a file is recounted, and equal on all screens.

Answers of an optimum are only checked for consistency here; ``tests/theory`` compares the
program with cvxpy. Numbers about the file are counted in plain Python.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from tests.foreign.test_printed_numbers import DATA, Row, names_of_numbers, rows_of

from inweights.cli import main

#: Numbers of the program, its certificate, and the fit to trained worlds.
NOT_COUNTED = {
    "gap": "of the certificate",
    "optimum": "a norm",
    "bound": "of the certificate",
    "rank": "of the optimum",
    "iterations": "of the solver",
    "seconds": "a time",
    "distance": "to the nearest family of trained worlds",
    "Emb-MLP": "its error there",
    "GPT": "its error there",
    "margin": "of the optimum; its sign is checked",
    "tied": "of a query: outputs within the tolerance; of the summary: counted",
    "Emb-MLP probability": "of the fit; its bounds are checked",
    "GPT probability": "of the fit; its bounds are checked",
    "part": "which part of the facts",
    "solutions": "how many programs were solved",
    "parts": "how many parts the advice is of",
}
COUNTED = {
    "let_go_found",
    "right_answers",
    "chance",
    "expected",
    "queries",
    "follow",
    "tied",
    "fail",
    "asserted",
    "open",
    "least_margin",
    "median_margin",
}


def graphs() -> dict[str, list[Row]]:
    """Return graphs of networkx as facts, each edge once."""
    florentine = nx.florentine_families_graph()
    club = nx.karate_club_graph().subgraph(range(12))
    return {
        "florentine": [(a, "married", b) for a, b in florentine.edges],
        "club": [(f"member {a}", "knows", f"member {b}") for a, b in club.edges],
    }


@pytest.fixture(scope="module", params=["citystates", "homonyms", "florentine", "club"])
def file(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    if request.param not in graphs():
        return DATA / f"{request.param}.csv"
    made = tmp_path_factory.mktemp("graphs") / f"{request.param}.csv"
    rows = [",".join(row) for row in graphs()[request.param]]
    made.write_text(
        "\n".join(["subject,relation,object", *rows]) + "\n", encoding="utf-8"
    )
    return made


def _number(pattern: str, text: str, flags: int = 0) -> str:
    """Return the number that a pattern finds; fail if there is none."""
    found = re.search(pattern, text, flags)
    assert found, pattern
    return found[1]


def told(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main([*words]) == 0
    return capsys.readouterr().out


def predicted(file: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    words = ("predict", str(file), "--no-advice", "--json")
    found: dict[str, Any] = json.loads(told(capsys, *words))
    return found


def identity_relations(rows: list[Row]) -> set[str]:
    """Return the relations that map each of their subjects to itself."""
    return {row[1] for row in rows} - {row[1] for row in rows if row[0] != row[2]}


def questions_of(rows: list[Row]) -> dict[str, set[str]]:
    """Return the right answers to each two-step prompt ``subject first second``."""
    found = defaultdict(set)
    plain = [row for row in rows if row[1] not in identity_relations(rows)]
    for one in plain:
        for two in plain:
            if one[2] == two[0]:
                found[f"{one[0]} {one[1]} {two[1]}"].add(two[2])
    return found


def test_two_step_questions_and_their_answers(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, found = rows_of(file), predicted(file, capsys)
    wanted, outputs = questions_of(rows), {row[2] for row in rows}
    composed = [one for one in found["queries"] if one["role"] == "composition"]
    assert sorted(one["prompt"] for one in composed) == sorted(wanted)
    for one in composed:
        right = wanted[one["prompt"]]
        assert one["answer"] in right
        assert one["right_answers"] == len(right)
        assert one["chance"] == pytest.approx(len(right) / len(outputs))


def test_verdicts_agree_with_answers_and_margins(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted, found = questions_of(rows_of(file)), predicted(file, capsys)
    for one in found["queries"]:
        verdict = {"follows": 1, "tied": 0, "fails": -1}[one["verdict"]]
        size = abs(one["margin"]) > 0.02
        assert verdict == (size and (1 if one["margin"] > 0 else -1))
        assert 0 <= one["expected"] <= 1
        if one["prompt"] in wanted and verdict:
            assert (one["predicted"] in wanted[one["prompt"]]) == (verdict == 1)
            assert verdict == -1 or one["expected"] == 1
        for model in ("Emb-MLP", "GPT"):
            fitted = one[f"{model} probability"]
            least = one["chance"] if one["right_answers"] > 1 else 0
            assert fitted is None or least - 1e-9 <= fitted <= 1


def test_the_summary_counts_the_queries(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = predicted(file, capsys)
    assert sum(one["queries"] for one in found["summary"]) == len(found["queries"])
    for one in found["summary"]:
        own = [
            q
            for q in found["queries"]
            if (q["role"], q["pattern"]) == (one["role"], one["pattern"])
        ]
        assert one["queries"] == len(own)
        words = {"follow": "follows", "tied": "tied", "fail": "fails"} | {
            n: n for n in ("asserted", "open")
        }
        assert {n: one[n] for n in words} == {
            n: sum(q["verdict"] == w for q in own) for n, w in words.items()
        }
        for mean in ("expected", "right_answers", "chance"):
            assert one[mean] == pytest.approx(sum(q[mean] for q in own) / len(own))
        margins = sorted(q["margin"] for q in own)
        middle = (margins[len(own) // 2] + margins[(len(own) - 1) // 2]) / 2
        assert (one["least_margin"], one["median_margin"]) == pytest.approx(
            (margins[0], middle)
        )
    assert found["let_go_found"] == len(found["let_go"])


def test_every_number_is_counted_or_explained(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = set(names_of_numbers(predicted(file, capsys)))
    assert names <= NOT_COUNTED.keys() | COUNTED


@pytest.mark.fast_cases(2)
def test_every_screen_counts_the_same_questions(
    file: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Eight screens show the same number of two-step prompts of the file."""
    count = len(questions_of(rows_of(file)))
    audit = ("audit", str(file))
    plain = told(capsys, *audit, "--no-forecast")
    assert _number(r"^(\d+) two-step questions", plain, re.MULTILINE) == str(count)
    forecast = told(capsys, *audit, "--page", str(tmp_path / "audit.html"))
    assert _number(r"of (\d+) two-step questions follow", forecast) == str(count)
    assert _number(r"composition \((\d+) queries\)", forecast) == str(count)
    page = (tmp_path / "audit.html").read_text(encoding="utf-8")
    assert f"of {count} two-step questions follow" in page
    found = json.loads(told(capsys, *audit, "--no-forecast", "--json"))
    assert sum(one["subjects"] for one in found["compositions"]) == count
    words = (
        "predict",
        str(file),
        "--no-advice",
        "--page",
        str(tmp_path / "predict.html"),
    )
    every = json.loads(told(capsys, *words, "--json"))
    assert sum(one["role"] == "composition" for one in every["queries"]) == count
    page = (tmp_path / "predict.html").read_text(encoding="utf-8")
    answered = sum(one["right_answers"] > 0 for one in every["queries"])
    assert _number(r"[\d,]+ of ([\d,]+) questions? follow", page) == str(answered)
    assert _number(r">questions</\w+>\s*<\w+[^>]*>([\d,]+)<", page) == str(
        len(every["queries"])
    )


@pytest.mark.slow
def test_citystates_are_counted_alike_by_training(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Singapore is its own capital, so there are 13 questions, also by training, and not 5."""
    file = DATA / "citystates.csv"
    words = (
        "predict",
        str(file),
        "--no-advice",
        "--by",
        "training",
        "--replicas",
        "1",
        "--json",
    )
    found = json.loads(told(capsys, *words))
    assert len(questions_of(rows_of(file))) == 13
    for one in found["training"]["kinds"]:
        own = [query for query in found["queries"] if query["role"] == one["role"]]
        assert one["queries"] == len(own) == 13
        shares = [query[one["model"]] for query in own]
        assert one["share"] == pytest.approx(sum(shares) / len(shares))
        assert one["chance"] == pytest.approx(
            sum(query["chance"] for query in own) / len(own)
        )
