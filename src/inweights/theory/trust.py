"""How far off a forecast was where it was measured, for facts like these."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from inweights.theory.prediction import Prediction
    from inweights.worlds.world import World

__all__ = ["ERRORS", "SKEWED", "popularity", "trust"]

#: Mean distance of expected and measured accuracy of a world, least and most of what was measured
#: in families of them (docs/predict.md): Emb-MLP and GPT from scratch.
ERRORS = {
    "even": ((0.05, 0.31), (0.06, 0.11)),
    "skewed": ((0.09, 0.31), (0.08, 0.18)),
}
#: Share of the single chains of three facts of a world on which trained networks agreed with it.
CHAINS = (0.45, 1.0)
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
    """Return what to expect of a forecast, in a few sentences.

    Example:
        >>> from inweights.theory import predict
        >>> from inweights.worlds import Hops
        >>> chains = predict(Hops(n=3, hops=3).build(), advise=False)
        >>> "to single chains of three facts" in trust(chains)
        True
    """
    kind = "skewed" if popularity(prediction.solution.program.world) > SKEWED else "even"
    emb_mlp, gpt = ERRORS[kind]
    where = (
        "where a few answers are in many facts, as here" if kind == "skewed" else "on such facts"
    )
    chains = ""
    if (prediction.queries["role"] == "chain").any():
        chains = (
            "It does not apply to single chains of three facts or more: of these networks answered "
            f"{CHAINS[0]:.2f} to {CHAINS[1]:.2f} as forecast; try --by training. "
        )
    return (
        f"expected error: {where}, trained networks were off by {emb_mlp[0]:.2f} to "
        f"{emb_mlp[1]:.2f} (without attention) and {gpt[0]:.2f} to {gpt[1]:.2f} (GPT) in the "
        f"accuracy of a set of questions. {chains}Of a pretrained model this says little: there "
        "identities changed nothing that could be measured (+.03 ± .10)"
    )
