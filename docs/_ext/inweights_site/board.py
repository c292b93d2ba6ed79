"""Read the stored board: every recipe with the verdicts that are stored in ``results/``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from inweights.actions.ledger.board import Board, read_board
from inweights.experiments import Recipe
from inweights.experiments.claims.claim_result import ClaimResult
from inweights.experiments.claims.verdict import unjudged
from inweights.recipes import get_recipe, recipe_names
from inweights.report.pages.claims import headline

__all__ = [
    "PAPERS",
    "Entry",
    "entries",
    "entries_of",
    "kept",
    "link",
    "picture",
    "tally",
]

_ROOT = Path(__file__).parents[3]
RESULTS = _ROOT / "results"
_PICTURES = _ROOT / "docs" / "images" / "recipes"

#: Folders of recipes in the order of the site, with the names that the site displays.
PAPERS = {
    "identity-bridge": "Identity Bridge",
    "feature-resemblance": "Feature Resemblance",
    "geometric-memory": "Geometric Memory",
    "reversal-curse": "Reversal curse",
    "out-of-context": "Out-of-context reasoning",
    "beyond": "Questions of our own",
}


@dataclass(frozen=True)
class Entry:
    """Recipe with its verdicts.

    Attributes:
        recipe: The recipe.
        claims: Its stored claims; a claim without a verdict on the board is ``not judged``.
    """

    recipe: Recipe
    claims: tuple[ClaimResult, ...]

    @property
    def folder(self) -> str:
        """First part of the recipe's name."""
        return self.recipe.name.partition("/")[0]


@cache
def kept() -> Board:
    """Return the board that follows from the ledger and the stored scores."""
    return read_board(RESULTS, "cpu")


@cache
def entries() -> tuple[Entry, ...]:
    """Return all recipes, of papers and of our own, in the order of the site."""
    results = {claim.id: claim for claim in kept().claims}
    found = []
    for name in recipe_names():
        recipe = get_recipe(name)
        if name.partition("/")[0] not in PAPERS:
            continue
        unseen = "no run at this scale is stored"
        claims = (results.get(c.id) or unjudged(c, unseen) for c in recipe.claims)
        found.append(Entry(recipe, tuple(claims)))
    return tuple(sorted(found, key=lambda entry: list(PAPERS).index(entry.folder)))


def entries_of(folder: str) -> list[Entry]:
    """Return the recipes in one folder."""
    return [entry for entry in entries() if entry.folder == folder]


def picture(entry: Entry, end: str = "") -> str | None:
    """Return the path of the recipe's picture relative to ``docs/``, if there is one.

    Args:
        entry: The recipe.
        end: ``-phone`` for the picture for narrow windows.
    """
    file = _PICTURES / f"{entry.recipe.name.replace('/', '-')}{end}.webp"
    return f"/images/recipes/{file.name}" if file.exists() else None


def link(entry: Entry) -> str:
    """Return a link to the page of the recipe, for a table of one paper."""
    return (
        f"{{doc}}`{entry.recipe.name.partition('/')[2]} </recipes/{entry.recipe.name}>`"
    )


def tally(claims: tuple[ClaimResult, ...]) -> str:
    """Return a summary of the verdicts, such as ``17 of 19 reproduced, 1 undecided``."""
    return re.sub(r" claims? reproduced", " reproduced", headline(claims))
