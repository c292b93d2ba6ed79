"""More seeds for what is undecided, with looks that are corrected for.

Whoever looks at the data and goes on until the interval is on one side will end up on one side. So
each further look pays: seeds are doubled from look to look, and the interval of look ``k`` misses
the true mean with probability ``α / (k (k + 1))`` at most, for ``k = 2, 3, …``. These sum to
``α / 2`` over all looks (``1/2 − 1/3 + 1/3 − 1/4 + …``), however many there are: a union bound, the
simplest way of spending an error over looks (Lan and DeMets, *Discrete sequential boundaries for
clinical trials*, Biometrika 70, 1983). With the first look at ``α = .05`` a verdict against a
target with one edge is wrong with a probability of at most .0375, as an interval misses on both
sides alike.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from inweights.lab.collect import Effort
from inweights.lab.engine import Outcome, execute
from inweights.lab.recipe import Recipe
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
        outcome: The run with the most seeds.
        before: Claims that were undecided at first.
        left: Claims that still are.
        why: Why it stopped, where some are left.
    """

    outcome: Outcome
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
    """Double the seeds of a recipe until no claim is undecided, or the time is spent.

    Only the new seeds are trained. A look whose training would take longer than what is left, at
    the pace so far, is not begun; one that takes longer all the same is stopped as by Ctrl-C, and
    goes on from there the next time.

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

    def run(seeds: int, effort: Effort) -> Outcome:
        return execute(recipe, scale, seeds=seeds, store=store, effort=effort, publish=publish)

    count = own
    outcome = run(count, effort)
    before = left = _undecided(outcome)
    pace = outcome.seconds / count
    while left:
        spent = time.monotonic() - started
        if 2 * count > MOST * own:
            return Settled(outcome, before, left, f"{count} seeds are the most that are tried")
        if spent + pace * count > seconds:
            more = f"{count} more seeds take about {pace * count:.0f} s"
            return Settled(outcome, before, left, f"{more}, {max(0.0, seconds - spent):.0f} s left")
        began = time.monotonic()
        try:
            outcome = run(2 * count, replace(effort, progress=heed))
        except _SpentError:
            why = f"{2 * count} seeds took longer; they go on where they were"
            return Settled(outcome, before, left, why)
        pace = max(pace, (time.monotonic() - began) / count) if not outcome.cached else pace
        count *= 2
        left = _undecided(outcome)
    return Settled(outcome, before, left)


def _undecided(outcome: Outcome) -> tuple[str, ...]:
    return tuple(claim.id for claim in outcome.claims if claim.verdict == "undecided")
