"""The cost of a study is estimated before it runs, and nothing is stored."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import inweights as iw
from inweights.config import Config
from inweights.errors import ConfigError
from inweights.experiments import Measure, Plan, Trial
from inweights.experiments.engine.attempts.together import build_model
from inweights.experiments.engine.tasks import LearnTask
from inweights.experiments.studies import cost, part_steps, timed_runs, timed_steps
from inweights.experiments.studies.part_steps import Tried, facts_of, part_of
from inweights.runs.tables.store import Store
from inweights.training import Curriculum, Optimizer, Phase, Stop
from inweights.training.steps.recording import recorded

#: Studies in tests are too small for their models to memorise the facts.
pytestmark = pytest.mark.filterwarnings("ignore::inweights.errors.CautionWarning")

WORLD, MODEL = iw.TwoHop(n=3), iw.EmbMLPConfig(width=8)
SHORT = iw.Curriculum(phases=(iw.Phase(steps=3), iw.Phase(name="more", steps=2)))


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
    assert (
        str(done) == "2 conditions × 5 seeds: 10 runs, 10 stored; 0 to train: 0 steps"
    )


class Uneven(Config):
    """A user's world that is larger for odd seeds."""

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
    """All steps are counted, since it is not known in advance when a run ends."""
    phases = tuple(Phase(name=str(i), steps=30, **ends) for i in range(6))
    ahead = iw.Study(
        WORLD, MODEL, Curriculum(phases=phases), seeds=2, runs=tmp_path
    ).forecast()
    assert (ahead.trained, ahead.steps) == (2, 2 * 180)
    assert ahead.minutes is not None
    assert 0 < ahead.minutes < 1


def test_a_forecast_tries_no_model_that_is_not_trained(tmp_path, monkeypatch) -> None:
    """The time of measuring an untrained model is not the time of a step of others."""
    tried = []

    def seen(task: Any, *_: Any) -> Tried:
        tried.append(task.steps)
        return Tried(seconds=60.0, memory=0)

    monkeypatch.setattr(timed_runs, "_try", seen)
    learners = {"untrained": Curriculum(phases=(Phase(steps=0),)), "trained": SHORT}
    ahead = iw.Study(WORLD, MODEL, learners, seeds=2, runs=tmp_path).forecast()
    assert tried == [10]  # of two runs
    assert (ahead.trained, ahead.steps) == (4, 10)
    assert ahead.minutes == pytest.approx(1.0)


@pytest.mark.parametrize("wrong", [{"jobs": -1}, {"device": "gpu"}])
def test_a_forecast_refuses_what_a_run_would(wrong, tmp_path) -> None:
    with pytest.raises(ConfigError):
        iw.Study(WORLD, MODEL, SHORT, runs=tmp_path).forecast(**wrong)


def test_an_estimate_of_large_models_tries_few_of_them(tmp_path, monkeypatch) -> None:
    """The estimated steps and memory still include all models."""
    tried: list[int] = []

    def build(block, device):
        tried.append(len(block.runs))
        return build_model(block, device)

    monkeypatch.setattr(
        "inweights.experiments.engine.attempts.together.build_model", build
    )
    study = iw.Study(WORLD, MODEL, SHORT, seeds=6, runs=tmp_path)
    whole = study.forecast()
    monkeypatch.setattr(timed_runs, "ARITHMETIC", 1)
    few = study.forecast()
    assert tried == [6, 1]
    assert (few.trained, few.steps) == (whole.trained, whole.steps)
    assert few.memory >= whole.memory


def test_trainings_of_one_size_may_be_measured_more_or_less_often(
    tmp_path, monkeypatch
) -> None:
    """A step takes 0.1 s and a measurement 10 s; half of the runs are measured once."""

    def try_one(task: LearnTask, *_: object) -> Tried:
        looking = 10.0 * part_steps.looks_of(task)
        seconds = 0.1 * task.steps + looking
        return Tried(seconds=seconds, memory=1, measuring=looking)

    monkeypatch.setattr(timed_runs, "_try", try_one)
    often = iw.Curriculum(phases=(iw.Phase(steps=4),))
    seldom = iw.Curriculum(phases=(iw.Phase(steps=1000),))
    trials = [
        Trial(world=WORLD, model=MODEL, learner=learner, labels={"often": yes})
        for learner, yes in ((often, True), (seldom, False))
    ]
    look = partial(Measure, probe=iw.probes.accuracy)
    measures = [look(name="a", every=1, where={"often": True}), look(name="b")]
    plan = Plan(trials=trials, measures=measures)
    monkeypatch.setattr(timed_runs, "SPREAD", (1.0,))
    ahead = cost.forecast(plan, [0], Store(tmp_path))
    # Five measurements, and one at the end of each run; one run was timed.
    assert ahead.minutes == pytest.approx((0.1 * 1004 + 10.0 * 7) / 60)


def test_a_step_is_timed_after_its_kernels_were_recorded() -> None:
    assert timed_steps.RECORDED_AFTER == recorded.WARM_UP + 1 + recorded.COMPARED
    assert timed_runs.STEPS > timed_steps.RECORDED_AFTER


@pytest.mark.parametrize(("seconds", "tries"), [(10.0, 2), (10_000.0, 6)])
def test_an_estimate_of_what_takes_long_tries_more(
    seconds, tries, tmp_path, monkeypatch
) -> None:
    tried: list[str] = []

    def slowly(task, *_: object) -> Tried:
        tried.append(task.title)
        return Tried(seconds=seconds, memory=1)

    ticking = SimpleNamespace(process_time=lambda: float(len(tried)))
    monkeypatch.setattr(timed_runs, "_try", slowly)
    monkeypatch.setattr(timed_runs, "time", ticking)
    over = {"model.width": [3, 4, 5, 6, 7, 8, 9]}
    looked = iw.Study(WORLD, MODEL, SHORT, over=over, seeds=2, runs=tmp_path).forecast()
    assert len(set(tried)) == tries
    assert looked.minutes == pytest.approx(7 * seconds / 60)


def test_a_step_that_takes_long_is_tried_by_parts(tmp_path, monkeypatch) -> None:
    """Only parts of the batch are computed, so the time of the estimate does not grow."""
    sizes: list[int] = []

    def seen(model: Any, block: Any, phase: Phase) -> tuple[float, int]:
        facts = sum(facts_of(phase, block.worlds[0]).values())
        sizes.append(facts)
        # A step takes two seconds plus a hundredth of a second per fact.
        return 2.0 + 0.01 * facts, 100 * facts

    monkeypatch.setattr(timed_runs, "time_part", seen)
    learner = Curriculum(phases=(Phase(steps=1000, roles={"first_hop": 1.0}),))
    study = iw.Study(iw.TwoHop(n=200), MODEL, learner, seeds=1, runs=tmp_path)
    monkeypatch.setattr(part_steps, "LARGE", 1.0)
    numbers = 8 * (602 + 602)  # counted with a head over all tokens
    monkeypatch.setattr(part_steps, "PARTS", (4.5 * numbers, 19.5 * numbers))
    ahead = study.forecast()
    assert sizes == [5, 20]
    # The remaining time is that of measuring 800 statements, a third of a step each.
    assert ahead.minutes == pytest.approx((1000 * 4.0 + 800 * 0.02 / 3) / 60, rel=0.01)
    assert ahead.h100 == pytest.approx(1000 * part_steps.H100_STEP / 60)
    assert "on one H100 about" in str(ahead)
    assert "repeat the same command" in str(ahead)


def test_parts_take_a_share_of_every_role() -> None:
    world = iw.TwoHop(n=20).build()
    phase = Phase(batch={"first_hop+identity": 30, "second_hop": 0})
    assert facts_of(phase, world) == {"first_hop+identity": 30, "second_hop": 20}
    assert part_of(phase, world, 0.1).batch == {
        "first_hop+identity": 3,
        "second_hop": 2,
    }
    assert facts_of(Phase(), world) == {"": 60}
    assert part_of(Phase(), world, 0.001).batch == 1
    beside = Phase(roles={"first_hop": 1.0, "identity": 1.0}, batch={"identity": 5})
    assert facts_of(beside, world) == {"identity": 5, "first_hop": 20}


def test_arithmetic_grows_with_the_tokens(tmp_path, monkeypatch) -> None:
    """Counts on two parts give the count of the whole, verified for matrix products."""
    monkeypatch.setattr(part_steps, "LARGE", 1.0)
    monkeypatch.setattr(part_steps, "PARTS", (1e5, 1e6))
    _is_counted(tmp_path, monkeypatch)


def test_arithmetic_is_counted_of_steps_that_are_timed_whole(
    tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(timed_runs, "COUNTED", 0.0)
    _is_counted(tmp_path, monkeypatch)


def _is_counted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost, "SAID", 0.0)
    for module in (timed_runs, part_steps):
        monkeypatch.setattr(module, "H100_STEP", 0.0)
    model = iw.EmbMLPConfig(width=64)
    learner = Curriculum(phases=(Phase(steps=10),))
    study = iw.Study(iw.TwoHop(n=100), model, learner, seeds=1, runs=folder)
    # 300 facts with one label each; one product forward and two backward, [64] × [64, 200].
    each = 300 * 3 * 2 * 64 * 200
    rate = part_steps.H100_RATES["fp32"]
    ahead = study.forecast()
    assert ahead.h100 is not None
    assert ahead.h100 * 60 * rate == pytest.approx(10 * each, rel=0.25)
