"""Train and solve the models that come with the library, from their seeds.

    python -m benchmarks.zoo

writes weights and cards from ``benchmarks/zoo.toml``; see :func:`inweights.load`. The
same processor and versions give the same bytes; any give about the same accuracy.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import polars as pl
from msgspec.structs import replace

from inweights import probes
from inweights.actions.configs import from_dict, to_dict
from inweights.actions.zoo import CARDS, Card, weights
from inweights.config import load_toml
from inweights.models.base import Model
from inweights.models.save import save_model
from inweights.support.progress import shown
from inweights.training import Curriculum, Descent, train
from inweights.training.learners import named_for
from inweights.worlds.families.graphs.graph import Graph

#: What is written by hand: of each model its claim and its configs.
PLANNED = Path(__file__).with_suffix(".toml")


def planned() -> list[Card]:
    """Return the cards as they are before anything is trained; learners left out are named ones."""
    read = []
    for name, about in load_toml(PLANNED).items():
        world, model = from_dict(about["world"]), from_dict(about["model"])
        learner = (
            from_dict(about["learner"])
            if "learner" in about
            else named_for(world, model)
        )
        read.append(
            Card(
                name=name,
                claim=about["claim"],
                world=to_dict(world),
                model=to_dict(model),
                learner=to_dict(learner),
                seeds=tuple(about.get("seeds", (0,))),
            )
        )
    return read


def made(card: Card) -> Model:
    """Return the model of a card, trained or solved."""
    world, config = from_dict(card.world).build(0), from_dict(card.model)
    learner, seeds = from_dict(card.learner), list(card.seeds)
    if isinstance(learner, Curriculum):
        model: Model = config.build(vocabulary=len(world.vocabulary), seeds=seeds)
        train(model, world, learner, seeds=seeds, keep_diverged=True)
        return model
    return (
        learner.learn(world, config, seeds[0])
        if isinstance(learner, Descent)
        else (learner.learn(world))
    )


def measured(card: Card, model: Model) -> Card:
    """Return a card with what a model of it does."""
    config = from_dict(card.world)
    world = config.build(0)
    # Where a node has many neighbours, no answer is the right one.
    if isinstance(config, Graph):
        seen = probes.hop_correlation(model, world)["spearman"].to_numpy().mean()
        return replace(card, hop_correlation=round(float(seen), 4))
    table = probes.accuracy(model, world)
    means = table.group_by("part", "role", maintain_order=True).agg(
        pl.col("accuracy").mean()
    )
    return replace(
        card,
        accuracy={
            f"{part}/{role}": round(mean, 4) for part, role, mean in means.rows()
        },
    )


def main() -> None:
    """Make all models again, and their cards."""
    cards = planned()
    done = []
    with shown(True) as progress:
        for number, card in enumerate(cards):
            if progress:
                progress(number, len(cards), card.name)
            model = made(card)
            size = save_model(model, weights(card.name)).stat().st_size
            done.append(replace(measured(card, model), bytes=size))
    CARDS.write_bytes(msgspec.json.format(msgspec.json.encode(done), indent=1) + b"\n")
    print(f"{len(done)} models, {sum(card.bytes for card in done):,} bytes")


if __name__ == "__main__":
    main()
