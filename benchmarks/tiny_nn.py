"""Compare runs of TinyNN together and alone, and measure its share of memory bandwidth.

At width 32, replicas share the overhead of a step. At width 512, a step streams the
weights, their gradient and AdamW's two moments through memory, so the bandwidth limits its
speed. The share of the bandwidth is printed, relative to a plain copy measured in turns.
A step moves at least ``BYTES`` per parameter: the weights for the forward and the backward
pass, the gradient written once, and AdamW's four reads and three writes, in single
precision. The three products of a step, with fifteen rows each, take about as long even at
the speed of large products, so the share of both together is also printed.

    python benchmarks/tiny_nn.py [--replicas 64] [--wide 32] [--json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F

from inweights.models import TinyNNConfig, pack
from inweights.runs import environment
from inweights.training import Optimizer
from inweights.training.steps.flat_parameters import FlatParameters
from inweights.training.steps.machine import flushed_denormals, keep_memory
from inweights.training.steps.optimizers.fused import build_optimizer

NODES = 15
BYTES = 4 * (2 + 1 + 7)


class Eager(nn.Module):
    """A plain TinyNN."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.tokens, self.middle = nn.Embedding(NODES, width), nn.Linear(width, width)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.middle(self.tokens(tokens)) @ self.tokens.weight.T


def ring() -> tuple[torch.Tensor, torch.Tensor]:
    """Return the edges of a cycle in both directions: sources and targets."""
    nodes = torch.arange(NODES)
    return nodes.repeat(2), torch.cat([(nodes + 1) % NODES, (nodes - 1) % NODES])


def eager_step(width: int) -> Callable[[], None]:
    model = Eager(width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.0)
    sources, targets = ring()

    def step() -> None:
        loss = F.cross_entropy(model(sources), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def replica_step(width: int, replicas: int) -> tuple[Callable[[], None], int]:
    """One step of all runs, and the parameters of one. As in a phase that is
    ``pooled``, a node is one sequence with a soft target, whose loss and gradient are
    those of its edges.
    """
    model = TinyNNConfig(width=width).build(vocabulary=NODES, seeds=range(replicas))
    flat = FlatParameters(model)
    moving = flat.moving(("*",))
    optimizer = build_optimizer(flat, [Optimizer(weight_decay=0.0)] * replicas, moving)
    sources, targets = ring()
    inputs = pack([torch.arange(NODES).unsqueeze(1)])
    share = torch.zeros(NODES, NODES).index_put(
        (sources, targets), torch.tensor(1 / len(sources))
    )

    def step() -> None:
        flat.backward(-(model(inputs).log_softmax(-1) * share).sum(), moving)
        optimizer.step()

    return step, flat.values.shape[1]


def copy_step(size: int) -> Callable[[], None]:
    """Return a plain copy of single-precision numbers, each read and written once."""
    source, target = torch.randn(size), torch.empty(size)

    def step() -> None:
        target.copy_(source)

    return step


def product_step(size: int = 1024) -> Callable[[], None]:
    """Return a large matrix product with ``2 size³`` floating-point operations."""
    left, right, out = (torch.randn(size, size) for _ in range(3))

    def step() -> None:
        torch.mm(left, right, out=out)

    return step


def seconds(step: Callable[[], None], at_least: float) -> float:
    """Return processor seconds of one call, over as many calls as take ``at_least`` seconds."""
    started, calls = time.process_time(), 0
    while (spent := time.process_time() - started) < at_least or calls < 3:
        step()
        calls += 1
    return spent / calls


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replicas", type=int, default=64, help="at width 32")
    parser.add_argument("--wide", type=int, default=32, help="replicas at width 512")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(1)
    keep_memory()
    one, (many, _) = eager_step(32), replica_step(32, given.replicas)
    wide, parameters = replica_step(512, given.wide)
    # As many bytes as the training state, so that both fit the same cache.
    numbers = given.wide * parameters * 2
    copy = copy_step(numbers)
    product = product_step()
    times: dict[str, list[float]] = {
        name: [] for name in ("eager", "together", "wide", "copy", "product")
    }
    with flushed_denormals():
        for step in (one, many, wide, copy, product):
            seconds(step, 0.1)
        for _ in range(given.rounds):
            times["eager"].append(seconds(one, 0.3))
            times["together"].append(seconds(many, 0.3) / given.replicas)
            times["wide"].append(seconds(wide, 0.5) / given.wide)
            times["copy"].append(seconds(copy, 0.3))
            times["product"].append(seconds(product, 0.3))
    each = {name: statistics.median(taken) for name, taken in times.items()}
    bandwidth = 8 * numbers / each["copy"]
    moved = BYTES * parameters / each["wide"]
    peak = 2 * 1024**3 / each["product"]
    # The forward product, and the gradients of inputs and of weights.
    least = BYTES * parameters / bandwidth + 3 * 2 * NODES * 512**2 / peak
    made = {
        "width 32, eager, µs a step": each["eager"] * 1e6,
        "width 32, together, µs a run-step": each["together"] * 1e6,
        "width 32, ratio": each["eager"] / each["together"],
        "width 512, ms a run-step": each["wide"] * 1e3,
        "width 512, GB/s": moved / 1e9,
        "copy, GB/s": bandwidth / 1e9,
        "width 512, share of the copy's bandwidth": moved / bandwidth,
        "large products, GFlop/s": peak / 1e9,
        "width 512, least time for moving and products, share": least / each["wide"],
    }
    if given.json:
        print(json.dumps({"environment": environment(), **made}))
        return
    for name, value in made.items():
        print(f"{value:8.3g}  {name}")


if __name__ == "__main__":
    main()
