"""A user's sweep: combinations, labels, and errors."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import inweights as iw
from inweights.errors import ConfigError
from inweights.experiments import Measure
from inweights.experiments.grammar.variation.axes import grid
from inweights.experiments.studies.sweep import sweep
from inweights.experiments.studies.sweep_defaults import useful_processes
from inweights.support import progress
from inweights.worlds.families.path_star import PathStar

#: Studies in tests are too small for their models to memorise the facts.
pytestmark = pytest.mark.filterwarnings("ignore::inweights.errors.CautionWarning")

WORLD, MODEL = iw.TwoHop(n=3), iw.EmbMLPConfig(width=8)
SHORT = iw.Curriculum(phases=(iw.Phase(steps=3), iw.Phase(name="more", steps=2)))


def test_a_sweep_is_one_tidy_table(tmp_path) -> None:
    table = sweep(
        WORLD,
        MODEL,
        SHORT,
        over={"world.n": [3, 4], "learner.phases.0.optimizer.rate": [1e-3, 1e-2]},
        seeds=2,
        measures=[iw.probes.accuracy],
        runs=tmp_path,
    )
    assert table.columns[:3] == ["n", "rate", "seed"]
    groups = table.group_by("n", "rate", "seed").len()
    assert groups.height == 8
    assert groups["len"].n_unique() == 1
    stamps = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*.parquet")}
    more = sweep(
        WORLD,
        MODEL,
        SHORT,
        over={"world.n": [4]},
        seeds=(1, 9),
        measures=[iw.probes.accuracy, iw.probes.margins],
        runs=tmp_path,
    )
    assert set(more["measure"]) == {"accuracy", "margins"}
    assert {p: p.stat().st_mtime_ns for p in stamps} == stamps
    kept = table.filter(pl.col("n") == 4, pl.col("rate") == 1e-3, pl.col("seed") == 1)
    again = more.filter(pl.col("measure") == "accuracy", pl.col("seed") == 1)
    assert again["accuracy"].to_list() == kept["accuracy"].to_list()


def test_whole_parts_are_varied_by_name() -> None:
    trials = grid(
        WORLD,
        None,
        SHORT,
        {"model": {"narrow": MODEL, "wide": iw.EmbMLPConfig(width=32)}},
    )
    assert [trial.labels for trial in trials] == [
        {"model": "narrow"},
        {"model": "wide"},
    ]
    assert [trial.model.width for trial in trials] == [8, 32]


def test_columns_of_one_name_keep_their_paths() -> None:
    over = {"learner.phases.0.steps": [1], "learner.phases.1.steps": [2]}
    (trial,) = grid(WORLD, MODEL, SHORT, over)
    assert trial.labels == {"learner_phases_0_steps": 1, "learner_phases_1_steps": 2}
    assert [phase.steps for phase in trial.learner.phases] == [1, 2]


LINKED = [{"n": 3, "width": 8}, {"n": 4, "width": 16}]


@pytest.mark.parametrize(
    ("over", "labels"),
    [
        ({"world.n, model.width": [(3, 8), (4, 16)]}, LINKED),
        ({("world.n", "model.width"): [[3, 8], [4, 16]]}, LINKED),
        ([{"world.n": 3, "model.width": 8}, {"world.n": 4, "model.width": 16}], LINKED),
        # As TOML parses world.n = [3, 4].
        (
            {"world": {"n": [3, 4]}},
            [{"n": 3}, {"n": 4}],
        ),
        ({"learner": {"phases": {"0": {"steps": [5]}}}}, [{"steps": 5}]),
        ({"world.n": range(3, 5)}, [{"n": 3}, {"n": 4}]),
        ({"world.n": np.array([3, 4])}, [{"n": 3}, {"n": 4}]),
        ({"model.init": {"small": iw.Init(std=0.01)}}, [{"init": "small"}]),
        ({}, [{}]),
    ],
)
def test_ways_to_say_what_is_varied(over, labels) -> None:
    trials: list[Any] = grid(WORLD, MODEL, SHORT, over)
    assert [trial.labels for trial in trials] == labels
    assert all(trial.world.n == trial.labels.get("n", 3) for trial in trials)
    assert all(trial.model.width == trial.labels.get("width", 8) for trial in trials)


RATE = "learner.phases.0.optimizer.rate"


@pytest.mark.parametrize(
    ("over", "why"),
    [
        ({"wrld.n": [3]}, r"unknown path 'wrld.n'; did you mean 'world.n'\?"),
        ({"n": [3]}, r"unknown path 'n'; did you mean 'world.n'\?"),
        ({"world.m": [3]}, r"unknown path 'world.m'; did you mean 'world.n'\?"),
        ({"learner.rate": [3]}, f"did you mean '{RATE}' or 'learner.phases.1"),
        ({RATE[:-1]: [3]}, f"did you mean '{RATE}'"),
        ({"learner.phases.2.steps": [3]}, "has 2 items"),
        ({"learner.phases.first.steps": [3]}, "has 2 items"),
        ({"world.n.m": [3]}, "is a single value, which has no keys"),
        ({"world.n": ["three"]}, "world.n = 'three': n: expected `int`"),
        ({"world.n": [1]}, "world.n = 1: two-hop: n must be at least 2, got 1"),
        ({RATE: [-1.0]}, f"{RATE} = -1.0: .* above 0"),
        ({"world.n": []}, "over an empty list"),
        ({"world.n": 3}, "over a list of values, got 3"),
        ({"world.n": "34"}, "over a list of values, got '34'"),
        ({"world.n": [3, 3]}, r"two conditions have the same labels \(n=3\)"),
        ({"world.n, model.width": [3, 4]}, "each value must have 2 entries, got 3"),
        ({"world.n": [3], "world.n, model.width": [(3, 8)]}, "varied by two axes"),
        ({"model": [3]}, "the model must be a config that builds one, .*; got 3"),
        (
            {"learner": ["sgd"]},
            "the learner must be a Curriculum, .*, a Descent, an Optimum, or one of your own",
        ),
        ([], "list of points is empty"),
        ([3], "a point must be a dictionary that maps paths to values"),
        ([{"world.n": 3}, {"model.width": 8}], "all points must set the same paths"),
        (3, "'over' must be a dictionary that maps paths to values"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_runs(over, why: str) -> None:
    with pytest.raises(ConfigError, match=why) as error:
        grid(WORLD, MODEL, SHORT, over)
    assert "\n" not in str(error.value)


def test_defaults_make_a_model_that_fits_the_largest_world(tmp_path) -> None:
    study = iw.Study(iw.TwoHop(), over={"world.n": [3, 12]})
    assert len({trial.model for trial in study.trials}) == 1
    model = study.trials[0].model
    assert len(iw.TwoHop(n=12).build().vocabulary) <= model.width == 64
    assert [m.name for m in study.plan.measures] == ["accuracy"]
    deep = iw.Study(PathStar(arms=2, nodes=12)).trials[0]
    assert deep.model.context >= 12
    assert iw.Study(WORLD, learner=iw.Optimum()).trials[0].model is None
    wide = iw.Study(WORLD, over={"model.width": [16]}).trials[0].model
    assert wide.width == 16
    table = sweep(WORLD, learner=SHORT, seeds=[7], runs=tmp_path, progress=False)
    assert table["seed"].unique().to_list() == [7]
    assert set(table["role"]) == {"first_hop", "second_hop", "identity", "composition"}


def test_work_that_is_short_is_done_in_one_process() -> None:
    plan = iw.Plan(trials=grid(WORLD, MODEL, SHORT, {}), measures=[iw.probes.accuracy])
    assert useful_processes(plan, 3, "cpu") == 1
    assert useful_processes(plan, 10**6, "cpu") >= 1
    assert useful_processes(plan, 10**6, "cuda") == 1


def test_progress_is_a_line_in_a_log(monkeypatch, capsys) -> None:
    now = iter(range(0, 1000, 20))
    monkeypatch.setattr("time.monotonic", lambda: float(next(now)))
    with progress.shown(True) as report:
        assert report
        for done in (0, 25, 50):
            report(done, 100, "2 × gpt")
    assert capsys.readouterr().err == " 25%  2 × gpt, about 2 min 0 s left\n"
    with progress.shown(False) as report:
        assert report is None


def test_progress_is_one_line_of_a_notebook_that_changes(monkeypatch, capsys) -> None:
    pytest.importorskip("IPython.display")
    sent: list[tuple[str, object]] = []

    def display(self, data, raw) -> None:
        sent.append((self.display_id, *data.items()))
        assert raw

    monkeypatch.setattr("IPython.display.DisplayHandle.display", display)
    monkeypatch.setattr("IPython.display.DisplayHandle.update", display)
    monkeypatch.setattr("IPython.get_ipython", lambda: SimpleNamespace(kernel=object()))
    now = iter(range(0, 1000, 20))
    monkeypatch.setattr("time.monotonic", lambda: float(next(now)))
    with progress.shown(True) as report:
        assert report
        for done in (0, 25, 50):
            report(done, 100, "2 × gpt")
    names, lines = zip(*sent, strict=True)
    assert len(set(names)) == 1
    said = [
        " 25%  2 × gpt, about 2 min 0 s left",
        " 50%  2 × gpt, about 1 min 0 s left",
    ]
    assert lines[1:] == (*(("text/plain", text) for text in said), ("text/html", ""))
    assert capsys.readouterr() == ("", "")


def test_a_sweep_measures_something(tmp_path) -> None:
    with pytest.raises(ConfigError, match="needs at least one measure"):
        sweep(WORLD, MODEL, SHORT, measures=[], runs=tmp_path)
    assert not list(tmp_path.iterdir())


def test_conditions_of_a_grid_share_their_parts() -> None:
    over = {
        "world.n": [3, 4],
        "model.width": [8, 9],
        "learner.phases.0.steps": [1, 2, 3],
    }
    trials = iw.Study(WORLD, MODEL, over=over).trials
    assert len(trials) == 12
    counts = [
        len({id(getattr(t, part)) for t in trials})
        for part in ("world", "model", "learner")
    ]
    assert counts == [2, 2, 3]


FILMED: list[int] = []


def film(model, worlds):
    FILMED.append(model.replicas)
    return iw.probes.accuracy(model, worlds)


def test_settings_that_need_each_other_come_in_any_order() -> None:
    """AdamW does not accept a momentum, and a path-star no nodes of a cycle."""
    at = "learner.phases.0.optimizer"
    over = [(f"{at}.momentum", [0.9]), (f"{at}.kind", ["sgd"])]
    shape = [("world.n", [8]), ("world.shape", ["cycle"])]
    for given in (over + shape, [*reversed(over), *reversed(shape)]):
        study = iw.Study(iw.worlds.Graph(), MODEL, SHORT, over=dict(given), seeds=1)
        (trial,) = study.plan.trials
        assert trial.world == iw.worlds.Graph(shape="cycle", n=8)
        assert isinstance(trial.learner, iw.Curriculum)
        optimizer = trial.learner.phases[0].optimizer
        assert (optimizer.momentum, optimizer.kind) == (0.9, "sgd")


def test_what_is_filmed_of_the_first_seed_is_not_measured_of_all(tmp_path) -> None:
    FILMED.clear()
    looks = [
        Measure(name="film", probe=film, every=2, first_seed=True),
        Measure(name="end", probe=film, first_seed=True),
    ]
    tables = []
    for seeds in ([5, 6, 7], [5]):
        study = iw.Study(
            WORLD, MODEL, SHORT, seeds=seeds, measures=looks, runs=tmp_path / f"{seeds}"
        )
        tables.append(study.run(progress=False))
    assert set(FILMED) == {1}
    assert tables[0].equals(tables[1])
    assert set(tables[0]["seed"]) == {5}


def test_two_measures_change_no_type() -> None:
    """A column with numbers in one measure and strings in another becomes two columns."""
    learner = iw.learners.two_hop_mlp(steps=2)
    probes: list[Any] = [
        iw.probes.carries,
        iw.Measure(iw.probes.margins, where={"identity": 1.0}),
    ]
    how: dict[str, Any] = {
        "model": iw.EmbMLPConfig(width=4),
        "learner": learner,
        "seeds": 1,
        "progress": False,
    }
    over = {"world.identity": [0.0, 1.0]}
    world = iw.TwoHop(n=4, complexity=2, first_relations=1, second_relations=2)
    both = iw.sweep(world, over=over, measures=probes, **how)
    assert both["measure"].unique(maintain_order=True).to_list() == [
        "carries",
        "margins",
    ]
    for name, probe in (("carries", probes[0]), ("margins", probes[1])):
        alone = iw.sweep(world, over=over, measures=[probe], **how)
        rows = both.filter(measure=name)
        for column, dtype in alone.schema.items():
            where = column if both.schema[column] == dtype else f"{name}.{column}"
            assert rows[where].dtype == dtype, (name, column)
            assert rows[where].to_list() == alone[column].to_list(), (name, column)


def test_a_measure_takes_its_probe_first() -> None:
    measure = iw.Measure(iw.probes.margins, options={"parts": ["facts"]})
    assert measure.name == "margins"
    assert (
        measure.key
        == iw.Measure(
            name="m", probe=iw.probes.margins, options={"parts": ["facts"]}
        ).key
    )
    with pytest.raises(ConfigError, match="'probe' must be a function, such as"):
        iw.Measure("margins")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="where must be a Mapping, got list"):
        iw.Measure(iw.probes.margins, where=["seed"])  # type: ignore[arg-type]
