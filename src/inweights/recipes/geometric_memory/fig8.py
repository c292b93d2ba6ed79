"""Figure 8 of Geometric Memory: what Node2Vec keeps, its matrix C gives up."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from inweights.config import Config
from inweights.models.node2vec import Node2VecConfig
from inweights.probes.dynamics import along_descent, off_descent
from inweights.recipes.geometric_memory.common import GRAPHS, PAPER, TOP, Descent
from inweights.recipes.geometric_memory.fig8_claims import CLAIMS, NAME
from inweights.recipes.recipe import Deduction, Figure, Measure, Plan, Recipe, Trial
from inweights.theory.stabilisation import by_space, propositions
from inweights.training.curriculum import Curriculum, Optimizer, Phase
from inweights.worlds.graph import Graph

__all__ = ["RECIPE", "Settings"]

#: Spaces that the figures show, from the smoothest.
SHOWN = 5


class Settings(Config):
    """Settings of Figure 8.

    Attributes:
        graphs: Which of the four graphs.
        descent: How Node2Vec descends; wider than any of the graphs has nodes.
        moments: Steps at which the matrices are looked at, besides the last one.
        long: Updates of a descent ten times as long, for Remark 6.
        nodes: Nodes of the cycle that autograd trains.
    """

    graphs: tuple[str, ...] = GRAPHS
    descent: Descent = Descent()
    moments: tuple[int, ...] = (0, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
    long: int = 100_000
    nodes: int = 15


def plan(settings: Settings, seeds: Sequence[int]) -> Plan:
    """Descend on every graph and look at C, S, V along the way; train the cycle with autograd."""
    how = settings.descent
    deductions = []
    for shape in settings.graphs:
        world = Graph(shape=shape)  # type: ignore[arg-type]
        for seed in seeds:
            fixed = {"world": world, "seed": seed, "model": how.model, "rate": how.rate}
            short = {**fixed, "steps": how.steps, "record": settings.moments}
            last = {**fixed, "steps": settings.long, "spaces": TOP[shape]}
            for name, look, options, effort in (
                ("spaces", by_space, short, how.steps),
                ("moments", propositions, {**short, "spaces": TOP[shape]}, 1),
                ("long", propositions, last, settings.long),
            ):
                deductions.append(
                    Deduction(
                        name=name,
                        labels={"graph": shape},
                        seed=seed,
                        compute=along_descent,
                        options={"look": look, **options},
                        effort=effort,
                    )
                )
    # The mean over facts is the sum over nodes divided by their number.
    optimizer = Optimizer(kind="sgd", rate=how.rate * settings.nodes, weight_decay=0.0)
    trials = [
        Trial(
            labels={"graph": "cycle"},
            world=Graph(shape="cycle", n=settings.nodes),
            model=how.model,
            curriculum=Curriculum(phases=(Phase(steps=how.steps, optimizer=optimizer),)),
            seed=seed,
        )
        for seed in seeds
    ]
    options = {"rate": how.rate, "steps": how.steps}
    measures = [Measure(name="autograd", probe=off_descent, options=options)]
    return Plan(deductions=deductions, trials=trials, measures=measures)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """What the claims judge: ends, extremes over the run, and curves for the figures."""
    moments = tables["moments"]
    by = ["graph", "seed"]
    ends = moments.filter(pl.col("step") == pl.col("step").max())
    extremes = moments.group_by(by, maintain_order=True).agg(
        s_low=pl.col("s_low").min(),
        s_high=pl.col("s_high").max(),
        s_trace=pl.col("s_trace").max(),
        walk_low=pl.col("walk_low").min(),
        walk_high=pl.col("walk_high").max(),
        c_top=pl.col("c_top").max(),
        c_second=pl.col("c_second").max(),
        outside_c=pl.col("outside_c").max(),
        outside_s=pl.col("outside_s").max(),
        outside_v=pl.col("outside_v").max(),
    )
    spaces = (
        tables["spaces"]
        .filter(pl.col("space") < SHOWN, pl.col("step") > 0)
        .with_columns(
            name=pl.when(pl.col("space") < 0)
            .then(pl.lit("degenerate"))
            .otherwise("space " + (pl.col("space") + 1).cast(pl.String))
        )
    )
    shares = moments.filter(pl.col("step") > 0).unpivot(
        on=["outside_c", "outside_s", "outside_v", "outside_random"],
        index=[*by, "step"],
        variable_name="matrix",
        value_name="share",
    )
    rest = ends.select(*by, ratio=pl.col("null_gap") / pl.col("null_size"))
    before = ends.select(*by, _share="degenerate", _norm="norm")
    longer = (
        tables["long"]
        .join(before, on=by, how="left")
        .with_columns(
            share=pl.col("degenerate") - pl.col("_share"),
            growth=pl.col("norm") / pl.col("_norm") - 1,
        )
    )
    return {
        "ends": ends,
        "starts": moments.filter(pl.col("step") == 0),
        "extremes": extremes,
        "curves": spaces,
        "shares": shares,
        "rest": rest,
        "longer": longer,
        "uneven": longer.filter(pl.col("graph") != "cycle"),
    }


_LOG = {"x": "step", "facet": "graph", "x_log": True, "x_label": "step", "columns": 2}

FIGURES = (
    Figure(
        id="coefficients",
        kind="lines",
        title="The eigenvalues of C rise to zero, the smooth ones first",
        caption=(
            "Mean of vᵀCv over each eigenspace of the graph; an eigenvalue of C where C keeps the "
            "graph's eigenvectors. C starts as the negative Laplacian; the first spaces reach "
            "zero, the others come to rest below it."
        ),
        sources=("curves",),
        options={**_LOG, "y": "coefficient", "series": "name", "y_label": "vᵀCv"},
    ),
    Figure(
        id="energies",
        kind="lines",
        title="V keeps the degenerate and the Fiedler-like directions",
        caption=(
            "Root mean square length of V along the vectors of each eigenspace. All start alike, "
            "as the start is random; the rough ones are gone within some hundred steps. Where "
            "degrees differ the degenerate direction goes on growing (Remark 6)."
        ),
        sources=("curves",),
        options={**_LOG, "y": "length", "series": "name", "y_label": "length along a vector"},
    ),
    Figure(
        id="eigenvectors",
        kind="lines",
        title="Do the matrices keep the graph's eigenvectors?",
        caption=(
            "Share of each matrix (its multiple of the identity left out) that leads from one "
            "eigenspace of the graph to another: 0 where Proposition 6 holds. At the start S and "
            "V Vᵀ are nearly multiples of the identity, and what is left of them is noise."
        ),
        sources=("shares",),
        options={
            **_LOG,
            "y": "share",
            "series": "matrix",
            "y_label": "share outside",
            "y_limits": [0, 1],
            "labels": {
                "outside_c": "C",
                "outside_s": "S + Sᵀ",
                "outside_v": "V Vᵀ",
                "outside_random": "random eigenvectors",
            },
        },
    ),
)

_MINI = Settings(
    graphs=("cycle",), descent=Descent(model=Node2VecConfig(width=24), steps=30),
    moments=(0, 1, 10), long=60,
)  # fmt: skip

RECIPE = Recipe(
    name=NAME,
    title="Node2Vec keeps the directions that its own matrix gives up",
    paper=PAPER,
    place="Figure 8, appendix F",
    summary=(
        "Follows the closed-form descent V ← V + ηCV of Node2Vec on four tiny graphs: the "
        "eigenvalues of C and of the softmax, the null space of C, and the directions in which V "
        "has energy. Lemma 1 and Propositions 6 to 10 are judged one by one."
    ),
    scales={"smoke": _MINI, "cpu": Settings(), "paper": Settings()},
    seeds={"smoke": 2, "cpu": 8, "paper": 16},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=(
        "Fiedler-like: the first eigenspaces of P + Pᵀ − 2I that hold two dimensions (one of the "
        "star, the grid and the cycle, two of the irregular graph), and the degenerate vectors.",
        "'Approximately' is .1 for eigenvalues and shares, and .2 for the sine of an angle.",
        "Autograd takes the mean over facts, so that Lemma 1 is tried on the cycle alone.",
    ),
)
