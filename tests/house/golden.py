"""Compute a small table of each world, model, learner and probe from fixed seeds.

If these numbers change, raise the version in ``RAISED`` of
``inweights.support.keys.sources``, so that stored results count as another version's,
describe the change in ``CHANGELOG.md``, and add the new table: ``python -m
tests.house.golden --write`` adds new items and raised versions, and changes nothing else.
"""

from __future__ import annotations

import argparse
import json
import math
import tomllib
from collections.abc import Callable, Mapping
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl
import torch

from inweights import probes
from inweights.models import GPTConfig, Model
from inweights.models.configs import (
    DeepLinearConfig,
    EmbMLPConfig,
    MambaConfig,
    Node2VecConfig,
    OneLayerConfig,
    TinyNNConfig,
)
from inweights.models.configs.model_config import Init
from inweights.probes.depth import label_cosines
from inweights.probes.dynamics import off_descent
from inweights.probes.geometry.reference_graph import both_ways, without_self_edges
from inweights.probes.token_share import token_share
from inweights.support.keys.sources import RAISED
from inweights.training import Curriculum, Edit, Optimizer, Phase, Schedule, train
from inweights.training.learners.descent import Descent
from inweights.training.learners.without_training import Optimum
from inweights.worlds import (
    Altered,
    AnalogicalTwoHop,
    Analogy,
    Graph,
    Hops,
    Implication,
    InContextStar,
    OwnPathStar,
    PathStar,
    RandomFacts,
    Reversal,
    Triples,
    TwoHop,
    World,
)
from inweights.worlds.world import Worlds

FILE = Path(__file__).parents[1] / "data" / "golden.toml"
#: Numbers of roundings in a result of float32. A logit of these models (two layers,
#: widths up to 16, ten products with sums of 8 to 64 terms each, norms and a softmax)
#: takes fewer than 1,000, and one of an Emb-MLP (two sums of 16 terms, a softmax over 12
#: answers) fewer than 100. A step of training has a forward pass, a backward pass and an
#: update. Each rounding changes a number by 2**-24 of its size, in any order of the sums.
FORWARD, SMALL, STEPS = 1_000, 100, 6
#: Condition number of the system that an edit solves: the largest over the eighth
#: eigenvalue of the moment of eight keys. It multiplies the errors of the entries, which
#: are about ten roundings.
CONDITION = 3_300
#: Certified gap of solved programs; another order of sums may change results by as much.
GAP = 1e-4
TWO_HOP = TwoHop(n=4, complexity=2)
GRID = Graph(shape="grid", rows=3, columns=4)
STAR = PathStar(arms=5, nodes=3)
LINES = [["r", "a", "x"], ["r", "b", "y"], ["r", "c", "z"], ["r", "d", "w"]]
#: Initial weights are large, so that no number is near 0 and no two logits are close.
GPT = GPTConfig(layers=2, width=16, heads=2, context=16, tied=False, init=Init(std=0.3))
MLP = EmbMLPConfig(width=16, init=Init(std=0.3))
N2V = Node2VecConfig(width=8, init=Init(std=0.5))
LINEAR = DeepLinearConfig(width=12, layers=2, init=Init(std=0.3))
#: A model that answers all facts after forty steps, as some probes require.
LEARNT = ("learnt", EmbMLPConfig(width=16, init=Init(std=0.1)))
LEARNING = 40 * 3 * SMALL
#: Sizes of the terms of columns in which terms may cancel, so that their errors are larger
#: than the results suggest: cosines and correlations are sums of products of unit
#: vectors, an excess is a ratio minus 1, and margins of queries at an optimum are
#: differences of logits, which differ by 1 at a fact.
SIZES = dict.fromkeys(
    (
        "cosine",
        "contrast",
        "spearman",
        "null_mean",
        "excess",
        "query_margin",
        "expected",
    ),
    1.0,
)
Numbers = dict[str, float | int | str]


class Item:
    """An item: its name in ``RAISED``, a function that makes its table, and a tolerance."""

    def __init__(
        self, owner: str, make: Callable[[], Numbers], roundings: float = FORWARD
    ) -> None:
        self.owner, self.make = owner, make
        self.tolerance = roundings * 2.0**-24

    @property
    def version(self) -> int:
        return RAISED.get(self.owner, 1)


# --- summaries of tables


def summary(table: pl.DataFrame) -> Numbers:
    """Return three numbers of float columns, a sum of integer columns, a hash of others."""
    found: Numbers = {"rows": table.height}
    for column in table.columns:
        values = table[column]
        if values.dtype.is_nested():
            values = values.explode(empty_as_null=True, keep_nulls=True)
            values = values.explode() if values.dtype.is_nested() else values
        if values.dtype.is_float():
            kept = [
                0.0 if v is None or not math.isfinite(v) else float(v) for v in values
            ]
            weight = [i % 7 + 1 for i in range(len(kept))]
            n = max(1, len(kept))
            found[f"{column}, mean"] = sum(kept) / n
            found[f"{column}, by place"] = (
                sum(map(float.__mul__, kept, map(float, weight))) / n
            )
            found[f"{column}, largest"] = max(map(abs, kept), default=0.0)
        elif values.dtype.is_integer() or values.dtype == pl.Boolean:
            kept_ints = [int(v or 0) for v in values]
            found[f"{column}, sum"] = sum(
                v * (i % 7 + 1) for i, v in enumerate(kept_ints)
            )
        else:
            found[column] = hashed(values.to_list())
    return found


def hashed(value: Any) -> str:
    return sha256(json.dumps(value, default=str).encode()).hexdigest()[:12]


def of_world(config: Any) -> Numbers:
    world = config.build(seed=3)
    table = world.table()
    return {
        "tokens": len(world.vocabulary),
        "facts": len(world.facts),
        "queries": len(world.queries),
        "first": " ".join(table.row(0)[1:4]),
        "names": hashed(world.vocabulary.names),
        "statements": hashed(table.drop("right_answers").rows()),
    }


def built(config: Any, world: Any) -> tuple[Model, World]:
    """Return a model of two replicas, initial or trained, and its world."""
    made = world.build(seed=3)
    tokens, answers = len(made.vocabulary), made.outputs.tolist()
    learnt, config = config if isinstance(config, tuple) else ("", config)
    model = config.build(vocabulary=tokens, seeds=[3, 4], candidates=answers)
    if learnt:
        descent = Optimizer(kind="sgd", rate=3.0, weight_decay=0.0)
        phase = Phase(steps=40, optimizer=descent)
        train(model, made, Curriculum(phases=(phase,)), seeds=[3, 4])
    return model, made


@torch.no_grad()
def of_model(config: Any) -> Numbers:
    model = config.build(vocabulary=9, seeds=[3, 4], candidates=[2, 3, 5])
    found: Numbers = {"parameters": sum(p.numel() for p in model.parameters())}
    for name, shape in (("logit", (4, 3)), ("logit of a long prompt", (2, 14))):
        tokens = torch.arange(math.prod(shape)).reshape(shape) * 5 % 9
        found |= summary(pl.DataFrame({name: model(tokens).flatten().double().numpy()}))
    return found


def of_training(phase: Phase, config: Any = MLP) -> Numbers:
    world = TWO_HOP.build(seed=3)
    model = config.build(
        vocabulary=len(world.vocabulary),
        seeds=[3, 4],
        candidates=world.outputs.tolist(),
    )
    done = train(model, world, Curriculum(phases=(phase,)), seeds=[3, 4], every=1)
    return {
        f"replica {row['replica']}, step {row['step']}": row["loss"]
        for row in done.losses.iter_rows(named=True)
    }


def of_probe(probe: Callable[..., pl.DataFrame], config: Any, world: Any) -> Numbers:
    return summary(probe(*built(config, world)))


def descended() -> Numbers:
    model = Descent(rate=0.02, steps=5).learn(GRID.build(), N2V, seed=3)
    return summary(
        pl.DataFrame(
            {"vector": model.tokens.weight.detach().flatten().double().numpy()}
        )
    )


def solved() -> Numbers:
    world = TwoHop(n=3).build(seed=3)
    table = probes.margins(Optimum(gap=GAP).learn(world), world)
    return {"margin": float(table["margin"].mean()), "queries": table.height}  # type: ignore[arg-type]


# --- all items

WORLDS: Mapping[str, Any] = {
    "two-hop": TwoHop(n=6, complexity=3, maps="permutation", identity=0.5),
    "hops": Hops(n=4, hops=3, identity=0.5),
    "reversal": Reversal(n=5, told=2),
    "implication": Implication(groups=3, members=4, told=2),
    "random-facts": RandomFacts(
        hops=3, popularity=0.7, told=0.75, crossing=True, asked=4
    ),
    "graph": Graph(shape="tree-star", arms=3, nodes=4, branches=2, paths=True),
    "path-star": PathStar(arms=4, nodes=4, branches=2, split="arm", task_tokens=True),
    "own-path-star": OwnPathStar(paths=LINES, pauses=2),
    "in-context-star": InContextStar(arms=2, nodes=3, labels=8, trained=30, asked=5),
    "triples": Triples(path="@people", identity=0.5, questions="all"),
    "analogy": Analogy(n=7, categories=3, maps="permutation"),
    "analogical-two-hop": AnalogicalTwoHop(),
    "altered": Altered(of=TwoHop(n=6), shuffled=True, without="identity"),
}
MODELS: Mapping[str, Any] = {
    "gpt": GPT,
    "emb-mlp": MLP,
    "mamba": MambaConfig(layers=2, width=16, state=4, init=Init(std=0.3)),
    "tiny-nn": TinyNNConfig(width=8, init=Init(std=0.3)),
    "node2vec": N2V,
    "one-layer": OneLayerConfig(width=16, hidden=8, init=Init(std=0.3)),
    "deep-linear": LINEAR,
}
_SGD = Optimizer(kind="sgd", rate=0.5, momentum=0.9, weight_decay=0.01)
OPTIMIZERS = {
    "sgd": Phase(steps=STEPS, optimizer=_SGD),
    "adam": Phase(
        steps=STEPS,
        optimizer=Optimizer(
            kind="adam", rate=0.05, weight_decay=0.01, betas=(0.5, 0.9), epsilon=1e-3
        ),
    ),
    "adamw": Phase(steps=STEPS, optimizer=Optimizer(rate=0.05, weight_decay=0.1)),
    "noise": Phase(steps=STEPS, optimizer=Optimizer(rate=0.05, noise=0.5)),
}
CURRICULA = {
    "minibatches": (Phase(steps=STEPS, batch=5, optimizer=_SGD), MLP),
    "every position": (Phase(steps=STEPS, loss="every", random_offset=True), GPT),
    "by role, pooled": (
        Phase(steps=STEPS, pooled=True, roles={"first_hop": 2.0, "identity": 1.0}),
        MLP,
    ),
    "cosine": (
        Phase(steps=STEPS, optimizer=_SGD, schedule=Schedule(kind="cosine", warmup=2)),
        MLP,
    ),
    "linear": (
        Phase(steps=STEPS, optimizer=_SGD, schedule=Schedule(kind="linear", hold=0.4)),
        MLP,
    ),
}
#: Probes that need a graph; ON_TWO_HOPS has probes of a two-hop world, and OTHERS those
#: with further requirements.
ON_GRAPHS = (
    probes.snapshot,
    probes.graph_recall,
    probes.cosines,
    probes.hop_correlation,
    probes.spectral_energy,
    probes.zigzag,
    probes.agreement,
    probes.arrangement,
    probes.named_geometry,
)
ON_TWO_HOPS = (
    probes.accuracy,
    probes.alignment,
    probes.logit_lens,
    probes.attention,
    probes.margins,
    probes.shared_memory,
    probes.activation_patching,
    probes.templates,
    probes.stepwise,
    probes.realignment,
    probes.by_loops,
    probes.attribution_patching,
    probes.logit_attribution,
)


def one_activation(model: Model, worlds: Worlds) -> pl.DataFrame:
    """Return the states of one layer at one token, each as the sum of its numbers."""
    table = probes.activations(
        model, worlds, layers=["sum"], position=1, parts=["facts"]
    )
    return table.with_columns(pl.col("state").list.sum())


OTHERS: Mapping[str, tuple[Callable[..., pl.DataFrame], Any, Any, float]] = {
    "direction": (probes.direction, LEARNT, TWO_HOP, GAP * 2**24),
    "nuclear_norm": (probes.nuclear_norm, LEARNT, TWO_HOP, LEARNING),
    "path_accuracy": (probes.path_accuracy, GPT, STAR, FORWARD),
    "arm_cosines": (probes.arm_cosines, GPT, STAR, FORWARD),
    "activations": (one_activation, MLP, TWO_HOP, FORWARD),
    "bridge_projection": (
        partial(probes.bridge_projection, method="pca"),
        GPT,
        TWO_HOP,
        FORWARD,
    ),
    "edits": (probes.edits, GPT, TWO_HOP, 10 * CONDITION),
    "after_edits": (
        partial(probes.after_edits, edit=Edit(count=2)),
        GPT,
        TWO_HOP,
        FORWARD,
    ),
    "carries": (
        probes.carries,
        GPT,
        TwoHop(n=5, complexity=2, first_relations=1, second_relations=2),
        FORWARD,
    ),
    "resemblance": (probes.resemblance, GPT, Analogy(n=5), FORWARD),
    "label_cosines": (
        label_cosines,
        DeepLinearConfig(width=32, layers=2, init=Init(std=0.3)),
        Analogy(n=9, categories=3),
        FORWARD,
    ),
    "off_descent": (
        partial(off_descent, rate=0.01, steps=5),
        N2V,
        Graph(shape="cycle", n=9),
        FORWARD,
    ),
    "geometric_margin": (probes.geometric_margin, MODELS["tiny-nn"], GRID, FORWARD),
    "edge_margin": (probes.edge_margin, MODELS["tiny-nn"], GRID, FORWARD),
    "steer": (
        partial(probes.steer, at="block.1", position=1, scale=2.0, draws=2),
        GPT,
        TWO_HOP,
        FORWARD,
    ),
    "token_share": (token_share, GPT, STAR, FORWARD),
    "navigation": (probes.navigation, GPT, PathStar(arms=10, nodes=4), FORWARD),
    "without_self_edges": (
        partial(without_self_edges, inner=probes.hop_correlation),
        N2V,
        GRID,
        FORWARD,
    ),
    "both_ways": (partial(both_ways, inner=probes.hop_correlation), N2V, GRID, FORWARD),
}


def items() -> dict[str, Item]:
    """Return all items by the names of their tables."""
    found = {
        f"world {n}": Item(type(c).__name__, partial(of_world, c))
        for n, c in WORLDS.items()
    }
    found |= {
        f"model {n}": Item(type(c).__name__, partial(of_model, c))
        for n, c in MODELS.items()
    }
    for name, phase in OPTIMIZERS.items():
        found[f"optimizer {name}"] = Item(
            "Optimizer", partial(of_training, phase), STEPS * 3 * SMALL
        )
    for name, (phase, config) in CURRICULA.items():
        make = partial(of_training, phase, config)
        roundings = STEPS * 3 * (SMALL if config is MLP else FORWARD)
        found[f"curriculum {name}"] = Item("Curriculum", make, roundings)
    found["learner descent"] = Item("Descent", descended)
    found["learner optimum"] = Item("Optimum", solved, GAP * 2**24)
    looks: dict[str, Any] = {p.__name__: (p, N2V, GRID, FORWARD) for p in ON_GRAPHS}
    looks |= {p.__name__: (p, GPT, TWO_HOP, FORWARD) for p in ON_TWO_HOPS}
    for name, (probe, config, world, roundings) in {**looks, **OTHERS}.items():
        made = partial(of_probe, probe, config, world)
        found[f"probe {name}"] = Item(name, made, roundings)
    return found


# --- the stored tables


def stored() -> dict[str, dict[str, Any]]:
    """Return the stored tables by item, each with its ``version``."""
    return tomllib.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}


def differences(item: Item, table: Mapping[str, Any]) -> list[str]:
    """Return a line for each number of an item that differs from its stored table."""
    now, said = item.make(), []
    for name in dict.fromkeys([*now, *(n for n in table if n != "version")]):
        one, other = table.get(name), now.get(name)
        if isinstance(one, float) and isinstance(other, float):
            # Terms of a sum or difference may be larger than the result.
            column = name.partition(",")[0]
            scale = max(
                abs(one), table.get(f"{column}, largest", 0.0), SIZES.get(column, 0.0)
            )
            if abs(one - other) <= item.tolerance * scale * (
                7 if "by place" in name else 1
            ):
                continue
        elif one == other and type(one) is type(other):
            continue
        said.append(f"{name}: {one} was stored, {other} is computed")
    return said


def main() -> int:
    """Print new and changed tables; with ``--write`` add the new ones to the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument(
        "--write", action="store_true", help="add new items and raised versions"
    )
    write = parser.parse_args().write
    tables, wrong = stored(), 0
    for name, item in items().items():
        known = tables.get(name)
        if known is None or known["version"] < item.version:
            tables[name] = {"version": item.version, **item.make()}
            print(f"{name}: version {item.version} is new")
        elif said := differences(item, known):
            wrong += 1
            print(
                "\n  ".join([f"{name}: its numbers changed; raise its version", *said])
            )
    if write:
        blocks = [_block(name, tables[name]) for name in items()]
        FILE.write_text("\n".join(blocks), encoding="utf-8", newline="\n")
    return int(wrong > 0)


def _block(name: str, table: Mapping[str, Any]) -> str:
    rows = [f"{json.dumps(key)} = {_toml(value)}" for key, value in table.items()]
    return "\n".join([f"[{json.dumps(name)}]", *rows, ""])


def _toml(value: float | int | str) -> str:
    return json.dumps(value) if isinstance(value, str) else repr(value)


if __name__ == "__main__":
    raise SystemExit(main())
