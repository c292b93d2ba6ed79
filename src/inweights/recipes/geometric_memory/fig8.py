"""Figure 8 of Geometric Memory: what Node2Vec keeps, its matrix C gives up."""

from __future__ import annotations

from functools import partial

import polars as pl

from inweights.config import Config
from inweights.lab import Computation, Measure, Plan, Trial, computed, cosine, number, share
from inweights.models.configs import Node2VecConfig
from inweights.recipes.derived import at_the_end
from inweights.recipes.geometric_memory import common as gm
from inweights.recipes.geometric_memory import drawings
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

    graphs: tuple[gm.Shape, ...] = gm.GRAPHS
    descent: gm.Node2VecDescent = gm.Node2VecDescent()
    moments: tuple[int, ...] = (0, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
    long: int = 100_000
    nodes: int = 15


def plan(settings: Settings) -> Plan:
    """Descend on every graph and look at C, S, V along the way; train the cycle with autograd."""
    from inweights.probes.dynamics import along_descent, off_descent

    how = settings.descent
    computations = []
    for shape in settings.graphs:
        fixed = {"world": Graph(shape=shape), "model": how.model}
        short = {**fixed, "descent": how.learner, "record": settings.moments}
        long = {**fixed, "descent": gm.Node2VecDescent(rate=how.rate, steps=settings.long).learner}
        proven = {"look": propositions, "spaces": gm.TOP[shape]}
        look = partial(Computation, labels={"graph": shape}, compute=along_descent, seeded=True)
        computations += [
            look(name="spaces", options={**short, "look": by_space}, effort=how.steps),
            look(name="moments", options={**short, **proven}, effort=1),
            look(name="long", options={**long, **proven}, effort=settings.long),
        ]
    # The mean over facts is the sum over nodes divided by their number.
    optimizer = Optimizer(kind="sgd", rate=how.rate * settings.nodes, weight_decay=0.0)
    trained = Trial(
        labels={"graph": "cycle"},
        world=Graph(shape="cycle", n=settings.nodes),
        model=how.model,
        learner=Curriculum(phases=(Phase(steps=how.steps, optimizer=optimizer),)),
    )
    options = {"rate": how.rate, "steps": how.steps}
    measures = [Measure(name="autograd", probe=off_descent, options=options)]
    return Plan(trials=[trained], measures=measures, computations=computations)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """What the claims judge: ends, extremes over the run, and curves for the figures."""
    moments = tables["moments"]
    by = ["graph", "seed"]
    ends = at_the_end(moments, by)
    extremes = moments.group_by(by, maintain_order=True).agg(
        pl.col("s_low", "walk_low").min(),
        pl.col("s_high", "s_trace", "walk_high", "c_top", "c_second").max(),
        pl.col("outside_c", "outside_v").max(),
    )
    spaces = tables["spaces"].filter(pl.col("space") < SHOWN, pl.col("step") > 0)
    degenerate = pl.when(pl.col("space") < 0).then(pl.lit("degenerate"))
    name = degenerate.otherwise(pl.format("space {}", pl.col("space") + 1))
    shares = moments.filter(pl.col("step") > 0).unpivot(
        on=["outside_c", "outside_s", "outside_v", "outside_random"],
        index=[*by, "step"],
        variable_name="matrix",
        value_name="share",
    )
    rest = ends.select(*by, ratio=pl.col("null_gap") / pl.col("null_size"))
    before = ends.select(*by, "degenerate", "norm")
    longer = tables["long"].join(before, on=by, how="left", suffix="_before")
    longer = longer.with_columns(
        share=pl.col("degenerate") - pl.col("degenerate_before"),
        growth=pl.col("norm") / pl.col("norm_before") - 1,
    )
    return {
        "ends": ends,
        "starts": moments.filter(pl.col("step") == 0),
        "extremes": extremes,
        "curves": spaces.with_columns(name=name),
        "shares": shares,
        "rest": rest,
        "longer": longer,
        "uneven": longer.filter(pl.col("graph") != "cycle"),
    }


state = gm.PAPER.stating("fig8", "Fig. 8, App. F")
null_space, converging, prop_6, prop_7, prop_8, prop_9, remark_6 = (
    partial(state, place=place)
    for place in ("F.2", "§4.3", "Prop. 6", "Prop. 7", "Prop. 8", "Prop. 9", "Remark 6")
)

at_end = number("ends", "change").over("graph")
share_at_end = share("ends", "top").over("graph")
ever = number("extremes", "c_top").over("graph")
share_ever = share("extremes", "outside_c").over("graph")
proven = computed("extremes", "s_high").over("graph")

CLAIMS = (
    state(
        "lemma-1",
        "The closed form V ← V + ηCV is the update of autograd: relative distance at the end.",
        number("autograd", "distance") <= 1e-3,
        place="Lemma 1",
    ),
    state(
        "columns-span-fiedler",
        "The columns of V come to lie in the Fiedler-like space, though V is wider than the graph.",
        share_at_end.of("top") >= 0.9,
        place="Prop. 10",
    ),
    null_space(
        "null-space-vanishes",
        "As many eigenvalues of C as that space has dimensions vanish (largest size).",
        at_end.of("null_size") <= 0.01,
    ),
    null_space(
        "null-space-stands-apart",
        "The others do not: the next eigenvalue is several times as large.",
        number("rest", "ratio").over("graph") >= 5.0,
    ),
    null_space(
        "null-space-is-fiedler",
        "Their eigenvectors span the Fiedler-like space (sine of the largest angle).",
        share_at_end.of("null_angle") <= 0.2,
    ),
    null_space(
        "null-space-exact-on-cycle",
        "Where all degrees are equal they span it exactly (sine of the largest angle).",
        share("ends", "null_angle", graph="cycle") <= 1e-3,
        source="ours",
    ),
    converging(
        "gradient-vanishes",
        "The gradient goes to zero: ‖CV‖/‖V‖ at the end.",
        at_end.of("change") <= 0.005,
    ),
    converging(
        "converges",
        "The system converges rather than diverges: growth of ‖V‖ in ten times the steps.",
        number("longer", "growth").over("graph") <= 0.01,
    ),
    state(
        "starts-as-laplacian",
        "At the start S is the identity, so that C is the negative Laplacian (least eigenvalue).",
        number("starts", "s_low").over("graph") >= 0.99,
        place="Fact 1",
    ),
    prop_6(
        "c-keeps-eigenvectors",
        "C has the Laplacian's eigenspaces at all times (largest share outside).",
        share_ever.of("outside_c") <= 0.1,
    ),
    prop_6(
        "v-keeps-eigenvectors",
        "V Vᵀ has them at all times, the random start included (largest share outside; at the "
        "start V Vᵀ is nearly a multiple of the identity, and what is left of it is noise).",
        share_ever.of("outside_v") <= 0.1,
        source="ours",
    ),
    prop_6(
        "v-ends-with-eigenvectors",
        "V Vᵀ has them in the end (share outside).",
        share_at_end.of("outside_v") <= 0.1,
    ),
    prop_7(
        "softmax-at-most-one",
        "No eigenvalue of S is above 1, at any time and for any degrees.",
        proven.of("s_high") <= 1.0 + 1e-6,
    ),
    prop_7(
        "softmax-at-least-zero",
        "No eigenvalue of S is below 0, at any time and for any degrees.",
        proven.of("s_low") >= -1e-6,
    ),
    prop_7(
        "softmax-trace",
        "They sum to the number of nodes at most (trace over nodes).",
        proven.of("s_trace") <= 1.0,
    ),
    prop_8(
        "walk-at-most-zero",
        "The eigenvalues of P + Pᵀ − 2I are at most about 0.",
        proven.of("walk_high") <= 0.1,
    ),
    prop_8(
        "walk-at-least-minus-four", "They are at least about −4.", proven.of("walk_low") >= -4.1
    ),
    prop_9(
        "c-strictly-negative",
        "All eigenvalues of C but the degenerate ones stay below 0 at all times (the largest).",
        ever.of("c_second") <= 0.0,
        source="ours",
    ),
    prop_9(
        "c-about-negative",
        "They are approximately at most 0: never above it by more than a hundredth.",
        ever.of("c_second") <= 0.01,
    ),
    prop_9(
        "degenerate-about-zero",
        "The degenerate eigenvalue of C stays near 0 (the largest one at any time).",
        ever.of("c_top") <= 0.1,
    ),
    remark_6(
        "longer-gets-degenerate",
        "Ten times the steps make the vectors more degenerate where degrees differ (growth of that "
        "share).",
        cosine("uneven", "share").over("graph") >= 0.05,
    ),
    remark_6(
        "cycle-does-not",
        "They do not where all degrees are equal, since the degenerate eigenvalue is 0 there.",
        cosine("longer", "share", graph="cycle").within(-0.001, 0.001),
        source="ours",
    ),
)

FIGURES = (
    drawings.course(
        "coefficients",
        "curves",
        "The eigenvalues of C rise to zero, the smooth ones first",
        "Mean of vᵀCv over each eigenspace of the graph; an eigenvalue of C where C keeps the "
        "graph's eigenvectors. C starts as the negative Laplacian; the first spaces reach zero, "
        "the others come to rest below it.",
        y="coefficient",
        series="name",
        y_label="vᵀCv",
    ),
    drawings.course(
        "energies",
        "curves",
        "V keeps the degenerate and the Fiedler-like directions",
        "Root mean square length of V along the vectors of each eigenspace. All start alike, as "
        "the start is random; the rough ones are gone within some hundred steps. Where degrees "
        "differ the degenerate direction goes on growing (Remark 6).",
        y="length",
        series="name",
        y_label="length along a vector",
    ),
    drawings.course(
        "eigenvectors",
        "shares",
        "Do the matrices keep the graph's eigenvectors?",
        "Share of each matrix (its multiple of the identity left out) that leads from one "
        "eigenspace of the graph to another: 0 where Proposition 6 holds. At the start S and V Vᵀ "
        "are nearly multiples of the identity, and what is left of them is noise.",
        y="share",
        series="matrix",
        y_label="share outside",
        y_limits=(0, 1),
        labels={
            "outside_c": "C",
            "outside_s": "S + Sᵀ",
            "outside_v": "V Vᵀ",
            "outside_random": "random eigenvectors",
        },
    ),
)

RECIPE = gm.PAPER.recipe(
    "fig8",
    title="Node2Vec keeps the directions that its own matrix gives up",
    place="Figure 8, appendix F",
    summary=(
        "Follows the closed-form descent V ← V + ηCV of Node2Vec on four tiny graphs: the "
        "eigenvalues of C and of the softmax, the null space of C, and the directions in which V "
        "has energy. Lemma 1 and Propositions 6 to 10 are judged one by one."
    ),
    scales={
        "smoke": Settings(
            graphs=("cycle", "irregular"),
            descent=gm.Node2VecDescent(model=Node2VecConfig(width=24), steps=30),
            moments=(0, 1, 10),
            long=60,
        ),
        "cpu": Settings(),
        "paper": Settings(),
    },
    seeds={"smoke": 2, "cpu": 8, "paper": 16},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=(
        "moments",
        "long",
        "Fiedler-like: the first eigenspaces of P + Pᵀ − 2I that hold two dimensions (one of the "
        "star, the grid and the cycle, two of the irregular graph), and the degenerate vectors.",
        "'Approximately' is .1 for eigenvalues and shares, and .2 for the sine of an angle.",
        "Autograd takes the mean over facts, so that Lemma 1 is tried on the cycle alone.",
    ),
)
