"""Add seeds until claims are decided, with corrections for interim analyses.

:func:`settle` doubles the number of seeds of open (undecided) claims. Each further
analysis uses part of the error probability
(:func:`inweights.support.statistics.intervals.alpha_of`). Only the trials on which an
open claim depends are run with more seeds (:func:`narrowed`). An analysis is stored as
a separate run, whose config names the claims. The results table shows, for each claim,
the verdict with the most seeds (:func:`standing`).
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import polars as pl

from inweights.errors import InweightsError
from inweights.experiments.claims.claim_result import ClaimResult
from inweights.experiments.claims.verdict import is_open
from inweights.experiments.engine.collect import collect
from inweights.experiments.engine.engine import execute
from inweights.experiments.engine.execution import ExecutionOptions
from inweights.experiments.engine.judging import judge_all
from inweights.experiments.engine.outcome import Outcome, Publish
from inweights.experiments.engine.outcome_files import load
from inweights.experiments.grammar.recipe import Recipe
from inweights.experiments.studies.narrowed import narrowed, of_folder, share_of
from inweights.runs import RunFolder, RunStore

#: Maximum number of seeds, as a multiple of the recipe's number of seeds.
MOST = 64
#: Function that returns the results of all claims on all stored seeds.
Kept = Callable[[], Sequence[ClaimResult]]


class _SpentError(KeyboardInterrupt):
    """Error raised when the time is up; it belongs to no single task, so that all tasks stop."""


@dataclass(frozen=True)
class Settled:
    """Result of using more seeds to judge the undecided claims of a recipe.

    Attributes:
        outcome: The run with the recipe's own seeds, or with one new seed if results of
            earlier seeds were given. Each of its claims has the verdict at its largest
            number of seeds.
        seeds: Number of seeds of the last analysis or, if there was none, the smallest
            number of seeds of an undecided claim; 0 if no claim was undecided.
        before: Ids of the claims that were undecided at the beginning.
        left: Ids of the claims that are still undecided.
        why: Reason why no more seeds were added, as a clause without a full stop; empty
            if no claim is undecided.
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
    execution: ExecutionOptions | None = None,
    publish: Publish | None = None,
    kept: Kept | None = None,
) -> Settled:
    """Double the number of seeds of undecided claims until all are decided or time runs out.

    The recipe is first run with its own seeds, or loaded if it was run before; the time
    limit does not stop this run. It is followed by analyses. Each of them uses twice
    the smallest number of seeds of an undecided claim, up to 64 times the recipe's
    number of seeds at this scale. It trains only new seeds, and only the trials on
    which undecided claims depend. An analysis is not started if, at the speed observed
    so far, it would take longer than the remaining time. If it nevertheless takes
    longer, it is stopped as if by Ctrl-C, and the next call continues it.

    Args:
        recipe: The recipe.
        scale: The scale at which the claims are judged: ``smoke``, ``cpu`` or
            ``paper``.
        store: The folder of all runs.
        seconds: Time limit of the whole call, in seconds. It stops the analyses, but
            not the first run with the recipe's own seeds.
        execution: Where and how tasks run; by default one after another in this
            process.
        publish: Function that is called with each run and its folder, to add figures
            and a page; by default nothing is added. Its errors propagate.
        kept: Function without arguments that returns the results of all claims on
            earlier and new seeds, for use if the runs with the earlier seeds are not on
            this disk. No earlier seed is then run again: the complete recipe is run
            with one new seed, and each analysis uses only new seeds. If it is ``None``
            (the default), all seeds come from runs in ``store``.

    Returns:
        A :class:`Settled`: the run with the last verdict of each claim, the number of
        seeds, the claims that were and still are undecided, and the reason why no more
        seeds were added.

    Raises:
        ConfigError: There is no such scale, a folder cannot be written, tasks cannot
            run on the device or cluster that ``execution`` names, or user code of the
            recipe depends on something that cannot be hashed. Errors of the recipe's
            functions propagate.
        DataError: A file to which the settings refer cannot be read, or a table lacks a
            column from which another table is derived.
        RunError: A training run failed, or the folder of a run is damaged.
        FolderError: The finished run is damaged, or the store cannot be read.
    """
    started = time.monotonic()
    execution = execution or ExecutionOptions()

    def heed(done: int, total: int, what: str) -> None:
        if time.monotonic() > started + seconds:
            raise _SpentError
        if execution.progress:
            execution.progress(done, total, what)

    timed = replace(execution, progress=heed)
    # The page shows this command, which must add the same seeds again.
    words = ("verify", recipe.name, "--scale", scale, "--settle")
    asked = replace(timed, command=words + (("--into", "results") if kept else ()))
    first = recipe.first_seed
    claims = kept() if kept else ()
    seen = [first + _fewest(claims)] if kept else None
    whole = execute(
        recipe, scale, seeds=seen, store=store, execution=execution, publish=publish
    )
    judged = kept or (lambda: (standing(recipe, scale, store) or whole).claims)
    claims = claims or judged()
    before = left = _undecided(claims)
    # With stored results, only one seed was run here, whose speed is not
    # representative.
    pace = 0.0 if kept else whole.seconds / len(whole.seeds)
    seeds = _fewest(claims)
    why = ""
    while left:
        count = _fewest(claims)
        # Each further analysis uses part of a common error probability. A claim that is
        # still open after so many analyses is too close to its limit.
        if 2 * count > MOST * recipe.seeds[scale]:
            why = f"no more than {count} seeds are tried"
            break
        try:
            fewer = (c.id for c in claims if is_open(c) and c.replicates < 2 * count)
            part = _part(recipe, whole, tuple(fewer), store, timed)
            share = share_of(part, recipe, scale)
            takes = pace * share * count
            # An analysis is not begun if it would have to be stopped in the middle,
            # because its time would be wasted until the next call.
            spare = max(0.0, seconds - (time.monotonic() - started))
            if takes > spare:
                why = (
                    f"{count} more seeds would take about {takes:.0f} s, but only "
                    f"{spare:.0f} s are left"
                )
                break
            began = time.monotonic()
            chosen = range(first + (count if kept else 0), first + 2 * count)
            look = execute(
                part, scale, seeds=chosen, store=store, execution=asked, publish=publish
            )
        except _SpentError:
            why = f"{2 * count} seeds took too long; the next call continues them"
            break
        # A result that was loaded does not show how long a seed takes.
        if not look.cached:
            pace = max(pace, (time.monotonic() - began) / count / (share or 1.0))
        seeds = 2 * count
        claims = judged()
        left = _undecided(claims)
        # Without this check, the same seeds would be run again and again.
        if left and _fewest(claims) <= count:
            why = "the new seeds are not counted in the results"
            break
    return Settled(replace(whole, claims=tuple(claims)), seeds, before, left, why)


def _undecided(claims: Iterable[ClaimResult]) -> tuple[str, ...]:
    """Return the ids of the undecided claims."""
    return tuple(claim.id for claim in claims if is_open(claim))


def _fewest(claims: Iterable[ClaimResult]) -> int:
    """Return the smallest number of seeds of an undecided claim; 0 if there is none."""
    return min((claim.replicates for claim in claims if is_open(claim)), default=0)


def _part(
    recipe: Recipe,
    whole: Outcome,
    left: tuple[str, ...],
    store: RunStore,
    execution: ExecutionOptions,
) -> Recipe:
    """Return the recipe reduced to undecided claims, or the complete one if that is not possible.

    The reduced recipe is used if it results in the same verdicts as the whole run on
    its own seeds. Otherwise, a derived table depends on more trials than the labels
    show, and all trials are run.
    """
    part = narrowed(recipe, [name.rpartition("/")[2] for name in left])
    plan = part.plan(recipe.scales[whole.scale])
    place = execution.open_store(store.root)
    tables = collect(plan, whole.seeds, place, execution, version=recipe.version)
    try:
        alone = judge_all(part, recipe.derived(tables), whole.scale, seeds=whole.seeds)
    # If the recipe's functions raise an error because rows are missing, all trials are
    # needed.
    except (InweightsError, LookupError, ValueError, pl.exceptions.PolarsError):
        return replace(part, plan=recipe.plan)
    said = judge_all(part, whole.tables, whole.scale, seeds=whole.seeds)
    return part if alone == said else replace(part, plan=recipe.plan)


def standing(recipe: Recipe, scale: str, store: RunStore) -> Outcome | None:
    """Return the finished run with a recipe's own settings, including the results of all analyses.

    A finished run is considered if it has the recipe's own settings, and if its seeds
    are consecutive, begin with the recipe's first seed, and are at least as many as the
    recipe specifies. Of these runs, the one with the most seeds is returned. It has the
    verdict on each claim at the largest number of seeds with which the claim was
    judged. Damaged runs with only some of the claims are ignored.

    Args:
        recipe: The recipe.
        scale: The scale: ``smoke``, ``cpu`` or ``paper``.
        store: The folder of all runs.

    Returns:
        The run; ``None`` if there is no such run, or if the recipe has no such scale.

    Raises:
        FolderError: The returned run is damaged, or the store cannot be read.
        DataError: A file to which the settings refer cannot be read.
        ConfigError: User code of the recipe depends on something that cannot be hashed.
    """
    if scale not in recipe.scales:
        return None
    folders = list(own_folders(recipe, scale, store, recipe.resolve(scale)[1][0]))
    whole = [folder for folder in folders if "claims" not in folder.config]
    if not whole:
        return None
    outcome = load(recipe, max(whole, key=lambda folder: len(folder.seeds)))
    best = {claim.id: claim for claim in outcome.claims}
    for folder in (one for one in folders if "claims" in one.config):
        # A damaged analysis, or one of a claim that no longer exists, is ignored.
        with suppress(InweightsError):
            for claim in load(of_folder(recipe, folder), folder).claims:
                known = best.get(claim.id) if claim.verdict != "not judged" else None
                if known and claim.replicates > known.replicates:
                    best[claim.id] = claim
    return replace(outcome, claims=tuple(best.values()))


def own_folders(
    recipe: Recipe, scale: str, store: RunStore, first: int, *, further: bool = False
) -> Iterator[RunFolder]:
    """Yield finished runs with a recipe's own settings and consecutive seeds from ``first`` up.

    Runs with fewer seeds than the recipe's own number are left out. The newest run is
    yielded first.

    Args:
        recipe: The recipe.
        scale: The scale: ``smoke``, ``cpu`` or ``paper``.
        store: The folder of all runs.
        first: The first root seed.
        further: Whether to also yield the runs of analyses that used only new seeds.
            Such a run contains only some of the claims, and its ``n`` seeds begin at
            ``first + n``. By default, these runs are left out.

    Raises:
        ConfigError: There is no such scale, or user code of the recipe depends on
            something that cannot be hashed.
        DataError: A file to which the settings refer cannot be read.
        FolderError: The store cannot be read.
    """
    _, own, config = recipe.resolve(scale)
    for folder in store.of(recipe.name):
        seeds = folder.seeds
        ours = {**folder.config, "seeds": config["seeds"]}
        part = ours.pop("claims", None)
        begin = first + len(seeds) if further and part and first not in seeds else first
        counted = seeds == list(range(begin, begin + len(seeds))) and len(seeds) >= len(
            own
        )
        if folder.complete and counted and ours == config:
            yield folder
