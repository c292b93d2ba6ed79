"""Figure 4 of Identity Bridge: the optimum of program (2) with identity."""

from __future__ import annotations

from functools import partial

from inweights.recipes.identity_bridge.optimum import (
    SCALES,
    VERSION,
    block,
    derive,
    gap,
    least,
    peak,
    plan,
)
from inweights.recipes.papers import recipe

SCORES = {
    "bridge-peaks": peak.at(row_group="bridge").over("n", "column_group") >= 1.0,
    "subject-inherits-object": block.at(row_group="subject", column_group="object") >= 0.1,
    "positive-margins": least >= 0.01,
    "certified": gap <= 1e-5,
}

RECIPE = recipe(
    __name__,
    scales=SCALES,
    seeds=1,
    plan=partial(plan, identity=True),
    derive=derive,
    version=VERSION,
)
