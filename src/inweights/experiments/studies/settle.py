"""More seeds for undecided claims, with corrected interim analyses.

Seeds are doubled from look to look, and each further look pays: see
:func:`inweights.support.intervals.alpha_of`. More seeds for one claim need more seeds of those
trials alone that its rows are of. A look is stored as a run of its own, whose config names the
claims; the board takes of each claim the verdict with the most seeds.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from inweights.errors import ConfigError, InweightsError, check_names
from inweights.experiments.engine.collect import ExecutionOptions, collect
from inweights.experiments.engine.engine import execute
from inweights.experiments.engine.outcome import Outcome, Publish, judge_all, load
from inweights.experiments.grammar.claim import Claim, ClaimResult
from inweights.experiments.grammar.recipe import Recipe
from inweights.experiments.grammar.trial import Computation, Plan, Trial
from inweights.experiments.grammar.verdict import is_open
from inweights.runs import RunFolder, RunStore

#: The most that seeds are multiplied with.
MOST = 64
#: The claims as they are judged now, by all seeds that count.
Kept = Callable[[], Sequence[ClaimResult]]


class _SpentError(KeyboardInterrupt):
    """The time is spent in the middle of a look: no error of a task, so it stops them all."""


@dataclass(frozen=True)
class Settled:
    """What more seeds gave: the whole run, and of each claim the verdict with the most seeds.

    ``seeds`` are those of the last look. ``before`` are the claims that were undecided at first,
    ``left`` those that still are, and ``why`` says why it stopped there.
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
    effort: ExecutionOptions | None = None,
    publish: Publish | None = None,
    kept: Kept | None = None,
) -> Settled:
    """Double the seeds of undecided claims until none is left, or the seconds are spent.

    Only new seeds are trained, and of those trials alone that the claims left are about. A look
    whose training would take longer than what is left, at the pace so far, is not begun; one that
    takes longer all the same is stopped as by Ctrl-C, and goes on from there the next time.

    Where the numbers of earlier seeds are kept elsewhere than in runs on this disk, ``kept`` judges
    them together with these. Then no earlier seed is run again: the whole recipe has one new seed,
    and a look has new seeds alone. Other arguments are as for
    :func:`~inweights.experiments.engine.engine.execute`.
    """
    started = time.monotonic()
    effort = effort or ExecutionOptions()

    def heed(done: int, total: int, what: str) -> None:
        if time.monotonic() > started + seconds:
            raise _SpentError
        if effort.progress:
            effort.progress(done, total, what)

    timed = replace(effort, progress=heed)
    words = ("verify", recipe.name, "--scale", scale, "--settle")
    asked = replace(timed, command=words + (("--into", "results") if kept else ()))
    first, claims = recipe.first_seed, kept() if kept else ()
    seen = [first + _fewest(claims)] if kept else None
    whole = execute(recipe, scale, seeds=seen, store=store, effort=effort, publish=publish)
    judged = kept or (lambda: (standing(recipe, scale, store) or whole).claims)
    claims = claims or judged()
    before = left = _undecided(claims)
    pace = 0.0 if kept else whole.seconds / len(whole.seeds)  # one seed alone takes longer
    seeds, why = _fewest(claims), ""
    while left:
        count = _fewest(claims)
        if 2 * count > MOST * recipe.seeds[scale]:
            why = f"{count} seeds are the most that are tried"
            break
        try:
            fewer = (c.id for c in claims if is_open(c) and c.replicates < 2 * count)
            part = _part(recipe, whole, tuple(fewer), store, timed)
            share = share_of(part, recipe, scale)
            takes = pace * share * count
            spare = max(0.0, seconds - (time.monotonic() - started))
            if takes > spare:
                why = f"{count} more seeds take about {takes:.0f} s, {spare:.0f} s left"
                break
            began = time.monotonic()
            chosen = range(first + (count if kept else 0), first + 2 * count)
            look = execute(part, scale, seeds=chosen, store=store, effort=asked, publish=publish)
        except _SpentError:
            why = f"{2 * count} seeds took longer; they go on where they were"
            break
        if not look.cached:
            pace = max(pace, (time.monotonic() - began) / count / (share or 1.0))
        seeds, claims = 2 * count, judged()
        left = _undecided(claims)
        if left and _fewest(claims) <= count:
            why = "the new seeds do not count"
            break
    return Settled(replace(whole, claims=tuple(claims)), seeds, before, left, why)


def _undecided(claims: Iterable[ClaimResult]) -> tuple[str, ...]:
    return tuple(claim.id for claim in claims if is_open(claim))


def _fewest(claims: Iterable[ClaimResult]) -> int:
    """The seeds of the open claim that has the fewest."""
    return min((claim.replicates for claim in claims if is_open(claim)), default=0)


def _part(
    recipe: Recipe, whole: Outcome, left: tuple[str, ...], store: RunStore, effort: ExecutionOptions
) -> Recipe:
    """What undecided claims are about, if that alone says of the own seeds what the whole run says.

    Else a derived table draws on more than its labels tell, and all trials are looked at.
    """
    part = narrowed(recipe, [name.rpartition("/")[2] for name in left])
    plan, place = part.plan(recipe.scales[whole.scale]), effort.open_store(store.root)
    tables = collect(plan, whole.seeds, place, effort, version=recipe.version)
    try:
        alone = judge_all(part, recipe.derived(tables), whole.scale, seeds=whole.seeds)
    except (InweightsError, LookupError, ValueError, pl.exceptions.PolarsError):
        return replace(part, plan=recipe.plan)
    said = judge_all(part, whole.tables, whole.scale, seeds=whole.seeds)
    return part if alone == said else replace(part, plan=recipe.plan)


def narrowed(recipe: Recipe, claims: Sequence[str]) -> Recipe:
    """Return a recipe of those trials alone that some of its claims are about.

    A trial belongs to a claim unless one of its labels has another value than the claim asks for;
    where a table would be left without rows, the quickest of its trials stays. A derived table may
    still draw on trials that its labels do not name: :func:`settle` compares the verdicts on seeds
    that are there already. ``claims`` are the last parts of their names.

    Example:
        >>> from inweights.recipes import get_recipe
        >>> whole = get_recipe("beyond/where-the-bridge-holds")
        >>> part = narrowed(whole, ["tied-head-leaks"])
        >>> len(whole.plan(whole.scales["cpu"]).trials), len(part.plan(part.scales["cpu"]).trials)
        (177, 1)
    """
    known = {claim.id.rpartition("/")[2]: claim for claim in recipe.claims}
    check_names("claim", claims, known, hint=f"Recipe {recipe.name}.")
    part = tuple(claim for name, claim in known.items() if name in claims)
    return replace(recipe, plan=_Part(recipe, part), claims=part, figures=(), whole=recipe)


def of_folder(recipe: Recipe, folder: RunFolder) -> Recipe:
    """Return what a run folder holds: the recipe, or the part of it that its config names."""
    if "claims" not in folder.config:
        return recipe
    if not folder.claims:
        raise ConfigError(
            f"{folder.path} has a part of a recipe's claims, but does not state which"
        )
    return narrowed(recipe, folder.claims)


def share_of(part: Recipe, whole: Recipe, scale: str) -> float:
    """About how much of the work of a seed is left, from 0 to 1."""
    one, other = (
        plan.steps + sum(c.effort for c in plan.computations)
        for plan in (recipe.plan(recipe.scales[scale]) for recipe in (part, whole))
    )
    return one / other if other else 1.0


def standing(recipe: Recipe, scale: str, store: RunStore) -> Outcome | None:
    """Return the finished run of a recipe's own config, with the results of all looks.

    Of several runs with its own settings, and seeds that count on from its own first, the one with
    the most seeds is taken; and of each claim the verdict with the most.
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
        # A damaged look, or one at a claim that is gone, leaves the others as they are.
        with suppress(InweightsError):
            for claim in load(of_folder(recipe, folder), folder).claims:
                known = best.get(claim.id) if claim.verdict != "not judged" else None
                if known and claim.replicates > known.replicates:
                    best[claim.id] = claim
    return replace(outcome, claims=tuple(best.values()))


def own_folders(
    recipe: Recipe, scale: str, store: RunStore, first: int, *, further: bool = False
) -> Iterator[RunFolder]:
    """Return the finished runs of a recipe's own config whose seeds count on from ``first``.

    With ``further`` also looks at new seeds alone, which double the number of seeds before them.
    """
    _, own, config = recipe.resolve(scale)
    for folder in store.of(recipe.name):
        seeds, ours = folder.seeds, {**folder.config, "seeds": config["seeds"]}
        part = ours.pop("claims", None)
        begin = first + len(seeds) if further and part and first not in seeds else first
        counted = seeds == list(range(begin, begin + len(seeds))) and len(seeds) >= len(own)
        if folder.complete and counted and ours == config:
            yield folder


@dataclass(frozen=True)
class _Part:
    """Makes the plan of a recipe without what its claims do not ask for."""

    recipe: Recipe
    claims: tuple[Claim, ...]

    def __call__(self, settings: Any) -> Plan:
        plan = self.recipe.plan(settings)
        scores = [claim.score for claim in self.claims]
        rows = [score.where for score in scores] + [score.minus for score in scores if score.minus]

        def asked(one: Trial | Computation) -> bool:
            """Whether it may be of one of the rows: none of its labels has another value."""
            return any(all(one.labels.get(k, v) == v for k, v in row.items()) for row in rows)

        trials, computations = [*filter(asked, plan.trials)], [*filter(asked, plan.computations)]
        if not trials and not computations:
            return plan
        # Tables are derived from tables: each keeps rows, were it those of its quickest trial.
        for name in dict.fromkeys(m.name for m in plan.measures):
            looks = [m for m in plan.measures if m.name == name]
            if not any(m.fits(trial) for m in looks for trial in trials):
                seen = [trial for trial in plan.trials if any(m.fits(trial) for m in looks)]
                trials += sorted(seen, key=lambda trial: trial.learner.steps)[:1]
        kept = {one.name for one in computations}
        for name in dict.fromkeys(one.name for one in plan.computations if one.name not in kept):
            same = [one for one in plan.computations if one.name == name]
            computations.append(min(same, key=lambda one: one.effort))
        measures = [m for m in plan.measures if any(m.fits(trial) for trial in trials)]
        return Plan(trials=trials, measures=measures, computations=computations)
