"""Hash everything that can change a claim's number or verdict.

:func:`hashes` covers scores, targets and settings; :func:`code_hash` covers the code
that computes a recipe's derived tables. :mod:`~inweights.actions.ledger.stating`
compares both with the hashes in the ledger.
"""

from collections.abc import Mapping
from functools import partial

from inweights.config import digest
from inweights.experiments.claims.claim import Claim
from inweights.experiments.claims.score import Value
from inweights.experiments.engine.plan import expand_plan
from inweights.experiments.grammar.recipe import Recipe
from inweights.recipes import get_recipe, is_built_in
from inweights.support.keys.called_code import hash_of_calls
from inweights.support.keys.remembered import recall, remember


def hashes(recipe: Recipe, scale: str) -> dict[str, str]:
    """Return a hash of everything that can change a claim's number or verdict, for each claim.

    The hash covers the claim's score, target and rule, the stated number of seeds, the
    recipe's version, and the keys of everything that the recipe trains and measures at
    the scale. These keys contain settings and the versions of world, model, learner and
    probe. The hash does not cover the wording of a claim. The claim's source, protocol
    and published number are not covered either, but are compared by
    :func:`~.stating.stands`.

    Args:
        recipe: The recipe.
        scale: Scale at which its claims are judged: ``smoke``, ``cpu`` or ``paper``.

    Returns:
        A hash of 16 hexadecimal digits for each claim id.

    Raises:
        ConfigError: There is no such scale, or an option of a measure cannot be stored
            exactly.
        DataError: A file that the settings name cannot be read.
    """
    settings, _, _ = recipe.resolve(scale, seeds=1)
    work = expand_plan(recipe.plan(settings), [0], recipe.version)
    plan = digest([[one.name, *one.place, one.labels] for one in work.requests])
    return {
        claim.id: digest(
            [judged_values(claim), recipe.seeds[scale], recipe.version, plan], 16
        )
        for claim in recipe.claims
    }


def remembered_hashes(recipe: Recipe, scale: str) -> dict[str, str]:
    """Return the result of :func:`hashes`, from this machine's cache if possible.

    Computing the hashes imports PyTorch. The cache is used only for the library's own
    recipes, as long as the files of the library do not change.

    Args:
        recipe: The recipe.
        scale: Scale at which its claims are judged: ``smoke``, ``cpu`` or ``paper``.

    Returns:
        A hash of 16 hexadecimal digits for each claim id.

    Raises:
        ConfigError: There is no such scale, or an option of a measure cannot be stored
            exactly.
        DataError: A file that the settings name cannot be read.
    """
    if not is_built_in(recipe.name) or get_recipe(recipe.name) is not recipe:
        return hashes(recipe, scale)
    _, _, config = recipe.resolve(scale, seeds=1)
    key = [scale, config]
    known = recall("claims", key, dict[str, str])
    if known is not None:
        return known[0]
    found = hashes(recipe, scale)
    remember("claims", key, found)
    return found


def code_hash(recipe: Recipe) -> str:
    """Return a hash of the code that computes a recipe's derived tables.

    The hash covers the parsed source of ``derive`` and of all that it calls in the
    recipe's package (:func:`~inweights.support.keys.called_code.hash_of_calls`), which
    for the library's recipes is ``inweights.recipes``. Scores are covered by
    :func:`hashes`.

    Args:
        recipe: The recipe.

    Returns:
        A hash of 16 hexadecimal digits; an empty string if the recipe has no
        ``derive``, or the source of ``derive`` is not available.
    """
    if recipe.derive is None:
        return ""
    function = (
        recipe.derive.func if isinstance(recipe.derive, partial) else recipe.derive
    )
    package = function.__module__.partition(".")[0]
    within = "inweights.recipes" if package == "inweights" else package
    return hash_of_calls(recipe.derive, within)


def judged_values(claim: Claim) -> list[object]:
    """Return everything that determines the number and verdict of a claim, as plain values.

    Args:
        claim: The claim.

    Returns:
        A list. The first entries are properties of the score: the table, the column,
        the values that select its rows, the values that select the rows to subtract
        (both as sorted pairs of column and value), the columns that distinguish its
        cases, the bounds, and whether the score is exact. The last three entries are
        the lower and the upper end of the target, and the rule of judgement.
    """
    score = claim.score
    target = claim.target
    rows = [_as_read_back(part) for part in (score.where, score.minus)]
    where = [score.table, score.column, *rows, list(score.each)]
    return [*where, score.bounds, score.exact, target.least, target.most, claim.judged]


def _as_read_back(row: Mapping[str, Value]) -> list[tuple[str, Value]]:
    """Return sorted pairs of name and value; numbers are floats, as if read from a ledger."""
    return sorted(
        (name, value if isinstance(value, bool | str) else float(value))
        for name, value in row.items()
    )
