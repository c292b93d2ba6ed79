"""A program that kills workers, nodes and drivers of a Ray cluster of three nodes.

``python -m tests.experiments.cluster_kills FOLDER KILLS [SEED] [WHAT…]`` kills a
``worker``, a ``node`` or the ``driver`` this many times. Runs can end only while there are
tickets, which are spread over the kills, and a kill waits until a process is working.
Thus every kill interrupts work, however fast the machine is. A lost node is replaced, and
a killed driver is started again. In the end every table has to be stored once and equal
that of an undisturbed process, and a minute later no process of a task may be left. The
program prints how many runs were stored at each kill.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
from tests.experiments.small import TRAININGS, Trainings
from tests.experiments.test_cluster import LEASE, PLUGINS, ROOT, at_work
from tests.forks import Child, Forks

from inweights.experiments import Plan
from inweights.experiments.engine.collect import collect
from inweights.experiments.engine.execution import ExecutionOptions
from inweights.experiments.engine.executors.ray import bare
from inweights.runs.tables.store import Store

SEEDS, KINDS, NODES = 2, 24, 3
WHAT = ("worker", "node", "driver")
NODE: dict[str, Any] = {"num_cpus": 1, "node_ip_address": "127.0.0.1"}
HEAD = NODE | {
    "_system_config": {"worker_niceness": 0, "worker_register_timeout_seconds": 200}
}
#: Seconds after which no process may be left.
AFTER = 60.0


def waiting(tickets: str) -> Plan:
    """Return tasks that can end only while there are tickets."""
    return TRAININGS.plan(Trainings(kinds=KINDS, tickets=tickets))


def drive(place: str, tickets: str) -> None:
    """Run a plan as a command does; tasks that were killed often are tried again."""
    from inweights.experiments.engine.executors import schedule

    vars(schedule)["ATTEMPTS"] = 1000
    collect(
        waiting(tickets),
        range(SEEDS),
        Store(place, lease=LEASE),
        ExecutionOptions(on="ray", plugins=PLUGINS),
    )


class Trial:
    """A cluster and a driver, parts of which are killed.

    Args:
        here: A folder for temporary files.
        forks: Object that starts drivers.
        draw: Random numbers that determine what is killed.
    """

    def __init__(self, here: Path, forks: Forks, draw: random.Random) -> None:
        from ray.cluster_utils import Cluster

        self.here, self.forks, self.draw = here, forks, draw
        self.tickets = here / "tickets"
        self.tickets.mkdir(parents=True)
        self.store, self.given = Store(here / "store", lease=LEASE), 0
        self.log: Counter[str] = Counter()
        with bare():
            self.cluster = Cluster(initialize_head=True, head_node_args=HEAD)
        self.nodes = [self.cluster.head_node, *(self.node() for _ in range(NODES - 1))]
        os.environ["RAY_ADDRESS"] = self.cluster.address
        self.driver = self.begin()

    def node(self) -> Any:
        with bare():
            return self.cluster.add_node(**NODE)

    def begin(self) -> Child:
        return self.forks.start(
            "tests.experiments.cluster_kills:drive", self.store.root, self.tickets
        )

    def give(self, tickets: int) -> None:
        while self.given < tickets:
            (self.tickets / f"{self.given}").touch()
            self.given += 1

    def kill(self, what: str) -> None:
        """Kill a worker, node or driver that is working, and start a replacement.

        All tickets are taken before a kill, so that kills are spread over the work. Half
        of the kills happen at once, while the task with the last ticket may be storing its
        results, the others a little later.
        """
        wait(lambda: not any(self.tickets.iterdir()))
        time.sleep(self.draw.choice((0.0, 0.5)))
        nodes = self.nodes[1:] if what == "node" else self.nodes
        busy: list[Any] = []

        def somebody_works() -> bool:
            assert self.driver.poll() is None, self.driver.output
            busy[:] = [(node, work) for node in nodes if (work := at_work(node))]
            return bool(busy)

        wait(somebody_works)
        place, work = self.draw.choice(busy)
        done = len(self.store.listed()) // 3
        self.log[f"{done} of {KINDS * SEEDS} runs stored"] += 1
        if what == "driver":
            self.driver.kill()
            assert self.driver.wait() == -signal.SIGKILL
            self.driver = self.begin()
        elif what == "node":
            self.cluster.remove_node(place, allow_graceful=False)
            self.nodes[self.nodes.index(place)] = self.node()
        else:
            with contextlib.suppress(psutil.Error):  # the process has just ended
                work[0].kill()

    def end(self) -> list[Any]:
        """Wait for the driver to end, and return the processes that are left a minute later."""
        self.give(4 * KINDS * SEEDS)
        code = self.driver.wait()
        assert code == 0, self.driver.output
        wait(lambda: not any(map(at_work, self.nodes)), AFTER)
        return [one for node in self.nodes for one in at_work(node)]


def wait(until: Callable[[], bool], seconds: float = 250.0) -> None:
    deadline = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < deadline, "what was waited for did not come"
        time.sleep(0.02)


def check(store: Store, here: Path) -> None:
    """Check that the stored tables equal those of a single process."""
    tickets = here / "alone-tickets"
    tickets.mkdir()
    for ticket in range(4 * KINDS * SEEDS):
        (tickets / f"{ticket}").touch()
    names = [name for name in store.files.names("") if name.endswith(".parquet")]
    stored = Counter((name.split("/")[-2], name.rpartition("-")[0]) for name in names)
    assert set(stored.values()) == {1}, "a table is stored twice"
    assert len({owner for owner, _ in stored}) == KINDS * SEEDS, "a run is lost"
    alone = collect(waiting(str(tickets)), range(SEEDS), Store(here / "alone"))
    again = collect(waiting(str(here / "tickets")), range(SEEDS), store)
    assert all(
        again[name].equals(alone[name], null_equal=True)
        for name in alone
        if name != "patient"
    )


def environment(home: str) -> None:
    """Restrict Ray to 127.0.0.1, and make it write to a temporary folder."""
    os.environ |= {
        "HOME": home,
        "RAY_TMPDIR": home,
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
        "RAY_health_check_initial_delay_ms": "0",
        "RAY_health_check_period_ms": "500",
    }
    os.environ.pop("RAY_ADDRESS", None)


def main(root: str, kills: str, seed: str = "0", *names: str) -> None:
    import ray

    for what in names or WHAT:
        with (
            tempfile.TemporaryDirectory(prefix="iw") as home,
            contextlib.ExitStack() as stack,
        ):
            environment(home)
            vars(ray._private.ray_constants)["ENABLE_RAY_CLUSTER"] = False
            forks = Forks()
            stack.callback(forks.close)
            trial = Trial(Path(root) / what, forks, random.Random(f"{what} {seed}"))
            try:
                for number in range(int(kills)):
                    # Before the last kill there are fewer tickets than tasks, each of which
                    # takes one.
                    trial.give(number * (KINDS - NODES) // int(kills))
                    trial.kill(what)
                left = trial.end()
            finally:
                ray.shutdown()
                trial.cluster.shutdown()
            assert not left, left
            check(trial.store, Path(root) / what)
            sys.stdout.write(
                f"{kills} times a {what} killed, 0 differences, nothing left\n"
            )
            for where, count in trial.log.items():
                sys.stdout.write(f"{count:4} with {where}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
