"""What a report may refer to: the board, the ledger, stored tables, protocols and costs."""

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
    """The results of a folder, and what recipes and papers state.

    Args:
        results: Folder with ``ledger.jsonl``, ``scores`` and ``report``; by default that
            of this repository.
    """

    def __init__(self, results: Path = RESULTS) -> None:
        self.results = results

    @cached_property
    def board(self) -> Board:
        """Every claim with its verdict."""
        return read_board(self.results, SCALE)

    @cached_property
    def by_id(self) -> dict[str, ClaimResult]:
        """The claims of the board by their names."""
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
        """Return the claims of a recipe, to be referred to by their short names."""
        return Cited(self, recipe)

    def chosen(
        self,
        *,
        source: str = "",
        recipe: str = "",
        verdict: str = "",
        protocol: str = "",
    ) -> list[ClaimResult]:
        """Return the claims of the board that fit, without checks.

        Args:
            source: Whose claims: a paper, or ``ours``. By default those of all.
            recipe: Name of a recipe, or of a folder of recipes. By default all.
            verdict: Their verdict. By default any.
            protocol: How near to the paper's protocol they are. By default any.
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
        """Return how many claims fit; :meth:`chosen` has the arguments."""
        return len(self.chosen(**wanted))

    def seeds(self, **wanted: str) -> str:
        """Return the least and the largest number of seeds of the claims that fit."""
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
        """Return a stored table of a judged run.

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
            **wanted: Values of columns that its rows have.

        Raises:
            DataError: The table has no such rows.
        """
        rows = self.stored(recipe, table)
        for name, value in wanted.items():
            rows = rows.filter(pl.col(name) == value)
        if rows.is_empty():
            raise DataError(f"'{table}' of {recipe} has no rows with {wanted}")
        return number(float(str(rows[column].median())))

    def paper(self, name: str) -> PaperText:
        """Return which text and which code of a paper were read."""
        protocol = recipe_of(name).protocol
        if protocol is None:
            raise DataError(f"no protocol of {name} is stated")
        return protocol.paper

    @property
    def wrong(self) -> str:
        """How many of the papers' verdicts are expected to be wrong, at most."""
        return number(self.board.false_at_most)

    @property
    def version(self) -> str:
        """Version of the package."""
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
        """Return what a paper and its code state of one setting.

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
        """Return the values of a setting over the trials of a recipe, in words.

        Args:
            recipe: Name of the recipe.
            leaf: Path of the setting, such as ``model.width``.
            **labels: Labels that the trials have, such as ``world="grid"``.
        """
        values = [
            in_words(trial.values[leaf])
            for trial in trials_of(recipe)
            if leaf in trial.values and labels.items() <= trial.labels.items()
        ]
        return " / ".join(dict.fromkeys(values))

    def cost(self, recipe: str) -> str:
        """Return how long a recipe takes, in words."""
        return cost_of(recipe) or "not timed"

    def hours(self, folder: str) -> str:
        """Return the processor hours of all recipes of a folder that are timed."""
        recipes = {claim.id.rpartition("/")[0] for claim in self.chosen(recipe=folder)}
        return f"{sum(minutes_of(name) or 0.0 for name in recipes) / 60:.0f}"

    def cite(self, paper: str) -> str:
        """Return authors, title and number of a paper in one line."""
        about = dict(papers()[paper].citation)
        where = about.get("eprint", "")
        place = f"arXiv:{where}" if where else about.get("booktitle", "")
        authors = [name.partition(",")[0] for name in about["author"].split(" and ")]
        names = ", ".join(authors)
        return f"{names}: *{about['title']}*. {place}, {about['year']}."


@dataclass(frozen=True)
class Cited:
    """The claims of one recipe, as a template refers to them.

    ``holds``, ``fails`` and ``undecided`` say in the template what its sentence says, and
    refuse to fill it once the board says otherwise.

    Attributes:
        evidence: Where they are.
        recipe: Name of the recipe.
    """

    evidence: Evidence
    recipe: str

    def holds(self, name: str) -> str:
        """Return number and interval of a claim that is reproduced or consistent."""
        return self._shown(name, _HELD)

    def fails(self, name: str) -> str:
        """Return number and interval of a claim that is not reproduced, or not seen."""
        return self._shown(name, _FAILED)

    def undecided(self, name: str) -> str:
        """Return number and interval of a claim that is undecided."""
        return self._shown(name, ("undecided",))

    def met(self, name: str) -> str:
        """Return how many seeds meet the target."""
        return met(self[name])

    def seeds(self, name: str) -> int:
        """Return the number of seeds."""
        return self[name].replicates

    def target(self, name: str) -> str:
        """Return the target in words."""
        return self[name].target.text.replace("-", "−")

    def needed(self, name: str) -> str:
        """Return about how many seeds would decide the claim."""
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
    """Return a recipe of a paper, for what all of them share."""
    return get_recipe(_FIRST[paper])


_FIRST = {
    "geometric-memory": "geometric-memory/fig3",
    "identity-bridge": "identity-bridge/fig2",
    "feature-resemblance": "feature-resemblance/table1",
}


def trials_of(recipe: str) -> list[Subject]:
    """Return the settings of each trial of a recipe, at the scale that is judged."""
    found = get_recipe(recipe)
    settings: Any
    settings, _, _ = found.resolve(SCALE)
    return list(subjects_of(found.plan(settings)))
