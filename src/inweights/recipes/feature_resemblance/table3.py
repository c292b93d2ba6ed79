"""Table 3 of Feature Resemblance: a one-layer transformer with ReLU, trained end to end."""

from __future__ import annotations

import polars as pl

from inweights.config import Config
from inweights.lab import Judged, Plan, Trial, cosine, share
from inweights.models.configs import Init, OneLayerConfig
from inweights.recipes.feature_resemblance import common as fr
from inweights.recipes.papers import recipe

#: Similarity and success, as printed; losses are .0133, .0198 and .0138.
PRINTED: dict[str, tuple[float, str]] = {
    "joint": (0.9413, "100%"),
    "SA": (0.7116, "100%"),
    "AS": (0.4367, ".67%"),
}


class Settings(Config):
    """Settings of Table 3."""

    n: int = 100
    rho: float = 3.0
    training: fr.EndToEndTraining = fr.EndToEndTraining()


def plan(settings: Settings) -> Plan:
    """Three courses; everything moves in every phase."""
    training = settings.training
    return Plan(
        trials=[
            Trial(
                labels={"course": course},
                world=fr.world_of(course, settings.n),
                model=training.model,
                learner=training.curriculum(course, settings.rho),
            )
            for course in PRINTED
        ],
        measures=fr.measures(),
    )


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """The table, and both columns of it beside the printed ones."""
    table = fr.similarities(tables, ["course"])
    measured = table.select(
        "course", "seed", "success", similarity="cosine", what=pl.lit("measured")
    )
    printed = [
        (course, -1, float(success.rstrip("%")) / 100, alike, "published")
        for course, (alike, success) in PRINTED.items()
    ]
    both = pl.concat(
        [measured, pl.DataFrame(printed, schema=measured.columns, orient="row")],
        how="vertical_relaxed",
    )
    shown = both.unpivot(
        ["similarity", "success"], index=["course", "seed", "what"], variable_name="column"
    )
    return {"table": table, "shown": shown}


similarity, success = cosine("table", "cosine"), share("table", "success")


SCORES: dict[str, Judged] = {}
for course, (printed, _) in PRINTED.items():
    answered = success.at(course=course)
    SCORES[f"similarity-{course.lower()}"] = fr.near(similarity.at(course=course), printed)
    SCORES[f"success-{course.lower()}"] = (
        answered >= 0.97 if fr.SUCCEEDS[course] else answered <= 0.05
    )
for one, other in (("joint", "SA"), ("SA", "AS")):
    closer = similarity.at(course=one) - similarity.at(course=other)
    SCORES[f"order-{one.lower()}-{other.lower()}"] = closer >= 0.05


RECIPE = recipe(
    __name__,
    scales={
        "smoke": Settings(
            n=4,
            training=fr.EndToEndTraining(
                model=OneLayerConfig(width=32, hidden=3, mlp="relu", init=Init(std=2.5e-3)),
                steps=10,
            ),
        ),
        "cpu": Settings(),
        "paper": Settings(),
    },
    seeds={"smoke": 2, "cpu": 8, "paper": 8},
    version=fr.VERSION,
)
