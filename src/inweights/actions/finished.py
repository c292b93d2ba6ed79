"""Find and open finished runs, and collect the verdicts on all claims.

:func:`find` and :func:`open_run` return a run, and :func:`verdicts` returns every claim
with its verdict according to the runs on this disk.
"""

from __future__ import annotations

import shlex
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from msgspec.structs import replace

from inweights.actions.ledger.lines import LEDGER, stored_root
from inweights.actions.ledger.results import board, stated
from inweights.errors import ConfigError, InweightsError, check_names, unknown_name
from inweights.experiments.claims.claim_result import ClaimResult
from inweights.experiments.claims.verdict import unjudged
from inweights.experiments.grammar.recipe import SCALES
from inweights.recipes import full_name, get_recipe, recipe_names, recipes_like
from inweights.recipes.catalogue.index import entry_of
from inweights.runs import RunFolder, RunStore, remembered
from inweights.runs.folder import CONFIG

if TYPE_CHECKING:
    from inweights.experiments.engine.outcome import Outcome

#: Reason why a claim has a verdict although there is no run on this disk.
STORED = "from the stored board"
#: Prefixes of the names of unregistered recipes, which are read from their runs.
_STUDY = "study/"
_TRAINING = "training/"


def add_page(outcome: Outcome, folder: Path) -> None:
    """Write the figures and the page of a run into its folder.

    Existing figures and an existing page are replaced.

    Args:
        outcome: The run.
        folder: The folder of the run.

    Raises:
        ConfigError: A figure of the recipe names an unknown drawing or option, or the
            wrong number of tables; or the settings of the run do not match the recipe.
        DataError: A figure of the recipe names a table or column that does not exist,
            or a table without rows.
        OSError: A file cannot be written.
    """
    from inweights.recipes.catalogue.citations import citations
    from inweights.report.pages.page import publish

    publish(outcome, folder, citations(outcome.recipe.name))


def find(
    recipe: str, scale: str = "cpu", *, runs: str | Path | None = None
) -> Outcome | None:
    """Return the finished run of a recipe with the recipe's own settings, or ``None``.

    Only runs with consecutive seeds that begin with the recipe's first seed are
    considered. If there are several, the run with the most seeds is returned. If
    :func:`settle` added seeds for some claims, each claim has the verdict that is based
    on the most seeds.

    Args:
        recipe: Name of the recipe; its last part is enough if it is unique.
        scale: ``smoke``, ``cpu`` or ``paper``.
        runs: Folder of all runs; by default ``$INWEIGHTS_RUNS`` or, if unset, ``runs``.

    Returns:
        The run; ``None`` if there is no such run, or the recipe has no such scale.

    Raises:
        ConfigError: There is no such recipe or scale, several recipes have this last
            part, or the settings of the run do not match the recipe.
        FolderError: The run is damaged, or the folder of runs cannot be read.
        DataError: The ledger is damaged, or a file named in the settings cannot be read.
    """
    from inweights.experiments.studies.settle import standing

    check_names("scale", [scale], SCALES)
    return standing(stated(get_recipe(recipe), scale), scale, RunStore(runs))


def verdicts(
    scale: str = "cpu", *, only: str = "", runs: str | Path | None = None
) -> tuple[ClaimResult, ...]:
    """Return every claim of every recipe, with its verdict according to the runs on this disk.

    A claim without a run has the verdict that is stored with the code, and its ``why``
    says so. If there is no stored verdict either, it is ``not judged``. The claims of a
    damaged run are ``not judged``, and their ``why`` describes the damage.

    Args:
        scale: Scale of the runs: ``smoke``, ``cpu`` or ``paper``.
        only: Part of the names of the recipes; by default all recipes.
        runs: Folder of all runs; by default ``$INWEIGHTS_RUNS`` or, if unset, ``runs``.

    Returns:
        One result per claim, in the order of the recipes. Its ``verdict`` is
        ``reproduced``, ``not reproduced``, ``undecided`` or ``not judged``. If the
        claim is judged with a substitute for the paper's protocol, the first two are
        called ``consistent`` and ``not seen in a substitute``.

    Raises:
        ConfigError: No recipe's name contains ``only``, or there is no such scale; the
            message suggests similar names.
        DataError: The stored ledger or its scores are damaged.
        OSError: The stored ledger cannot be read.
    """
    check_names("scale", [scale], SCALES)
    store = RunStore(runs)
    results: list[ClaimResult] = []
    kept = (stored_root() / LEDGER).exists()  # the user's ledger or the library's
    known = {one.id: one for one in board(scale, only=only).claims} if kept else {}
    for name in recipes_like(only):
        outcome = None
        why = f"no run at scale '{scale}' yet"
        if store.has(name):  # otherwise, the recipe is not even imported
            try:
                outcome = find(name, scale, runs=runs)
            except InweightsError as error:
                why = str(error)
        if outcome:
            # Runs of earlier versions lack the conditions of their claims.
            known_to = {claim.id: claim.condition for claim in entry_of(name).claims}
            results += (
                replace(claim, condition=claim.condition or known_to.get(claim.id, ""))
                for claim in outcome.claims
            )
            continue
        for claim in entry_of(name).claims:
            stored = None if store.has(name) else known.get(claim.id)
            judged = stored is not None and stored.verdict != "not judged"
            results.append(
                replace(stored, why=STORED)
                if stored and judged
                else unjudged(claim, why)
            )
    return tuple(results)


def open_run(
    name: str,
    scale: str = "cpu",
    *,
    runs: str | Path | None = None,
    again: bool = False,
) -> Outcome:
    """Load a finished run by its recipe, its hash or its folder.

    Args:
        name: Name of a recipe (its last part is enough if it is unique), the first
            letters of a run's hash, the run's folder or page, or ``last`` for the
            newest finished run.
        scale: Scale if ``name`` is a recipe: ``smoke``, ``cpu`` or ``paper``.
        runs: Folder of all runs; by default ``$INWEIGHTS_RUNS`` or, if unset, ``runs``.
            It is not used if ``name`` is a folder or page.
        again: Whether to recompute the figures and verdicts with this version of the
            library and replace the run's files; nothing is trained. By default the
            files are only read, and the claims are judged in memory.

    Returns:
        The run: tables, figures, judged claims, settings, and the folder with its page.

    Raises:
        ConfigError: There is no such run or scale, or more than one such run; the run
            is not finished; its recipe belongs to a plugin that is not loaded, or its
            settings do not match the recipe.
        DataError: The ledger of the stored results is damaged, a file that the settings
            name cannot be read, or (with ``again``) a table lacks a column that is
            needed for a derived table.
        FolderError: The run is damaged, the folder of runs cannot be read, or (with
            ``again``) the run lacks a table that is needed for a derived table.
        RunError: With ``again``, the folder of the run was removed or replaced in the
            meantime, or one of its files cannot be written (a ``WriteError``).
    """
    from inweights.experiments.engine.outcome_files import refresh

    with suppress(OSError, ValueError, IndexError):  # otherwise `name` is not a path
        path = unquote(name[7:]) if name.startswith("file://") else name
        place = Path(path.removesuffix("page.html")).resolve(strict=True)
        if (place / CONFIG).is_file():
            name = place.name
            runs = place.parents[2]
    store = RunStore(runs)
    complete = (folder for folder in store if folder.complete)
    if name == "last":
        if newest := next(complete, None):
            return _open(newest, again=again)
        raise ConfigError(
            f"there is no finished run in {store.root}; try 'inweights demo'"
        )
    if name.startswith((_STUDY, _TRAINING)):
        if own := next(
            (one for one in complete if one.config.get("recipe") == name), None
        ):
            return _open(own, again=again)
        study = name.startswith(_STUDY)
        command = "sweep FILE.toml" if study else "compare-training FACTS --model M"
        raise ConfigError(
            f"'{name}' has no finished run; run it with 'inweights {command}'"
        )
    if name in recipe_names() or not _is_run(name, store):
        outcome = find(name, scale, runs=runs)
        if outcome is None:
            raise _not_run(full_name(name), scale, store)
        if again:
            refresh(outcome.recipe, outcome.folder, add_page)
            return find(name, scale, runs=runs) or outcome
        return outcome
    return _open(_run_of_hash(name, store), again=again)


def _run_of_hash(name: str, store: RunStore) -> RunFolder:
    """Return the finished run whose hash begins with the given letters, or raise an error."""
    matches = [folder for folder in store if folder.path.name.startswith(name)]
    if len(matches) > 1:
        raise ConfigError(
            f"'{name}' matches {len(matches)} runs; give more characters of the hash"
        )
    if not matches[0].complete:
        raise ConfigError(
            f"the run {matches[0].path.name} is not finished; run its command again"
        )
    return matches[0]


def _not_run(recipe: str, scale: str, store: RunStore) -> ConfigError:
    """Return the error for a recipe without a run; it mentions any run with other settings."""
    for folder in store.of(recipe):
        if folder.complete and folder.config.get("scale") == scale:
            return ConfigError(
                f"{recipe} was only run at scale '{scale}' with different settings or "
                "seeds; to see the newest of these runs: inweights show "
                f"{shlex.quote(folder.path.name)}"
            )
    return ConfigError(
        f"{recipe} has not been run at scale '{scale}' yet; run it with 'inweights run "
        f"{recipe} --scale {scale}'"
    )


def _open(folder: RunFolder, *, again: bool) -> Outcome:
    """Load the run in a folder, with the recipe that its config names."""
    from inweights.experiments.engine.outcome_files import load, refresh
    from inweights.experiments.studies.narrowed import of_folder

    home = folder.config.get("recipe")
    if not isinstance(home, str):
        raise ConfigError(
            f"the run in {folder.path} does not name its recipe; run the recipe again"
        )
    if home.startswith(_STUDY):
        from inweights.experiments.studies.study import study_recipe

        recipe = study_recipe(home, folder.config.get("settings", {}))
    elif home.startswith(_TRAINING):
        from inweights.actions.training import training_recipe

        recipe = training_recipe(home, folder.config.get("settings", {}))
    elif home in recipe_names():
        recipe = of_folder(
            stated(get_recipe(home), str(folder.config.get("scale"))), folder
        )
    else:
        raise _of_a_plugin(home, folder)
    return refresh(recipe, folder, add_page) if again else load(recipe, folder)


def _is_run(name: str, store: RunStore) -> bool:
    """Return whether a name refers to a run; raise an error if the name is unknown."""
    if len(name) > 1 and any(folder.path.name.startswith(name) for folder in store):
        return True
    try:
        full_name(name)
    except ConfigError as error:
        for folder in store.of(name):  # its plugin is not loaded, but a run exists
            raise _of_a_plugin(name, folder) from None
        folders = [folder.path.name for folder in store if folder.complete]
        if set(name) <= set("0123456789abcdef"):
            raise unknown_name(
                "run", name, folders, hint="'inweights runs' lists them."
            ) from None
        raise error from None
    return False


def _of_a_plugin(name: str, folder: RunFolder) -> ConfigError:
    """Return the error for a recipe that belongs to a plugin that is not loaded."""
    words = [f"--plugin {shlex.quote(plugin)}" for plugin in remembered(folder)]
    hint = f"add {' '.join(words)}" if words else "name its module with --plugin"
    return ConfigError(
        f"{name} belongs to a plugin that is not loaded; to load it, which runs its code, {hint}"
    )
