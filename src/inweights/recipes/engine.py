"""Runs a recipe: does its pieces of work, puts their tables together, judges the claims."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from inweights.config import to_dict
from inweights.errors import ConfigError, DataError
from inweights.progress import Progress
from inweights.recipes.claim import ClaimResult, judge
from inweights.recipes.groups import complete, part_of, use_threads
from inweights.recipes.pieces import pieces, work_on
from inweights.recipes.recipe import Recipe
from inweights.recipes.worker import Job, train_beside
from inweights.runs import RunFolder, RunStore, environment, read_tables, write_json, write_tables

__all__ = ["Outcome", "Progress", "execute", "judge_all", "load", "refresh"]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A finished run of a recipe."""

    recipe: Recipe
    scale: str
    seeds: tuple[int, ...]
    settings: Mapping[str, Any]
    overrides: tuple[str, ...]
    seconds: float
    folder: RunFolder
    cached: bool
    tables: Mapping[str, pl.DataFrame]
    claims: tuple[ClaimResult, ...]
    environment: Mapping[str, Any]


def execute(
    recipe: Recipe,
    scale: str,
    *,
    seeds: int | None = None,
    overrides: Sequence[str] = (),
    store: RunStore | None = None,
    fresh: bool = False,
    device: str = "cpu",
    jobs: int = 1,
    threads: int = 1,
    plugins: Sequence[str] = (),
    progress: Progress | None = None,
    publish: Callable[[Outcome, Path], None] | None = None,
) -> Outcome:
    """Run a recipe, or read it back where the same config has run already.

    Args:
        recipe: What to run.
        scale: ``smoke``, ``cpu`` or ``paper``.
        seeds: Number of replicates, if not the recipe's.
        overrides: Changes of settings, ``key=value``.
        store: Where runs are kept.
        fresh: Whether an earlier run of the same config is discarded.
        device: Where models live.
        jobs: Groups that train at the same time, each in a process of its own. More than one needs
            a recipe that can be found by its name.
        threads: Threads of each process. One by default: results then do not depend on how many
            cores there are, and two runs on one machine do not slow each other down tenfold.
        plugins: Modules that the processes import first.
        progress: Told about every step.
        publish: Called with the outcome and the folder before it is sealed, to add figures and a
            page.

    Raises:
        ConfigError: Scale, seeds or overrides do not fit.
        RunError: The run failed, or its folder is damaged.
    """
    settings, chosen, config = recipe.resolve(scale, seeds, overrides)
    folder = (store or RunStore()).folder(recipe.name, config)
    if fresh:
        folder.discard()
    if folder.complete:
        return load(recipe, folder)
    plan = recipe.plan(settings, chosen)
    groups = pieces(plan)
    total = sum(group.steps for group in groups)
    started = time.monotonic()
    work = folder.begin()
    before = _seconds(work)
    steps = {i: g.steps for i, g in enumerate(groups) if complete(work, g)}

    def report(index: int, step: int, done: bool) -> None:
        group = groups[index]
        steps[index] = group.steps if done else step * group.replicas
        if done:
            write_json(work / "clock.json", {"seconds": before + time.monotonic() - started})
        if progress:
            progress(sum(steps.values()), total, group.title)

    todo = [i for i in range(len(groups)) if i not in steps]
    try:
        if jobs > 1 and len(todo) > 1:
            job = Job(
                recipe=recipe.name,
                scale=scale,
                seeds=len(chosen),
                overrides=tuple(overrides),
                plugins=tuple(plugins),
                work=str(work),
                device=device,
                threads=threads,
            )
            train_beside(job, todo, jobs, report)
        else:
            with use_threads(threads):
                for index in todo:
                    tell = partial(report, index, done=False)
                    work_on(groups[index], chosen[0], work, device, tell)
                    report(index, 0, done=True)
    except (ConfigError, DataError):
        folder.discard()  # nothing of it can be resumed: it asks for what does not exist
        raise
    parts = [read_tables(part_of(work, group)) for group in groups]
    names = dict.fromkeys(name for part in parts for name in part)
    tables = {
        name: pl.concat([p[name] for p in parts if name in p], how="diagonal_relaxed")
        for name in names
    }
    if recipe.derive:
        tables |= recipe.derive(tables)
    outcome = Outcome(
        recipe=recipe,
        scale=scale,
        seeds=chosen,
        settings=config["settings"],
        overrides=tuple(overrides),
        seconds=round(before + time.monotonic() - started, 2),
        folder=folder,
        cached=False,
        tables=tables,
        claims=judge_all(recipe, tables, scale),
        environment=environment(),
    )
    _write(outcome, work)
    if publish:
        publish(outcome, work)
    folder.seal()
    return outcome


def load(recipe: Recipe, folder: RunFolder) -> Outcome:
    """Read a complete run back, after checking that nothing in it was changed."""
    folder.verify()
    about = folder.json("outcome.json")
    return Outcome(
        recipe=recipe,
        scale=about["scale"],
        seeds=tuple(about["seeds"]),
        settings=about["settings"],
        overrides=tuple(about["overrides"]),
        seconds=about["seconds"],
        folder=folder,
        cached=True,
        tables=folder.tables(),
        claims=tuple(msgspec.convert(about["claims"], list[ClaimResult])),
        environment=folder.json("environment.json"),
    )


def refresh(
    recipe: Recipe, folder: RunFolder, publish: Callable[[Outcome, Path], None] | None = None
) -> Outcome:
    """Judge a complete run again, and draw it again, with the claims and figures of this version.

    Nothing is trained. The run stays as it was if anything fails.

    Raises:
        FolderError: The run is damaged.
    """
    old = load(recipe, folder)
    tables = dict(old.tables)
    if recipe.derive:
        tables |= recipe.derive(tables)
    new = replace(old, tables=tables, claims=judge_all(recipe, tables, old.scale))
    shutil.rmtree(folder.work, ignore_errors=True)
    shutil.copytree(folder.path, folder.work)
    _write(new, folder.work)
    if publish:
        publish(new, folder.work)
    folder.seal()
    return new


def judge_all(
    recipe: Recipe, tables: Mapping[str, pl.DataFrame] | None, scale: str
) -> tuple[ClaimResult, ...]:
    """Judge every claim of a recipe; without tables, none of them was run."""
    return tuple(judge(claim, tables, scale) for claim in recipe.claims)


def _write(outcome: Outcome, work: Path) -> None:
    about = {
        "recipe": outcome.recipe.name,
        "scale": outcome.scale,
        "seeds": outcome.seeds,
        "settings": outcome.settings,
        "overrides": outcome.overrides,
        "seconds": outcome.seconds,
        "claims": [to_dict(claim) for claim in outcome.claims],
    }
    write_json(work / "outcome.json", about)
    write_json(work / "environment.json", outcome.environment)
    write_tables(work / "tables", outcome.tables)


def _seconds(work: Path) -> float:
    """Seconds that an interrupted run had spent on its finished groups."""
    clock = work / "clock.json"
    return float(msgspec.json.decode(clock.read_bytes())["seconds"]) if clock.exists() else 0.0
