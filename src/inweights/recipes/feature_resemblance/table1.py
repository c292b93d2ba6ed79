"""Table 1 of Feature Resemblance: every curriculum, by a one-layer transformer and a GPT."""

from __future__ import annotations

from functools import partial

import polars as pl

from inweights.config import Config
from inweights.lab import Claim, Plan, cosine, number, share, sweeps
from inweights.recipes.feature_resemblance import common as fr

__all__ = ["RECIPE", "Settings"]

LABELS = ("model", "course")

#: Loss, similarity and success in percent, as printed.
PRINTED: dict[tuple[str, str], tuple[str, float, str]] = {
    (fr.GPT, "joint"): (".0077", 0.995, "100%"),
    (fr.ONE_LAYER, "joint"): (".0015", 0.9202, "100%"),
    (fr.GPT, "SA"): (".0845", 0.7983, "100%"),
    (fr.ONE_LAYER, "SA"): (".0024", 0.9689, "100%"),
    (fr.GPT, "AS"): (".0085", 0.4326, ".7%"),
    (fr.ONE_LAYER, "AS"): (".0061", 0.0014, "0%"),
    (fr.GPT, "two-hop"): (".0953", 0.9642, "99.7%"),
    (fr.GPT, "two-hop without identity"): (".1024", 0.016, "0%"),
    (fr.ONE_LAYER, "two-hop"): (".075", 0.9132, "100%"),
    (fr.ONE_LAYER, "two-hop without identity"): (".0676", 0.006, "1.7%"),
}


class Settings(Config):
    """Settings of Table 1.

    Attributes:
        n: Number of tuples, and of chains.
        rho: Copies of the similarity premise in the joint course.
        one_layer: Training of the one-layer transformer.
        gpt: Training of the GPT.
    """

    n: int = 100
    rho: float = 3.0
    one_layer: fr.OneLayerTraining = fr.OneLayerTraining()
    gpt: fr.GPTTraining = fr.GPTTraining()


def plan(settings: Settings) -> Plan:
    """Every course with both models, and what the facts say of it before."""
    one, rho = settings.one_layer, settings.rho
    trials, computations = [], []
    for course in fr.SUCCEEDS:
        world, roles = fr.world_of(course, settings.n), fr.phase_roles(course, rho)[0]
        labels = {"course": course}
        trials += fr.both_models(labels, world, one, settings.gpt, course=course, rho=rho)
        computations.append(one.foretold(labels, world, roles, course=course, rho=rho))
    return Plan(trials=trials, measures=fr.measures(), computations=computations)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """The table itself, prediction against measurement, and what the figures draw."""
    table = fr.similarities(tables, LABELS)
    table = table.join(fr.last_loss(tables["losses"], [*LABELS, "seed"]), on=[*LABELS, "seed"])
    published = [(row, printed) for row, (_, printed, _) in PRINTED.items()]
    role = pl.when(pl.col("part") == "queries").then(pl.lit("the conclusion"))
    return {
        "table": table,
        **fr.compared(table, tables["foretold"], published, LABELS),
        "kept": tables["accuracy"].with_columns(
            role=role.otherwise(pl.col("role").replace(_WORDS))
        ),
    }


_WORDS = {
    "category": "(a, r1) → c",
    "similarity": "(b, r1) → c",
    "attribution": "(a, r2) → d",
    "first_hop": "(a, r1) → b",
    "second_hop": "(b, r2) → c",
    "identity": "(b, r1) → b",
}

state = fr.PAPER.stating("table1", "Table 1")
ours = partial(state, source="ours")

similarity, success = cosine("table", "cosine"), share("table", "success")
kept = share("accuracy", "accuracy")
error = number("predicted", "from_facts_error").over("course")


def _row(model: str, course: str) -> tuple[Claim, Claim]:
    """Similarity and success of a row."""
    _, printed, percent = PRINTED[model, course]
    row = f"{course.replace(' ', '-')}-{model}".lower()
    follows, found = fr.SUCCEEDS[course], success.at(model=model, course=course)
    return (
        state(
            f"similarity-{row}",
            f"{model}, {course}: cosine of the two entities.",
            fr.near(similarity.at(model=model, course=course), printed, fr.NEAR[model]),
            published=f"{printed:g}",
        ),
        state(
            f"success-{row}",
            f"{model}, {course}: the conclusion {'follows' if follows else 'does not follow'} "
            "(accuracy over all answers).",
            found >= 0.97 if follows else found <= 0.05,
            published=percent,
        ),
    )


def _order(higher: str, lower: str, difference: str) -> Claim:
    """The GPT's similarity is higher after one course than after another."""
    gpt = similarity.at(model=fr.GPT)
    return state(
        f"order-{higher.lower()}-{lower.lower()}",
        f"GPT: similarity after {higher} is higher than after {lower} (difference).",
        gpt.at(course=higher) - gpt.at(course=lower) >= 0.05,
        published=difference,
    )


CLAIMS = (
    *(claim for row in PRINTED for claim in _row(*row)),
    state(
        "losses-converge",
        "The training loss of the last phase converges, in every row (the largest is published as "
        ".1024; losses fall as one over the steps, so that they only say how long training was).",
        number("table", "loss").over(*LABELS) <= 0.12,
        published=".0015 to .1024",
    ),
    _order("joint", "SA", ".1967"),
    _order("SA", "AS", ".3657"),
    ours(
        "predicted-from-facts",
        "The one-layer similarity is what the linear regime predicts from the facts alone: "
        "absolute error, in every row.",
        error <= 0.02,
    ),
    ours(
        "predicted-closed-form",
        "It is what the closed form of the curriculum predicts: absolute error, in every row.",
        error.of("closed_form_error") <= 0.02,
    ),
    *(
        ours(
            f"sa-forgets-{model}".lower(),
            f"{model}: success after SA costs the similarity premise, (b, r1) → c: it is forgotten "
            "in the second phase (accuracy).",
            kept.at(model=model, course="SA", role="similarity") <= 0.5,
        )
        for model in (fr.ONE_LAYER, fr.GPT)
    ),
    ours(
        "as-forgets-gpt",
        "GPT: in AS the attribution itself, (a, r2) → d, is forgotten in the second phase "
        "(accuracy), so that this row alone does not tell a wrong order from a lost fact.",
        kept.at(model=fr.GPT, course="AS", role="attribution") <= 0.5,
    ),
    ours(
        "as-keeps-one-layer",
        "One-layer: in AS the attribution is kept (accuracy), and yet it is not transferred.",
        kept.at(model=fr.ONE_LAYER, course="AS", role="attribution") >= 0.95,
    ),
)

FIGURES = (
    sweeps(
        "similarity",
        "shown",
        "Cosine of the two entities, measured, published and predicted",
        "Features of the two entities of a tuple (of a chain in two-hop), equation 10. For the "
        "one-layer transformer the linear regime of stage 1 predicts it from the facts alone.",
        axis="model",
        value="course",
        y="similarity",
        series="what",
        y_label="cosine of the two entities",
        y_limits=(0.0, 1.0),
        labels={"two-hop without identity": "two-hop without"},
    ),
    sweeps(
        "kept",
        "kept",
        "What is known in the end: the facts of each phase, and the conclusion",
        "Accuracy over all answers after the last phase. SA reaches every conclusion and forgets "
        "the similarity premise; the GPT forgets the attribution in AS.",
        axis="course",
        value="role",
        y="accuracy",
        series="model",
        y_limits=(0.0, 1.0),
        columns=3,
    ),
)

RECIPE = fr.PAPER.recipe(
    "table1",
    title="The order of the premises decides whether an analogy follows",
    place="Table 1, §4 to §6, §8.1",
    summary=(
        "Trains a one-layer transformer layer by layer, and a GPT end to end, on analogies in "
        "three curricula and on two hops with and without identities. Measures the similarity of "
        "the entities, whether the unseen conclusion follows, and what is forgotten."
    ),
    scales={
        "smoke": Settings(n=4, one_layer=fr.BRIEF, gpt=fr.BRIEF_GPT),
        "cpu": Settings(),
        "paper": Settings(gpt=fr.GPTTraining(model=fr.LARGE, rate=1e-4)),
    },
    seeds={"smoke": 2, "cpu": 5, "paper": 8},
    version=fr.VERSION,
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=("rho", "one_layer", "gpt.rate", "gpt.steps", *fr.OURS),
)
