"""Read the scores of a recipe's runs for those claims that were stated before the run."""

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
    """Yield the scores of a recipe's runs, beginning with the run with the most seeds.

    Claims that were stated after the run are skipped. Runs are skipped if they are
    damaged, if their commit is unknown or has no ledger, or if the code had uncommitted
    changes. In each case, a warning gives the reason.

    Args:
        recipe: The recipe.
        scale: Scale of the runs: ``smoke``, ``cpu`` or ``paper``.
        store: The folder of all runs.
        path: The file of the ledger, whose earlier versions are in git.
        ledger: The ledger in its current state.

    Yields:
        Scores as mappings from column to value, as returned by
        :func:`~inweights.actions.ledger.scores.rows_of`.

    Raises:
        DataError: A table of a run lacks a column of a claim's score, no row has the
            values that the score selects, a file that the settings name cannot be read,
            or the ledger at the commit of a run is damaged.
        FolderError: The folder of runs cannot be read.
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
            # A run that cannot be judged does not prevent the others from being judged.
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
                # The commit of the run must already contain the same statement of the
                # claim: a claim that is stated after a run may have been chosen because
                # of its result.
                if known and (known.hash, known.block) == (line.hash, line.block):
                    found = numbers_of(claim.score, tables, claim.id)
                    yield from rows_of(line, found, folder.seeds, where)
                else:
                    warnings.warn(
                        f"{claim.id} is left out: it was stated after the commit of its run",
                        stacklevel=3,
                    )


def _ledger_of_run(folder: RunFolder, path: Path) -> tuple[Ledger | None, str, str]:
    """Return the ledger at a run's commit (or ``None`` and the reason), and the environment."""
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
            "its run does not state its commit: run it in a checkout, with git",
            where,
        )
    if own.get("clean") is False:
        return None, "its run was made with changes that were not committed", where
    ledger = _at(commit, path)
    if ledger is None:
        return None, f"the commit {commit[:10]} of its run has no ledger here", where
    return ledger, "", where


def ledger_at(commit: str, path: Path) -> Ledger | None:
    """Return the ledger as of a commit.

    The result is ``None`` if the commit does not contain the ledger, git is not
    installed, or the file is not in a repository.

    Args:
        commit: Hash of the commit (7 to 64 hexadecimal digits), or ``HEAD``.
        path: The file of the ledger, in the working tree.

    Raises:
        DataError: The ledger of that commit is damaged.
    """
    content = file_at(commit, path)
    return None if content is None else ledger_of(content, f"{path} at {commit[:10]}")


# Many runs have the same commit, so the results of calls of git are cached.
_at = lru_cache(maxsize=16)(ledger_at)
