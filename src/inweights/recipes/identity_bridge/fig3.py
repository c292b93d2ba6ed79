"""Figure 3 of Identity Bridge: the logit templates of Emb-MLP at complexity one."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from inweights.config import Config
from inweights.probes import accuracy, margins, templates
from inweights.recipes.claim import Statement, Target
from inweights.recipes.derived import compositions, extremes, memorised, own_peaks
from inweights.recipes.identity_bridge.common import PAPER, SOURCE, EmbMLPTraining
from inweights.recipes.recipe import Figure, Measure, Plan, Recipe, Trial
from inweights.worlds.two_hop import TwoHop

__all__ = ["RECIPE", "Settings"]

NAME = "identity-bridge/fig3"
LABELS = ("n", "identity")


class Size(Config):
    """One size of the world, and the training that suits it."""

    n: int
    training: EmbMLPTraining = EmbMLPTraining()


class Settings(Config):
    """Settings of Figure 3.

    Attributes:
        shown: The ``N`` whose templates are drawn and judged.
        sizes: All ``N``, each with its training.
    """

    shown: int = 10
    sizes: tuple[Size, ...] = (
        Size(n=10, training=EmbMLPTraining(rate=1.0, steps=5000)),
        Size(n=20, training=EmbMLPTraining(rate=2.0, steps=5000)),
        Size(n=50, training=EmbMLPTraining(rate=5.0, steps=4000, width=128)),
    )


def plan(settings: Settings, seeds: Sequence[int]) -> Plan:
    """Emb-MLP at complexity one, for every ``N``, with and without identity."""
    trials = [
        Trial(
            labels={"n": size.n, "identity": identity},
            world=TwoHop(n=size.n, complexity=1, identity=identity),
            model=size.training.model,
            curriculum=size.training.curriculum,
            seed=seed,
        )
        for size in settings.sizes
        for identity in (True, False)
        for seed in seeds
    ]
    shown: dict[str, str | float | bool] = {"n": settings.shown}
    measures = [
        Measure(name="accuracy", probe=accuracy),
        Measure(name="margins", probe=margins),
        *(
            Measure(name=name, probe=templates, options={"rows": rows}, where=shown)
            for name, rows in (
                ("tokens", "tokens"),
                ("one_hop", "first_hop"),
                ("two_hop", "composition"),
            )
        ),
    ]
    return Plan(trials=trials, measures=measures)


_PANELS = (
    ("tokens", True, "(a) single tokens, with identity"),
    ("one_hop", True, "(b) one hop (a, r1), with identity"),
    ("two_hop", True, "(c) two hops (a, r1, r2), with identity"),
    ("tokens", False, "(a′) single tokens, without"),
    ("one_hop", False, "(b′) one hop, without"),
    ("two_hop", False, "(d) two hops, without"),
)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Panels of the figure, and who wins in each row of the templates."""
    first = tables["tokens"]["seed"].min()
    panels = pl.concat(
        tables[name]
        .filter(pl.col("identity") == identity, pl.col("seed") == first)
        .with_columns(panel=pl.lit(title))
        for name, identity, title in _PANELS
    )
    selectors = (
        tables["tokens"]
        .filter(pl.col("row_group").str.ends_with("relation"))
        .group_by("seed", *LABELS, "row_group", maintain_order=True)
        .agg(
            toward_bridges=pl.col("value").filter(pl.col("column_group") == "bridge").mean()
            - pl.col("value").filter(pl.col("column_group") == "object").mean()
        )
    )
    return {
        "panels": panels,
        "peaks": own_peaks(tables["tokens"], ("seed", *LABELS)),
        "selectors": selectors,
        "compositions": compositions(tables["accuracy"]),
        "memorised": memorised(tables["accuracy"], LABELS),
        "extremes": extremes(tables["margins"], LABELS),
    }


state = Statement(NAME, source=SOURCE, place="Fig. 3, §4.2")

CLAIMS = (
    state(
        "r1-selects-bridges",
        "r1 selects the bridges: its row is higher on bridges than on objects (logits).",
        Target(least=0.5),
        table="selectors",
        column="toward_bridges",
        where={"row_group": "first_relation"},
        each=("identity",),
    ),
    state(
        "r2-selects-objects",
        "r2 selects the objects: its row is lower on bridges than on objects (logits).",
        Target(most=-0.5),
        table="selectors",
        column="toward_bridges",
        where={"row_group": "second_relation"},
        each=("identity",),
    ),
    state(
        "bridge-rows-peak",
        "With identity a bridge's row peaks on itself, and on its object among the objects.",
        Target(least=0.99),
        table="peaks",
        column="own",
        where={"identity": True, "row_group": "bridge"},
        each=("column_group",),
    ),
    state(
        "subject-inherits-peak",
        "With identity a subject's row inherits a peak on its object.",
        Target(least=0.99),
        table="peaks",
        column="own",
        where={"identity": True, "row_group": "subject", "column_group": "object"},
    ),
    state(
        "no-peak-without",
        "Without identity a subject's row tells little about its object: the peak is at chance.",
        Target(most=0.25),
        table="peaks",
        column="own",
        where={"identity": False, "row_group": "subject", "column_group": "object"},
    ),
    state(
        "composes",
        "With identity the sum of the rows selects the right object, for every N.",
        Target(least=0.995),
        table="compositions",
        column="accuracy",
        where={"identity": True},
        each=("n",),
    ),
    state(
        "fails-without",
        "Without identity it selects it never, for every N.",
        Target(most=0.005),
        table="compositions",
        column="accuracy",
        where={"identity": False},
        each=("n",),
    ),
    state(
        "margins-positive",
        "With identity the least margin over all queries is positive (logits), as Theorem 1 says.",
        Target(least=0.0),
        table="extremes",
        column="least",
        where={"identity": True},
        each=("n",),
        place="§4.3, Thm 1",
    ),
    state(
        "margins-negative",
        "Without identity the largest margin over all queries is negative (logits; Theorem 2).",
        Target(most=0.0),
        table="extremes",
        column="largest",
        where={"identity": False},
        each=("n",),
        place="§4.3, Thm 2",
    ),
    state(
        "one-hop-known",
        "One-hop sums select the right token: every fact is memorised.",
        Target(least=0.999),
        table="memorised",
        column="accuracy",
        each=LABELS,
    ),
)

FIGURES = (
    Figure(
        id="templates",
        kind="heatmaps",
        title="Logit templates with identity (top) and without (bottom)",
        caption=(
            "Each row is the logit vector of a prompt, centred; red boxes mark the largest. With "
            "identity the subject rows carry a second diagonal, on the objects: that is what "
            "lets (a, r1, r2) find c. Without it the objects' block of the subjects is flat."
        ),
        sources=("panels",),
        options={
            "panel": "panel",
            "row": "row",
            "column": "column",
            "value": "value",
            "box": "top",
            "row_group": "row_group",
            "column_group": "column_group",
            "order": [title for *_, title in _PANELS],
            "value_label": "logit, centred by row",
            "columns": 3,
        },
    ),
)

RECIPE = Recipe(
    name=NAME,
    title="Identity writes the object into the subject's row",
    paper=PAPER,
    place="Figure 3, §4.2",
    summary=(
        "Trains Emb-MLP by gradient descent on the two-hop world of complexity one, and reads its "
        "row-wise logit templates W = E W_proj: what each token adds to every output."
    ),
    scales={
        "smoke": Settings(shown=4, sizes=(Size(n=4, training=EmbMLPTraining(steps=40, width=16)),)),
        "cpu": Settings(),
        "paper": Settings(),
    },
    seeds={"smoke": 2, "cpu": 8, "paper": 16},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=("Full-batch gradient descent from σ = 0.01, rates 1, 2, 5 and widths 64, 64, 128.",),
)
