"""Trackers receive the data of training runs, sweeps and recipes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import torch

import inweights as iw
from inweights.experiments import Measure
from inweights.training.trackers import MAX_CURVES, points
from inweights.training.trackers.base import MODULES
from inweights.training.trackers.tools import TOOLS

CURVES = Measure(name="curves", probe=iw.probes.accuracy, every=10)
SHORT = iw.learners.two_hop_mlp(steps=20)


class Recorder:
    """A tracker that records its calls."""

    runs: list[Recorder] = []

    def __init__(
        self,
        project: str,
        group: str,
        name: str,
        config: Mapping[str, Any],
        folder: Path,
    ) -> None:
        self.group, self.name, self.config = group, name, config
        self.logged: list[tuple[int | None, dict[str, float]]] = []
        self.kept: list[str] = []
        self.ended: bool | None = None
        Recorder.runs.append(self)

    def log(self, step: int | None, numbers: Mapping[str, float]) -> None:
        self.logged.append((step, dict(numbers)))

    def files(self, paths: Sequence[Path]) -> None:
        self.kept = [path.name for path in paths]

    def end(self, *, failed: bool) -> None:
        assert self.ended is None
        self.ended = failed


@pytest.fixture(autouse=True)
def recorder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    Recorder.runs = []
    monkeypatch.setitem(MODULES, "recorder", "json")
    monkeypatch.setitem(TOOLS, "recorder", Recorder)


pytestmark = pytest.mark.filterwarnings("ignore::inweights.errors.CautionWarning")


def swept(tracker: iw.Tracker, **options: Any) -> pl.DataFrame:
    return iw.sweep(
        iw.TwoHop(n=3),
        iw.EmbMLPConfig(width=8),
        SHORT,
        over={"world.identity": [False, True]},
        seeds=2,
        measures=[CURVES],
        progress=False,
        observers=[tracker],
        **options,
    )


def test_a_training_is_one_run() -> None:
    world = iw.TwoHop(n=3).build()
    model = iw.EmbMLPConfig(width=8).build(vocabulary=len(world.vocabulary), seeds=2)
    tracker = iw.Tracker("recorder", every=10)
    looks = iw.Observer("recall", partial(iw.probes.accuracy, worlds=world), 10)
    result = iw.train(model, world, SHORT, seeds=2, observers=[tracker, looks])
    [run] = Recorder.runs
    assert (run.name, run.ended) == ("training", False)
    assert run.config["model"]["width"] == 8
    losses = [(step, numbers) for step, numbers in run.logged if "loss/0" in numbers]
    assert [step for step, _ in losses] == [10, 20]
    assert set(losses[0][1]) == {"loss/0", "loss/1"}
    assert "recall.parquet" in run.kept
    assert result.observed["recall"].height > 0


@pytest.mark.parametrize(("per", "count"), [("run", 4), ("trial", 2), ("sweep", 0)])
def test_a_sweep_is_a_group(per: str, count: int) -> None:
    table = swept(iw.Tracker("recorder", per=per))
    *parts, whole = sorted(Recorder.runs, key=lambda run: run.name == "sweep")
    assert len(parts) == count
    assert {run.group for run in Recorder.runs} == {"sweep"}
    assert not any(run.ended for run in Recorder.runs)
    assert {"curves.parquet", "settings.json"} <= set(whole.kept)
    of = parts[0] if parts else whole
    logged = {
        step for step, numbers in of.logged if any("curves/" in n for n in numbers)
    }
    assert logged == set(table["step"].to_list())
    if per == "run":
        one = next(run for run in parts if run.name == "identity=True, seed=1")
        assert one.config["world"]["identity"] == 1.0
        assert one.config["seed"] == 1
        last = [
            n
            for step, n in one.logged
            if step == 20 and any("composition" in k for k in n)
        ]
        rows = table.filter(identity=True, seed=1, step=20, role="composition")
        key = next(k for k in last[0] if "composition" in k and k.endswith("/accuracy"))
        assert last[0][key] == rows["accuracy"].item()


def test_what_is_stored_is_told_as_well() -> None:
    swept(iw.Tracker("recorder"))
    first = {run.name: run.logged for run in Recorder.runs}
    Recorder.runs = []
    swept(iw.Tracker("recorder"))
    assert {run.name: run.logged for run in Recorder.runs} == first


@pytest.mark.slow
def test_processes_tell_the_same() -> None:
    swept(iw.Tracker("recorder"), runs="alone")
    alone = {run.name: sorted(run.logged, key=str) for run in Recorder.runs}
    Recorder.runs = []
    swept(iw.Tracker("recorder"), runs="jobs", jobs=2)
    assert {run.name: sorted(run.logged, key=str) for run in Recorder.runs} == alone


@pytest.mark.slow
def test_figures_of_a_recipe_are_files() -> None:
    outcome = iw.run(
        "demo/two-hop", "smoke", observers=[iw.Tracker("recorder", per="sweep")]
    )
    [run] = Recorder.runs
    assert run.group == "demo/two-hop"
    assert {"page.html", "settings.json", "compositions.parquet"} <= set(run.kept)
    assert any(name.endswith(".png") for name in run.kept)
    assert run.config["folder"] == str(outcome.folder.path)


def test_a_failure_is_told() -> None:
    def fails(seed: int, rate: float) -> dict[str, float]:
        raise ValueError(f"no {rate} for {seed}")

    def half(seed: int, rate: float) -> dict[str, float]:
        return {"score": rate} if seed else fails(seed, rate)

    for function in (fails, half):  # a run of the second recipe is stored and reported
        with pytest.raises(iw.InweightsError, match=r"no 0\.5"):
            iw.sweep(
                function,
                over={"rate": [0.5]},
                seeds=2,
                progress=False,
                observers=[iw.Tracker("recorder", per="sweep")],
            )
    assert [(run.name, run.ended) for run in Recorder.runs] == [("sweep", True)] * 2


def test_tables_of_many_curves_are_files_alone() -> None:
    many = pl.DataFrame(
        {"step": 0, "role": [str(i) for i in range(MAX_CURVES + 1)], "x": 0.5}
    )
    assert not list(points("many", many))
    assert len(list(points("many", many.head(MAX_CURVES)))) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"tool": "wandbb"}, "did you mean 'wandb'"),
        ({"tool": "recorder", "per": "seed"}, "unknown unit of a tracker 'seed'"),
        ({"tool": "recorder", "every": 0}, "must be at least 1"),
    ],
)
def test_bad_trackers_are_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(iw.ConfigError, match=words):
        iw.Tracker(**arguments)


def test_one_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MODULES, "recorder", "never_installed")
    with pytest.raises(iw.ConfigError, match="pip install recorder"):
        iw.Tracker("recorder")


LIFTS = "pip install 'inweights[trackers]' lifts this"


@pytest.mark.slow
def test_wandb_is_offline() -> None:
    pytest.importorskip("wandb", reason=LIFTS)
    swept(iw.Tracker("wandb"))
    assert len(list(Path("trackers/wandb").glob("offline-run-*/*.wandb"))) == 5
    assert not list(Path("trackers/wandb").glob("run-*"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_mlflow_has_a_store_of_files() -> None:
    mlflow = pytest.importorskip("mlflow", reason=LIFTS)
    table = swept(iw.Tracker("mlflow"))
    client = mlflow.MlflowClient(f"sqlite:///{Path('trackers/mlflow.db').resolve()}")
    experiment = client.get_experiment_by_name("inweights").experiment_id
    runs = {run.info.run_name: run for run in client.search_runs([experiment])}
    assert len(runs) == 5
    one = runs["identity=True, seed=1"]
    assert one.info.status == "FINISHED"
    key = next(k for k in one.data.metrics if k.endswith("composition/out/accuracy"))
    rows = table.filter(identity=True, seed=1, step=20, role="composition")
    assert one.data.metrics[key] == rows["accuracy"].item()
    kept = {file.path for file in client.list_artifacts(runs["sweep"].info.run_id)}
    assert {"curves.parquet", "settings.json"} <= kept


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_trackio_keeps_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    trackio = pytest.importorskip("trackio", reason=LIFTS)
    place = Path("trackio").resolve()
    monkeypatch.setattr("trackio.sqlite_storage.TRACKIO_DIR", place)
    monkeypatch.setattr("trackio.utils.TRACKIO_DIR", place)
    place.mkdir()
    swept(iw.Tracker("trackio"))
    runs = trackio.Api().runs("inweights")
    assert {run.name for run in runs} >= {"identity=True, seed=1", "sweep"}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_tensorboard_has_the_curves() -> None:
    pytest.importorskip("tensorboard", reason=LIFTS)
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    swept(iw.Tracker("tensorboard"))
    [place] = Path("trackers/tensorboard/inweights/sweep").glob("*True*seed-1")
    events = EventAccumulator(str(place))
    events.Reload()
    tag = next(t for t in events.Tags()["scalars"] if "composition" in t)
    assert [one.step for one in events.Scalars(tag)] == [0, 10, 20]


def test_numbers_do_not_depend_on_who_watches() -> None:
    world = iw.TwoHop(n=3).build()
    models = []
    for observers in ([], [iw.Tracker("recorder", every=1)]):
        model = iw.EmbMLPConfig(width=8).build(
            vocabulary=len(world.vocabulary), seeds=2
        )
        iw.train(model, world, SHORT, seeds=2, observers=observers)
        models.append(model.state_dict())
    assert all(torch.equal(models[0][name], models[1][name]) for name in models[0])
