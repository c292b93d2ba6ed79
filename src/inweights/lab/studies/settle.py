"""More seeds for undecided claims, with corrected interim analyses.

Whoever looks at the data and goes on until the interval is on one side will end up on one side. So
each further look pays: seeds are doubled from look to look, and the interval of look ``k`` misses
the true mean with probability ``α / (k (k + 1))`` at most, for ``k = 2, 3, …``. These sum to
``α / 2`` over all looks (``1/2 − 1/3 + 1/3 − 1/4 + …``), however many there are: a union bound, the
simplest way of spending an error over looks (Lan and DeMets, *Discrete sequential boundaries for
clinical trials*, Biometrika 70, 1983). With the first look at ``α = .05`` a verdict against a
target with one edge is wrong with a probability of at most .0375, as an interval misses on both
sides alike.

A look trains the trials alone that undecided claims are about (:mod:`inweights.lab.studies.looks`),
and what is settled is not looked at again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from inweights.errors import InweightsError
from inweights.lab.engine.collect import Effort, collect
from inweights.lab.engine.engine import Outcome, execute, judge_all
from inweights.lab.grammar.recipe import Recipe
from inweights.lab.studies.looks import narrowed, share_of, standing
from inweights.runs import RunStore

__all__ = ["Settled", "settle"]

#: The most that seeds are multiplied with.
MOST = 64


class _SpentError(KeyboardInterrupt):
    """The time is spent in the middle of a look: no error of a task, so it stops them all."""


@dataclass(frozen=True)
class Settled:
    """What more seeds gave.

    Attributes:
        outcome: The whole run, and of each claim the verdict with the most seeds.
        seeds: How many the last look had.
        before: Claims that were undecided at first.
        left: Claims that still are.
        why: Why it stopped, where some are left.
    """

    outcome: Outcome
    seeds: int
    before: tuple[str, ...]
    left: tuple[str, ...]
    why: str = ""


def settle(
    recipe: Recipe,
    scale: str,
    *,
    store: RunStore,
    seconds: float,
    effort: Effort | None = None,
    publish: Callable[[Outcome, Path], None] | None = None,
) -> Settled:
    """Double the seeds of undecided claims until none is left, or the time is spent.

    Only new seeds are trained, and of those trials alone that the claims left are about. A look
    whose training would take longer than what is left, at the pace so far, is not begun; one that
    takes longer all the same is stopped as by Ctrl-C, and goes on from there the next time.

    Args:
        recipe: What to run.
        scale: Its scale.
        store: Where runs are kept.
        seconds: Time that may be spent.
        effort: Who does the work, and with what.
        publish: Adds figures and a page to each run.
    """
    started = time.monotonic()
    own = recipe.seeds[scale]
    effort = effort or Effort()
    told = effort.progress

    def heed(done: int, total: int, what: str) -> None:
        if time.monotonic() - started > seconds:
            raise _SpentError
        if told:
            told(done, total, what)

    timed = replace(effort, progress=heed)
    whole = execute(recipe, scale, store=store, effort=effort, publish=publish)
    now = standing(recipe, scale, store) or whole
    before = left = _undecided(now)
    count = own
    while left and 2 * count <= min(c.replicates for c in now.claims if c.id in left):
        count *= 2
    pace = 0.0
    while left:
        if 2 * count > MOST * own:
            return Settled(now, count, before, left, f"{count} seeds are the most that are tried")
        try:
            part = _part(recipe, whole, left, store, timed)
            share = share_of(part, recipe, scale)
            takes = max(pace, whole.seconds / own) * share * count
            spare = max(0.0, seconds - (time.monotonic() - started))
            if takes > spare:
                why = f"{count} more seeds take about {takes:.0f} s, {spare:.0f} s left"
                return Settled(now, count, before, left, why)
            began = time.monotonic()
            look = execute(
                part, scale, seeds=2 * count, store=store, effort=timed, publish=publish,
                command=("verify", recipe.name, "--scale", scale, "--settle"),
            )  # fmt: skip
        except _SpentError:
            why = f"{2 * count} seeds took longer; they go on where they were"
            return Settled(now, count, before, left, why)
        if not look.cached:
            pace = max(pace, (time.monotonic() - began) / count / (share or 1.0))
        count *= 2
        now = standing(recipe, scale, store) or now
        left = _undecided(now)
    return Settled(now, count, before, left)


def _undecided(outcome: Outcome) -> tuple[str, ...]:
    return tuple(claim.id for claim in outcome.claims if claim.verdict == "undecided")


def _part(
    recipe: Recipe, whole: Outcome, left: tuple[str, ...], store: RunStore, effort: Effort
) -> Recipe:
    """What undecided claims are about, if that alone says of the own seeds what the whole run says.

    Else a derived table draws on more than its labels tell, and all trials are looked at.
    """
    part = narrowed(recipe, [name.rpartition("/")[2] for name in left])
    plan, place = part.plan(recipe.scales[whole.scale]), effort.open_store(store.root)
    tables = collect(plan, whole.seeds, place, effort, version=recipe.version)
    try:
        tables |= recipe.derive(tables) if recipe.derive else {}
        alone = judge_all(part, tables, whole.scale, seeds=whole.seeds)
    except (InweightsError, LookupError, ValueError, pl.exceptions.PolarsError):
        return replace(part, plan=recipe.plan)
    said = judge_all(part, whole.tables, whole.scale, seeds=whole.seeds)
    return part if alone == said else replace(part, plan=recipe.plan)
