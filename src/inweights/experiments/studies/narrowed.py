"""Reduce recipes to the trials on which some of their claims depend.

:func:`narrowed` is used by :mod:`~.settle`, which adds seeds to open claims, and by
:mod:`~.protocols`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from inweights.errors import ConfigError, check_names
from inweights.experiments.claims.claim import Claim
from inweights.experiments.grammar.recipe import Recipe
from inweights.experiments.grammar.trial import Computation, Measure, Plan, Trial
from inweights.runs import RunFolder


def narrowed(recipe: Recipe, claims: Sequence[str]) -> Recipe:
    """Return a recipe with only some of its claims and the trials on which they depend.

    A trial is left out if one of its labels has a value other than those that the
    claims mention. If a table would lose all of its rows, the fastest of its trials is
    kept. If no trial or computation would be left, all of them are kept. A derived
    table may depend on further trials that the claims do not mention. Therefore
    :func:`~.settle.settle` checks that the verdicts on stored seeds are the same as
    those of the complete recipe.

    Args:
        recipe: The recipe.
        claims: Short names of the claims, the last parts of their ids.

    Returns:
        The reduced recipe, without figures. Its attribute ``whole`` is the given
        recipe.

    Raises:
        ConfigError: The recipe lacks one of these claims.

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
    return replace(
        recipe,
        plan=_Part(recipe, part),
        claims=part,
        figures=(),
        whole=recipe,
    )


def of_folder(recipe: Recipe, folder: RunFolder) -> Recipe:
    """Return the recipe of a run, reduced to those claims that the run contains.

    Args:
        recipe: The recipe.
        folder: Folder of the run.

    Returns:
        The reduced recipe (:func:`narrowed`), or the given recipe if the run contains
        all of its claims.

    Raises:
        ConfigError: The run has only some of the claims, and its config does not name
            them, or names a claim that the recipe lacks.
    """
    if "claims" not in folder.config:
        return recipe
    if not folder.claims:
        raise ConfigError(
            f"the run in {folder.path} was made for only some of its recipe's claims, but its "
            "config does not name them; run the recipe again"
        )
    return narrowed(recipe, folder.claims)


def share_of(part: Recipe, whole: Recipe, scale: str) -> float:
    """Return the estimated share of a recipe's work that a reduced recipe requires, from 0 to 1.

    The work of a recipe is the estimated number of updates for one seed, with the
    settings of the scale.

    Args:
        part: The reduced recipe.
        whole: The complete recipe.
        scale: The scale: ``smoke``, ``cpu`` or ``paper``.

    Returns:
        The share; 1 if the complete recipe has no work.

    Raises:
        KeyError: A recipe has no such scale. Errors of its ``plan`` propagate.
    """
    some = _work_of(part, scale)
    all_of_it = _work_of(whole, scale)
    return some / all_of_it if all_of_it else 1.0


def _work_of(recipe: Recipe, scale: str) -> int:
    """Return the estimated number of updates that one seed of a recipe needs."""
    plan = recipe.plan(recipe.scales[scale])
    return plan.steps + sum(computation.effort for computation in plan.computations)


@dataclass(frozen=True)
class _Part:
    """Function that creates a recipe's plan with only the trials that the chosen claims need."""

    recipe: Recipe
    claims: tuple[Claim, ...]

    def __call__(self, settings: Any) -> Plan:
        plan = self.recipe.plan(settings)
        trials = [trial for trial in plan.trials if self._is_claimed(trial)]
        computations = [one for one in plan.computations if self._is_claimed(one)]
        # A claim about a derived label does not name trials, and may depend on all of
        # them.
        if not trials and not computations:
            return plan
        # A derived table may need any table, so none may be empty: each contains at
        # least the rows of its fastest trial.
        for name in dict.fromkeys(measure.name for measure in plan.measures):
            measures = [measure for measure in plan.measures if measure.name == name]
            if not _measured(trials, measures):
                measured = _measured(plan.trials, measures)
                trials += sorted(measured, key=lambda trial: trial.learner.steps)[:1]
        kept = {one.name for one in computations}
        for name in dict.fromkeys(
            one.name for one in plan.computations if one.name not in kept
        ):
            same = [one for one in plan.computations if one.name == name]
            computations.append(min(same, key=lambda one: one.effort))
        measures = [
            measure for measure in plan.measures if any(map(measure.fits, trials))
        ]
        return Plan(trials=trials, measures=measures, computations=computations)

    def _is_claimed(self, one: Trial | Computation) -> bool:
        """Return whether a claim may depend on a trial or computation, given its labels."""
        for claim in self.claims:
            rows = [claim.score.where]
            if claim.score.minus:
                rows.append(claim.score.minus)
            if any(_may_have(one.labels, row) for row in rows):
                return True
        return False


def _may_have(labels: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    """Return whether no label contradicts the values of a row."""
    return all(labels.get(name, value) == value for name, value in row.items())


def _measured(trials: Sequence[Trial], measures: Sequence[Measure]) -> list[Trial]:
    """Return the trials to which at least one of the measures applies."""
    return [trial for trial in trials if _is_measured(trial, measures)]


def _is_measured(trial: Trial, measures: Sequence[Measure]) -> bool:
    """Return whether at least one of the measures applies to a trial."""
    return any(measure.fits(trial) for measure in measures)
