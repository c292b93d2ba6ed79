"""A training step at 10³, 10⁴ and 10⁵ tokens: milliseconds and memory, beside plain PyTorch.

Emb-MLP of width 64 on a two-hop world, 256 facts a step, AdamW; beside it an embedding
bag and a linear layer as anyone would write them, on batches of the same size. Each
case runs in a process of its own, on one thread; ``MB`` is the peak while it trains
less what the process held before the model was built. Linux only: the peak is reset
through ``/proc/self/clear_refs``.

    python benchmarks/tokens.py [--json]
    python benchmarks/tokens.py --one ours:1000   # one case, as its process runs it
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

import inweights as iw
from inweights.models import EmbMLPConfig
from inweights.runs import environment
from inweights.worlds import TwoHop

TOKENS, WIDTH, BATCH, STEPS = (1_000, 10_000, 100_000), 64, 256, 16


def ours(tokens: int, stamp: Callable[[object], None]) -> int:
    """Train a model of this library; returns its number of tokens."""
    world = TwoHop(n=tokens // 3).build()
    with stamped(stamp):
        model = EmbMLPConfig(width=WIDTH).build(
            vocabulary=len(world.vocabulary), seeds=[0]
        )
        phase = iw.Phase(steps=STEPS, batch=BATCH)
        iw.train(
            model, world, iw.Curriculum(phases=(phase,)), seeds=[0], progress=stamp
        )
    return len(world.vocabulary)


def plain(tokens: int, stamp: Callable[[object], None]) -> int:
    """Train the same model as anyone would write it."""
    with stamped(stamp):
        table, head = (
            nn.EmbeddingBag(tokens, WIDTH, mode="sum"),
            nn.Linear(WIDTH, tokens, False),
        )
        optimizer = torch.optim.AdamW(
            [*table.parameters(), *head.parameters()], lr=1e-3
        )
        for step in range(STEPS):
            prompts, answers = (
                torch.randint(tokens, (BATCH, 2)),
                torch.randint(tokens, (BATCH,)),
            )
            loss = F.cross_entropy(head(table(prompts)), answers)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            stamp(step)
    return tokens


@contextmanager
def stamped(stamp: Callable[[object], None]) -> Iterator[None]:
    """Reset the peak of memory, and note when the work begins."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    stamp("start")
    yield


def status(name: str) -> int:
    """A number of this process in bytes, such as ``VmRSS``."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(name))


def measured(who: str, tokens: int) -> dict[str, Any]:
    """One case in this process."""
    torch.set_num_threads(1)
    train = {"ours": ours, "plain": plain}[who]
    train(60, lambda _: None)  # what is loaded at first use is no part of it
    stamps: list[float] = []
    before: list[int] = []

    def stamp(what: object) -> None:
        stamps.append(time.process_time())
        if what == "start":
            before.append(status("VmRSS"))

    count = train(tokens, stamp)
    steps = [later - earlier for earlier, later in pairwise(stamps)]
    mb = (status("VmHWM") - before[0]) / 1e6
    return {
        "who": who,
        "tokens": count,
        "ms": 1000 * median(steps[STEPS // 2 :]),
        "MB": mb,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument(
        "--one", help="ours or plain, and the number of tokens: ours:1000"
    )
    given = parser.parse_args()
    if given.one:
        who, tokens = given.one.split(":")
        print(json.dumps(measured(who, int(tokens))))
        return
    rows = []
    for tokens in TOKENS:
        for who in ("plain", "ours"):
            words = [sys.executable, __file__, "--one", f"{who}:{tokens}"]
            rows.append(json.loads(subprocess.check_output(words)))  # noqa: S603
            if not given.json:
                print(
                    "{who:6} {tokens:7,} tokens {ms:9.1f} ms a step {MB:8.0f} MB".format(
                        **rows[-1]
                    )
                )
    if given.json:
        print(json.dumps({"environment": environment(), "steps": rows}, indent=2))


if __name__ == "__main__":
    main()
