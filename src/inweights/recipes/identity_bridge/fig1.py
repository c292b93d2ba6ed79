"""Figure 1 of Identity Bridge: direct answers against a chain of thought, and what helps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from inweights.config import Config
from inweights.lm.experiment import TrainingMix, run_mix
from inweights.lm.invented import Invented
from inweights.lm.tables import accuracies
from inweights.lm.tuning import FineTune
from inweights.recipes.claim import Statement, Target
from inweights.recipes.recipe import Deduction, Figure, Plan, Recipe

__all__ = ["MIXES", "RECIPE", "Settings"]

NAME = "identity-bridge/fig1"
LABELS = ("facts", "condition")
BEFORE, ONE, TWO, IDENTITY = "pretrained", "one hop", "two hops of half", "and identity"
#: What is told of invented people; each fills the same number of tokens.
MIXES = {
    ONE: TrainingMix(),
    TWO: TrainingMix(composed=0.5),
    IDENTITY: TrainingMix(composed=0.5, identity=True),
}


class Settings(Config):
    """Settings of Figure 1.

    Attributes:
        model: What is asked and fine-tuned: a folder, a hub name on this disk, or ``@smollm2``.
        device: Where it lives.
        world: The invented people and towns.
        tokens: Tokens of one pass, the same in every condition.
        tuning: How it is fine-tuned.
    """

    model: str = "@smollm2"
    device: str = "cpu"
    world: Invented = Invented(people=24, towns=12, countries=6)
    tokens: int = 950
    tuning: FineTune = FineTune(rate=2e-3, epochs=7, batch_tokens=128)


def plan(settings: Settings, seeds: Sequence[int]) -> Plan:
    """The model as it is, asked about real people; and a fine-tune for each mix and seed."""
    shared: dict[str, Any] = {
        "model": settings.model,
        "device": settings.device,
        "tuning": settings.tuning,
        "tokens": settings.tokens,
    }
    asked = Deduction(
        name="measured",
        labels={"facts": "real", "condition": BEFORE},
        seed=seeds[0],
        compute=run_mix,
        options={**shared, "world": None, "mix": TrainingMix(), "seed": seeds[0], "train": False},
        effort=300,
    )
    trained = [
        Deduction(
            name="measured",
            labels={"facts": "invented", "condition": name},
            seed=seed,
            compute=run_mix,
            options={**shared, "world": settings.world, "mix": mix, "seed": seed},
        )
        for seed in seeds
        for name, mix in MIXES.items()
    ]
    return Plan(deductions=[asked, *trained])


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Accuracies by kind of question and distribution."""
    accuracy = accuracies(tables["measured"], LABELS)
    direct = accuracy.filter(pl.col("what").is_in(["composition", "thought"]))
    kind = pl.col("what").replace({"composition": "directly", "thought": "step by step"})
    place = pl.when(pl.col("distribution") == "in").then(pl.lit(", told")).otherwise(pl.lit(""))
    return {"accuracy": accuracy, "shown": direct.with_columns(asked=kind + place)}


state = Statement(NAME, source="identity-bridge", place="Fig. 1, §1")
ours = Statement(NAME, source="ours", place="Fig. 1, §1")


def _of(condition: str, what: str, distribution: str = "out") -> dict[str, str | float | bool]:
    """The rows of one kind of question about invented people."""
    return {
        "facts": "invented", "condition": condition, "what": what, "distribution": distribution
    }  # fmt: skip


CLAIMS = (
    state(
        "thought-real",
        "A pretrained model that fails a two-hop question about real facts directly answers it "
        "with a chain of thought (difference of accuracies; no training, no seed).",
        Target(least=0.1),
        place="Fig. 1a",
        table="accuracy",
        column="accuracy",
        where={"facts": "real", "condition": BEFORE, "what": "thought"},
        minus={"facts": "real", "condition": BEFORE, "what": "composition"},
        exact=True,
    ),
    state(
        "thought-invented",
        "The same of facts that it was taught one hop at a time.",
        Target(least=0.3),
        place="Fig. 1a",
        table="accuracy",
        column="accuracy",
        where=_of(ONE, "thought"),
        minus=_of(ONE, "composition"),
    ),
    state(
        "one-hop-does-not-help",
        "Single hops do not generalise to two-hop questions out of distribution (accuracy minus "
        "chance).",
        Target(most=0.1),
        place="Fig. 1b",
        table="accuracy",
        column="excess",
        where=_of(ONE, "composition"),
    ),
    state(
        "two-hops-do-not-help",
        "Nor do two-hop facts through other bridges (accuracy minus chance).",
        Target(most=0.1),
        place="Fig. 1b",
        table="accuracy",
        column="excess",
        where=_of(TWO, "composition"),
    ),
    state(
        "identity-helps",
        "Identities of the bridges do: accuracy out of distribution over that without them.",
        Target(least=0.1),
        place="Fig. 1b",
        table="accuracy",
        column="accuracy",
        where=_of(IDENTITY, "composition"),
        minus=_of(TWO, "composition"),
    ),
    ours(
        "in-distribution-learnt",
        "The two-hop facts that are told are known, so that the failure is one to generalise "
        "(accuracy).",
        Target(least=0.9),
        table="accuracy",
        column="accuracy",
        where=_of(TWO, "composition", "in"),
    ),
    *(
        ours(
            f"{hop.replace('_', '-')}-known",
            f"The {hop.replace('_', ' ')} is known in every condition (accuracy among the "
            "candidates).",
            Target(least=0.9),
            table="accuracy",
            column="accuracy",
            where={"facts": "invented", "what": hop, "distribution": "out"},
            each=("condition",),
        )
        for hop in ("first_hop", "second_hop")
    ),
)

FIGURES = (
    Figure(
        id="accuracy",
        kind="sweeps",
        title="Two-hop questions, asked directly and step by step",
        caption=(
            "Accuracy among the candidates. Invented people: chance is one in six; 'told' are "
            "two-hop facts through half of the bridges, the others are through the other half. "
            "Step by step the model names the bridge itself."
        ),
        sources=("shown",),
        options={
            "axis": "facts",
            "value": "condition",
            "y": "accuracy",
            "series": "asked",
            "y_limits": [0.0, 1.0],
        },
    ),
)

RECIPE = Recipe(
    name=NAME,
    title="The two-hop curse: right step by step, wrong directly",
    paper="Identity Bridge: Enabling Implicit Reasoning via Shared Latent Memory",
    place="Figure 1, §1",
    summary=(
        "Asks a pretrained model two-hop questions about real people and substances directly and "
        "step by step. Then teaches it invented people, one hop at a time; with two-hop facts "
        "through half of the bridges; and with identities of all bridges, too, on as many tokens "
        "each, and asks for two hops through bridges that no two-hop fact named."
    ),
    scales={
        "smoke": Settings(
            model="@tiny",
            world=Invented(people=4, towns=2, countries=2),
            tokens=500,
            tuning=FineTune(method="full", rate=1e-2, epochs=1, batch_tokens=1024),
        ),
        "cpu": Settings(),
        "paper": Settings(
            model="meta-llama/Llama-3.2-1B",
            device="cuda",
            world=Invented(people=64, towns=16, countries=8),
            tokens=2500,
            tuning=FineTune(method="full", rate=2e-5, epochs=30, batch_tokens=2048),
        ),
    },
    seeds={"smoke": 2, "cpu": 5, "paper": 8},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=(
        "Figure 1 is a sketch without settings: model, facts, numbers and targets are ours.",
        "The steps of the chain of thought are prompted; the words in them are the model's own.",
    ),
)
