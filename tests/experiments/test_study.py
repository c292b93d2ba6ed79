"""A study as a TOML file: its valid content, its run, its page, and its errors."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

import inweights as iw
from inweights import actions
from inweights.cli import main
from inweights.errors import ConfigError
from inweights.experiments.studies.study import open_study, study_recipe

PAGE = Path(__file__).parents[2] / "docs" / "sweep.md"
BRIEF = """
[world]
kind = "two-hop"
n = 3
[model]
kind = "emb-mlp"
width = 8
[[learner.phases]]
steps = 2
"""
OVER = """
[over]
world.identity = [false, true]
"learner.phases.0.optimizer.rate" = [0.1, 0.2]
"""


def documented() -> str:
    found = re.search(
        r"^```toml\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    assert found
    return found[1]


def write(folder: Path, text: str, name: str = "own.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def study_of(recipe: iw.Recipe) -> iw.Study:
    settings: Any = recipe.scales["cpu"]
    study: iw.Study = settings.study
    return study


def test_a_file_is_the_same_study_as_the_call(tmp_path) -> None:
    file = write(tmp_path, BRIEF + OVER)
    recipe = open_study(file)
    study = study_of(recipe)
    rate = "learner.phases.0.optimizer.rate"
    called = iw.Study(
        iw.TwoHop(n=3),
        iw.EmbMLPConfig(width=8),
        iw.Curriculum(phases=(iw.Phase(steps=2),)),
        over={"world.identity": [False, True], rate: [0.1, 0.2]},
    )
    assert study.trials == called.trials
    assert recipe.name == "study/own"
    assert recipe.resolve("cpu")[1] == (0, 1, 2)
    listed = open_study(write(tmp_path, "seeds = [7, 9]\n" + BRIEF))
    assert listed.resolve("cpu")[1] == (7, 9)


@pytest.mark.slow
def test_the_documented_file_runs_is_listed_shown_and_made_again(
    tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, documented().replace("steps = 300", "steps = 20"), "bridges.toml")
    assert main(["sweep", "bridges.toml", "--dry-run", "--json"]) == 0
    ahead = json.loads(capsys.readouterr().out)
    assert (ahead["conditions"], ahead["runs"], ahead["stored"]) == (6, 24, 0)
    assert not (tmp_path / "runs").exists()
    words = [
        "sweep",
        "bridges.toml",
        "--set",
        "over.world.identity=[0.0, 1.0]",
        "--seeds",
        "3",
    ]
    assert main([*words, "--json"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert done["recipe"] == "study/bridges"
    assert done["claims"][0]["replicates"] == 3
    page = Path(done["page"]).read_text("utf-8")
    assert "How many identities does a bridge need?" in page
    assert "Varies identity, std." in page
    assert list((Path(done["folder"]) / "figures").glob("accuracy-1.png"))
    # The command on the page reads the run from the store.
    (command,) = re.findall(r'data-copy="(inweights [^"]*)"', page)
    words = shlex.split(command.replace("&#x27;", "'").replace("&quot;", '"'))
    assert main([*words[1:], "--json"]) == 0
    read = json.loads(capsys.readouterr().out)
    assert (read["cached"], read["folder"]) == (True, done["folder"])
    # The file is no longer needed.
    Path("bridges.toml").unlink()
    assert main(["runs", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["recipe"] == "study/bridges"
    for name in ("study/bridges", Path(done["folder"]).name):
        assert main(["show", name, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["claims"] == done["claims"]
    again = actions.open_run("study/bridges", again=True)
    assert again.seeds == (0, 1, 2)
    assert (again.folder.path / "page.html").exists()


@pytest.mark.slow
def test_a_file_without_figures_and_claims_has_a_page(tmp_path, capsys) -> None:
    file = write(tmp_path, "seeds = [7, 9]\n" + BRIEF + OVER)
    assert (
        main(["sweep", str(file), "--runs", str(tmp_path / "runs"), "--keep-models"])
        == 0
    )
    printed = capsys.readouterr().out
    assert "study/own" in printed
    assert "verdict" not in printed
    outcome = actions.open_run("study/own", runs=tmp_path / "runs")
    assert outcome.seeds == (7, 9)
    assert len(outcome.models(identity=True)) == 4
    assert "accuracy by what was varied" in (
        outcome.folder.path / "page.html"
    ).read_text("utf-8")


def test_whole_parts_points_and_linked_axes_are_written_in_a_file(tmp_path) -> None:
    def labels(text: str) -> list[Any]:
        return study_of(open_study(write(tmp_path, BRIEF + text))).trials

    parts = labels(
        '[over.model.wide]\nkind = "emb-mlp"\nwidth = 16\n[over.model.gpt]\nkind = "gpt"\n'
        '[over.learner.optimum]\nkind = "optimum"\n'
    )
    assert [trial.labels["model"] for trial in parts] == ["wide", "gpt"]
    assert [type(trial.model).__name__ for trial in parts] == [
        "EmbMLPConfig",
        "GPTConfig",
    ]
    assert {type(trial.learner).__name__ for trial in parts} == {"Optimum"}
    linked = labels('[over]\n"world.n, model.width" = [[3, 8], [4, 16]]\n')
    assert [t.labels for t in linked] == [{"n": 3, "width": 8}, {"n": 4, "width": 16}]
    points = labels('[[over]]\n"world.n" = 3\n[[over]]\n"world.n" = 5\n')
    assert [t.world.n for t in points] == [3, 5]


def test_a_measure_has_options_and_a_cadence(tmp_path) -> None:
    text = (
        'measures = ["margins", {probe = "accuracy", name = "seen", every = 1}]\n'
        + BRIEF
    )
    plan = study_of(open_study(write(tmp_path, text))).plan
    assert [(m.name, m.every) for m in plan.measures] == [("margins", 0), ("seen", 1)]


WRONG = {
    "no world": ('title = "x"', "world"),
    "no kind": ("[world]\nn = 3", 'the world has no kind; add kind = "two-hop"'),
    "kind": (
        '[world]\nkind = "two-hip"',
        "unknown world 'two-hip'; did you mean 'two-hop'",
    ),
    "setting": (
        '[world]\nkind = "two-hop"\ntrain = 3',
        "world: unknown key 'train'; did you mean",
    ),
    "range": (
        '[world]\nkind = "two-hop"\nn = 1',
        "world: two-hop: n must be at least 2, got 1",
    ),
    "model": (
        BRIEF.replace("emb-mlp", "gtp"),
        "unknown model 'gtp'; did you mean 'gpt'",
    ),
    "learner": (BRIEF + '[learner]\nkind = "x"', "unknown learner 'x'"),
    "learner kind": (
        '[world]\nkind = "two-hop"\n[learner]\nkind = "descend"',
        "unknown learner 'descend'; did you mean 'descent'",
    ),
    "key": ("worlds = 3\n" + BRIEF, "unknown key 'worlds'; did you mean 'world'"),
    "path": (
        BRIEF + "[over]\nworld.m = [3]",
        "unknown path 'world.m'; did you mean 'world.n'",
    ),
    "value": (BRIEF + '[over]\nworld.n = ["x"]', "world.n = 'x': n: expected `int`"),
    "probe": (
        'measures = ["acuracy"]\n' + BRIEF,
        "unknown probe 'acuracy'; did you mean 'accur",
    ),
    "no probe": ('measures = ["os:system"]\n' + BRIEF, "there is no probe os:system"),
    "function": (
        'measures = ["shutil:rmtree"]\n' + BRIEF,
        "there is no probe shutil:rmtree",
    ),
    "own probe": (
        'measures = ["mine:look"]\n' + BRIEF,
        "load its module with --plugin mine",
    ),
    "no measure": ("measures = []\n" + BRIEF, "a sweep needs at least one measure"),
    "figure": (
        '[[figures]]\ntable = "acuracy"\n' + BRIEF,
        "unknown table 'acuracy'; did you mean 'accuracy'",
    ),
    "claim": (
        BRIEF
        + '[[claims]]\nname = "a"\ntext = "b"\ntable = "accuracy"\ncolumn = "accuracy"',
        "a target needs a smallest value",
    ),
    "seeds": ("seeds = 0\n" + BRIEF, "at least one seed"),
    "toml": ("[world", "not a TOML file"),
    "over": ("over = 3\n" + BRIEF, "over"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_one_line(what: str, tmp_path, capsys) -> None:
    text, why = WRONG[what]
    file = write(tmp_path, text)
    assert main(["sweep", str(file), "--runs", str(tmp_path / "runs")]) == 2
    printed = capsys.readouterr()
    assert why in printed.err
    assert str(file) in printed.err
    assert len(printed.err.strip().splitlines()) == 1
    assert not (tmp_path / "runs").exists()


def test_a_file_that_is_not_there_says_so(tmp_path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        open_study(tmp_path / "nothing.toml")


def test_a_figure_draws_the_table_of_its_measure_whatever_that_is_called() -> None:
    recipe = study_recipe(
        "study/own",
        {
            "world": {"kind": "two-hop"},
            "measures": [{"probe": "accuracy", "name": "a:b"}],
        },
    )
    (look,) = recipe.plan(recipe.scales["cpu"]).measures
    assert [figure.sources for figure in recipe.figures] == [(look.name,)]
