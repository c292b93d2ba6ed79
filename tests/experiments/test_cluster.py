"""A real Ray cluster of two nodes on this machine, and the loss of nodes."""

from __future__ import annotations

import contextlib
import signal
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from tests.experiments.small import TRAININGS, Trainings
from tests.waiting import wait_until

from inweights.errors import ConfigError
from inweights.experiments import Plan
from inweights.experiments.engine.collect import collect
from inweights.experiments.engine.execution import ExecutionOptions, choose_executor
from inweights.experiments.engine.executors import processes as executors
from inweights.experiments.engine.executors.ray import Ray, bare
from inweights.runs.tables.store import Store

ROOT = Path(__file__).parents[2]
PLUGINS = ("tests.experiments.small",)
KINDS, LEASE = 3, 2.0


def test_where_work_can_be_done(monkeypatch) -> None:
    with pytest.raises(ConfigError, match="'ray://HOST:PORT', got 'dask'"):
        choose_executor("dask", 1, [])
    pytest.importorskip("ray", reason="needs the extra 'cluster'")
    assert choose_executor("ray://head:10001", 1, []) == Ray("head:10001", 1)
    assert choose_executor("ray", 3, []) == Ray("", 3)
    assert isinstance(choose_executor("", 3, []), executors.SameProcess)


def same(one, other) -> bool:
    return set(one) == set(other) and all(
        one[n].equals(other[n], null_equal=True) for n in one
    )


def patient(tickets: Path) -> Plan:
    """Return tasks, each of which needs a ticket to end."""
    return TRAININGS.plan(Trainings(kinds=KINDS, tickets=str(tickets)))


def drive(place: str, tickets: str) -> None:
    """Run the command that is killed."""
    plan = patient(Path(tickets))
    collect(
        plan,
        range(3),
        Store(place, lease=LEASE),
        ExecutionOptions(on="ray", plugins=PLUGINS),
    )


def at_work(node: Any) -> list[Any]:
    """Return the processes of a node that run a task."""
    import psutil

    (raylet,) = node.all_processes["raylet"]
    found = []
    for one in psutil.Process(raylet.process.pid).children(recursive=True):
        with contextlib.suppress(psutil.Error):  # the process has ended
            found += [one] if "ray::_attempt" in " ".join(one.cmdline()) else []
    return found


@pytest.mark.slow
def test_another_version_of_ray_begins_as_it_does(home) -> None:
    """Functions that this version of Ray names differently are not replaced."""
    from ray._private import node, services

    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(node.Node, "start_monitor")
        patch.delattr(services, "get_node")
        with bare():
            assert isinstance(node.Node.start_log_monitor, Mock)
            assert not hasattr(node.Node, "start_monitor")
            assert not hasattr(services, "get_node")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # a warning of Ray about itself
def test_two_nodes_one_process_killed_one_node_gone_and_driver_killed(
    home, tmp_path, forks
) -> None:
    """The driver survives the loss of a process and a node; a second command continues it."""
    import ray
    from ray.cluster_utils import Cluster

    options: dict[str, Any] = {"num_cpus": 1, "node_ip_address": "127.0.0.1"}
    store, tickets = Store(tmp_path / "a", lease=LEASE), tmp_path / "tickets"
    tickets.mkdir()
    plan = patient(tickets)
    # Otherwise worker processes have such a low priority that they never run beside other
    # tests.
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

        first = forks.start("tests.experiments.test_cluster:drive", store.root, tickets)
        wait_until(lambda: len(store.leases.live()) == 2 and all(map(at_work, nodes)))
        lost = [one for node in nodes for one in at_work(node)]
        assert len(lost) == 2
        assert not store.listed()
        at_work(cluster.head_node)[0].kill()
        cluster.remove_node(second, allow_graceful=False)
        wait_until(lambda: not any(one.is_running() for one in lost))

        (tickets / "0").touch()
        wait_until(lambda: len(store.listed()) > 0)
        first.kill()
        assert first.wait() == -signal.SIGKILL
        wait_until(lambda: not at_work(cluster.head_node))
        done = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}
        dead = {lease.owner for lease in store.leases.live().values()}
        # On a slow machine a lease may expire and its task may run twice, so there are
        # spare tickets.
        for ticket in range(20 * KINDS):
            (tickets / f"{ticket}").touch()
        mine = collect(
            plan, range(3), store, ExecutionOptions(on="ray", plugins=PLUGINS)
        )
    finally:
        home.delenv("RAY_ADDRESS", raising=False)
        ray.shutdown()
        cluster.shutdown()
    assert same(mine, collect(plan, range(3), Store(tmp_path / "b")))
    # A task that the first driver stored before it was killed is not run again.
    assert {lease.owner for lease in store.leases.live().values()} <= dead
    now = {
        path: path.stat().st_mtime_ns for path in (tmp_path / "a").rglob("*.parquet")
    }
    assert len(now) == KINDS * 3 * 3
    assert 0 < len(done) < len(now)
    assert done.items() <= now.items(), "what was done is done again"
