"""Compare Node2Vec's closed-form descent with autograd, plain NumPy, and single replicas.

The update is that of Geometric Memory, appendix F: full-batch gradient descent on the
mean loss of each node over its neighbours, softmax over all nodes, tied vectors of
width 100, cycle of 15. All are measured in turns in one process, in processor time on one
thread. Only the ratios are meaningful.

    python benchmarks/node2vec.py [--steps 10000] [--replicas 64] [--json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from inweights.runs import environment
from inweights.theory.geometric_memory.graph import adjacency
from inweights.theory.geometric_memory.node2vec import descend
from inweights.worlds import Graph

RATE, WIDTH = 0.01, 100


def autograd(start: np.ndarray, a: np.ndarray, steps: int) -> np.ndarray:
    """Run the obvious loop with autograd."""
    v = torch.tensor(start, requires_grad=True)
    walk = torch.tensor(a / a.sum(1, keepdims=True))
    optimizer = torch.optim.SGD([v], lr=RATE)
    for _ in range(steps):
        loss = -(walk * (v @ v.T).log_softmax(-1)).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return v.detach().numpy()


def bare(start: np.ndarray, a: np.ndarray, steps: int) -> np.ndarray:
    """Run the same updates in plain NumPy."""
    v, walk = start.copy(), a / a.sum(1, keepdims=True)
    for _ in range(steps):
        logits = v @ v.T
        logits -= logits.max(1, keepdims=True)
        np.exp(logits, out=logits)
        logits /= logits.sum(1, keepdims=True)
        half = walk - logits
        v += RATE * ((half + half.T) @ v)
    return v


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    """Return processor seconds, which depend less on other programs than wall time."""
    began = time.process_time()
    made = run()
    return time.process_time() - began, made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--replicas", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(1)
    a = adjacency(Graph(shape="cycle").build())
    rng = np.random.default_rng(0)
    starts = rng.normal(size=(given.replicas, len(a), WIDTH))
    # Fewer steps of the slow loop, whose time per step is compared.
    few = max(1, given.steps // 10)
    seconds: dict[str, list[float]] = {}
    with threadpool_limits(1):
        for _ in range(given.rounds):
            runs: dict[str, tuple[Callable[[], Any], float]] = {
                "autograd": (lambda: autograd(starts[0], a, few), few),
                "bare NumPy": (lambda: bare(starts[0], a, given.steps), given.steps),
                "one": (
                    lambda: descend(
                        starts[:1], a, rate=RATE, steps=given.steps
                    ).vectors[0],
                    given.steps,
                ),
                "together": (
                    lambda: descend(starts, a, rate=RATE, steps=few).vectors,
                    few * given.replicas,
                ),
            }
            for name, (run, updates) in runs.items():
                took, made = timed(run)
                seconds.setdefault(name, []).append(took / updates)
                if name == "bare NumPy":
                    expected = made
                if name == "one":
                    np.testing.assert_allclose(made, expected, atol=1e-6)
    each = {name: statistics.median(times) for name, times in seconds.items()}
    ratios = {
        "over autograd": each["autograd"] / each["one"],
        "over bare NumPy": each["bare NumPy"] / each["one"],
        f"of {given.replicas} replicas over one at a time": each["one"]
        / each["together"],
        f"of {given.replicas} replicas over autograd": each["autograd"]
        / each["together"],
    }
    if given.json:
        micro = {name: value * 1e6 for name, value in each.items()}
        made = {"environment": environment(), "microseconds": micro, "ratios": ratios}
        print(json.dumps(made))
        return
    for name, value in each.items():
        print(f"{name:12} {value * 1e6:8.1f} µs an update and run")
    for name, ratio in ratios.items():
        print(f"{ratio:6.1f} times {name}")


if __name__ == "__main__":
    main()
