"""Run a recipe, estimate its cost, judge a table, and add seeds to undecided claims.

:func:`run` and :func:`forecast` take a recipe, :func:`settle` all of them; :func:`claim` and
:func:`add_seeds_until_decided` judge the table of a sweep. The engine does the work.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from inweights.actions.finished import add_page, find
from inweights.actions.results import open_parts, stated
from inweights.config import check_size
from inweights.errors import ConfigError, InweightsError
from inweights.experiments.claims.claim import Claim, own_claim
from inweights.experiments.claims.claim_result import ClaimResult
from inweights.experiments.claims.score import Judged
from inweights.experiments.claims.verdict import MIN_SEEDS, first_seeds, is_open, judge
from inweights.recipes import get_recipe, recipes_like
from inweights.recipes.catalogue.minutes import minutes_of
from inweights.runs import RunStore
from inweights.support.intervals import ALPHA, alpha_of

if TYPE_CHECKING:
    import polars as pl

    from inweights.experiments.engine.execution import ExecutionKeywords, ExecutionOptions
    from inweights.experiments.engine.outcome import Outcome
    from inweights.experiments.grammar.recipe import Recipe
    from inweights.experiments.studies.cost import Forecast
    from inweights.experiments.studies.settle import Kept, Settled
    from inweights.support.progress import Progress


@dataclass(frozen=True)
class Cost:
    """What a recipe takes at scale ``cpu`` on this machine.

    Attributes:
        recipe: Its name.
        minutes: Minutes of one processor, for all seeds; ``None`` where it was never timed.
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
    store: str = "",
    jobs: int = 1,
    progress: Progress | bool | None = True,
    **how: Unpack[ExecutionKeywords],
) -> Outcome:
    """Run a recipe and write its figures and page; a finished run is read back.

    Args:
        recipe: Its name, or a recipe of one's own.
        scale: ``smoke``, ``cpu`` or ``paper``.
        seeds: Number of replicates, or their seeds; by default as many as verdicts on all
            claims take.
        overrides: Changes of settings: ``["n=10", "gpt.decay=1.0"]`` or ``{"n": 10}``.
        runs: Folder of all runs; by default ``$INWEIGHTS_RUNS``, or ``runs``.
        store: Where the tables of single runs are stored, if not below ``runs``: a folder, or
            an address such as ``s3://bucket/folder``.
        jobs: Processes that work side by side.
        progress: Called with updates done, all updates, and what is being done; by default a
            line with an estimate is shown, with False nothing.
        **how: Further fields of
            :class:`~inweights.experiments.engine.execution.ExecutionOptions`: ``device`` (where
            models live: ``cpu``, ``cuda``), ``threads`` of each process, ``plugins`` (modules
            that the processes import first), ``observers`` (notified of the work and of every
            run that is stored, such as a :class:`~inweights.training.Tracker`), ``on``
            (``ray``, or the address ``ray://HOST:PORT`` of a cluster), ``fresh`` (whether all
            of it is made again), ``keep_models`` (whether the trained weights are stored, too,
            for ``outcome.models()``) and ``command`` (words of the command that makes this run
            again, if it is not ``inweights run``).

    Raises:
        ConfigError: A name, a scale or an override does not fit.
        RunError: The run failed, or its folder is damaged.
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
            execution=ExecutionOptions(jobs=jobs, store=store, progress=told, **how),
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
        recipe: Its name, or a recipe of one's own.
        scale: ``smoke``, ``cpu`` or ``paper``.
        seeds: Number of replicates, which keeps the ledger's first seed, or chosen seeds.
        overrides: Changes of settings.

    Raises:
        ConfigError: There is no such recipe.
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
    **execution: Any,
) -> Forecast:
    """Estimate the cost of a run by timing a few steps; nothing is stored.

    Args:
        recipe: Its name, or a recipe of one's own.
        scale: ``smoke``, ``cpu`` or ``paper``.
        seeds: Number of replicates, or their seeds; by default as many as verdicts on all
            claims take.
        overrides: Changes of settings: ``["n=10"]`` or ``{"n": 10}``.
        runs: Folder of all runs.
        **execution: Fields of :class:`~inweights.experiments.engine.execution.ExecutionOptions`,
            such as ``jobs`` and ``device``.

    Raises:
        ConfigError: A name, a scale or an override does not fit, or this machine lacks the
            device.
    """
    from inweights.experiments.engine.execution import ExecutionOptions
    from inweights.experiments.studies.cost import forecast as look_ahead

    asked = ExecutionOptions(**execution)  # rejects what this machine lacks
    chosen = recipe_for(recipe, scale, seeds, overrides)
    changes = chosen.changes(scale, overrides)
    asked_seeds = _enough(chosen, scale) if seeds is None else seeds
    settings, numbers, _ = chosen.resolve(scale, asked_seeds, changes)
    plan = chosen.plan(settings)
    plan.check()
    place = asked.open_store(RunStore(runs).root)
    return look_ahead(plan, numbers, place, asked, version=chosen.version)


def costs(*, only: str = "", runs: str | Path | None = None) -> tuple[Cost, ...]:
    """Return what the recipes of the results table take at scale ``cpu`` on this machine.

    That is what each took when it was timed last, times how much slower this machine is by a
    quick measurement.

    Args:
        only: Recipes whose name contains this; by default all.
        runs: Folder of all runs.
    """
    from inweights.recipes.catalogue.minutes import pace, timings

    here, known, store = pace(), timings(), RunStore(runs)
    found = []
    for name in recipes_like(only):
        timing, done = known.get(name), False
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

    Recipes go from quick to slow, so that as many claims as possible are decided in the time.

    Args:
        scale: Scale of the runs.
        only: Recipes whose name contains this; by default all.
        minutes: Time for all recipes together.
        runs: Folder of all runs.
        results: Folder of results. With it, recipes with open claims in these results are run,
            and no seed again whose numbers are there; by default, recipes that have run on
            this disk.
        execution: Who does the work; by default this process.
        effort: Former name of ``execution``.

    Yields:
        What more seeds gave, of each recipe with undecided claims.

    Raises:
        ConfigError: ``minutes`` is out of range, or ``results`` has no ledger.
    """
    from inweights.experiments.studies.settle import settle as settle_one

    if effort is not None:
        text = "the argument 'effort' is called 'execution' since version 0.2"
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        execution = effort
    check_size("minutes", minutes, least=0, most=10**7)
    ends = time.monotonic() + 60 * minutes
    found: list[tuple[float, Recipe, Kept | None]] = []
    if results:
        parts = open_parts(scale, only=only, runs=runs, results=results)
        found += ((minutes_of(recipe.name) or math.inf, recipe, kept) for recipe, kept in parts)
    for name in () if results else recipes_like(only):
        with suppress(InweightsError):  # the board says what is wrong with a damaged run
            outcome = find(name, scale, runs=runs)
            if outcome and any(is_open(claim) for claim in outcome.claims):
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


def claim(table: pl.DataFrame, judged: Judged, says: str = "") -> ClaimResult:
    """Return the verdict on a claim about a table of a sweep, which has a column ``seed``.

    Args:
        table: What the sweep returned.
        judged: A score with its target, ``iw.experiments.share("result", "score") >= 0.9``.
            The name of its table does not matter here.
        says: The sentence; by default column and target.

    Raises:
        ConfigError: ``judged`` is no score with a target.
        DataError: The table has no such column, or no such rows.

    Example:
        >>> import polars as pl
        >>> from inweights.experiments import number
        >>> table = pl.DataFrame({"seed": range(8), "score": [0.95, 0.97] * 4})
        >>> claim(table, number("result", "score") >= 0.9).verdict
        'reproduced'
    """
    return judge(_stated(judged, says), {judged.score.table: table})


def add_seeds_until_decided(
    sweep: Callable[..., pl.DataFrame], *judged: Judged, seeds: int = MIN_SEEDS, most: int = 512
) -> tuple[pl.DataFrame, list[ClaimResult]]:
    """Double the seeds of a sweep until each claim about its table is decided.

    Only new seeds are computed. Each further analysis of the data has a wider interval, so
    that all of them together are wrong no more often than one
    (:mod:`inweights.experiments.studies.settle`); a claim that is decided keeps its verdict.

    Args:
        sweep: Returns the table of so many ``seeds``: ``functools.partial(iw.sweep,
            experiment, over={"rate": [0.1, 0.2]})``.
        *judged: Scores with their targets, as for :func:`claim`.
        seeds: How many at first; more where a verdict takes more.
        most: Beyond this a claim is left undecided.

    Returns:
        The table of all seeds, and the verdict on each claim.

    Raises:
        ConfigError: There is no claim, or ``most`` is fewer than a verdict takes.

    Example:
        >>> import polars as pl
        >>> from inweights.experiments import number
        >>> def walk(seeds):
        ...     scores = [0.6, 0.8, 0.7, 0.4] * (seeds // 4)
        ...     return pl.DataFrame({"seed": range(seeds), "score": scores})
        >>> table, [found] = add_seeds_until_decided(walk, number("walk", "score") >= 0.5)
        >>> table.height, found.verdict
        (64, 'reproduced')
    """
    claims = [_stated(one) for one in judged]
    first = max((first_seeds(one, seeds, ALPHA) for one in claims), default=0)
    if not 0 < first <= most:
        raise ConfigError(
            f"give at least one claim, and most >= {first}, the seeds of a first verdict; got "
            f"{len(claims)} claims and most={most}"
        )
    found: dict[int, ClaimResult] = {}
    count = first
    while True:
        table = sweep(seeds=count)
        for place, one in enumerate(claims):
            if place not in found or is_open(found[place]):
                tables, alpha = {one.score.table: table}, alpha_of(count, first)
                found[place] = judge(one, tables, alpha=alpha, minimum=first)
        if 2 * count > most or not any(map(is_open, found.values())):
            return table, list(found.values())
        count *= 2


def _stated(judged: Judged, says: str = "") -> Claim:
    """Return the claim of a score and its target."""
    if not isinstance(judged, Judged):
        raise ConfigError(
            "a claim is a score and its target, such as "
            "iw.experiments.number('result', 'score') >= 0.9, "
            f"got {judged!r}"
        )
    return own_claim("claim/table", says or f"{judged.score.column} {judged.target.text}", judged)
