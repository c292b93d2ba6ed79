"""How far off a forecast was where it was measured, for facts like these."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inweights.theory.prediction import Prediction

__all__ = ["CHAINS", "COMPANY", "ERRORS", "WITHOUT", "trust"]

#: Distance of expected and measured accuracy of a world, least and most of the means of twelve
#: families of 20 worlds (beyond/predicted-composition): Emb-MLP and GPT, from scratch.
ERRORS = ((0.0, 0.18), (0.01, 0.25))
#: The same of GPT where no bridge has an identity and a few answers are in many facts.
WITHOUT = 0.45
#: The same of both on one company's 166 facts with all identities.
COMPANY = 0.5
#: Share of the single chains of three facts of a world on which trained networks agreed with it.
CHAINS = (0.13, 0.97)


def trust(prediction: Prediction) -> str:
    """Return what to expect of a forecast, in a few sentences.

    Example:
        >>> from inweights.theory import predict
        >>> from inweights.worlds import Hops
        >>> chains = predict(Hops(n=3, hops=3).build(), advise=False)
        >>> "to single chains of three facts" in trust(chains)
        True
    """
    emb_mlp, gpt = ERRORS
    chains = ""
    if (prediction.queries["role"] == "chain").any():
        chains = (
            "It does not apply to single chains of three facts or more: of these networks answered "
            f"{CHAINS[0]:.2f} to {CHAINS[1]:.2f} as forecast; try --by training. "
        )
    return (
        f"expected error: trained networks were off by {emb_mlp[0]:.2f} to {emb_mlp[1]:.2f} "
        f"(without attention) and {gpt[0]:.2f} to {gpt[1]:.2f} (GPT; {WITHOUT:.2f} where no bridge "
        "has an identity) in the accuracy of a set of questions, on the facts of one company by "
        f"{COMPANY:.2f}. {chains}Of a pretrained model this says little: there identities changed "
        "nothing that could be measured (+.03 ± .10)"
    )
