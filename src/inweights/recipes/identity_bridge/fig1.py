"""Figure 1 of Identity Bridge: direct answers against a chain of thought, and what helps."""

from __future__ import annotations

from functools import partial

import polars as pl

from inweights.lab import Plan, computed, cosine, share, sweeps
from inweights.recipes.identity_bridge.common import PAPER
from inweights.recipes.language.experiment import computations
from inweights.recipes.language.facts import Facts, TrainingMix
from inweights.recipes.language.invented import InventedSettings
from inweights.recipes.language.tables import accuracies, both_times

__all__ = ["MIXES", "RECIPE", "Settings"]

LABELS = ("facts", "condition")
BEFORE, ONE, TWO, IDENTITY = "pretrained", "one hop", "two hops of half", "and identity"
#: What is told of invented people; each fills the same number of tokens.
MIXES = {
    ONE: TrainingMix(),
    TWO: TrainingMix(composed=0.5),
    IDENTITY: TrainingMix(composed=0.5, identity=True),
}


class Settings(InventedSettings):
    """Settings of Figure 1."""


def plan(settings: Settings) -> Plan:
    """The model as it is, asked about real people; and a fine-tune for each mix."""
    lessons = {
        name: Facts(world=settings.world, mix=mix, tokens=settings.tokens)
        for name, mix in MIXES.items()
    }
    tell = partial(
        computations, model=settings.model, tuning=settings.tuning, device=settings.device
    )
    real = tell({"facts": "real"}, {}, asked=Facts())
    invented = tell({"facts": "invented"}, lessons, asked=Facts(world=settings.world))
    return Plan(computations=[*real, *invented])


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Accuracies by kind of question and distribution."""
    before = tables["before"]
    # Nothing is told of real people: they are asked about once.
    real = before.filter(pl.col("facts") == "real").with_columns(condition=pl.lit(BEFORE))
    after = pl.concat([real, tables["after"]], how="diagonal_relaxed")
    accuracy = accuracies(both_times(before, after, ["facts"]), LABELS)
    direct = accuracy.filter(pl.col("what").is_in(["composition", "thought"]))
    kind = pl.col("what").replace({"composition": "directly", "thought": "step by step"})
    place = pl.when(pl.col("distribution") == "in").then(pl.lit(", told")).otherwise(pl.lit(""))
    shown = direct.with_columns(asked=kind + place)
    return {"accuracy": accuracy, "shown": shown}


state = PAPER.stating("fig1", "Fig. 1, §1")

accuracy = share("accuracy", "accuracy")
real = computed("accuracy", "accuracy", facts="real", condition=BEFORE)
invented = accuracy.at(facts="invented", distribution="out")
excess = cosine("accuracy", "excess", facts="invented", distribution="out", what="composition")
directly, thought = (invented.at(what=what) for what in ("composition", "thought"))

in_panel_a, in_panel_b = (partial(state, place=f"Fig. 1{panel}") for panel in "ab")

CLAIMS = (
    in_panel_a(
        "thought-real",
        "A pretrained model that fails a two-hop question about real facts directly answers it "
        "with a chain of thought (difference of accuracies; no training, no seed).",
        real.at(what="thought") - real.at(what="composition") >= 0.1,
    ),
    in_panel_a(
        "thought-invented",
        "The same of facts that it was taught one hop at a time.",
        thought.at(condition=ONE) - directly.at(condition=ONE) >= 0.3,
    ),
    in_panel_b(
        "one-hop-does-not-help",
        "Single hops do not generalise to two-hop questions out of distribution (accuracy minus "
        "chance).",
        excess.at(condition=ONE) <= 0.1,
    ),
    in_panel_b(
        "two-hops-do-not-help",
        "Nor do two-hop facts through other bridges (accuracy minus chance).",
        excess.at(condition=TWO) <= 0.1,
    ),
    in_panel_b(
        "identity-helps",
        "Identities of the bridges do: accuracy out of distribution over that without them.",
        directly.at(condition=IDENTITY) - directly.at(condition=TWO) >= 0.1,
    ),
    state(
        "in-distribution-learnt",
        "The two-hop facts that are told are known, so that the failure is one to generalise "
        "(accuracy).",
        directly.at(condition=TWO, distribution="in") >= 0.9,
        source="ours",
    ),
    *(
        state(
            f"{hop.replace('_', '-')}-known",
            f"The {hop.replace('_', ' ')} is known in every condition (accuracy among the "
            "candidates).",
            invented.at(what=hop).over("condition") >= 0.9,
            source="ours",
        )
        for hop in ("first_hop", "second_hop")
    ),
)

FIGURES = (
    sweeps(
        "accuracy",
        "shown",
        "Two-hop questions, asked directly and step by step",
        "Accuracy among the candidates. Invented people: chance is one in six; 'told' are "
        "two-hop facts through half of the bridges, the others are through the other half. "
        "Step by step the model names the bridge itself.",
        axis="facts",
        value="condition",
        y="accuracy",
        series="asked",
        y_limits=(0.0, 1.0),
    ),
)

RECIPE = PAPER.recipe(
    "fig1",
    title="The two-hop curse: right step by step, wrong directly",
    place="Figure 1, §1",
    summary=(
        "Asks a pretrained model two-hop questions about real people and substances directly and "
        "step by step. Then teaches it invented people, one hop at a time; with two-hop facts "
        "through half of the bridges; and with identities of all bridges, too, on as many tokens "
        "each, and asks for two hops through bridges that no two-hop fact named."
    ),
    scales=Settings.scales(smoke_tokens=500, paper_tokens=2500, paper_epochs=30),
    seeds={"smoke": 2, "cpu": 8, "paper": 8},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=(
        "model",
        "device",
        "world",
        "tokens",
        "tuning",
        "Figure 1 is a sketch without settings: model, facts, numbers and targets are ours.",
        "The steps of the chain of thought are prompted; the words in them are the model's own.",
    ),
)
