"""Figure 1b of Identity Bridge from scratch: two hops of half, and identities of all."""

from __future__ import annotations

from itertools import product

import polars as pl

from inweights import probes
from inweights.config import Config
from inweights.lab import Measure, Plan, share, sweeps
from inweights.models.gpt import GPTConfig
from inweights.recipes.derived import memorised
from inweights.recipes.identity_bridge import common as ib
from inweights.worlds.two_hop import TwoHop

__all__ = ["RECIPE", "Settings"]

LABELS = ("model", "relations", "told", "identity")


class Settings(Config):
    """Settings of Figure 1b from scratch.

    Attributes:
        n: Subjects, bridges and objects ``N``.
        relations: Numbers of second relations ``|R2|``; a subject reaches as many objects.
        told: Fractions of the two-hop facts that are trained.
        models: Conditions, as in Figure 2.
        gpt: The GPT.
        emb_mlp: The Emb-MLP.
    """

    n: int = 20
    relations: tuple[int, ...] = (1, 2)
    told: tuple[float, ...] = (0.0, 0.5)
    models: tuple[str, ...] = ("emb-mlp", "gpt")
    gpt: ib.GPTTraining = ib.GPTTraining(model=GPTConfig(tied=False))
    emb_mlp: ib.EmbMLPTraining = ib.EmbMLPTraining(rate=1 / 30, per_fact=True, steps=3000)


def plan(settings: Settings) -> Plan:
    """Both models in worlds of one and of more second relations, with and without identity."""
    training = settings.gpt, settings.emb_mlp
    trials = []
    for several, told, identity, name in product(
        settings.relations, settings.told, (True, False), settings.models
    ):
        world = TwoHop(
            n=settings.n,
            complexity=several,
            first_relations=1,
            second_relations=several,
            maps="permutation",
            trained=told,
            identity=identity,
        )
        labels = {"relations": several, "told": told, "identity": identity}
        trials.append(ib.trial(name, world, *training, **labels))
    return Plan(trials=trials, measures=[Measure(name="accuracy", probe=probes.accuracy)])


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Accuracy on the two-hop questions that were not told, by distribution, and recall."""
    queries = tables["accuracy"].filter(pl.col("part") == "queries")
    given = pl.when("identity").then(pl.lit("with identity")).otherwise(pl.lit("without"))
    half = pl.when(pl.col("told") > 0).then(pl.lit("half told")).otherwise(pl.lit("none told"))
    asked = pl.when(pl.col("distribution") == "out").then(pl.lit("out")).otherwise(pl.lit("in"))
    return {
        "queries": queries,
        "shown": queries.with_columns(
            given=given,
            world=pl.format("|R2| = {}, {}, {} of distribution", "relations", half, asked),
        ),
        "memorised": memorised(tables["accuracy"], LABELS),
    }


state = ib.PAPER.stating("fig1b", "Fig. 1b, §3.2")

out = share("queries", "accuracy", distribution="out")
half = out.at(told=0.5).over("model")
without, bridged = (out.at(identity=identity).over("model", "told") for identity in (False, True))

CLAIMS = (
    state(
        "one-hop-does-not-help",
        "Single hops do not generalise to two-hop questions out of distribution (accuracy).",
        out.at(relations=1, told=0.0, identity=False).over("model") <= 0.1,
    ),
    state(
        "two-hops-do-not-help",
        "Nor do two-hop facts through half of the bridges, for the other half.",
        half.at(relations=1, identity=False) <= 0.1,
    ),
    state(
        "identity-helps",
        "Identities of all bridges do: the other half is answered.",
        half.at(relations=1, identity=True) >= 0.9,
    ),
    state(
        "several-relations-fail-without",
        "With two second relations, too, single hops and half of the two-hop facts say nothing of "
        "bridges that no two-hop fact names.",
        without.at(relations=2) <= 0.1,
        source="ours",
    ),
    state(
        "several-relations-bridge",
        "And identities answer them: the second relation is heeded (well above 1/2, where it "
        "would be ignored).",
        bridged.at(relations=2) >= 0.75,
        source="ours",
    ),
    state(
        "facts-known",
        "All facts that are told are memorised, two-hop facts among them, so that the failure is "
        "one to generalise.",
        share("memorised", "accuracy").over(*LABELS) >= 0.99,
    ),
)

FIGURES = (
    sweeps(
        "accuracy",
        "shown",
        "Two-hop questions through bridges that no two-hop fact names, and through others",
        "Accuracy over all outputs. Out of distribution: the bridge is in no two-hop fact that is "
        "trained. In distribution, which takes two second relations: it is, under the other one.",
        axis="world",
        value="given",
        y="accuracy",
        series="model",
        y_label="accuracy",
        y_limits=(0, 1),
        columns=3,
    ),
)

RECIPE = ib.PAPER.recipe(
    "fig1b",
    title="Two-hop facts do not teach two-hop reasoning, identities do",
    place="Figure 1b, §3.2",
    summary=(
        "Trains Emb-MLP and GPT-2 from scratch on single hops, with two-hop facts through half of "
        "the bridges or none, with identities of all bridges or none, in worlds of one and of two "
        "second relations, and asks two hops through bridges that no two-hop fact named."
    ),
    scales={
        "smoke": Settings(n=4, gpt=ib.BRIEF, emb_mlp=ib.EmbMLPTraining(steps=20)),
        "cpu": Settings(),
        "paper": Settings(relations=(1, 2, 4), gpt=ib.GPTTraining()),
    },
    seeds={"smoke": 2, "cpu": 8, "paper": 16},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=(
        "Figure 1b is a sketch without settings: worlds, models, numbers and targets are ours.",
        "GPT: width 64; the rest as in Figure 2. Maps are random, so that half of the facts is "
        "another half with each seed.",
    ),
)
