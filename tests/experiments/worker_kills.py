"""Kill workers of a plan at random times, and check the tables that remain.

``python tests/experiments/worker_kills.py FOLDER KILLS RUNS [SEED [PAUSE]]`` runs
three workers on one plan, as on three machines. It repeatedly kills one with SIGKILL after
a random time (at most 1 second, or PAUSE) and starts another in its place. Runs can end
only while there are tickets, which are spread over the kills, so that there is work as
long as workers are killed, however fast the machine is. In the end every run has to be
stored once, and the tables have to equal those of an undisturbed sweep. The program prints
how many workers were killed. Workers are forked, so that torch is imported once; this
process never uses polars, whose threads would not survive forking.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path

from tests.experiments.small import TRAININGS, Trainings
from tests.forks import end, forked, start

from inweights.actions.plans import work, write_plan
from inweights.actions.plans.files import Planned
from inweights.experiments.engine.collect import collect
from inweights.experiments.grammar.trial import Plan
from inweights.runs.tables.store import Store

SEEDS, WORKERS, LEASE = 4, 3, 3.0


def disturb(
    folder: Path, kinds: int, kills: int, draw: random.Random, pause: float
) -> int:
    """Run workers on a plan while killing some, and return how many were killed."""
    begin = lambda: start(lambda: work(Planned(str(folder / "plan"), LEASE)))  # noqa: E731
    workers, done, given = [begin() for _ in range(WORKERS)], 0, 0
    while workers:
        # Before the last kill there are fewer tickets than kinds, each of which takes one or
        # more.
        due = done * kinds // kills if done < kills else given + WORKERS
        while given < due:
            (folder / "tickets" / f"{given}").touch()
            given += 1
        time.sleep(draw.uniform(0, pause))
        for worker in list(workers):
            gone, status = os.waitpid(worker, os.WNOHANG)
            if gone:
                assert os.waitstatus_to_exitcode(status) == 0
                workers.remove(worker)
        if workers and done < kills:
            victim = draw.choice(workers)
            os.kill(victim, signal.SIGKILL)
            if end(victim) == -signal.SIGKILL:
                done += 1
            workers[workers.index(victim)] = begin()
    return done


def look(folder: Path, plan: Plan, runs: int) -> None:
    """Check that each run is stored once, with the tables that one process computes."""
    for ticket in range(runs):
        (folder / "tickets" / f"alone-{ticket}").touch()
    store = Planned(str(folder / "plan")).store
    names = [name for name in store.files.names("") if name.endswith(".parquet")]
    tables = Counter((name.split("/")[-2], name.rpartition("-")[0]) for name in names)
    assert set(tables.values()) == {1}, "a table is stored twice"
    assert len({owner for owner, _ in tables}) == runs, "a run is lost"
    mine, alone = (
        collect(plan, range(SEEDS), s) for s in (store, Store(folder / "alone"))
    )
    assert all(mine[name].equals(alone[name], null_equal=True) for name in alone)
    assert len(store.listed()) == len(tables), "something was missing"


def main(folder: str, kills: str, runs: str, seed: str = "0", pause: str = "1") -> None:
    here, kinds = Path(folder), int(runs) // SEEDS
    tickets = here / "tickets"
    tickets.mkdir()
    plan = TRAININGS.plan(Trainings(kinds=kinds, steps=300, tickets=str(tickets)))
    write_plan(
        plan, range(SEEDS), str(here / "plan"), plugins=["tests.experiments.small"]
    )
    done = disturb(here, kinds, int(kills), random.Random(int(seed)), float(pause))
    assert forked(lambda: look(here, plan, int(runs))) == 0
    sys.stdout.write(f"{done} kills\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
