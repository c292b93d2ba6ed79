"""How far an edit spreads: to a class, along an edge, to its reversal, by several methods."""

from typing import Any

import polars as pl

import inweights as iw
from inweights.config import replace_at
from inweights.lab import Measure, Plan, Trial, cosine, share
from inweights.recipes.papers import recipe
from inweights.recipes.shared.derived import memorised
from inweights.worlds.families.analogy import Analogy
from inweights.worlds.families.graph import Graph
from inweights.worlds.families.reversal import Reversal

SINGLE = (RANK_ONE, TRAINING, EMBEDDING) = ("rank-one", "training", "embedding")
HOPS, CLASSES, REVERSALS = "hops", "classes", "reversals"
ALONE, MEMORY = "hops, no identities", "hops, memory"
TIED, UNTIED = "cycle, tied", "cycle, untied"
#: The roles that are edited, by world.
ROLES = {
    **dict.fromkeys((HOPS, ALONE, MEMORY), ("first_hop", "second_hop")),
    CLASSES: ("attribution", "similarity"),
    **dict.fromkeys((REVERSALS, TIED, UNTIED), ("edge",)),
}
#: What should follow: what shares the key and gets the same answer, or shares the embedding.
FOLLOWS = {RANK_ONE: ("second_hop", "attribution"), EMBEDDING: ("first_hop", "similarity")}


class Settings(iw.Config):
    n: int = 20
    model: iw.GPTConfig = iw.GPTConfig(layers=4, width=64, tied=False)
    node: iw.GPTConfig = iw.GPTConfig(layers=1, width=32)
    most: int = 8


def plan(settings: Settings) -> Plan:
    """Every world, and every edit of its facts: one at a time, at once, in the first block."""
    n, model, node = settings.n, settings.model, settings.node
    hops, cycle = iw.TwoHop(n=n, maps="permutation", trained=0.95), Graph(shape="cycle", n=16)
    alone = replace_at(hops, {"identity": False})
    worlds: dict[str, tuple[Any, iw.GPTConfig]] = {
        HOPS: (hops, model),
        ALONE: (alone, model),
        MEMORY: (alone, replace_at(model, {"memory": 128})),
        CLASSES: (Analogy(n=n, categories=5, maps="permutation"), model),
        REVERSALS: (Reversal(n=n, told=n // 2, phrased=True), model),
        TIED: (cycle, node),
        UNTIED: (cycle, replace_at(node, {"tied": False})),
    }
    slow = {"steps": 200, "rate": 0.01}
    methods: dict[str, dict[str, Any]] = {
        RANK_ONE: {},
        TRAINING: {},
        EMBEDDING: slow,
        "rank-one, at once": {"at_once": settings.most},
        "rank-one, first block": {"layer": 0, **slow},
    }
    edits = [
        Measure(
            name=f"{method}; {role}",
            probe=iw.probes.edits,
            options={"role": role, "method": method.split(",")[0], "most": settings.most} | more,
            where={"world": world},
        )
        for world, roles in ROLES.items()
        for role in roles
        for method, more in methods.items()
        if (world == HOPS or method in SINGLE) and (world != MEMORY or method == TRAINING)
    ]
    trials = [
        Trial(
            labels={"world": name},
            world=world,
            model=config,
            learner=iw.learners.named_for(world, config),
        )
        for name, (world, config) in worlds.items()
    ]
    return Plan(trials=trials, measures=[iw.probes.accuracy, *edits])


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """All edits in one table, with what should follow; and how well shared keys predict."""
    edits = pl.concat(
        table.with_columns(
            method=pl.lit(method),
            role=pl.lit(role),
            edited=pl.format("{}: {}", "world", pl.lit(role.replace("_", " "))),
            moved=1 - pl.col("unmoved"),
            follows=pl.when(pl.col("world") != TIED).then(
                pl.lit(role in FOLLOWS[method] if method in FOLLOWS else None, dtype=pl.Boolean)
            ),
        )
        for (method, _, role), table in ((name.partition("; "), t) for name, t in tables.items())
        if role
    )
    single = edits.filter(pl.col("method").is_in(SINGLE))
    known = memorised(tables["accuracy"], ["world"])
    return {
        "edits": edits,
        "known": known.filter(~pl.col("world").is_in([TIED, UNTIED])),
        "predicted": edits.filter(method=RANK_ONE)
        .group_by("seed", maintain_order=True)
        .agg(moved=pl.corr("overlap", "moved"), reached=pl.corr("overlap", "reached")),
        "drawn": single.unpivot(
            ["reached", "facts", "overlap"],
            index=["edited", "method", "seed"],
            variable_name="what",
            value_name="share",
        ),
    }


found = share("edits", "reached")
trained = found.at(method=TRAINING)

SCORES = {
    "facts-are-known": share("known", "accuracy").over("world") >= 0.99,
    "edits-hold": share("edits", "holds").over("edited", "method") >= 0.9,
    "class-follows": found.at(method=RANK_ONE, role="attribution") >= 0.8,
    "moved-embeddings-carry-on": found.at(method=EMBEDDING, follows=True).over("edited") >= 0.8,
    "nothing-else-follows": found.at(follows=False).over("edited", "method") <= 0.1,
    "tied-head-turns-edges": found.at(method=EMBEDDING, world=TIED) >= 0.3,
    "reversals-follow": found.at(world=REVERSALS).over("method") >= 0.5,
    "memory-propagates-more": trained.at(world=MEMORY).over("role") - trained.at(world=ALONE)
    >= 0.3,
    "overlap-predicts-what-moves": cosine("predicted", "moved") >= 0.8,
}

RECIPE = recipe(__name__)
