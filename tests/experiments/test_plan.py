"""Plans: what is one run, what trains together, what is missing; and tasks as JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any
from unittest.mock import Mock

import polars as pl
import pytest
import torch

from inweights.errors import ConfigError
from inweights.experiments import Computation, Measure, Plan, Trial
from inweights.experiments.engine.attempts import blocks
from inweights.experiments.engine.attempts.together import build_model
from inweights.experiments.engine.executors.serialization import from_wire, to_wire
from inweights.experiments.engine.job import sendable
from inweights.experiments.engine.plan import expand_plan, tasks_of
from inweights.experiments.engine.tasks import LearnTask
from inweights.models import EmbMLPConfig, GPTConfig, Node2VecConfig
from inweights.models.configs.model_config import Init
from inweights.probes import accuracy, graph_recall, margins
from inweights.support.keys.plain import plain
from inweights.training import Curriculum, Descent, Optimizer, Optimum, Phase
from inweights.worlds import Graph, TwoHop

ACCURACY = Measure(name="accuracy", probe=accuracy)
EVERYTHING = lambda owner, part: True  # noqa: E731


def trial(name: str, **changes) -> Trial:
    parts = {"world": TwoHop(n=3), "model": EmbMLPConfig(), "learner": Curriculum()}
    return Trial(labels={"name": name}, **{**parts, **changes})


def rated(rate: float) -> Curriculum:
    return Curriculum(phases=(Phase(optimizer=Optimizer(rate=rate)),))


def test_what_differs_in_labels_alone_is_one_run() -> None:
    work = expand_plan(
        Plan(trials=[trial("a"), trial("b")], measures=[ACCURACY]), [0, 1]
    )
    assert len(work.runs) == 2
    asked = [
        (one.labels["name"], one.seed)
        for one in work.requests
        if one.name == "accuracy"
    ]
    assert sorted(asked) == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]


@pytest.mark.parametrize(
    ("changes", "together"),
    [
        ({"model": EmbMLPConfig(init=Init(std=0.5))}, True),
        ({"learner": rated(0.5)}, True),
        ({"learner": Curriculum(phases=(Phase(steps=7),))}, False),
        ({"model": EmbMLPConfig(width=8)}, False),
        ({"model": GPTConfig(layers=1, width=8, heads=1)}, False),
        ({"world": TwoHop(n=4)}, False),
    ],
)
def test_runs_train_together_where_scales_and_rates_alone_differ(
    changes, together
) -> None:
    work = expand_plan(
        Plan(trials=[trial("a"), trial("b", **changes)], measures=[ACCURACY]), [0]
    )
    assert len(work.runs) == 2
    assert len(tasks_of(work, EVERYTHING)) == 2 - together


@pytest.mark.parametrize(
    ("seeds", "sizes"), [(32, [32]), (33, [16, 17]), (40, [20, 20]), (64, [32, 32])]
)
def test_groups_are_as_few_and_as_equal_as_can_be(seeds, sizes) -> None:
    """A small group takes longer for each of its runs than a large one."""
    found = tasks_of(expand_plan(Plan(trials=[trial("a")]), range(seeds)), EVERYTHING)
    assert [len(task.runs) for task in found if isinstance(task, LearnTask)] == sizes


def four() -> LearnTask:
    (task,) = tasks_of(expand_plan(Plan(trials=[trial("a")]), range(4)), EVERYTHING)
    assert isinstance(task, LearnTask)
    return task


@pytest.mark.parametrize(("room", "sizes"), [(1e9, [1, 2, 4]), (2000.0, [1])])
def test_groups_are_measured_where_there_is_a_gpu(room, sizes, monkeypatch) -> None:
    """A CPU answers in its place, with steps that all take a second: the way is tried here."""
    built: list[int] = []

    def build(block: LearnTask, device: str) -> Any:
        built.append(len(block.runs))
        return build_model(block, "cpu")

    answers: dict[str, Callable[..., Any]] = {
        "mem_get_info": lambda _: (room, 0),
        "reset_peak_memory_stats": lambda _: None,
        "empty_cache": lambda: None,
        "memory_reserved": lambda _: 0,
        "max_memory_reserved": lambda _: 1000 * built[-1],
        "synchronize": lambda _: None,
    }
    for name, answer in answers.items():
        monkeypatch.setattr(torch.cuda, name, answer)
    monkeypatch.setattr(blocks, "build_model", build)
    monkeypatch.setattr(blocks, "time", Mock(perf_counter=partial(next, count())))
    assert blocks.group_size(four(), "cuda") == sizes[-1]
    assert built == sizes


@pytest.mark.gpu
def test_groups_are_measured_on_a_gpu() -> None:
    assert 1 <= blocks.group_size(four(), "cuda") <= 4


def test_only_what_is_missing_is_a_task() -> None:
    looks = [ACCURACY, Measure(name="margins", probe=margins)]
    work = expand_plan(Plan(trials=[trial("a")], measures=looks), [0, 1])
    _, second = work.runs
    part = looks[1].key
    (task,) = tasks_of(work, lambda owner, one: owner == second and one == part)
    assert isinstance(task, LearnTask)
    assert task.wanted == [(second, part)]
    assert [m.name for m in task.measures] == ["margins"]
    assert tasks_of(work, lambda owner, one: False) == []


def test_the_first_seed_trains_with_the_others() -> None:
    film = Measure(name="film", probe=margins, every=5, first_seed=True)
    work = expand_plan(Plan(trials=[trial("a")], measures=[ACCURACY, film]), [4, 5, 6])
    (task,) = tasks_of(work, EVERYTHING)
    assert [len(parts) for parts in task.parts] == [3, 2, 2]
    assert [one.seed for one in work.requests if one.name == "film"] == [4]


def test_measures_go_by_what_they_do() -> None:
    same = Measure(name="other", probe=accuracy)
    assert ACCURACY.key == same.key
    for changed in (
        Measure(name="accuracy", probe=margins),
        Measure(name="accuracy", probe=accuracy, every=5),
        Measure(name="accuracy", probe=accuracy, options={"draws": 3}),
    ):
        assert changed.key != ACCURACY.key
    assert plain({"look": accuracy, "at": (1, 2)}) == {
        "look": "inweights:accuracy",
        "at": [1, 2],
    }


def test_own_functions_go_by_their_code_in_every_process() -> None:
    """The keys are equal in all processes, although sets of names are ordered differently."""
    script = (
        "from inweights.support.keys.plain import plain\n"
        "from inweights.config import digest\n"
        "def probe(model, worlds, kind='a'):\n"
        "    return kind in {'alpha', 'beta', 'gamma', 'delta', 'epsilon'}\n"
        "print(digest(plain(probe)))\n"
    )
    environments = [os.environ | {"PYTHONHASHSEED": seed} for seed in ("1", "2", "3")]
    keys = {
        subprocess.run(
            [sys.executable, "-c", script],
            env=one,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for one in environments
    }
    assert len(keys) == 1
    one, other = (lambda model: 1.0), (lambda model: 2.0)
    assert plain(one) != plain(other)


def counted(n: int, seed: int = 0) -> pl.DataFrame:
    return pl.DataFrame({"value": [n + seed]})


def test_computations_are_made_once_or_for_each_seed() -> None:
    one = Computation(name="t", labels={"n": 1}, compute=counted, options={"n": 1})
    each = Computation(
        name="t", labels={"n": 2}, compute=counted, options={"n": 2}, seeded=True
    )
    work = expand_plan(Plan(computations=[one, each]), [7, 8])
    assert [(a.labels["n"], a.seed) for a in work.requests] == [(1, 7), (2, 7), (2, 8)]
    later = expand_plan(Plan(computations=[one]), [9])
    assert set(later.computations) < set(work.computations), "no seed decides it"


def tasks() -> list[Any]:
    plan = Plan(
        trials=[
            trial("a"),
            trial("b", learner=rated(0.25)),
            trial("c", model=None, learner=Optimum(gap=1e-3)),
            trial(
                "d",
                world=Graph(shape="cycle"),
                model=Node2VecConfig(),
                learner=Descent(),
            ),
        ],
        measures=[
            Measure(name="accuracy", probe=accuracy, where={"name": "a"}),
            Measure(name="seen", probe=graph_recall, where={"name": "d"}, every=3),
            Measure(
                name="margins", probe=margins, options={"of": margins, "w": TwoHop(n=9)}
            ),
        ],
        computations=[
            Computation(
                name="t",
                labels={"n": 2},
                compute=counted,
                options={"n": 2},
                seeded=True,
            )
        ],
    )
    return tasks_of(expand_plan(plan, [0, 1]), EVERYTHING)


@pytest.mark.parametrize("place", range(len(tasks())))
def test_tasks_come_back_from_json_as_they_were(place: int) -> None:
    task = tasks()[place]
    text = json.dumps(to_wire(task))
    assert sendable(task)
    again = from_wire(json.loads(text), plugins=[__name__])
    assert (again.key, again.steps) == (task.key, task.steps)
    assert again.wanted == task.wanted
    if isinstance(task, LearnTask):
        assert [run.trial for run in again.runs] == [run.trial for run in task.runs]
        assert [m.key for m in again.measures] == [m.key for m in task.measures]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("os:system", "neither in the library nor in a plugin"),
        ("subprocess:run", "neither in the library nor in a plugin"),
        ("inweights.runs.store:os", "neither in the library nor in a plugin"),
        (
            "inweights.experiments.engine.executors.processes:os.popen",
            "neither in the library nor in a plugin",
        ),
        (
            "inweights.experiments.engine.executors.processes:subprocess.getoutput",
            "neither in the library nor in a plugin",
        ),
        ("inweights.experiments.engine.tasks:Run", "is not a function"),
        ("inweights.experiments.engine.plan:nothing", "cannot be imported"),
        ("inweights.nowhere:nothing", "cannot be imported"),
    ],
)
def test_a_task_names_functions_of_the_library_alone(name: str, why: str) -> None:
    computed = next(t for t in map(to_wire, tasks()) if "compute" in t)
    with pytest.raises(ConfigError, match=why):
        from_wire({**computed, "compute": {"$function": name}})


def test_what_no_other_process_can_find_stays_here() -> None:
    def own(model, worlds):
        return accuracy(model, worlds)

    work = expand_plan(
        Plan(trials=[trial("a")], measures=[Measure(name="own", probe=own)]), [0]
    )
    (one,) = tasks_of(work, EVERYTHING)
    assert not sendable(one)


@pytest.mark.parametrize("plugin", ["my_lab", "./my_lab.py", "labs/my_lab"])
def test_what_a_plugin_defines_is_found_however_it_is_named(
    monkeypatch, plugin: str
) -> None:
    monkeypatch.setattr(counted, "__module__", "my_lab")
    computation = Computation(name="t", labels={}, compute=counted, options={"n": 1})
    (task,) = tasks_of(expand_plan(Plan(computations=[computation]), [0]), EVERYTHING)
    assert sendable(task, [plugin])
    assert not sendable(task, ["polars"])
