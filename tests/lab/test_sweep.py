"""A study of one's own: combinations, labels, and what is refused."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import inweights as iw
from inweights.config import Config
from inweights.errors import ConfigError
from inweights.lab import Computation, Measure, Paper, Plan, share
from inweights.lab.engine.collect import Effort
from inweights.lab.engine.together import build_model
from inweights.lab.grammar.axes import grid
from inweights.lab.studies import cost
from inweights.lab.studies.settle import settle
from inweights.lab.studies.sweep import sweep, worth
from inweights.runs import RunStore
from inweights.seeds import Streams
from inweights.support import progress
from inweights.training import Curriculum, Optimizer, Phase, Stop
from inweights.worlds.families.path_star import PathStar

#: Studies of tests are too small to know their facts.
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
        WORLD, MODEL, SHORT, over={"world.n": [4]}, seeds=(1, 9),
        measures=[iw.probes.accuracy, iw.probes.margins], runs=tmp_path,
    )  # fmt: skip
    assert set(more["measure"]) == {"accuracy", "margins"}
    assert {p: p.stat().st_mtime_ns for p in stamps} == stamps
    kept = table.filter(pl.col("n") == 4, pl.col("rate") == 1e-3, pl.col("seed") == 1)
    again = more.filter(pl.col("measure") == "accuracy", pl.col("seed") == 1)
    assert again["accuracy"].to_list() == kept["accuracy"].to_list()


def test_whole_parts_are_varied_by_name() -> None:
    trials = grid(
        WORLD, None, SHORT, {"model": {"narrow": MODEL, "wide": iw.EmbMLPConfig(width=32)}}
    )
    assert [trial.labels for trial in trials] == [{"model": "narrow"}, {"model": "wide"}]
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
        ({"world": {"n": [3, 4]}}, [{"n": 3}, {"n": 4}]),  # as TOML reads world.n = [3, 4]
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
        ({"world.n.m": [3]}, "is a value and has no keys"),
        ({"world.n": ["three"]}, "world.n = 'three': n: expected `int`"),
        ({"world.n": [1]}, "world.n = 1: two-hop: n must be at least 2, got 1"),
        ({RATE: [-1.0]}, f"{RATE} = -1.0: .* above 0"),
        ({"world.n": []}, "over an empty list"),
        ({"world.n": 3}, "over a list of values, got 3"),
        ({"world.n": "34"}, "over a list of values, got '34'"),
        ({"world.n": [3, 3]}, "two conditions have the name n=3"),
        ({"world.n, model.width": [3, 4]}, "each value must have 2 entries, got 3"),
        ({"world.n": [3], "world.n, model.width": [(3, 8)]}, "varied by two axes"),
        ({"model": [3]}, "the model must be a config that builds one, .*; got 3"),
        (
            {"learner": ["sgd"]},
            "the learner must be a Curriculum, .*, a Descent, an Optimum, or one of your own",
        ),
        ([], "list of points is empty"),
        ([3], "a point must map paths to values"),
        ([{"world.n": 3}, {"model.width": 8}], "all points must set the same paths"),
        (3, "over must map paths to values"),
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


def test_a_forecast_is_what_then_happens(tmp_path) -> None:
    over = {"world.n": [3, 4]}
    study = iw.Study(WORLD, MODEL, SHORT, over, seeds=3, runs=tmp_path)
    ahead = study.forecast()
    assert (ahead.conditions, ahead.seeds, ahead.runs, ahead.stored) == (2, 3, 6, 0)
    assert (ahead.trained, ahead.steps) == (6, 6 * 5)
    assert ahead.minutes is not None
    assert 0 < ahead.minutes < 1
    assert ahead.memory > 2**20
    assert not list(tmp_path.iterdir())  # nothing is stored
    more = iw.Study(WORLD, MODEL, SHORT, over, seeds=5, runs=tmp_path)
    study.run(progress=False)
    left = more.forecast()
    assert (left.stored, left.trained, left.steps) == (6, 4, 4 * 5)
    more.run(progress=False)
    done = more.forecast()
    assert (done.stored, done.trained, done.minutes) == (10, 0, None)
    assert str(done) == "2 conditions × 5 seeds: 10 runs, 10 stored; 0 to train: 0 steps"


class Uneven(Config):
    """A world of one's own that is larger for odd seeds."""

    def build(self, seed: int = 0) -> iw.World:
        return iw.TwoHop(n=3 + seed % 2).build(seed)


def test_a_forecast_of_worlds_of_several_shapes(tmp_path) -> None:
    study = iw.Study(Uneven(), MODEL, SHORT, seeds=4, runs=tmp_path)
    ahead = study.forecast()
    assert (ahead.trained, ahead.steps) == (4, 4 * 5)
    assert study.run(progress=False)["seed"].n_unique() == 4


@pytest.mark.parametrize(
    "ends",
    [
        {"stop": Stop(loss_below=50.0, every=1)},
        {"optimizer": Optimizer(kind="sgd", rate=1e30, weight_decay=0.0)},
    ],
    ids=["stops at once", "diverges"],
)
def test_a_forecast_of_trainings_that_end_early(tmp_path, ends) -> None:
    """It counts all steps, as without them: when a run ends is not known before."""
    phases = tuple(Phase(name=str(i), steps=30, **ends) for i in range(6))
    ahead = iw.Study(WORLD, MODEL, Curriculum(phases=phases), seeds=2, runs=tmp_path).forecast()
    assert (ahead.trained, ahead.steps) == (2, 2 * 180)
    assert ahead.minutes is not None
    assert 0 < ahead.minutes < 1


def test_a_forecast_tries_no_model_that_is_not_trained(tmp_path, monkeypatch) -> None:
    """What a look at it takes is not what a step of the others takes."""
    tried = []

    def seen(task: Any, *_: Any) -> tuple[float, int]:
        tried.append(task.steps)
        return 60.0, 0

    monkeypatch.setattr(cost, "_try", seen)
    learners = {"untrained": Curriculum(phases=(Phase(steps=0),)), "trained": SHORT}
    ahead = iw.Study(WORLD, MODEL, learners, seeds=2, runs=tmp_path).forecast()
    assert tried == [10]  # of two runs
    assert (ahead.trained, ahead.steps) == (4, 10)
    assert ahead.minutes == pytest.approx(1.0)


@pytest.mark.parametrize("wrong", [{"jobs": -1}, {"device": "gpu"}])
def test_a_forecast_refuses_what_a_run_would(wrong, tmp_path) -> None:
    with pytest.raises(ConfigError):
        iw.Study(WORLD, MODEL, SHORT, runs=tmp_path).forecast(**wrong)


def test_work_that_is_short_is_done_in_one_process() -> None:
    plan = iw.Plan(trials=grid(WORLD, MODEL, SHORT, {}), measures=[iw.probes.accuracy])
    assert worth(plan, 3, "cpu") == 1
    assert worth(plan, 10**6, "cpu") >= 1
    assert worth(plan, 10**6, "cuda") == 1


def test_progress_is_a_line_in_a_log(monkeypatch, capsys) -> None:
    now = iter(range(0, 1000, 20))
    monkeypatch.setattr("time.monotonic", lambda: float(next(now)))
    with progress.shown(True) as report:
        assert report
        for done in (0, 25, 50):
            report(done, 100, "2 × gpt")
    assert capsys.readouterr().err == " 25%  2 × gpt, 2 min 0 s left\n"
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
    said = [" 25%  2 × gpt, 2 min 0 s left", " 50%  2 × gpt, 1 min 0 s left"]
    assert lines[1:] == (*(("text/plain", text) for text in said), ("text/html", ""))
    assert capsys.readouterr() == ("", "")


def test_a_sweep_measures_something(tmp_path) -> None:
    with pytest.raises(ConfigError, match="needs at least one measure"):
        sweep(WORLD, MODEL, SHORT, measures=[], runs=tmp_path)
    assert not list(tmp_path.iterdir())


class Settings(Config):
    share: float = 0.5


def tossed(seed: int, share: float) -> pl.DataFrame:
    return pl.DataFrame({"heads": [Streams(seed).numpy("coin").binomial(20, share) / 20]})


PAPER = Paper("mine", "My lab", claims_of="ours")
state = PAPER.stating("coin", "nowhere")
COIN = PAPER.recipe(
    "coin",
    title="A coin",
    place="nowhere",
    summary="Tosses a coin.",
    scales={"cpu": Settings()},
    seeds={"cpu": 4},
    plan=lambda settings: Plan(
        computations=[
            Computation(
                name="tosses",
                labels={},
                compute=tossed,
                options={"share": settings.share},
                seeded=True,
            )
        ]
    ),
    claims=(
        state("clear", "It is above a tenth.", share("tosses", "heads") >= 0.1),
        state("close", "It is above .45.", share("tosses", "heads") >= 0.45),
        state("edge", "It is above a half.", share("tosses", "heads") >= 0.5),
    ),
)


def test_more_seeds_settle_what_is_undecided(tmp_path) -> None:
    done = settle(COIN, "cpu", store=RunStore(tmp_path), seconds=1000)
    verdicts = {claim.id.rpartition("/")[2]: claim for claim in done.outcome.claims}
    assert "mine/coin/close" in done.before
    assert verdicts["close"].verdict == "reproduced"
    assert verdicts["close"].level > 0.99
    # A mean on the edge is never settled, but for chance; the most that is tried is 64 times.
    assert done.left == ("mine/coin/edge",)
    assert done.seeds == 256
    assert "256 seeds are the most" in done.why


def test_a_budget_is_kept(tmp_path) -> None:
    done = settle(COIN, "cpu", store=RunStore(tmp_path), seconds=0.0)
    assert done.left == done.before
    assert done.seeds == 4
    assert "more seeds take about" in done.why


def test_a_look_that_takes_longer_than_it_should_is_stopped(tmp_path, monkeypatch) -> None:
    """Later seeds may take longer than those whose pace was seen, or were stored before."""
    clock = [0.0]
    monkeypatch.setattr(
        "inweights.lab.studies.settle.time", SimpleNamespace(monotonic=lambda: clock[0])
    )

    def later(*_: object) -> None:
        clock[0] += 100.0

    effort = Effort(progress=later)
    done = settle(COIN, "cpu", store=RunStore(tmp_path), seconds=600, effort=effort)
    assert (done.seeds, done.left) == (4, done.before)
    assert "8 seeds took longer" in done.why
    done = settle(COIN, "cpu", store=RunStore(tmp_path), seconds=1000)
    assert done.left == ("mine/coin/edge",)


def test_an_estimate_of_large_models_tries_few_of_them(tmp_path, monkeypatch) -> None:
    """Its steps and memory are still those of all."""
    tried: list[int] = []

    def build(block, device):
        tried.append(len(block.runs))
        return build_model(block, device)

    monkeypatch.setattr("inweights.lab.engine.together.build_model", build)
    study = iw.Study(WORLD, MODEL, SHORT, seeds=6, runs=tmp_path)
    whole = study.forecast()
    monkeypatch.setattr("inweights.lab.studies.cost.NUMBERS", 1)
    few = study.forecast()
    assert tried == [6, 1]
    assert (few.trained, few.steps) == (whole.trained, whole.steps)
    assert few.memory >= whole.memory


@pytest.mark.parametrize(("seconds", "tries"), [(10.0, 2), (10_000.0, 6)])
def test_an_estimate_of_what_takes_long_tries_more(seconds, tries, tmp_path, monkeypatch) -> None:
    tried: list[str] = []

    def slowly(task, *_: object) -> tuple[float, int]:
        tried.append(task.title)
        return seconds, 1

    ticking = SimpleNamespace(process_time=lambda: float(len(tried)))
    monkeypatch.setattr(cost, "_try", slowly)
    monkeypatch.setattr(cost, "time", ticking)
    over = {"model.width": [3, 4, 5, 6, 7, 8, 9]}
    looked = iw.Study(WORLD, MODEL, SHORT, over=over, seeds=2, runs=tmp_path).forecast()
    assert len(set(tried)) == tries
    assert looked.minutes == pytest.approx(7 * seconds / 60)


def test_conditions_of_a_grid_share_their_parts() -> None:
    over = {"world.n": [3, 4], "model.width": [8, 9], "learner.phases.0.steps": [1, 2, 3]}
    trials = iw.Study(WORLD, MODEL, over=over).trials
    assert len(trials) == 12
    counts = [len({id(getattr(t, part)) for t in trials}) for part in ("world", "model", "learner")]
    assert counts == [2, 2, 3]


FILMED: list[int] = []


def film(model, worlds):
    FILMED.append(model.replicas)
    return iw.probes.accuracy(model, worlds)


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
