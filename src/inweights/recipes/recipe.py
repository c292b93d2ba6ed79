"""Recipes: one figure or table of a paper as a plan of trials, probes, figures and claims.

A recipe picks and states; it computes nothing. :func:`inweights.recipes.engine.execute` runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from inweights.config import Config, apply_overrides, identity
from inweights.errors import ConfigError, unknown_name
from inweights.models.base import ModelConfig
from inweights.recipes.claim import Claim
from inweights.training.curriculum import Curriculum
from inweights.worlds.registry import WorldConfig

__all__ = [
    "SCALES",
    "Deduction",
    "Figure",
    "Measure",
    "ModelConfig",
    "Plan",
    "Recipe",
    "Trial",
    "WorldConfig",
]

#: ``smoke`` takes seconds and is in the tests; ``cpu`` minutes on two cores; ``paper`` a GPU.
SCALES = ("smoke", "cpu", "paper")


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One run: a world, a model, a curriculum and a root seed, with labels for the tables."""

    labels: Mapping[str, str | float | bool]
    world: WorldConfig
    model: ModelConfig
    curriculum: Curriculum
    seed: int


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A probe whose result becomes a table of the recipe.

    Attributes:
        name: Name of the table that the results make.
        probe: ``probe(model, worlds, **options)`` returns a table with a column ``replica``.
        options: Keyword arguments of the probe.
        every: Steps between measurements while training (a column ``step`` is added); 0
            measures once, at the end.
        where: Only trials whose labels have these values are measured.
        first_seed: Whether only the trials of the first seed are measured.
    """

    name: str
    probe: Callable[..., Any]
    options: Mapping[str, Any] = field(default_factory=dict)
    every: int = 0
    where: Mapping[str, str | float | bool] = field(default_factory=dict)
    first_seed: bool = False


@dataclass(frozen=True, kw_only=True)
class Deduction:
    """Something that is computed without training, such as a solution of the theory.

    Attributes:
        name: Name of the table that the results make.
        labels: Columns that are added to the rows, as for trials.
        seed: Root seed of the world; what no seed decides takes the first.
        compute: ``compute(**options)`` returns a table.
        options: Plain values and configs.
        effort: About how many updates of a small model take as long; for the progress display.
    """

    name: str
    labels: Mapping[str, str | float | bool]
    seed: int
    compute: Callable[..., pl.DataFrame]
    options: Mapping[str, Any] = field(default_factory=dict)
    effort: int = 1000


class Figure(Config):
    """A figure, as data. ``inweights.report`` draws it from the run folder.

    Attributes:
        id: Short name, also the file's.
        kind: Name of a drawing function of ``inweights.report.figures``.
        title: What the figure shows, in a few words.
        caption: How to read it, and what to see.
        sources: Names of the tables that it draws, in the order of the function's arguments.
        options: Keyword arguments of the drawing function.
    """

    id: str
    kind: str
    title: str
    caption: str
    sources: tuple[str, ...]
    options: dict[str, Any] = {}


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a recipe runs: trials and their measures, and what is deduced without training."""

    trials: Sequence[Trial] = ()
    measures: Sequence[Measure] = ()
    deductions: Sequence[Deduction] = ()


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One figure or table of a paper.

    Attributes:
        name: ``<paper>/<figure>``.
        title: What it shows.
        paper: Full name of the paper, or ``inweights`` for a recipe of our own.
        place: Where in the paper.
        summary: What is done, in a paragraph.
        scales: Settings of each scale, all of one config class.
        seeds: Number of replicates of each scale.
        plan: Makes the plan from settings and seeds.
        claims: What is judged.
        figures: What is drawn.
        derive: Computes further tables from the measured ones, for claims and figures.
        ours: Settings that the paper does not give and that are our choice.
        first_seed: First root seed. Settings are chosen on other seeds than they are judged on.
        version: Raised by hand when the recipe's results change; part of the run's identity.
    """

    name: str
    title: str
    paper: str
    place: str
    summary: str
    scales: Mapping[str, Config]
    seeds: Mapping[str, int]
    plan: Callable[[Any, Sequence[int]], Plan]
    claims: tuple[Claim, ...]
    figures: tuple[Figure, ...]
    derive: Callable[[dict[str, pl.DataFrame]], dict[str, pl.DataFrame]] | None = None
    ours: tuple[str, ...] = ()
    first_seed: int = 100
    version: int = 1

    def __post_init__(self) -> None:
        if set(self.scales) != set(SCALES) or set(self.seeds) != set(SCALES):
            raise ConfigError(f"recipe {self.name}: give settings and seeds for each of {SCALES}")
        for claim in self.claims:
            if not claim.id.startswith(f"{self.name}/"):
                raise ConfigError(
                    f"recipe {self.name}: claim '{claim.id}' belongs to another recipe"
                )

    def resolve(
        self, scale: str, seeds: int | None = None, overrides: Sequence[str] = ()
    ) -> tuple[Any, tuple[int, ...], dict[str, Any]]:
        """Return settings, seeds and the resolved config that names the run folder.

        Args:
            scale: One of :data:`SCALES`.
            seeds: How many; the scale's own number if left out.
            overrides: Changes of settings, each as ``path.to.field=value``.

        Raises:
            ConfigError: The scale is unknown, there are no seeds, or an override does not fit.
        """
        if scale not in SCALES:
            raise unknown_name("scale", scale, SCALES)
        count = self.seeds[scale] if seeds is None else seeds
        if count < 1:
            raise ConfigError(f"a run needs at least one seed, not {count}")
        settings = apply_overrides(self.scales[scale], overrides)
        chosen = tuple(range(self.first_seed, self.first_seed + count))
        config = {
            "recipe": self.name,
            "version": self.version,
            "scale": scale,
            "seeds": list(chosen),
            "settings": identity(settings),
        }
        return settings, chosen, config
