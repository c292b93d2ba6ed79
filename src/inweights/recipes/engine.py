"""Runs a recipe: groups trials by shape, trains each group as one program, judges the claims."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from inweights.config import apply_overrides, to_dict
from inweights.errors import ConfigError, DataError, unknown_name
from inweights.models.base import Model
from inweights.models.layers import Init
from inweights.recipes.claim import ClaimResult, judge
from inweights.recipes.groups import Group, group_trials
from inweights.recipes.recipe import SCALES, Measure, Recipe
from inweights.runs import RunFolder, RunStore, environment, read_tables, write_json, write_tables
from inweights.training import Checkpoint, Observer, train

__all__ = ["Outcome", "Progress", "execute", "judge_all", "load", "resolve"]

#: Called with steps done (replicas count one by one), all steps, and what is being done.
Progress = Callable[[int, int, str], None]


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


def resolve(
    recipe: Recipe, scale: str, seeds: int | None = None, overrides: Sequence[str] = ()
) -> tuple[Any, tuple[int, ...], dict[str, Any]]:
    """Return settings, seeds and the resolved config that names the run folder.

    Raises:
        ConfigError: The scale is unknown, there are no seeds, or an override does not fit.
    """
    if scale not in SCALES:
        raise unknown_name("scale", scale, SCALES)
    count = recipe.seeds[scale] if seeds is None else seeds
    if count < 1:
        raise ConfigError(f"a run needs at least one seed, not {count}")
    settings = apply_overrides(recipe.scales[scale], overrides)
    chosen = tuple(range(recipe.first_seed, recipe.first_seed + count))
    config = {
        "recipe": recipe.name,
        "version": recipe.version,
        "scale": scale,
        "seeds": list(chosen),
        "settings": to_dict(settings),
    }
    return settings, chosen, config


def execute(
    recipe: Recipe,
    scale: str,
    *,
    seeds: int | None = None,
    overrides: Sequence[str] = (),
    store: RunStore | None = None,
    fresh: bool = False,
    device: str = "cpu",
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
        progress: Told about every step.
        publish: Called with the outcome and the folder before it is sealed, to add figures and a
            page.

    Raises:
        ConfigError: Scale, seeds or overrides do not fit.
        RunError: The run failed, or its folder is damaged.
    """
    settings, chosen, config = resolve(recipe, scale, seeds, overrides)
    folder = (store or RunStore()).folder(recipe.name, config)
    if fresh:
        folder.discard()
    if folder.complete:
        return load(recipe, folder)
    plan = recipe.plan(settings, chosen)
    groups = group_trials(plan.trials, plan.measures)
    total = sum(group.steps for group in groups)
    started = time.monotonic()
    work = folder.begin()
    before = _seconds(work)
    done, parts = 0, []
    try:
        for group in groups:
            part = work / "parts" / group.key
            if not (part / "tables").exists():
                checkpoint = Checkpoint(part / "state", key=group.key)
                report = partial(_report, progress, done, total, group)
                tables = _train(group, chosen[0], checkpoint, device, report)
                write_tables(part / "tables", tables)
                checkpoint.clear()
                write_json(work / "clock.json", {"seconds": before + time.monotonic() - started})
            parts.append(read_tables(part / "tables"))
            done += group.steps
    except (ConfigError, DataError):
        folder.discard()  # nothing of it can be resumed: it asks for what does not exist
        raise
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


def _train(
    group: Group,
    first_seed: int,
    checkpoint: Checkpoint,
    device: str,
    progress: Callable[[int], None],
) -> dict[str, pl.DataFrame]:
    """Train a group and return its tables, with labels and seeds."""
    trials = [member.trial for member in group.members]
    worlds = [member.world for member in group.members]
    seeds = [trial.seed for trial in trials]
    model: Model = (
        trials[0]
        .model.build(
            vocabulary=len(worlds[0].vocabulary),
            seeds=seeds,
            inits=[getattr(trial.model, "init", Init()) for trial in trials],
            candidates=worlds[0].outputs.tolist(),
        )
        .to(device)
    )
    kept = {m.name: [s == first_seed or not m.first_seed for s in seeds] for m in group.measures}

    def take(measure: Measure, model: Model) -> pl.DataFrame:
        table: pl.DataFrame = measure.probe(model, worlds, **measure.options)
        wanted = [r for r, keep in enumerate(kept[measure.name]) if keep]
        return table.filter(pl.col("replica").is_in(wanted))

    observers = [
        Observer(m.name, partial(take, m), m.every)
        for m in group.measures
        if m.every and any(kept[m.name])
    ]
    result = train(
        model,
        worlds,
        [trial.curriculum for trial in trials],
        seeds=seeds,
        observers=observers,
        checkpoint=checkpoint,
        progress=progress,
    )
    tables = {"losses": result.losses, **result.observed}
    for measure in group.measures:
        if not measure.every and any(kept[measure.name]):
            tables[measure.name] = take(measure, model)
    labels = pl.DataFrame(
        [
            {"replica": replica, **labels, "seed": member.trial.seed}
            for replica, member in enumerate(group.members)
            for labels in member.labels
        ]
    )
    return {
        name: labels.join(table, on="replica", how="inner").drop("replica")
        for name, table in tables.items()
    }


def _report(progress: Progress | None, done: int, total: int, group: Group, steps: int) -> None:
    if progress:
        labels = ", ".join(str(value) for value in group.members[0].labels[0].values())
        count = len(group.members)
        progress(done + steps * count, total, f"{count} × {labels}")


def _seconds(work: Path) -> float:
    """Seconds that an interrupted run had spent on its finished groups."""
    clock = work / "clock.json"
    return float(msgspec.json.decode(clock.read_bytes())["seconds"]) if clock.exists() else 0.0
