"""The commands print the stored texts, which fit into 80 columns and 60 lines.

``INWEIGHTS_WRITE=1 pytest tests/console/test_golden.py`` writes the texts again.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from inweights.cli import main
from inweights.cli.console.claims import claims
from inweights.cli.console.live.progress_display import _log
from inweights.experiments.claims.claim_result import ClaimResult
from inweights.experiments.claims.verdict import unjudged
from inweights.recipes import get_recipe, recipe_names

GOLDEN = Path(__file__).with_name("golden")
#: Commands that only read, by the name of the stored text; HASH is a finished run's hash.
COMMANDS = {
    "help": ["--help"],
    "list": ["list"],
    "list-fig": ["list", "identity-bridge"],
    "describe": ["describe", "fig2"],
    "describe-part": ["describe", "fig2", "gpt.phase"],
    "runs": ["runs"],
    "show-smoke": ["show", "two-hop", "--scale", "smoke"],
    "verify": ["verify"],
    "verify-part": ["verify", "feature-resemblance", "--scale", "smoke"],
    "verify-recipe": ["verify", "two-hop"],
    "compare": ["compare", "two-hop", "HASH", "--scale", "smoke"],
    "cite": ["cite", "geometric-memory/fig1"],
}
#: Patterns of text that differs between runs, such as hashes and dates, with substitutes.
VARYING = (
    (re.compile(r"file:\S+"), "PAGE"),
    (re.compile(r"\b[0-9a-f]{12}\b"), "HASH12345678"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d"), "2000-01-01 00:00"),
    (re.compile(r"(about|at most) (\d+ (s|min)|[\d.]+ h)"), "about 5 min"),
    (re.compile(r"\b\d+ s\b"), "5 s"),
    (re.compile(r"version = \{.*\}"), "version = {0}"),
)


@pytest.fixture
def at(demos, monkeypatch) -> Path:
    monkeypatch.setenv("INWEIGHTS_RUNS", str(demos))
    monkeypatch.setenv("COLUMNS", "80")
    return demos


@pytest.mark.parametrize("name", COMMANDS)
def test_the_text_is_as_stored(at, capsys, name: str) -> None:
    changed = next(
        f for f in at.glob("demo/two-hop/*/config.json") if '"n":5' in _squeezed(f)
    )
    words = [changed.parent.name if word == "HASH" else word for word in COMMANDS[name]]
    assert main(words) == 0
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    wide = [line for line in lines if len(line) > 80 and "file:" not in line]
    wide = [line for line in wide if not line.startswith("  title =")]  # BibTeX
    # The list has one line for each recipe and two others.
    most = len(recipe_names()) + 2 if name == "list" else 60
    assert (wide, len(lines) <= most) == ([], True)
    text = "\n".join(lines) + "\n"
    for pattern, shown in VARYING:
        text = pattern.sub(shown, text)
    file = GOLDEN / f"{name}.txt"
    if os.environ.get("INWEIGHTS_WRITE"):
        file.write_text(text, encoding="utf-8")
    # The last digits of numbers measured in the tiny runs may differ between
    # machines.
    assert _numberless(text) == _numberless(file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", recipe_names())
def test_no_description_is_long(capsys, name: str) -> None:
    assert main(["describe", name]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(len(line.rstrip()) for line in lines) <= 80
    assert len(lines) <= 60


def test_a_list_is_described_by_its_first_item(capsys) -> None:
    assert main(["describe", "geometric-memory/fig3", "stars"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["stars.1.…", "as", "stars.0.…"] in lines
    assert len(lines) <= 12
    assert main(["describe", "geometric-memory/fig3", "stars.1"]) == 0
    assert "edges *" in capsys.readouterr().out


def test_a_part_that_is_ours_in_part_marks_each_setting(capsys) -> None:
    assert main(["describe", "feature-resemblance/table1"]) == 0
    assert "rate *, losses, steps *" in capsys.readouterr().out


@pytest.mark.parametrize("measured", [False, True])
@pytest.mark.parametrize("name", recipe_names())
def test_no_list_of_claims_is_long(capsys, name: str, measured: bool) -> None:
    stated = [
        unjudged(claim, "this scale is too small") for claim in get_recipe(name).claims
    ]
    if measured:
        values = {"verdict": "undecided", "measured": 0.123456, "needed": 40, "why": ""}
        fields = ClaimResult.__struct_fields__
        stated = [
            ClaimResult(**{f: getattr(c, f) for f in fields} | values) for c in stated
        ]
    claims(stated)
    lines = capsys.readouterr().out.splitlines()
    assert max(len(line.rstrip()) for line in lines) <= 80
    assert len(lines) <= 60


def test_a_run_with_other_settings_is_named(
    demos, tmp_path, monkeypatch, capsys
) -> None:
    changed = next(
        f for f in demos.glob("demo/two-hop/*/config.json") if '"n":5' in _squeezed(f)
    )
    shutil.copytree(changed.parent, tmp_path / "demo" / "two-hop" / changed.parent.name)
    monkeypatch.setenv("INWEIGHTS_RUNS", str(tmp_path))
    assert main(["show", "two-hop", "--scale", "smoke"]) == 2
    assert f"inweights show {changed.parent.name}\n" in capsys.readouterr().err


def test_smoke_says_once_that_nothing_is_judged(at, capsys) -> None:
    assert main(["show", "two-hop", "--scale", "smoke"]) == 0
    assert capsys.readouterr().out.count("judged") == 1


def test_a_log_has_lines(capsys) -> None:
    now = 0.0
    report = _log(lambda: now)
    for second in range(101):
        now = float(second)
        report(second, 100, "8 × gpt")
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 10
    assert lines[4] == " 50%  8 × gpt, 50 s, about 50 s left"


def test_a_log_of_what_is_slow_has_a_line_a_minute_and_of_what_is_quick_none(
    capsys,
) -> None:
    now = 0.0
    report = _log(lambda: now)
    for second in range(601):
        now = float(second)
        report(second, 100_000, "24 × gpt")
    assert len(capsys.readouterr().err.splitlines()) == 10
    quick = _log(lambda: 0.5)
    quick(1, 2, "x")
    assert capsys.readouterr().err == ""


def _squeezed(file: Path) -> str:
    return re.sub(r"\s", "", file.read_text(encoding="utf-8"))


def _numberless(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"-?\d+\.\d+|\b[01]\b", "#", text))
