"""List the undecided claims of the papers, and the time that more seeds would take.

:class:`UndecidedClaims` is the directive ``{undecided-claims}``; :func:`lines_of` returns
its text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from inweights.experiments.claims.claim_result import ClaimResult
from inweights.experiments.engine.judging import seeds_to_judge
from inweights.experiments.studies.narrowed import narrowed, share_of
from inweights.experiments.studies.settle import MOST
from inweights.recipes import get_recipe
from inweights.recipes.catalogue.minutes import timings
from inweights_site.board import kept
from inweights_site.text import code, table, words

__all__ = ["UndecidedClaims", "lines_of"]


class UndecidedClaims(SphinxDirective):
    """``{undecided-claims}``: the number of undecided claims, and a table, fastest first."""

    def run(self) -> list[nodes.Node]:
        return self.parse_text_to_nodes("\n".join(lines_of(kept().claims)))


def lines_of(claims: Sequence[ClaimResult]) -> Iterator[str]:
    """Return a sentence with the number of undecided claims, and a table, as lines of Markdown.

    Args:
        claims: The claims of the board; our own and checks are left out.
    """
    left = [
        claim
        for claim in claims
        if claim.verdict == "undecided" and claim.source != "ours" and not claim.check
    ]
    costs = {claim.id: minutes_of_next(claim) for claim in left}
    left.sort(key=lambda claim: costs[claim.id] or float("inf"))
    yield f"{len(left)} claims of the papers are undecided."
    yield ""
    rows = [_row(claim, costs[claim.id]) for claim in left]
    yield from table(["claim", "seeds", "next", "minutes", "would decide it"], rows)


def minutes_of_next(claim: ClaimResult) -> float | None:
    """Return the minutes of one core that the next interim analysis of a claim takes.

    This is the time of the whole recipe, multiplied by the share of its updates that
    belong to the claim's trials, and by the ratio of the number of new seeds to the
    number of seeds with which the recipe was timed.

    Args:
        claim: An undecided claim of a built-in recipe.

    Returns:
        The minutes, or ``None`` if the running time of the recipe is not known.
    """
    name, _, short = claim.id.rpartition("/")
    timing = timings().get(name)
    if timing is None:
        return None
    recipe = get_recipe(name)
    share = share_of(narrowed(recipe, [short]), recipe, "cpu")
    # Recipes are timed with the number of seeds that a first verdict requires.
    timed = seeds_to_judge(recipe, "cpu")
    return timing.minutes * share * claim.replicates / timed


def _row(claim: ClaimResult, minutes: float | None) -> list[str]:
    """Return the cells of a claim."""
    most = MOST * get_recipe(claim.id.rpartition("/")[0]).seeds["cpu"]
    decides = f"about {claim.needed}" if claim.needed else "no estimate"
    if claim.needed and claim.needed > most:
        decides = f"more than the {most} that a claim gets"
    return [
        code(claim.id),
        str(claim.replicates),
        str(2 * claim.replicates),
        "" if minutes is None else f"{minutes:.0f}",
        words(decides),
    ]
