"""Figure 5 of Identity Bridge: the optimum of program (2) for worlds without identities."""

from functools import partial

from inweights.recipes.identity_bridge import optimum

Settings = optimum.Settings
plan = partial(optimum.plan, identity=False)
derive = optimum.derive

SCORES = {
    "no-preference": optimum.block.at(
        row_group="subject", column_group="object"
    ).within(-1e-3, 1e-3),
    "blocks-equalise": optimum.block.of("spread").over("n", "row_group", "column_group")
    <= 1e-3,
    "negative-margins": optimum.most <= -0.01,
    "certified": optimum.gap <= 1e-5,
}
