"""Compare R one-layer transformers in one tensor program with single runs.

Layer-wise full-batch gradient descent on the joint analogies of Feature Resemblance.
Three programs are measured in turns in this process, and only the ratios are meaningful:
a plain model, one run at a time; ``OneLayer``, one run at a time, which shows the effect
of look-ups and a folded MLP; and ``OneLayer`` with all runs as one program. A run is a
step of each stage.

    python benchmarks/one_layer.py [--replicas 64] [--json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import inweights as iw
from inweights.models import OneLayerConfig, pack
from inweights.runs import environment
from inweights.training.steps.flat_parameters import FlatParameters
from inweights.training.steps.machine import keep_memory
from inweights.training.steps.optimizers.fused import build_optimizer
from inweights.worlds import Analogy, World

# name, tuples, width, width of the MLP, most replicas; the first is appendix N.1
CASES = (
    ("paper", 100, 512, 10, 16),
    ("small", 20, 128, 10, 64),
    ("tiny", 8, 64, 10, 64),
)
RATE, KAPPA, SIGMA = 0.47, 300.0, 1e-3


class EagerOneLayer(nn.Module):
    """A plain implementation of equations 1 to 3."""

    def __init__(self, vocabulary: int, labels: int, width: int, hidden: int) -> None:
        super().__init__()
        self.tokens: Tensor
        self.register_buffer("tokens", torch.eye(vocabulary, width))
        self.key_query = nn.Parameter(SIGMA * torch.randn(width, width))
        self.value = nn.Parameter(SIGMA * torch.randn(width, width))
        self.mlp = nn.Parameter(SIGMA * torch.randn(labels, hidden, width))

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.tokens[tokens]  # [B, T, D]
        scores = (x @ (x[:, -1] @ self.key_query.T).unsqueeze(-1)).softmax(1)
        h = ((x @ self.value.T) * scores).sum(1)
        return KAPPA * (h @ self.mlp.flatten(0, 1).T).unflatten(
            1, self.mlp.shape[:2]
        ).mean(2)


def told(world: World) -> tuple[Tensor, Tensor]:
    """Return prompts ``[B, 2]`` and the column of each answer among the labels, ``[B]``."""
    prompts, answers = world.facts.matrix(np.arange(len(world.facts)))
    columns = np.searchsorted(world.outputs, answers[:, 0])
    return torch.from_numpy(prompts), torch.from_numpy(columns)


def eager_step(world: World, width: int, hidden: int) -> Callable[[], None]:
    """Make one step of both stages of one run."""
    model = EagerOneLayer(len(world.vocabulary), len(world.outputs), width, hidden)
    stages = [[model.key_query, model.value], [model.mlp]]
    optimizers = [torch.optim.SGD(moving, lr=RATE) for moving in stages]
    tokens, labels = told(world)

    def step() -> None:
        for chosen, optimizer in zip(stages, optimizers, strict=True):
            for parameter in model.parameters():
                parameter.requires_grad_(any(parameter is p for p in chosen))
            loss = F.cross_entropy(model(tokens), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    return step


def replica_step(
    world: World, width: int, hidden: int, replicas: int
) -> tuple[Callable[[], None], int]:
    """Return a step of both stages of all runs, and the bytes of one replica's parameters."""
    config = OneLayerConfig(width=width, hidden=hidden, mlp="folded")
    model = config.build(
        vocabulary=len(world.vocabulary),
        seeds=range(replicas),
        candidates=world.outputs.tolist(),
    )
    flat = FlatParameters(model)
    settings = [iw.Optimizer(kind="sgd", rate=RATE, weight_decay=0.0)] * replicas
    stages = [flat.moving((group,)) for group in ("attention.*", "mlp.*")]
    optimizers = [build_optimizer(flat, settings, moving) for moving in stages]
    tokens, labels = told(world)
    inputs, answers = pack([tokens]), labels.repeat(replicas)
    last = inputs.last

    def step() -> None:
        for group, moving, optimizer in zip(
            ("attention.*", "mlp.*"), stages, optimizers, strict=True
        ):
            flat.moving((group,))
            logits = model(inputs, at=last).flatten(0, 1)
            loss = F.cross_entropy(logits, answers, reduction="sum") / len(labels)
            flat.backward(loss, moving)
            optimizer.step()

    return step, flat.values[0].numel() * flat.values.element_size()


def seconds(step: Callable[[], None], at_least: float) -> float:
    """Return the seconds of one call, over as many calls as take ``at_least`` seconds."""
    started, calls = time.perf_counter(), 0
    while (spent := time.perf_counter() - started) < at_least:
        step()
        calls += 1
    return spent / calls


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--replicas", type=int, default=64, help="at most; fewer where it says so"
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.4, help="of one measurement")
    parser.add_argument(
        "--threads", type=int, default=0, help="of all; 0 leaves it to torch"
    )
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if given.threads:
        torch.set_num_threads(given.threads)
    torch.set_flush_denormal(True)
    keep_memory()  # for all
    results = []
    for name, n, width, hidden, most in CASES:
        world, replicas = Analogy(n=n).build(), min(most, given.replicas)
        eager = eager_step(world, width, hidden)
        one, _ = replica_step(world, width, hidden, 1)
        many, size = replica_step(world, width, hidden, replicas)
        for step in (eager, one, many):
            seconds(step, given.seconds / 2)
        rounds = [
            (
                seconds(eager, given.seconds),
                seconds(one, given.seconds),
                seconds(many, given.seconds) / replicas,
            )
            for _ in range(given.rounds)
        ]
        ratios = [a / c for a, _, c in rounds]
        results.append(
            {
                "case": name,
                "tuples": n,
                "width": width,
                "replicas": replicas,
                "eager ms": 1e3 * statistics.median(a for a, _, _ in rounds),
                "OneLayer alone ms": 1e3 * statistics.median(b for _, b, _ in rounds),
                "replicas ms a run": 1e3 * statistics.median(c for _, _, c in rounds),
                "ratio": statistics.median(ratios),
                "lowest": min(ratios),
                "highest": max(ratios),
                "ratio to OneLayer alone": statistics.median(
                    b / c for _, b, c in rounds
                ),
                "KiB a replica": size / 1024,
            }
        )
    if given.json:
        about = {"environment": environment(), "threads": torch.get_num_threads()}
        print(json.dumps({**about, "cases": results}, indent=2))
        return
    print(
        f"{torch.get_num_threads()} threads, {given.rounds} rounds, both stages a step"
    )
    for r in results:
        print(
            f"{r['case']:6} {r['tuples']:3} tuples, width {r['width']:3}, {r['replicas']:2} "
            f"replicas: eager {r['eager ms']:.3f} ms, OneLayer alone {r['OneLayer alone ms']:.3f}, "
            f"replicas {r['replicas ms a run']:.4f} ms a run-step: {r['ratio']:.1f} times "
            f"({r['lowest']:.1f} to {r['highest']:.1f}), {r['ratio to OneLayer alone']:.1f} times "
            f"OneLayer alone; {r['KiB a replica']:.0f} KiB a replica"
        )


if __name__ == "__main__":
    main()
