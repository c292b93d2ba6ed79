"""Runs a recipe: has what is missing made, puts the tables together, judges the claims."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from inweights.config import decode, to_dict
from inweights.errors import ConfigError, DataError, FolderError, InweightsError
from inweights.lab.grammar.divergence import tell_divergence
from inweights.lab.grammar.recipe import Recipe
from inweights.lab.grammar.score import Value
from inweights.lab.grammar.sources import differing
from inweights.lab.grammar.verdict import ALPHA, ClaimResult, alpha_of, judge, unjudged
from inweights.runs import (
    RunFolder,
    RunStore,
    environment,
    read_json,
    told,
    when,
    write_json,
    write_tables,
)

if TYPE_CHECKING:
    from inweights.lab.engine.collect import Effort
    from inweights.lab.engine.kept import KeptModel

__all__ = [
    "Outcome",
    "execute",
    "judge_all",
    "load",
    "refresh",
    "unjudged_all",
]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A finished run of a recipe.

    ``store`` is where the tables of single runs are, if this call named a place; a folder that is
    opened later does not say it, as no file decides what is read from elsewhere.
    """

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
    plugins: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    store: str = ""

    def models(self, **where: Value) -> list[KeptModel]:
        """Return the trained models of a run that kept them, each with its world and labels.

        Args:
            where: Values of labels, and ``seed``; all models if left out.

        Raises:
            FolderError: The weights were not kept, or are damaged.
            ConfigError: No trial has such a label.
        """
        from inweights.lab.engine.job import store_below
        from inweights.lab.engine.kept import kept_models
        from inweights.lab.store.tables import Store

        settings = decode(type(self.recipe.scales[self.scale]), self.settings)
        trials = self.recipe.plan(settings).trials
        store = Store(self.store or store_below(self.folder.root))
        return kept_models(trials, self.seeds, store, self.recipe.version, where)


def execute(
    recipe: Recipe,
    scale: str,
    *,
    seeds: int | Sequence[int] | None = None,
    overrides: Sequence[str] | Mapping[str, Any] = (),
    store: RunStore | None = None,
    fresh: bool = False,
    effort: Effort | None = None,
    publish: Callable[[Outcome, Path], None] | None = None,
    command: Sequence[str] = (),
    keep_models: bool = False,
) -> Outcome:
    """Run a recipe, or read it back where the same config has run already.

    While another process is at work on the same config, this one waits for it.

    Args:
        recipe: What to run.
        scale: ``smoke``, ``cpu`` or ``paper``.
        seeds: Number of replicates, or their seeds, if not the recipe's.
        overrides: Changes of settings, ``key=value`` or a mapping.
        store: Where runs are kept.
        fresh: Whether all of it is made again.
        effort: Who does the work, and with what.
        publish: Called with the outcome and the folder before it is sealed, to add figures and a
            page.
        command: Words of the command that makes this run again, if it is not ``inweights run``.
        keep_models: Whether the trained weights are stored, too, for :meth:`Outcome.models`; runs
            that were trained without are trained again.

    Raises:
        ConfigError: Scale, seeds or overrides do not fit.
        RunError: The run failed, or its folder is damaged.
    """
    from inweights.lab.engine.collect import Effort, collect
    from inweights.lab.engine.plan import check_plan

    effort = effort or Effort()
    store = store or RunStore()
    changes = recipe.changes(scale, overrides)
    settings, chosen, config = recipe.resolve(scale, seeds, changes)
    folder = store.folder(recipe.name, config)
    if folder.complete and not folder.leftovers and not fresh and not keep_models:
        return replace(load(recipe, folder), store=effort.store)

    _tell_changes(store, recipe.name, config)
    _check_writable(store.root, effort.store)

    def waiting() -> None:
        if effort.progress:
            effort.progress(0, 1, "waiting for another process that makes this run")

    with folder.held(waiting):
        if fresh:
            folder.discard()
        folder.recover()
        if folder.complete and not keep_models:
            return replace(load(recipe, folder), store=effort.store)
        with _fitting(recipe, changes):
            plan = recipe.plan(settings)
        check_plan(plan)
        make = partial(
            collect, plan, chosen, effort.open_store(store.root), effort,
            version=recipe.version, fresh=fresh, keep_models=keep_models,
        )  # fmt: skip
        if folder.complete:
            make()  # the weights, where they are not there
            return replace(load(recipe, folder), store=effort.store)
        started = time.monotonic()
        work = folder.begin()
        before = _seconds(work)
        try:
            with _fitting(recipe, changes):
                tables = make()
        except (ConfigError, DataError):
            folder.discard()  # it asks for what does not exist
            raise
        except BaseException:
            folder.check()
            write_json(work / _CLOCK, {"seconds": before + time.monotonic() - started})
            raise
        folder.check()
        with _fitting(recipe, changes):
            tables |= recipe.derive(tables) if recipe.derive else {}
        outcome = Outcome(
            recipe=recipe,
            scale=scale,
            seeds=chosen,
            settings=config["settings"],
            overrides=changes,
            seconds=round(before + time.monotonic() - started, 2),
            folder=folder,
            cached=False,
            tables=tables,
            claims=judge_all(recipe, tables, scale, seeds=chosen),
            environment=environment(),
            plugins=effort.plugins,
            command=tuple(command),
            store=effort.store,
        )
        _write(outcome, work, publish)
        folder.seal()
    return outcome


def _tell_changes(store: RunStore, name: str, config: Mapping[str, Any]) -> None:
    """Say which file differs where the same settings have run with other files or code."""
    sources = config.get("sources", {})
    for folder in store.of(name) if sources else ():
        earlier = dict(folder.config)
        before = earlier.pop("sources", None)
        changed = differing(before or sources, sources)
        if changed and folder.complete and earlier | {"sources": sources} == config:
            warnings.warn(
                f"{', '.join(changed)} changed since the stored run of {when(folder)}; "
                "measuring again",
                stacklevel=3,
            )
            return


def _check_writable(*places: str | Path) -> None:
    """Refuse folders that cannot be, before anything is made; buckets are tried by themselves."""
    for place in places:
        if not place or "://" in str(place):
            continue
        try:
            Path(place).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(
                f"runs cannot be kept in {place}: {error.strerror}; name another folder"
            ) from None


@contextmanager
def _fitting(recipe: Recipe, changes: Sequence[str]) -> Iterator[None]:
    """Blame changed settings for what the recipe itself cannot do with them."""
    try:
        yield
    except InweightsError:
        raise
    except (LookupError, ValueError, ArithmeticError, pl.exceptions.PolarsError) as error:
        if not changes:
            raise
        raise ConfigError(
            f"{recipe.name} cannot work with {', '.join(changes)}: "
            f"{type(error).__name__}: {str(error) or 'no more is known'}"
        ) from error


def load(recipe: Recipe, folder: RunFolder) -> Outcome:
    """Read a complete run back, after checking that nothing in it was changed.

    Verdicts are not read but computed, from the tables.

    Raises:
        FolderError: The run is damaged.
    """
    outcome = _read(recipe, folder)
    tell_divergence(outcome.tables)
    try:
        claims = judge_all(recipe, outcome.tables, outcome.scale, seeds=outcome.seeds)
    except InweightsError:
        raise
    except (LookupError, TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise FolderError(
            f"{folder.path} cannot be judged ({type(error).__name__}: {error}); run it again with "
            "--fresh"
        ) from error
    return replace(outcome, claims=claims)


def _read(recipe: Recipe, folder: RunFolder) -> Outcome:
    folder.verify()
    about = read_json(folder.path / "outcome.json", _About)
    return Outcome(
        recipe=recipe,
        scale=about.scale,
        seeds=about.seeds,
        settings=about.settings,
        overrides=about.overrides,
        seconds=about.seconds,
        folder=folder,
        cached=True,
        tables=folder.tables(),
        claims=(),
        environment=read_json(folder.path / "environment.json", dict[str, Any]),
        plugins=about.plugins,
        command=about.command,
    )


def refresh(
    recipe: Recipe, folder: RunFolder, publish: Callable[[Outcome, Path], None] | None = None
) -> Outcome:
    """Judge a complete run again, and draw it again, with the claims and figures of this version.

    Nothing is trained. The run stays as it was if anything fails.

    Raises:
        FolderError: The run is damaged.
    """
    with folder.held():
        folder.recover()
        old = _read(recipe, folder)
        tables = dict(old.tables)
        if recipe.derive:
            tables |= recipe.derive(tables)
        claims = judge_all(recipe, tables, old.scale, seeds=old.seeds)
        new = replace(old, tables=tables, claims=claims)
        _write(new, folder.reopen(), publish)
        folder.seal()
    return new


def judge_all(
    recipe: Recipe,
    tables: Mapping[str, pl.DataFrame] | None,
    scale: str,
    *,
    seeds: Sequence[int] = (),
) -> tuple[ClaimResult, ...]:
    """Judge every claim of a recipe; without tables none is, and at ``smoke`` numbers are shown.

    Seeds beyond those that the recipe states, counted on from its own, are a further look. Rows
    that a claim asks for and that are not there leave it without a verdict, and say so: a long run
    is not lost over a name. (The tests judge each claim strictly, at ``smoke``.)
    """
    if tables is None:
        return unjudged_all(recipe, f"no run at scale '{scale}' yet")
    targets = scale != "smoke"
    more = tuple(seeds[:1]) == (recipe.first_seed,)
    alpha = alpha_of(len(seeds), recipe.seeds[scale]) if more else ALPHA
    return tuple(
        judge(c, tables, alpha=alpha, targets=targets, strict=False) for c in recipe.claims
    )


def unjudged_all(recipe: Recipe, why: str) -> tuple[ClaimResult, ...]:
    """Return the claims of a recipe without a verdict."""
    return tuple(unjudged(claim, why) for claim in recipe.claims)


_CLOCK = "clock.json"


class _About(msgspec.Struct):
    """What is read back of a finished run; runs of earlier versions may say more."""

    scale: str
    seeds: tuple[int, ...]
    settings: dict[str, Any]
    seconds: float
    overrides: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    command: tuple[str, ...] = ()


def _write(outcome: Outcome, work: Path, publish: Callable[[Outcome, Path], None] | None) -> None:
    about = {
        "recipe": outcome.recipe.name,
        "scale": outcome.scale,
        "seeds": outcome.seeds,
        "settings": outcome.settings,
        "overrides": outcome.overrides,
        "seconds": outcome.seconds,
        "plugins": outcome.plugins,
        "command": outcome.command,
        "claims": [to_dict(claim) for claim in outcome.claims],
    }
    write_json(work / "outcome.json", about)
    write_json(work / "environment.json", outcome.environment)
    write_tables(work / "tables", outcome.tables)
    if publish:
        with told(work):
            publish(outcome, work)


def _seconds(work: Path) -> float:
    """Seconds that an interrupted run had spent."""
    try:
        return read_json(work / _CLOCK, dict[str, float]).get("seconds", 0.0)
    except FolderError:
        return 0.0
