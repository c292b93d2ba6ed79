"""Wrapped models in sweeps: several at once, by name, in processes, from a file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import nn

import inweights as iw
from inweights.cli import main
from inweights.errors import ConfigError, InweightsError
from inweights.experiments.engine.plan import expand_plan
from inweights.support.plugins import load_plugins
from inweights.training import register_learner

#: Studies in tests are too small for their models to memorise the facts.
pytestmark = pytest.mark.filterwarnings("ignore::inweights.errors.CautionWarning")

CODE = """
from torch import nn

FACTOR = 1


class Table(nn.Module):
    def __init__(self, vocabulary, width=8):
        super().__init__()
        self.tokens, self.head = nn.Embedding(vocabulary, width), nn.Linear(width, vocabulary)

    def forward(self, ids):
        return self.head(FACTOR * self.tokens(ids).cumsum(1))


def make(vocabulary, width=8):
    return Table(vocabulary, width)
"""
STUDY = """
[world]
kind = "two-hop"
n = 3
[model]
wrap = "mine_models:make"
width = 4
[[learner.phases]]
steps = 3
[over]
model.options.width = [4, 6]
"""
LEARNER = iw.Curriculum(phases=(iw.Phase(steps=3),))
WORLD = iw.TwoHop(n=3)


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Load a user's module in the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INWEIGHTS_RUNS", str(tmp_path / "runs"))
    Path("mine_models.py").write_text(CODE)
    load_plugins(["mine_models"])
    yield sys.modules["mine_models"]
    sys.modules.pop("mine_models", None)


def key_of(model: iw.models.WrapConfig) -> str:
    trial = iw.Trial(labels={}, world=WORLD, model=model, learner=LEARNER)
    work = expand_plan(iw.Plan(trials=[trial], measures=[iw.probes.accuracy]), [0])
    return next(iter(work.runs))


def test_parts_are_one_config_a_list_or_names(tmp_path: Path) -> None:
    def lookup(vocabulary: int) -> nn.Module:
        return nn.Embedding(vocabulary, vocabulary)

    table = iw.sweep(
        {"three": iw.TwoHop(n=3), "four": iw.TwoHop(n=4)},
        [iw.wrap(lookup), iw.EmbMLPConfig(width=8)],
        LEARNER,
        seeds=2,
        runs=tmp_path,
        progress=False,
    )
    assert table["world"].unique().sort().to_list() == ["four", "three"]
    assert table["model"].unique().sort().to_list() == ["emb-mlp", "lookup"]
    widths = [iw.GPTConfig(width=32), iw.GPTConfig(width=64)]
    study = iw.Study(WORLD, widths, over={"learner.phases.0.steps": [1]})
    assert [one.labels for one in study.trials] == [
        {"model": f"width={width}", "steps": 1} for width in (32, 64)
    ]
    for wrong, message in (
        (iw.Study(WORLD, []), "the list for the model is empty"),
        (
            iw.Study(WORLD, [iw.GPTConfig()] * 2),
            "give each a different name in a dictionary",
        ),
        (
            iw.Study(WORLD, widths, over={"model": widths}),
            "'model' is varied by two axes",
        ),
        (
            iw.Study(WORLD, widths, over=[{"world.n": 3}]),
            "set the config in each point",
        ),
    ):
        with pytest.raises(ConfigError, match=message):
            _ = wrong.trials


def test_the_source_of_a_factory_is_in_the_key(mine: ModuleType) -> None:
    before = key_of(iw.wrap(mine.make))
    assert key_of(iw.wrap(mine.make)) == before
    assert key_of(iw.wrap(mine.make, width=4)) != before

    def again(text: str) -> str:
        del sys.modules["mine_models"]
        Path("mine_models.py").write_text(text)
        load_plugins(["mine_models"])
        return key_of(iw.wrap(sys.modules["mine_models"].make))

    assert again("# a comment\n" + CODE) == before
    assert again(CODE.replace("FACTOR = 1", "FACTOR = 2")) != before


@pytest.mark.slow
def test_processes_do_what_this_one_does(mine: ModuleType, tmp_path: Path) -> None:
    about: dict[str, Any] = {"over": {"model.options.width": [4, 6]}, "seeds": 2}
    study = iw.Study(WORLD, iw.wrap(mine.make), LEARNER, **about, runs=tmp_path / "one")
    one = study.run(jobs=1, progress=False, keep_models=True)
    two = iw.sweep(
        WORLD,
        iw.wrap(mine.make),
        LEARNER,
        **about,
        runs=tmp_path / "two",
        jobs=2,
        plugins=["mine_models"],
        progress=False,
    )
    assert one.equals(two)
    kept = study.models(width=6, seed=1)[0]
    assert kept.model.get_parameter("tokens.weight").shape[2] == 6
    assert iw.probes.accuracy(kept.model, kept.world).height


def test_a_study_in_a_file_names_its_factory(mine: ModuleType, capsys: Any) -> None:
    Path("own.toml").write_text(STUDY)
    assert main(["sweep", "own.toml", "--plugin", "mine_models", "--seeds", "2"]) == 0
    assert main(["show", "study/own"]) == 0
    assert "study/own" in capsys.readouterr().out
    Path("other.toml").write_text(STUDY.replace("mine_models:make", "mine_models:mak"))
    assert main(["sweep", "other.toml", "--plugin", "mine_models"]) == 2
    assert "cannot find mine_models:mak" in capsys.readouterr().err


NAMED = (
    CODE
    + """
import inweights as iw
from inweights.config import Config
from inweights.models import register_model
from inweights.training import register_learner


class TableConfig(Config, tag_field="kind", tag="own-table"):
    width: int = 8

    def build(self, *, vocabulary, seeds, inits=None, candidates=None):
        return iw.wrap(make, width=self.width).build(vocabulary=vocabulary, seeds=seeds)


class Twice(Config, tag_field="kind", tag="twice"):
    steps: int = 6

    def learn(self, world, model, seed):
        made = model.build(vocabulary=len(world.vocabulary), seeds=[seed])
        for _ in range(2):
            half = iw.Curriculum(phases=(iw.Phase(steps=self.steps // 2),))
            iw.train(made, world, half, seeds=[seed])
        return made


register_model(TableConfig)
register_learner(Twice)
"""
)


def test_a_registered_model_and_learner_from_python_and_a_file(
    registries: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INWEIGHTS_RUNS", str(tmp_path / "runs"))
    Path("named_models.py").write_text(NAMED)
    load_plugins(["named_models"])
    try:
        mine = sys.modules["named_models"]
        about: dict[str, Any] = {"seeds": 2, "progress": False}
        table = iw.sweep(WORLD, mine.TableConfig(), mine.Twice(steps=4), **about)
        assert table["seed"].n_unique() == 2
        model = mine.Twice().learn(WORLD.build(0), mine.TableConfig(), seed=0)
        again = iw.load_model(iw.save_model(model, tmp_path / "own.safetensors"))
        assert all(
            map(torch.equal, again.state_dict().values(), model.state_dict().values())
        )
        study = STUDY.replace(
            'wrap = "mine_models:make"', 'kind = "own-table"'
        ).replace("[[learner.phases]]", '[learner]\nkind = "twice"')
        Path("own.toml").write_text(study.replace("model.options.width", "model.width"))
        assert (
            main(["sweep", "own.toml", "--plugin", "named_models", "--seeds", "2"]) == 0
        )
        capsys.readouterr()
        Path("own.toml").write_text(study.replace('"twice"', '"twic"'))
        assert main(["sweep", "own.toml", "--plugin", "named_models"]) == 2
        assert "'twic'; did you mean 'twice'" in capsys.readouterr().err
        with pytest.raises(ConfigError, match="steps and a method learn"):
            register_learner(mine.TableConfig)
        every = iw.Measure(name="accuracy", probe=iw.probes.accuracy, every=2)
        with pytest.raises(InweightsError, match="'every'"):
            iw.sweep(WORLD, mine.TableConfig(), mine.Twice(), measures=[every], **about)
    finally:
        sys.modules.pop("named_models", None)


@pytest.mark.slow
def test_an_installed_plug_in_registers_a_learner(
    registries: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """An entry point of a package names the module, so --plugin is not needed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INWEIGHTS_RUNS", str(tmp_path / "runs"))
    packages = tmp_path / "packages"
    about = packages / "own_lab-1.0.dist-info"
    about.mkdir(parents=True)
    (packages / "own_lab.py").write_text(NAMED)
    (about / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: own-lab\nVersion: 1.0\n"
    )
    Path("own.toml").write_text(
        STUDY.replace('wrap = "mine_models:make"', 'kind = "own-table"')
        .replace("[[learner.phases]]", '[learner]\nkind = "twice"')
        .replace("model.options.width", "model.width")
    )
    monkeypatch.syspath_prepend(packages)
    # Searches for entry points each time.
    monkeypatch.setattr("inweights.support.plugins.entry_points", entry_points)
    assert main(["sweep", "own.toml", "--seeds", "2"]) == 2
    assert "unknown model 'own-table'" in capsys.readouterr().err
    (about / "entry_points.txt").write_text("[inweights.plugins]\nlab = own_lab\n")
    try:
        assert main(["sweep", "own.toml", "--seeds", "2"]) == 0
        [config] = Path("runs").rglob("config.json")
        assert '"twice"' in config.read_text()
    finally:
        sys.modules.pop("own_lab", None)
