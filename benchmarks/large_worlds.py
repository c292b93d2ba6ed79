"""Probes of large worlds: memory beyond model and result, and time against the matrix products.

Every case runs in a process of its own, which first calls the probe on a small world,
so that imports and caches do not count. Memory is the peak of the process during the
call, less what it held before and less the table that comes back. For probes of logits,
``products`` is the time of the model's own passes over the same statements, in the same
blocks; graphs have no such peer, and their rows say seconds only. Seconds are the
processor's, on one thread. Linux only: the peak is reset through
``/proc/self/clear_refs``.

    python benchmarks/large_worlds.py [--sizes 3000 10000 33000] [--nodes 1024 4900]
    [--probes accuracy ...] [--out FILE]   # rows of other probes and sizes stay
    python benchmarks/large_worlds.py --one accuracy:33000:1   # one case, as its process runs it
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch

from inweights import probes
from inweights.models import (
    EmbMLPConfig,
    GPTConfig,
    Node2VecConfig,
    OneLayerConfig,
    TinyNNConfig,
)
from inweights.probes.depth import label_cosines
from inweights.runs import environment
from inweights.training.batches.worlds import Part
from inweights.training.scoring import answer_blocks
from inweights.worlds import Analogy, Graph, PathStar, TwoHop, World
from inweights.worlds.labels import Labels

WIDTH, LIMIT = 64, 600
#: By name: probe, options, architecture, and the kind of world that it is called on.
CASES: dict[str, tuple[Any, dict[str, Any], Any, str]] = {
    "accuracy": (probes.accuracy, {}, EmbMLPConfig(width=WIDTH), "two-hop"),
    "margins": (probes.margins, {}, EmbMLPConfig(width=WIDTH), "two-hop"),
    "logit_lens": (probes.logit_lens, {}, GPTConfig(layers=2, width=WIDTH), "two-hop"),
    "attention": (probes.attention, {}, GPTConfig(layers=2, width=WIDTH), "two-hop"),
    "alignment": (probes.alignment, {}, GPTConfig(layers=2, width=WIDTH), "two-hop"),
    "shared_memory": (probes.shared_memory, {}, EmbMLPConfig(width=WIDTH), "two-hop"),
    "templates": (
        probes.templates,
        {"rows": "first_hop"},
        EmbMLPConfig(width=WIDTH),
        "two-hop",
    ),
    "stepwise": (probes.stepwise, {}, EmbMLPConfig(width=WIDTH), "two-hop"),
    "activation_patching": (
        probes.activation_patching,
        {"layers": ["block.0"]},
        GPTConfig(layers=2, width=WIDTH),
        "two-hop",
    ),
    "bridge_projection": (
        probes.bridge_projection,
        {"method": "pca"},
        GPTConfig(layers=2, width=WIDTH),
        "two-hop",
    ),
    "resemblance": (
        probes.resemblance,
        {},
        OneLayerConfig(width=WIDTH, embedding="gaussian"),
        "analogy",
    ),
    "label_cosines": (label_cosines, {}, EmbMLPConfig(width=WIDTH), "labels"),
    "path_accuracy": (
        probes.path_accuracy,
        {},
        GPTConfig(layers=2, width=WIDTH),
        "path-star",
    ),
    "arm_cosines": (
        probes.arm_cosines,
        {},
        GPTConfig(layers=2, width=WIDTH),
        "path-star",
    ),
    "navigation": (
        probes.navigation,
        {},
        GPTConfig(layers=2, width=WIDTH),
        "path-star",
    ),
    "graph_recall": (probes.graph_recall, {}, Node2VecConfig(width=WIDTH), "grid"),
    "hop_correlation": (
        probes.hop_correlation,
        {},
        Node2VecConfig(width=WIDTH),
        "grid",
    ),
    "named_geometry": (probes.named_geometry, {}, Node2VecConfig(width=WIDTH), "grid"),
    "spectral_energy": (
        probes.spectral_energy,
        {},
        Node2VecConfig(width=WIDTH),
        "grid",
    ),
    "zigzag": (probes.zigzag, {}, Node2VecConfig(width=WIDTH), "grid"),
    "geometric_margin": (
        probes.geometric_margin,
        {},
        TinyNNConfig(width=WIDTH),
        "grid",
    ),
    "edge_margin": (probes.edge_margin, {}, TinyNNConfig(width=WIDTH), "grid"),
    "arrangement": (probes.arrangement, {}, Node2VecConfig(width=WIDTH), "grid"),
    "agreement": (probes.agreement, {}, Node2VecConfig(width=WIDTH), "grid"),
    "snapshot": (probes.snapshot, {}, Node2VecConfig(width=WIDTH), "grid"),
    "cosines": (probes.cosines, {}, Node2VecConfig(width=WIDTH), "grid"),
}
#: Probes whose time is held against the model's own passes over all statements.
LOGITS: dict[str, tuple[Part, ...]] = {
    "accuracy": ("facts", "queries"),
    "margins": ("queries",),
}


def make(kind: str, size: int) -> World:
    """A world of about so many entities (two-hop and the others) or nodes (grid)."""
    if kind == "grid":
        side = max(3, math.isqrt(size))
        return Graph(shape="grid", rows=side, columns=side).build()
    if kind == "analogy":
        return Analogy(n=size).build()
    if kind == "labels":
        return Labels(labels=max(2, size // 2)).build()
    if kind == "path-star":
        return PathStar(arms=max(6, size // 4), nodes=5).build()
    return TwoHop(n=size).build()


def status(name: str) -> int:
    """A number of this process in bytes, such as ``VmRSS``."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(name))


def measured(name: str, size: int, replicas: int = 1) -> dict[str, Any]:
    """One case in this process."""
    torch.set_num_threads(1)
    probe, options, config, kind = CASES[name]
    seeds = range(max(replicas, 2) if name == "agreement" else replicas)
    for count in (9, size):
        world = make(kind, count)
        model = config.build(vocabulary=len(world.vocabulary), seeds=seeds)
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        before, start = status("VmRSS"), time.process_time()
        table = probe(model, world, **options)
        seconds, peak = time.process_time() - start, status("VmHWM")
    row = {
        "probe": name,
        "size": size,
        "tokens": len(world.vocabulary),
        "seconds": seconds,
    }
    result = table.estimated_size()
    row |= {"mb": max(0, peak - before - result) / 1e6, "result_mb": result / 1e6}
    parts = LOGITS.get(name, ())
    if parts:
        start = time.process_time()
        for part in parts:
            for _ in answer_blocks(model, world, part):
                pass
        products = time.process_time() - start
        row |= {"products": products, "ratio": seconds / products}
    return row


def case(name: str, size: int, replicas: int) -> dict[str, Any]:
    """One case in a process of its own; what went wrong, where it did."""
    words = [sys.executable, __file__, "--one", f"{name}:{size}:{replicas}"]
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    try:
        done = subprocess.run(  # noqa: S603
            words,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
            env=one_thread,
        )
    except subprocess.TimeoutExpired:
        return {"probe": name, "size": size, "error": f"over {LIMIT} s"}
    if done.returncode:
        said = (done.stderr.strip() or f"ended with {done.returncode}").splitlines()[-1]
        return {"probe": name, "size": size, "error": said}
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def shown(row: dict[str, Any]) -> str:
    """A line of the table."""
    lead = f"{row['probe']:<20}{row['size']:>8}"
    if "error" in row:
        return f"{lead}  {row['error'][:110]}"
    ratio = f"{row['ratio']:>8.2f}" if "ratio" in row else " " * 8
    memory = f"{row['mb']:>9.0f}{row['result_mb']:>9.0f}"
    return f"{lead}{row['tokens']:>9}{row['seconds']:>9.2f}{ratio}{memory}"


def commit_of(about: dict[str, Any]) -> str:
    """Return the first digits of the commit of an environment."""
    return str(about["repositories"]["inweights"]["commit"])[:8]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=[3000, 10_000, 33_000])
    parser.add_argument("--nodes", type=int, nargs="*", default=[1024, 4900, 10_000])
    parser.add_argument("--probes", nargs="*", default=list(CASES), choices=list(CASES))
    parser.add_argument("--replicas", type=int, default=1)
    parser.add_argument("--one", help="NAME:SIZE:REPLICAS")
    parser.add_argument("--out", type=Path, help="file for the table as JSON")
    given = parser.parse_args()
    if given.one:
        name, size, replicas = given.one.split(":")
        print(json.dumps(measured(name, int(size), int(replicas))))
        return
    print(
        f"{'probe':<20}{'size':>8}{'tokens':>9}{'s':>9}{'ratio':>8}{'MB':>9}{'result':>9}"
    )
    about = environment()
    rows: dict[tuple[str, int], dict[str, Any]] = {}
    if given.out and given.out.exists():
        stored = json.loads(given.out.read_text(encoding="utf-8"))
        before = commit_of(stored["environment"])
        for row in stored["rows"]:
            rows[row["probe"], row["size"]] = {"commit": before, **row}
    for name in given.probes:
        for size in given.nodes if CASES[name][3] == "grid" else given.sizes:
            row = case(name, size, given.replicas)
            rows[name, size] = {"commit": commit_of(about), **row}
            print(shown(row), flush=True)
            if given.out:
                made = {"rows": [*rows.values()], "environment": about}
                text = json.dumps(made, indent=1)
                given.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
