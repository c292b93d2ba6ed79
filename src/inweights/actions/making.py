"""Run a recipe, estimate its cost, judge a table, and add seeds to undecided claims.

:func:`run` and :func:`forecast` take a recipe, :func:`settle` all of them;
:func:`claim` and
:func:`add_seeds_until_decided` judge the table of a sweep. The engine does the work.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from inweights.actions.finished import add_page, find
from inweights.actions.ledger.results import open_parts, stated
from inweights.config import check_size
from inweights.errors import InweightsError
from inweights.experiments.claims.verdict import is_open
from inweights.recipes import get_recipe, recipes_like
from inweights.recipes.catalogue.minutes import minutes_of
from inweights.runs import RunStore

if TYPE_CHECKING:
    from inweights.experiments.engine.execution import (
        ExecutionOptions,
        RunKeywords,
    )
    from inweights.experiments.engine.outcome import Outcome
    from inweights.experiments.grammar.recipe import Recipe
    from inweights.experiments.studies.cost_estimate import Forecast
    from inweights.experiments.studies.settle import Kept, Settled
    from inweights.support.progress import Progress


@dataclass(frozen=True)
class Cost:
    """Time that a recipe takes at scale ``cpu`` on this machine.

    Attributes:
        recipe: Its name.
        minutes: Minutes of one processor, for all seeds; ``None`` where it was never
            timed.
        most: Whether it may take less, as trainings end when they have learnt.
        done: Whether there is a finished run, so that nothing is left to do.
    """

    recipe: str
    minutes: float | None
    most: bool
    done: bool


def run(
    recipe: str | Recipe,
    scale: str = "cpu",
    *,
    seeds: int | Sequence[int] | None = None,
    overrides: Sequence[str] | Mapping[str, Any] = (),
    runs: str | Path | None = None,
    progress: Progress | bool | None = True,
    **execution: Unpack[RunKeywords],
) -> Outcome:
    """Run a recipe and write its figures and page; a finished run is read back.

    Args:
        recipe: Its name, or a user's own recipe.
        scale: ``smoke``, ``cpu`` or ``paper``.
        seeds: Number of replicates, or their seeds; by default as many as verdicts on
            all claims take.
        overrides: Changes of settings: ``["n=10", "gpt.decay=1.0"]`` or ``{"n": 10}``.
        runs: Folder of all runs; by default ``$INWEIGHTS_RUNS``, or ``runs``.
        progress: Called with the number of updates done, the total number, and a
            description; by default a line with an estimate is shown, with False
            nothing.
        **execution: Fields of
            :class:`~inweights.experiments.engine.execution.ExecutionOptions`:
            ``jobs`` (processes that work side by side; 1 by default), ``store`` (where
            the tables of single runs are stored, if not below ``runs``: a folder, or an
            address such as ``s3://bucket/folder``), ``device`` (where models live:
            ``cpu``, ``cuda``), ``threads`` of each process, ``plugins`` (modules that
            the processes import first), ``observers`` (notified of the work and of
            every run that is stored, such as a :class:`~inweights.training.Tracker`),
            ``on`` (``ray``, or the address ``ray://HOST:PORT`` of a cluster), ``fresh``
            (whether all of it is made again), ``keep_models`` (whether the trained
            weights are stored, too, for ``outcome.models()``) and ``command`` (words of
            the command that makes this run again, if it is not ``inweights run``).

    Returns:
        The run: tables, figures, judged claims, and the folder with its page.

    Raises:
        ConfigError: A name, a scale or an override does not fit.
        RunError: The run failed, or its folder is damaged.
        DataError: A table lacks a column from which another table is derived.
    """
    from inweights.experiments.engine.engine import execute
    from inweights.experiments.engine.execution import ExecutionOptions
    from inweights.support.progress import shown

    chosen = recipe_for(recipe, scale, seeds, overrides)
    with shown(progress) as told:
        return execute(
            chosen,
            scale,
            seeds=_enough(chosen, scale) if seeds is None else seeds,
            overrides=overrides,
            store=RunStore(runs),
            execution=ExecutionOptions(progress=told, **execution),
            publish=add_page,
        )


def recipe_for(
    recipe: str | Recipe,
    scale: str,
    seeds: int | Sequence[int] | None = None,
    overrides: Sequence[str] | Mapping[str, Any] = (),
) -> Recipe:
    """Return a recipe, with the seeds of the ledger unless something is chosen.

    Args:
        recipe: Its name, or a user's own recipe.
        scale: ``smoke``, ``cpu`` or ``paper``.
        seeds: Number of replicates, which keeps the ledger's first seed, or chosen
            seeds.
        overrides: Changes of settings.

    Raises:
        ConfigError: There is no such recipe.
        DataError: The ledger is damaged.
    """
    found = get_recipe(recipe) if isinstance(recipe, str) else recipe
    chosen = overrides or (seeds is not None and not isinstance(seeds, int))
    return found if chosen else stated(found, scale)


def _enough(recipe: Recipe, scale: str) -> int | None:
    """Return how many seeds verdicts take; ``None`` where the recipe names its seeds."""
    from inweights.experiments.engine.judging import seeds_to_judge

    named = recipe.root_seeds or scale not in recipe.seeds
    return None if named else seeds_to_judge(recipe, scale)


def forecast(
    recipe: str | Recipe,
    scale: str = "cpu",
    *,
    seeds: int | Sequence[int] | None = None,
    overrides: Sequence[str] | Mapping[str, Any] = (),
    runs: str | Path | None = None,
    progress: Progress | None = None,
    **execution: Unpack[RunKeywords],
) -> Forecast:
    """Estimate what :func:`run` takes with the same arguments, by timing a few steps.

    Nothing is stored.

    Args:
        recipe: Its name, or a user's own recipe.
        scale: ``smoke``, ``cpu`` or ``paper``.
        seeds: As for :func:`run`; likewise ``overrides`` and ``runs``.
        overrides: Changes of settings.
        runs: Folder of all runs.
        progress: Called with a description of the timed work; by default nothing is
            shown.
        **execution: As for :func:`run`.

    Returns:
        Runs, steps, minutes and memory, and the number of stored runs.

    Raises:
        ConfigError: A name, a scale or an override does not fit, or this machine lacks
            the device.
    """
    from inweights.experiments.engine.execution import ExecutionOptions
    from inweights.experiments.studies.cost import forecast as look_ahead

    # First of all, as it refuses what this machine lacks.
    options = ExecutionOptions(progress=progress, **execution)
    chosen = recipe_for(recipe, scale, seeds, overrides)
    changes = chosen.changes(scale, overrides)
    enough = _enough(chosen, scale) if seeds is None else seeds
    settings, numbers, _ = chosen.resolve(scale, enough, changes)
    plan = chosen.plan(settings)
    plan.check()
    place = options.open_store(RunStore(runs).root)
    return look_ahead(plan, numbers, place, options, version=chosen.version)


def costs(*, only: str = "", runs: str | Path | None = None) -> tuple[Cost, ...]:
    """Return the estimated time of the results table's recipes at scale ``cpu`` here.

    The estimate is the last measured time of each recipe, multiplied by the slowdown of
    this machine in a quick measurement.

    Args:
        only: Recipes whose name contains this; by default all.
        runs: Folder of all runs.

    Raises:
        ConfigError: No recipe has the given name; the message names the nearest.
    """
    from inweights.recipes.catalogue.minutes import pace, timings

    here = pace()
    known = timings()
    store = RunStore(runs)
    found = []
    for name in recipes_like(only):
        timing = known.get(name)
        done = False
        if store.has(name):
            with suppress(InweightsError):  # a damaged run is made again
                done = find(name, "cpu", runs=runs) is not None
        minutes = timing.here(here) if timing else None
        found.append(Cost(name, minutes, bool(timing and timing.most), done))
    return tuple(found)


def settle(
    scale: str = "cpu",
    *,
    only: str = "",
    minutes: float = 60.0,
    runs: str | Path | None = None,
    results: str | Path | None = None,
    execution: ExecutionOptions | None = None,
    effort: ExecutionOptions | None = None,
) -> Iterator[Settled]:
    """Run more seeds for undecided claims, recipe by recipe, until they are decided.

    Recipes go from quick to slow, so that as many claims as possible are decided in the
    time.

    Args:
        scale: Scale of the runs: ``smoke``, ``cpu`` or ``paper``.
        only: Recipes whose name contains this; by default all.
        minutes: Time for all recipes together.
        runs: Folder of all runs.
        results: Folder of results. With it, recipes with open claims in these results
            are run, and no seed again whose numbers are there; by default, recipes that
            have run on this disk.
        execution: Who does the work; by default this process.
        effort: Former name of ``execution``.

    Yields:
        The result of the added seeds, for each recipe with undecided claims.

    Raises:
        ConfigError: ``minutes`` is out of range, or ``results`` has no ledger.
        DataError: The ledger or the scores are damaged.
    """
    from inweights.experiments.studies.settle import settle as settle_one

    if effort is not None:
        text = "the argument 'effort' is called 'execution' since version 0.2"
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        execution = effort
    check_size("minutes", minutes, least=0, most=10**7)
    ends = time.monotonic() + 60 * minutes
    # Each with the time that it takes, by which they are put in order.
    found: list[tuple[float, Recipe, Kept | None]] = []
    if results:
        parts = open_parts(scale, only=only, runs=runs, results=results)
        found += (
            (minutes_of(recipe.name) or math.inf, recipe, kept)
            for recipe, kept in parts
        )
    for name in () if results else recipes_like(only):
        # The board says what is wrong with a damaged run.
        with suppress(InweightsError):
            outcome = find(name, scale, runs=runs)
            if outcome and any(map(is_open, outcome.claims)):
                found.append((outcome.seconds, outcome.recipe, None))
    for _, recipe, kept in sorted(found, key=lambda one: one[0]):
        left = ends - time.monotonic()
        yield settle_one(
            recipe,
            scale,
            store=RunStore(runs),
            seconds=left,
            execution=execution,
            publish=add_page,
            kept=kept,
        )
