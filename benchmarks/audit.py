"""Measure audit, predict and augment with default options on 100 to 100,000 triples.

There are two kinds of synthetic sets: a company (people with towns, managers, projects and
dates), and hubs (a few entities in very many facts, Zipf 1.3). The latter is the hard
case: 100,000 triples have 47 million chains. If files are given, they are measured
instead. Every command runs in a separate process, whose wall time, processor time and
peak memory (including imports) are reported.

    python benchmarks/audit.py [FILE …] [--triples 100 1000] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from inweights.runs import environment

TRIPLES = (100, 1_000, 10_000, 100_000)
#: Largest processor time in seconds and memory in GiB of each command; predict, and the
#: prediction of audit, have a time limit of 60 s.
STATED = {"audit": (90, 1.0), "predict": (90, 1.0), "augment": (30, 1.0)}


def hubs(triples: int, seed: int = 0) -> list[str]:
    """Return distinct triples with hubs, 40 relations, and a fifth as many entities as triples."""
    rng, entities = np.random.default_rng(seed), max(triples // 5, 20)
    found: dict[tuple[int, int, int], None] = {}
    while len(found) < triples:
        ends = rng.zipf(1.3, size=(triples, 2)) % entities
        kinds = rng.integers(0, 40, triples)
        # If no pairs with hubs are left, any two entities are used.
        ends[::2] = rng.integers(0, entities, ends[::2].shape)
        found.update(
            ((s, r, o), None)
            for (s, o), r in zip(ends.tolist(), kinds.tolist(), strict=True)
            if s != o
        )
    return [f"e{s},r{r},e{o}" for s, r, o in list(found)[:triples]]


def company(triples: int, seed: int = 0) -> list[str]:
    """Return six facts per person, and facts about towns and projects."""
    rng = np.random.default_rng(seed)
    people = max(triples // 7, 4)
    towns, projects = max(people // 20, 2), max(people // 5, 2)
    rows = [f"t{t},country,c{t % max(towns // 8, 2)}" for t in range(towns)]
    for p in range(projects):
        rows.append(f"x{p},led by,p{rng.integers(people)}")
        rows.append(f"x{p},budget,{rng.integers(10, 99)}000")
    for p in range(people):
        rows.append(f"p{p},lives in,t{rng.integers(towns)}")
        rows.append(
            f"p{p},born on,{rng.integers(1950, 2005)}-0{rng.integers(1, 9)}-1{p % 10}"
        )
        rows.extend(
            f"p{p},works on,x{x}" for x in set(rng.integers(0, projects, 2).tolist())
        )
        rows.extend([f"p{p},reports to,p{(p - 1) // 6}"] if p else [])
        rows.append(f"p{p},speaks,l{rng.integers(30)}")
    return rows[:triples]


def measure(command: str, path: Path, folder: Path) -> dict[str, Any]:
    """Run a command, and return seconds, GiB, exit code and the message after a failure."""
    words = [
        command,
        str(path),
        *(["--out", str(folder / "out")] if command == "augment" else []),
    ]
    began = time.perf_counter()
    with (folder / "said").open("w") as said:
        process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "inweights", *words, "--json"],
            stdout=subprocess.DEVNULL,
            stderr=said,
        )
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    subprocess.run(["rm", "-rf", str(folder / "out")], check=True)  # noqa: S603, S607
    found: dict[str, Any] = {
        "seconds": round(time.perf_counter() - began, 1),
        "processor": round(used.ru_utime + used.ru_stime, 1),
        "GiB": round(used.ru_maxrss / 2**20, 2),
        "code": process.returncode,
    }
    if process.returncode:
        found["said"] = (folder / "said").read_text()[-300:]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="*")
    parser.add_argument("--triples", nargs="*", type=int, default=TRIPLES)
    parser.add_argument("--commands", nargs="*", default=list(STATED))
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    results: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        cases = {name: Path(name).resolve() for name in given.files}
        for n in given.triples if not cases else ():
            for made_up in (company, hubs):
                path = folder / f"{made_up.__name__} {n}.csv"
                path.write_text("\n".join(made_up(n)) + "\n", encoding="utf-8")
                cases[f"{made_up.__name__} {n:,}"] = path
        if not given.json:
            print(
                f"{'':20}{'command':10}{'seconds':>9}{'processor':>11}{'GiB':>7}{'within':>8}"
            )
        for name, path in cases.items():
            for command in given.commands:
                found = measure(command, path, folder)
                most = STATED[command]
                found["within"] = found["code"] == 0 and found["processor"] <= most[0]
                found["within"] &= found["GiB"] <= most[1]
                results[f"{name}: {command}"] = found
                if not given.json:
                    row = f"{name:20}{command:10}{found['seconds']:9.1f}{found['processor']:11.1f}"
                    print(
                        f"{row}{found['GiB']:7.2f}{'yes' if found['within'] else 'NO':>8}",
                        found.get("said", ""),
                        flush=True,
                    )
    if given.json:
        print(json.dumps({"environment": environment(), "cases": results}, indent=2))


if __name__ == "__main__":
    main()
