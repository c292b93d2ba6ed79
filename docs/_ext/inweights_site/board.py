"""The stored board: every recipe with the verdicts that are kept in ``results/``."""

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

#: Folders of recipes in the order of the site, and the names that they go by.
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
    """A recipe with its verdicts.

    Attributes:
        recipe: The recipe.
        claims: Its claims as they are stored; ``not judged`` where the board has none.
    """

    recipe: Recipe
    claims: tuple[ClaimResult, ...]

    @property
    def folder(self) -> str:
        """First part of its name."""
        return self.recipe.name.partition("/")[0]


@cache
def kept() -> Board:
    """Return the board that ledger and scores give."""
    return read_board(RESULTS, "cpu")


@cache
def entries() -> tuple[Entry, ...]:
    """Return all recipes of papers and of our own, in the order of the site."""
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
    """Return the recipes of one folder."""
    return [entry for entry in entries() if entry.folder == folder]


def picture(entry: Entry, end: str = "") -> str | None:
    """Return the recipe's picture as a path within ``docs/``, if one is kept.

    Args:
        entry: The recipe.
        end: ``-phone`` for that of a narrow window.
    """
    file = _PICTURES / f"{entry.recipe.name.replace('/', '-')}{end}.webp"
    return f"/images/recipes/{file.name}" if file.exists() else None


def link(entry: Entry) -> str:
    """Return a link to the recipe's page, for a table of one paper."""
    return (
        f"{{doc}}`{entry.recipe.name.partition('/')[2]} </recipes/{entry.recipe.name}>`"
    )


def tally(claims: tuple[ClaimResult, ...]) -> str:
    """Return the verdicts in a few words: ``17 of 19 reproduced, 1 undecided``."""
    return re.sub(r" claims? reproduced", " reproduced", headline(claims))
