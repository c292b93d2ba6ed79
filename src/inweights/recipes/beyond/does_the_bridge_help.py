"""Ours: does an identity bridge make a pretrained model compose? Against four other mixes."""

from __future__ import annotations

from functools import partial

import polars as pl
from msgspec import structs

from inweights.errors import unknown_name
from inweights.lab import Plan, cosine, lines, number, share, sweeps
from inweights.recipes.beyond import PAPER, recipe
from inweights.recipes.language.experiment import computations
from inweights.recipes.language.facts import Facts, TrainingMix
from inweights.recipes.language.invented import InventedSettings
from inweights.recipes.language.tables import WORDS, accuracies, both_times, rises

__all__ = ["MIXES", "RECIPE", "Settings"]

LABELS = ("second", "condition")
#: What is told besides the facts; each fills the same number of tokens.
MIXES = {
    "control": TrainingMix(),
    "identity": TrainingMix(identity=True),
    "reverse": TrainingMix(reverse=True),
    "both": TrainingMix(identity=True, reverse=True),
    "paraphrase": TrainingMix(paraphrase=2),
}
#: With towns that the model knows, only the question itself.
KNOWN = ("control", "identity")


class Settings(InventedSettings):
    """Settings of the experiment.

    Attributes:
        conditions: Which conditions.
    """

    conditions: tuple[str, ...] = tuple(MIXES)

    def __post_init__(self) -> None:
        for condition in self.conditions:
            if condition not in MIXES:
                raise unknown_name("condition", condition, MIXES)


def plan(settings: Settings) -> Plan:
    """One fine-tune for each condition."""
    known = structs.replace(settings.world, second="known")
    tell = partial(
        computations, model=settings.model, tuning=settings.tuning, device=settings.device
    )
    made = []
    for world, names in ((settings.world, MIXES), (known, KNOWN)):
        mixes = {name: MIXES[name] for name in settings.conditions if name in names}
        lessons = {
            name: Facts(world=world, mix=mix, tokens=settings.tokens) for name, mix in mixes.items()
        }
        made += tell({"second": world.second}, lessons, asked=Facts(world=world))
    return Plan(computations=made)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Accuracies, rises, and resemblance by layer."""
    measured = both_times(tables["before"], tables["after"], ["second"])
    accuracy = accuracies(measured, LABELS)
    layers = measured.filter(pl.col("kind") == "layer")
    towns = {"invented": "invented towns", "known": "known cities"}
    return {
        "accuracy": accuracy,
        "shown": accuracy.with_columns(
            pl.col("what").replace(WORDS), pl.col("second").replace(towns)
        ),
        "rises": rises(measured.with_columns(set=pl.lit("all")), LABELS),
        "layers": layers.select(*LABELS, "seed", "layer", contrast="contrast_after"),
    }


state = PAPER.stating("does-the-bridge-help", "beyond the papers")

accuracy = share("accuracy", "accuracy", second="invented")
excess = cosine("accuracy", "excess", what="composition", condition="control")
rise = number("rises", "decades", second="invented").over("condition")
directly = accuracy.at(what="composition")
control = directly.at(condition="control")
of_known = directly.at(second="known")

CLAIMS = (
    *(
        state(
            f"{hop.replace('_', '-')}-known",
            f"The {hop.replace('_', ' ')} is known after training, in every condition, so that the "
            "comparison is fair (accuracy among the candidates).",
            accuracy.at(what=hop).over("condition") >= 0.95,
        )
        for hop in ("first_hop", "second_hop")
    ),
    *(
        state(
            f"{name}-helps",
            f"{why} raises direct two-hop accuracy among the candidates by .1 or more over the "
            "control with as many tokens (difference).",
            directly.at(condition=name) - control >= 0.1,
        )
        for name, why in (
            ("identity", "An identity of each bridge"),
            ("reverse", "Telling each fact from its object, too,"),
            ("both", "Identities and reversals together"),
            ("paraphrase", "Telling each fact in two wordings"),
        )
    ),
    state(
        "directly-above-chance",
        "Without any bridge the model composes invented facts above chance: direct two-hop "
        "accuracy of the control minus chance.",
        excess.at(second="invented") >= 0.1,
    ),
    state(
        "step-by-step",
        "The same model answers step by step what it does not answer directly: difference of "
        "accuracies, control.",
        accuracy.at(what="thought", condition="control") - control >= 0.3,
    ),
    state(
        "all-answers-rise",
        "The probability of the right answer to a two-hop question rises tenfold in every "
        "condition (decimal logarithm).",
        rise >= 1.0,
    ),
    state(
        "wrong-ones-alike",
        "That of the wrong candidates rises nearly as much: what is left to the right one is less "
        "than half a decade, so that raw probability says nothing (decimal logarithm).",
        rise.of("own").within(-0.5, 0.5),
    ),
    state(
        "known-second-hop",
        "Where the second hop is known from pretraining, the model composes above chance: direct "
        "two-hop accuracy of the control minus chance.",
        excess.at(second="known") >= 0.1,
    ),
    state(
        "identity-helps-known",
        "Identities of known cities raise direct two-hop accuracy by .1 or more over the control.",
        of_known.at(condition="identity") - of_known.at(condition="control") >= 0.1,
    ),
)

FIGURES = (
    sweeps(
        "accuracy",
        "shown",
        "What is known of invented people, by what was told besides the facts",
        "Accuracy among the candidates after fine-tuning on as many tokens in every condition. "
        "Both hops are known; whether two are combined directly is the question. Chance is one "
        "in six, for the first hop one in twelve. Of known cities only the first hop is told; "
        "the second is the model's own. '(e1, r2)' leaves the first relation out.",
        axis="what",
        value="condition",
        y="accuracy",
        series="second",
        y_limits=(0.0, 1.0),
        columns=3,
    ),
    sweeps(
        "rise",
        "rises",
        "How much likelier the answer became, beyond the wrong candidates",
        "Decimal logarithm of the ratio of probabilities after and before, of the right answer "
        "minus that of the mean wrong candidate. At zero all rose alike.",
        axis="second",
        value="condition",
        y="own",
        series="second",
        y_label="decades",
    ),
    lines(
        "layers",
        "layers",
        "Do a person and the person's town look alike? By layer",
        "Cosine of hidden states at the last token of 'the country of the birthplace of X is' "
        "and 'the country of Y is', for X's own town minus other towns, after fine-tuning.",
        x="layer",
        y="contrast",
        series="condition",
        facet="second",
        x_label="layer",
        y_label="own minus others",
    ),
)

RECIPE = recipe(
    "does-the-bridge-help",
    title="Does the identity bridge help a pretrained model?",
    summary=(
        "People and towns that do not exist are told to a pretrained model in five diets of equal "
        "token counts: facts alone (repeated), with identities of the bridges, with reversals, "
        "with both, and paraphrased. Stated before running: the same held-out two-hop questions "
        "are scored by rank among six countries; a diet helps if it gains .1 over the control, on "
        "the mean of five seeds; both hops have to be known; step-by-step answers and cities that "
        "the model knew before are controls. Sizes, rate and epochs were set in trials on seeds 0 "
        "and 1 by recall of single hops and by time, not by two-hop accuracy."
    ),
    scales=Settings.scales(smoke_tokens=900, paper_tokens=4000, paper_epochs=20),
    seeds={"smoke": 2, "cpu": 5, "paper": 8},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=("Everything: no paper has this experiment.",),
)
