"""Read what a report refers to: the board, the ledger, stored tables, protocols and costs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from inweights.actions.ledger.board import Board, read_board
from inweights.errors import DataError, nearest
from inweights.experiments import Recipe
from inweights.experiments.claims.claim_result import ClaimResult
from inweights.experiments.grammar.protocols.leaves import Subject, subjects_of
from inweights.experiments.grammar.protocols.protocol_file import (
    PaperSetting,
    PaperText,
    in_words,
)
from inweights.recipes import get_recipe
from inweights.recipes.catalogue.minutes import cost_of, minutes_of
from inweights.recipes.papers import papers
from inweights.runs.environment import version_of
from inweights_report.numbers import interval, met, number

__all__ = ["RESULTS", "SCALE", "Cited", "Evidence"]

ROOT = Path(__file__).parents[3]
RESULTS = ROOT / "results"
SCALE = "cpu"
_HELD = ("reproduced", "consistent")
_FAILED = ("not reproduced", "not seen in a substitute")


class Evidence:
    """Results in a folder, with the statements of recipes and papers about them.

    Args:
        results: Folder with ``ledger.jsonl``, ``scores`` and ``report``; by
            default the folder of this repository.
    """

    def __init__(self, results: Path = RESULTS) -> None:
        self.results = results

    @cached_property
    def board(self) -> Board:
        """Claims of all recipes, with their verdicts."""
        return read_board(self.results, SCALE)

    @cached_property
    def by_id(self) -> dict[str, ClaimResult]:
        """Claims of the board, keyed by name."""
        return {claim.id: claim for claim in self.board.claims}

    def claim(self, name: str) -> ClaimResult:
        """Return a claim of the board.

        Raises:
            DataError: The board has no such claim.
        """
        if name not in self.by_id:
            near = nearest(name, self.by_id)
            hint = f"; did you mean '{near}'?" if near else ""
            raise DataError(f"the board has no claim '{name}'{hint}")
        return self.by_id[name]

    def cited(self, recipe: str) -> Cited:
        """Return the claims of a recipe, which a template refers to by their short names."""
        return Cited(self, recipe)

    def chosen(
        self,
        *,
        source: str = "",
        recipe: str = "",
        verdict: str = "",
        protocol: str = "",
    ) -> list[ClaimResult]:
        """Return the claims of the board that meet all conditions; checks are left out.

        Args:
            source: Name of a paper, or ``ours``. By default all.
            recipe: Name of a recipe, or of a folder of recipes. By default all.
            verdict: Verdict on the claims. By default any.
            protocol: How close the settings are to the protocol of the paper. By default
            any.
        """
        return [
            claim
            for claim in self.board.claims
            if not claim.check
            and source in ("", claim.source)
            and f"{claim.id}/".startswith(f"{recipe}/" if recipe else "")
            and verdict in ("", claim.verdict)
            and protocol in ("", claim.protocol)
        ]

    def count(self, **wanted: str) -> int:
        """Return the number of claims that meet all conditions (see :meth:`chosen`)."""
        return len(self.chosen(**wanted))

    def seeds(self, **wanted: str) -> str:
        """Return the smallest and the largest number of seeds of the claims that are selected."""
        found = [c.replicates for c in self.chosen(**wanted) if c.low is not None]
        return f"{min(found)} to {max(found)}"

    @property
    def date(self) -> str:
        """Date of the last verdict in the ledger."""
        return str(self.board.ledger.drop_nulls("date")["date"].max())

    @property
    def ledger_lines(self) -> int:
        """Number of lines of the ledger."""
        return len(self.board.ledger_lines.lines)

    def stored(self, recipe: str, table: str) -> pl.DataFrame:
        """Return a table that is stored for a judged run.

        Args:
            recipe: Short name of the recipe, such as ``positions-decide``.
            table: Name of the table.
        """
        return pl.read_parquet(self.results / "report" / recipe / f"{table}.parquet")

    def middle(self, recipe: str, table: str, column: str, **wanted: str) -> str:
        """Return the median of a column of a stored table.

        Args:
            recipe: Short name of the recipe.
            table: Name of the table.
            column: Name of the column.
            **wanted: Values of columns, which select the rows.

        Raises:
            DataError: The table contains no such rows.
        """
        rows = self.stored(recipe, table)
        for name, value in wanted.items():
            rows = rows.filter(pl.col(name) == value)
        if rows.is_empty():
            raise DataError(f"'{table}' of {recipe} has no rows with {wanted}")
        return number(float(str(rows[column].median())))

    def paper(self, name: str) -> PaperText:
        """Return a description of the text and the code of a paper that were read."""
        protocol = recipe_of(name).protocol
        if protocol is None:
            raise DataError(f"no protocol of {name} is stated")
        return protocol.paper

    @property
    def wrong(self) -> str:
        """Largest expected number of wrong verdicts on claims of papers."""
        return number(self.board.false_at_most)

    @property
    def version(self) -> str:
        """Version of the library."""
        return version_of("inweights")

    @property
    def licence(self) -> str:
        """First line of the licence."""
        return (ROOT / "LICENSE").read_text("utf-8").strip().splitlines()[0]

    @property
    def year(self) -> str:
        """Year of the last verdict."""
        return self.date[:4]

    def stated(self, paper: str, part: str, setting: str) -> PaperSetting:
        """Return the value of one setting according to a paper and to its code.

        Args:
            paper: Name of the paper, such as ``geometric-memory``.
            part: Title of a part of its ``protocol.toml``.
            setting: Path of the setting.

        Raises:
            DataError: The protocol has no such part or setting.
        """
        protocol = recipe_of(paper).protocol
        parts = {one.title: one for one in protocol.parts} if protocol else {}
        if part not in parts or setting not in parts[part].settings:
            raise DataError(f"the protocol of {paper} has no '{setting}' in '{part}'")
        return parts[part].settings[setting]

    def setting(self, recipe: str, leaf: str, **labels: str) -> str:
        """Return the values of a setting in the trials of a recipe, as text.

        Args:
            recipe: Name of the recipe.
            leaf: Path of the setting, such as ``model.width``.
            **labels: Labels that select the trials, such as ``world="grid"``.
        """
        values = [
            in_words(trial.values[leaf])
            for trial in trials_of(recipe)
            if leaf in trial.values and labels.items() <= trial.labels.items()
        ]
        return " / ".join(dict.fromkeys(values))

    def cost(self, recipe: str) -> str:
        """Return the running time of a recipe, as text."""
        return cost_of(recipe) or "not timed"

    def hours(self, folder: str) -> str:
        """Return the processor hours of all recipes in a folder whose running time is known."""
        recipes = {claim.id.rpartition("/")[0] for claim in self.chosen(recipe=folder)}
        return f"{sum(minutes_of(name) or 0.0 for name in recipes) / 60:.0f}"

    def cite(self, paper: str) -> str:
        """Return the authors, the title and the arXiv number of a paper in one line."""
        about = dict(papers()[paper].citation)
        where = about.get("eprint", "")
        place = f"arXiv:{where}" if where else about.get("booktitle", "")
        authors = [name.partition(",")[0] for name in about["author"].split(" and ")]
        names = ", ".join(authors)
        return f"{names}: *{about['title']}*. {place}, {about['year']}."


@dataclass(frozen=True)
class Cited:
    """Claims of one recipe, to which a template refers.

    In a template, ``holds``, ``fails`` and ``undecided`` repeat the statement of the
    sentence around them. If the board has a different verdict, they raise an error.

    Attributes:
        evidence: The results that contain the claims.
        recipe: Name of the recipe.
    """

    evidence: Evidence
    recipe: str

    def holds(self, name: str) -> str:
        """Return the number and the interval of a claim that is reproduced or consistent."""
        return self._shown(name, _HELD)

    def fails(self, name: str) -> str:
        """Return the number and the interval of a claim that is not reproduced, or not seen."""
        return self._shown(name, _FAILED)

    def undecided(self, name: str) -> str:
        """Return the number and the interval of a claim that is undecided."""
        return self._shown(name, ("undecided",))

    def met(self, name: str) -> str:
        """Return the number of seeds that meet the target."""
        return met(self[name])

    def seeds(self, name: str) -> int:
        """Return the number of seeds."""
        return self[name].replicates

    def target(self, name: str) -> str:
        """Return the target as text."""
        return self[name].target.text.replace("-", "−")

    def needed(self, name: str) -> str:
        """Return the approximate number of seeds that would decide the claim."""
        return str(self[name].needed)

    def __getitem__(self, name: str) -> ClaimResult:
        return self.evidence.claim(f"{self.recipe}/{name}")

    def _shown(self, name: str, verdicts: tuple[str, ...]) -> str:
        claim = self[name]
        if claim.verdict not in verdicts:
            said = " or ".join(verdicts)
            raise DataError(
                f"the text calls '{claim.id}' {said}, and the board has '{claim.verdict}'; "
                "write the sentence anew"
            )
        return interval(claim)


def recipe_of(paper: str) -> Recipe:
    """Return a recipe of a paper, for information that all of its recipes share."""
    return get_recipe(_FIRST[paper])


_FIRST = {
    "geometric-memory": "geometric-memory/fig3",
    "identity-bridge": "identity-bridge/fig2",
    "feature-resemblance": "feature-resemblance/table1",
}


def trials_of(recipe: str) -> list[Subject]:
    """Return the settings of each trial of a recipe, at the scale at which it is judged."""
    found = get_recipe(recipe)
    settings: Any
    settings, _, _ = found.resolve(SCALE)
    return list(subjects_of(found.plan(settings)))
