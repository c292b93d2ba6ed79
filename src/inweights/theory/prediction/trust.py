"""Explain how reliable a prediction is, given the errors of predictions for similar facts.

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
#: Fraction of open queries at which training is proposed.
UNCERTAIN = 0.25
#: Processor seconds of ``--by training`` with 8 replicas: a constant, and the seconds
#: per fact.
SECONDS = (3.0, 0.06)
#: Smallest and largest fraction of reversals with phrased identities that trained
#: networks answered as predicted, if 2 and 10 of 20 reversals are stated
#: (reversal-curse/told-reversals).
PHRASED = (0.03, 1.0)
#: Effect of identity facts on the accuracy of two-hop questions in a pretrained model,
#: with its interval (beyond/does-the-bridge-help/identity-helps).
PRETRAINED = "-0.08 (-0.17 to 0.08)"


def trust(prediction: Prediction) -> str:
    """Return sentences that state the expected errors of a prediction.

    Args:
        prediction: Result of :func:`inweights.predict`.

    Returns:
        Text that names the family of calibration worlds that is most similar to the
        predicted world, the errors of predictions in this family, and the kinds of
        queries to which the prediction does not apply.
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
            f"{subject} does not apply to individual chains of three or more facts, of which "
            f"networks answered {CHAINS[0]:.2f} to {CHAINS[1]:.2f} as predicted; try --by "
            "training. "
        )
    if has_phrased(prediction.world.facts):
        besides += (
            f"{subject} does not apply to effects of identities with longer prompts, "
            "(a, same) → a, in training without weight decay: "
            f"networks answered {PHRASED[0]:.2f} to {PHRASED[1]:.2f} as predicted, and more than "
            "predicted if few reversals are stated; try --by training. "
        )
    expected = (
        "In nine of ten files, the error of the predicted share of correct answers is expected to "
        f"be at most {errors}, as measured on the nearest of {len(known.families)} families of "
        f"trained worlds, '{near.name}' ({near.distance:.1f} of its radius)"
    )
    if near.far:
        expected = (
            "These facts are unlike all families of trained worlds, of which there are "
            f"{len(known.families)} (nearest: '{near.name}', {near.distance:.1f} of its radius), "
            "so it is not known, without training, how often networks answer them correctly"
        )
    elif near.vague:
        expected += ", which is too large to rate an answer as likely or unlikely"
    return (
        f"{expected}. {besides}For a pretrained model, this says little: there, adding identities "
        f"changed the accuracy of two-hop questions by {PRETRAINED}"
    )


def meaning(prediction: Prediction) -> str:
    """Return an explanation of a prediction's terms in one or two sentences.

    Args:
        prediction: Result of :func:`inweights.predict`.
    """
    known = calibration()
    program = (
        "Follows, tied and fails describe the optimum of the program, up to its certified "
        "gap."
    )
    if prediction.nearest.vague:
        return program
    return (
        f"{program} Likely (p at least {LIKELY:.2f}), unlikely (at most {UNLIKELY:.2f}) and open "
        f"describe trained networks, by a fit to 4 or {known.replicas} replicas on each of "
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
        why = "How trained networks answer these queries is not known"
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
