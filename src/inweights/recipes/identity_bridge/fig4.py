"""Figure 4 of Identity Bridge: the optimum of program (2) with identity."""

from __future__ import annotations

from inweights.recipes.identity_bridge.common import PAPER
from inweights.recipes.identity_bridge.optimum import block, gap, least, peak, recipe

__all__ = ["RECIPE"]

state = PAPER.stating("fig4", "Fig. 4, §4.3")

CLAIMS = (
    state(
        "bridge-peaks",
        "At the optimum a bridge's row peaks on itself, and on its object among the objects.",
        peak.at(row_group="bridge").over("n", "column_group") >= 1.0,
    ),
    state(
        "subject-inherits-object",
        "A subject's row has a peak on its object, which no fact demands: the transferred memory.",
        block.at(row_group="subject", column_group="object") >= 0.1,
    ),
    state(
        "positive-margins",
        "Every composition has a positive margin (the facts have 1): the least.",
        least >= 0.01,
        place="§4.3, Thm 1",
    ),
    state(
        "certified",
        "The optimum is certified: relative gap of its norm and the bound of the closed form.",
        gap <= 1e-5,
        source="ours",
    ),
)

RECIPE = recipe(
    "fig4",
    identity=True,
    title="The optimum with identity carries the object in the subject's row",
    caption=(
        "Each row is the logit vector of a prompt at the optimum, centred; red boxes mark the "
        "largest. The subjects' rows carry a second diagonal on the objects: no fact asks for "
        "it, it makes the norm smaller. It decides the two-hop questions in (c)."
    ),
    claims=CLAIMS,
)
