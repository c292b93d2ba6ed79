"""The main door from Python: run a recipe, read the board."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from inweights.errors import ConfigError, unknown_name
from inweights.recipes import get_recipe, recipe_names
from inweights.recipes.claim import ClaimResult
from inweights.recipes.engine import Outcome, Progress, execute, judge_all, load, refresh
from inweights.recipes.recipe import Recipe
from inweights.report.publish import publish
from inweights.runs import RunStore

__all__ = ["board", "find", "open_run", "run"]


def run(
    recipe: str | Recipe,
    scale: str = "cpu",
    *,
    seeds: int | None = None,
    overrides: Sequence[str] = (),
    runs: str | Path | None = None,
    fresh: bool = False,
    device: str = "cpu",
    jobs: int = 1,
    threads: int = 1,
    plugins: Sequence[str] = (),
    progress: Progress | None = None,
) -> Outcome:
    """Run a recipe and write its figures and page; the same config again is read back.

    Args:
        recipe: Its name, or a recipe of one's own.
        scale: ``smoke``, ``cpu`` or ``paper``.
        seeds: Number of replicates, if not the recipe's own.
        overrides: Changes of settings, such as ``n=10``.
        runs: Folder of all runs; ``$INWEIGHTS_RUNS`` or ``runs`` if left out.
        fresh: Whether an earlier run of the same config is discarded.
        device: Where models live: ``cpu``, ``cuda``.
        jobs: Processes that train side by side.
        threads: Threads of each.
        plugins: Modules that the processes import first, to find the recipe.
        progress: Called with steps done, all steps, and what is being done.

    Raises:
        ConfigError: A name, a scale or an override does not fit.
        RunError: The run failed, or its folder is damaged.
    """
    chosen = get_recipe(recipe) if isinstance(recipe, str) else recipe
    return execute(
        chosen,
        scale,
        seeds=seeds,
        overrides=overrides,
        store=RunStore(runs),
        fresh=fresh,
        device=device,
        jobs=jobs,
        threads=threads,
        plugins=plugins,
        progress=progress,
        publish=publish,
    )


def find(recipe: str, scale: str = "cpu", *, runs: str | Path | None = None) -> Outcome | None:
    """Return the finished run of a recipe's own config at a scale, if there is one."""
    chosen = get_recipe(recipe)
    _, _, config = chosen.resolve(scale)
    folder = RunStore(runs).folder(chosen.name, config)
    return load(chosen, folder) if folder.complete else None


def board(scale: str = "cpu", *, runs: str | Path | None = None) -> tuple[ClaimResult, ...]:
    """Return every claim of every recipe with its verdict; ``not run`` where there is no run."""
    results: list[ClaimResult] = []
    for name in recipe_names():
        outcome = find(name, scale, runs=runs)
        if outcome is None:
            results += judge_all(get_recipe(name), None, scale)
        else:
            results += outcome.claims
    return tuple(results)


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
    if len(matches) > 1:
        raise ConfigError(f"'{name}' fits {len(matches)} runs; give more letters of the hash")
    if not matches or not matches[0].complete:
        hashes = [folder.path.name for folder in folders if folder.complete]
        raise unknown_name("run", name, [*recipe_names(), *hashes])
    recipe = get_recipe(matches[0].config["recipe"])
    return refresh(recipe, matches[0], publish) if again else load(recipe, matches[0])
