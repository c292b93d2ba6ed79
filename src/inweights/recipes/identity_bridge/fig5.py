"""Figure 5 of Identity Bridge: the optimum of program (2) without identity."""

from __future__ import annotations

from inweights.recipes.claim import Statement, Target
from inweights.recipes.identity_bridge.common import PAPER, SOURCE
from inweights.recipes.identity_bridge.optimum import SCALES, SEEDS, derive, figure, planner
from inweights.recipes.recipe import Recipe

__all__ = ["RECIPE"]

NAME = "identity-bridge/fig5"
state = Statement(NAME, source=SOURCE, place="Fig. 5, §4.3")

CLAIMS = (
    state(
        "no-preference",
        "At the optimum a subject's row does not prefer its own object to other objects (logits).",
        Target(least=-1e-3, most=1e-3),
        table="blocks",
        column="contrast",
        where={"row_group": "subject", "column_group": "object"},
        each=("n",),
        exact=True,
    ),
    state(
        "blocks-equalise",
        "The logits of a block that are not labels are all equal: their range.",
        Target(most=1e-3),
        table="blocks",
        column="spread",
        each=("n", "row_group", "column_group"),
        exact=True,
    ),
    state(
        "negative-margins",
        "Every composition has a negative margin (the facts have 1).",
        Target(most=-0.01),
        table="compositions",
        column="margin",
        each=("n",),
        exact=True,
        place="§4.3, Thm 2",
    ),
    state(
        "certified",
        "The optimum is certified: the relative gap of every solution.",
        Target(most=1e-5),
        table="program",
        column="value",
        where={"check": "gap"},
        each=("n",),
        exact=True,
        source="ours",
    ),
)

RECIPE = Recipe(
    name=NAME,
    title="The optimum without identity tells nothing about the object",
    paper=PAPER,
    place="Figure 5, §4.3",
    summary=(
        "Solves program (2), the least nuclear norm under all margins, for the two-hop world of "
        "complexity one without identities, and reads the optimal W. Nothing is trained."
    ),
    scales=SCALES,
    seeds=SEEDS,
    plan=planner(identity=False),
    derive=derive,
    claims=CLAIMS,
    figures=(
        figure(
            "As Figure 4, without identities. The objects' block of the subjects' rows is flat: "
            "on the right every two-hop question is answered with the bridge.",
            "The optimal W without identity",
        ),
    ),
    ours=("N = 5 to 50; the paper does not print the size of its Figures 4 and 5.",),
)
