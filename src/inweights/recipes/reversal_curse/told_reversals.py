"""Facts that are told one way and asked the other: what identities and a few examples do."""

from __future__ import annotations

from functools import partial

from inweights import lab
from inweights.config import Config
from inweights.recipes import kinds
from inweights.worlds.reversal import Reversal

__all__ = ["RECIPE", "Settings"]

PAPER = lab.Paper("reversal-curse", "Breaking the Reversal Curse via Identity Bridge")


class Settings(Config):
    """Settings of the experiment.

    Attributes:
        n: Number of pairs.
        told: Of how many the reversal is told.
        identities: Which ends have identities.
        training: The models.
    """

    n: int = 20
    told: tuple[int, ...] = (0, 5, 10)
    identities: tuple[str, ...] = ("none", "first", "both")
    training: kinds.Training = kinds.Training()


def plan(settings: Settings) -> lab.Plan:
    """Every number of told reversals with every choice of identities."""
    worlds: list[tuple[dict[str, lab.Value], lab.WorldConfig]] = [
        (
            {"identities": identity, "told": told},
            Reversal(n=settings.n, told=told, identity=identity),  # type: ignore[arg-type]
        )
        for identity in settings.identities
        for told in settings.told
    ]
    return kinds.plan(worlds, settings.training)


state = PAPER.stating("told-reversals", "§3")
ours = lab.Paper("reversal-curse", PAPER.title, claims_of="ours").stating("told-reversals", "ours")

accuracy = lab.share("questions", "accuracy")
MODEL = "model"

CLAIMS = (
    state(
        "curse",
        "Without identities no reversal follows, whatever is told of others (accuracy).",
        accuracy.at(identities="none").over(MODEL, "told") <= 0.1,
    ),
    state(
        "identities-alone",
        "With identities on both ends, and nothing told, the right subject is found among the "
        "subjects (accuracy among them, GPT).",
        accuracy.of("accuracy_among").at(identities="both", told=0, model=kinds.GPT) >= 0.5,
    ),
    ours(
        "not-over-all-outputs",
        "That alone does not make it the answer among all outputs: nothing told, no reversal.",
        accuracy.at(identities="both", told=0).over(MODEL) <= 0.1,
    ),
    ours(
        "half-told-reverses-the-rest",
        "Identities on both ends and half of the reversals told reverse the others (accuracy).",
        accuracy.at(identities="both", told=10).over(MODEL) >= 0.7,
    ),
    ours(
        "one-end-is-not-enough",
        "Identities of the subjects alone do not, with half told (accuracy).",
        accuracy.at(identities="first", told=10).over(MODEL) <= 0.1,
    ),
    *kinds.stated_of_both(ours, "identities", "told"),
)

FIGURES = (
    lab.lines(
        "accuracy",
        "questions",
        "Reversals that follow, by how many others are told",
        "Accuracy over all outputs on the reversals that are not told, of 20 pairs; a panel for "
        "each choice of the ends that have identities.",
        x="told",
        y="accuracy",
        series="model",
        facet="identities",
        x_label="reversals told, of 20",
        y_label="accuracy on the others",
        y_limits=(0.0, 1.0),
    ),
)

RECIPE = PAPER.recipe(
    "told-reversals",
    title="The reversal curse, identities, and a few reversals that are told",
    place="§3",
    summary=(
        "Trains Emb-MLP (with decay and without) and a GPT on 20 facts told one way, with and "
        "without identities and a few reversals, and asks for the other reversals."
    ),
    scales={
        "smoke": Settings(n=11, told=(0, 10), training=kinds.BRIEF),
        "cpu": Settings(),
        "paper": Settings(told=(0, 2, 5, 10)),
    },
    seeds={"smoke": 2, "cpu": 5, "paper": 10},
    plan=plan,
    derive=partial(kinds.derive, labels=("identities", "told")),
    claims=CLAIMS,
    figures=FIGURES,
    ours=("n", "told", *kinds.OURS),
)
