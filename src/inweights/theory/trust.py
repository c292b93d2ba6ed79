"""How far off a forecast was where it was measured, for facts like these."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from inweights.theory.prediction import Prediction
    from inweights.worlds.world import World

__all__ = ["ERRORS", "SKEWED", "popularity", "trust"]

#: Mean distance of expected and measured accuracy of a world: Emb-MLP and GPT from scratch.
ERRORS = {"even": (0.05, 0.06), "skewed": (0.09, 0.18)}
#: Facts are skewed whose popularity is above this.
SKEWED = 2.0


def popularity(world: World) -> float:
    """Return how much more often two facts share an answer than if all answers were as frequent.

    1 where all answers are; the number of answers where there is one that all facts have.

    Example:
        >>> from inweights.worlds import TwoHop
        >>> popularity(TwoHop(n=5, identity=False).build())  # each bridge and object once
        1.0
    """
    counts = np.bincount(np.searchsorted(world.outputs, world.facts.answers)).astype(float)
    counts = counts[counts > 0]
    return float(len(counts) * (counts**2).sum() / counts.sum() ** 2)


def trust(prediction: Prediction) -> str:
    """Return what to expect of a forecast, in a sentence or two."""
    kind = "skewed" if popularity(prediction.solution.program.world) > SKEWED else "even"
    emb_mlp, gpt = ERRORS[kind]
    where = (
        "where a few answers are in many facts, as here" if kind == "skewed" else "on such facts"
    )
    return (
        f"expected error: {where}, trained networks were off by {emb_mlp:.2f} (without attention) "
        f"and {gpt:.2f} (GPT) in the accuracy of a set of questions. Of a pretrained model this "
        "says little: there identities changed nothing that could be measured (+.03 ± .10)"
    )
