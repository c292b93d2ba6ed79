"""A small world, model and curricula that the training tests share."""

from __future__ import annotations

import torch

from inweights.models import GPTConfig, Model
from inweights.training import Curriculum, Edit, Optimizer, Phase, Schedule, Stop
from inweights.worlds import TwoHop

WORLD = TwoHop(n=4, complexity=2).build(seed=0)
V = len(WORLD.vocabulary)
GPT = GPTConfig(layers=2, width=16, heads=2, tied=False)


def curriculum(**changes) -> Curriculum:
    return Curriculum(phases=(Phase(**{"steps": 12, **changes}),))


CURRICULA = {
    "full batch": curriculum(
        random_offset=True, schedule=Schedule(kind="cosine", warmup=2)
    ),
    "minibatches": curriculum(
        batch=5,
        optimizer=Optimizer(kind="sgd", rate=0.1, momentum=0.9, weight_decay=0.01),
    ),
    "adam, every position": curriculum(loss="every", optimizer=Optimizer(kind="adam")),
    "two phases": Curriculum(
        phases=(
            Phase(
                name="hops",
                steps=7,
                roles={"first_hop": 2.0, "second_hop": 1.0},
                batch=4,
            ),
            Phase(
                name="all", steps=6, moves=("blocks.*", "head.*"), random_offset=True
            ),
        )
    ),
    "then frozen": Curriculum(
        phases=(
            Phase(name="all", steps=5),
            Phase(name="rest", steps=6, freezes=("tokens.*",)),
        )
    ),
    "edited": Curriculum(
        phases=(
            Phase(name="all", steps=5),
            Phase(
                name="on",
                steps=4,
                edit=Edit(method="training", count=2, steps=3, rate=0.01),
            ),
            Phase(
                name="late",
                steps=0,
                edit=Edit(method="embedding", role="first_hop", steps=6),
            ),
            Phase(name="last", steps=3, edit=Edit(share=0.25)),
        )
    ),
    "pooled, by role, bf16": curriculum(
        pooled=True,
        batch={"first_hop": 3, "second_hop+identity": 5},
        schedule=Schedule(kind="linear", warmup=2, hold=0.5),
        precision="bf16",
        random_offset=True,
    ),
    "noise": curriculum(optimizer=Optimizer(noise=0.5, epsilon=1e-6)),
    "stops": curriculum(
        stop=Stop(loss_below=2.6, every=3), optimizer=Optimizer(rate=3e-3)
    ),
}


def build(seeds=(0, 1, 2), config=GPT, inits=None) -> Model:
    return config.build(vocabulary=V, seeds=seeds, inits=inits)


def state(model: Model) -> list[torch.Tensor]:
    return [p.detach().clone() for p in model.parameters()]


def same_bits(one: Model, other: Model) -> bool:
    return all(
        torch.equal(a, b)
        for a, b in zip(one.parameters(), other.parameters(), strict=True)
    )
