"""Read and extend the results that are stored with the code: the ledger and the scores.

:func:`board` returns the verdicts. :func:`state` and :func:`withdraw` add claims to the
ledger or withdraw them, and :func:`record` adds the scores of runs. A claim counts only
if it was stated in the ledger before its run.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inweights.actions.ledger.ledger import Ledger, read_ledger
from inweights.actions.ledger.lines import (
    LEDGER,
    Line,
    results_root,
    stored_root,
)
from inweights.actions.ledger.run_scores import ledger_at, scores_of_runs
from inweights.errors import ConfigError, unknown_name
from inweights.recipes import get_recipe, recipes_like
from inweights.runs import RunStore

if TYPE_CHECKING:
    from inweights.actions.ledger.board import Board
    from inweights.experiments.grammar.recipe import Recipe
    from inweights.support.progress import Progress


def board(
    scale: str = "cpu", *, only: str = "", results: str | Path | None = None
) -> Board:
    """Return the results table, with the verdict on every claim in the ledger.

    Nothing is run. The attributes ``verdicts``, ``ledger`` and ``scores`` of the result
    are polars DataFrames.

    Args:
        scale: Scale of the runs: ``smoke``, ``cpu`` or ``paper``.
        only: Part of the names of the recipes; by default all recipes.
        results: Folder of the results; by default :func:`stored_root`.

    Returns:
        The table, without claims if the ledger states none at this scale.

    Raises:
        ConfigError: ``results`` is given and has no ledger, or no recipe's name
            contains ``only``.
        DataError: The ledger or the scores are damaged.
        OSError: The ledger cannot be read.
    """
    from inweights.actions.ledger.board import read_board

    place = stored_root() if results is None else Path(results)
    if results is not None and not (place / LEDGER).exists():
        raise ConfigError(
            f"{place} has no {LEDGER}; name a folder of results, such as 'results'"
        )
    return read_board(place, scale, recipes_like(only) if only else None)


def state(
    scale: str = "cpu",
    *,
    only: str = "",
    anew: str = "",
    results: str | Path | None = None,
    progress: Progress | None = None,
) -> list[Line]:
    """State new and changed claims of recipes in the ledger, before they are judged.

    Args:
        scale: Scale at which the claims are judged: ``smoke``, ``cpu`` or ``paper``.
        only: Part of the names of the recipes; by default all recipes.
        anew: Reason for restating all claims that have not been judged in their current
            version. If it is empty (the default), only new and changed claims are
            stated.
        results: Folder of the results; by default :func:`results_root`.
        progress: Called with the number of recipes done, the total number, and the name
            of the next recipe; ``None`` disables progress reporting.

    Returns:
        The lines that were added to the ledger's file; an empty list if no claim is new
        or changed.

    Raises:
        ConfigError: ``anew`` and ``only`` are both given, no recipe's name contains
            ``only``, or a claim of the ledger is no longer in its recipe.
        DataError: The ledger is damaged, or was changed by another process, or a file
            that the settings name cannot be read.
        OSError: The ledger cannot be read or written.
    """
    from inweights.actions.ledger.stating import state as lines_of

    if anew and only:
        raise ConfigError(
            "--anew cannot be combined with names of recipes, because it states the claims "
            "of all recipes again; leave out the names"
        )
    path, ledger = open_ledger(results)
    names = recipes_like(only)

    def chosen() -> Iterator[Recipe]:
        for done, name in enumerate(names):
            if progress:
                progress(done, len(names), name)
            yield get_recipe(name)

    lines = lines_of(chosen(), scale, ledger, _today(), anew)
    ledger.add(path, lines)
    return lines


def withdraw(
    claim: str, why: str, scale: str = "cpu", *, results: str | Path | None = None
) -> Line:
    """Withdraw a claim; its statement and last verdict remain in the ledger.

    Args:
        claim: Full id of the claim.
        why: Reason for the withdrawal.
        scale: Scale at which it was judged: ``smoke``, ``cpu`` or ``paper``.
        results: Folder of the results; by default :func:`results_root`.

    Returns:
        The line that was added to the ledger's file.

    Raises:
        ConfigError: The ledger has no such claim, the claim was already withdrawn, or
            ``why`` is empty.
        DataError: The ledger is damaged, or was changed by another process.
        OSError: The ledger cannot be read or written.
    """
    from inweights.actions.ledger.stating import withdraw as line_of

    path, ledger = open_ledger(results)
    line = line_of(claim, scale, why, ledger, _today())
    ledger.add(path, [line])
    return line


def history(
    claim: str, scale: str = "cpu", *, results: str | Path | None = None
) -> list[Line]:
    """Return all lines of the ledger about a claim, the oldest first.

    Args:
        claim: Id of the claim, or the last part of it.
        scale: Scale at which it is judged: ``smoke``, ``cpu`` or ``paper``.
        results: Folder of the results; by default :func:`stored_root`.

    Returns:
        The lines, as objects of the classes in :mod:`~.lines`.

    Raises:
        ConfigError: The ledger has no such claim, or several claims have this last
            part.
        DataError: The ledger is damaged.
        OSError: The ledger cannot be read.
    """
    _, ledger = open_ledger(stored_root() if results is None else results)
    known = dict(ledger.of_scale(scale))
    found = [name for name in known if claim in (name, name.rpartition("/")[2])]
    if claim in known:
        return known[claim].lines
    if len(found) > 1:
        raise ConfigError(
            f"the names of {len(found)} claims end in '{claim}'; choose one: {', '.join(found)}"
        )
    if not found:
        raise unknown_name(
            "claim", claim, known, hint="The ledger lists them by their full name."
        )
    return known[found[0]].lines


def stated(recipe: Recipe, scale: str) -> Recipe:
    """Return a recipe with the seeds and claim versions that the ledger states for it.

    The ledger in :func:`results_root` is read as of the last commit or, without git, in
    its current state.

    Args:
        recipe: The recipe.
        scale: ``smoke``, ``cpu`` or ``paper``; at ``smoke`` the recipe is returned
            unchanged.

    Returns:
        The recipe, with the first seed of the newest block (a range of 1,000,000 root
        seeds) on which the ledger states one of its claims, and with the versions of
        the claims that the ledger states in the same form. If there is no ledger, the
        recipe is unchanged.

    Raises:
        ConfigError: An option of a measure cannot be stored exactly.
        DataError: The ledger is damaged, or a file that the settings name cannot be
            read.
    """
    path = results_root() / LEDGER
    if scale == "smoke" or not path.exists():
        return recipe
    from inweights.actions.ledger.stating import on_its_block

    committed = ledger_at("HEAD", path)  # none without git
    return on_its_block(recipe, scale, committed or open_ledger(path.parent)[1])


def record(
    scale: str = "cpu",
    *,
    only: str = "",
    runs: str | Path | None = None,
    results: str | Path | None = None,
) -> int:
    """Add the scores of the runs on this disk to the results, and new verdicts to the ledger.

    A claim is included only if the line of the ledger that states it was committed
    before the run began. For every other claim, a warning gives the reason. Scores of
    seeds that are already in the results are not changed.

    Args:
        scale: Scale of the runs: ``smoke``, ``cpu`` or ``paper``.
        only: Part of the names of the recipes; by default all recipes.
        runs: Folder of all runs; by default ``$INWEIGHTS_RUNS`` or, if unset, ``runs``.
        results: Folder of the results; by default :func:`results_root`.

    Returns:
        Number of new scores (one per claim, case and seed).

    Raises:
        DataError: The ledger or the scores are damaged, the ledger was changed by
            another process, or the tables of a run lack a column or value that a
            claim's score selects.
        ConfigError: There is no ledger, no recipe's name contains ``only``, or an
            option of a measure cannot be stored exactly.
        FolderError: The folder of runs cannot be read.
        OSError: A file cannot be written.
    """
    from inweights.actions.ledger.board import verdict_lines
    from inweights.actions.ledger.scores import add_scores

    path, ledger = open_ledger(results)
    store = RunStore(runs)
    rows: list[dict[str, Any]] = []
    for name in recipes_like(only):
        if store.has(name):
            rows += scores_of_runs(get_recipe(name), scale, store, path, ledger)
    added = add_scores(path.parent, rows)
    ledger.add(path, verdict_lines(board(scale, results=path.parent), _today()))
    return added


def open_ledger(results: str | Path | None) -> tuple[Path, Ledger]:
    """Return the path of the ledger in a folder of results, and the ledger.

    Args:
        results: Folder of the results; ``None`` for :func:`results_root`.

    Returns:
        The path, which need not exist, and the ledger, which is empty if the file does
        not exist.

    Raises:
        DataError: The ledger is damaged.
        OSError: The ledger cannot be read.
    """
    path = (results_root() if results is None else Path(results)) / LEDGER
    return path, read_ledger(path)


def _today() -> str:
    return datetime.now().astimezone().date().isoformat()
