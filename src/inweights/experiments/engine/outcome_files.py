"""Write and load the folders of finished runs, and judge and draw these runs again.

:func:`write_outcome` writes an :class:`~.outcome.Outcome`, :func:`load` reads one, and
:func:`refresh` judges and draws it again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inweights.config import to_plain
from inweights.errors import FolderError, InweightsError
from inweights.experiments.claims.numbers import warn_of_divergence
from inweights.experiments.engine.judging import judge_all
from inweights.experiments.engine.outcome import About, Outcome, Publish
from inweights.experiments.grammar.recipe import Recipe
from inweights.runs import (
    RunFolder,
    explained_writes,
    read_json,
    write_json,
    write_tables,
)

if TYPE_CHECKING:
    import polars as pl


def write_outcome(outcome: Outcome, work: Path, publish: Publish | None = None) -> None:
    """Write the description, environment, tables and figures of a run to a folder.

    Args:
        outcome: The run.
        work: The folder, in which the run is not yet marked as finished.
        publish: Function that is called with the run and the folder, to add figures and
            a page; by default nothing is added. Its errors propagate, but an
            ``OSError`` or an error of polars becomes a ``WriteError``.

    Raises:
        WriteError: A file cannot be written.
    """
    about: dict[str, Any] = {"recipe": outcome.recipe.name}
    about |= {one.name: getattr(outcome, one.name) for one in fields(About)}
    about["claims"] = list(map(to_plain, outcome.claims))
    write_json(work / "outcome.json", about)
    write_json(work / "environment.json", outcome.environment)
    write_tables(work / "tables", outcome.tables)
    if outcome.replaced:
        write_tables(work / "replaced", outcome.replaced)
    if publish:
        with explained_writes(work):
            publish(outcome, work)


def load(recipe: Recipe, folder: RunFolder, store: str = "") -> Outcome:
    """Load a finished run, check that none of its files has changed, and judge its claims.

    If training runs diverged, a ``UserWarning`` states how many, and names the first
    one.

    Args:
        recipe: Recipe of the run.
        folder: Folder of the run.
        store: Folder or address of the store of individual runs, which becomes the
            attribute ``store`` of the result; empty (the default) for the default
            subfolder of the folder of all runs.

    Returns:
        The run, with ``cached`` set to true. It is judged by the recipe's current
        claims; a claim whose table or column is missing has the verdict ``not judged``.

    Raises:
        FolderError: A file is missing, was added, was changed or cannot be read; or a
            Python or polars exception was raised while the tables were judged.
    """
    outcome = _read(recipe, folder)
    warn_of_divergence(outcome.tables)
    with _as_stored(folder):
        claims = judge_all(recipe, outcome.tables, outcome.scale, seeds=outcome.seeds)
    return replace(outcome, claims=claims, store=store)


@contextmanager
def blaming(what: str, kind: type[InweightsError], hint: str = "") -> Iterator[None]:
    """Return a context manager that adds a statement of what failed to errors in its block.

    Args:
        what: Statement such as ``PATH cannot be judged``, which is placed before the
            message of the error; if empty, errors are not changed.
        kind: Class of the error that is raised instead.
        hint: Advice that is appended to the message; by default none.

    Raises:
        InweightsError: The block raised a ``LookupError``, ``TypeError``,
            ``ValueError``, ``ArithmeticError`` or an error of polars; the class of the
            new error is ``kind``. Errors of the library and all other errors are passed
            on unchanged.
    """
    from polars.exceptions import PolarsError

    try:
        yield
    except (LookupError, TypeError, ValueError, ArithmeticError, PolarsError) as error:
        if isinstance(error, InweightsError) or not what:
            raise
        about = f"{type(error).__name__}: {str(error) or 'no details'}"
        raise kind(f"{what}: {about}{hint}") from error


def _as_stored(folder: RunFolder) -> AbstractContextManager[None]:
    """Return a context manager whose errors say that a stored run cannot be judged."""
    hint = "; run the recipe again with --fresh"
    return blaming(f"{folder.path} cannot be judged", FolderError, hint)


def _read(recipe: Recipe, folder: RunFolder) -> Outcome:
    """Read a finished run without judging it."""
    folder.verify()
    about = read_json(folder.path / "outcome.json", About)
    return Outcome(
        recipe=recipe,
        folder=folder,
        cached=True,
        tables=folder.tables(),
        replaced=folder.tables("replaced"),
        environment=read_json(folder.path / "environment.json", dict[str, Any]),
        **vars(about),
    )


def refresh(
    recipe: Recipe, folder: RunFolder, publish: Publish | None = None
) -> Outcome:
    """Judge a finished run and draw its figures again, with this version's claims and figures.

    Nothing is trained. The folder of the run is replaced by a new one. If an error
    occurs, the folder is not changed.

    Args:
        recipe: Recipe of the run.
        folder: Folder of the run.
        publish: Function that is called with the run and its new, unfinished folder, to
            add figures and a page; by default nothing is added. Its errors propagate.

    Returns:
        The run with its new tables, verdicts and warnings.

    Raises:
        FolderError: The run is damaged, lacks measured tables from which other tables
            are derived, or its tables cannot be derived again.
        ConfigError: The stored settings do not match the recipe.
        KeyError: The recipe no longer has the scale of the run.
        DataError: A file of a user's own facts is missing or cannot be read, or a table
            lacks a column from which another table is derived.
        RunError: The folder was removed or replaced in the meantime.
        WriteError: A file cannot be written (a ``RunError``).
    """
    with folder.held():
        folder.recover()
        old = _read(recipe, folder)
        tables = derive_again(old)
        claims = judge_all(recipe, tables, old.scale, seeds=old.seeds)
        new = replace(old, tables=tables, claims=claims).with_cautions()
        write_outcome(new, folder.reopen(), publish)
        folder.seal()
    return new


def derive_again(old: Outcome) -> dict[str, pl.DataFrame]:
    """Derive the tables of a run again from its measured tables.

    Args:
        old: The run.

    Returns:
        All tables (measured and derived), keyed by name. Neither the run nor any file
        is changed.

    Raises:
        FolderError: The run lacks measured tables from which other tables are derived,
            or the recipe's ``derive`` raised a Python or polars exception.
        ConfigError: The stored settings do not match the recipe.
        KeyError: The recipe no longer has the scale of the run.
        DataError: A file to which the settings refer cannot be read, or a table lacks a
            column from which another table is derived.
    """
    own = {**old.tables, **old.replaced}
    plan = old.recipe.plan(old._settings)
    made = {m.name for m in plan.measures} | {c.name for c in plan.computations}
    with _as_stored(old.folder):
        tables = old.recipe.derived(own)
        if not all(
            tables[one] is own[one] or one in old.replaced for one in made & set(own)
        ):
            raise FolderError(
                f"the figures of {old.folder.path} cannot be drawn again, because an earlier "
                "version of inweights did not store the tables from which their data are "
                "derived; run the recipe again with --fresh, which also repeats its training"
            )
    return tables
