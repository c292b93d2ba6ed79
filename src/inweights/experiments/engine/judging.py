"""Judge every claim of a recipe by its tables, and count the seeds that a verdict needs.

:func:`judge_all` is used for new runs (:mod:`~.engine`) and for stored runs
(:mod:`~.outcome_files`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from inweights.experiments.claims.claim import Claim
from inweights.experiments.claims.claim_result import ClaimResult
from inweights.experiments.claims.needed_seeds import first_seeds
from inweights.experiments.claims.verdict import judge, unjudged
from inweights.experiments.grammar.recipe import Recipe
from inweights.support.statistics.intervals import ALPHA, alpha_of, version_alpha

if TYPE_CHECKING:
    import polars as pl


#: Reason why a claim that the ledger does not contain in its present form is not
#: judged.
NOT_STATED = (
    "not stated in the ledger before this run; state it with 'inweights claims state', "
    "commit, and run again"
)


def judge_all(
    recipe: Recipe,
    tables: Mapping[str, pl.DataFrame],
    scale: str,
    *,
    seeds: Sequence[int] = (),
) -> tuple[ClaimResult, ...]:
    """Judge every claim of a recipe; at scale ``smoke``, only compute the claims' numbers.

    If a run begins with the recipe's first seed and has more seeds than a first verdict
    requires, the judgement is treated as a further interim analysis, with a smaller
    error probability.

    Args:
        recipe: The recipe.
        tables: Tables of the run, keyed by name.
        scale: The scale that was run: ``smoke``, ``cpu`` or ``paper``.
        seeds: Root seeds of the run. If the first of them is the recipe's first seed,
            their number determines the number of interim analyses. With other seeds, or
            with none (the default), every claim is judged at the usual error
            probability of 5%.

    Returns:
        One result per claim, in the order of the recipe. The verdict is ``not judged``
        at scale ``smoke``, if there are too few seeds, or if the ledger (the file of
        claims that were stated before their run) does not contain the claim in its
        present form. It is also ``not judged`` if a table, a column or a value that the
        claim needs is missing, so that a long run is not lost because of a wrong name.
        The result then states the reason.

    Raises:
        KeyError: The recipe has no such scale.
    """
    results = []
    for claim in recipe.claims:
        version = _version(recipe, claim)
        counts = version > 0 and tuple(seeds[:1]) == (recipe.first_seed,)
        alpha = version_alpha(version) if counts else ALPHA
        first = first_seeds(claim, recipe.seeds[scale], alpha)
        alpha = alpha_of(len(seeds), first, version) if counts else alpha
        judged = scale != "smoke"
        result = judge(
            claim, tables, alpha=alpha, minimum=first, targets=judged, strict=False
        )
        if not version and result.verdict != "not judged":
            result = unjudged(claim, NOT_STATED)
        results.append(msgspec.structs.replace(result, version=version or 1))
    return tuple(results)


def seeds_to_judge(recipe: Recipe, scale: str) -> int:
    """Return the number of seeds with which every claim of a recipe can be judged.

    The result is the larger of two numbers: the recipe's own number of seeds, and the
    largest number that a verdict on one of its claims requires
    (:func:`~.needed_seeds.first_seeds`). The latter is at least
    :data:`~.needed_seeds.MIN_SEEDS`, and larger for a claim that is judged by the share
    of seeds or is a later version of a stated claim. At scale ``smoke``, or if no claim
    depends on seeds, the result is the recipe's own number.

    Args:
        recipe: The recipe.
        scale: Scale of the run: ``smoke``, ``cpu`` or ``paper``.

    Raises:
        KeyError: The recipe has no such scale.
    """
    stated = recipe.seeds[scale]
    judged = [c for c in recipe.claims if not c.score.exact] if scale != "smoke" else []
    alphas = ((claim, version_alpha(_version(recipe, claim) or 1)) for claim in judged)
    return max(
        [stated, *(first_seeds(claim, stated, alpha) for claim, alpha in alphas)]
    )


def _version(recipe: Recipe, claim: Claim) -> int:
    """Return a claim's version in the ledger; 0 if the ledger does not contain it unchanged."""
    return 1 if recipe.versions is None else recipe.versions.get(claim.id, 0)
