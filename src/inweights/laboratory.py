"""The main door from Python: run a recipe, read the board."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from inweights.config import check_size
from inweights.errors import ConfigError, InweightsError, unknown_name
from inweights.lab.collect import Effort
from inweights.lab.engine import Outcome, execute, judge_all, load, refresh, unjudged_all
from inweights.lab.recipe import Recipe
from inweights.lab.settle import Settled
from inweights.lab.settle import settle as settle_one
from inweights.lab.study import is_study, study_recipe
from inweights.lab.verdict import ClaimResult
from inweights.progress import Progress
from inweights.recipes import get_recipe, recipe_names
from inweights.report.publish import publish
from inweights.runs import RunStore

__all__ = ["board", "find", "open_run", "recipes_like", "run", "settle"]


def run(
    recipe: str | Recipe,
    scale: str = "cpu",
    *,
    seeds: int | Sequence[int] | None = None,
    overrides: Sequence[str] | Mapping[str, Any] = (),
    runs: str | Path | None = None,
    fresh: bool = False,
    device: str = "cpu",
    jobs: int = 1,
    threads: int = 1,
    plugins: Sequence[str] = (),
    progress: Progress | None = None,
    command: Sequence[str] = (),
    keep_models: bool = False,
) -> Outcome:
    """Run a recipe and write its figures and page; the same config again is read back.

    Args:
        recipe: Its name, or a recipe of one's own.
        scale: ``smoke``, ``cpu`` or ``paper``.
        seeds: Number of replicates, or their seeds, if not the recipe's own.
        overrides: Changes of settings: ``["n=10", "gpt.decay=1.0"]`` or ``{"n": 10}``.
        runs: Folder of all runs; ``$INWEIGHTS_RUNS`` or ``runs`` if left out.
        fresh: Whether all of it is made again.
        device: Where models live: ``cpu``, ``cuda``.
        jobs: Processes that work side by side.
        threads: Threads of each.
        plugins: Modules that the processes import first.
        progress: Called with updates done, all updates, and what is being done.
        command: Words of the command that makes this run again, if it is not ``inweights run``.
        keep_models: Whether the trained weights are stored, too, for ``outcome.models()``.

    Raises:
        ConfigError: A name, a scale or an override does not fit.
        RunError: The run failed, or its folder is damaged.
    """
    return execute(
        get_recipe(recipe) if isinstance(recipe, str) else recipe,
        scale,
        seeds=seeds,
        overrides=overrides,
        store=RunStore(runs),
        fresh=fresh,
        effort=Effort(
            device=device, jobs=jobs, threads=threads, plugins=tuple(plugins), progress=progress
        ),
        publish=publish,
        command=command,
        keep_models=keep_models,
    )


def find(recipe: str, scale: str = "cpu", *, runs: str | Path | None = None) -> Outcome | None:
    """Return the finished run of a recipe's own config at a scale, if there is one.

    Where it ran with more seeds, counted from the same first one, that run is taken.
    """
    chosen = get_recipe(recipe)
    best = max(_own_runs(chosen, scale, RunStore(runs)), default=None, key=lambda f: f[0])
    return load(chosen, best[1]) if best else None


def _own_runs(recipe: Recipe, scale: str, store: RunStore) -> Iterator[tuple[int, Any]]:
    """Complete runs of a recipe with its own settings and at least its own seeds."""
    if scale not in recipe.scales:
        return
    _, own, config = recipe.resolve(scale)
    for folder in store.of(recipe.name):
        seeds = folder.seeds
        if folder.complete and {**folder.config, "seeds": []} == {**config, "seeds": []}:
            counted = seeds == list(range(own[0], own[0] + len(seeds)))
            if counted and len(seeds) >= len(own):
                yield len(seeds), folder


def board(
    scale: str = "cpu", *, only: str = "", runs: str | Path | None = None
) -> tuple[ClaimResult, ...]:
    """Return every claim of every recipe with its verdict; ``not judged`` where there is no run.

    A damaged run takes no other one down: its claims are not judged, and say why.

    Args:
        scale: Which run of each recipe.
        only: Recipes whose name contains this.
        runs: Folder of all runs.
    """
    results: list[ClaimResult] = []
    for name in recipes_like(only):
        recipe = get_recipe(name)
        try:
            outcome = find(name, scale, runs=runs)
        except InweightsError as error:
            results += unjudged_all(recipe, str(error))
            continue
        results += outcome.claims if outcome else judge_all(recipe, None, scale)
    return tuple(results)


def recipes_like(part: str) -> tuple[str, ...]:
    """Return the names of all recipes that contain ``part``.

    Raises:
        ConfigError: There is none; says which comes closest.
    """
    names = tuple(name for name in recipe_names() if part in name)
    if not names:
        raise unknown_name("recipe", part, recipe_names(), hint="'inweights list' shows them all.")
    return names


def settle(
    scale: str = "cpu",
    *,
    only: str = "",
    minutes: float = 60.0,
    runs: str | Path | None = None,
    effort: Effort | None = None,
) -> Iterator[Settled]:
    """Run more seeds for what is undecided, recipe by recipe, until it is settled.

    Recipes that have run go from quick to slow, so that a budget settles as much as it can.

    Args:
        scale: Which run of each recipe.
        only: Recipes whose name contains this.
        minutes: Time for all of them.
        runs: Folder of all runs.
        effort: Who does the work, and with what.

    Yields:
        What more seeds gave, of each recipe with undecided claims.
    """
    check_size("minutes", minutes, least=0, most=10**7)
    ends = time.monotonic() + 60 * minutes
    found = []
    for name in recipes_like(only):
        with suppress(InweightsError):  # the board says what is wrong with a damaged run
            found.append(find(name, scale, runs=runs))
    for outcome in sorted((o for o in found if o), key=lambda o: o.seconds):
        if any(claim.verdict == "undecided" for claim in outcome.claims):
            left = ends - time.monotonic()
            yield settle_one(
                outcome.recipe, scale, store=RunStore(runs), seconds=left, effort=effort,
                publish=publish,
            )  # fmt: skip


def open_run(
    name: str, scale: str = "cpu", *, runs: str | Path | None = None, again: bool = False
) -> Outcome:
    """Return a finished run by its recipe, or by the first letters of its hash.

    Args:
        name: A recipe, or the first letters of a run's hash.
        scale: Which run of a recipe.
        runs: Folder of all runs.
        again: Whether the run is judged and drawn again, with the claims and figures of this
            version; nothing is trained.

    Raises:
        ConfigError: There is no such run; says how to make one.
    """
    if name in recipe_names():
        outcome = find(name, scale, runs=runs)
        if outcome is None:
            raise ConfigError(
                f"{name} has not run at scale '{scale}' yet; 'inweights run {name} --scale {scale}'"
            )
        return refresh(outcome.recipe, outcome.folder, publish) if again else outcome
    folders = list(RunStore(runs))
    matches = [folder for folder in folders if folder.path.name.startswith(name)]
    if is_study(name):
        matches = [folder for folder in folders if folder.config.get("recipe") == name][:1]
    if len(matches) > 1:
        raise ConfigError(f"'{name}' fits {len(matches)} runs; give more letters of the hash")
    if not matches or not matches[0].complete:
        hashes = [folder.path.name for folder in folders if folder.complete]
        raise unknown_name("run", name, [*recipe_names(), *hashes])
    home = matches[0].config.get("recipe")
    if not isinstance(home, str):
        raise ConfigError(f"{matches[0].path} does not say of which recipe it is; run it again")
    settings = matches[0].config.get("settings", {})
    recipe = study_recipe(home, settings) if is_study(home) else get_recipe(home)
    return refresh(recipe, matches[0], publish) if again else load(recipe, matches[0])
