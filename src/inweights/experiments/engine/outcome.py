"""A finished run of a recipe, with its tables and its claims with their verdicts.

:mod:`~.engine` creates an :class:`Outcome`, which :mod:`~.outcome_files` writes and
reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inweights.config import decode
from inweights.experiments.claims.claim_result import ClaimResult
from inweights.experiments.claims.score import Value
from inweights.experiments.grammar.protocols.compare import (
    compare_plan,
    other_statements,
)
from inweights.experiments.grammar.protocols.differences import table_of
from inweights.experiments.grammar.recipe import Recipe
from inweights.runs import (
    RunFolder,
)
from inweights.support.showing import Card, Carded

if TYPE_CHECKING:
    import polars as pl

    from inweights.experiments.engine.saved_models import SavedModel
    from inweights.experiments.grammar.figure import Figure
    from inweights.experiments.grammar.protocols.differences import DifferenceRow
    from inweights.experiments.grammar.protocols.protocol_file import PaperSetting

#: What precedes a title whose claims are not all reproduced.
IN_QUESTION = "In question: "
#: Adds figures and a page to the folder of a run.
Publish = Callable[["Outcome", Path], None]


@dataclass(frozen=True, kw_only=True)
class About:
    """Data that is read from a finished run; runs of earlier versions may contain more.

    Attributes:
        scale: The scale that was run: ``smoke``, ``cpu`` or ``paper``.
        seeds: Root seeds.
        settings: Settings of the recipe, as plain values.
        seconds: Wall-clock time taken.
        overrides: Changes of settings, as ``path=value``.
        plugins: Modules that the processes imported first.
        command: Words of the command that started the run.
        cautions: Warnings about the run, as sentences.
    """

    scale: str
    seeds: tuple[int, ...]
    settings: Mapping[str, Any]
    seconds: float
    overrides: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, repr=False)
class Outcome(Carded, About):
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
        cautions: Cautions about its numbers, in sentences.
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
        """Return the run with cautions about its numbers, in sentences."""
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
        """Results in sentences, if the recipe writes them; otherwise empty."""
        say = self.recipe.results
        return say(self._settings, dict(self.tables)) if say else ()

    @property
    def differences(self) -> list[DifferenceRow]:
        """Every setting with the value that the paper states; empty without a protocol.

        Raises:
            ConfigError: The protocol of the recipe's paper is not stated.
        """
        if self.recipe.protocol is None:
            return []
        plan = self.recipe.plan(self._settings)
        return table_of(compare_plan(self.recipe, self.scale, plan))

    @property
    def other_statements(self) -> dict[str, PaperSetting]:
        """Statements of the paper or its code without a corresponding setting, by subject."""
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
    """Return the figures of a recipe; one whose claims do not all hold says nothing is found.

    A figure's claims are those on the tables that it draws, or all where there is none.
    If any of them has another verdict than ``reproduced`` or ``consistent``, the figure
    is replaced by :attr:`Figure.in_question`: its title and caption say what is drawn
    and what the claims expect.

    Args:
        recipe: The recipe.
        results: Its claims with their verdicts.

    Returns:
        The figures, in the recipe's order.
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
