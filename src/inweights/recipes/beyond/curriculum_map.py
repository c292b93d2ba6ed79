"""Ours: how much similarity must be told before the attribution is closed?"""

from __future__ import annotations

from itertools import product

import polars as pl

from inweights.config import Config
from inweights.lab import Plan, Trial, number, share, sweeps
from inweights.recipes.beyond import PAPER, recipe
from inweights.recipes.feature_resemblance import common as fr

__all__ = ["RECIPE", "Settings"]

LABELS = ("model", "share", "rehearsed")
COLUMNS = ("success", "similarity", "attribution")


class Settings(Config):
    """Settings of the map.

    Attributes:
        n: Number of tuples.
        shares: How often ``(b, r1) → c`` counts in phase 1, where every other fact counts once: 0
            is AS, 1 tells everything in phase 1.
        one_layer: Training of the one-layer transformer.
        gpt: Training of the GPT, which stops at the losses of AS.
    """

    n: int = 50
    shares: tuple[float, ...] = (0.0, 0.03, 0.1, 0.3, 1.0)
    one_layer: fr.OneLayerTraining = fr.OneLayerTraining()
    gpt: fr.GPTTraining = fr.GPTTraining()


def parts(told: float, *, rehearsed: bool) -> tuple[dict[str, float], dict[str, float]]:
    """Return what both phases train: some similarity with the attribution, then similarity.

    Example:
        >>> parts(0.1, rehearsed=True)
        ({'category': 1.0, 'attribution': 1.0, 'similarity': 0.1}, {'similarity': 1.0, \
'attribution': 1.0})
    """
    first = {"category": 1.0, "attribution": 1.0}
    late = {"similarity": 1.0}
    return (
        first | ({"similarity": told} if told > 0 else {}),
        late | ({"attribution": 1.0} if rehearsed else {}),
    )


def plan(settings: Settings) -> Plan:
    """Every share, with and without rehearsal of the attribution, by both models."""
    one, gpt, world = settings.one_layer, settings.gpt, fr.world_of("AS", settings.n)
    trials = []
    for told, rehearsed in product(settings.shares, (False, True)):
        phases = parts(told, rehearsed=rehearsed)
        labels = {"share": told, "rehearsed": rehearsed}
        ways = (
            (fr.ONE_LAYER, one.model, one.phases(phases, one.late.get("AS", one.mlp))),
            (fr.GPT, gpt.model, gpt.phases(phases, gpt.losses["AS"])),
        )
        trials += [
            Trial(labels={"model": name, **labels}, world=world, model=model, learner=learner)
            for name, model, learner in ways
        ]
    return Plan(
        trials=trials,
        computations=[
            one.foretold({"share": told}, world, parts(told, rehearsed=False)[0])
            for told in settings.shares
        ],
        measures=fr.measures(),
    )


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Success, similarity, what is kept of the attribution, and the predicted similarity."""
    keys = [*LABELS, "seed"]
    kept = tables["accuracy"].filter(pl.col("role") == "attribution")
    table = (
        fr.similarities(tables, LABELS)
        .join(kept.select(*keys, attribution="accuracy"), on=keys)
        .join(tables["foretold"], on=["model", "share", "seed"], how="left")
        .with_columns(
            error=(pl.col("cosine") - pl.col("from_facts")).abs(),
            phase_2=pl.when("rehearsed")
            .then(pl.lit("attribution rehearsed in phase 2"))
            .otherwise(pl.lit("similarity alone in phase 2")),
        )
    )
    shown = table.rename({"cosine": "similarity"}).unpivot(
        COLUMNS, index=[*keys, "phase_2"], variable_name="column"
    )
    return {
        "table": table,
        "predicted": table.filter(pl.col("from_facts").is_not_null()),
        "shown": shown.with_columns(panel=pl.format("{}: {}", "model", "column")),
    }


state = PAPER.stating("curriculum-map", "beyond the paper")

success = share("table", "success")
one_layer = success.at(model=fr.ONE_LAYER).over("rehearsed")
forgetful, rehearsing = (success.at(model=fr.GPT, rehearsed=again) for again in (False, True))

CLAIMS = (
    state(
        "similarity-predicted",
        "The one-layer similarity is the predicted one, however much similarity is told in phase "
        "1: absolute error.",
        number("predicted", "error").over("share", "rehearsed") <= 0.02,
    ),
    state(
        "one-layer-needs-it-first",
        "One-layer: with no similarity in phase 1 the conclusion fails, whether or not the "
        "attribution is rehearsed (accuracy).",
        one_layer.at(share=0.0) <= 0.1,
    ),
    state(
        "one-layer-with-it",
        "One-layer: with all of it in phase 1 the conclusion outlives the second phase (accuracy).",
        one_layer.at(share=1.0) >= 0.9,
    ),
    state(
        "one-layer-little-is-too-little",
        "One-layer: a tenth of it is not enough (accuracy).",
        one_layer.at(share=0.1) <= 0.5,
    ),
    state(
        "gpt-forgets",
        "GPT: unless it is rehearsed the attribution itself is forgotten in phase 2, however much "
        "similarity came before (accuracy of (a, r2) → d).",
        forgetful.of("attribution").over("share") <= 0.2,
    ),
    state(
        "gpt-fails-by-forgetting",
        "GPT: and then the conclusion fails even where phase 1 told everything (accuracy).",
        forgetful.over("share") <= 0.05,
    ),
    state(
        "gpt-reversed-but-rehearsed",
        "GPT: in the order AS with the attribution rehearsed, the conclusion follows for a third "
        "of the tuples or more (accuracy): the reversed order alone does not forbid it.",
        rehearsing.at(share=0.0) >= 0.33,
    ),
    state(
        "gpt-little-is-enough",
        "GPT: with rehearsal a tenth of the similarity in phase 1 is enough (accuracy).",
        rehearsing.at(share=0.1) >= 0.95,
    ),
)

FIGURES = (
    sweeps(
        "map",
        "shown",
        "Success, similarity and what is kept, by how much similarity came first",
        "Across: how often (b, r1) → c counts in phase 1, from none (AS) to all. The "
        "one-layer transformer, whose value matrix is frozen in phase 2, needs all of it; the "
        "GPT fails because it forgets the attribution, and hardly at all where it rehearses.",
        axis="panel",
        value="share",
        y="value",
        series="phase_2",
        y_label="accuracy; cosine",
        y_limits=(0.0, 1.0),
        columns=3,
        order=[f"{model}: {column}" for model, column in product((fr.ONE_LAYER, fr.GPT), COLUMNS)],
    ),
)

RECIPE = recipe(
    "curriculum-map",
    title="How much similarity must come before the attribution",
    summary=(
        "Between AS and the joint course: phase 1 tells categories, attributions and a share of "
        "the similarity premise, phase 2 the similarity alone, or with the attribution rehearsed. "
        "Tells a wrong order from a forgotten fact."
    ),
    scales={
        "smoke": Settings(n=4, shares=(0.0, 0.1, 1.0), one_layer=fr.BRIEF, gpt=fr.BRIEF_GPT),
        "cpu": Settings(),
        "paper": Settings(n=100, shares=(0.0, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 1.0)),
    },
    seeds={"smoke": 2, "cpu": 5, "paper": 8},
    version=fr.VERSION,
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=("Everything: the paper has AS and the joint course alone. n = 50 tuples.", *fr.OURS),
)
