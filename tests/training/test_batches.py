"""Batches by role, pooled facts, loss in chunks and precision, each compared with plain code."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from tests.rounding import assert_same, of_forward, of_training
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from inweights.errors import ConfigError, DataError
from inweights.models import EmbMLPConfig, GPTConfig, MambaConfig, Model
from inweights.training import Curriculum, Optimizer, Phase, Schedule, train
from inweights.training.batches.batch import Batch
from inweights.training.batches.plans import Batches
from inweights.training.steps.losses import loss as losses
from inweights.training.steps.losses.cross_entropy import CHUNK_LOGITS
from inweights.training.steps.losses.loss import Loss
from inweights.worlds import Statements, TwoHop, Vocabulary, World

ARMS, NODES = 4, 3


def rows_of(batch: Batch) -> torch.Tensor:
    """Return the position of every label of pooled prompts."""
    assert batch.rows is not None
    return batch.rows


def star(seed: int, arms: int = ARMS, nodes: int = NODES) -> World:
    """Return a path-star with edges in both directions and the path to every leaf."""
    count = arms * nodes + 1
    names = np.random.default_rng(seed).permutation(count)
    lines = np.concatenate(
        [np.zeros((arms, 1), int), 1 + np.arange(arms * nodes).reshape(arms, -1)], 1
    )
    lines = names[lines]
    ends = np.stack([lines[:, :-1].ravel(), lines[:, 1:].ravel()], 1)
    mark = np.full((len(lines), 1), count)
    parts = {
        "edge": (ends[:, :1], ends[:, 1:]),
        "reverse_edge": (ends[:, 1:], ends[:, :1]),
        "path": (np.concatenate([mark, lines[:, -1:]], 1), lines),
    }
    words = Vocabulary({"node": [f"n{i}" for i in range(count)], "task": ["[PATH]"]})
    return World(
        "star", words, Statements.build(parts), Statements.build({}), seed=seed
    )


WORLD = star(0)
V = len(WORLD.vocabulary)
EDGES = {"edge": 1.0, "reverse_edge": 1.0}
GPT = GPTConfig(layers=2, width=16, heads=2)


def build(seeds=(0,), config=GPT, **changes) -> Model:
    return config.build(vocabulary=V, seeds=seeds, **changes)


def trained(
    phase: Phase, worlds=WORLD, seeds=(0,), config=GPT
) -> tuple[Model, list[float]]:
    model = build(seeds, config)
    result = train(model, worlds, Curriculum(phases=(phase,)), seeds=seeds, every=1)
    return model, result.losses["loss"].to_list()


def assert_alike(one: Model, other: Model, near: float) -> None:
    for a, b in zip(one.parameters(), other.parameters(), strict=True):
        assert_same(a, b, near)


# Gradient descent, so that no step divides by small gradients.
DESCENT = Optimizer(kind="sgd", rate=0.5, momentum=0.5, weight_decay=0.0)


@pytest.mark.parametrize("loss", ["last", "answer", "every", (0,)])
@pytest.mark.parametrize("worlds", ["shared", "own"])
def test_pooled_facts_have_the_same_loss_and_gradient(loss, worlds: str) -> None:
    weights = {"edge": 2.0, "reverse_edge": 1.0, "path": 0.5}
    phase = Phase(steps=6, roles=weights, loss=loss, optimizer=DESCENT)
    data = WORLD if worlds == "shared" else [star(1), star(2)]
    pooled = Phase(steps=6, roles=weights, loss=loss, optimizer=DESCENT, pooled=True)
    plain, expected = trained(phase, data, (0, 1))
    model, found = trained(pooled, data, (0, 1))
    near = of_training(model, len(WORLD.facts), steps=6)
    assert found == pytest.approx(expected, rel=near)
    assert expected[-1] < expected[0]
    assert_alike(model, plain, near)


def test_pooling_reads_every_input_once() -> None:
    whole = Batches(build(), (WORLD,), Phase(roles=EDGES), [0], 0).at(0)
    pooled = Batches(build(), (WORLD,), Phase(roles=EDGES, pooled=True), [0], 0).at(0)
    assert whole.inputs.size == 2 * ARMS * NODES == pooled.labels.shape[1]
    assert pooled.inputs.size == len(pooled.at) == ARMS * NODES + 1
    assert sorted(pooled.inputs.tokens.tolist()) == list(range(ARMS * NODES + 1))


def test_minibatches_visit_every_fact_once_an_epoch() -> None:
    world = TwoHop(n=4, complexity=2).build(0)
    model = GPT.build(vocabulary=len(world.vocabulary), seeds=[3, 4])
    phase = Phase(batch=6)
    batches = Batches(model, (world,), phase, [3, 4], 0)
    hops = 2 * 8 + 8  # 16 hops of two tokens, 8 identities
    seen: dict[int, list[tuple[int, ...]]] = {0: [], 1: []}
    for step in range(4):  # 4 of 16 hops and 2 of 8 identities per step
        batch = batches.at(step)
        for r in (0, 1):
            tokens, start = batch.inputs.tokens[r].tolist(), 0
            for b, t in batch.inputs.shapes:
                seen[r] += [
                    tuple(tokens[start + k * t : start + (k + 1) * t]) for k in range(b)
                ]
                start += b * t
    facts = sorted(tuple(world.facts.prompt(i).tolist()) for i in range(hops))
    assert sorted(seen[0]) == sorted(seen[1]) == facts
    assert seen[0] != seen[1]


@pytest.mark.parametrize("seeds", [(3,), (3, 4)])
def test_batches_by_role(seeds: tuple[int, ...]) -> None:
    """A step has all edges and two paths; an epoch has every path once, in each replica."""
    phase = Phase(batch={"path": 2}, pooled=True, loss="answer")
    batches = Batches(build(seeds), (WORLD,), phase, seeds, 0)
    paths: list[Counter[Any]] = [Counter() for _ in seeds]
    for step in range(ARMS // 2):
        batch = batches.at(step)
        assert batch.inputs.shapes == ((ARMS * NODES + 1, 1), (2, 2 + NODES))
        for r, line in enumerate(batch.inputs.tokens):
            edges, rest = line[: ARMS * NODES + 1], line[ARMS * NODES + 1 :]
            assert sorted(edges.tolist()) == list(range(ARMS * NODES + 1))
            paths[r].update(map(tuple, rest.view(2, -1).tolist()))
        # Every fact has the same weight; an edge has one label, and a path one per node.
        assert batch.weights.count_nonzero(-1).tolist() == [
            2 * ARMS * NODES + 2 * (NODES + 1)
        ] * len(seeds)
        assert batch.weights.sum(-1).tolist() == pytest.approx([1.0] * len(seeds))
    for seen in paths:
        assert sorted(seen.values()) == [1] * ARMS
    if len(seeds) == 2:
        assert (
            batches.at(0).inputs.tokens[0].tolist()
            != batches.at(0).inputs.tokens[1].tolist()
        )


def test_sampled_sources_bring_all_their_labels() -> None:
    phase = Phase(roles=EDGES, batch={"edge+reverse_edge": 5}, pooled=True)
    own = [star(1), star(2)]
    batches = Batches(build((3, 4)), own, phase, (3, 4), 0)
    for step in range(4):
        batch = batches.at(step)
        assert batch.inputs.tokens.shape == (2, 5)
        for r, world in enumerate(own):
            expected: Counter[Any] = Counter()
            for source in batch.inputs.tokens[r].tolist():
                same = [
                    i for i in range(24) if world.facts.prompt(i).tolist() == [source]
                ]
                expected.update((source, int(world.facts.answer(i)[0])) for i in same)
            counted = batch.weights[r] > 0
            sources = batch.inputs.tokens[r][batch.at[rows_of(batch)[r]]]
            pairs = zip(
                sources[counted].tolist(),
                batch.labels[r][counted].tolist(),
                strict=True,
            )
            assert Counter(pairs) == expected
            torch.testing.assert_close(
                batch.weights[r][counted],
                torch.full((expected.total(),), 1 / expected.total()),
            )


def test_replicas_equal_single_runs_with_everything_on() -> None:
    phase = Phase(
        steps=6, batch={"edge+reverse_edge": 5, "path": 2}, pooled=True, loss="answer"
    )
    own = [star(1), star(2), star(3)]
    together, _ = trained(phase, own, (0, 1, 2))
    alone, _ = trained(phase, own[1], (1,))
    for joint, lone in zip(together.parameters(), alone.parameters(), strict=True):
        torch.testing.assert_close(joint[1], lone[0], atol=2e-5, rtol=1e-3)


CONFIGS = {
    "tied": GPT,
    "untied": GPTConfig(layers=1, width=16, tied=False),
    "mamba": MambaConfig(layers=1, width=8, state=4),
    "any head": EmbMLPConfig(width=8),
}


def gradients(
    model: Model, phase: Phase, worlds
) -> tuple[list[float], list[torch.Tensor]]:
    batch = Batches(model, worlds, phase, range(model.replicas), 0).at(0)
    found = Loss(model)(batch)
    moving = [p for p in model.parameters() if p.requires_grad]
    scaled = (
        found * torch.arange(1.0, model.replicas + 1)
    ).sum()  # no replica has the factor 1 by chance
    return found.tolist(), list(torch.autograd.grad(scaled, moving))


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("pooled", [False, True])
def test_loss_in_chunks_equals_the_plain_one(
    name: str, pooled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = [star(1), star(2)]
    phase = Phase(batch=11, pooled=pooled, loss="every")
    model = build((0, 1), CONFIGS[name])
    with torch.no_grad():  # far from uniform, so that every label contributes
        for parameter in model.parameters():
            parameter.mul_(3)
    monkeypatch.setattr(losses, "MAX_LOGITS", 0 if name != "any head" else 2 * V * 4)
    # Four positions per chunk.
    monkeypatch.setitem(CHUNK_LOGITS, "cpu", 2 * V * 4)
    found, mine = gradients(model, phase, own)
    monkeypatch.undo()
    batch = Batches(model, own, phase, [0, 1], 0).at(0)
    logits = model(batch.inputs, at=batch.at).log_softmax(-1)
    rows = torch.arange(len(batch.at)) if batch.rows is None else batch.rows
    rows = rows.expand(2, -1)
    said = torch.stack([logits[r, rows[r], batch.labels[r]] for r in (0, 1)])
    expected = -(said * batch.weights).sum(-1)
    near = of_training(model, len(batch.at), steps=1)
    assert found == pytest.approx(expected.tolist(), rel=near)
    plain = torch.autograd.grad(
        (expected * torch.tensor([1.0, 2.0])).sum(), list(model.parameters())
    )
    for one, other in zip(mine, plain, strict=True):
        assert_same(one, other, near)


class Largest(TorchDispatchMode):
    """Mode that records the largest tensor returned by any operation."""

    size = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for one in out if isinstance(out, tuple | list) else (out,):
            if isinstance(one, torch.Tensor):
                self.size = max(self.size, one.numel())
        return out


@pytest.mark.parametrize("pooled", [True, False])
def test_no_more_logits_than_a_chunk_are_ever_held(
    pooled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = star(0, arms=100)
    model = GPTConfig(layers=1, width=8).build(
        vocabulary=len(world.vocabulary), seeds=[0]
    )
    batches = Batches(model, (world,), Phase(roles=EDGES, pooled=pooled), [0], 0)
    sizes = {}
    for most in (10**9, 10_000):
        monkeypatch.setattr(losses, "MAX_LOGITS", most)
        monkeypatch.setitem(CHUNK_LOGITS, "cpu", most)
        with Largest() as seen:
            Loss(model)(batches.at(0)).sum().backward()
        sizes[most] = seen.size
    assert sizes[10_000] <= 4 * 600 * 8  # the widest state is that of the MLP
    if not pooled:
        assert sizes[10**9] >= 600 * 302


def test_a_frozen_head_gets_no_gradient_and_the_rest_the_same() -> None:
    phase = Phase(pooled=True)
    model = build((0, 1))
    _, everything = gradients(model, phase, (WORLD,))
    names = [name for name, _ in model.named_parameters()]
    model.tokens.weight.requires_grad_(False)
    _, rest = gradients(model, phase, (WORLD,))
    kept = [g for n, g in zip(names, everything, strict=True) if n != "tokens.weight"]
    for one, other in zip(rest, kept, strict=True):
        torch.testing.assert_close(one, other)


def test_a_head_that_is_not_what_it_seems_is_still_right() -> None:
    model = build()
    plain = type(model).unembed
    try:
        type(model).unembed = lambda self, state: 2 * plain(self, state)  # type: ignore[method-assign]
        batch = Batches(model, (WORLD,), Phase(roles=EDGES, pooled=True), [0], 0).at(0)
        logits = model(batch.inputs, at=batch.at)[0]
        each = F.cross_entropy(logits[rows_of(batch)[0]], batch.labels[0])
        assert Loss(model)(batch).item() == pytest.approx(
            each.item(), rel=of_forward(model, len(batch.at))
        )
    finally:
        type(model).unembed = plain  # type: ignore[method-assign]


@pytest.mark.parametrize("pooled", [False, True])
def test_bf16_is_near_fp32_and_keeps_parameters_whole(pooled: bool) -> None:
    phase: dict[str, Any] = {
        "steps": 40,
        "pooled": pooled,
        "loss": "answer",
        "optimizer": Optimizer(rate=3e-3),
    }
    whole, expected = trained(Phase(**phase))
    half, found = trained(Phase(**phase, precision="bf16"))
    assert {p.dtype for p in half.parameters()} == {torch.float32}
    assert found != expected
    assert found == pytest.approx(expected, rel=0.03)
    assert expected[-1] < 0.8 * expected[0]
    del whole


# --- invalid settings


def test_bad_batches_are_refused() -> None:
    for wrong, says in (
        ({"batch": {"path": -1}}, "at least 0"),
        ({"batch": {"edge+path": 3, "path": 1}}, "'path' twice"),
        ({"roles": EDGES, "batch": {"paths": 3}}, "unknown role in batch"),
    ):
        with pytest.raises(ConfigError, match=says):
            Phase(**wrong)
    with pytest.raises(DataError, match="did you mean 'path'"):
        Batches(build(), (WORLD,), Phase(batch={"pathh": 3}), [0], 0)


def test_bad_schedules_are_refused() -> None:
    with pytest.raises(ConfigError, match="no effect with a constant learning rate"):
        Schedule(hold=0.5)
    with pytest.raises(ConfigError, match=r"at least 0 and below 1, got 1\.0"):
        Schedule(kind="linear", hold=1.0)


def test_replicas_that_cannot_be_pooled_together_are_refused() -> None:
    one, other = ([[0], [0], [1]], [[1], [2], [2]]), ([[0], [1], [2]], [[1], [2], [0]])
    words = Vocabulary({"node": ["a", "b", "c"]})
    worlds = [
        World("w", words, Statements.build({"edge": part}), Statements.build({}))
        for part in (one, other)
    ]
    model = GPTConfig(layers=1, width=8).build(vocabulary=3, seeds=[0, 1])
    with pytest.raises(DataError, match="distinct inputs of each shape, got 2 and 3"):
        Batches(model, worlds, Phase(pooled=True), [0, 1], 0)
