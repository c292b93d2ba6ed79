"""What a cluster costs where none is needed: a sweep on Ray against one in local processes.

``python benchmarks/many_machines.py [SECONDS] [ROUNDS]`` runs one sweep of about SECONDS (60) in
two local processes and on a Ray cluster of two CPUs on this machine, turn and turn about, so that
what else runs here falls on both, and prints the ratio of their times; and the time in which 10,000
trials are planned.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import inweights as iw
from inweights.lab.engine.collect import Effort, collect
from inweights.lab.engine.plan_files import write_plan
from inweights.lab.grammar.trial import Measure, Plan
from inweights.lab.studies.sweep import grid
from inweights.runs.tables.store import Store


def plan(steps: int, kinds: int = 12) -> Plan:
    """Trials of different sizes: as many tasks, none of which can join another."""
    descent = iw.Optimizer(kind="sgd", rate=1.0, weight_decay=0.0)
    learner = iw.Curriculum(phases=(iw.Phase(steps=steps, optimizer=descent),))
    trials = grid(
        iw.TwoHop(n=6), iw.EmbMLPConfig(), learner, {"model.width": range(64, 64 + kinds)}
    )
    return Plan(trials=trials, measures=[Measure(name="accuracy", probe=iw.probes.accuracy)])


def seconds(on: str, steps: int) -> float:
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        collect(plan(steps), range(8), Store(folder), Effort(jobs=2, on=on))
    return time.monotonic() - started


def main(wanted: float = 60.0, rounds: float = 2) -> None:
    for kinds, seeds in ((1, 10_000), (10_000, 1)):
        first, before = time.monotonic(), time.process_time()
        with tempfile.TemporaryDirectory() as folder:
            made = write_plan(plan(100, kinds), range(seeds), str(Path(folder) / "plan"))
            tasks, spent = len(made.index()), time.monotonic() - first
        busy = time.process_time() - before
        about = f"{kinds} trials of {seeds} seeds: {tasks} tasks"
        print(f"{about} in {spent:.1f} s, {busy:.1f} s of the processor", flush=True)
    start, probe = seconds("", 1), seconds("", 1000)
    steps = max(1000, round(1000 * (wanted - start) / max(0.1, probe - start)))
    times: dict[str, list[float]] = {"": [], "ray": []}
    for turn in range(int(rounds)):
        for on in ("ray", "") if turn % 2 else ("", "ray"):
            times[on].append(seconds(on, steps))
        local, ray = times[""][-1], times["ray"][-1]
        print(f"{steps} steps: local {local:.1f} s, Ray {ray:.1f} s, ratio {ray / local:.3f}")
    local, ray = sum(times[""]), sum(times["ray"])
    print(f"all rounds: local {local:.1f} s, Ray {ray:.1f} s, ratio {ray / local:.3f}")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
