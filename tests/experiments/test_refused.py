"""Invalid input is refused with one line before anything runs."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from inweights.cli import main
from inweights.config import apply_overrides
from inweights.errors import ConfigError
from inweights.experiments import Measure, Plan
from inweights.experiments.engine.execution import ExecutionOptions
from inweights.models import (
    DeepLinearConfig,
    EmbMLPConfig,
    GPTConfig,
    Init,
    MambaConfig,
    Node2VecConfig,
    OneLayerConfig,
    TinyNNConfig,
)
from inweights.recipes import get_recipe, recipe_names
from inweights.seeds import Streams
from inweights.training import Optimizer, Phase, Schedule, Stop
from inweights.training.learners.descent import Descent
from inweights.training.learners.without_training import Optimum

HUGE = 10**8
MODELS = (
    DeepLinearConfig,
    EmbMLPConfig,
    GPTConfig,
    MambaConfig,
    Node2VecConfig,
    OneLayerConfig,
    TinyNNConfig,
)
FIG2 = ("run", "identity-bridge/fig2", "--scale", "smoke")
FACTS = "ann,mother,beth\nbeth,born,rome\n"


def refused(capsys, *words: str) -> str:
    assert main(words) == 2
    told = capsys.readouterr().err.strip()
    assert told.startswith("inweights: ")
    assert "\n" not in told
    return told


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.setenv("INWEIGHTS_RUNS", str(tmp_path / "runs"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "facts.csv").write_text(FACTS, encoding="utf-8")
    (tmp_path / "edges.csv").write_text("a,b\nb,c\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("device", ["cuda:99", "meta", "x", ""])
@pytest.mark.parametrize(
    "words",
    [
        FIG2,
        ("atlas", "edges.csv", "--scale", "smoke"),
        ("finetune", "@tiny", "data.jsonl"),
    ],
)
def test_device(folder, capsys, words, device) -> None:
    more = ("--out", "model") if words[0] == "finetune" else ()
    if words[0] == "finetune":
        pytest.importorskip("transformers")
        row = '{"prompt": "Rome is in", "completion": " Italy."}'
        (folder / "data.jsonl").write_text(row, encoding="utf-8")
    assert "device" in refused(capsys, *words, *more, f"--device={device}")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((*FIG2, "--jobs=-2"), "jobs must be at least 1, got -2"),
        ((*FIG2, "--seeds=-1"), "seed"),
        (
            ("run", "geometric-memory/fig7", "--scale", "smoke", "--set", "graphs=[]"),
            "no trial",
        ),
        (
            ("run", "identity-bridge/fig3", "--scale", "smoke", "--set", "shown=99"),
            "tokens",
        ),
        (
            ("world", "two-hop", "--seed=-1"),
            "seed must be an integer of at least 0, got -1",
        ),
        (
            ("predict", "two-hop", "--seed=-1"),
            "seed must be an integer of at least 0, got -1",
        ),
        (("predict", "two-hop", "--seconds=-3"), "seconds must be at least 0"),
        (("audit", "facts.csv", "--seconds=-3"), "seconds must be at least 0"),
        (
            ("augment", "facts.csv", "--out", "new", "--seed=-1"),
            "seed must be an integer of at least 0, got -1",
        ),
        (
            ("finetune", "@tiny", "facts.csv", "--out", "new", "--seed=-1"),
            "seed must be an integer of at least 0, got -1",
        ),
        (
            ("verify", "--settle", "--minutes", "nan"),
            "minutes must be at least 0, got nan",
        ),
    ],
)
def test_arguments(folder, capsys, words, told) -> None:
    if words[0] == "finetune":
        pytest.importorskip("transformers")
    assert told in refused(capsys, *words)
    assert not (folder / "new").exists()


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("width", [0, HUGE])
def test_width(kind, width) -> None:
    with pytest.raises(
        ConfigError, match=r"width must be at (least 1|most 65536), got"
    ):
        kind(width=width)


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (Optimizer, {"rate": 1e308}),
        (Optimizer, {"rate": math.nan}),
        (Optimizer, {"weight_decay": math.inf}),
        (Schedule, {"final": math.nan}),
        (Schedule, {"final": -1.0}),
        (Stop, {"every": -1}),
        (Stop, {"loss_below": math.nan}),
        (Stop, {"accuracy": 1.5}),
        (Phase, {"steps": 10**30}),
        (Descent, {"rate": math.nan}),
        (Descent, {"steps": -1}),
        (Optimum, {"gap": math.nan}),
        (Init, {"std": 1e308}),
        (Measure, {"name": "m", "probe": len, "every": -1}),
        (ExecutionOptions, {"threads": 0}),
        (ExecutionOptions, {"device": "cuda:99"}),
        (Streams, {"root": 2**63}),
    ],
)
def test_numbers(kind, wrong) -> None:
    with pytest.raises(ConfigError):
        kind(**wrong)


def test_a_measure_is_applied_at_whole_steps() -> None:
    with pytest.raises(ConfigError, match="'every' must be a whole number"):
        Measure(len, every=1.5)  # type: ignore[arg-type]


def test_a_plan_without_work() -> None:
    with pytest.raises(ConfigError, match="nothing to do"):
        Plan(measures=[Measure(name="recall", probe=len)]).check()


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_measures_all_of_its_tables(name) -> None:
    recipe = get_recipe(name)
    for scale, settings in recipe.scales.items():
        recipe.plan(apply_overrides(settings, ())).check()
        assert scale
