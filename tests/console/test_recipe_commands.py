"""Commands that run recipes, show runs and worlds, and print the board."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.console.calls import call
from tests.runs.tiny import RECIPE

from inweights.cli import main
from inweights.recipes import register
from inweights.recipes.catalogue.minutes import Timing, timings


def test_help_does_not_import_torch() -> None:
    script = (
        "import sys; from inweights.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "assert 'torch' not in sys.modules and 'polars' not in sys.modules, 'heavy import'"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "verify" in done.stdout


def test_import_does_not_import_torch() -> None:
    script = "import inweights, sys; dir(inweights); assert 'torch' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_run_json_has_what_a_program_needs(runs, capsys) -> None:
    code, out, _ = call(capsys, "run", "demo/two-hop", "--scale", "smoke", "--json")
    assert code == 0
    done = json.loads(out)
    assert {"recipe", "scale", "seeds", "seconds", "folder", "page", "claims"} <= set(
        done
    )
    keys = {"id", "text", "source", "target", "measured", "low", "high", "verdict"}
    assert all(keys <= set(claim) for claim in done["claims"])
    assert Path(done["page"]).exists()
    code, out, _ = call(capsys, "runs", "--json")
    assert [(r["recipe"], r["state"]) for r in json.loads(out)] == [
        ("demo/two-hop", "complete")
    ]
    code, out, _ = call(capsys, "show", "demo/two-hop", "--scale", "smoke", "--json")
    assert code == 0
    assert json.loads(out)["cached"]
    (runs / "%41 b").mkdir()  # used unchanged in a path, but not in an address
    moved = shutil.move(runs / "demo", runs / "%41 b" / "demo")
    done["page"] = str(Path(done["page"].replace(str(runs / "demo"), str(moved))))
    for place in (
        str(Path(done["page"]).parent),
        done["page"],
        Path(done["page"]).as_uri(),
    ):
        code, out, _ = call(
            capsys, "show", place, "--runs", str(runs / "others"), "--json"
        )
        assert (code, json.loads(out)["page"]) == (0, done["page"])


def test_list_and_board(runs, capsys) -> None:
    _, out, _ = call(capsys, "list", "--json")
    names = [recipe["name"] for recipe in json.loads(out)]
    assert "identity-bridge/fig2" in names
    code, out, _ = call(capsys, "verify", "--json")
    board = json.loads(out)
    assert code == 0
    counted = sum(counts["not judged"] for counts in board["counts"].values())
    assert counted == len(board["claims"]) > 40
    assert "fig2" in call(capsys, "list")[1]
    assert "not judged" in call(capsys, "verify", "fig2")[1]
    markdown = call(capsys, "verify", "--markdown")[1]
    assert "## identity-bridge/fig2" in markdown
    assert markdown.count("| · not judged |") == len(board["claims"])


def test_what_the_board_costs(runs, capsys, monkeypatch) -> None:
    """The cost is estimated with this machine's speed; finished runs cost nothing."""
    monkeypatch.setattr("inweights.recipes.catalogue.minutes.pace", lambda: 30.0)
    words = ("verify", "fig3", "--dry-run")
    found = json.loads(call(capsys, *words, "--json")[1])
    minutes = {name: timings()[name].here(30.0) for name in timings()}
    known = {one["recipe"]: one["minutes"] for one in found["recipes"]}
    assert "identity-bridge/fig3" in known
    assert known == {name: minutes[name] for name in known}
    assert found["minutes"] == found["left"] == pytest.approx(sum(known.values()))
    assert "identity-bridge/fig3" in call(capsys, *words)[1]
    (runs / "identity-bridge/fig3").mkdir(parents=True)
    monkeypatch.setattr("inweights.actions.making.find", lambda *_, **__: True)
    less = json.loads(call(capsys, *words, "--json")[1])
    gone = minutes["identity-bridge/fig3"]
    assert less["left"] == pytest.approx(found["minutes"] - gone)
    again = Timing(version=2, minutes=9.0, pace=30.0, shared=3.0)
    monkeypatch.setitem(timings(), "identity-bridge/fig3", again)
    assert (
        "3 min of it are for training runs that an earlier recipe also has"
        not in call(capsys, *words)[1]
    ), "there is a finished run"
    monkeypatch.setattr("inweights.actions.making.find", lambda *_, **__: None)
    assert json.loads(call(capsys, *words, "--json")[1])["shared"] >= 3.0
    assert (
        "of it are for training runs that an earlier recipe also has"
        in call(capsys, *words)[1]
    )
    assert call(capsys, *words, "--scale", "smoke")[0] == 2


@pytest.mark.slow
def test_config_file_and_overrides(runs, capsys, tmp_path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(
        'n = 3\n[gpt.phase]\nsteps = 2\n[gpt.phase.schedule]\nkind = "cosine"\n'
    )
    words = ("run", "demo/two-hop", "--scale", "smoke", "--json")
    code, out, _ = call(capsys, *words, "--config", str(file), "--set", "n=5")
    assert code == 0
    config = json.loads((runs / json.loads(out)["folder"] / "config.json").read_text())
    assert config["settings"]["n"] == 5
    assert config["settings"]["gpt"]["phase"]["schedule"]["kind"] == "cosine"


def test_world_is_shown_and_written(capsys, tmp_path) -> None:
    words = ("world", "two-hop", "--set", "n=5", "--set", "identity=true", "--json")
    code, out, _ = call(capsys, *words, "--out", str(tmp_path / "w"))
    made = json.loads(out)
    assert code == 0
    assert made["facts"] == {"first_hop": 5, "second_hop": 5, "identity": 5}
    assert made["queries"] == {"composition": made["out_of_distribution"]}
    code, again, _ = call(capsys, "world", str(tmp_path / "w"), "--json")
    assert {**made, "folder": None} == json.loads(again)
    assert "a1 r1 r2 → c1" in call(capsys, "world", "two-hop")[1]
    assert call(capsys, "world", "two-hop", "--out", str(tmp_path / "w"))[0] == 2


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["run", "demo/twohop"], "did you mean 'demo/two-hop'"),
        (["run", "demo/two-hop", "--scale", "big"], "unknown scale 'big'"),
        (["run", "demo/two-hop", "--set", "gpt.modle.width=3"], "unknown key"),
        (["run", "demo/two-hop", "--set", "n=1"], "n must be at least 2, got 1"),
        (["run", "demo/two-hop", "--set", "n=four"], "expected `int`"),
        (["run", "demo/two-hop", "--set", "n"], "key=value"),
        (["run", "demo/two-hop", "--seeds", "0"], "at least one seed"),
        (["run", "demo/two-hop", "--config", "/nowhere.toml"], "cannot read"),
        (
            ["run", "identity-bridge/fig2", "--set", "complexities=[0]"],
            "'complexity' must be from 1",
        ),
        (["run", "demo/two-hop", "--plugin", "no_such_module"], "no_such_module"),
        (["run"], "RECIPE"),
        (["runn"], "runn"),
        (["world", "twohop"], "did you mean 'two-hop'"),
        (["world", "two-hop", "--set", "complexity=99"], "'complexity' must be from 1"),
        (["show", "feedbeef"], "unknown run"),
        (["show", "demo/two-hop"], "has not been run"),
    ],
)
def test_bad_input_is_one_clear_line(runs, capsys, words: list[str], says: str) -> None:
    code, out, err = call(capsys, *words)
    assert code == 2
    assert says in err
    assert len(err.strip().splitlines()) == 1
    assert "Traceback" not in err
    assert out == ""


def test_debug_shows_the_traceback(runs) -> None:
    with pytest.raises(Exception, match="unknown recipe"):
        main(["run", "nope", "--debug"])


def test_edited_run_is_refused(runs, capsys, registries) -> None:
    register(RECIPE)
    _, out, _ = call(capsys, "run", "tests/tiny", "--scale", "smoke", "--json")
    folder = json.loads(out)["folder"]
    with (Path(folder) / "outcome.json").open("a") as file:
        file.write(" ")
    code, _, err = call(capsys, "run", "tests/tiny", "--scale", "smoke")
    assert (code, "was edited: outcome.json" in err) == (2, True)
    code, _, _ = call(capsys, "run", "tests/tiny", "--scale", "smoke", "--fresh")
    assert code == 0


def test_strict_fails_when_a_claim_does(runs, capsys, monkeypatch) -> None:
    from inweights import actions
    from inweights.experiments import ClaimResult, Target

    failed = ClaimResult(
        id="a/b/c",
        text="It works.",
        place="",
        source="ours",
        published=None,
        target=Target(least=1.0),
        measured=0.0,
        low=0.0,
        high=0.0,
        replicates=5,
        verdict="not reproduced",
    )
    monkeypatch.setattr(actions, "verdicts", lambda scale, **_: (failed,))
    assert call(capsys, "verify")[0] == 0
    assert call(capsys, "verify", "--strict")[0] == 1
