"""Commands on pages and in terminals: a shell passes each argument and runs nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import replace
from typing import Any

import pytest
from tests.runs.tiny import RECIPE

from inweights.actions.plans import write_plan
from inweights.actions.plans.files import Planned
from inweights.cli.console.results import status
from inweights.config import apply_overrides
from inweights.errors import ConfigError, FolderError
from inweights.experiments.engine.engine import execute
from inweights.experiments.engine.execution import ExecutionOptions
from inweights.experiments.engine.outcome_files import load
from inweights.recipes import get_recipe
from inweights.report.pages.sections import command_of
from inweights.runs import RunStore

HOSTILE = (
    "$(touch HIT)",
    "`touch HIT`",
    "; touch HIT;",
    "a & touch HIT",
    "a | touch HIT > HIT",
    "'; touch HIT; '",
    '"; touch HIT; "',
    "two\nlines; touch HIT",
    "${HOME} $HOME ~ * !! \\ # 'one' \"two\" ä",
    'models=["emb-mlp"]',
    'graphs={"a\'b" = {kind = "graph", links = [["c", "$(touch HIT)"]]}}',
)


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    return execute(
        RECIPE, "smoke", seeds=2, store=RunStore(tmp_path_factory.mktemp("runs"))
    )


@pytest.fixture
def words(tmp_path):
    """Run a command in bash, in which ``inweights`` records its arguments."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("needs bash")
    stub = tmp_path / "bin" / "inweights"
    stub.parent.mkdir()
    stub.write_text('#!/bin/sh\nprintf "%s\\0" "$@" > "$WORDS"\n')
    stub.chmod(0o755)
    here = tmp_path / "here"
    here.mkdir()

    def paste(command: str) -> list[str]:
        given = tmp_path / "words"
        path = f"{stub.parent}{os.pathsep}{os.environ['PATH']}"
        environment = os.environ | {"PATH": path, "WORDS": str(given)}
        done = subprocess.run(
            [bash], input=command + "\n", text=True, cwd=here, env=environment
        )
        assert done.returncode == 0
        assert list(here.iterdir()) == [], "something in the command was run"
        return given.read_text().split("\0")[:-1]

    return paste


def test_hostile_names_arrive_unchanged(outcome, words) -> None:
    changed = replace(outcome, overrides=HOSTILE, plugins=("mine", "$(touch HIT)"))
    expected = ["run", RECIPE.name, "--scale", "smoke", "--seeds", "2"]
    expected += [word for change in HOSTILE for word in ("--set", change)]
    expected += ["--plugin", "mine", "--plugin", "$(touch HIT)"]
    assert words(command_of(changed)) == expected


def test_a_list_of_names_means_the_same_again(outcome, words) -> None:
    change = 'models=["emb-mlp"]'
    given = words(command_of(replace(outcome, overrides=(change,))))
    assert given[-2:] == ["--set", change]
    settings = get_recipe("demo/two-hop").scales["smoke"]
    changed: Any = apply_overrides(settings, given[-1:])
    assert changed.models == ("emb-mlp",)


def test_a_command_of_another_kind(outcome, words) -> None:
    given = ("atlas", *HOSTILE)
    assert words(command_of(replace(outcome, command=given))) == list(given)


@pytest.mark.parametrize(
    "name", ["$(touch HIT) `touch HIT`", "'; touch HIT; '", "two\nlines"]
)
def test_what_is_said_of_a_plan(words, tmp_path, capsys, name) -> None:
    """The folder may have any name, and its files any content."""
    demo = get_recipe("demo/two-hop")
    place = str(tmp_path / name)
    planned = write_plan(
        demo.plan(demo.scales["smoke"]),
        [0],
        place,
        collect=["touch", "HIT", f"--set={name}"],
    )
    now = planned.status()
    status(planned, now, json=False)
    assert words(capsys.readouterr().out.partition("machines:\n")[2]) == ["work", place]
    status(planned, replace(now, done=now.tasks), json=False)
    assert words(capsys.readouterr().out.partition("with\n")[2]) == [
        "HIT",
        f"--set={name}",
    ]
    with pytest.raises(ConfigError) as told:
        write_plan(demo.plan(demo.scales["smoke"]), [0], place)
    assert words(str(told.value).partition("continue this plan: ")[2]) == [
        "work",
        place,
    ]
    with pytest.raises(FolderError) as none:
        Planned(f"{place}.none")
    assert (
        words(str(none.value).partition("to create a plan: ")[2])[-1] == f"{place}.none"
    )


def test_plugins_are_remembered(tmp_path) -> None:
    store = RunStore(tmp_path)
    made = execute(
        RECIPE,
        "smoke",
        store=store,
        execution=ExecutionOptions(plugins=("my_recipes",)),
    )
    again = load(RECIPE, made.folder)
    assert again.plugins == made.plugins == ("my_recipes",)
    assert (
        command_of(again)
        == "inweights run tests/tiny --scale smoke --plugin my_recipes"
    )
