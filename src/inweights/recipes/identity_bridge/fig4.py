"""Figure 4 of Identity Bridge: the optimum of program (2) with identity."""

from __future__ import annotations

from inweights.recipes.claim import Statement, Target
from inweights.recipes.identity_bridge.common import PAPER, SOURCE
from inweights.recipes.identity_bridge.optimum import SCALES, SEEDS, derive, figure, planner
from inweights.recipes.recipe import Recipe

__all__ = ["RECIPE"]

NAME = "identity-bridge/fig4"
state = Statement(NAME, source=SOURCE, place="Fig. 4, §4.3")

CLAIMS = (
    state(
        "bridge-peaks",
        "At the optimum a bridge's row peaks on itself, and on its object among the objects.",
        Target(least=1.0),
        table="peaks",
        column="own",
        where={"row_group": "bridge"},
        each=("n", "column_group"),
        exact=True,
    ),
    state(
        "subject-inherits-object",
        "A subject's row has a peak on its object, which no fact demands: the transferred memory.",
        Target(least=0.1),
        table="blocks",
        column="contrast",
        where={"row_group": "subject", "column_group": "object"},
        each=("n",),
        exact=True,
    ),
    state(
        "positive-margins",
        "Every composition has a positive margin (the facts have 1).",
        Target(least=0.01),
        table="compositions",
        column="margin",
        each=("n",),
        exact=True,
        place="§4.3, Thm 1",
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
    title="The optimum with identity carries the object in the subject's row",
    paper=PAPER,
    place="Figure 4, §4.3",
    summary=(
        "Solves program (2), the least nuclear norm under all margins, for the two-hop world of "
        "complexity one with identities, and reads the optimal W. Nothing is trained."
    ),
    scales=SCALES,
    seeds=SEEDS,
    plan=planner(identity=True),
    derive=derive,
    claims=CLAIMS,
    figures=(
        figure(
            "Each row is the logit vector of a prompt at the optimum, centred; red boxes mark the "
            "largest. The subjects' rows carry a second diagonal on the objects: no fact asks for "
            "it, it makes the norm smaller. It decides the two-hop questions on the right.",
            "The optimal W with identity",
        ),
    ),
    ours=("N = 5 to 50; the paper does not print the size of its Figures 4 and 5.",),
)
