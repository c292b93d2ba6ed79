"""Figure 1b of Identity Bridge from scratch: two hops of half, and identities of all."""

from __future__ import annotations

from itertools import product

import polars as pl

import inweights as iw
from inweights.config import Config
from inweights.lab import Measure, Plan, share, sweeps
from inweights.models.configs import GPTConfig
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
    told: tuple[float, ...] = (0.5,)
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
        trials.append(
            ib.trial(name, world, *training, relations=several, told=told, identity=identity)
        )
    return Plan(trials=trials, measures=[Measure(name="accuracy", probe=iw.probes.accuracy)])


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Accuracy on the two-hop questions that were not told, by distribution, and recall."""
    queries = tables["accuracy"].filter(pl.col("part") == "queries")
    given = pl.when("identity").then(pl.lit("with identity")).otherwise(pl.lit("without"))
    half = pl.when(pl.col("told") > 0).then(pl.lit("half told")).otherwise(pl.lit("none told"))
    out = pl.col("distribution") == "out"
    asked = pl.when(out).then(pl.lit("out of")).otherwise(pl.lit("in"))
    return {
        "queries": queries,
        "shown": queries.with_columns(
            given=given,
            world=pl.format("|R2| = {}, {}, {} distribution", "relations", half, asked),
        ),
        "memorised": memorised(tables["accuracy"], LABELS),
    }


state = ib.PAPER.stating("fig1b", "Fig. 1b, §3.2")

out = share("queries", "accuracy", distribution="out")
one, two = (out.at(relations=several) for several in (1, 2))
known = share("memorised", "accuracy").over("relations", "told", "identity")

CLAIMS = (
    state(
        "two-hops-do-not-help",
        "Two-hop facts through half of the bridges do not generalise to the other half (accuracy).",
        one.at(identity=False).over("model", "told") <= 0.1,
    ),
    state(
        "identity-helps",
        "With identities of all bridges the other half is answered.",
        one.at(identity=True).over("model", "told") >= 0.9,
    ),
    state(
        "several-relations-fail-without",
        "With two second relations, too, two-hop facts say nothing of bridges that none of them "
        "names.",
        two.at(identity=False).over("model", "told") <= 0.1,
        source="ours",
    ),
    state(
        "several-relations-bridge",
        "And with identities GPT-2 answers them, heeding the second relation (1/2 if it did not).",
        two.at(identity=True, model="gpt").over("told") >= 0.75,
        source="ours",
    ),
    state(
        "several-relations-add",
        "Emb-MLP adds what bridge and relation say, so that it cannot hold which of two relations "
        "leads where: with identities it stays at one half.",
        two.at(identity=True, model="emb-mlp").over("told").within(0.3, 0.6),
        source="ours",
    ),
    state(
        "facts-known-gpt",
        "GPT-2 knows all facts that it is told, so that the failure is one to generalise (recall "
        "of the least known role).",
        known.at(model="gpt") >= 0.99,
    ),
    state(
        "facts-known-emb-mlp",
        "So does Emb-MLP where there is one second relation.",
        known.at(model="emb-mlp", relations=1) >= 0.99,
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
        "Trains Emb-MLP and GPT-2 from scratch on single hops and half of the two-hop facts, with "
        "and without identities of all bridges, in worlds of one and of two second relations, and "
        "asks two hops through bridges that no two-hop fact named."
    ),
    scales={
        "smoke": Settings(n=4, gpt=ib.BRIEF, emb_mlp=ib.EmbMLPTraining(steps=20)),
        "cpu": Settings(),
        "paper": Settings(relations=(1, 2, 4), told=(0.0, 0.5), gpt=ib.GPTTraining()),
    },
    seeds={"smoke": 2, "cpu": 8, "paper": 16},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=(
        "n",
        "relations",
        "told",
        "models",
        "gpt",
        "emb_mlp",
        "Figure 1b is a sketch without settings: worlds, models, numbers and targets are ours.",
        "GPT: width 64; the rest as in Figure 2. Maps are random, so that half of the facts is "
        "another half with each seed.",
    ),
)
