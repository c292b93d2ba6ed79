"""Edited code is run again, also if a constant, a helper or an import was edited."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from types import ModuleType

import pytest

import inweights as iw
from inweights.config import digest
from inweights.errors import ConfigError
from inweights.experiments import Paper, Plan, Trial
from inweights.support.keys.plain import plain
from inweights.support.keys.sources import reached

#: Studies in tests are too small for their models to memorise the facts.
pytestmark = pytest.mark.filterwarnings("ignore::inweights.errors.CautionWarning")

MINE = '''
"""Things of one's own."""

import polars as pl
from inweights import Config, Curriculum, EmbMLPConfig, TwoHop
from HELPER import scaled

FACTOR = 2.0


def probe(model, worlds, least=0.5):
    """A number a replica."""
    return pl.DataFrame({"replica": range(model.replicas), "value": scaled(FACTOR + least)})


class World(Config, tag_field="kind", tag="mine"):
    n: int = 3

    def build(self, seed=0):
        return TwoHop(n=self.n).build(seed)


class Model(Config, tag_field="kind", tag="mine"):
    width: int = 4

    def build(self, **start):
        return EmbMLPConfig(width=self.width).build(**start)


class Learner(Config):
    steps: int = 3


def compute(n):
    return pl.DataFrame({"n": [n * FACTOR]})


def plan(settings):
    return None
'''
HELPER = "from inner.deep import times\n\n\ndef scaled(x):\n    return times * x\n"
DEEP = "times = 3\n"
_names = count()


def forget(mark: int) -> None:
    """Make the next import read the files of a folder again."""
    for name in [one for one in sys.modules if f"_{mark}." in f"{one}."]:
        del sys.modules[name]


class Folder:
    """A user's module, its helper, and a package that the helper imports."""

    def __init__(self, path: Path) -> None:
        self.path, self.mark = path, next(_names)
        (path / f"inner_{self.mark}").mkdir()
        (path / f"inner_{self.mark}" / "__init__.py").write_text("")
        self.write("mine", MINE)
        self.write("helper", HELPER)
        self.write("deep", DEEP)

    def write(self, name: str, text: str) -> None:
        text = text.replace("HELPER", f"helper_{self.mark}").replace(
            "inner", f"inner_{self.mark}"
        )
        file = f"inner_{self.mark}/deep" if name == "deep" else f"{name}_{self.mark}"
        (self.path / f"{file}.py").write_text(text)

    def load(self) -> ModuleType:
        """Import all modules again, as another process would."""
        forget(self.mark)
        importlib.invalidate_caches()
        return importlib.import_module(f"mine_{self.mark}")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Folder]:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    made = Folder(tmp_path)
    yield made
    forget(made.mark)


#: Edits, their files, and whether they can change a number.
EDITS = {
    "constant": ("mine", MINE.replace("FACTOR = 2.0", "FACTOR = 5.0"), True),
    "default": ("mine", MINE.replace("least=0.5", "least=0.6"), True),
    "body": ("mine", MINE.replace("FACTOR + least", "FACTOR - least"), True),
    "helper": ("helper", HELPER.replace("times * x", "times + x"), True),
    "nested import": ("deep", DEEP.replace("3", "4"), True),
    "comment": ("mine", MINE.replace("FACTOR = 2.0", "FACTOR = 2.0  # twice"), False),
    "docstring": ("mine", MINE.replace("A number a replica.", "One number."), False),
    "formatting": ("helper", HELPER.replace("times * x", "(times   *   x)"), False),
}
KINDS = ("probe", "World", "Model", "Learner", "compute")


def key_of(module: ModuleType, kind: str) -> str:
    thing = getattr(module, kind)
    return digest(plain(thing() if isinstance(thing, type) else thing))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_is_another_key(folder: Folder, edit: str, kind: str) -> None:
    file, text, counts = EDITS[edit]
    before = key_of(folder.load(), kind)
    assert key_of(folder.load(), kind) == before
    folder.write(file, text)
    assert (key_of(folder.load(), kind) != before) == counts


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_is_another_run_folder(folder: Folder, edit: str) -> None:
    file, text, counts = EDITS[edit]

    def config() -> dict[str, object]:
        mine = folder.load()
        trial = Trial(labels={}, world=iw.TwoHop(n=3), learner=iw.Curriculum())
        recipe = Paper("mine", "My lab").recipe(
            "one",
            title="One",
            scales={"cpu": mine.World()},
            seeds=1,
            plan=lambda settings: Plan(trials=[trial], measures=[mine.probe]),
        )
        return recipe.resolve("cpu")[2]

    before = config()
    assert config() == before
    folder.write(file, text)
    assert (config() != before) == counts


def test_what_runs_is_what_the_file_says(folder: Folder) -> None:
    """A module that was edited after its import would be stored under code that did not run."""
    module = folder.load()
    key_of(module, "probe")
    folder.write("mine", MINE.replace("FACTOR = 2.0", "FACTOR = 7.0"))
    with pytest.raises(
        ConfigError, match=r"mine_\d+\.py was edited after it was imported"
    ):
        key_of(module, "probe")
    folder.write("mine", MINE.replace("FACTOR + least", "least"))
    with pytest.raises(ConfigError, match="was edited after it was imported"):
        key_of(module, "probe")
    assert key_of(folder.load(), "probe")


@pytest.mark.parametrize(
    ("file", "message"),
    [("mine", "was edited after it was imported"), ("helper", "is not valid Python")],
)
def test_code_that_is_no_longer_python_is_named(
    file: str, message: str, folder: Folder
) -> None:
    module = folder.load()
    folder.write(file, "def broken(:\n")
    with pytest.raises(ConfigError, match=message):
        key_of(module, "probe")


def test_functions_of_a_script_count_with_what_they_reach() -> None:
    def made(text: str) -> dict[str, object]:
        scope: dict[str, object] = {"__name__": "__main__"}
        exec(text, scope)
        return scope

    text = (
        "import math\nSIZE = {}\ndef helper(x): return x {} SIZE\n"
        "def probe(m): return helper(m)\n"
    )
    one, same = made(text.format(1, "+")), made(text.format(1, "+") + "\nOTHER = 3\n")
    assert reached(one["probe"]) == reached(same["probe"])
    assert reached(made(text.format(2, "+"))["probe"]) != reached(one["probe"])
    assert reached(made(text.format(1, "-"))["probe"]) != reached(one["probe"])
    odd = made("class T:\n    pass\nTHING = T()\ndef probe(m): return THING\n")
    with pytest.raises(
        ConfigError, match="probe uses THING is a T, whose content cannot be hashed"
    ):
        reached(odd["probe"])


def test_one_table_never_mixes_two_versions(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a helper is edited, adding seeds also repeats the first seed."""
    monkeypatch.chdir(folder.path)

    def swept(seeds: int) -> list[float]:
        table = iw.sweep(
            iw.TwoHop(n=3),
            iw.EmbMLPConfig(width=4),
            seeds=seeds,
            measures=[folder.load().probe],
            learner=iw.Curriculum(phases=(iw.Phase(steps=1),)),
            runs=folder.path / "runs",
            jobs=1,
            progress=False,
        )
        return table["value"].to_list()

    assert swept(1) == [7.5]
    folder.write("helper", HELPER.replace("times * x", "times * x + 1"))
    assert swept(2) == [8.5, 8.5]
