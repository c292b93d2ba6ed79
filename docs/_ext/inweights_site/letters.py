"""Write the section on verdicts of a letter to the authors of a paper, from the stored board.

:class:`PaperVerdicts` is the directive ``{paper-verdicts}``; :func:`lines_of` returns its
text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from inweights.experiments.claims.claim import SIGNS, VERDICTS
from inweights.experiments.claims.claim_result import ClaimResult
from inweights_site.board import kept
from inweights_site.text import table, words

__all__ = ["PaperVerdicts", "lines_of"]


class PaperVerdicts(SphinxDirective):
    """``{paper-verdicts} PAPER``: numbers of verdicts by protocol, and claims that did not hold."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        source = self.arguments[0]
        claims = [
            one for one in kept().claims if one.source == source and not one.check
        ]
        if not claims:
            raise self.error(f"the board has no claim of '{source}'")
        return self.parse_text_to_nodes("\n".join(lines_of(claims)))


def lines_of(claims: Sequence[ClaimResult]) -> Iterator[str]:
    """Return a summary of the verdicts on the claims of a paper, as lines of Markdown.

    Args:
        claims: The claims of the paper, without checks.
    """
    yield from table(["protocol", *VERDICTS], list(_counts(claims)))
    yield ""
    for verdict, said in (
        ("not reproduced", "Not reproduced, by your settings or at a smaller size:"),
        ("not seen in a substitute", "Not seen in a substitute (counts for neither):"),
    ):
        chosen = [claim for claim in claims if claim.verdict == verdict]
        if chosen:
            yield from (said, "")
            yield from map(_item, chosen)
            yield ""


def _counts(claims: Sequence[ClaimResult]) -> Iterator[list[str]]:
    """Yield a row for each protocol, with the number of its claims that have each verdict."""
    for protocol, sign in SIGNS.items():
        own = [claim.verdict for claim in claims if claim.protocol == protocol]
        numbers = [str(own.count(verdict) or "") for verdict in VERDICTS]
        yield [f"{words(sign)} {protocol}", *numbers]


def _item(claim: ClaimResult) -> str:
    """Return one claim as an item of a list."""
    recipe, _, name = claim.id.rpartition("/")
    sign = f"{SIGNS[claim.protocol]} " if claim.protocol else ""
    measured = "" if claim.measured is None else f"; measured {claim.measured:.3g}"
    if claim.low is not None and claim.high is not None:
        measured += f" ({claim.low:.3g} to {claim.high:.3g})"
    page = f"{{doc}}`{recipe}/{name} </recipes/{recipe}>`"
    said = f"target {claim.target.text}{measured}"
    return f"- {words(sign)}{words(claim.text)} ({words(claim.place)}; {page}; {words(said)})"
