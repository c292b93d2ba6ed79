"""How much faster is one tensor program of R runs than R runs one at a time?

Both are measured side by side in this process, in turns, and the ratio is what counts: an absolute
time says more about the machine than about the code. The one-at-a-time model is the same GPT,
written as ordinary eager PyTorch with ``nn.Linear`` and ``torch.optim.AdamW``.

    python benchmarks/replicas.py [--replicas 64] [--json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import inweights as iw
from inweights.models import pack
from inweights.runs import environment
from inweights.training.steps.flat_parameters import FlatParameters
from inweights.training.steps.machine import keep_memory
from inweights.training.steps.optimizers import build_optimizer

# name, tokens of the vocabulary, width, layers, sequences of two tokens in a batch
CASES = (("tiny GPT", 16, 32, 1, 8), ("wide GPT", 16, 128, 1, 8), ("fig2 GPT", 61, 64, 8, 50))
LENGTH = 2


class EagerBlock(nn.Module):
    """A pre-norm block as anyone would write it."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, 1, width).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class EagerGPT(nn.Module):
    """A GPT-2 as anyone would write it, tied head."""

    def __init__(self, vocabulary: int, width: int, layers: int) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(8, width)
        self.blocks = nn.Sequential(*(EagerBlock(width) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        return self.norm(self.blocks(x))[:, -1] @ self.tokens.weight.T


def eager_step(vocabulary: int, width: int, layers: int, batch: int) -> Callable[[], None]:
    """One step of one run."""
    model = EagerGPT(vocabulary, width, layers)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    tokens, answers = (
        torch.randint(vocabulary, (batch, LENGTH)),
        torch.randint(vocabulary, (batch,)),
    )

    def step() -> None:
        loss = F.cross_entropy(model(tokens), answers)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def replica_step(
    vocabulary: int, width: int, layers: int, batch: int, replicas: int
) -> tuple[Callable[[], None], int]:
    """One step of all runs, and the bytes that one replica's training state takes."""
    config = iw.GPTConfig(layers=layers, width=width, heads=1)
    model = config.build(vocabulary=vocabulary, seeds=range(replicas))
    flat = FlatParameters(model)
    moving = flat.moving(("*",))
    optimizer = build_optimizer(flat, [iw.Optimizer()] * replicas, moving)
    inputs = pack([torch.randint(vocabulary, (batch, LENGTH))])
    answers = torch.randint(vocabulary, (batch,)).repeat(replicas)
    last = inputs.last

    def step() -> None:
        logits = model(inputs, at=last).flatten(0, 1)
        flat.backward(F.cross_entropy(logits, answers, reduction="sum") / batch, moving)
        optimizer.step()

    return step, 4 * flat.values[0].numel() * flat.values.element_size()


def seconds(step: Callable[[], None], at_least: float = 0.4) -> float:
    """Seconds of one call, over as many calls as take ``at_least`` seconds."""
    started, calls = time.perf_counter(), 0
    while (spent := time.perf_counter() - started) < at_least:
        step()
        calls += 1
    return spent / calls


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicas", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=0, help="of both; 0 leaves it to torch")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if given.threads:
        torch.set_num_threads(given.threads)
    torch.set_flush_denormal(True)
    keep_memory()  # for both
    results = []
    for name, vocabulary, width, layers, batch in CASES:
        one = eager_step(vocabulary, width, layers, batch)
        many, state = replica_step(vocabulary, width, layers, batch, given.replicas)
        for step in (one, many):
            seconds(step, 0.2)
        pairs = [(seconds(one), seconds(many) / given.replicas) for _ in range(given.rounds)]
        ratios = [a / b for a, b in pairs]
        results.append(
            {
                "case": name,
                "width": width,
                "layers": layers,
                "tokens a step": batch * LENGTH,
                "replicas": given.replicas,
                "eager ms a step": 1e3 * statistics.median(a for a, _ in pairs),
                "replicas ms a run-step": 1e3 * statistics.median(b for _, b in pairs),
                "ratio": statistics.median(ratios),
                "lowest": min(ratios),
                "highest": max(ratios),
                "KiB a replica": state / 1024,
            }
        )
    if given.json:
        about = {"environment": environment(), "threads": torch.get_num_threads()}
        print(json.dumps({**about, "cases": results}, indent=2))
        return
    print(f"{torch.get_num_threads()} threads, {given.replicas} replicas, {given.rounds} rounds")
    for r in results:
        print(
            f"{r['case']:10} width {r['width']:4} layers {r['layers']}  "
            f"eager {r['eager ms a step']:.3f} ms, replicas {r['replicas ms a run-step']:.4f} ms a "
            f"run-step: {r['ratio']:.1f} times ({r['lowest']:.1f} to {r['highest']:.1f}); "
            f"{r['KiB a replica']:.0f} KiB a replica"
        )


if __name__ == "__main__":
    main()
