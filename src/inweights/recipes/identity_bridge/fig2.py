"""Figure 2 of Identity Bridge: accuracy on unseen compositions against the world's complexity."""

from __future__ import annotations

from functools import partial
from itertools import product

import polars as pl

import inweights as iw
from inweights.config import Config
from inweights.lab import Measure, Plan, cosine, lines, share
from inweights.recipes.derived import compositions, excess, memorised
from inweights.recipes.identity_bridge import common as ib
from inweights.worlds.two_hop import TwoHop

__all__ = ["RECIPE", "Settings"]

LABELS = ("model", "identity", "complexity")


class Settings(Config):
    """Settings of Figure 2.

    Attributes:
        n: Subjects and objects ``N``.
        complexities: Values of ``C``.
        models: Conditions: ``emb-mlp``, ``gpt``, ``gpt-small``, ``gpt-decay``.
        gpt: The GPTs.
        emb_mlp: The Emb-MLP.
    """

    n: int = 20
    complexities: tuple[int, ...] = (1, 2, 3, 4, 5)
    models: tuple[str, ...] = ib.CONDITIONS
    gpt: ib.GPTTraining = ib.GPTTraining()
    emb_mlp: ib.EmbMLPTraining = ib.EmbMLPTraining()


def plan(settings: Settings) -> Plan:
    """Every model and complexity, with and without identity."""
    training = settings.gpt, settings.emb_mlp
    trials = []
    for c, identity, name in product(settings.complexities, (True, False), settings.models):
        world = TwoHop(n=settings.n, complexity=c, identity=identity)
        trials.append(ib.trial(name, world, *training, identity=identity, complexity=c))
    return Plan(trials=trials, measures=[Measure(name="accuracy", probe=iw.probes.accuracy)])


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Accuracy on compositions with the 1/C line, its excess over it, and recall of the facts."""
    queries = compositions(tables["accuracy"]).with_columns(one_over_c=1.0 / pl.col("complexity"))
    given = pl.when("identity").then(pl.lit("with identity")).otherwise(pl.lit("without identity"))
    return {
        "compositions": queries.with_columns(bridge=given),
        "excess": excess(queries),
        "excess_among": excess(queries, "accuracy_among"),
        "memorised": memorised(tables["accuracy"], LABELS),
    }


state = ib.PAPER.stating("fig2", "Fig. 2, §4.1")

C = "complexity"
_ALL, _AMONG = "argmax over all outputs", "argmax among the objects"
accuracy = share("compositions", "accuracy")
emb, gpt, small, decay = (accuracy.at(model=model, identity=True) for model in ib.CONDITIONS)
emb_among, gpt_among = emb.of("accuracy_among"), gpt.of("accuracy_among")
emb_excess = cosine("excess_among", "excess", model="emb-mlp", identity=True)
small_excess = cosine("excess", "excess", model="gpt-small", identity=True)

CLAIMS = (
    state(
        "non-zero-gpt",
        f"With identity GPT-2 composes out of distribution at every complexity ({_ALL}).",
        gpt.over(C) >= 0.05,
    ),
    state(
        "non-zero-gpt-small",
        f"With identity small-initialisation GPT-2 composes at every complexity ({_ALL}).",
        small.over(C) >= 0.05,
    ),
    state(
        "non-zero-emb-mlp",
        f"With identity Emb-MLP composes at every complexity ({_ALL}).",
        emb.over(C) >= 0.05,
    ),
    state(
        "non-zero-emb-mlp-among",
        f"With identity Emb-MLP composes at every complexity ({_AMONG}; chance is 1/N).",
        emb_among.over(C) >= 0.1,
    ),
    state("c1-emb-mlp", "At C = 1 Emb-MLP does well.", emb.at(complexity=1) >= 0.99),
    state("c1-gpt", "At C = 1 GPT-2 does well.", gpt.at(complexity=1) >= 0.9),
    state(
        "c1-gpt-small",
        "At C = 1 small-initialisation GPT-2 does well.",
        small.at(complexity=1) >= 0.95,
    ),
    state(
        "c2-gpt",
        "At C = 2 GPT-2 has fallen: neither failure nor mastery.",
        gpt.at(complexity=2).within(0.35, 0.75),
    ),
    state(
        "falls-emb-mlp",
        f"Accuracy of Emb-MLP falls with C: from C = 1 to C = 5 by more than half ({_AMONG}).",
        emb_among.at(complexity=1) - emb_among.at(complexity=5) >= 0.5,
    ),
    state(
        "falls-gpt",
        "Accuracy of GPT-2 falls with C: from C = 1 to C = 5 by more than half.",
        gpt.at(complexity=1) - gpt.at(complexity=5) >= 0.5,
    ),
    state(
        "together",
        f"GPT-2 and Emb-MLP fall together: they differ by at most .2 at every C ({_AMONG}).",
        (gpt_among - emb_among).over(C).within(-0.2, 0.2),
    ),
    state(
        "emb-mlp-one-over-c",
        f"Emb-MLP is at 1/C for C = 2 to 5 ({_AMONG}), as ties in the theory predict.",
        emb_excess.over(C).within(-0.1, 0.1),
    ),
    state(
        "small-above-one-over-c",
        "Small initialisation exceeds 1/C at every C from 2 to 5.",
        small_excess.over(C) >= 0.0,
        published="> 1/C",
    ),
    state("small-c2", "Small initialisation at C = 2.", small.at(complexity=2) >= 0.75),
    state("small-c3", "Small initialisation at C = 3.", small.at(complexity=3) >= 0.6),
    state(
        "small-degrades-slower",
        "Small initialisation degrades more slowly: at C = 2 it is above the standard one.",
        small.at(complexity=2) - gpt.at(complexity=2) >= 0.15,
    ),
    state(
        "decay-recovers",
        "Weight decay recovers accuracy at high complexity (C = 3), compared with standard GPT-2.",
        decay.at(complexity=3) - gpt.at(complexity=3) >= 0.05,
        place="§4.4",
    ),
    state(
        "without-identity-fails",
        f"Without identity composition fails, for every model and complexity ({_ALL}).",
        accuracy.at(identity=False).over("model", C) <= 0.15,
    ),
    state(
        "facts-known",
        "All facts are memorised, with and without identity, so that failure is not ignorance.",
        share("memorised", "accuracy").over(*LABELS) >= 0.99,
    ),
)

over_c = partial(
    lines,
    x=C,
    series="model",
    facet="bridge",
    reference=("one_over_c", "1/C"),
    x_label="complexity C",
    y_limits=(0, 1),
)

FIGURES = (
    over_c(
        "accuracy",
        "compositions",
        "Unseen compositions against complexity",
        "Share of out-of-distribution queries (e1, r1, r2) answered right, the largest logit over "
        "all outputs. Mean over fresh seeds, 95% interval; the dashed line is 1/C.",
        y="accuracy",
        y_label="accuracy, all outputs",
    ),
    over_c(
        "accuracy-among",
        "compositions",
        "The same, among the objects only",
        "Share of queries whose right object has the largest logit among the objects. The "
        "difference to the figure above is mass on bridges: the model stops half-way.",
        y="accuracy_among",
        y_label="accuracy, among objects",
    ),
)

RECIPE = ib.PAPER.recipe(
    "fig2",
    title="Identity unlocks unseen compositions, less so as complexity grows",
    place="Figure 2, §4.1",
    summary=(
        "Trains Emb-MLP and GPT-2 (standard and small initialisation, weight decay) on first hops "
        "(e1, r1) → e2 and second hops (e2, r2) → e3, with and without the identities e2 → e2, in "
        "worlds where a subject reaches C objects; then asks (e1, r1, r2), which was never trained."
    ),
    scales={
        "smoke": Settings(
            n=5, complexities=(1, 2, 3, 5), gpt=ib.BRIEF, emb_mlp=ib.EmbMLPTraining(steps=20)
        ),
        "cpu": Settings(),
        "paper": Settings(complexities=(1, 2, 3, 4, 5, 6, 7, 8)),
    },
    seeds={"smoke": 2, "cpu": 8, "paper": 16},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=ib.OURS,
)
