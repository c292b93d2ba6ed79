"""Figure 5 of Identity Bridge: the optimum of program (2) without identity."""

from __future__ import annotations

from functools import partial

from inweights.recipes.identity_bridge.optimum import (
    SCALES,
    VERSION,
    block,
    derive,
    gap,
    most,
    plan,
)
from inweights.recipes.papers import recipe

SCORES = {
    "no-preference": block.at(row_group="subject", column_group="object").within(-1e-3, 1e-3),
    "blocks-equalise": block.of("spread").over("n", "row_group", "column_group") <= 1e-3,
    "negative-margins": most <= -0.01,
    "certified": gap <= 1e-5,
}

RECIPE = recipe(
    __name__,
    scales=SCALES,
    seeds=1,
    plan=partial(plan, identity=False),
    derive=derive,
    version=VERSION,
)
