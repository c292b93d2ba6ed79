"""Judge every claim of a recipe from its tables, and count the seeds that a verdict needs.

:func:`judge_all` is used for new runs (:mod:`~.engine`) and for stored ones
(:mod:`~.outcome`).
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


#: Why a claim is not judged that the ledger does not hold as it is.
NOT_STATED = (
    "not stated in the ledger before this run; 'inweights claims state', commit, run"
)


def judge_all(
    recipe: Recipe,
    tables: Mapping[str, pl.DataFrame],
    scale: str,
    *,
    seeds: Sequence[int] = (),
) -> tuple[ClaimResult, ...]:
    """Judge every claim of a recipe; at scale ``smoke`` numbers are only measured.

    Seeds beyond those that a first verdict needs, if they follow the recipe's own,
    count as another interim analysis, with a smaller error probability.

    Args:
        recipe: The recipe.
        tables: Its tables, by name.
        scale: The scale that was run: ``smoke``, ``cpu`` or ``paper``.
        seeds: Root seeds of the run, from which the number of interim analyses is
            determined if they begin with the recipe's first seed. With other seeds, or
            by default with none, every claim is judged at the usual error probability.

    Returns:
        One result per claim, in the order of the recipe. A claim is ``not judged``,
        with the reason, at scale ``smoke``, with too few seeds, or if the ledger does
        not state it as it is now. The same holds if a table, a column or a value that
        it needs is missing, so that a long run is not lost because of a wrong name.
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
    """Return the number of seeds of a recipe, at least as many as a verdict on each claim needs.

    It is larger than the recipe's own number if that is below
    :data:`~.needed_seeds.MIN_SEEDS`, or if a claim is judged by the share of seeds, or
    is a later version of a stated claim; see :func:`~.needed_seeds.first_seeds`. At
    scale ``smoke``, and without claims that depend on seeds, it is the recipe's own
    number.

    Args:
        recipe: The recipe.
        scale: Scale of the run: ``smoke``, ``cpu`` or ``paper``.
    """
    stated = recipe.seeds[scale]
    judged = [c for c in recipe.claims if not c.score.exact] if scale != "smoke" else []
    alphas = ((claim, version_alpha(_version(recipe, claim) or 1)) for claim in judged)
    return max(
        [stated, *(first_seeds(claim, stated, alpha) for claim, alpha in alphas)]
    )


def _version(recipe: Recipe, claim: Claim) -> int:
    """Return a claim's version in the ledger; 0 if the ledger does not state it unchanged."""
    return 1 if recipe.versions is None else recipe.versions.get(claim.id, 0)
