"""Files named in a config are part of its key, so edited files lead to new training."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from unittest import mock

import pytest

import inweights as iw
from inweights.cli import main
from inweights.config import digest
from inweights.errors import ConfigError, DataError
from inweights.experiments import Computation, Measure, Outside, Plan, Trial
from inweights.experiments.engine.attempts.task import run_task
from inweights.experiments.engine.executors.serialization import from_wire, to_wire
from inweights.experiments.engine.plan import expand_plan, tasks_of
from inweights.experiments.engine.tasks import LearnTask
from inweights.recipes import get_recipe
from inweights.runs.tables.store import Store
from inweights.support.keys.content import fingerprint
from inweights.support.keys.plain import plain
from inweights.support.keys.sources import RAISED, sources_of

#: Studies in tests are too small for their models to memorise the facts.
pytestmark = pytest.mark.filterwarnings("ignore::inweights.errors.CautionWarning")


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
    # In addition to the library's increased versions.
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
    """The content is in the run folder's config, in each computation's key, and in the task."""
    folder = tmp_path / "model"
    folder.mkdir()
    recipe = get_recipe(name)

    def keys() -> tuple[str, set[str]]:
        changes = [LANGUAGE[name].format(json.dumps(str(folder)))]
        settings, _, config = recipe.resolve("smoke", overrides=changes)
        work = expand_plan(recipe.plan(settings), [0])
        tasks = tasks_of(work, lambda *_: True)
        assert tasks
        # They name a folder instead of a single task.
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
    """The revision on this disk is part of the key or, if there is none, the name."""
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
    """It is not read again while its state is unchanged; a folder is checked file by file."""
    file = tmp_path / "model.safetensors"
    file.write_bytes(b"weights")
    os.utime(file, ns=(10**18, 10**18))  # an old modification time
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
