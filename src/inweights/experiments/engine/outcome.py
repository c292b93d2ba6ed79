"""Judge finished runs, write them into their folders, and read them back.

:class:`Outcome` is a finished run; :func:`load` reads one, :func:`refresh` judges and
draws it again, :func:`judge_all` gives the verdicts. :mod:`~.engine` makes new ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inweights.config import decode, to_plain
from inweights.errors import FolderError, InweightsError
from inweights.experiments.claims.claim_result import ClaimResult
from inweights.experiments.claims.numbers import warn_of_divergence
from inweights.experiments.claims.score import Value
from inweights.experiments.engine.judging import judge_all
from inweights.experiments.grammar.differences import (
    compare_plan,
    other_statements,
    table_of,
)
from inweights.experiments.grammar.recipe import Recipe
from inweights.runs import (
    RunFolder,
    explained_writes,
    read_json,
    write_json,
    write_tables,
)
from inweights.support.showing import Card, Carded

if TYPE_CHECKING:
    import polars as pl

    from inweights.experiments.engine.saved_models import SavedModel
    from inweights.experiments.grammar.differences import DifferenceRow
    from inweights.experiments.grammar.figure import Figure
    from inweights.experiments.grammar.protocol_file import PaperSetting

#: What precedes a title whose claims are not all reproduced.
IN_QUESTION = "In question: "
#: Adds figures and a page to the folder of a run.
Publish = Callable[["Outcome", Path], None]


@dataclass(frozen=True, kw_only=True)
class _About:
    """What is read back of a finished run; runs of earlier versions may say more."""

    scale: str
    seeds: tuple[int, ...]
    settings: Mapping[str, Any]
    seconds: float
    overrides: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, repr=False)
class Outcome(Carded, _About):
    """A finished run of a recipe.

    Attributes:
        recipe: The recipe.
        scale: The scale that was run.
        seeds: Root seeds.
        settings: Resolved settings, as plain values.
        seconds: How long it took.
        overrides: Changes of settings, as on the command line.
        plugins: Modules that were imported first.
        command: Words of the command that makes it again, if it is not ``inweights
            run``.
        cautions: What a reader has to know of its numbers, in sentences.
        folder: The folder of the run.
        environment: Versions and machine.
        cached: Whether it was read back, and not made by this call.
        tables: Its tables, by name.
        replaced: Tables of single runs in whose place others were derived.
        claims: Its claims with their verdicts.
        store: Where single runs are, if this call named a place; "" for below the
            folder of runs. No file decides what is read elsewhere.
    """

    recipe: Recipe
    folder: RunFolder
    environment: Mapping[str, Any] = field(default_factory=dict)
    cached: bool = False
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    replaced: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    claims: tuple[ClaimResult, ...] = ()
    store: str = ""

    @property
    def heading(self) -> str:
        """The recipe's title; in question until every claim that counts is reproduced."""
        title = self.recipe.title
        counted = [claim for claim in self.claims if not claim.check] or self.claims
        shown = all(claim.agrees for claim in counted)
        return title if shown or title.endswith("?") else f"{IN_QUESTION}{title}"

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The recipe's figures, in question where their claims are not all reproduced."""
        return figures_of(self.recipe, self.claims)

    def with_cautions(self) -> Outcome:
        """Return the run with what a reader has to know of its numbers, in sentences."""
        from inweights.experiments.grammar.cautions import cautions

        if self.recipe.cautions:
            said = self.recipe.cautions(self._settings, dict(self.tables))
        else:
            plan = self.recipe.plan(self._settings)
            names = {measure.name for measure in plan.measures} & set(self.tables)
            said = cautions(
                plan.trials, {name: self.tables[name] for name in sorted(names)}
            )
        return replace(self, cautions=tuple(said))

    @property
    def results(self) -> Sequence[str]:
        """What came out, in sentences, where the recipe says it so; else nothing."""
        say = self.recipe.results
        return say(self._settings, dict(self.tables)) if say else ()

    @property
    def differences(self) -> list[DifferenceRow]:
        """Every setting beside what the paper states; empty without a protocol."""
        if self.recipe.protocol is None:
            return []
        plan = self.recipe.plan(self._settings)
        return table_of(compare_plan(self.recipe, self.scale, plan))

    @property
    def other_statements(self) -> dict[str, PaperSetting]:
        """What the paper or its code states and no setting corresponds to, by what it is about."""
        if self.recipe.protocol is None:
            return {}
        return other_statements(self.recipe, self.recipe.plan(self._settings))

    @property
    def _settings(self) -> Any:
        """The settings as the config class of the recipe."""
        return decode(type(self.recipe.scales[self.scale]), self.settings)

    def _card(self) -> Card:
        """Return what is shown: every claim, and the first figure if it is not too large."""
        about = {
            "scale": self.scale,
            "seeds": len(self.seeds),
            "folder": self.folder.path,
        }
        columns = ("verdict", "measured", "target", "claim")
        rows = [(c.verdict, c.measured, c.target.text, c.text) for c in self.claims]
        drawn = sorted((self.folder.path / "figures").glob("*.svg"))[:1]
        small = [file for file in drawn if file.stat().st_size <= 2_000_000]
        picture = small[0].read_bytes() if small else b""
        return Card(
            f"{self.recipe.name}: {self.heading}", about, columns, rows, picture
        )

    def models(self, **where: Value) -> list[SavedModel]:
        """Return the trained models of a run that stored them.

        Args:
            **where: Values of labels, and of ``seed``; all models if left out.

        Raises:
            ConfigError: A label is unknown.
            FolderError: The weights were not stored, or are damaged.
        """
        from inweights.experiments.engine.saved_models import saved_models
        from inweights.runs.tables.store import Store, store_below

        trials = self.recipe.plan(self._settings).trials
        store = Store(self.store or store_below(self.folder.root))
        return saved_models(trials, self.seeds, store, self.recipe.version, where)


def figures_of(recipe: Recipe, results: Sequence[ClaimResult]) -> tuple[Figure, ...]:
    """Return the figures of a recipe, in question where results leave them open.

    A figure's claims are those on the tables that it draws, or all where there is none.

    Args:
        recipe: The recipe.
        results: Its claims with their verdicts.
    """
    shown = {claim.id: claim.agrees for claim in results}
    tables = {
        c.id: c.score.table for c in recipe.claims if c.id in shown and not c.check
    }
    figures = []
    for figure in recipe.figures:
        own = [shown[name] for name, table in tables.items() if table in figure.sources]
        known = all(own or [shown[name] for name in tables])
        figures.append(figure if known else figure.in_question)
    return tuple(figures)


def write_outcome(outcome: Outcome, work: Path, publish: Publish | None = None) -> None:
    """Write a run into its folder at work: what it is, its environment, its tables.

    Args:
        outcome: The run.
        work: The folder.
        publish: Adds figures and a page; by default nothing is added.

    Raises:
        WriteError: Something cannot be written.
    """
    about: dict[str, Any] = {"recipe": outcome.recipe.name}
    about |= {one.name: getattr(outcome, one.name) for one in fields(_About)}
    about["claims"] = [to_plain(claim) for claim in outcome.claims]
    write_json(work / "outcome.json", about)
    write_json(work / "environment.json", outcome.environment)
    write_tables(work / "tables", outcome.tables)
    if outcome.replaced:
        write_tables(work / "replaced", outcome.replaced)
    if publish:
        with explained_writes(work):
            publish(outcome, work)


def load(recipe: Recipe, folder: RunFolder, store: str = "") -> Outcome:
    """Read a complete run, check that nothing in it was changed, and judge it.

    Args:
        recipe: Its recipe.
        folder: Its folder.
        store: Where single runs are, if not below the folder of runs.

    Raises:
        FolderError: A file is missing or was changed, or the tables do not fit the
            claims.
    """
    outcome = _read(recipe, folder)
    warn_of_divergence(outcome.tables)
    with _as_stored(folder):
        claims = judge_all(recipe, outcome.tables, outcome.scale, seeds=outcome.seeds)
    return replace(outcome, claims=claims, store=store)


@contextmanager
def blaming(what: str, kind: type[InweightsError], hint: str = "") -> Iterator[None]:
    """Return a context manager that says what is to blame for what a recipe cannot do.

    Args:
        what: What is to blame; if empty, errors stay as they are.
        kind: Class of the error that is raised instead.
        hint: What to do, the end of the message.

    Raises:
        InweightsError: Of class ``kind``, where the block raises an error of Python or
            polars.
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
    """Return a block whose errors say that a run cannot be judged."""
    return blaming(
        f"{folder.path} cannot be judged", FolderError, "; run it again with --fresh"
    )


def _read(recipe: Recipe, folder: RunFolder) -> Outcome:
    """Return a complete run, without judging it."""
    folder.verify()
    about = read_json(folder.path / "outcome.json", _About)
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
    """Return a complete run, judged and drawn again with the claims and figures of this version.

    Nothing is trained. The run stays as it was if anything fails.

    Args:
        recipe: Its recipe.
        folder: Its folder.
        publish: Adds figures and a page; by default nothing is added.

    Raises:
        FolderError: The run is damaged, or lacks tables that its others are derived
            from.
        WriteError: Something cannot be written.
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
    """Return the tables of a run as they are derived from those of its single runs.

    Args:
        old: The run.

    Raises:
        FolderError: The run lacks tables that its others are derived from.
    """
    own, plan = {**old.tables, **old.replaced}, old.recipe.plan(old._settings)
    made = {m.name for m in plan.measures} | {c.name for c in plan.computations}
    with _as_stored(old.folder):
        tables = old.recipe.derived(own)
        if not all(
            tables[one] is own[one] or one in old.replaced for one in made & set(own)
        ):
            raise FolderError(
                f"{old.folder.path} cannot be drawn again: an earlier version did not keep what "
                "its tables are derived from; run it again with --fresh: its trainings are kept"
            )
    return tables
