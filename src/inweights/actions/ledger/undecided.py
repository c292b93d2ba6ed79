"""Find the recipes with open claims in stored results, to which seeds can be added."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from inweights.actions.ledger.lines import BLOCK
from inweights.actions.ledger.results import board, open_ledger, stated
from inweights.actions.ledger.run_scores import scores_of_runs
from inweights.experiments.claims.verdict import is_open
from inweights.recipes import get_recipe
from inweights.runs import RunStore

if TYPE_CHECKING:
    from inweights.experiments.claims.claim_result import ClaimResult
    from inweights.experiments.grammar.recipe import Recipe
    from inweights.experiments.studies.settle import Kept


def open_parts(
    scale: str, *, only: str = "", runs: str | Path | None = None, results: str | Path
) -> Iterator[tuple[Recipe, Kept]]:
    """Yield each recipe that has undecided claims in the results, and a function to judge them.

    The function judges the claims on the basis of the scores in the results and of the
    runs on this disk. A recipe is yielded several times if its undecided claims are
    stated on several blocks of seeds.

    Args:
        scale: Scale of the runs: ``smoke``, ``cpu`` or ``paper``.
        only: Part of the names of the recipes; by default all recipes.
        runs: Folder of all runs; by default ``$INWEIGHTS_RUNS`` or, if unset, ``runs``.
        results: Folder of the results.

    Yields:
        The recipe, with the first seed of the block, and a function that takes no
        arguments and returns the results of its undecided claims on this block.

    Raises:
        ConfigError: ``results`` has no ledger, or no recipe's name contains ``only``.
        DataError: The ledger or the scores are damaged, or a file that the settings
            name cannot be read.
        OSError: The ledger cannot be read.
    """
    from inweights.actions.ledger.board import read_board

    path, ledger = open_ledger(results)
    store = RunStore(runs)

    def judged(recipe: Recipe, names: Container[str]) -> list[ClaimResult]:
        rows = (
            scores_of_runs(recipe, scale, store, path, ledger)
            if store.has(recipe.name)
            else ()
        )
        claims = read_board(path.parent, scale, [recipe.name], rows).claims
        return [claim for claim in claims if claim.id in names]

    parts = defaultdict[tuple[str, int], list[str]](list)
    for claim in board(scale, only=only, results=results).claims:
        if is_open(claim) and (line := ledger.entry(claim.id, scale).stated):
            parts[claim.id.rpartition("/")[0], line.block].append(claim.id)
    for (name, block), names in parts.items():
        recipe = replace(stated(get_recipe(name), scale), first_seed=block * BLOCK)
        yield recipe, partial(judged, recipe, names)
