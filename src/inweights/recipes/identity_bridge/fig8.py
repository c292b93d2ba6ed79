"""Figure 8 of Identity Bridge: what one-hop fine-tuning does to the prompt ``(e1, r2)``."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from inweights.config import Config
from inweights.lm.compare import CORRECT, INCORRECT, PARTIAL
from inweights.lm.experiment import TrainingMix, run_mix
from inweights.lm.tables import accuracies, against, rises
from inweights.lm.tuning import FineTune
from inweights.recipes.claim import Statement, Target
from inweights.recipes.recipe import Deduction, Figure, Plan, Recipe

__all__ = ["MIXES", "RECIPE", "Settings"]

NAME = "identity-bridge/fig8"
LABELS = ("model", "condition")
ONE, IDENTITY, SECOND = "one-hop", "with identity", "second hop only"
#: What is told; each fills the same number of tokens. The last is the control: ``e1`` is not told.
MIXES = {
    ONE: TrainingMix(),
    IDENTITY: TrainingMix(identity=True),
    SECOND: TrainingMix(hops="second"),
}


class Settings(Config):
    """Settings of Figure 8.

    Attributes:
        models: What is fine-tuned: folders, hub names that are on this disk, or ``@smollm2``.
        device: Where they live.
        tokens: Tokens of one pass, the same in every condition.
        tuning: How they are fine-tuned.
    """

    models: tuple[str, ...] = ("@smollm2",)
    device: str = "cpu"
    tokens: int = 1500
    tuning: FineTune = FineTune(rate=1e-3, epochs=5, batch_tokens=128)


def plan(settings: Settings, seeds: Sequence[int]) -> Plan:
    """One fine-tune for each model, condition and seed, on real facts."""
    return Plan(
        deductions=[
            Deduction(
                name="measured",
                labels={"model": model, "condition": name},
                seed=seed,
                compute=run_mix,
                options={
                    "model": model,
                    "device": settings.device,
                    "world": None,
                    "mix": mix,
                    "tuning": settings.tuning,
                    "tokens": settings.tokens,
                    "seed": seed,
                },
            )
            for seed in seeds
            for model in settings.models
            for name, mix in MIXES.items()
        ]
    )


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Rises of the answer under ``(e1, r2)`` by set, accuracies, and paired tests."""
    found = tables["measured"]
    accuracy = accuracies(found, LABELS)
    skip = found.filter(pl.col("kind") == "question", pl.col("role") == "skip")
    sets = rises(found, LABELS, "skip")
    both = [
        sets.select(*LABELS, "seed", "set", value=column, what=pl.lit(text))
        for column, text in (("rise", "probability"), ("share_rise", "share among candidates"))
    ]
    return {
        "accuracy": accuracy.with_columns(gain=pl.col("accuracy") - pl.col("before")),
        "sets": sets,
        "all": rises(found.with_columns(set=pl.lit("all")), LABELS, "skip"),
        "shown": pl.concat(both).sort(pl.col("set").replace_strict(_ORDER)),
        "tests": against(found, "condition", ONE),
        "example": skip.select(
            *LABELS, "seed", "set", "prompt", "answer", "probability_before", "probability_after"
        ),
        "kept": accuracy.with_columns(pl.col("what").replace(_WORDS)),
    }


_ORDER = {CORRECT: 0, PARTIAL: 1, INCORRECT: 2}
_WORDS = {
    "composition": "two hops, directly",
    "thought": "two hops, step by step",
    "first_hop": "first hop",
    "second_hop": "second hop",
    "skip": "(e1, r2) alone",
}

state = Statement(NAME, source="identity-bridge", place="Fig. 8, §4.5")
ours = Statement(NAME, source="ours", place="Fig. 8, §4.5")
_ONE = {"condition": ONE}

CLAIMS = (
    *(
        state(
            f"rise-{name}",
            f"Under the prompt (e1, r2) the answer's probability rises more in {kind} than in "
            "D_incorrect, after one-hop fine-tuning (difference of the mean rises).",
            Target(least=0.05),
            table="sets",
            column="rise",
            where={**_ONE, "set": kind},
            minus={**_ONE, "set": INCORRECT},
            each=("model",),
            published="picture",
        )
        for name, kind in (("correct", CORRECT), ("partial", PARTIAL))
    ),
    state(
        "rise-incorrect",
        "In D_incorrect it rises slightly (mean rise of the probability).",
        Target(least=0.0, most=0.1),
        table="sets",
        column="rise",
        where={**_ONE, "set": INCORRECT},
        each=("model",),
        published="slightly improved",
    ),
    state(
        "identity-adds-little",
        "On a pretrained model the identity adds little two-hop accuracy (difference to one-hop "
        "fine-tuning on as many tokens).",
        Target(least=-0.05, most=0.05),
        table="accuracy",
        column="accuracy",
        where={"condition": IDENTITY, "what": "composition"},
        minus={**_ONE, "what": "composition"},
        each=("model",),
        published="not significant",
    ),
    state(
        "tuning-helps",
        "Fine-tuning on single hops improves two-hop reasoning (accuracy after minus before).",
        Target(least=0.02),
        table="accuracy",
        column="gain",
        where={**_ONE, "what": "composition"},
        each=("model",),
        published="to a certain extent",
    ),
    *(
        ours(
            f"share-{name}",
            f"The same of {kind} against D_incorrect holds for the answer's share among the "
            "candidates, so that it is not one of all answers rising (difference).",
            Target(least=0.05),
            table="sets",
            column="share_rise",
            where={**_ONE, "set": kind},
            minus={**_ONE, "set": INCORRECT},
            each=("model",),
        )
        for name, kind in (("correct", CORRECT), ("partial", PARTIAL))
    ),
    ours(
        "needs-the-first-hop",
        "The share rises by more than where the first hop is never told, so that it comes from "
        "putting two facts together and not from second hops alone (difference, all chains).",
        Target(least=0.05),
        table="all",
        column="share_rise",
        where=_ONE,
        minus={"condition": SECOND},
        each=("model",),
    ),
    *(
        ours(
            f"{hop.replace('_', '-')}-known",
            f"The {hop.replace('_', ' ')} is known after one-hop fine-tuning (accuracy among the "
            "candidates).",
            Target(least=0.9),
            table="accuracy",
            column="accuracy",
            where={**_ONE, "what": hop},
            each=("model",),
        )
        for hop in ("first_hop", "second_hop")
    ),
)

FIGURES = (
    Figure(
        id="rise",
        kind="sweeps",
        title="How the answer's probability changes under the prompt (e1, r2)",
        caption=(
            "Rise after fine-tuning, by set: D_correct right before and after, D_partial right "
            "after only, D_incorrect wrong after. Left the raw probability, as in the paper; right "
            "the share among the candidates, which does not rise when all answers do."
        ),
        sources=("shown",),
        options={
            "axis": "what",
            "value": "set",
            "y": "value",
            "series": "condition",
            "y_label": "rise",
        },
    ),
    Figure(
        id="accuracy",
        kind="sweeps",
        title="What is known of real people and substances after fine-tuning",
        caption=(
            "Accuracy among the candidates. In the control the first hop is never told: what it "
            "answers is prior knowledge."
        ),
        sources=("kept",),
        options={
            "axis": "what",
            "value": "condition",
            "y": "accuracy",
            "series": "model",
            "y_limits": [0.0, 1.0],
            "columns": 3,
        },
    ),
)

RECIPE = Recipe(
    name=NAME,
    title="One-hop fine-tuning strengthens (e1, r2) where two hops succeed",
    paper="Identity Bridge: Enabling Implicit Reasoning via Shared Latent Memory",
    place="Figure 8, §4.5",
    summary=(
        "Fine-tunes a pretrained model on single hops about real people, their birthplaces and "
        "countries, and about substances; no two-hop statement is trained. Splits the questions "
        "into those right before and after, right after only, and wrong after, and measures what "
        "the prompt with the first relation left out says of the answer. Stated before running: "
        "raw probabilities are judged as published, shares among the candidates beside them, and a "
        "control never hears of the subject."
    ),
    scales={
        "smoke": Settings(
            models=("@tiny",),
            tokens=5500,
            tuning=FineTune(method="full", rate=1e-2, epochs=1, batch_tokens=2048),
        ),
        "cpu": Settings(),
        "paper": Settings(
            models=("meta-llama/Llama-3.2-1B", "Qwen/Qwen2.5-1.5B"),
            device="cuda",
            tuning=FineTune(method="full", rate=2e-5, epochs=10, batch_tokens=1024),
        ),
    },
    seeds={"smoke": 1, "cpu": 5, "paper": 5},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=(
        "The facts: the paper's TwoHopFact is a download; ours are 124 real facts in the package.",
        "Models, rates, numbers of updates and wordings, which the paper does not give.",
        "The prompt (e1, r2) is the second hop's with the subject in the bridge's place.",
        "Candidates, shares and the control that is told second hops only.",
    ),
)
