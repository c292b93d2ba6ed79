"""What advice, ``--decay`` and ``--intervals`` of a prediction take at thousands of facts.

Each row is one prediction of a generated company (``large_programs.py``) in a process
of its own on one thread: processor seconds, the largest memory, the largest certified
gap of its parts, and how many parts there are. ``mended`` is the number of questions
that advice mends, ``advice gap`` the gap of the program with the proposed facts, and
``proved`` the share of the questions with an interval that decides them.

    OMP_NUM_THREADS=1 python -m benchmarks.predictions [--people 500 2000 5000]
        [--kinds decay advice intervals] [--seconds 600] [--into FILE] [--json]
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.large_programs import company

from inweights import predict
from inweights.runs import environment

PEOPLE = (500, 2_000, 5_000)
SECONDS = 600.0
DECAY = 3e-4
#: Number of questions whose intervals are requested.
ASKED = 100
KINDS = ("decay", "advice", "intervals")


def measure(kind: str, people: int, seconds: float) -> dict[str, Any]:
    """Return the row of one prediction."""
    world = company(people)
    began = time.process_time()
    made = predict(
        world,
        decay=DECAY if kind == "decay" else None,
        advise=kind == "advice",
        seconds=seconds / 2 if kind == "intervals" else seconds,
    )
    row: dict[str, Any] = {"kind": kind, "facts": len(world.facts)}
    if kind == "intervals":
        asked = range(min(ASKED, len(world.queries)))
        made = made.with_intervals(queries=asked, seconds=seconds / 2)
        proved = made.queries["proved"].drop_nulls()
        row["proved"] = float((proved.to_numpy() != "open").mean())
    if kind == "advice":
        row["mended"] = len(made.advice.mended) if made.advice else 0
        if made.advice:
            row["advice gap"] = float(made.advice.gap)
    row |= {
        "processor": round(time.process_time() - began, 2),
        "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "gap": float(max(part.gap for part in made.parts)),
        "parts": len(made.parts),
    }
    return row


def apart(kind: str, people: int, seconds: float) -> dict[str, Any]:
    """Measure in a new process, so that the largest memory is that of this row."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(measure, kind, people, seconds).result()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--people", nargs="*", type=int, default=PEOPLE)
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=KINDS)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--into", type=Path, help="stored file that rows are put into")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    kept: dict[tuple[str, int], dict[str, Any]] = {}
    if given.into and given.into.exists():
        for row in json.loads(given.into.read_text(encoding="utf-8"))["rows"]:
            kept[row["kind"], row["facts"]] = row
    about = environment()
    commit = about["repositories"]["inweights"]["commit"][:8]
    for kind in given.kinds:
        for people in given.people:
            row = {"commit": commit, **apart(kind, people, given.seconds)}
            print(row, file=sys.stderr, flush=True)
            kept[row["kind"], row["facts"]] = row
            rows = [kept[key] for key in sorted(kept)]
            text = json.dumps({"environment": about, "rows": rows}, indent=2) + "\n"
            if given.into:
                given.into.write_text(text, encoding="utf-8")
    if given.json:
        print(text, end="")


if __name__ == "__main__":
    main()
