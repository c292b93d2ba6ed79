"""Theorems 1 to 5 of Feature Resemblance, propositions 1 to 5, and the lemmas they stand on."""

from __future__ import annotations

from functools import partial

import polars as pl

from inweights import lab
from inweights.config import Config
from inweights.recipes.feature_resemblance import common as fr
from inweights.worlds.analogy import Analogy

__all__ = ["RECIPE", "Settings"]

#: Theorem, proposition, and lemma about stage 1, of each course.
PLACES = {
    "joint": (1, "Lemma 6"),
    "SA": (2, "Lemma 8"),
    "AS": (3, "Lemma 11"),
    "two-hop": (4, "App. J"),
    "two-hop without identity": (5, "Lemma 15"),
}


class Settings(Config):
    """Settings of the theorems.

    Attributes:
        n: Number of tuples, and of chains.
        rho: Copies of the similarity premise; the theorems are about large ``ρ``.
        checked: ``n`` at which the gradients of lemma 1 are held against autograd.
        training: Training of the one-layer transformer.
    """

    n: int = 100
    rho: float = 5.0
    checked: int = 10
    training: fr.OneLayerTraining = fr.OneLayerTraining(mlp=3000, late={"SA": 3000, "AS": 5000})


def plan(settings: Settings) -> lab.Plan:
    """Every course; stage 1 of each in closed form; the closed form against autograd."""
    from inweights.theory.stage_one import lemma_1, stage_one

    how = settings.training
    trials, computations = [], []
    for course in fr.SUCCEEDS:
        world = fr.world_of(course, settings.n)
        trials.append(
            lab.Trial(
                labels={"course": course},
                world=world,
                model=how.model,
                learner=how.curriculum(course, settings.rho),
            )
        )
        computations.append(
            lab.Computation(
                name="stage_one",
                labels={"course": course},
                compute=stage_one,
                options=how.stage_one(world, fr.phase_roles(course, settings.rho)[0]),
                seeded=True,
                effort=500,
            )
        )
    computations += [
        lab.Computation(
            name="lemma_1",
            labels={"mlp": mlp},
            compute=lemma_1,
            options={"world": Analogy(n=settings.checked), "mlp": mlp},
            seeded=True,
            effort=20,
        )
        for mlp in ("linear", "relu")
    ]
    return lab.Plan(trials=trials, computations=computations, measures=fr.measures())


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Similarity, success and the loss at the end of each phase, and what the figure draws."""
    keys = ["course", "seed"]
    table = fr.similarities(tables, ["course"])
    unpivoted = partial(pl.DataFrame.unpivot, index=keys, variable_name="column")
    words = {
        "attention": "attention: largest distance from 1/2",
        "linear": "update: distance from the linear regime",
    }
    fitted = fr.last_loss(tables["losses"], [*keys, "phase"])
    return {
        "table": table,
        "fitted": fitted.filter(pl.col("phase") != "attention"),
        "shown": unpivoted(table.rename({"cosine": "similarity"}), ["similarity", "success"]),
        "lemmas": unpivoted(tables["stage_one"], list(words)).with_columns(
            pl.col("column").replace(words)
        ),
    }


state = fr.PAPER.stating("theorems", "§4 to §6")

loss = lab.number("fitted", "loss").over("phase")
accuracy, alike = lab.share("table", "success"), lab.cosine("table", "cosine")
#: A score of attention lies in [0, 1], and its distance from 1/2 is half of that at most.
balance = lab.share("stage_one", "attention")


def _theorem(course: str, number: int) -> tuple[lab.Claim, lab.Claim, lab.Claim]:
    """Both parts of a theorem, and its proposition."""
    converges = loss.at(course=course)
    answered, resembles = accuracy.at(course=course), alike.at(course=course)
    if fr.SUCCEEDS[course]:
        name, outcome, conclusion = "follows", "follows", answered >= 0.99
        words, similarity = "alike", resembles >= 0.9
    else:
        name, outcome, conclusion = "fails", "is at chance", answered <= 0.03
        words, similarity = "unlike", resembles.within(-0.03, 0.03)
    return (
        state(
            f"theorem-{number}-converges",
            f"{course}: the training loss converges, in every phase.",
            converges <= 0.1,
            place=f"Thm {number}",
        ),
        state(
            f"theorem-{number}-{name}",
            f"{course}: the conclusion {outcome} (accuracy).",
            conclusion,
            place=f"Thm {number}",
        ),
        state(
            f"proposition-{number}",
            f"{course}: the entities are {words} (cosine).",
            similarity,
            place=f"Prop. {number}",
        ),
    )


CLAIMS = (
    *(claim for course, (nth, _) in PLACES.items() for claim in _theorem(course, nth)),
    state(
        "lemma-1",
        "The closed-form gradients are those of autograd, for a linear MLP and for ReLU (largest "
        "difference, relative to the largest entry).",
        lab.computed("lemma_1", "error").over("mlp", "matrix") <= 1e-9,
        place="Lemma 1, (15)-(17)",
    ),
    state(
        "lemma-2",
        "What stage 1 adds to the value features is a combination of the MLP vectors of the start "
        "(share that is not).",
        lab.computed("stage_one", "span").over("course") <= 1e-9,
        place="Lemmas 2, 14",
        check=True,
    ),
    *(
        state(
            f"balanced-{course.replace(' ', '-')}".lower(),
            f"{course}: attention is balanced through stage 1 (largest distance of a score from "
            "1/2, any fact, any step).",
            balance.at(course=course) <= 0.1,
            place=lemma,
        )
        for course, (_, lemma) in PLACES.items()
    ),
    state(
        "linear-regime",
        "Stage 1 stays in the linear regime that our predictions stand on: distance of what it "
        "adds from what the first step would add fifty times, relative.",
        lab.number("stage_one", "linear").over("course") <= 0.15,
        source="ours",
        place="Lemmas 6, 8, 11, 15",
    ),
)

by_course = partial(
    lab.sweeps,
    axis="column",
    value="course",
    y="value",
    labels={"two-hop without identity": "two-hop without"},
)

FIGURES = (
    by_course(
        "theorems",
        "shown",
        "Similarity and success of every course at ρ = 5",
        "Theorems 1, 2 and 4 promise success and similarity, 3 and 5 neither.",
        y_label="cosine; accuracy",
        y_limits=(0.0, 1.0),
    ),
    by_course(
        "lemmas",
        "lemmas",
        "How well the assumptions of stage 1 hold",
        "Left: how far any attention score leaves 1/2 in stage 1. Right: how far the update of "
        "the value features leaves that of the linear regime, which every prediction uses.",
        y_label="distance",
    ),
)

RECIPE = fr.PAPER.recipe(
    "theorems",
    title="What the theorems promise, and the lemmas under them",
    place="Theorems 1 to 5, propositions 1 to 5, lemmas 1, 2, 6, 8, 11, 14, 15",
    summary=(
        "Trains every course at a large ρ until its loss is small, runs stage 1 by the closed-form "
        "gradients of lemma 1 to see what the lemmas bound, and holds those gradients against "
        "autograd. Theorem 6 is feature-resemblance/fig1."
    ),
    scales={
        "smoke": Settings(n=4, checked=3, training=fr.BRIEF),
        "cpu": Settings(),
        "paper": Settings(),
    },
    seeds={"smoke": 2, "cpu": 5, "paper": 16},
    version=fr.VERSION,
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=(
        "n",
        "rho",
        "checked",
        "training",
        "The text lost every bound; what counts as converged, alike, balanced and at chance is "
        "our choice: a loss of .1, a cosine of .9, a distance of .1 and an accuracy of .03.",
        "n = 100 tuples, ρ = 5; 3000 steps of stage 2, 5000 in phase 2 of AS; otherwise as in "
        "feature-resemblance/table1.",
    ),
)
