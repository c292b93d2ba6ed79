"""Explain how reliable a prediction is, by its errors for similar facts.

:func:`trust`, :func:`meaning` and :func:`propose_training` return the sentences that
``audit`` and the command ``predict`` print below a prediction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from inweights.theory.prediction.calibration.fitted import LIKELY, UNLIKELY, calibration

if TYPE_CHECKING:
    from inweights.theory.prediction.prediction import Prediction
    from inweights.worlds.world import Statements

#: Smallest and largest fraction, over worlds, of single chains of three facts that
#: trained networks answered as predicted.
CHAINS = (0.13, 0.97)
#: Fraction of open queries from which on training is proposed.
UNCERTAIN = 0.25
#: Processor seconds of ``--by training`` with 8 replicas: a constant, and the seconds
#: per fact.
SECONDS = (3.0, 0.06)
#: The same for reversals with phrased identities, if 2 and 10 of 20 reversals are
#: stated (reversal-curse/told-reversals).
PHRASED = (0.03, 1.0)


def trust(prediction: Prediction) -> str:
    """Return sentences that state the expected errors of a prediction.

    Args:
        prediction: Result of :func:`inweights.predict`.

    Returns:
        Text that names the family of trained worlds most similar to the predicted world
        and the errors of predictions there, and the kinds of queries to which the
        prediction does not apply.
    """
    near = prediction.nearest
    known = calibration()
    errors = " and ".join(
        f"{error:.2f} ({model})" for model, error in near.error.items()
    )
    besides = ""
    subject = "The program's verdict" if near.vague else "It"
    if (prediction.queries["role"] == "chain").any():
        besides = (
            f"{subject} does not apply to individual chains of three facts or more, of which "
            f"networks answered {CHAINS[0]:.2f} to {CHAINS[1]:.2f} as predicted; try --by "
            "training. "
        )
    if has_phrased(prediction.world.facts):
        besides += (
            f"{subject} does not apply to effects of phrased identities without decay in training: "
            f"networks answered {PHRASED[0]:.2f} to {PHRASED[1]:.2f} as predicted, and more than "
            "predicted if few reversals are stated; try --by training. "
        )
    expected = (
        f"Expected error of the share of right answers, for nine in ten files: {errors}, measured "
        f"on the nearest of {len(known.families)} families of trained worlds, '{near.name}' "
        f"({near.distance:.1f} of its radius)"
    )
    if near.far:
        expected = (
            "These facts are unlike all families of trained worlds, of which there are "
            f"{len(known.families)} (nearest: '{near.name}', {near.distance:.1f} of its radius), "
            "so that how often trained networks answer them is not known without training"
        )
    elif near.vague:
        expected += ", which is too large to call an answer likely or unlikely"
    return (
        f"{expected}. {besides}Of a pretrained model this says little: there identities changed "
        "nothing that could be measured (+.03 ± .10)"
    )


def meaning(prediction: Prediction) -> str:
    """Return an explanation of a prediction's terms in one or two sentences.

    Args:
        prediction: Result of :func:`inweights.predict`.
    """
    known = calibration()
    program = (
        "Follows, tied and fails are what the optimum of the program does, up to its "
        "certified gap."
    )
    if prediction.nearest.vague:
        return program
    return (
        f"{program} Likely (p at least {LIKELY:.2f}), unlikely (at most {UNLIKELY:.2f}) and open "
        f"are what trained networks do, by a fit to 4 or {known.replicas} replicas on each of "
        f"{known.worlds} worlds."
    )


def propose_training(prediction: Prediction) -> str:
    """Return a sentence that recommends training small models if a prediction is unreliable.

    A prediction is unreliable if at least a quarter of the queries have the outlook
    ``open``, or if the fit of the probabilities is too uncertain for this world
    (:attr:`.Nearest.vague`).

    Args:
        prediction: Result of :func:`inweights.predict`.

    Returns:
        The sentence, with an estimate of the training time in seconds; an empty string
        if the prediction is reliable.
    """
    words = prediction.probabilities["outlook"]
    uncertain = (words == "open").sum() / max(len(words), 1)
    unknown = prediction.nearest.vague
    if uncertain < UNCERTAIN and not unknown:
        return ""
    facts = len(prediction.solution.program.world.facts)
    seconds = SECONDS[0] + SECONDS[1] * facts
    why = "This prediction is uncertain"
    if unknown:
        why = "How trained networks answer is not known here"
    return (
        f"{why}: --by training trains 8 replicas of each model on these "
        f"facts, about {seconds:.0f} s (--replicas 4: {seconds / 2:.0f} s)"
    )


def has_phrased(facts: Statements) -> bool:
    """Return whether an identity has more than one token in its prompt, such as ``(a, same) → a``.

    Args:
        facts: Facts of a world; identities are those with the role ``identity``.
    """
    roles = [i for i, name in enumerate(facts.role_names) if name == "identity"]
    lengths = np.diff(facts.prompt_ends, prepend=0)
    return bool((np.isin(facts.roles, roles) & (lengths > 1)).any())
