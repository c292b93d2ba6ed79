"""Data and code count: an edited file, constant, helper or import is never a stale number."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from types import ModuleType
from unittest import mock

import pytest

import inweights as iw
from inweights.cli import main
from inweights.config import digest
from inweights.errors import ConfigError, DataError
from inweights.experiments import Computation, Measure, Outside, Paper, Plan, Trial
from inweights.experiments.engine.attempts.task import run_task
from inweights.experiments.engine.job import from_wire, to_wire
from inweights.experiments.engine.plan import expand_plan, tasks_of
from inweights.experiments.engine.tasks import LearnTask
from inweights.recipes import get_recipe
from inweights.runs.tables.store import Store
from inweights.support.keys.content import fingerprint
from inweights.support.keys.plain import plain
from inweights.support.keys.sources import RAISED, reached, sources_of

#: Studies of tests are too small to know their facts.
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
    """Let the next import read the files of a folder again."""
    for name in [one for one in sys.modules if f"_{mark}." in f"{one}."]:
        del sys.modules[name]


class Folder:
    """A module of one's own, its helper, and a package that the helper imports."""

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
        """Import all of it anew, as another process would."""
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


#: What is edited, in which file, and whether it can change a number.
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
        ConfigError, match="probe uses THING, a T, whose content cannot be identified"
    ):
        reached(odd["probe"])


# --- files that a config names


def facts(path: Path, people: int) -> str:
    rows = [f"p{i},mother,m{i}\nm{i},born_in,c{i}\n" for i in range(people)]
    path.write_text("".join(rows))
    return str(path)


def graph(path: Path, nodes: int) -> str:
    path.write_text("".join(f"{i},{i + 1}\n" for i in range(nodes)))
    return str(path)


@pytest.mark.parametrize(
    ("write", "config"),
    [
        (facts, lambda path: iw.Triples(path=path)),
        (graph, lambda path: iw.worlds.Graph(shape="file", file=path)),
    ],
)
def test_an_edited_file_is_trained_anew(write, config, tmp_path: Path) -> None:
    def swept() -> int:
        table = iw.sweep(
            config(write(tmp_path / "f.csv", size)),
            iw.EmbMLPConfig(width=4),
            seeds=1,
            learner=iw.Curriculum(phases=(iw.Phase(steps=2),)),
            runs=tmp_path / "runs",
            progress=False,
        )
        return int(table.filter(part="facts")["statements"].sum())

    size = 3
    before = swept()
    assert swept() == before
    size = 4
    assert swept() > before
    stored = list((tmp_path / "runs" / "store").glob("*/*/run.json"))
    assert len(stored) == 2
    assert all('"sources"' in one.read_text() for one in stored)


def test_a_study_of_an_edited_file_is_another_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    facts(tmp_path / "f.csv", 3)
    Path("mine.toml").write_text(
        '[world]\nkind = "triples"\npath = "f.csv"\n[model]\nkind = "emb-mlp"\nwidth = 4\n'
        "[[learner.phases]]\nsteps = 2\n"
    )
    words = ["sweep", "mine.toml", "--seeds", "1", "--jobs", "1"]
    assert main([*words, "--json"]) == 0
    assert main([*words, "--json"]) == 0
    assert '"cached": true' in capsys.readouterr().out
    facts(tmp_path / "f.csv", 4)
    with pytest.warns(UserWarning, match=r"f\.csv changed since the stored run of"):
        assert main(words) == 0
    assert len(list((tmp_path / "runs/study/mine").glob("*/config.json"))) == 2


def test_one_table_never_mixes_two_versions(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An edited helper, then more seeds: the first seed is measured again, too."""
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


def test_a_file_that_changes_during_the_work_is_an_error(tmp_path: Path) -> None:
    path = facts(tmp_path / "f.csv", 3)
    trial = Trial(
        labels={},
        world=iw.Triples(path=path),
        model=iw.EmbMLPConfig(width=4),
        learner=iw.Curriculum(phases=(iw.Phase(steps=1),)),
    )
    work = expand_plan(Plan(trials=[trial], measures=[iw.probes.accuracy]), [0])
    (task,) = tasks_of(work, lambda *_: True)
    assert isinstance(task, LearnTask)
    # Beside the library's raised versions.
    assert [name for name in task.sources if not name.startswith("inweights:")] == [
        path
    ]
    sent = from_wire(to_wire(task))
    facts(tmp_path / "f.csv", 4)
    store = Store(tmp_path / "store")
    for one in (task, sent):
        with pytest.raises(ConfigError, match="changed after this work was planned"):
            run_task(one, store, "cpu", lambda _: None)
    assert not store.listed()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    facts(tmp_path / "facts.csv", 2)
    with pytest.raises(DataError, match=r"did you mean .*facts\.csv"):
        sources_of(iw.Triples(path=str(tmp_path / "fact.csv")))


LANGUAGE = {
    "identity-bridge/fig8": "models=[{}]",
    "feature-resemblance/table2": "model={}",
    "beyond/which-diet-teaches": "model={}",
}


@pytest.mark.parametrize("name", LANGUAGE)
def test_a_folder_of_a_model_counts_with_its_content(name: str, tmp_path: Path) -> None:
    """In the run folder's config, in the key of each computation, and in the task."""
    folder = tmp_path / "model"
    folder.mkdir()
    recipe = get_recipe(name)

    def keys() -> tuple[str, set[str]]:
        changes = [LANGUAGE[name].format(json.dumps(str(folder)))]
        settings, _, config = recipe.resolve("smoke", overrides=changes)
        work = expand_plan(recipe.plan(settings), [0])
        tasks = tasks_of(work, lambda *_: True)
        assert tasks
        # Name a folder, and no single task.
        raised = {f"inweights:{name}" for name in RAISED}
        outside = {
            at: content for at, content in config["sources"].items() if at not in raised
        }
        assert all(task.sources == outside for task in tasks)
        assert list(outside) == [str(folder)]
        assert [from_wire(to_wire(task)).sources for task in tasks] == [
            t.sources for t in tasks
        ]
        return digest(config), set(work.computations)

    (folder / "model.safetensors").write_bytes(b"0")
    first = keys()
    assert keys() == first
    for edit in (
        lambda: (folder / "model.safetensors").write_bytes(b"1"),
        lambda: (folder / "tokenizer.json").write_bytes(b"{}"),
        lambda: (folder / "tokenizer.json").rename(folder / "vocab.json"),
    ):
        edit()
        other = keys()
        assert other[0] != first[0]
        assert not other[1] & first[1]
        first = other


def test_a_model_of_the_hub_counts_with_its_revision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With that which is on this disk; where none is, with its name, as before."""
    constants = pytest.importorskip(
        "huggingface_hub.constants", reason="needs inweights[hf]"
    )
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    option = Outside(name="someone/model")
    assert plain(option) == "someone/model"
    kept = tmp_path / "models--someone--model"
    for revision in ("0" * 40, "1" * 40):
        (kept / "snapshots" / revision).mkdir(parents=True)
        (kept / "snapshots" / revision / "config.json").write_text("{}")
        (kept / "refs").mkdir(exist_ok=True)
        (kept / "refs" / "main").write_text(revision)
        assert plain(option) == ["someone/model", [revision]]
        assert sources_of(option) == {"someone/model": revision}
    assert sources_of([Outside(name="no name"), Outside(name="@smollm2")]) == {}


def test_a_large_file_is_read_once(tmp_path: Path) -> None:
    """As long as its state stays; a folder is one question for each of its files."""
    file = tmp_path / "model.safetensors"
    file.write_bytes(b"weights")
    os.utime(file, ns=(10**18, 10**18))  # long ago
    with mock.patch.object(hashlib, "file_digest", wraps=hashlib.file_digest) as read:
        assert fingerprint(tmp_path) == fingerprint(tmp_path)
        assert read.call_count == 1
        file.write_bytes(b"WEIGHTS")
        fingerprint(tmp_path)
        assert read.call_count == 2


def test_what_the_library_brings_is_no_source() -> None:
    measure = Measure(name="accuracy", probe=iw.probes.accuracy)
    computation = Computation(name="one", labels={}, compute=iw.probes.accuracy)
    world = iw.Triples(path="@people")
    assert sources_of([measure.probe, computation.compute, world, iw.GPTConfig()]) == {}
