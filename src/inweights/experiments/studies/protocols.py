"""Determine how closely each claim of a recipe follows its paper's protocol.

:func:`computed_protocols` compares the settings of the trials on which a claim depends
with the statements of the paper and its code
(:mod:`inweights.experiments.grammar.protocols.compare`).
"""

from collections.abc import Sequence

from inweights.experiments.claims.claim import Claim, Protocol
from inweights.experiments.grammar.protocols.compare import compare_plan
from inweights.experiments.grammar.protocols.differences import Difference, protocol_of
from inweights.experiments.grammar.recipe import Recipe
from inweights.experiments.grammar.trial import Measure, Plan, Trial
from inweights.experiments.studies.narrowed import narrowed


def computed_protocols(recipe: Recipe, scale: str) -> dict[str, Protocol]:
    """Return how closely each claim of a recipe follows the protocol of its paper.

    Claims that no paper states (with the source ``ours``) are omitted. The measures of
    a claim are not compared, because a derived table does not record from which measure
    it was derived.

    Args:
        recipe: A recipe of a paper.
        scale: The scale at which the claims of the recipe are judged: ``smoke``,
            ``cpu`` or ``paper``.

    Returns:
        A dictionary from the id of each claim to ``exact``, ``scaled`` (smaller sizes
        or different training) or ``substitute`` (a different world, model or
        computation); see
        :func:`~inweights.experiments.grammar.protocols.differences.protocol_of`. It is
        empty if the paper has no protocol file.

    Raises:
        ConfigError: The recipe has no such scale.
        DataError: A file to which the settings refer cannot be read.

    Example:
        >>> from inweights.recipes import get_recipe
        >>> found = computed_protocols(get_recipe("geometric-memory/fig3"), "cpu")
        >>> found["geometric-memory/fig3/hardest-token"]
        'substitute'
    """
    if recipe.protocol is None:
        return {}
    theirs = [claim for claim in recipe.claims if not claim.ours]
    return {
        claim.id: protocol_of(differences_of(recipe, scale, claim)) for claim in theirs
    }


def differences_of(recipe: Recipe, scale: str, claim: Claim) -> list[list[Difference]]:
    """Compare the settings of the trials on which a claim depends with the paper's settings.

    Args:
        recipe: A recipe whose paper has a protocol file.
        scale: The scale at which the claim is judged: ``smoke``, ``cpu`` or ``paper``.
        claim: A claim of the recipe.

    Returns:
        One list for each trial, followed by one for each computation, on which the
        claim depends. Each list has a :class:`Difference` for every setting, including
        settings that agree with the paper.

    Raises:
        ConfigError: The recipe's paper has no protocol file, or the recipe has no such
            scale or no such claim.
        DataError: A file to which the settings refer cannot be read.
    """
    settings, _, _ = recipe.resolve(scale, seeds=1)
    part = narrowed(recipe, [claim.id.rpartition("/")[2]])
    return compare_plan(recipe, scale, _judged(part.plan(settings), claim))


def _judged(plan: Plan, claim: Claim) -> Plan:
    """Return the part of a plan on which a claim depends."""
    table = claim.score.table
    trials = _of_condition(plan.trials, claim.condition)
    computations = plan.computations
    measures = [measure for measure in plan.measures if measure.name == table]
    if any(one.name == table for one in computations):
        return Plan(computations=[one for one in computations if one.name == table])
    if measures:
        measured = [trial for trial in trials if _is_measured(trial, measures)]
        return Plan(trials=measured, measures=plan.measures)
    return Plan(trials=trials, measures=plan.measures, computations=computations)


def _is_measured(trial: Trial, measures: Sequence[Measure]) -> bool:
    """Return whether at least one of the measures applies to a trial."""
    return any(measure.fits(trial) for measure in measures)


def _of_condition(trials: Sequence[Trial], condition: str) -> Sequence[Trial]:
    """Return the trials of a condition, and trials without a condition, which all conditions share.

    A claim without a condition depends on the trials without a condition, if there are
    any. If no trial has the condition or is without one, all trials are returned.
    """
    known = {trial.labels.get("condition") for trial in trials}
    if condition not in known and None not in known:
        return trials
    return [
        trial for trial in trials if trial.labels.get("condition") in (condition, None)
    ]
