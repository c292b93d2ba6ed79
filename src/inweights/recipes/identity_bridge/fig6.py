"""Figure 6 of Identity Bridge: geometry of hidden states, layer by layer, at high complexity."""

from __future__ import annotations

from functools import partial

import polars as pl

import inweights as iw
from inweights.config import Config
from inweights.lab import Measure, Plan, cosine, lines, number, share, states
from inweights.recipes.derived import compositions, memorised, over_blocks, where_known
from inweights.recipes.identity_bridge import common as ib
from inweights.worlds.two_hop import TwoHop

__all__ = ["RECIPE", "Settings"]


class Settings(Config):
    """Settings of Figure 6.

    Attributes:
        n: Subjects and objects ``N``.
        complexity: ``C``.
        models: Conditions, as in Figure 2.
        gpt: The GPTs.
        tied: The GPTs with a tied head.
    """

    n: int = 20
    complexity: int = 3
    models: tuple[str, ...] = ib.CONDITIONS[1:]
    gpt: ib.GPTTraining = ib.GPTTraining()
    tied: ib.GPTTraining = ib.TIED_HEAD


def plan(settings: Settings) -> Plan:
    """The GPTs on one world with identity."""
    world = TwoHop(n=settings.n, complexity=settings.complexity)
    training = settings.gpt, ib.EmbMLPTraining(), settings.tied
    trials = [ib.trial(name, world, *training) for name in settings.models]
    measures = [
        Measure(name="accuracy", probe=iw.probes.accuracy),
        Measure(name="alignment", probe=iw.probes.alignment),
        Measure(name="states", probe=iw.probes.bridge_projection, first_seed=True),
    ]
    return Plan(trials=trials, measures=measures)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Mean alignment over the blocks, and a note on how far each projection can be trusted."""
    trust = pl.format("trustworthiness {}", pl.col("trustworthiness").round(2))
    r1 = pl.when(pl.col("place") == "first_hop").then(pl.lit("(e1, r1) and (e2)"))
    compared = r1.otherwise(pl.lit("(e1, r1, r2) and (e2, r2)"))
    return {
        "states": tables["states"].with_columns(note=trust),
        "alignment": tables["alignment"].with_columns(compared=compared),
        "by_model": over_blocks(
            tables["alignment"], ("cosine", "contrast", "nearest"), ("model", "seed", "place")
        ),
        "known": where_known(compositions(tables["accuracy"]), tables["accuracy"], ("model",)),
        "memorised": memorised(tables["accuracy"], ("model",)),
    }


state = ib.PAPER.stating("fig6", "Fig. 6, §4.4")

#: What regularises: its condition, and what it is compared with.
MENDS = (
    ("small", "Small initialisation", "gpt-small", "gpt"),
    ("decay", "Weight decay", "gpt-tied-decay", "gpt-tied"),
)
accuracy = share("known", "accuracy")
alignment = cosine("by_model", "cosine")
at_first_hop, at_answer = (alignment.at(place=place) for place in ("first_hop", "query"))
contrast = number("by_model", "contrast")

CLAIMS = (
    *(
        claim
        for short, words, mended, plain in MENDS
        for claim in (
            state(
                f"{short}-tighter",
                f"{words} aligns (e1, r1) with its bridge more tightly across layers than GPT-2 "
                "without it (mean cosine over the blocks, difference).",
                at_first_hop.at(model=mended) - at_first_hop.at(model=plain) >= 0.01,
            ),
            state(
                f"{short}-tighter-contrast",
                f"{words} tells (e1, r1)'s bridge from others more sharply across layers than "
                "GPT-2 without it (mean over the blocks of the cosine with the own bridge minus "
                "that with others, difference).",
                contrast.at(model=mended, place="first_hop")
                - contrast.at(model=plain, place="first_hop")
                >= 0.01,
                source="ours",
            ),
            state(
                f"{short}-recovers",
                f"{words} recovers accuracy at high complexity (difference to GPT-2 without it, "
                "where both know their facts).",
                accuracy.at(model=mended) - accuracy.at(model=plain) >= 0.1,
                place="§4.4",
            ),
        )
    ),
    state(
        "small-tighter-at-answer-cosine",
        "Where the answer is read, small initialisation aligns (e1, r1, r2) with (e2, r2) more "
        "tightly than standard GPT-2 (mean cosine over the blocks, difference).",
        at_answer.at(model="gpt-small") - at_answer.at(model="gpt") >= 0.01,
        source="ours",
    ),
    state(
        "small-tighter-at-answer-contrast",
        "Where the answer is read, small initialisation aligns (e1, r1, r2) with (e2, r2) more "
        "tightly than standard GPT-2 (the same, minus that with other bridges, difference).",
        contrast.at(model="gpt-small", place="query") - contrast.at(model="gpt", place="query")
        >= 0.01,
        source="ours",
    ),
    state(
        "facts-known",
        "All facts are memorised.",
        share("memorised", "accuracy").over("model") >= 0.99,
    ),
)

by_layer = partial(
    lines, x="depth", series="model", facet="compared", x_label="layer, from the embedding on"
)

FIGURES = (
    states(
        "states",
        "states",
        "Hidden states of first hops (circles) and of their bridges (stars)",
        "t-SNE by cosine distance of six pairs through all layers; light is shallow, dark is "
        "deep. One model of each condition, the first seed. A pair is aligned where star and "
        "circle of one hue and depth coincide.",
        panel="model",
        x="x",
        y="y",
        layer="depth",
        pair="pair",
        kind="kind",
        kinds=("bridge", "subject"),
        note="note",
    ),
    by_layer(
        "cosine",
        "alignment",
        "Alignment by layer",
        "Mean cosine of the state of a subject's prompt with that of its bridge's. Left at the "
        "first relation, where the paper looks; right where the answer is read.",
        y="cosine",
        y_label="cosine with the own bridge",
    ),
    by_layer(
        "contrast",
        "alignment",
        "The same, against other bridges",
        "Cosine with the own bridge minus mean cosine with others. A cosine near 1 means "
        "nothing where all states point the same way.",
        y="contrast",
        y_label="cosine: own minus other",
    ),
)

RECIPE = ib.PAPER.recipe(
    "fig6",
    title="Does regularisation align a first hop with its bridge?",
    place="Figure 6, §4.4",
    summary=(
        "Trains GPT-2 with standard and with small initialisation, and with a tied head without "
        "and with strong weight decay, on one two-hop world with identity at high complexity, and "
        "compares the hidden states of (e1, r1) and e2 in every layer."
    ),
    scales={
        "smoke": Settings(n=4, complexity=2, gpt=ib.BRIEF, tied=ib.BRIEF_TIED),
        "cpu": Settings(),
        "paper": Settings(),
    },
    seeds={"smoke": 2, "cpu": 8, "paper": 16},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=("n", "gpt", "tied", *ib.OURS),
)
