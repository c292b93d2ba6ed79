"""A real Ray cluster on this machine: two nodes, and what happens when they are lost."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.lab.small import DRAWS, TRAININGS, Draws, Trainings

from inweights.errors import ConfigError, RunError
from inweights.lab import Plan
from inweights.lab.engine import executors
from inweights.lab.engine.bare_cluster import bare
from inweights.lab.engine.cluster import Ray
from inweights.lab.engine.collect import Effort, choose_executor, collect
from inweights.lab.store.tables import Store

ROOT = Path(__file__).parents[2]
PLUGINS = ("tests.lab.small",)
KINDS, LEASE = 3, 2.0


def test_where_work_can_be_done(monkeypatch) -> None:
    with pytest.raises(ConfigError, match="not on 'dask'"):
        choose_executor("dask", 1, [])
    pytest.importorskip("ray", reason="needs the extra 'cluster'")
    assert choose_executor("ray://head:10001", 1, []) == Ray("head:10001", 1)
    assert choose_executor("ray", 3, []) == Ray("", 3)
    assert isinstance(choose_executor("", 3, []), executors.SameProcess)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Ray keeps a token and its logs below a home that is thrown away; sockets want short paths."""
    pytest.importorskip("ray", reason="needs the extra 'cluster'")
    import tempfile

    with tempfile.TemporaryDirectory(prefix="iw") as short, pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", short)
        patch.setenv("RAY_TMPDIR", short)
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        # By these Ray stays on 127.0.0.1, where it would take this machine's own address instead:
        # one for processes that begin, one for this one, which has imported it already.
        patch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
        patch.setattr("ray._private.ray_constants.ENABLE_RAY_CLUSTER", False)
        patch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), str(ROOT)]))
        patch.setenv("OMP_NUM_THREADS", "1")
        # A node that does not answer is given up after seconds, not after half a minute.
        patch.setenv("RAY_health_check_initial_delay_ms", "0")
        patch.setenv("RAY_health_check_period_ms", "500")
        patch.delenv("RAY_ADDRESS", raising=False)
        yield patch


def same(one, other) -> bool:
    return set(one) == set(other) and all(one[n].equals(other[n], null_equal=True) for n in one)


def patient(tickets: Path) -> Plan:
    """Tasks that end only while there are tickets, one for each."""
    return TRAININGS.plan(Trainings(kinds=KINDS, tickets=str(tickets)))


def drive(place: str, tickets: str) -> None:
    """What a command does that is killed."""
    plan = patient(Path(tickets))
    collect(plan, range(3), Store(place, lease=LEASE), Effort(on="ray", plugins=PLUGINS))


def at_work(node: Any) -> list[Any]:
    """The processes of a node that do a task."""
    import psutil

    (raylet,) = node.all_processes["raylet"]
    found = []
    for one in psutil.Process(raylet.process.pid).children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it has ended
            found += [one] if "ray::_attempt" in " ".join(one.cmdline()) else []
    return found


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Ray, about itself
def test_a_cluster_of_this_process(home, tmp_path) -> None:
    """Equal to a local run bit for bit; what fails is told, and the others are stored."""
    seen: list[int] = []
    effort = Effort(on="ray", plugins=PLUGINS, progress=lambda done, *_: seen.append(done))
    good = TRAININGS.plan(Trainings(steps=600))
    bad = replace(good, computations=DRAWS.plan(Draws(poison=1)).computations)
    with pytest.raises(RunError) as caught:
        collect(bad, range(3), Store(tmp_path / "a"), effort)
    assert re.search(r"1 of 4 tasks failed.*seed of trouble", str(caught.value))
    assert seen == sorted(seen)
    assert seen[-1] >= 3 * 600
    store = Store(tmp_path / "a")
    assert len(store.listed()) == 3 * 2 + 2
    mine = collect(good, range(3), store, Effort(executor=Refuses()))
    assert same(mine, collect(good, range(3), Store(tmp_path / "b")))


@pytest.mark.slow
def test_another_version_of_ray_begins_as_it_does(home) -> None:
    """What it names otherwise is left as it is."""
    from ray._private import services, utils

    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(utils, "get_dashboard_dependency_error")
        patch.setattr(services, "start_raylet", lambda name: name)
        with bare():
            begin: Any = services.start_raylet
            assert begin("as it is") == "as it is"


class Refuses:
    def run(self, job: object, schedule: object) -> None:
        raise AssertionError("work that was done is done again")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Ray, about itself
def test_two_nodes_one_process_killed_one_node_gone_and_driver_killed(
    home, tmp_path, forks
) -> None:
    """The driver loses a process and a node and goes on; then the same command goes on for it."""
    import ray
    from ray.cluster_utils import Cluster

    options: dict[str, Any] = {"num_cpus": 1, "node_ip_address": "127.0.0.1"}
    store, tickets = Store(tmp_path / "a", lease=LEASE), tmp_path / "tickets"
    tickets.mkdir()
    plan = patient(tickets)
    # Processes that work are else so nice that they never come to it beside other tests.
    head = options | {
        "_system_config": {"worker_niceness": 0, "worker_register_timeout_seconds": 200}
    }
    with bare():
        cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        with bare():
            second = cluster.add_node(**options)
        home.setenv("RAY_ADDRESS", cluster.address)
        nodes = (cluster.head_node, second)

        first = forks.start("tests.lab.test_cluster:drive", store.root, tickets)
        wait(lambda: len(store.leases.live()) == 2 and all(map(at_work, nodes)))
        lost = [one for node in nodes for one in at_work(node)]
        assert len(lost) == 2
        assert not store.listed()
        at_work(cluster.head_node)[0].kill()
        cluster.remove_node(second, allow_graceful=False)
        wait(lambda: not any(one.is_running() for one in lost))

        (tickets / "0").touch()
        wait(lambda: len(store.listed()) > 0)
        first.kill()
        assert first.wait() == -signal.SIGKILL
        wait(lambda: not at_work(cluster.head_node))
        done = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}
        dead = {lease.owner for lease in store.leases.live().values()}
        for ticket in range(2 * KINDS):
            (tickets / f"{ticket}").touch()
        mine = collect(plan, range(3), store, Effort(on="ray", plugins=PLUGINS))
    finally:
        home.delenv("RAY_ADDRESS", raising=False)
        ray.shutdown()
        cluster.shutdown()
    assert same(mine, collect(plan, range(3), Store(tmp_path / "b")))
    # What the first driver had stored and was killed before giving back, nobody asks for again.
    assert {lease.owner for lease in store.leases.live().values()} <= dead
    now = {path: path.stat().st_mtime_ns for path in (tmp_path / "a").rglob("*.parquet")}
    assert len(now) == KINDS * 3 * 3
    assert 0 < len(done) < len(now)
    assert done.items() <= now.items(), "what was done is done again"


def wait(until: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 250
    while not until():
        assert time.monotonic() < deadline
        time.sleep(0.02)
