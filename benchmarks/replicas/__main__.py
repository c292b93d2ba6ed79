"""Compare one tensor program of R runs with JAX, eager PyTorch, and the machine's limits.

All programs are measured in turns in this process, and only the ratios are meaningful: an
absolute time depends more on the machine than on the code. JAX (``pip install -e
".[bench]"``) starts from our parameters and has to reproduce our losses and gradients to
1e-5; if it is not installed, its columns are empty.

    python -m benchmarks.replicas [--replicas 64 24] [--case tiny] [--threads 1]
    [--profile]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
from typing import Any

import numpy as np
import torch
from benchmarks.replicas.cases import CASES, Case, Ours, gpt
from benchmarks.replicas.eager import eager_step
from benchmarks.replicas.machine import (
    Products,
    activations,
    bytes_moved,
    dispatched,
    least_seconds,
    operations_of_products,
    peaks,
    seconds,
)

from inweights.runs import environment
from inweights.training.steps.machine import keep_memory

COLUMNS = (
    "ours ms",
    "JAX ms",
    "eager ms",
    "ours / JAX",
    "eager / ours",
    "share of roofline",
    "share of batched roofline",
)
RATES = ("batched products, GFLOP/s", "one large product, GFLOP/s")
COUNTS = ("kernels", "dispatched", "KiB a replica", "memory ratio")


def peer_of(case: Case, ours: Ours) -> Any:
    """Return JAX's step after comparing its results with ours; None without JAX."""
    try:
        from benchmarks.replicas.jax_peer import Peer
    except ImportError:
        return None
    peer = Peer(case, ours)
    mine, theirs = ours.gradients(), peer.gradients()
    size = max(float(np.abs(one).max()) for one in theirs.values())
    apart = max(
        float(np.abs(mine[name].numpy() - one).max()) for name, one in theirs.items()
    )
    losses = float(np.abs(ours.step().numpy() / np.asarray(peer.step()) - 1).max())
    named = dict(ours.model.named_parameters())
    # AdamW changes parameters without a gradient, such as the bias of keys, by the
    # sign of rounding errors.
    moved = max(
        float(np.abs(np.where(np.abs(one) > 1e-3 * size, after, 0)).max())
        for name, one in theirs.items()
        for after in [named[name].detach().numpy() - np.asarray(peer.parameters[name])]
    )
    if apart > 1e-5 * size or losses > 1e-5 or moved > 1e-5:
        raise SystemExit(
            f"{case.name}: JAX's gradients differ by {apart / size:.0e} of the largest, its losses "
            f"by {losses:.0e}, its parameters after a step by {moved:.0e}"
        )
    return peer


def measured(case: Case, replicas: int, rounds: int) -> dict[str, Any]:
    ours = Ours(case, replicas)
    kept = activations(ours)
    peer, eager = peer_of(case, ours), eager_step(case)
    for _ in range(8):
        ours.step()
    steps = {"ours": ours.step, "JAX": peer.step if peer else None, "eager": eager}
    times: dict[str, list[float]] = {name: [] for name, step in steps.items() if step}
    kind = str(case.optimizer.kind)
    products = Products(ours)
    operations = operations_of_products(ours)
    moved = bytes_moved(ours, kind)
    shares, batched_shares, rates = [], [], []
    for _ in range(rounds):
        for name, step in steps.items():
            if step:
                times[name].append(seconds(step) / (1 if name == "eager" else replicas))
        # The machine's rates depend on other work, so they are measured in turns as well.
        peak = peaks()
        shares.append(least_seconds(ours, kind, peak) / times["ours"][-1])
        batched = products.seconds()
        batched_shares.append((batched + moved / peak[1]) / times["ours"][-1])
        rates.append(operations / batched)
    state = 4 * ours.flat.values.nbytes  # parameters, gradients, two moments
    arena = getattr(getattr(ours.losses, "_kernels", None), "bytes", 0)
    row: dict[str, Any] = {"case": case.name, "replicas": replicas}
    row |= {f"{name} ms": 1e3 * statistics.median(each) for name, each in times.items()}
    for name, top, bottom in (
        ("ours / JAX", "ours", "JAX"),
        ("eager / ours", "eager", "ours"),
    ):
        if top in times and bottom in times:
            pairs = zip(times[top], times[bottom], strict=True)
            row[name] = statistics.median(a / b for a, b in pairs)
    return row | {
        "share of roofline": statistics.median(shares),
        "share of batched roofline": statistics.median(batched_shares),
        "batched products, GFLOP/s": statistics.median(rates) / 1e9,
        "one large product, GFLOP/s": peak[0] / 1e9,
        "kernels": getattr(ours.losses, "kernels", 0),
        "dispatched": dispatched(ours),
        "KiB a replica": (state + arena) / replicas / 1024,
        "memory ratio": (state + arena) / (state + kept),
    }


def operations(layers: int) -> dict[str, Any]:
    """Count the operations of a step of a small GPT."""
    ours = Ours(gpt(f"{layers}-layer GPT", layers, 32, 16, 8), 24)
    for _ in range(8):
        ours.step()
    kernels = getattr(ours.losses, "kernels", 0)
    return {"layers": layers, "kernels": kernels, "dispatched": dispatched(ours)}


def profile(case: Case, replicas: int, most: int = 12) -> str:
    """Print the operations that take most of a step's time."""
    ours = Ours(case, replicas)
    for _ in range(20):
        ours.step()
    with torch.profiler.profile() as seen:
        for _ in range(30):
            ours.step()
    return str(seen.key_averages().table(sort_by="self_cpu_time_total", row_limit=most))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--replicas", type=int, nargs="+", default=[64, 24])
    parser.add_argument(
        "--case", default="", help="part of the name of the only ones to measure"
    )
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--profile", action="store_true", help="print operations by time instead"
    )
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if given.threads == 1:  # read when JAX is loaded; for more threads, JAX chooses
        os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])
    torch.set_num_threads(given.threads)
    torch.set_flush_denormal(True)
    keep_memory()  # for all
    rows = []
    for case in (case for case in CASES if given.case in case.name):
        for replicas in given.replicas:
            if given.profile:
                print(f"{case.name}, R = {replicas}\n{profile(case, replicas)}")
                continue
            rows.append(measured(case, replicas, given.rounds))
            if not given.json:
                said = [
                    f"{n} {rows[-1][n]:.4g}"
                    for n in (*COLUMNS, *RATES, *COUNTS)
                    if n in rows[-1]
                ]
                print(f"{case.name:9} R = {replicas:2}  {', '.join(said)}", flush=True)
    if given.json:
        about = {
            "environment": environment(),
            "threads": given.threads,
            "peaks": peaks(),
        }
        counted = [operations(layers) for layers in (1, 2, 4)]
        print(json.dumps({**about, "operations": counted, "cases": rows}, indent=2))


if __name__ == "__main__":
    main()
