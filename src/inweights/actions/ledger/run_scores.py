"""Take the scores of a recipe's runs for the results, where their claims were stated before."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inweights.actions.ledger.ledger import Ledger, ledger_of
from inweights.actions.ledger.lines import BLOCK
from inweights.errors import FolderError, InweightsError
from inweights.runs import RunFolder, RunStore, read_json
from inweights.runs.environment import file_at

if TYPE_CHECKING:
    from inweights.experiments.grammar.recipe import Recipe


def scores_of_runs(
    recipe: Recipe, scale: str, store: RunStore, path: Path, ledger: Ledger
) -> Iterator[dict[str, Any]]:
    """Yield the scores of a recipe's runs, those with the most seeds first.

    Runs and claims that do not count are left out, and a warning says why.

    Args:
        recipe: The recipe.
        scale: Scale of the runs: ``smoke``, ``cpu`` or ``paper``.
        store: Where runs are.
        path: The ledger's file, whose earlier versions git has.
        ledger: The current ledger.

    Yields:
        Mappings by column, as :func:`~inweights.actions.ledger.scores.rows_of` makes
        them.
    """
    from inweights.actions.ledger.scores import rows_of
    from inweights.actions.ledger.stating import on_its_block
    from inweights.experiments.claims.numbers import numbers_of
    from inweights.experiments.engine.outcome_files import load
    from inweights.experiments.studies.narrowed import of_folder
    from inweights.experiments.studies.settle import own_folders

    held = on_its_block(recipe, scale, ledger)
    blocks = {
        line.block: line
        for claim in recipe.claims
        if (line := ledger.entry(claim.id, scale).stated)
        and claim.id in (held.versions or {})
    }
    for block in blocks:
        for folder in own_folders(recipe, scale, store, block * BLOCK, further=True):
            try:
                part = of_folder(recipe, folder)
                tables = load(part, folder).tables
            except InweightsError as error:
                warnings.warn(f"{folder.path} is left out: {error}", stacklevel=3)
                continue
            before, why, where = _ledger_of_run(folder, path)
            # A run that cannot be judged is no reason not to judge the others.
            if why:
                warnings.warn(f"{folder.path} is left out: {why}", stacklevel=3)
                continue
            for claim in part.claims:
                line = ledger.entry(claim.id, scale).stated
                if (
                    line is None
                    or line.block != block
                    or claim.id not in (held.versions or {})
                ):
                    continue
                known = before.entry(claim.id, scale).stated if before else None
                # The commit of the run must hold the claim as it is judged: what was
                # stated after a run may have been chosen by its result.
                if known and (known.hash, known.block) == (line.hash, line.block):
                    found = numbers_of(claim.score, tables, claim.id)
                    yield from rows_of(line, found, folder.seeds, where)
                else:
                    warnings.warn(
                        f"{claim.id} is left out: it was stated after the commit of its run",
                        stacklevel=3,
                    )


def _ledger_of_run(folder: RunFolder, path: Path) -> tuple[Ledger | None, str, str]:
    """Return the ledger at the commit of a run, or why there is none; and where it ran."""
    try:
        about = read_json(folder.path / "environment.json", dict[str, Any])
    except FolderError as error:
        return None, str(error), ""
    own = about.get("repositories", {}).get("inweights", {})
    commit = str(own.get("commit", ""))
    torch = about.get("packages", {}).get("torch", "")
    where = f"{about.get('processor', '?')}, torch {torch}, commit {commit[:10]}"
    if not commit:
        return (
            None,
            "its run does not say its commit: run it in a checkout, with git",
            where,
        )
    if own.get("clean") is False:
        return None, "its run was made with changes that were not committed", where
    ledger = _at(commit, path)
    if ledger is None:
        return None, f"the commit {commit[:10]} of its run has no ledger here", where
    return ledger, "", where


def ledger_at(commit: str, path: Path) -> Ledger | None:
    """Return the ledger as it is in a commit; ``None`` if the commit does not contain it.

    Args:
        commit: The commit.
        path: The ledger's file.

    Raises:
        DataError: The ledger of that commit is damaged.
    """
    content = file_at(commit, path)
    return None if content is None else ledger_of(content, f"{path} at {commit[:10]}")


# Many runs have one commit: git is called once for all of them.
_at = lru_cache(maxsize=16)(ledger_at)
