"""R replicas equal R single runs, and training equals plain PyTorch."""

from __future__ import annotations

import copy
from typing import Any

import polars as pl
import pytest
import torch
from polars.testing import assert_frame_equal
from tests.rounding import of_training
from tests.training.curricula import CURRICULA, WORLD, build, curriculum
from torch.nn import functional as F

from inweights.models import EmbMLPConfig, GPTConfig, Init, MambaConfig, TinyNNConfig
from inweights.probes import accuracy
from inweights.training import (
    Curriculum,
    Observer,
    Optimizer,
    Phase,
    Schedule,
    Stop,
    train,
)
from inweights.worlds import Graph, TwoHop


@pytest.mark.fast_cases(4)
@pytest.mark.parametrize("name", CURRICULA)
def test_replicas_equal_single_runs(name: str) -> None:
    together = build()
    result = train(together, WORLD, CURRICULA[name], seeds=[0, 1, 2], every=1)
    for r in range(3):
        alone = build([r])
        single = train(alone, WORLD, CURRICULA[name], seeds=[r], every=1)
        for joint, lone in zip(together.parameters(), alone.parameters(), strict=True):
            torch.testing.assert_close(joint[r], lone[0], atol=2e-5, rtol=1e-4)
        losses = result.losses.filter(replica=r)
        assert losses["step"].to_list() == single.losses["step"].to_list()
        near = of_training(alone, len(WORLD.facts), len(losses))
        assert losses["loss"].to_list() == pytest.approx(
            single.losses["loss"].to_list(), rel=near
        )
        assert result.stopped[r] == single.stopped[0]


#: Configs whose number of parameters fills the processor's vector registers, and configs
#: that leave a remainder.
SIZES = (
    GPTConfig(layers=1, width=16, heads=2),
    GPTConfig(layers=1, width=20, heads=2, context=7),
    EmbMLPConfig(width=17),
    MambaConfig(layers=1, width=16, state=4),
)
OPTIMIZERS = {
    "adamw": Optimizer(weight_decay=0.1),
    "adamw, all": Optimizer(weight_decay=0.1, decayed="all"),
    "adamw, none": Optimizer(weight_decay=0.0),
    "adam": Optimizer(kind="adam", weight_decay=0.1),
    "sgd": Optimizer(kind="sgd", momentum=0.9, weight_decay=0.1),
}


@pytest.mark.fast_cases(4)
@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("optimizer", OPTIMIZERS.values(), ids=OPTIMIZERS)
@pytest.mark.parametrize(
    "config", SIZES, ids=["whole lanes", "a rest", "odd", "rank 1"]
)
def test_every_size_has_the_same_bits_alone_and_in_company(config, optimizer) -> None:
    """Runs are bitwise equal although the remainder of a block is rounded differently.

    The same holds for products with one column, for which a library may have a special
    kernel for single matrices.
    """
    plan = curriculum(
        optimizer=optimizer, steps=12, schedule=Schedule(kind="cosine", warmup=2)
    )
    together = build(range(5), config)
    train(together, WORLD, plan, seeds=5)
    for r in (0, 3):
        alone = build([r], config)
        train(alone, WORLD, plan, seeds=[r])
        for joint, lone in zip(together.parameters(), alone.parameters(), strict=True):
            assert torch.equal(joint[r], lone[0])


@pytest.mark.fast_cases(2)
@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("batch", [{}, {"batch": 3}], ids=["all", "batches"])
@pytest.mark.parametrize(
    "config",
    [
        GPTConfig(layers=1, width=5, heads=1),
        MambaConfig(layers=1, width=5, state=3),
        MambaConfig(layers=2, width=12, expand=3),
    ],
    ids=["gelu", "silu", "silu, two layers"],
)
def test_activations_of_odd_widths_have_the_same_bits_alone_and_in_company(
    config, batch
) -> None:
    """Runs are equal although kernels for 32 numbers round the remainder differently.

    The position of a replica's remainder in a block depends on the number of replicas
    before it.
    """
    plan = curriculum(steps=8, **batch)
    together = build(range(3), config)
    train(together, WORLD, plan, seeds=3)
    for r in range(3):
        alone = build([r], config)
        train(alone, WORLD, plan, seeds=[r])
        for joint, lone in zip(together.parameters(), alone.parameters(), strict=True):
            assert torch.equal(joint[r], lone[0])


def test_replicas_with_rates_decays_and_scales_of_their_own_equal_single_runs() -> None:
    optimizers = [
        Optimizer(rate=1e-3, weight_decay=0.0),
        Optimizer(rate=1e-3, weight_decay=2.0),
        Optimizer(rate=5e-3, weight_decay=0.1, decayed="all"),
        Optimizer(rate=5e-3, weight_decay=0.1),
    ]
    inits = [Init(), Init(gamma=1.5), Init(std=0.1), Init()]
    plans = [curriculum(optimizer=optimizer) for optimizer in optimizers]
    together = build(range(4), inits=inits)
    train(together, WORLD, plans, seeds=range(4))
    for r in range(4):
        alone = build([r], inits=[inits[r]])
        train(alone, WORLD, plans[r], seeds=[r])
        for joint, lone in zip(together.parameters(), alone.parameters(), strict=True):
            torch.testing.assert_close(joint[r], lone[0], atol=2e-5, rtol=1e-4)


def test_replicas_with_worlds_of_their_own_equal_single_runs() -> None:
    worlds = [TwoHop(n=4, complexity=2, maps="permutation").build(s) for s in range(3)]
    for plan in (CURRICULA["full batch"], CURRICULA["minibatches"]):
        together = build()
        train(together, worlds, plan, seeds=[0, 1, 2])
        alone = build([2])
        train(alone, worlds[2], plan, seeds=[2])
        for joint, lone in zip(together.parameters(), alone.parameters(), strict=True):
            torch.testing.assert_close(joint[2], lone[0], atol=2e-5, rtol=1e-4)


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("every", [1, 4])
def test_tables_of_who_stops_early_are_the_same_alone_and_in_company(
    every: int,
) -> None:
    """Rows and steps are equal, also in the next phase; a diverged run has one row."""

    rule = Stop(loss_below=2.3, every=1)

    def learn(seeds: list[int], rates: list[float]):
        plans = [
            Curriculum(
                phases=(
                    Phase(steps=12, optimizer=Optimizer(rate=rate), stop=rule),
                    Phase(name="on", steps=6, optimizer=Optimizer(rate=rate)),
                )
            )
            for rate in rates
        ]
        model = build(seeds)
        look = Observer("recall", lambda model: accuracy(model, WORLD), 5)
        return train(
            model,
            WORLD,
            plans,
            seeds=seeds,
            every=every,
            observers=[look],
            keep_diverged=True,
        )

    rates = [1e-2, 1e-4, 1e30]
    together = learn([0, 1, 2], rates)
    for r, rate in enumerate(rates):
        alone = learn([r], [rate])
        for joint, single in (
            (together.losses, alone.losses),
            (together.observed["recall"], alone.observed["recall"]),
        ):
            own = joint.filter(replica=r).drop("replica")
            lone = single.drop("replica").select(own.columns)
            if r == 2:  # its measurements are meaningless and therefore null
                own, lone = own.select("step"), lone.select("step")
            assert_frame_equal(own, lone, abs_tol=1e-5)
        assert alone.losses["loss"].is_finite().all() == (r < 2)
    assert (
        0 <= together.losses.filter(pl.col("phase") != "on", replica=0)["step"][-1] < 11
    )
    assert together.losses.filter(phase="on")["step"].min() == 12


def test_a_tiny_nn_never_reads_the_token_of_edges() -> None:
    models = []
    for config in (Graph(idle_tokens=3), Graph(idle_tokens=2, edge_token=True)):
        models.append(TinyNNConfig(width=8).build(vocabulary=20, seeds=[0]))
        train(models[-1], config.build(), curriculum(), seeds=[0])
    for told, bare in zip(*(model.parameters() for model in models), strict=True):
        torch.testing.assert_close(told, bare, atol=1e-5, rtol=1e-4)


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("decayed", ["matrices", "all"])
def test_same_as_plain_pytorch(decayed) -> None:
    """The losses and the final parameters equal those of torch.optim on a copy."""
    ours = build([5])
    plain = copy.deepcopy(ours)
    spared = [
        p
        for name, p in plain.named_parameters()
        if decayed == "matrices" and ("norm" in name or name.endswith("bias"))
    ]
    others = [p for p in plain.parameters() if not any(p is one for one in spared)]
    groups: list[dict[str, Any]] = [
        {"params": others},
        {"params": spared, "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=2e-3, weight_decay=0.1)
    facts = [
        (WORLD.facts.prompt(i), WORLD.facts.answer(i)) for i in range(len(WORLD.facts))
    ]
    expected = []
    for _ in range(8):
        losses = [
            F.cross_entropy(plain(torch.tensor(p)[None])[0, :, -1], torch.tensor(a))
            for p, a in facts
        ]
        loss = torch.stack(losses).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        expected.append(loss.item())
    settings = Optimizer(rate=2e-3, weight_decay=0.1, decayed=decayed)
    result = train(
        ours, WORLD, curriculum(steps=8, optimizer=settings), seeds=[5], every=1
    )
    near = of_training(ours, len(WORLD.facts), len(expected))
    assert result.losses["loss"].to_list() == pytest.approx(expected, rel=near)
    for one, other in zip(ours.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(one, other, atol=2e-5, rtol=1e-4)
