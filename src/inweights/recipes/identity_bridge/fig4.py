"""Figure 4 of Identity Bridge: the optimum of program (2) for worlds with identities."""

from functools import partial

from inweights.recipes.identity_bridge import optimum

Settings = optimum.Settings
plan = partial(optimum.plan, identity=True)
derive = optimum.derive

SCORES = {
    "bridge-peaks": optimum.peak.at(row_group="bridge").over("n", "column_group")
    >= 1.0,
    "subject-inherits-object": optimum.block.at(
        row_group="subject", column_group="object"
    )
    >= 0.1,
    "positive-margins": optimum.least >= 0.01,
    "certified": optimum.gap <= 1e-5,
}
