"""Estimate the cost of a recipe by timing a few steps, and store the estimate.

:func:`forecast` returns the estimate that ``inweights run RECIPE --dry-run`` shows. An
estimate of one of the library's own recipes is stored in a cache
(:mod:`inweights.support.keys.remembered`), so that the next dry run does not load
PyTorch. It is valid until the library, the settings or the stored runs change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import msgspec

from inweights.actions.making import enough_seeds, recipe_for
from inweights.experiments.studies.cost_estimate import Forecast
from inweights.recipes import is_built_in
from inweights.runs import RunStore
from inweights.support.keys.remembered import recall, remember

if TYPE_CHECKING:
    from inweights.experiments.engine.execution import RunKeywords
    from inweights.experiments.grammar.recipe import Recipe
    from inweights.runs.tables.store import Store
    from inweights.support.progress import Progress

_KIND = "estimate"


class _Estimate(msgspec.Struct):
    """A stored cost estimate, with the state of the store for which it is valid.

    Attributes:
        forecast: The estimate.
        places: Location of every table of the plan: key of the run and name of the
            part.
        stored: Whether each of these tables was stored.
    """

    forecast: Forecast
    places: list[tuple[str, str]]
    stored: list[bool]


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
    """Estimate the cost of :func:`run` with the same arguments, by timing a few steps.

    No run is stored. The estimate of one of the library's own recipes is stored in the
    user's cache. Later calls return it, with the date of the estimate, until the
    settings, the stored runs or the library change.

    Args:
        recipe: Name of a recipe, or a user-defined recipe.
        scale: Scale of the run: ``smoke``, ``cpu`` or ``paper``.
        seeds: Number of seeds, or a list of root seeds; by default as for :func:`run`.
        overrides: Changed settings, such as ``["n=10"]`` or ``{"n": 10}``; by default
            none.
        runs: Folder of all runs; by default ``$INWEIGHTS_RUNS`` or, if unset, ``runs``.
        progress: Function that is called with the number of groups of training runs
            timed so far, the largest number that may be timed, and a description. If it
            is ``None`` (the default), progress is not reported.
        **execution: Further arguments of :func:`run`, such as ``jobs`` or ``device``.
            With ``fresh``, stored estimates are ignored.

    Returns:
        The estimate: numbers of runs and of stored runs, steps, minutes and memory.

    Raises:
        ConfigError: A name, a scale, an override or an option is invalid, this machine
            does not have the device, or even a single run does not fit in memory.
        DataError: A file that the settings name cannot be read, a world cannot be
            built, or the ledger is damaged.
    """
    from inweights.experiments.engine.execution import ExecutionOptions
    from inweights.experiments.engine.plan import expand_plan
    from inweights.experiments.studies.cost import forecast as look_ahead

    # Created first, because this raises an error if the machine lacks what an option
    # requires.
    options = ExecutionOptions(progress=progress, **execution)
    chosen = recipe_for(recipe, scale, seeds, overrides)
    changes = chosen.changes(scale, overrides)
    enough = enough_seeds(chosen, scale) if seeds is None else seeds
    settings, numbers, config = chosen.resolve(scale, enough, changes)
    place = options.open_store(RunStore(runs).root)
    own = isinstance(recipe, str) and is_built_in(chosen.name)
    key = [config, options.device, options.jobs, options.keep_models]
    if own and not options.fresh and (known := _recall(key, place)):
        return known
    plan = chosen.plan(settings)
    plan.check()
    found = look_ahead(plan, numbers, place, options, version=chosen.version)
    if own:
        work = expand_plan(
            plan, numbers, chosen.version, keep_models=options.keep_models
        )
        places = {one.place for one in work.requests}
        for run, parts in work.parts.items():
            places |= {(run, part) for part in parts}
        _remember(key, found, sorted(places), place)
    return found


def _recall(key: Any, store: Store) -> Forecast | None:
    """Return the stored estimate of a plan, with the day on which it was made.

    Args:
        key: Everything on which the estimate depends, except the library and the store.
        store: Store of the tables of individual runs.

    Returns:
        The estimate; ``None`` if there is none, or if other tables are stored now.
    """
    found = recall(_KIND, key, _Estimate)
    if found is None:
        return None
    known, day = found
    if _stored(known.places, store) != known.stored:
        return None
    return replace(known.forecast, timed=day)


def _remember(
    key: Any, forecast: Forecast, places: Sequence[tuple[str, str]], store: Store
) -> None:
    """Store the estimate of a plan in the user's cache.

    Args:
        key: Everything on which the estimate depends, except the library and the store.
        forecast: The estimate.
        places: Location of every table of the plan: key of the run and name of the
            part.
        store: Store of the tables of individual runs.
    """
    remember(_KIND, key, _Estimate(forecast, [*places], _stored([*places], store)))


def _stored(places: list[tuple[str, str]], store: Store) -> list[bool]:
    """Return, for each table, whether it is in the store."""
    return [store.has(*place) for place in places]
