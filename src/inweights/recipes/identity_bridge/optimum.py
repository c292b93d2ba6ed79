"""What Figures 4 and 5 of Identity Bridge share: the optimum of program (2), drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from inweights.config import Config
from inweights.probes import margins, of_optimum, templates
from inweights.recipes.derived import blocks, compositions, own_peaks
from inweights.recipes.recipe import Deduction, Figure, Plan
from inweights.theory.proof import full_program
from inweights.worlds.two_hop import TwoHop

__all__ = ["SCALES", "SEEDS", "Settings", "derive", "figure", "planner"]

_PANELS = {
    "tokens": "(a) single tokens: the rows of W",
    "first_hop": "(b) one hop (a, r1)",
    "composition": "(c) two hops (a, r1, r2)",
}


class Settings(Config):
    """Settings of Figures 4 and 5.

    Attributes:
        n: ``N`` of the world that is drawn.
        sizes: All ``N`` that are judged.
        gap: Certified gap of every solution.
    """

    n: int = 10
    sizes: tuple[int, ...] = (5, 10, 20, 50)
    gap: float = 1e-5


SCALES = {
    "smoke": Settings(n=4, sizes=(4,)),
    "cpu": Settings(),
    "paper": Settings(sizes=(5, 10, 20, 50, 100, 200)),
}
SEEDS = {"smoke": 1, "cpu": 1, "paper": 1}


def planner(identity: bool) -> Callable[[Settings, Sequence[int]], Plan]:
    """Return the plan of one of the two figures: nothing is trained."""

    def plan(settings: Settings, seeds: Sequence[int]) -> Plan:
        deductions = []
        for n in dict.fromkeys([settings.n, *settings.sizes]):
            world = TwoHop(n=n, complexity=1, identity=identity)
            shared = {"world": world, "gap": settings.gap}
            views: dict[str, dict[str, Any]] = {
                view: {"probe": templates, "rows": view} for view in _PANELS
            }
            views["margins"] = {"probe": margins}
            deductions += [
                Deduction(
                    name=name,
                    labels={"n": n},
                    seed=seeds[0],
                    compute=of_optimum,
                    options={**shared, **options},
                    effort=n,
                )
                for name, options in views.items()
                if n == settings.n or name in ("tokens", "margins")
            ]
            deductions.append(
                Deduction(
                    name="program",
                    labels={"n": n},
                    seed=seeds[0],
                    compute=full_program,
                    options={"n": n, "complexity": 1, "identity": identity, "gap": settings.gap},
                    effort=n,
                )
            )
        return Plan(deductions=deductions)

    return plan


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Panels of the figure, peaks of the rows, and how uniform each block is off its diagonal."""
    shown = tables["composition"]["n"].min()
    return {
        "panels": pl.concat(
            tables[view].filter(pl.col("n") == shown).with_columns(panel=pl.lit(title))
            for view, title in _PANELS.items()
        ),
        "peaks": own_peaks(tables["tokens"], ("seed", "n")),
        "blocks": blocks(tables["tokens"], ("seed", "n")),
        "compositions": compositions(tables["margins"]),
    }


def figure(caption: str, title: str) -> Figure:
    """Return the heat-maps of the optimum."""
    return Figure(
        id="optimum",
        kind="heatmaps",
        title=title,
        caption=caption,
        sources=("panels",),
        options={
            "panel": "panel",
            "row": "row",
            "column": "column",
            "value": "value",
            "box": "top",
            "row_group": "row_group",
            "column_group": "column_group",
            "order": list(_PANELS.values()),
            "value_label": "logit, centred by row",
            "columns": 3,
        },
    )
