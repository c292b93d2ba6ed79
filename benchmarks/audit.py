"""How long an audit and an augmentation take, and how much memory, for sets of a given size.

Made-up sets with hubs (a few entities in very many facts, Zipf 1.3), the hard case: 100,000
triples have 47 million chains. The smaller set has the shape of the training part of UMLS (135
entities, 46 relations, 5,216 triples); give the file itself to measure that instead. Every case
runs in a process of its own, so that the peak is its own. The forecast is left on, as it is by
default.

    python benchmarks/audit.py [FILE …] [--json]
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from inweights.runs import environment

#: Triples, entities and relations of each set.
CASES = {"UMLS's shape": (5_216, 135, 46), "100,000 triples": (100_000, 20_000, 40)}


def made_up(path: Path, triples: int, entities: int, relations: int, seed: int = 0) -> None:
    """Write distinct triples with hubs."""
    rng = np.random.default_rng(seed)
    found: dict[tuple[int, int, int], None] = {}
    while len(found) < triples:
        ends = rng.zipf(1.3, size=(triples, 2)) % entities
        kinds = rng.integers(0, relations, triples)
        # Where hubs are used up, any two ends will do.
        ends[::2] = rng.integers(0, entities, ends[::2].shape)
        found.update(
            ((s, r, o), None)
            for (s, o), r in zip(ends.tolist(), kinds.tolist(), strict=True)
            if s != o
        )
    rows = [f"e{s}\tr{r}\te{o}" for s, r, o in list(found)[:triples]]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def measure(path: str) -> dict[str, float]:
    """Times in seconds; peak of the process in GiB, with all that is imported."""
    from inweights.audit import audit, augment
    from inweights.worlds import read_knowledge

    marks = [time.perf_counter()]
    facts = read_knowledge(path)
    marks.append(time.perf_counter())
    made = audit(facts)
    marks.append(time.perf_counter())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    augment(facts)
    marks.append(time.perf_counter())
    names = ("read", "audit", "augment")
    times = dict(zip(names, np.diff(marks).round(3).tolist(), strict=True))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {
        "triples": len(facts), "chains": int(made.compositions["chains"].sum()), **times,
        "read_and_audit": round(times["read"] + times["audit"], 3), "peak_GiB": round(peak, 3),
        "peak_with_augment_GiB": round(after, 3),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="*")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(given.one)))
        return
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        cases = {name: Path(name) for name in given.files}
        for number, (name, shape) in enumerate(CASES.items() if not cases else ()):
            cases[name] = Path(folder) / f"{number}.tsv"
            made_up(cases[name], *shape)
        for name, path in cases.items():
            command = [sys.executable, __file__, "--one", str(path)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
            results[name] = json.loads(done.stdout)
    if given.json:
        print(json.dumps({"environment": environment(), "cases": results}, indent=2))
        return
    for name, found in results.items():
        print(name)
        for key, value in found.items():
            print(f"  {key:24}{value:>14,}")


if __name__ == "__main__":
    main()
