"""A recipe that takes milliseconds: six computations of two tables, without training."""

from __future__ import annotations

import polars as pl

from inweights.config import Config, check_size
from inweights.experiments import SCALES, Computation, Plan, Recipe


class Settings(Config):
    """Settings of the tiny recipe."""

    rows: int = 3

    def __post_init__(self) -> None:
        check_size(
            "rows", self.rows, most=500
        )  # for larger values, a power exceeds the largest float


def powers(base: int, rows: int) -> pl.DataFrame:
    return pl.DataFrame({"x": range(rows), "y": [base**x / 3 for x in range(rows)]})


def plan(settings: Settings) -> Plan:
    return Plan(
        computations=[
            Computation(
                name=name,
                labels={"base": base},
                compute=powers,
                options={"base": base, "rows": settings.rows + extra},
            )
            for base in (2, 3, 5)
            for name, extra in (("short", 0), ("long", 4))
        ]
    )


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    return {
        "totals": tables["long"].group_by("base", maintain_order=True).agg(pl.sum("y"))
    }


RECIPE = Recipe(
    name="tests/tiny",
    title="Powers",
    paper="inweights",
    place="tests",
    summary="Powers of three bases.",
    scales=dict.fromkeys(SCALES, Settings()),
    seeds=dict.fromkeys(SCALES, 1),
    plan=plan,
    derive=derive,
)
