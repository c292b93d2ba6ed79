"""Interim analyses (looks): runs of a part of a recipe with more seeds.

A claim reads rows of tables, and these rows are of some trials. More seeds for one claim need more
seeds of those trials alone: of a grid of a hundred, often five. A look is stored as a run of its
own, whose config names the claims; the board takes of each claim the verdict with the most seeds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from inweights.errors import ConfigError, InweightsError, unknown_name
from inweights.lab.engine.engine import Outcome, load
from inweights.lab.grammar.claim import Claim
from inweights.lab.grammar.recipe import Recipe
from inweights.lab.grammar.trial import Computation, Plan, Trial
from inweights.lab.grammar.verdict import ClaimResult
from inweights.runs import RunFolder, RunStore

__all__ = ["narrowed", "of_folder", "share_of", "standing"]


def narrowed(recipe: Recipe, claims: Sequence[str]) -> Recipe:
    """Return a recipe of those trials alone that some of its claims are about.

    A trial belongs to a claim unless one of its labels has another value than the claim asks for;
    where a table would be left without rows, the quickest of its trials stays. A derived table may
    still draw on trials that its labels do not name: whoever narrows compares the verdicts on seeds
    that are there already, as :func:`inweights.lab.studies.settle.settle` does.

    Args:
        recipe: The whole one.
        claims: Last parts of the claims' names.

    Raises:
        ConfigError: The recipe has no such claim.

    Example:
        >>> from inweights.recipes import get_recipe
        >>> whole = get_recipe("beyond/where-the-bridge-holds")
        >>> part = narrowed(whole, ["tied-head-leaks"])
        >>> len(whole.plan(whole.scales["cpu"]).trials), len(part.plan(part.scales["cpu"]).trials)
        (177, 1)
    """
    known = {claim.id.rpartition("/")[2]: claim for claim in recipe.claims}
    for name in claims:
        if name not in known:
            raise unknown_name("claim", name, known, hint=f"Recipe {recipe.name}.")
    chosen = {name: claim for name, claim in known.items() if name in claims}
    part = tuple(chosen.values())
    return replace(recipe, plan=_Part(recipe, part), claims=part, figures=(), part=tuple(chosen))


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
    one, other = (_work(recipe.plan(recipe.scales[scale])) for recipe in (part, whole))
    return one / other if other else 1.0


def standing(recipe: Recipe, scale: str, store: RunStore) -> Outcome | None:
    """Return the finished run of a recipe's own config, with the results of all looks.

    Of several runs with its own settings, and seeds that count on from its own first, the one with
    the most seeds is taken; and of each claim the verdict with the most.
    """
    if scale not in recipe.scales:
        return None
    _, own, config = recipe.resolve(scale)
    whole: list[RunFolder] = []
    looks: list[RunFolder] = []
    for folder in store.of(recipe.name):
        seeds, ours = folder.seeds, dict(folder.config)
        part = ours.pop("claims", None)
        counted = seeds == list(range(own[0], own[0] + len(seeds))) and len(seeds) >= len(own)
        if folder.complete and counted and {**ours, "seeds": []} == {**config, "seeds": []}:
            (whole if part is None else looks).append(folder)
    if not whole:
        return None
    outcome = load(recipe, max(whole, key=lambda folder: len(folder.seeds)))
    best = {claim.id: claim for claim in outcome.claims}
    for claim in _judged(recipe, looks):
        if claim.id in best and claim.replicates > best[claim.id].replicates:
            best[claim.id] = claim
    return replace(outcome, claims=tuple(best.values()))


def _judged(recipe: Recipe, looks: Sequence[RunFolder]) -> Iterator[ClaimResult]:
    for folder in looks:
        try:
            outcome = load(of_folder(recipe, folder), folder)
        except InweightsError:
            continue  # a damaged look, or one at a claim that is gone: the others stand
        yield from (claim for claim in outcome.claims if claim.verdict != "not judged")


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
            return any(_agree(one.labels, where) for where in rows)

        trials = [trial for trial in plan.trials if asked(trial)]
        computations = [one for one in plan.computations if asked(one)]
        if not trials and not computations:
            return plan
        # Tables are derived from tables: each keeps rows, were it those of its quickest trial.
        for name in dict.fromkeys(m.name for m in plan.measures):
            looks = [m for m in plan.measures if m.name == name]
            if not any(m.fits(trial) for m in looks for trial in trials):
                seen = [trial for trial in plan.trials if any(m.fits(trial) for m in looks)]
                trials += sorted(seen, key=lambda trial: trial.learner.steps)[:1]
        for name in dict.fromkeys(one.name for one in plan.computations):
            if name not in {one.name for one in computations}:
                same = [one for one in plan.computations if one.name == name]
                computations += sorted(same, key=lambda one: one.effort)[:1]
        measures = [m for m in plan.measures if any(m.fits(trial) for trial in trials)]
        return Plan(trials=trials, measures=measures, computations=computations)


def _agree(labels: Mapping[str, Any], where: Mapping[str, Any]) -> bool:
    return all(labels.get(name, value) == value for name, value in where.items())


def _work(plan: Plan) -> int:
    return sum(t.learner.steps for t in plan.trials) + sum(c.effort for c in plan.computations)
