"""Training compared with a plain GPT-2 and training loop, without code of the library.

Shapes: ``B`` sequences, ``T`` positions, ``D`` width, ``H`` heads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from tests.rounding import assert_same, of_training
from torch import Tensor, nn

from inweights.models import GPT, EmbMLPConfig, GPTConfig
from inweights.training import Curriculum, Optimizer, Phase, Schedule, train
from inweights.training.batches.plans import Batches
from inweights.worlds import TwoHop

WORLD = TwoHop(n=4, complexity=2).build(seed=0)
V = len(WORLD.vocabulary)
STEPS = 10


class PlainBlock(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        length, width = x.shape[1:]
        per_head = []
        for q, k, v in zip(
            *(p.chunk(self.heads, -1) for p in self._split(x)), strict=True
        ):
            scores = q @ k.transpose(1, 2) / math.sqrt(width / self.heads)
            future = torch.ones(length, length, dtype=torch.bool).triu(1)
            per_head.append(scores.masked_fill(future, -math.inf).softmax(-1) @ v)
        x = x + self.out(torch.cat(per_head, -1))
        hidden = self.up(self.norm2(x))
        gelu = 0.5 * hidden * (1 + torch.erf(hidden / math.sqrt(2)))
        return x + self.down(gelu)

    def _split(self, x: Tensor) -> Iterable[Tensor]:
        return self.qkv(self.norm1(x)).chunk(3, -1)


class PlainGPT(nn.Module):
    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.tokens = nn.Embedding(V, config.width)
        self.positions = nn.Embedding(config.context, config.width)
        self.blocks = nn.ModuleList(
            PlainBlock(config.width, config.heads) for _ in range(config.layers)
        )
        self.norm = nn.LayerNorm(config.width)
        self.head = None if config.tied else nn.Linear(config.width, V, bias=False)

    def forward(self, ids: Tensor, positions: Tensor) -> Tensor:
        x = self.tokens(ids) + self.positions(positions)
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        return x @ self.tokens.weight.T if self.head is None else self.head(x)

    @torch.no_grad()
    def copy_from(self, ours: GPT) -> PlainGPT:
        for name, mine in self.named_parameters():
            theirs = ours.get_parameter(name)[0]
            # nn.Linear stores its matrix as [outputs, inputs], and our layers as [inputs,
            # outputs].
            linear = isinstance(self.get_submodule(name.rpartition(".")[0]), nn.Linear)
            mine.copy_(theirs.T if linear and mine.dim() == 2 else theirs)
        return self


def by_length(length: int) -> tuple[Tensor, ...]:
    """Return the prompts of each length ``[B, T]`` and their answers ``[B, 1]``."""
    prompts = [WORLD.facts.prompt(i) for i in range(len(WORLD.facts))]
    own = [i for i, prompt in enumerate(prompts) if len(prompt) == length]
    answers = [WORLD.facts.answer(i) for i in own]
    return tuple(
        torch.from_numpy(np.stack(rows))
        for rows in ([prompts[i] for i in own], answers)
    )


LENGTHS = {len(WORLD.facts.prompt(i)) for i in range(len(WORLD.facts))}
BY_LENGTH = [by_length(length) for length in sorted(LENGTHS)]


def plain_factor(schedule: Schedule, step: int, steps: int) -> float:
    if step < schedule.warmup:
        return (step + 1) / (schedule.warmup + 1)
    if schedule.kind == "constant":
        return 1.0
    if schedule.kind == "linear":
        fall = [schedule.hold * steps, steps]
        return float(np.interp(step, fall, [1.0, schedule.final]))
    angle = math.pi * (step - schedule.warmup) / (steps - schedule.warmup)
    return schedule.final + (1 - schedule.final) * (1 + math.cos(angle)) / 2


def groups_of(plain: PlainGPT, decayed: str) -> list[dict[str, Any]]:
    """Return parameters with and without decay: by default only matrices decay."""
    vectors: dict[str, Any] = {
        "params": [p for p in plain.parameters() if p.dim() == 1]
    }
    matrices = [p for p in plain.parameters() if p.dim() > 1]
    return [{"params": matrices}, vectors | ZERO[decayed]]


ZERO: dict[str, dict[str, float]] = {"matrices": {"weight_decay": 0.0}, "all": {}}
OPTIMIZERS: dict[
    str, tuple[Optimizer, Callable[[list[dict[str, Any]]], torch.optim.Optimizer]]
]
OPTIMIZERS = {
    "adamw": (
        Optimizer(rate=3e-3, weight_decay=0.5),
        lambda p: torch.optim.AdamW(p, lr=3e-3, weight_decay=0.5),
    ),
    "adamw, all": (
        Optimizer(rate=3e-3, weight_decay=0.5, decayed="all"),
        lambda p: torch.optim.AdamW(p, lr=3e-3, weight_decay=0.5),
    ),
    "adam": (
        Optimizer(kind="adam", rate=3e-3, weight_decay=0.1, betas=(0.8, 0.9)),
        lambda p: torch.optim.Adam(p, lr=3e-3, weight_decay=0.1, betas=(0.8, 0.9)),
    ),
    "sgd": (
        Optimizer(kind="sgd", rate=0.1, weight_decay=0.05, momentum=0.9),
        lambda p: torch.optim.SGD(p, lr=0.1, weight_decay=0.05, momentum=0.9),
    ),
}
SCHEDULES = {
    "constant": Schedule(),
    "cosine": Schedule(kind="cosine", warmup=3, final=0.1),
    "linear": Schedule(kind="linear", warmup=2, hold=0.6, final=0.2),
}


def positions_of(batches: Batches, step: int) -> list[Tensor]:
    """Return the positions of each fact's tokens at a step."""
    batch = batches.at(step)
    line = batch.inputs.positions.reshape(-1)
    lengths = [t for b, t in batch.inputs.shapes for _ in range(b)]
    return list(line.split(lengths))


@pytest.mark.fast_cases(8)
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_loss_curve_and_end_equal_a_plain_loop(
    optimizer: str, schedule: str, tied: bool
) -> None:
    config = GPTConfig(layers=2, width=16, heads=2, tied=tied)
    settings, make = OPTIMIZERS[optimizer]
    phase = Phase(steps=STEPS, optimizer=settings, schedule=SCHEDULES[schedule])
    ours = config.build(vocabulary=V, seeds=[5])
    plain = PlainGPT(config).copy_from(ours)
    descent = make(groups_of(plain, settings.decayed))
    peak = descent.param_groups[0]["lr"]
    expected = []
    for step in range(STEPS):
        loss = torch.zeros(())
        for prompts, answers in BY_LENGTH:
            logits = plain(prompts, torch.arange(prompts.shape[1]))[:, -1]
            loss = loss - logits.log_softmax(-1).gather(1, answers).sum() / len(
                WORLD.facts
            )
        descent.zero_grad()
        loss.backward()
        for group in descent.param_groups:
            group["lr"] = peak * plain_factor(SCHEDULES[schedule], step, STEPS)
        descent.step()
        expected.append(loss.item())
    result = train(ours, WORLD, Curriculum(phases=(phase,)), seeds=[5], every=1)
    near = of_training(ours, len(WORLD.facts), len(expected))
    assert result.losses["loss"].to_list() == pytest.approx(expected, rel=near)
    assert expected[-1] < expected[0] - 0.05  # the parameters changed
    end = PlainGPT(config).copy_from(ours)
    for (name, one), other in zip(
        end.named_parameters(), plain.parameters(), strict=True
    ):
        mine, theirs = one.data, other.data
        if name.endswith("qkv.bias"):
            # A bias of the keys does not affect the softmax. Its gradient is a rounding
            # error, which Adam amplifies to full steps in a meaningless direction.
            mine, theirs = (
                torch.cat([x[: len(x) // 3], x[-len(x) // 3 :]]) for x in (mine, theirs)
            )
        torch.testing.assert_close(
            mine, theirs, atol=1e-4, rtol=1e-3, msg=partial("{}: {}".format, name)
        )


def test_random_offsets_reach_the_position_table() -> None:
    """Every step's loss equals the plain model's at the positions drawn for the batch."""
    config = GPTConfig(layers=1, width=16, context=5)
    phase = Phase(steps=4, random_offset=True)
    ours = config.build(vocabulary=V, seeds=[5])
    plain = PlainGPT(config).copy_from(ours)
    batches = Batches(ours, (WORLD,), phase, [5], 0)
    order = sorted(range(len(WORLD.facts)), key=lambda i: len(WORLD.facts.prompt(i)))
    descent = torch.optim.AdamW(plain.parameters(), lr=1e-3, weight_decay=0.01)
    expected = []
    for step in range(4):
        loss = torch.zeros(())
        for i, positions in zip(order, positions_of(batches, step), strict=True):
            logits = plain(torch.tensor(WORLD.facts.prompt(i))[None], positions)[0, -1]
            loss = loss - logits.log_softmax(-1)[WORLD.facts.answer(i)[0]] / len(order)
        descent.zero_grad()
        loss.backward()
        descent.step()
        expected.append(loss.item())
    result = train(ours, WORLD, Curriculum(phases=(phase,)), seeds=[5], every=1)
    near = of_training(ours, len(WORLD.facts), len(expected))
    assert result.losses["loss"].to_list() == pytest.approx(expected, rel=near)


def test_emb_mlp_equals_its_equation() -> None:
    """Emb-MLP is the sum of embeddings times a projection (Identity Bridge, Definition 1)."""
    outputs = WORLD.outputs.tolist()
    ours = EmbMLPConfig(width=8).build(vocabulary=V, seeds=[2], candidates=outputs)
    tokens = ours.tokens.weight[0].detach().clone().requires_grad_()
    projection = ours.projection.weight[0].detach().clone().requires_grad_()
    expected = []
    for _ in range(STEPS):
        loss = torch.zeros(())
        for i in range(len(WORLD.facts)):
            logits = tokens[WORLD.facts.prompt(i)].sum(0) @ projection
            column = outputs.index(int(WORLD.facts.answer(i)[0]))
            loss = loss - logits.log_softmax(-1)[column] / len(WORLD.facts)
        found = torch.autograd.grad(loss, [tokens, projection])
        with torch.no_grad():
            tokens -= 2.0 * found[0]
            projection -= 2.0 * found[1]
        expected.append(loss.item())
    descent = Optimizer(kind="sgd", rate=2.0, weight_decay=0.0)
    plan = Curriculum(phases=(Phase(steps=STEPS, optimizer=descent),))
    result = train(ours, WORLD, plan, seeds=[2], every=1)
    near = of_training(ours, len(WORLD.facts), len(expected))
    assert result.losses["loss"].to_list() == pytest.approx(expected, rel=near)
    assert_same(ours.tokens.weight[0], tokens, near)
    assert_same(ours.projection.weight[0], projection, near)
