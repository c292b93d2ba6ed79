"""Figure 5 of Identity Bridge: the optimum of program (2) without identity."""

from __future__ import annotations

from inweights.recipes.identity_bridge.common import PAPER
from inweights.recipes.identity_bridge.optimum import block, gap, most, recipe

__all__ = ["RECIPE"]

state = PAPER.stating("fig5", "Fig. 5, §4.3")

CLAIMS = (
    state(
        "no-preference",
        "At the optimum a subject's row does not prefer its own object to other objects (logits).",
        block.at(row_group="subject", column_group="object").within(-1e-3, 1e-3),
    ),
    state(
        "blocks-equalise",
        "The logits of a block that are not labels are all equal: their range.",
        block.of("spread").over("n", "row_group", "column_group") <= 1e-3,
    ),
    state(
        "negative-margins",
        "Every composition has a negative margin (the facts have 1): the largest.",
        most <= -0.01,
        place="§4.3, Thm 2",
    ),
    state(
        "certified",
        "The optimum is certified: relative gap of its norm and the bound of the closed form.",
        gap <= 1e-5,
        source="ours",
    ),
)

RECIPE = recipe(
    "fig5",
    identity=False,
    title="The optimum without identity tells nothing about the object",
    caption=(
        "As Figure 4, without identities. The objects' block of the subjects' rows is flat: "
        "in (c) every two-hop question is answered with the bridge."
    ),
    claims=CLAIMS,
)
