"""Users' functions, modules and losses in killed processes, on Ray and under torchrun."""

from __future__ import annotations

import signal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from polars.testing import assert_frame_equal
from tests.experiments import own_work
from tests.experiments.test_ranks import two_ranks
from tests.forks import Forks
from tests.waiting import wait_until

import inweights as iw
from inweights.actions.plans import write_plan
from inweights.experiments.engine.collect import collect
from inweights.experiments.engine.executors.ray import bare
from inweights.runs.tables.store import Store

WORLD = iw.TwoHop(n=3)


@pytest.mark.slow
def test_a_function_goes_on_after_a_kill(tmp_path: Path, forks: Forks) -> None:
    marks, waiting = tmp_path / "marks", tmp_path / "wait"
    marks.mkdir()
    waiting.touch()
    place = tmp_path / "runs"
    process = forks.start("tests.experiments.own_work:drive", str(place), str(marks))
    wait_until(
        lambda: len(list(place.rglob("*.parquet"))) >= own_work.WAITING,
        unless=process.end,
    )
    process.kill()
    assert process.wait() == -signal.SIGKILL
    waiting.unlink()
    # A second call for one run would be an error.
    own_work.drive(str(place), str(marks))
    assert len(list(marks.iterdir())) == 6


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # a warning of Ray about itself
def test_on_ray_all_is_as_it_is_here(home: Any, tmp_path: Path) -> None:
    import ray
    from ray.cluster_utils import Cluster

    system = {"worker_niceness": 0, "worker_register_timeout_seconds": 200}
    head = {"num_cpus": 2, "node_ip_address": "127.0.0.1", "_system_config": system}
    with bare():
        cluster = Cluster(initialize_head=True, head_node_args=head)
    home.setenv("RAY_ADDRESS", cluster.address)

    def both(sweep: Any) -> None:
        elsewhere = sweep(runs=tmp_path / "there", on="ray", plugins=own_work.PLUGINS)
        assert elsewhere.equals(sweep(runs=tmp_path / "here", jobs=1))

    try:
        # All sweeps use one job of Ray, whose processes import torch once.
        ray.init(address=cluster.address, log_to_driver=False)
        few: dict[str, Any] = {"seeds": 2, "progress": False}
        both(
            partial(iw.sweep, WORLD, iw.wrap(own_work.Table), own_work.learner(), **few)
        )
        small = iw.GPTConfig(layers=1, width=16)
        both(partial(iw.sweep, WORLD, small, own_work.own_training(), **few))
        both(partial(iw.sweep, own_work.scored, over={"rate": [0.5, 1.0]}, **few))
    finally:
        home.delenv("RAY_ADDRESS", raising=False)
        ray.shutdown()
        cluster.shutdown()


@pytest.mark.slow
def test_torchrun_trains_a_wrapped_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forks: Forks
) -> None:
    trial = iw.Trial(
        labels={},
        world=WORLD,
        model=iw.wrap(own_work.Table),
        learner=own_work.learner(),
    )
    plan, place = (
        iw.Plan(trials=[trial], measures=[iw.probes.accuracy]),
        str(tmp_path / "plan"),
    )
    made = write_plan(plan, range(2), place, plugins=own_work.PLUGINS)
    processes = two_ranks(monkeypatch, forks, "work", place)
    alone = collect(plan, range(2), Store(tmp_path / "alone"))
    assert [process.wait() for process in processes] == [0, 0]
    together = collect(plan, range(2), made.store)
    for name, table in alone.items():
        assert_frame_equal(together[name], table, abs_tol=1e-5)
