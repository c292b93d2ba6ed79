"""Every command prints names from files as text, without markup and escape codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from inweights.cli import main
from inweights.cli.console.base import line, out
from inweights.cli.console.catalogue import recipes
from inweights.cli.console.language import evaluated
from inweights.cli.console.language.training import mask
from inweights.cli.console.live.progress_display import progress
from inweights.cli.console.results import outcome
from inweights.experiments import Recipe
from inweights.runs import write_json

#: The names contain a closing tag without an opening one, a style, an emoji, a colour
#: code, a code that sets the terminal's title, and an eight-bit control code.
NAMES = (
    "[/x]",
    "[bold red]b[/]",
    ":smile:",
    "\x1b[31mred",
    "\x1b]0;title\x07",
    "c1\x9b2J",
)


def printed(capsys) -> str:
    told = capsys.readouterr()
    text = told.out + told.err
    assert not set(text) & {"\x1b", "\x07", "\x9b"}
    return text


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    """Write facts that form a chain through every hostile name."""
    path = tmp_path / "[/facts].jsonl"
    path.parent.mkdir()
    rows = []
    for i, name in enumerate(NAMES):
        rows += [
            (f"ann{i}", f"[/r]{NAMES[0]}", name),
            (name, f"born\x1b[2J{i % 2}", "rome[/]"),
        ]
    keys = ("subject", "relation", "object")
    lines = [json.dumps(dict(zip(keys, row, strict=True))) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_audit(facts, capsys, tmp_path) -> None:
    assert main(["audit", str(facts), "--page", str(tmp_path / "[/page].html")]) == 0
    text = printed(capsys)
    assert "[/r][/x]" in text
    assert "born\\x1b" in text


def test_predict(facts, capsys) -> None:
    assert main(["predict", str(facts), "--all"]) == 0
    text = printed(capsys)
    assert "[bold red]b[/]" in text
    assert "\\x1b[31mred" in text


def test_augment(facts, capsys, tmp_path) -> None:
    assert main(["augment", str(facts), "--out", str(tmp_path / "[/w]")]) == 0
    assert "[/w]" in printed(capsys)


def test_world(facts, capsys, tmp_path) -> None:
    assert main(["world", str(facts), "--out", str(tmp_path / "[/w]")]) == 0
    assert "[/w]" in printed(capsys)


def test_json_has_no_control_codes(facts, capsys) -> None:
    assert main(["audit", str(facts), "--json"]) == 0
    told = json.loads(printed(capsys))
    assert "c1\x9b2J" in json.dumps(told, ensure_ascii=False)


def test_runs_and_show(capsys, tmp_path) -> None:
    home = tmp_path / "[/runs]" / "a" / "b" / "c0ffee[b]"
    home.mkdir(parents=True)
    write_json(
        home / "config.json",
        {"recipe": "[/a]\x1b[2J", "scale": ":smile:", "seeds": [1]},
    )
    write_json(home / "manifest.json", {"files": {}})
    root = ["--runs", str(tmp_path / "[/runs]")]
    assert main(["runs", *root]) == 0
    text = printed(capsys)
    assert "[/a]" in text
    assert ":smile:" in text
    assert main(["show", "c0ffee", *root]) == 2
    assert "[/a]\\x1b[2J" in printed(capsys)


def test_error_names_what_was_given(capsys) -> None:
    assert main(["predict", "[/nothing]\x1b[2J"]) == 2
    assert "no file [/nothing]\\x1b[2J;" in printed(capsys)


def test_list_and_show_a_recipe(capsys, tmp_path) -> None:
    from types import SimpleNamespace

    from tests.runs.tiny import RECIPE

    odd = Recipe(
        **{
            name: getattr(RECIPE, name)
            for name in ("paper", "summary", "scales", "seeds", "plan")
        },
        name="tests/[/odd]",
        title="[/x]\x1b[2J",
        place=":smile:",
    )
    recipes([odd], json=False)  # type: ignore[list-item]
    assert "[/odd]" in printed(capsys)
    done = SimpleNamespace(
        recipe=odd, scale="smoke", seeds=(1,), seconds=1.0, cached=False
    )
    done.claims, done.folder = (), SimpleNamespace(path=tmp_path / "[/x]")
    done.heading, done.cautions = odd.title, ()
    outcome(done, json=False)  # type: ignore[arg-type]
    assert "[/x]\\x1b[2J" in printed(capsys)


def test_evaluate_and_finetune(capsys) -> None:
    row = {
        "questions": 1,
        "accuracy": 1.0,
        "chance": 0.5,
        "reciprocal": 1.0,
        "share": 1.0,
    }
    rows = [{"role": name, **row} for name in NAMES]
    sets = pl.DataFrame({"set": NAMES, "chains": 1, "rise": 0.1, "share_rise": 0.1})
    general = pl.DataFrame({"kind": ["question"], "hit": [True]})
    made = {"summary": pl.DataFrame(rows), "sets": sets, "general": general}
    evaluated(made, json=False)
    mask("\n".join(NAMES), 1, 1, 1, 0)
    assert printed(capsys).count("[/x]") == 3


def test_progress(capsys) -> None:
    with progress() as report:
        report(1, 2, "1 × [/x]")


def test_style_is_said_beside_the_text(capsys) -> None:
    out.print(line(("[/x]", "bold"), " and ", ("[b]", "dim")))
    assert printed(capsys) == "[/x] and [b]\n"


@pytest.mark.slow
def test_a_stream_that_cannot_show_all_characters(tmp_path) -> None:
    path = tmp_path / "facts.csv"
    path.write_text("zoë,мать,ann\nann,born,rome\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "inweights", "audit", str(path)],
        capture_output=True,
        env=os.environ | {"PYTHONIOENCODING": "cp1252"},
    )
    assert done.returncode == 0, done.stderr
    assert "????" in done.stdout.decode("cp1252")
