"""Run a recipe, estimate the time of recipes, and add seeds to undecided claims.

:func:`run` runs one recipe. :func:`costs` and :func:`settle` cover all recipes, or the
recipes whose names contain a given text. :mod:`inweights.experiments.engine` does the
work.
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
from inweights.actions.ledger.results import stated
from inweights.actions.ledger.undecided import open_parts
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
    from inweights.experiments.studies.settle import Kept, Settled
    from inweights.support.progress import Progress


@dataclass(frozen=True)
class Cost:
    """Estimated time of a recipe at scale ``cpu`` on this machine.

    Attributes:
        recipe: Full name of the recipe.
        minutes: Minutes on one CPU core, for all seeds; ``None`` if the recipe was
            never timed.
        most: Whether the estimate is an upper limit, since training may stop early.
        done: Whether a finished run exists. Even then, ``minutes`` is the time of a new
            run.
        shared: Part of ``minutes`` for training runs that also belong to a recipe listed
            earlier. They are run only once if weights are stored (``keep_models``).
    """

    recipe: str
    minutes: float | None
    most: bool
    done: bool
    shared: float = 0.0


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
    """Run a recipe and write its figures and page; a finished run is loaded instead.

    Args:
        recipe: Name of a recipe (its last part is enough if it is unique), or a user's
            own recipe.
        scale: Scale of the run: ``smoke``, ``cpu`` or ``paper``.
        seeds: List of root seeds, or number of consecutive seeds. These begin with the
            newest block of seeds for which the ledger states the recipe's claims (if
            any, and if no setting is changed), otherwise with the recipe's first seed.
            By default, its listed seeds or, if none, the number that verdicts require.
        overrides: Changed settings: ``["n=10", "gpt.decay=1.0"]`` or ``{"n": 10}``; by
            default none.
        runs: Folder of all runs; by default ``$INWEIGHTS_RUNS``, or ``runs`` if that is
            not set.
        progress: Function that is called with the number of updates done, the total
            number, and a description. By default (``True``) a line with the remaining
            time is shown; ``False`` or ``None`` shows nothing.
        **execution: Fields of
            :class:`~inweights.experiments.engine.execution.ExecutionOptions`: ``jobs``
            (number of parallel processes; by default 1), ``store`` (folder, or address
            such as ``s3://bucket/folder``, in which the tables of individual runs are
            stored; by default a folder below ``runs``), ``device`` (torch device of the
            models: ``cpu``, ``cuda``), ``threads`` (of each process), ``plugins``
            (modules that the processes import first), ``observers`` (objects that are
            notified of progress and of each stored run, such as a
            :class:`~inweights.training.Tracker`), ``on`` (``ray``, or the address
            ``ray://HOST:PORT`` of a cluster), ``fresh`` (whether everything is computed
            again), ``keep_models`` (whether trained weights are stored too, for
            ``outcome.models()``) and ``command`` (arguments of the command that repeats
            the run; by default, those of ``inweights run``).

    Returns:
        The run: tables, figures, judged claims, and the folder with its page.

    Raises:
        ConfigError: A name, a scale, an override, a seed or an option is invalid, or a
            folder cannot be written.
        RunError: A training run failed, the folder of the run is damaged, or a file
            cannot be written.
        DataError: The ledger is damaged, a file that the settings name cannot be read,
            or a table lacks a column from which another table is derived.
        InweightsError: All failed tasks raised errors of the same class of this library;
            an error of that class is then raised.
    """
    from inweights.experiments.engine.engine import execute
    from inweights.experiments.engine.execution import ExecutionOptions
    from inweights.experiments.studies.cost import expected_seconds
    from inweights.support.progress import shown

    chosen = recipe_for(recipe, scale, seeds, overrides)
    with shown(progress) as told:
        return execute(
            chosen,
            scale,
            seeds=enough_seeds(chosen, scale) if seeds is None else seeds,
            overrides=overrides,
            store=RunStore(runs),
            execution=ExecutionOptions(
                progress=told, expect=expected_seconds, **execution
            ),
            publish=add_page,
        )


def recipe_for(
    recipe: str | Recipe,
    scale: str,
    seeds: int | Sequence[int] | None = None,
    overrides: Sequence[str] | Mapping[str, Any] = (),
) -> Recipe:
    """Return a recipe whose seeds begin with the block on which the ledger states its claims.

    Args:
        recipe: Name of a recipe (its last part is enough if it is unique), or a user's
            own recipe.
        scale: ``smoke``, ``cpu`` or ``paper``.
        seeds: If it is a list of root seeds, the recipe is returned unchanged. A number
            or ``None`` (the default) has no effect.
        overrides: Changed settings, by default none. If there are any, the recipe is
            returned unchanged.

    Returns:
        The recipe. Unless it is unchanged, its seeds begin with the newest block (a
        range of 1,000,000 root seeds) on which the ledger states its claims. The
        arguments ``seeds`` and ``overrides`` are not applied.

    Raises:
        ConfigError: There is no such recipe, several recipes have this last part, or an
            option of a measure cannot be stored exactly.
        DataError: The ledger is damaged, or a file that the settings name cannot be
            read.
    """
    found = get_recipe(recipe) if isinstance(recipe, str) else recipe
    chosen = overrides or (seeds is not None and not isinstance(seeds, int))
    return found if chosen else stated(found, scale)


def enough_seeds(recipe: Recipe, scale: str) -> int | None:
    """Return the number of seeds that is required for a verdict on every claim of a recipe.

    Args:
        recipe: The recipe.
        scale: Scale of the run: ``smoke``, ``cpu`` or ``paper``.

    Returns:
        The number, at least the number that the recipe specifies; ``None`` if the
        recipe lists its root seeds or has no number of seeds for this scale.
    """
    from inweights.experiments.engine.judging import seeds_to_judge

    named = recipe.root_seeds or scale not in recipe.seeds
    return None if named else seeds_to_judge(recipe, scale)


def costs(*, only: str = "", runs: str | Path | None = None) -> tuple[Cost, ...]:
    """Estimate the time of the recipes in the results table, at scale ``cpu`` on this machine.

    The estimate is the latest measured time of each recipe, corrected for the speed of
    this machine, which is measured briefly.

    Args:
        only: Part of the names of the recipes; by default all recipes.
        runs: Folder of all runs, in which finished runs are found; by default
            ``$INWEIGHTS_RUNS`` or, if unset, ``runs``.

    Returns:
        One estimate per recipe, in the order of the results table. Recipes that were
        never timed are included, with ``minutes=None``.

    Raises:
        ConfigError: No recipe's name contains ``only``; the message suggests similar
            names.
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
            with suppress(InweightsError):  # a damaged run counts as not made
                done = find(name, "cpu", runs=runs) is not None
        if timing is None:
            found.append(Cost(name, None, most=False, done=done))
            continue
        minutes = timing.here(here)
        shared = timing.shared_here(here)
        found.append(Cost(name, minutes, timing.most, done, shared))
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
    """Add seeds to undecided claims, recipe by recipe, until they are decided or time is up.

    The fastest recipes are run first, so that as many claims as possible are decided.
    Recipes with a damaged run are skipped.

    Args:
        scale: Scale of the runs: ``smoke``, ``cpu`` or ``paper``.
        only: Part of the names of the recipes; by default all recipes.
        minutes: Total time limit for all recipes, in minutes, from 0 to 10,000,000; by
            default 60.
        runs: Folder of all runs; by default ``$INWEIGHTS_RUNS`` or, if unset, ``runs``.
        results: Folder of results. If it is given, the recipes with undecided claims in
            these results are run, with seeds that the results do not contain. By default
            the recipes that have been run on this disk are used.
        execution: Options that define where and how tasks run; by default, they run one
            after another in this process.
        effort: Former name of ``execution``; its use issues a ``DeprecationWarning``.

    Yields:
        One result of adding seeds for each recipe with undecided claims (if ``results``
        is given, for each recipe and block of seeds). Nothing is run before the first
        result is requested.

    Raises:
        ConfigError: ``minutes`` is not between 0 and 10,000,000, ``results`` has no
            ledger, no recipe's name contains ``only``, or a folder cannot be written.
        DataError: The ledger or the scores are damaged, or a file that the settings
            name cannot be read.
        RunError: A training run failed, the folder of a run is damaged, or a file
            cannot be written.
        OSError: The ledger cannot be read.
    """
    from inweights.experiments.studies.settle import settle as settle_one

    if effort is not None:
        text = "the argument 'effort' is now called 'execution' (since version 0.2)"
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        execution = effort
    check_size("minutes", minutes, least=0, most=10**7)
    ends = time.monotonic() + 60 * minutes
    # Recipes with undecided claims, each with the time by which recipes are sorted.
    found: list[tuple[float, Recipe, Kept | None]] = []
    if results:
        parts = open_parts(scale, only=only, runs=runs, results=results)
        found += (
            (minutes_of(recipe.name) or math.inf, recipe, kept)
            for recipe, kept in parts
        )
    for name in () if results else recipes_like(only):
        # A damaged run is skipped here; the results table states what is wrong with it.
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
