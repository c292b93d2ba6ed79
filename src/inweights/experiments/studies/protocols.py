"""Compute how near to its paper's protocol each claim is judged.

Nobody states it by hand: :func:`computed_protocols` compares the settings of the trials
that a claim is about with what the paper and its code state
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
    """Return how near to the paper's protocol each claim of the paper is judged, by its id.

    What a claim measures is not compared: a table that is derived does not say from
    which measure. Where the paper's protocol is not stated as data, nothing is
    returned.

    Args:
        recipe: A recipe of a paper.
        scale: The scale at which its claims are judged: ``smoke``, ``cpu`` or
            ``paper``.

    Raises:
        ConfigError: The recipe has no such scale.

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
    """Return the differences from the paper of the trials that a claim is about.

    Args:
        recipe: A recipe of a paper whose protocol is stated.
        scale: The scale at which its claims are judged: ``smoke``, ``cpu`` or
            ``paper``.
        claim: One of its claims.

    Returns:
        A list of differences for each trial and computation.

    Raises:
        ConfigError: The protocol of its paper is not stated, or there is no such scale.
    """
    settings, _, _ = recipe.resolve(scale, seeds=1)
    part = narrowed(recipe, [claim.id.rpartition("/")[2]])
    return compare_plan(recipe, scale, _judged(part.plan(settings), claim))


def _judged(plan: Plan, claim: Claim) -> Plan:
    """Return the part of a plan that a claim is judged on."""
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
    """Return whether any of the measures is taken of a trial."""
    return any(measure.fits(trial) for measure in measures)


def _of_condition(trials: Sequence[Trial], condition: str) -> Sequence[Trial]:
    """Return the trials under a condition, and those without one, which all share.

    A claim without a condition is about trials without one, where there are some.
    """
    known = {trial.labels.get("condition") for trial in trials}
    if condition not in known and None not in known:
        return trials
    return [
        trial for trial in trials if trial.labels.get("condition") in (condition, None)
    ]
