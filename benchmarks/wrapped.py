"""What a wrapped module costs: against our GPT, and against modules one at a time.

Whole training steps (loss, gradient, AdamW) are measured side by side in this process, in turns;
the ratios count.

    python -m benchmarks.wrapped [--replicas 8 64] [--only llama gpt]
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Sequence
from typing import Any

import torch
from benchmarks.replicas.eager import EagerGPT
from benchmarks.replicas.machine import seconds
from torch import nn
from torch.nn import functional as F
from transformers import GPTNeoXConfig, LlamaConfig, Qwen2Config, RwkvConfig

import inweights as iw
from inweights.models import pack
from inweights.models.outside.modules import logits_of
from inweights.training.steps.flat_parameters import FlatParameters
from inweights.training.steps.machine import keep_memory
from inweights.training.steps.optimizers import build_optimizer

TOKENS, BATCH, LENGTH, WIDTH = 61, 32, 2, 32
_SIZES: dict[str, Any] = {"hidden_size": WIDTH, "num_hidden_layers": 2}
_HEADS: dict[str, Any] = {**_SIZES, "intermediate_size": 64, "num_attention_heads": 2}
MODELS: dict[str, Any] = {
    "llama": iw.wrap(LlamaConfig(**_HEADS, num_key_value_heads=2)),
    "qwen2": iw.wrap(Qwen2Config(**_HEADS, num_key_value_heads=2)),
    "gpt-neox": iw.wrap(GPTNeoXConfig(**_HEADS)),
    "rwkv": iw.wrap(RwkvConfig(**_SIZES, attention_hidden_size=WIDTH, context_length=8)),
    "gpt": iw.wrap(EagerGPT, width=WIDTH, layers=2),
}


def program(config: Any, replicas: int) -> Callable[[], None]:
    """One step of all runs as one program."""
    model = config.build(vocabulary=TOKENS, seeds=replicas)
    flat = FlatParameters(model)
    moving = flat.moving(("*",))
    optimizer = build_optimizer(flat, [iw.Optimizer()] * replicas, moving)
    inputs = pack([torch.randint(TOKENS, (BATCH, LENGTH))])
    answers = torch.randint(TOKENS, (BATCH,)).repeat(replicas)

    def step() -> None:
        logits = model(inputs, at=inputs.last).flatten(0, 1)
        flat.backward(F.cross_entropy(logits, answers, reduction="sum") / BATCH, moving)
        optimizer.step()

    return step


def single(config: Any) -> Callable[[], None]:
    """One step of one run: the plain module."""
    module: nn.Module = config.make(TOKENS).train()
    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-3)
    tokens, answers = torch.randint(TOKENS, (BATCH, LENGTH)), torch.randint(TOKENS, (BATCH,))

    def step() -> None:
        logits = logits_of(module(tokens))
        logits = logits[:, -1] if logits.dim() == 3 else logits
        optimizer.zero_grad()
        F.cross_entropy(logits, answers).backward()
        optimizer.step()

    return step


def ratio(one: Callable[[], None], other: Callable[[], None], rounds: int) -> Sequence[float]:
    """How many times as long the one takes as the other."""
    for step in (one, other):
        seconds(step, 0.1)
    return sorted(seconds(one, 0.2) / seconds(other, 0.2) for _ in range(rounds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicas", type=int, nargs="+", default=[8, 64])
    parser.add_argument("--only", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    keep_memory()
    print(f"1 thread, width {WIDTH}, 2 layers, {BATCH} sequences of {LENGTH} tokens")
    native = iw.GPTConfig(layers=2, width=WIDTH, heads=1)
    for replicas in given.replicas:
        for name in given.only:
            many = program(MODELS[name], replicas)
            faster = [replicas * r for r in ratio(single(MODELS[name]), many, given.rounds)]
            line = f"{statistics.median(faster):5.1f} times as fast as one at a time"
            line += f" ({faster[0]:.1f} to {faster[-1]:.1f})"
            if name == "gpt":
                slower = ratio(many, program(native, replicas), given.rounds)
                line += f"; {statistics.median(slower):.2f} times the native GPT's time"
                line += f" ({slower[0]:.2f} to {slower[-1]:.2f})"
            print(f"{replicas:3} replicas  {name:9} {line}", flush=True)


if __name__ == "__main__":
    main()
