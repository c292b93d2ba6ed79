"""Measure tokens per second on a path-star, compared with a padded loop with all logits.

One step trains a batch of edges and paths of a path-star graph in the proportion of the
data (Geometric Memory, appendix B). Four programs are measured in turns in one process,
and only the ratios are meaningful: the obvious loop (every example padded to the longest,
logits at every position, standard modules); the library's step (packed, logits only at
labels, in chunks); the same with pooled facts of equal input; and the same in bf16.
Padding is not counted as tokens; pooled steps are credited with the tokens of the facts
that they train on, not with those they read. The share of the peak is the rate of
floating-point operations in a step's matrix products, relative to large matrix products
measured in between.

    python benchmarks/pathstar.py [--layers 2] [--width 128] [--arms 1000] [--batch 512]
    [--json]
    python benchmarks/pathstar.py --layers 12 --width 384 --arms 5000   # the paper's
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from inweights.models import GPT, GPTConfig
from inweights.runs import environment
from inweights.training import Optimizer, Phase
from inweights.training.batches.batch import Batch
from inweights.training.batches.plans import Batches
from inweights.training.steps.flat_parameters import FlatParameters
from inweights.training.steps.losses.loss import Loss
from inweights.training.steps.machine import keep_memory
from inweights.training.steps.optimizers.fused import build_optimizer
from inweights.worlds import PathStar, World

HEADS, NODES, PAUSES, CONTEXT = 8, 5, 5, 16
RATE, DECAY = 5e-4, 0.01
EDGES = ("edge", "reverse_edge")


class EagerBlock(nn.Module):
    """A pre-norm block of standard modules."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: Tensor) -> Tensor:
        parts = (
            self.qkv(self.norm1(x)).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        )
        mixed = F.scaled_dot_product_attention(
            parts[0], parts[1], parts[2], is_causal=True
        )
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


class EagerGPT(nn.Module):
    """A plain GPT-2 with tied embeddings."""

    def __init__(self, vocabulary: int, layers: int, width: int) -> None:
        super().__init__()
        self.tokens, self.positions = (
            nn.Embedding(vocabulary, width),
            nn.Embedding(CONTEXT, width),
        )
        nn.init.normal_(self.tokens.weight, std=0.02)
        self.blocks = nn.Sequential(*(EagerBlock(width) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
        return self.norm(self.blocks(x)) @ self.tokens.weight.T


@dataclass(frozen=True)
class Case:
    """A program for a step, and its amount of work.

    Attributes:
        step: Function that makes the step.
        tokens: Number of tokens of its facts, without padding.
        flops: Floating-point operations of its matrix products.
        bf16: Whether these products are in bfloat16.
    """

    step: Callable[[], None]
    tokens: int
    flops: float
    bf16: bool = False


def padded(batch: Batch) -> tuple[Tensor, Tensor]:
    """Return the examples as one matrix, with labels, which are -100 where there are none."""
    tokens = batch.inputs.tokens.reshape(-1)
    marks = torch.full_like(tokens, -100)
    marks[batch.at] = batch.labels[0]
    longest = max(t for _, t in batch.inputs.shapes)
    inputs: list[Tensor] = []
    labels: list[Tensor] = []
    start = 0
    for b, t in batch.inputs.shapes:
        for part, rows, fill in ((tokens, inputs, 0), (marks, labels, -100)):
            block = part[start : start + b * t].view(b, t)
            rows.append(F.pad(block, (0, longest - t), value=fill))
        start += b * t
    return torch.cat(inputs), torch.cat(labels)


def products(layers: int, width: int, classes: int, tokens: int, logits: int) -> float:
    """Return the operations of both passes: two per multiply-add, three products per matrix."""
    return 6.0 * (12 * layers * width**2 * tokens + width * classes * logits)


def ours(world: World, given: argparse.Namespace, phase: Phase, tokens: int) -> Case:
    """Return the library's step, as in the training loop."""
    config = GPTConfig(
        layers=given.layers, width=given.width, heads=HEADS, context=CONTEXT
    )
    model = config.build(vocabulary=len(world.vocabulary), seeds=[0])
    flat, batches, loss = (
        FlatParameters(model),
        Batches(model, (world,), phase, [0], 0),
        Loss(model, phase.precision),
    )
    moving = flat.moving(("*",))
    optimizer = build_optimizer(flat, [phase.optimizer], moving)
    count = 0

    def step() -> None:
        nonlocal count
        flat.backward(loss(batches.at(count)).sum(), moving)
        optimizer.step()
        count += 1

    first = batches.at(0)
    size = (given.layers, given.width, len(world.vocabulary))
    flops = products(*size, first.inputs.size, len(first.at))
    return Case(step, tokens or first.inputs.size, flops, phase.precision == "bf16")


def eager(world: World, given: argparse.Namespace, phase: Phase) -> Case:
    """Return a step of the padded loop on the same examples."""
    model = EagerGPT(len(world.vocabulary), given.layers, given.width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=DECAY)
    batches, count = Batches(model_for(world), (world,), phase, [0], 0), 0

    def step() -> None:
        nonlocal count
        inputs, labels = padded(batches.at(count))
        optimizer.zero_grad()
        F.cross_entropy(model(inputs).flatten(0, 1), labels.flatten()).backward()
        optimizer.step()
        count += 1

    inputs, _ = padded(batches.at(0))
    size = (given.layers, given.width, len(world.vocabulary))
    return Case(
        step, batches.at(0).inputs.size, products(*size, inputs.numel(), inputs.numel())
    )


def model_for(world: World) -> GPT:
    """Return a model of the smallest size, for making batches without training."""
    return GPTConfig(layers=1, width=2).build(
        vocabulary=len(world.vocabulary), seeds=[0]
    )


def seconds(step: Callable[[], object], at_least: float) -> float:
    """Return the seconds of one call, over as many calls as take ``at_least`` seconds."""
    started, calls = time.perf_counter(), 0
    while (spent := time.perf_counter() - started) < at_least:
        step()
        calls += 1
    return spent / calls


def peak(dtype: torch.dtype, at_least: float) -> float:
    """Return the operations per second of large matrix products."""
    a, b = torch.randn(2, 1536, 1536).to(dtype)
    return 2.0 * 1536**3 / seconds(lambda: torch.mm(a, b), at_least)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--arms", type=int, default=1000)
    parser.add_argument("--batch", type=int, default=512, help="facts a step")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--seconds", type=float, default=0.5, help="of one measurement, at least"
    )
    parser.add_argument(
        "--threads", type=int, default=0, help="of all; 0 leaves it to torch"
    )
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if given.threads:
        torch.set_num_threads(given.threads)
    torch.set_flush_denormal(True)
    keep_memory()  # for all
    world = PathStar(
        arms=given.arms, nodes=NODES, pauses=PAUSES, task_tokens=True
    ).build()
    settings: dict[str, Any] = {
        "loss": "answer",
        "optimizer": Optimizer(rate=RATE, weight_decay=DECAY),
    }
    plain = Phase(batch=given.batch, **settings)
    cases = {"padded loop": eager(world, given, plain)}
    cases["ours"] = ours(world, given, plain, 0)
    # A pooled step reads different inputs, since an edge's input has two labels on average,
    # but trains on the same number of facts. Only the numbers of tokens are compared.
    whole = Batches(
        model_for(world), (world,), Phase(pooled=True, **settings), [0], 0
    ).at(0)
    share = len(world.facts) / sum(b for b, _ in whole.inputs.shapes)
    pooled = Phase(batch=round(given.batch / share), pooled=True, **settings)
    real = cases["ours"].tokens
    cases["ours, pooled"] = ours(world, given, pooled, real)
    half = {"precision": "bf16", **settings}
    cases["ours, bf16"] = ours(world, given, Phase(batch=given.batch, **half), 0)
    cases["ours, pooled, bf16"] = ours(
        world, given, Phase(batch=pooled.batch, pooled=True, **half), real
    )
    for case in cases.values():
        case.step()
    rates: dict[str, list[float]] = {name: [] for name in cases}
    shares: dict[str, list[float]] = {name: [] for name in cases}
    peaks: dict[bool, list[float]] = {True: [], False: []}
    for turn in range(given.rounds):
        if not given.json:
            print(f"round {turn + 1} of {given.rounds}", end="\r", flush=True)
        best = {
            b: peak(torch.bfloat16 if b else torch.float32, given.seconds)
            for b in peaks
        }
        for kind, value in best.items():
            peaks[kind].append(value)
        for name, case in cases.items():
            spent = seconds(case.step, given.seconds)
            rates[name].append(case.tokens / spent)
            shares[name].append(case.flops / spent / best[case.bf16])
    base = rates["padded loop"]
    results = {
        name: {
            "real tokens a second": statistics.median(rate),
            "ratio": statistics.median(a / b for a, b in zip(rate, base, strict=True)),
            "lowest ratio": min(a / b for a, b in zip(rate, base, strict=True)),
            "share of the matmul peak": statistics.median(shares[name]),
            "real tokens a step": cases[name].tokens,
            "GFLOP a step": cases[name].flops / 1e9,
        }
        for name, rate in rates.items()
    }
    top = {
        ("bf16" if b else "fp32"): statistics.median(p) / 1e9 for b, p in peaks.items()
    }
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    if given.json:
        about = {
            "threads": torch.get_num_threads(),
            "peak GFLOP/s": top,
            "peak GiB": memory,
        }
        print(
            json.dumps(
                {
                    **vars(given),
                    **about,
                    "cases": results,
                    "environment": environment(),
                },
                indent=2,
            )
        )
        return
    print(
        f"{given.layers} layers × {given.width}, ({given.arms}, {NODES}), {given.batch} facts a "
        f"step, {torch.get_num_threads()} threads, {given.rounds} rounds; matmul peak "
        f"{top['fp32']:.0f} GFLOP/s in fp32, {top['bf16']:.0f} in bf16; {memory:.1f} GiB at most"
    )
    for name, r in results.items():
        print(
            f"{name:18} {r['real tokens a second']:8.0f} real tokens a second, {r['ratio']:5.1f} "
            f"times ({r['lowest ratio']:.1f} at least), {r['share of the matmul peak']:.0%} of peak"
        )


if __name__ == "__main__":
    main()
