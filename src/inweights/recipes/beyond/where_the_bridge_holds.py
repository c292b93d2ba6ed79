"""Where the identity bridge holds: the map of settings that the paper lacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import polars as pl

from inweights.config import Config, apply_overrides
from inweights.errors import unknown_name
from inweights.models.gpt import GPTConfig
from inweights.models.layers import Init
from inweights.probes import accuracy, alignment
from inweights.recipes.claim import Statement, Target
from inweights.recipes.derived import compositions, correlation, gain, half_time, memorised
from inweights.recipes.identity_bridge.common import GPTTraining
from inweights.recipes.recipe import Figure, Measure, Plan, Recipe, Trial
from inweights.training.curriculum import Curriculum, Phase
from inweights.worlds.two_hop import TwoHop

__all__ = ["AXES", "RECIPE", "Settings"]

NAME = "beyond/where-the-bridge-holds"
LABELS = ("axis", "value", "init", "world")

#: By axis, each value as it is shown and what it changes in the base run. Several changes are
#: separated by ``;``. A value that changes nothing is the base run, and is trained only once.
AXES: dict[str, dict[str, str]] = {
    "depth": {str(n): f"model.layers={n}" for n in (1, 2, 4, 6, 8, 12)},
    "width": {str(n): f"model.width={n}" for n in (16, 32, 64, 128)},
    "positions": {
        "learned, random start": "",
        "learned, fixed start": "phase.random_offset=false",
        "sinusoidal": "model.positions=sinusoidal",
        "none": "model.positions=none;phase.random_offset=false",
    },
    "head": {"untied": "", "tied": "model.tied=true"},
    "rate": {v: f"phase.optimizer.rate={v}" for v in ("3e-4", "1e-3", "3e-3")},
    "warm-up": {str(n): f"phase.schedule.warmup={n}" for n in (0, 28, 140)},
    "weight decay": {
        v: f"phase.optimizer.weight_decay={float(v)}"
        for v in ("0.01", "0.1", "1", "3", "10", "20", "30", "50")
    },
    "weight decay, tied head": {
        v: f"model.tied=true;phase.optimizer.weight_decay={float(v)}"
        for v in ("0.01", "1", "10", "20", "30", "50")
    },
    "small initialisation γ": {
        str(g): f"model.init.gamma={g}" for g in (0.75, 1.0, 1.25, 1.5, 2.0)
    },
    "N": {str(n): f"world.n={n}" for n in (10, 20, 40)},
    "loss at": {"last position": "", "every position": "phase.loss=every"},
}


class _Run(Config):
    """A run, as an axis sees it."""

    world: TwoHop
    model: GPTConfig
    phase: Phase


class Settings(Config):
    """Settings of the map.

    Attributes:
        axes: Names of axes.
        complexity: ``C`` of the harder world with identity; the others have ``C = 1``.
        n: Subjects and objects ``N``.
        every: Steps between measurements.
        base: The run that every axis changes in one respect.
    """

    axes: tuple[str, ...] = tuple(AXES)
    complexity: int = 2
    n: int = 20
    every: int = 20
    base: GPTTraining = GPTTraining()

    def __post_init__(self) -> None:
        for axis in self.axes:
            if axis not in AXES:
                raise unknown_name("axis", axis, AXES)


def _bases(settings: Settings) -> Iterator[tuple[dict[str, str | float | bool], _Run]]:
    """Both initialisations in three worlds."""
    worlds = {
        "C = 1": TwoHop(n=settings.n, complexity=1),
        f"C = {settings.complexity}": TwoHop(n=settings.n, complexity=settings.complexity),
        "no identity": TwoHop(n=settings.n, complexity=1, identity=False),
    }
    inits = {
        "standard": settings.base.model.init,
        "small": Init(gamma=settings.base.small_gamma),
    }
    for init_name, init in inits.items():
        model = msgspec.structs.replace(settings.base.model, init=init)
        for world_name, world in worlds.items():
            labels: dict[str, str | float | bool] = {"init": init_name, "world": world_name}
            yield labels, _Run(world=world, model=model, phase=settings.base.phase)


def plan(settings: Settings, seeds: Sequence[int]) -> Plan:
    """Every value of every axis; what is the same run is trained once."""
    trials = []
    for labels, base in _bases(settings):
        for axis in settings.axes:
            if axis == "small initialisation γ" and labels["init"] == "standard":
                continue  # the axis sets the initialisation itself
            for value, change in AXES[axis].items():
                run = apply_overrides(base, [part for part in change.split(";") if part])
                trials += [
                    Trial(
                        labels={"axis": axis, "value": value, **labels},
                        world=run.world,
                        model=run.model,
                        curriculum=Curriculum(phases=(run.phase,)),
                        seed=seed,
                    )
                    for seed in seeds
                ]
    measures = [
        Measure(name="accuracy", probe=accuracy, every=settings.every),
        Measure(name="alignment", probe=alignment, every=settings.every),
    ]
    return Plan(trials=trials, measures=measures)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Final accuracy along every axis, the gain by weight decay, and what alignment says."""
    blocks = tables["alignment"].filter(
        pl.col("layer").str.starts_with("block"), pl.col("place") == "query"
    )
    keys = [*LABELS, "seed", "step"]
    aligned = blocks.group_by(keys, maintain_order=True).agg(pl.col("contrast", "nearest").mean())
    curves = _in_order(compositions(tables["accuracy"]).join(aligned, on=keys))
    final = curves.filter(_last())
    with_identity = pl.col("world") != "no identity"
    runs = [*LABELS, "seed"]
    halves = [
        half_time(curves, column, runs).rename({"half_time": name})
        for column, name in (("accuracy", "answered"), ("nearest", "aligned"))
    ]
    reached = final.filter(with_identity, pl.col("accuracy") >= 0.5).select(runs)
    leads = reached.join(halves[0], on=runs).join(halves[1], on=runs)
    facts = memorised(tables["accuracy"].filter(_last()), LABELS)
    return {
        "final": final,
        **{
            name: final.filter(pl.col("world") == world)
            for name, world in zip(MAPS, final["world"].unique(maintain_order=True), strict=False)
        },
        "memorised": _in_order(facts),
        "decay_gain": gain(
            final.filter(pl.col("axis").str.starts_with("weight decay")),
            "accuracy",
            {"value": "0.01"},
            ["axis", "init", "world", "seed"],
        ),
        "alignment_tells": correlation(
            final.filter(with_identity), "accuracy", "contrast", ["world", "seed"]
        ),
        "leads": leads.with_columns(lead=pl.col("answered") - pl.col("aligned")),
    }


#: Tables of the three maps, in the order of the worlds.
MAPS = ("map_c1", "map_harder", "map_without")


def _last() -> pl.Expr:
    return pl.col("step") == pl.col("step").max().over(*LABELS, "seed")


def _in_order(table: pl.DataFrame) -> pl.DataFrame:
    """Sort rows as the axes are written down."""
    ranks = {f"{a}/{v}": i for i, (a, v) in enumerate((a, v) for a in AXES for v in AXES[a])}
    place = pl.concat_str("axis", pl.lit("/"), "value").replace_strict(ranks)
    return table.sort(place, maintain_order=True)


state = Statement(NAME, source="ours", place="our own map")


def _at(axis: str, value: str, init: str, world: str) -> dict[str, str | float | bool]:
    return {"axis": axis, "value": value, "init": init, "world": world}


CLAIMS = (
    state(
        "depth",
        "Depth matters: at C = 2 eight layers beat two (standard initialisation).",
        Target(least=0.15),
        table="final",
        column="accuracy",
        where=_at("depth", "8", "standard", "C = 2"),
        minus=_at("depth", "2", "standard", "C = 2"),
    ),
    state(
        "one-layer-fails",
        "One layer does not compose at C = 1, though Emb-MLP does.",
        Target(most=0.3),
        table="final",
        column="accuracy",
        where=_at("depth", "1", "standard", "C = 1"),
    ),
    state(
        "fixed-positions-hurt",
        "Fixed learned positions hurt: the place of r2 in a query is never trained.",
        Target(most=-0.1),
        table="final",
        column="accuracy",
        where=_at("positions", "learned, fixed start", "standard", "C = 1"),
        minus=_at("positions", "learned, random start", "standard", "C = 1"),
    ),
    state(
        "every-position-fails",
        "A loss at every position undoes the bridge at C = 1: after a bridge the model is asked "
        "to predict r2, too.",
        Target(most=0.15),
        table="final",
        column="accuracy",
        where={"axis": "loss at", "value": "every position", "world": "C = 1"},
        each=("init",),
    ),
    state(
        "warm-up-hurts",
        "A warm-up of half the training hurts (standard initialisation, C = 1).",
        Target(most=-0.1),
        table="final",
        column="accuracy",
        where=_at("warm-up", "140", "standard", "C = 1"),
        minus=_at("warm-up", "0", "standard", "C = 1"),
    ),
    state(
        "tied-head-leaks",
        "A tied head leaks: with small initialisation it composes without identity.",
        Target(least=0.15),
        table="final",
        column="accuracy",
        where=_at("head", "tied", "small", "no identity"),
    ),
    state(
        "untied-head-does-not-leak",
        "An untied head does not leak, with either initialisation.",
        Target(most=0.1),
        table="final",
        column="accuracy",
        where={"axis": "head", "value": "untied", "world": "no identity"},
        each=("init",),
    ),
    *(
        state(
            f"small-beats-standard-{axis}-{value}",
            f"Small initialisation (γ = 1.25) beats the standard one at C = 2, {axis} {value}.",
            Target(least=0.05),
            table="final",
            column="accuracy",
            where=_at(axis, value, "small", "C = 2"),
            minus=_at(axis, value, "standard", "C = 2"),
            place="Fig. 2, §4.1",
            source="identity-bridge",
        )
        for axis, values in (("width", ("32", "64", "128")), ("depth", ("2", "4", "12")))
        for value in values
    ),
    *(
        state(
            f"decay-{value}-{head}",
            f"Weight decay {value} recovers accuracy at C = 2 ({head} head; gain over 0.01).",
            Target(least=0.05),
            table="decay_gain",
            column="gain",
            where=_at(axis, value, "standard", "C = 2"),
            place="§4.4",
            source="identity-bridge",
        )
        for head, axis, values in (
            ("untied", "weight decay", ("1", "3", "10")),
            ("tied", "weight decay, tied head", ("10", "20", "30")),
        )
        for value in values
    ),
    state(
        "alignment-tells",
        "Across all settings, alignment where the answer is read tells accuracy (correlation).",
        Target(least=0.7),
        table="alignment_tells",
        column="correlation",
        each=("world",),
        place="§4.4",
        source="identity-bridge",
    ),
    state(
        "alignment-leads",
        "Wherever composition is reached, alignment leads it (steps between half-times).",
        Target(least=1.0),
        table="leads",
        column="lead",
        each=("init", "world"),
        place="Fig. 7, §4.4",
        source="identity-bridge",
    ),
)


def _map(table: str, title: str, caption: str) -> Figure:
    return Figure(
        id=table.replace("_", "-"),
        kind="sweeps",
        title=title,
        caption=caption,
        sources=(table,),
        options={
            "axis": "axis",
            "value": "value",
            "y": "accuracy",
            "series": "init",
            "y_label": "accuracy",
            "y_limits": [0, 1],
            "columns": 3,
        },
    )


FIGURES = (
    _map(
        MAPS[1],
        "C = 2 with identity",
        "Accuracy on unseen compositions (all outputs) when one setting is changed. Mean and 95% "
        "interval over fresh seeds.",
    ),
    _map(MAPS[0], "C = 1 with identity", "The same in the easiest world."),
    _map(
        MAPS[2],
        "C = 1 without identity: what leaks",
        "Without identity nothing should compose. Where it does, the setting taught the identity "
        "unasked.",
    ),
)

RECIPE = Recipe(
    name=NAME,
    title="Where the identity bridge holds",
    paper="inweights",
    place="our own map",
    summary=(
        "Changes one setting of the GPT of Figure 2 at a time: depth, width, positions, head, "
        "rate, warm-up, weight decay, γ, N and where the loss is taken; each with standard and "
        "small initialisation, at C = 1 and C = 2 with identity and at C = 1 without."
    ),
    scales={
        "smoke": Settings(
            axes=("head", "positions"),
            n=4,
            every=2,
            base=GPTTraining(
                model=GPTConfig(tied=False, layers=2, width=16),
                phase=Phase(steps=4, random_offset=True),
            ),
        ),
        "cpu": Settings(),
        "paper": Settings(complexity=3),
    },
    seeds={"smoke": 2, "cpu": 5, "paper": 16},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=("Everything: the paper prints no such map.",),
)
