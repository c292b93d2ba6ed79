"""What a wrapped module costs: against our GPT, and against modules one at a time.

Whole training steps (loss, gradient, AdamW) are measured side by side in this process,
in turns; the ratios count.

Each row also has the accuracy on the facts of ``TwoHop(n=10)`` after 200 steps, the
least of two seeds. Dropout is off. Without x-transformers (``pip install
x-transformers``) its rows are missing.

    python -m benchmarks.wrapped [--replicas 8 64] [--only llama gpt] [--json]
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import tempfile
import warnings
from collections.abc import Callable, Sequence
from typing import Any, cast

import torch
from benchmarks.replicas.eager import EagerGPT
from benchmarks.replicas.machine import seconds
from tests.models.own_modules import Encoder, Recurrent
from torch import nn
from torch.nn import functional as F
from transformers import (
    GPT2Config,
    GPTNeoXConfig,
    LlamaConfig,
    MambaConfig,
    Qwen2Config,
    RwkvConfig,
)

import inweights as iw
from inweights.models import pack
from inweights.models.outside.forms import logits_of
from inweights.runs import environment
from inweights.training.steps.flat_parameters import FlatParameters
from inweights.training.steps.machine import keep_memory
from inweights.training.steps.optimizers.fused import build_optimizer

TOKENS, BATCH, LENGTH, WIDTH = 61, 32, 2, 32
_SIZES: dict[str, Any] = {"hidden_size": WIDTH, "num_hidden_layers": 2}
_HEADS: dict[str, Any] = {**_SIZES, "intermediate_size": 64, "num_attention_heads": 2}
_DROPS: dict[str, Any] = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}


def lucid(vocabulary: int) -> nn.Module:
    """A transformer of x-transformers."""
    library = importlib.import_module("x_transformers")
    layers = library.Decoder(dim=WIDTH, depth=2, heads=2, attn_dim_head=16)
    made = library.TransformerWrapper(
        num_tokens=vocabulary, max_seq_len=8, attn_layers=layers
    )
    return cast("nn.Module", made)


MODELS: dict[str, Any] = {
    "llama": iw.wrap(LlamaConfig(**_HEADS, num_key_value_heads=2)),
    "qwen2": iw.wrap(Qwen2Config(**_HEADS, num_key_value_heads=2)),
    "gpt-neox": iw.wrap(GPTNeoXConfig(**_HEADS)),
    "rwkv": iw.wrap(
        RwkvConfig(**_SIZES, attention_hidden_size=WIDTH, context_length=8)
    ),
    "gpt-2": iw.wrap(
        GPT2Config(n_embd=WIDTH, n_layer=2, n_head=2, n_positions=8, **_DROPS)
    ),
    "mamba": iw.wrap(MambaConfig(**_SIZES, state_size=4)),
    "encoder": iw.wrap(Encoder, width=WIDTH),
    "lstm": iw.wrap(Recurrent, width=WIDTH),
    "x-transformers": iw.wrap(lucid),
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
    tokens, answers = (
        torch.randint(TOKENS, (BATCH, LENGTH)),
        torch.randint(TOKENS, (BATCH,)),
    )

    def step() -> None:
        logits = logits_of(module(tokens))
        logits = logits[:, -1] if logits.dim() == 3 else logits
        optimizer.zero_grad()
        F.cross_entropy(logits, answers).backward()
        optimizer.step()

    return step


def ratio(
    one: Callable[[], None], other: Callable[[], None], rounds: int
) -> Sequence[float]:
    """How many times as long the one takes as the other."""
    for step in (one, other):
        seconds(step, 0.1)
    return sorted(seconds(one, 0.2) / seconds(other, 0.2) for _ in range(rounds))


def accuracy(config: Any) -> float:
    """Accuracy on facts after 200 steps, the least of two seeds."""
    phase = iw.Phase(steps=200, optimizer=iw.Optimizer(rate=1e-2))
    learner = iw.Curriculum(phases=(phase,))
    with tempfile.TemporaryDirectory() as runs:
        table = iw.sweep(
            iw.TwoHop(n=10), config, learner, seeds=2, runs=runs, jobs=1, progress=False
        )
    return float(min(table.filter(part="facts")["accuracy"].to_list()))


def measured(name: str, replicas: int, rounds: int) -> dict[str, Any]:
    """How much faster one program is, and for our GPT in eager PyTorch how much slower than it."""
    many = program(MODELS[name], replicas)
    faster = [replicas * r for r in ratio(single(MODELS[name]), many, rounds)]
    row = {"model": name, "replicas": replicas, "faster": statistics.median(faster)}
    row |= {"least": faster[0], "most": faster[-1]}
    if name == "gpt":
        native = iw.GPTConfig(layers=2, width=WIDTH, heads=1)
        row["by native"] = statistics.median(
            ratio(many, program(native, replicas), rounds)
        )
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--replicas", type=int, nargs="+", default=[8, 64])
    parser.add_argument("--only", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # that an LSTM is called replica by replica
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    keep_memory()
    rows = []
    for name in given.only:
        if name == "x-transformers" and not importlib.util.find_spec("x_transformers"):
            continue
        known = accuracy(MODELS[name])
        for replicas in given.replicas:
            row = measured(name, replicas, given.rounds) | {"accuracy": known}
            rows.append(row)
            if not given.json:
                line = f"{row['faster']:5.1f} times as fast as one at a time"
                line += (
                    f" ({row['least']:.1f} to {row['most']:.1f}), accuracy {known:.2f}"
                )
                if "by native" in row:
                    line += f"; {row['by native']:.2f} times the native GPT's time"
                print(f"{replicas:3} replicas  {name:14} {line}", flush=True)
    if given.json:
        print(json.dumps({"environment": environment(), "models": rows}, indent=2))


if __name__ == "__main__":
    main()
