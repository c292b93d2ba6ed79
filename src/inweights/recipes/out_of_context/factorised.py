"""One matrix or the product of two: which of them concludes what nobody told it."""

from __future__ import annotations

import polars as pl

import inweights as iw
from inweights import lab
from inweights.config import Config
from inweights.models.configs import DeepLinearConfig, EmbMLPConfig, Init
from inweights.recipes.derived import memorised
from inweights.recipes.out_of_context.implication import PAPER
from inweights.training.curriculum import Optimizer, Phase
from inweights.worlds.implication import Implication

__all__ = ["RECIPE", "Settings"]

FACTORISED, MERGED = "two matrices", "one matrix"


class Settings(Config):
    """Settings of the experiment.

    Attributes:
        groups: Number of groups.
        cells: Members of a group, and of how many of them the second value is told.
        width: Width between the two matrices; and of the one, at least the number of tokens.
        std: Initial scale of both.
        rates: Learning rate of the two matrices and of the one.
        steps: Updates.
    """

    groups: int = 5
    cells: tuple[tuple[int, int], ...] = ((8, 1), (8, 3), (16, 1), (16, 3))
    width: int = 96
    std: float = 0.01
    rates: tuple[float, float] = (2.0, 20.0)
    steps: int = 6000


def plan(settings: Settings) -> lab.Plan:
    """Both models on every world. Emb-MLP is ``W_V`` of one-hot tokens, times ``W_O``."""
    init = Init(std=settings.std)
    models: dict[str, lab.ModelConfig] = {
        FACTORISED: EmbMLPConfig(width=settings.width, init=init),
        MERGED: DeepLinearConfig(width=settings.width, layers=1, readout=False, init=init),
    }
    trials = [
        lab.Trial(
            labels={"members": members, "told": told, "model": name},
            world=Implication(groups=settings.groups, members=members, told=told),
            model=model,
            learner=lab.Curriculum(
                phases=(Phase(steps=settings.steps, optimizer=Optimizer(kind="sgd", rate=rate)),)
            ),
        )
        for members, told in settings.cells
        for (name, model), rate in zip(models.items(), settings.rates, strict=True)
    ]
    measures = [
        lab.Measure(name="accuracy", probe=iw.probes.accuracy),
        lab.Measure(name="ends", probe=iw.probes.direction),
        lab.Measure(name="nuclear", probe=iw.probes.nuclear_norm),
        lab.Measure(name="frobenius", probe=iw.probes.nuclear_norm, options={"order": "fro"}),
    ]
    return lab.Plan(trials=trials, measures=measures)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """What is asked, and what is known."""
    return {
        "questions": tables["accuracy"].filter(pl.col("part") == "queries"),
        "memorised": memorised(tables["accuracy"], ["model", "members", "told"]),
    }


state = PAPER.stating("factorised", "§4")
ours = lab.Paper("out-of-context", PAPER.title, claims_of="ours").stating("factorised", "ours")

CELL = ("members", "told")
accuracy = lab.share("questions", "accuracy")
among = lab.share("questions", "accuracy_among")
nuclear, frobenius = lab.number("nuclear", "norm"), lab.number("frobenius", "norm")

CLAIMS = (
    state(
        "two-matrices-conclude",
        "The product of two matrices, trained, concludes what is told of three of eight members of "
        "the others (accuracy).",
        accuracy.at(model=FACTORISED, members=8, told=3) >= 0.9,
    ),
    state(
        "sample-efficient",
        "It does so from one example a group, of eight members and of sixteen (accuracy).",
        accuracy.at(model=FACTORISED, told=1).over("members") >= 0.9,
    ),
    state(
        "one-matrix-does-not",
        "One matrix in the place of the two does not: among the values of five groups it guesses "
        "(accuracy among them; chance is .20).",
        among.at(model=MERGED).over(*CELL) <= 0.3,
    ),
    state(
        "less-nuclear",
        "Two matrices end with the smaller nuclear norm at a least margin of 1 (difference).",
        (nuclear.at(model=FACTORISED) - nuclear.at(model=MERGED)).over(*CELL) <= 0.0,
    ),
    state(
        "less-frobenius",
        "One matrix ends with the smaller Frobenius norm at a least margin of 1 (difference).",
        (frobenius.at(model=MERGED) - frobenius.at(model=FACTORISED)).over(*CELL) <= 0.0,
    ),
    ours(
        "a-tie",
        "One matrix ties, as the least Frobenius norm does exactly: margin of the questions at a "
        "least margin of the facts of 1.",
        lab.number("ends", "query_margin", model=MERGED).over(*CELL).within(-0.02, 0.02),
    ),
    ours(
        "memorised",
        "Both know all facts (accuracy on the worst role).",
        lab.share("memorised", "accuracy").over("model", *CELL) >= 0.99,
    ),
)

FIGURES = (
    lab.lines(
        "accuracy",
        "questions",
        "Two matrices conclude; one matrix guesses",
        "Accuracy among the values of five groups, on members of whom nothing is told. Chance is "
        ".20. A panel for each size of a group.",
        x="told",
        y="accuracy_among",
        series="model",
        facet="members",
        x_label="members told, of a group",
        y_label="accuracy among the values",
        y_limits=(0.0, 1.0),
    ),
)

RECIPE = PAPER.recipe(
    "factorised",
    title="Two matrices conclude what one matrix does not",
    place="§4",
    summary=(
        "Trains the product of two matrices, and one matrix in their place, on groups that share "
        "a value, and compares what they conclude and their nuclear and Frobenius norms."
    ),
    scales={
        "smoke": Settings(groups=2, width=48, rates=(1.0, 10.0), steps=400),
        "cpu": Settings(),
        "paper": Settings(groups=20, width=400),
    },
    seeds={"smoke": 2, "cpu": 12, "paper": 12},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=(
        "groups",
        "cells",
        "width",
        "std",
        "rates",
        "steps",
        "Two matrices are Emb-MLP, one a linear network of one layer, whose logits are sums of its "
        "tokens' rows; attention is uniform in both. Settings were chosen on the seeds 0 to 3.",
    ),
)
