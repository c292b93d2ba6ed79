"""Measure the overhead per task of plans of growing size, and the overhead of a cluster.

``python benchmarks/many_machines.py`` plans 1,000, 10,000 and 100,000 tasks of
simulated work, runs them with one worker under leases, lists the progress of the plan, and
merges the tables, all in a temporary folder. It prints the processor microseconds of each
step per task, and the memory. With ``--ray`` it also runs one sweep of about ``--seconds``
in two local processes and on a Ray cluster of two CPUs on this machine, alternately, so
that other work on the machine affects both.
"""

from __future__ import annotations

import argparse
import importlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

import inweights as iw
from inweights.actions.plans import work, write_plan
from inweights.actions.plans.files import Planned
from inweights.experiments import Computation
from inweights.experiments.engine.collect import collect
from inweights.experiments.engine.execution import ExecutionOptions
from inweights.experiments.grammar.trial import Measure, Plan
from inweights.experiments.grammar.variation.axes import grid
from inweights.runs import environment
from inweights.runs.tables.store import Store

SIZES = (1_000, 10_000, 100_000)
#: Name of this module, which workers import.
MODULE = Path(__file__).stem


def simulated(seed: int) -> pl.DataFrame:
    """Return a table like that of a task, without any work."""
    return pl.DataFrame({"value": [seed % 7]})


def simulation() -> Plan:
    """Return a task for each seed; workers find the function by this module's name."""
    found = importlib.import_module(MODULE).simulated
    return Plan(
        computations=[Computation(name="value", labels={}, compute=found, seeded=True)]
    )


def costs(tasks: int) -> dict[str, Any]:
    """Return the processor microseconds of each step per task, in a folder."""
    spent: dict[str, Any] = {"tasks": tasks}

    def timed(name: str, step: Callable[[], Any]) -> Any:
        before = time.process_time()
        made = step()
        spent[name] = round(1e6 * (time.process_time() - before) / tasks, 1)
        return made

    with tempfile.TemporaryDirectory() as folder:
        place, plan, seeds = f"{folder}/plan", simulation(), range(tasks)
        made: Planned = timed(
            "planned", lambda: write_plan(plan, seeds, place, plugins=[MODULE])
        )
        timed("leased and done", lambda: work(made))
        status = timed("listed", made.status)
        tables = timed("merged", lambda: collect(plan, seeds, made.store))
        assert status.done == tasks == len(tables["value"])
    spent["MiB"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    return spent


def trainings(steps: int, kinds: int = 12) -> Plan:
    """Return trials of different sizes, each of which is a separate task."""
    descent = iw.Optimizer(kind="sgd", rate=1.0, weight_decay=0.0)
    learner = iw.Curriculum(phases=(iw.Phase(steps=steps, optimizer=descent),))
    trials = grid(
        iw.TwoHop(n=6),
        iw.EmbMLPConfig(),
        learner,
        {"model.width": range(64, 64 + kinds)},
    )
    return Plan(
        trials=trials, measures=[Measure(name="accuracy", probe=iw.probes.accuracy)]
    )


def seconds(on: str, steps: int) -> float:
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        collect(
            trainings(steps), range(8), Store(folder), ExecutionOptions(jobs=2, on=on)
        )
    return time.monotonic() - started


def against_ray(wanted: float, rounds: int) -> None:
    start, probe = seconds("", 1), seconds("", 1000)
    steps = max(1000, round(1000 * (wanted - start) / max(0.1, probe - start)))
    times: dict[str, list[float]] = {"": [], "ray": []}
    for turn in range(rounds):
        for on in ("ray", "") if turn % 2 else ("", "ray"):
            times[on].append(seconds(on, steps))
        local, ray = times[""][-1], times["ray"][-1]
        print(
            f"{steps} steps: local {local:.1f} s, Ray {ray:.1f} s, ratio {ray / local:.3f}"
        )
    local, ray = sum(times[""]), sum(times["ray"])
    print(f"all rounds: local {local:.1f} s, Ray {ray:.1f} s, ratio {ray / local:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", type=int, nargs="+", default=SIZES)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--ray", action="store_true")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    if given.ray:
        against_ray(given.seconds, given.rounds)
        return
    if len(given.tasks) == 1:
        results = [costs(given.tasks[0])]
    else:  # one process for each, so that memory is measured separately
        command = [sys.executable, __file__, "--json", "--tasks"]
        results = [
            json.loads(subprocess.check_output([*command, str(tasks)]))["sizes"][0]  # noqa: S603
            for tasks in given.tasks
        ]
    if given.json:
        print(json.dumps({"environment": environment(), "sizes": results}, indent=2))
        return
    print("processor microseconds a task")
    for one in results:
        print("  ".join(f"{name} {value:,}" for name, value in one.items()))


if __name__ == "__main__":
    main()
