"""Plugins: found by name, in the current folder and by path, and run only when they are named."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from inweights import recipes
from inweights.cli import main
from inweights.errors import ConfigError
from inweights.support.plugins import load_plugins, module_of
from inweights.worlds import registry

CODE = """
from pathlib import Path

from inweights.config import Config
from inweights.experiments import Paper, Plan, computed
from inweights.experiments.grammar.trial import Computation
from inweights.recipes import register
from inweights.worlds import TwoHop, register_world

import polars as pl

Path("was-run").touch()


class Mine(Config, tag_field="kind", tag="mine"):
    n: int = 3

    def build(self, seed=0):
        return TwoHop(n=self.n).build(seed)


class Settings(Config):
    n: int = 2


def counted(n: int) -> pl.DataFrame:
    return pl.DataFrame({"value": [float(n)]})


def plan(settings):
    one = Computation(name="t", labels={}, compute=counted, options={"n": settings.n})
    return Plan(trials=[], measures=[], computations=[one])


register_world(Mine)
mine = Paper("mine", "My lab", claims_of="ours")
state = mine.stating("rings", "an example")
register(
    mine.recipe(
        "rings",
        title="Rings",
        place="here",
        summary="Counts.",
        scales={"cpu": Settings()},
        seeds={"cpu": 1},
        plan=plan,
        claims=[state("two", "It is two.", computed("t", "value") >= 2.0)],
    )
)
"""


@pytest.fixture
def lab(tmp_path: Path, monkeypatch, registries) -> Iterator[Path]:
    """Yield the current folder, which contains a plugin ``my_lab``; unload it afterwards."""
    (tmp_path / "my_lab.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INWEIGHTS_RUNS", str(tmp_path / "runs"))
    yield tmp_path
    sys.modules.pop("my_lab", None)


def forget() -> None:
    """Unload the plugin, as if the next call were made in another process."""
    sys.modules.pop("my_lab", None)
    recipes._registered.pop("mine/rings", None)
    registry._KINDS.pop("mine", None)
    Path("was-run").unlink(missing_ok=True)


@pytest.mark.parametrize("plugin", ["my_lab", "./my_lab.py", "my_lab.py", "./my_lab"])
def test_every_command_takes_one(lab, capsys, plugin: str) -> None:
    add = ["--plugin", plugin]
    assert main(["run", "mine/rings", "--set", "n=4", *add]) == 0
    for words in (
        ["list", "mine"],
        ["describe", "rings"],
        ["show", next(lab.glob("runs/mine/rings/*/config.json")).parent.name],
        ["verify", "mine"],
        ["runs", "mine"],
        ["world", "mine", "--set", "n=4"],
        ["predict", "mine"],
        ["cite", "mine/rings"],
        ["run", "rings", "--dry-run"],
    ):
        forget()
        assert main([*words, *add]) == 0, capsys.readouterr().err


def test_what_a_run_remembers_is_named_and_never_run(lab, capsys) -> None:
    assert main(["run", "mine/rings", "--plugin", "./my_lab.py"]) == 0
    run = next(lab.glob("runs/mine/rings/*/config.json")).parent.name
    for words in (["show", "mine/rings"], ["show", run], ["export", run, "--csv"]):
        forget()
        capsys.readouterr()
        assert main(words) == 2
        assert "add --plugin ./my_lab.py" in capsys.readouterr().err
        assert not Path("was-run").exists()
    for words in (["runs"], ["verify"], ["list"]):
        assert main(words) == 0
        assert not Path("was-run").exists()


def test_a_package_in_the_current_folder(lab) -> None:
    package = lab / "my_lab"
    package.mkdir()
    (package / "__init__.py").write_text("from my_lab.inner import VALUE\n")
    (package / "inner.py").write_text("VALUE = 3\n")
    load_plugins(["./my_lab/"])
    assert sys.modules["my_lab"].VALUE == 3
    for name in ("my_lab", "my_lab.inner"):
        sys.modules.pop(name)


def test_a_file_does_not_take_the_place_of_a_library(lab) -> None:
    (lab / "polars.py").write_text("raise SystemExit(3)\n")
    load_plugins(["polars"])  # the library
    with pytest.raises(
        ConfigError, match="another module with the name 'polars' is already imported"
    ):
        load_plugins(["./polars.py"])


def test_a_plugin_that_fails_leaves_nothing_behind(lab) -> None:
    (lab / "my_lab.py").write_text("import sys\nsys.exit('no')\n")
    with pytest.raises(ConfigError, match="SystemExit: no"):
        load_plugins(["my_lab"])
    assert "my_lab" not in sys.modules


@pytest.mark.parametrize("plugin", ["my_lab", "./my_lab.py"])
def test_a_module_beside_it_has_to_be_named(lab, plugin: str) -> None:
    (lab / "beside.py").write_text("VALUE = 3\n")
    (lab / "my_lab.py").write_text("from beside import VALUE\n")
    with pytest.raises(ConfigError, match=r"beside\.py, a file in .* --plugin beside"):
        load_plugins([plugin])
    load_plugins([plugin.replace("my_lab", "beside"), plugin])
    assert sys.modules["my_lab"].VALUE == 3
    sys.modules.pop("beside")


def test_the_module_of_a_path() -> None:
    assert [module_of(p) for p in ("a", "a.b", "./x/a.py", "a.py")] == [
        "a",
        "a.b",
        "a",
        "a",
    ]
