"""Ours: does an identity bridge make a pretrained model compose? Against four other diets."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from inweights.config import Config
from inweights.lm.experiment import TrainingMix, run_mix
from inweights.lm.invented import Invented
from inweights.lm.tables import accuracies, against, by_layer, rises
from inweights.lm.tuning import FineTune
from inweights.recipes.claim import Claim, Statement, Target
from inweights.recipes.recipe import Deduction, Figure, Plan, Recipe

__all__ = ["MIXES", "RECIPE", "Settings"]

NAME = "beyond/does-the-bridge-help"
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


class Settings(Config):
    """Settings of the experiment.

    Attributes:
        model: What is fine-tuned: a folder, a hub name that is on this disk, or ``@smollm2``.
        device: Where it lives.
        world: The invented people and towns.
        tokens: Tokens of one pass, the same in every condition.
        tuning: How it is fine-tuned.
        conditions: Which conditions.
    """

    model: str = "@smollm2"
    device: str = "cpu"
    world: Invented = Invented(people=24, towns=12, countries=6)
    tokens: int = 950
    tuning: FineTune = FineTune(rate=2e-3, epochs=7, batch_tokens=128)
    conditions: tuple[str, ...] = tuple(MIXES)


def plan(settings: Settings, seeds: Sequence[int]) -> Plan:
    """One fine-tune for each condition and seed."""
    world = settings.world
    known = Invented(
        people=world.people, towns=world.towns, countries=world.countries, second="known"
    )
    runs = [(world, name) for name in settings.conditions]
    runs += [(known, name) for name in settings.conditions if name in KNOWN]
    return Plan(
        deductions=[
            Deduction(
                name="measured",
                labels={"second": kind.second, "condition": name},
                seed=seed,
                compute=run_mix,
                options={
                    "model": settings.model,
                    "device": settings.device,
                    "world": kind,
                    "mix": MIXES[name],
                    "tuning": settings.tuning,
                    "tokens": settings.tokens,
                    "seed": seed,
                },
            )
            for seed in seeds
            for kind, name in runs
        ]
    )


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Accuracies, rises, resemblance by layer, and paired tests against the control."""
    found = tables["measured"]
    accuracy = accuracies(found, LABELS)
    invented = found.filter(pl.col("second") == "invented")
    layers = by_layer(found, LABELS)
    shown = accuracy.with_columns(pl.col("what").replace(_WORDS))
    return {
        "accuracy": accuracy,
        "shown": shown.with_columns(pl.col("second").replace(_TOWNS)),
        "rises": rises(found.with_columns(set=pl.lit("all")), LABELS),
        "layers": layers.filter(pl.col("when") == "after"),
        "tests": against(invented, "condition", "control"),
        "training": found.filter(pl.col("kind") == "training").select(
            *LABELS, "seed", "steps", "trained", "loss"
        ),
    }


_WORDS = {
    "composition": "two hops, directly",
    "thought": "two hops, step by step",
    "first_hop": "first hop",
    "second_hop": "second hop",
    "skip": "(e1, r2) alone",
}
_TOWNS = {"invented": "invented towns", "known": "known cities"}

state = Statement(NAME, source="ours", place="beyond the papers")


def _helps(name: str, why: str) -> Claim:
    return state(
        f"{name}-helps",
        f"{why} raises direct two-hop accuracy among the candidates by .1 or more over the control "
        "with as many tokens (difference).",
        Target(least=0.1),
        table="accuracy",
        column="accuracy",
        where={"second": "invented", "what": "composition", "condition": name},
        minus={"second": "invented", "what": "composition", "condition": "control"},
    )


CLAIMS = (
    *(
        state(
            f"{hop.replace('_', '-')}-known",
            f"The {hop.replace('_', ' ')} is known after training, in every condition, so that the "
            "comparison is fair (accuracy among the candidates).",
            Target(least=0.95),
            table="accuracy",
            column="accuracy",
            where={"second": "invented", "what": hop},
            each=("condition",),
        )
        for hop in ("first_hop", "second_hop")
    ),
    *(
        _helps(name, why)
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
        Target(least=0.1),
        table="accuracy",
        column="excess",
        where={"second": "invented", "what": "composition", "condition": "control"},
    ),
    state(
        "step-by-step",
        "The same model answers step by step what it does not answer directly: difference of "
        "accuracies, control.",
        Target(least=0.3),
        table="accuracy",
        column="accuracy",
        where={"second": "invented", "what": "thought", "condition": "control"},
        minus={"second": "invented", "what": "composition", "condition": "control"},
    ),
    state(
        "all-answers-rise",
        "The probability of the right answer to a two-hop question rises tenfold in every "
        "condition (decimal logarithm).",
        Target(least=1.0),
        table="rises",
        column="decades",
        where={"second": "invented"},
        each=("condition",),
    ),
    state(
        "wrong-ones-alike",
        "That of the wrong candidates rises nearly as much: what is left to the right one is less "
        "than half a decade, so that raw probability says nothing (decimal logarithm).",
        Target(least=-0.5, most=0.5),
        table="rises",
        column="own",
        where={"second": "invented"},
        each=("condition",),
    ),
    state(
        "known-second-hop",
        "Where the second hop is known from pretraining, the model composes above chance: direct "
        "two-hop accuracy of the control minus chance.",
        Target(least=0.1),
        table="accuracy",
        column="excess",
        where={"second": "known", "what": "composition", "condition": "control"},
    ),
    state(
        "identity-helps-known",
        "Identities of known cities raise direct two-hop accuracy by .1 or more over the control.",
        Target(least=0.1),
        table="accuracy",
        column="accuracy",
        where={"second": "known", "what": "composition", "condition": "identity"},
        minus={"second": "known", "what": "composition", "condition": "control"},
    ),
)

FIGURES = (
    Figure(
        id="accuracy",
        kind="sweeps",
        title="What is known of invented people, by what was told besides the facts",
        caption=(
            "Accuracy among the candidates after fine-tuning on as many tokens in every condition. "
            "Both hops are known; whether two are combined directly is the question. Chance is one "
            "in six, for the first hop one in twelve. Of known cities only the first hop is told; "
            "the second is the model's own. '(e1, r2)' leaves the first relation out."
        ),
        sources=("shown",),
        options={
            "axis": "what",
            "value": "condition",
            "y": "accuracy",
            "series": "second",
            "y_limits": [0.0, 1.0],
            "columns": 3,
        },
    ),
    Figure(
        id="rise",
        kind="sweeps",
        title="How much likelier the answer became, beyond the wrong candidates",
        caption=(
            "Decimal logarithm of the ratio of probabilities after and before, of the right answer "
            "minus that of the mean wrong candidate. At zero all rose alike."
        ),
        sources=("rises",),
        options={
            "axis": "second",
            "value": "condition",
            "y": "own",
            "series": "second",
            "y_label": "decades",
        },
    ),
    Figure(
        id="layers",
        kind="lines",
        title="Do a person and the person's town look alike? By layer",
        caption=(
            "Cosine of hidden states at the last token of 'the country of the birthplace of X is' "
            "and 'the country of Y is', for X's own town minus other towns, after fine-tuning."
        ),
        sources=("layers",),
        options={
            "x": "layer",
            "y": "contrast",
            "series": "condition",
            "facet": "second",
            "x_label": "layer",
            "y_label": "own minus others",
        },
    ),
)

RECIPE = Recipe(
    name=NAME,
    title="Does the identity bridge help a pretrained model?",
    paper="inweights",
    place="ours",
    summary=(
        "People and towns that do not exist are told to a pretrained model in five diets of equal "
        "token counts: facts alone (repeated), with identities of the bridges, with reversals, "
        "with both, and paraphrased. Stated before running: the same held-out two-hop questions "
        "are scored by rank among six countries; a diet helps if it gains .1 over the control, on "
        "the mean of five seeds; both hops have to be known; step-by-step answers and cities that "
        "the model knew before are controls. Sizes, rate and epochs were set in trials on seeds 0 "
        "and 1 by recall of single hops and by time, not by two-hop accuracy."
    ),
    scales={
        "smoke": Settings(
            model="@tiny",
            world=Invented(people=4, towns=2, countries=2),
            tokens=900,
            tuning=FineTune(method="full", rate=1e-2, epochs=1, batch_tokens=1024),
        ),
        "cpu": Settings(),
        "paper": Settings(
            model="meta-llama/Llama-3.2-1B",
            device="cuda",
            world=Invented(people=64, towns=16, countries=8),
            tokens=4000,
            tuning=FineTune(method="full", rate=2e-5, epochs=20, batch_tokens=2048),
        ),
    },
    seeds={"smoke": 2, "cpu": 5, "paper": 8},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=("Everything: no paper has this experiment.",),
)
