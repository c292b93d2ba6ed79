"""Figure 8 of Identity Bridge: what one-hop fine-tuning does to the prompt ``(e1, r2)``."""

from __future__ import annotations

from functools import partial

import polars as pl

from inweights.config import Config
from inweights.lab import Plan, cosine, share, sweeps
from inweights.lm.compare import CORRECT, INCORRECT, PARTIAL
from inweights.lm.fine_tune import FineTune
from inweights.recipes.identity_bridge.common import PAPER
from inweights.recipes.language.experiment import computations
from inweights.recipes.language.facts import Facts, TrainingMix
from inweights.recipes.language.tables import WORDS, accuracies, both_times, rises

__all__ = ["MIXES", "RECIPE", "Settings"]

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
    tuning: FineTune = FineTune(rate=1e-3, epochs=5, batch_tokens=128, end=False)


def plan(settings: Settings) -> Plan:
    """One fine-tune for each model and condition, on real facts."""
    lessons = {name: Facts(mix=mix, tokens=settings.tokens) for name, mix in MIXES.items()}
    tell = partial(computations, asked=Facts(), tuning=settings.tuning, device=settings.device)
    told = [tell({"model": model}, lessons, model=model) for model in settings.models]
    return Plan(computations=[one for of_model in told for one in of_model])


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Rises of the answer under ``(e1, r2)`` by set, and accuracies."""
    measured = both_times(tables["before"], tables["after"], ["model"])
    accuracy = accuracies(measured, LABELS)
    sets = rises(measured, LABELS, "skip")
    rows = sets.unpivot(list(_RISES), index=[*LABELS, "seed", "set"], variable_name="what")
    return {
        "accuracy": accuracy.with_columns(gain=pl.col("accuracy") - pl.col("before")),
        "sets": sets,
        "all": rises(measured.with_columns(set=pl.lit("all")), LABELS, "skip"),
        "shown": rows.sort(pl.col("set").replace_strict(_ORDER)).with_columns(
            pl.col("what").replace(_RISES)
        ),
        "kept": accuracy.with_columns(pl.col("what").replace(WORDS)),
    }


_RISES = {"rise": "probability", "share_rise": "share among candidates"}
_ORDER = {CORRECT: 0, PARTIAL: 1, INCORRECT: 2}

state = PAPER.stating("fig8", "Fig. 8, §4.5")
ours = partial(state, source="ours")

rise = cosine("sets", "rise", condition=ONE).over("model")
share_rise = rise.of("share_rise")
every_rise = cosine("all", "share_rise").over("model")
accuracy = share("accuracy", "accuracy").over("model")
gain = cosine("accuracy", "gain").over("model")

CLAIMS = (
    *(
        state(
            f"rise-{name}",
            f"Under the prompt (e1, r2) the answer's probability rises more in {kind} than in "
            "D_incorrect, after one-hop fine-tuning (difference of the mean rises).",
            rise.at(set=kind) - rise.at(set=INCORRECT) >= 0.05,
            published="picture",
        )
        for name, kind in (("correct", CORRECT), ("partial", PARTIAL))
    ),
    state(
        "rise-incorrect",
        "In D_incorrect it rises slightly (mean rise of the probability).",
        rise.at(set=INCORRECT).within(0.0, 0.1),
        published="slightly improved",
    ),
    state(
        "identity-adds-little",
        "On a pretrained model the identity adds little two-hop accuracy (difference to one-hop "
        "fine-tuning on as many tokens).",
        (
            accuracy.at(condition=IDENTITY, what="composition")
            - accuracy.at(condition=ONE, what="composition")
        ).within(-0.05, 0.05),
        published="not significant",
    ),
    state(
        "tuning-helps",
        "Fine-tuning on single hops improves two-hop reasoning (accuracy after minus before).",
        gain.at(condition=ONE, what="composition") >= 0.02,
        published="to a certain extent",
    ),
    *(
        ours(
            f"share-{name}",
            f"The same of {kind} against D_incorrect holds for the answer's share among the "
            "candidates, so that it is not one of all answers rising (difference).",
            share_rise.at(set=kind) - share_rise.at(set=INCORRECT) >= 0.05,
        )
        for name, kind in (("correct", CORRECT), ("partial", PARTIAL))
    ),
    ours(
        "needs-the-first-hop",
        "The share rises by more than where the first hop is never told, so that it comes from "
        "putting two facts together and not from second hops alone (difference, all chains).",
        every_rise.at(condition=ONE) - every_rise.at(condition=SECOND) >= 0.05,
    ),
    *(
        ours(
            f"{hop.replace('_', '-')}-known",
            f"The {hop.replace('_', ' ')} is known after one-hop fine-tuning (accuracy among the "
            "candidates).",
            accuracy.at(condition=ONE, what=hop) >= 0.9,
        )
        for hop in ("first_hop", "second_hop")
    ),
)

FIGURES = (
    sweeps(
        "rise",
        "shown",
        "How the answer's probability changes under the prompt (e1, r2)",
        "Rise after fine-tuning, by set: D_correct right before and after, D_partial right "
        "after only, D_incorrect wrong after. Left the raw probability, as in the paper; right "
        "the share among the candidates, which does not rise when all answers do.",
        axis="what",
        value="set",
        y="value",
        series="condition",
        y_label="rise",
    ),
    sweeps(
        "accuracy",
        "kept",
        "What is known of real people and substances after fine-tuning",
        "Accuracy among the candidates. In the control the first hop is never told: what it "
        "answers is prior knowledge.",
        axis="what",
        value="condition",
        y="accuracy",
        series="model",
        y_limits=(0.0, 1.0),
        columns=3,
    ),
)

RECIPE = PAPER.recipe(
    "fig8",
    title="One-hop fine-tuning strengthens (e1, r2) where two hops succeed",
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
            tuning=FineTune(method="full", rate=1e-2, epochs=2, batch_tokens=2048, end=False),
        ),
        "cpu": Settings(),
        "paper": Settings(
            models=("meta-llama/Llama-3.2-1B", "Qwen/Qwen2.5-1.5B"),
            device="cuda",
            tuning=FineTune(method="full", rate=2e-5, epochs=10, batch_tokens=1024, end=False),
        ),
    },
    seeds={"smoke": 1, "cpu": 8, "paper": 8},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=(
        "models",
        "device",
        "tokens",
        "tuning",
        "The facts: the paper's TwoHopFact is a download; ours are 124 real facts in the package.",
        "Models, rates, numbers of updates and wordings, which the paper does not give.",
        "The prompt (e1, r2) is the second hop's with the subject in the bridge's place.",
        "Candidates, shares and the control that is told second hops only.",
    ),
)
