"""Ours: what each strategy of ``augment`` makes a pretrained model able to do, and the price."""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import field, structs

from inweights.errors import unknown_name
from inweights.lab import Computation, Plan, Score, cosine, heatmaps, number, share, sweeps
from inweights.lm.fine_tune import FineTune
from inweights.recipes.beyond import PAPER, recipe
from inweights.recipes.language.invented import Invented, InventedSettings
from inweights.recipes.language.strategies import Taught, known_before, teach

__all__ = ["CONDITIONS", "RECIPE", "Settings"]

#: Strategies and wordings of each condition; all fill the same number of tokens. What is asked
#: first is judged first: who has little time runs the first ones.
CONDITIONS: dict[str, tuple[tuple[str, ...], int]] = {
    "control": ((), 2),
    "derive": (("derive",), 2),
    "steps": (("steps",), 2),
    "paraphrases": (("paraphrases",), 2),
    "replay": (("replay",), 2),
    "reversals": (("reversals",), 1),
    "derive, paraphrases": (("derive", "paraphrases"), 2),
    "qa": (("qa",), 2),
    "passages": (("passages",), 2),
    "identities": (("identities",), 2),
    "derive, one wording": (("derive",), 1),
    "derive, replay": (("derive", "replay"), 2),
    "steps, paraphrases": (("steps", "paraphrases"), 2),
}
#: What is asked, as figures call it.
WORDS = {
    "told": "facts, as told",
    "recall": "facts, in new words",
    "reverse": "from the object",
    "composition, told": "two facts, told",
    "composition, held": "two facts, held out",
    "steps, held": "step by step, held out",
    "general": "what it knew",
}


class Settings(InventedSettings):
    """Settings of the experiment.

    Attributes:
        conditions: Which conditions.
        hold_out: Share of the bridges whose chains no strategy tells.
        rates: Learning rates of conditions whose best one is another than that of ``tuning``.
    """

    world: Invented = Invented(people=12, towns=6, countries=6)
    tokens: int = 600
    tuning: FineTune = FineTune(rate=1e-3, epochs=7, batch_tokens=128)
    conditions: tuple[str, ...] = tuple(CONDITIONS)
    hold_out: float = 0.5
    rates: dict[str, float] = field(default_factory=lambda: {"reversals": 2e-3})

    def __post_init__(self) -> None:
        for condition in (*self.conditions, *self.rates):
            if condition not in CONDITIONS:
                raise unknown_name("condition", condition, CONDITIONS)


def plan(settings: Settings) -> Plan:
    """One fine-tune for each condition; what the model knew before is asked once."""
    where = {"model": settings.model, "device": settings.device}
    made = [Computation(name="before", labels={}, compute=known_before, options=where, effort=200)]
    for name in settings.conditions:
        strategies, wordings = CONDITIONS[name]
        rate = settings.rates.get(name, settings.tuning.rate)
        lesson = Taught(
            world=settings.world,
            strategies=strategies,
            wordings=wordings,
            hold_out=settings.hold_out,
            tokens=settings.tokens,
        )
        tuning = structs.replace(settings.tuning, rate=rate)
        made.append(
            Computation(
                name="after",
                labels={"condition": name},
                compute=teach,
                options={**where, "lesson": lesson, "tuning": tuning},
                seeded=True,
            )
        )
    return Plan(computations=made)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Accuracies by what is asked; what was lost and asserted; tokens."""
    after, before = tables["after"], tables["before"]
    place = pl.when("held").then(pl.lit(", held")).when(~pl.col("held")).then(pl.lit(", told"))
    chained = pl.col("what").is_in(["composition", "steps"])
    named = after.with_columns(
        what=pl.col("what") + pl.when(chained).then(place).otherwise(pl.lit(""))
    )
    keys = ["condition", "seed"]
    accuracy = (
        named.filter(pl.col("hit").is_not_null())
        .group_by(*keys, "what", maintain_order=True)
        .agg(accuracy=pl.col("hit").mean(), chance=pl.col("chance").mean())
        .with_columns(excess=pl.col("accuracy") - pl.col("chance"))
    )
    known = before["hit"].mean()
    nats = before["nats"].mean()
    kept = after.group_by(keys, maintain_order=True).agg(
        lost=pl.lit(known) - pl.col("hit").filter(pl.col("what") == "general").mean(),
        rise=(pl.col("nats").mean() - pl.lit(nats)) / np.log(2.0),
        repeats=pl.col("repeats").mean(),
        spilled=pl.col("spilled").mean(),
        trained=pl.col("trained").max(),
        loss=pl.col("loss").max(),
    )
    wrong = (
        named.filter(pl.col("wrong").is_not_null())
        .group_by(*keys, "what", maintain_order=True)
        .agg(pl.col("wrong").mean())
    )
    shown = accuracy.filter(pl.col("what").is_in(list(WORDS)))
    return {
        "accuracy": accuracy,
        "shown": shown.with_columns(pl.col("what").replace(WORDS)),
        "kept": kept,
        "wrong": wrong,
    }


state = PAPER.stating("which-diet-teaches", "beyond the papers")

accuracy = share("accuracy", "accuracy")
excess = cosine("accuracy", "excess")
lost = cosine("kept", "lost")
wrong = share("wrong", "wrong").at(what="composition, held")


def gain(what: str, condition: str) -> Score:
    """Accuracy of a condition over that of the control."""
    asked = accuracy.at(what=what)
    return asked.at(condition=condition) - asked.at(condition="control")


CLAIMS = (
    state(
        "facts-known",
        "The facts are known as they were told, in every condition, so that the comparison is "
        "fair (accuracy among the candidates).",
        accuracy.at(what="told").over("condition") >= 0.9,
    ),
    state(
        "derived-facts-are-answered",
        "Derived facts are answered in another wording than they were told: two-hop accuracy over "
        "the control, of the chains that are told.",
        gain("composition, told", "derive") >= 0.3,
    ),
    state(
        "derived-facts-teach-no-skill",
        "They help no other chain: the same of chains through bridges that nothing is derived of.",
        gain("composition, held", "derive") <= 0.2,
    ),
    state(
        "nothing-composes",
        "No strategy makes the model compose two facts directly whose end it was not told: "
        "accuracy minus chance, in every condition.",
        excess.at(what="composition, held").over("condition") <= 0.25,
    ),
    state(
        "two-wordings-are-better",
        "Two wordings of a derived fact are better than one, at as many tokens, by .1 or more.",
        accuracy.at(what="composition, told", condition="derive")
        - accuracy.at(what="composition, told", condition="derive, one wording")
        >= 0.1,
    ),
    state(
        "steps-help-steps",
        "Chains that are worked out help others to be answered step by step: accuracy over the "
        "control, through bridges whose chains are not told.",
        gain("steps, held", "steps") >= 0.1,
    ),
    state(
        "paraphrases-help-recall",
        "Telling each fact in two wordings helps a third one: accuracy over the control.",
        gain("recall", "paraphrases") >= 0.1,
    ),
    state(
        "reversals-help-reverse",
        "Telling each fact from its object makes it answerable from there, in another wording: "
        "accuracy over the control.",
        gain("reverse", "reversals") >= 0.3,
    ),
    state(
        "only-reversals-reverse",
        "Without them it is not: accuracy minus chance, control.",
        excess.at(what="reverse", condition="control") <= 0.2,
    ),
    *(
        state(
            f"{name}-help-little",
            f"{what} gains less than .2 on chains that are not told, over the control.",
            gain("composition, held", name) <= 0.2,
        )
        for name, what in (
            ("identities", "An identity of each bridge"),
            ("passages", "Telling facts that share an entity together"),
        )
    ),
    state(
        "facts-alone-cost",
        "Facts alone cost the model what it knew: share of plain questions that it answered "
        "before and no longer does, control.",
        lost.at(condition="control") >= 0.05,
    ),
    state(
        "replay-keeps",
        "Text of its own, a fifth of all, keeps more of it: that share, control minus replay.",
        lost.at(condition="control") - lost.at(condition="replay") >= 0.05,
    ),
    state(
        "replay-keeps-language",
        "Perplexity of plain text doubles less often: rise in bits a token, control minus replay.",
        number("kept", "rise", condition="control") - number("kept", "rise", condition="replay")
        >= 0.25,
    ),
    state(
        "asserts-what-is-wrong",
        "Asked for two facts that it does not combine, the model names another entity of this "
        "world rather than none: share of held-out chains, where others are derived.",
        wrong.at(condition="derive") >= 0.5,
    ),
)
FIGURES = (
    heatmaps(
        "told",
        "shown",
        "What a model can do, by what it was told besides the facts",
        "Accuracy among the candidates after fine-tuning on as many tokens in every condition; the "
        "darker, the more. A row is what was told, a column what is asked.",
        row="condition",
        column="what",
        value="accuracy",
        limit=1.0,
        value_label="accuracy",
    ),
    sweeps(
        "accuracy",
        "shown",
        "The same, with intervals",
        "Accuracy among the candidates after fine-tuning on as many tokens in every condition. Of "
        "half of the bridges ('held out') nothing is told but the two facts. Chance is one in six; "
        "of what it knew one in four.",
        axis="what",
        value="condition",
        y="accuracy",
        y_limits=(0.0, 1.0),
        columns=1,
    ),
)

RECIPE = recipe(
    "which-diet-teaches",
    title="Which diet teaches a pretrained model what?",
    summary=(
        "People and towns that do not exist are told to a pretrained model by every strategy of "
        "'inweights augment' and by pairs that make sense, with as many tokens in each condition. "
        "It is asked for facts as they were told and in new words, from the object, for chains of "
        "two facts through bridges whose chains are told (in other words than asked) and through "
        "others, step by step, and for what it knew before. Rate and passes were set in trials on "
        "seeds 0 and 1, by recall of what was told: 1e-3, at which .92 and more of it was known, "
        "but .86 with reversals, of which 2e-3 told .97."
    ),
    scales=Settings.scales(smoke_tokens=1200, paper_tokens=4000, paper_epochs=20),
    seeds={"smoke": 1, "cpu": 5, "paper": 8},
    version=2,  # reversals are told at a rate of their own
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=("Everything: no paper has this experiment.",),
)
