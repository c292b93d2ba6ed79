"""Facts that are told one way and asked the other: what identities and a few examples do."""

from __future__ import annotations

from functools import partial

from inweights import lab
from inweights.config import Config
from inweights.recipes import kinds
from inweights.worlds.reversal import Reversal

__all__ = ["RECIPE", "Settings"]

PAPER = lab.Paper("reversal-curse", "Breaking the Reversal Curse via Identity Bridge")
PHRASED = "both, phrased"


class Settings(Config):
    """Settings of the experiment.

    Attributes:
        n: Number of pairs.
        told: Of how many the reversal is told.
        identities: Which ends have identities.
        told_phrased: The same as ``told``, where identities of both ends are phrased,
            ``(a, same) → a``.
        undecayed: Decay of the soft program that forecasts these for training without decay.
        training: The models.
    """

    n: int = 20
    told: tuple[int, ...] = (0, 5, 10)
    identities: tuple[str, ...] = ("none", "first", "both")
    told_phrased: tuple[int, ...] = (0, 2, 5, 10)
    undecayed: float = 1e-2
    training: kinds.Training = kinds.Training()


def plan(settings: Settings) -> lab.Plan:
    """Every number of told reversals with every choice of identities."""
    n, training = settings.n, settings.training
    ends = [(which, told) for which in settings.identities for told in settings.told]
    bare = kinds.plan([_world(n, told, which) for which, told in ends], training)
    phrased = kinds.plan(
        [_world(n, told, "both", phrased=True) for told in settings.told_phrased],
        training,
        settings.undecayed,
    )
    return lab.Plan(
        trials=[*bare.trials, *phrased.trials],
        computations=[*bare.computations, *phrased.computations],
        measures=bare.measures,
    )


def _world(
    n: int, told: int, identity: str, *, phrased: bool = False
) -> tuple[dict[str, lab.Value], lab.WorldConfig]:
    world = Reversal(n=n, told=told, identity=identity, phrased=phrased)  # type: ignore[arg-type]
    return {
        "identities": PHRASED if phrased else identity,
        "told": told,
        "phrased": phrased,
    }, world


state = PAPER.stating("told-reversals", "§3")
ours = lab.Paper("reversal-curse", PAPER.title, claims_of="ours").stating("told-reversals", "ours")

accuracy = lab.share("questions", "accuracy")
among = lab.share("questions", "accuracy_among")
gpt_phrased = accuracy.at(identities=PHRASED, model=kinds.GPT)
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
        among.at(identities="both", told=0, model=kinds.GPT) >= 0.5,
    ),
    state(
        "one-layer",
        "One layer does that: with identities on both ends Emb-MLP finds the right subject among "
        "the subjects, with nothing told (accuracy among them).",
        among.at(identities="both", told=0, model=kinds.EMB_MLP) >= 0.9,
    ),
    state(
        "one-layer-without",
        "Without identities it guesses (accuracy among the subjects; chance is .05).",
        among.at(identities="none", told=0, model=kinds.EMB_MLP) <= 0.15,
    ),
    state(
        "phrased-alone",
        "The same with identities that are phrased, as the paper's are (accuracy among the "
        "subjects, GPT).",
        among.at(identities=PHRASED, told=0, model=kinds.GPT) >= 0.5,
    ),
    ours(
        "ten-phrased",
        "Identities on both ends that are phrased, and ten reversals of twenty, reverse the others "
        "in a GPT (accuracy).",
        gpt_phrased.at(told=10) >= 0.7,
    ),
    ours(
        "five-phrased",
        "So do phrased identities and five reversals of twenty (accuracy, GPT).",
        gpt_phrased.at(told=5) >= 0.6,
    ),
    ours(
        "two-phrased",
        "Two of twenty reverse half of the others (accuracy, GPT).",
        gpt_phrased.at(told=2) >= 0.5,
    ),
    ours(
        "none-phrased",
        "Phrased identities alone, with nothing told, reverse none (accuracy).",
        accuracy.at(identities=PHRASED, told=0).over(MODEL) <= 0.1,
    ),
    ours(
        "soft-program-describes-phrased",
        "With phrased identities the soft program at a decay of 1e-2 says what Emb-MLP answers "
        "that is trained without any.",
        lab.share("agreement", "agrees", phrased=True, model=kinds.EMB_MLP) >= 0.9,
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
    *kinds.stated_of_both(ours, "identities", "told", phrased=False),
)

FIGURES = (
    lab.lines(
        "accuracy",
        "questions",
        "Reversals that follow, by how many others are told",
        "Accuracy over all outputs on the reversals that are not told, of 20 pairs; a panel for "
        "each choice of the ends that have identities, bare or phrased.",
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
        "smoke": Settings(n=11, told=(0, 10), told_phrased=(0, 2, 5, 10), training=kinds.BRIEF),
        "cpu": Settings(),
        "paper": Settings(told=(0, 2, 5, 10)),
    },
    seeds={"smoke": 2, "cpu": 5, "paper": 10},
    plan=plan,
    derive=partial(kinds.derive, labels=("identities", "told", "phrased"), by=("phrased",)),
    claims=CLAIMS,
    figures=FIGURES,
    ours=("n", "told", "told_phrased", "undecayed", *kinds.OURS),
)
