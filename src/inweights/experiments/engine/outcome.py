"""Represent a finished run of a recipe, with its tables and judged claims.

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

#: Prefix of a title whose claims do not all agree.
IN_QUESTION = "In question: "
#: Function that adds figures and a page to the folder of a run.
Publish = Callable[["Outcome", Path], None]


@dataclass(frozen=True, kw_only=True)
class About:
    """Data that is read from the folder of a finished run.

    Attributes:
        scale: The scale that was run: ``smoke``, ``cpu`` or ``paper``.
        seeds: Root seeds.
        settings: Settings of the recipe, as plain values.
        seconds: Wall-clock time of the run, in seconds, including interrupted attempts.
        overrides: Changed settings, as strings such as ``n=10``.
        plugins: Names of modules that the processes imported first.
        command: Arguments of the command that repeats the run, without ``inweights``;
            empty for ``inweights run`` with its settings.
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
    """A finished run of a recipe, with its tables and its judged claims.

    Attributes:
        recipe: The recipe.
        scale: The scale that was run: ``smoke``, ``cpu`` or ``paper``.
        seeds: Root seeds.
        settings: All settings, as plain values.
        seconds: Wall-clock time of the run, in seconds, including interrupted attempts.
        overrides: Changed settings, as strings such as ``n=10``.
        plugins: Names of modules that the processes imported first.
        command: Arguments of the command that repeats the run, without ``inweights``;
            empty for ``inweights run`` with its settings.
        cautions: Warnings about the numbers of the run, as sentences.
        folder: The folder of the run.
        environment: Versions of packages and a description of the machine.
        cached: Whether the run was loaded instead of being computed by this call.
        tables: All final tables (measured and derived), keyed by name.
        replaced: Measured tables that were replaced by derived tables of the same name,
            keyed by name.
        claims: The claims of the recipe with their verdicts, in the recipe's order.
        store: Folder or address of the store of individual runs, if it was specified in
            the call that returned this object; empty for the default subfolder of the
            folder of all runs. It is never read from a file, so that no file can
            determine which store is opened.
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
        """The recipe's title, preceded by ``In question:`` if not all of its claims agree.

        A claim agrees if its verdict is ``reproduced`` or ``consistent``. Checks, which
        hold by construction, are ignored if there are other claims. A title that ends
        with a question mark is not changed.
        """
        title = self.recipe.title
        counted = [claim for claim in self.claims if not claim.check] or self.claims
        shown = all(claim.agrees for claim in counted)
        return title if shown or title.endswith("?") else f"{IN_QUESTION}{title}"

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Descriptions of the recipe's figures; titles are neutral unless all claims agree.

        :func:`figures_of` explains the titles. The drawn figures are files in the
        folder of the run.
        """
        return figures_of(self.recipe, self.claims)

    def with_cautions(self) -> Outcome:
        """Return a copy of the run in which ``cautions`` contains the warnings about its numbers.

        The recipe's own function ``cautions`` determines the warnings if it is defined,
        otherwise :func:`~inweights.experiments.grammar.cautions.cautions`. Errors of
        the recipe's functions propagate.

        Raises:
            ConfigError: The stored settings do not match the recipe.
            DataError: The file of a world of user-defined facts is missing or cannot be
                read.
        """
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
        """Sentences that state the results, from the recipe's function ``results``.

        Empty if the recipe has no such function. Errors of the function propagate.

        Raises:
            ConfigError: The stored settings do not match the recipe.
        """
        say = self.recipe.results
        return say(self._settings, dict(self.tables)) if say else ()

    @property
    def differences(self) -> list[DifferenceRow]:
        """Every setting of the run, with the value that the paper states.

        There is one row for each combination of setting, value, origin of the value,
        statement of the paper and reason, beginning with our own choices. The list is
        empty if the recipe's paper has no protocol file. Errors of the recipe's
        ``plan`` propagate.

        Raises:
            ConfigError: The stored settings do not match the recipe.
        """
        if self.recipe.protocol is None:
            return []
        plan = self.recipe.plan(self._settings)
        return table_of(compare_plan(self.recipe, self.scale, plan))

    @property
    def other_statements(self) -> dict[str, PaperSetting]:
        """Statements of the paper or its code to which no setting corresponds, keyed by subject.

        It is empty if the recipe's paper has no protocol file. Errors of the recipe's
        ``plan`` propagate.

        Raises:
            ConfigError: The stored settings do not match the recipe.
        """
        if self.recipe.protocol is None:
            return {}
        return other_statements(self.recipe, self.recipe.plan(self._settings))

    @property
    def _settings(self) -> Any:
        """The settings, as an object of the recipe's config class."""
        return decode(type(self.recipe.scales[self.scale]), self.settings)

    def _card(self) -> Card:
        """Return a card for notebooks: every claim, and the first figure if it is at most 2 MB."""
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
        """Return the trained models of the run, if it stored them (``keep_models=True``).

        Args:
            **where: Values that the models must have, keyed by the name of a label or
                by ``seed``; by default all models are returned.

        Returns:
            One :class:`SavedModel` per trial and seed, in the order of the trials and,
            within a trial, of the seeds; an empty list if no run has these values. The
            weights of each model are loaded on first use.

        Raises:
            ConfigError: A label is unknown, or the stored settings do not match the
                recipe.
            DataError: A file to which the settings refer cannot be read.
            FolderError: The weights of one of these models were not stored, or are
                damaged.
        """
        from inweights.experiments.engine.saved_models import saved_models
        from inweights.runs.tables.store import Store, store_below

        trials = self.recipe.plan(self._settings).trials
        store = Store(self.store or store_below(self.folder.root))
        return saved_models(trials, self.seeds, store, self.recipe.version, where)


def figures_of(recipe: Recipe, results: Sequence[ClaimResult]) -> tuple[Figure, ...]:
    """Return the figures of a recipe, with a neutral title unless all claims of a figure agree.

    The claims of a figure are the claims about the tables that are plotted in the
    figure, or all claims if no claim is about these tables. If any of them has a
    verdict other than ``reproduced`` or ``consistent``, the figure is replaced by its
    :attr:`Figure.in_question`, whose title states what is drawn and whose caption
    states what the claims expect.

    Args:
        recipe: The recipe.
        results: Verdicts of its claims. Checks, and claims of the recipe that are not
            among ``results``, are ignored.

    Returns:
        Descriptions of the figures, one per figure of the recipe, in its order. Nothing
        is drawn.
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
