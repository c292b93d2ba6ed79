"""List verdicts from before and after settings were compared with the papers.

:class:`ClaimChanges` is the directive ``{claim-changes}`` and :class:`ProtocolCounts` the
directive ``{protocol-counts}``; :func:`changes_of` and :func:`counts_of` return their
texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from inweights.actions.ledger.ledger import Entry, Ledger, read_ledger
from inweights.actions.ledger.lines import (
    LEDGER,
    Corrected,
    Earlier,
    JudgedLine,
    Line,
    Reworded,
    Stated,
)
from inweights.experiments.claims.claim import (
    IN_A_SUBSTITUTE,
    SIGNS,
    VERDICTS,
    Protocol,
)
from inweights.experiments.claims.claim_result import OWN_WORDS, ClaimResult
from inweights_site.board import RESULTS, kept
from inweights_site.text import table, words

__all__ = ["COMPARED", "ClaimChanges", "ProtocolCounts", "changes_of", "counts_of"]

#: Since this date, every setting is compared with the paper and its code, and the
#: protocol of a claim follows from the comparison.
COMPARED = "2026-11-27"
#: Current names of verdicts on substitutes, with their earlier names.
_CALLED_BEFORE: dict[str, str] = {new: old for old, new in IN_A_SUBSTITUTE.items()}


class ClaimChanges(SphinxDirective):
    """``{claim-changes}``: content with a claim, or a pattern of claims, in each line."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        patterns = [line.strip() for line in self.content]
        lines = changes_of(kept().claims, read_ledger(RESULTS / LEDGER), patterns)
        return self.parse_text_to_nodes("\n".join(lines))


class ProtocolCounts(SphinxDirective):
    """``{protocol-counts}``: claims of papers by protocol, as stated and as computed."""

    def run(self) -> list[nodes.Node]:
        lines = counts_of(kept().claims, read_ledger(RESULTS / LEDGER))
        return self.parse_text_to_nodes("\n".join(lines))


def changes_of(
    claims: Sequence[ClaimResult], ledger: Ledger, patterns: Sequence[str]
) -> Iterator[str]:
    """Return the verdicts on claims before the comparison and now, as lines of Markdown.

    Args:
        claims: The claims of the board.
        ledger: The ledger.
        patterns: Names of claims, in which ``*`` stands for any text; in this order.

    Raises:
        ValueError: No claim has such a name.
    """
    rows = []
    for pattern in patterns:
        found = [claim for claim in claims if fnmatchcase(claim.id, pattern)]
        if not found:
            raise ValueError(f"the board has no claim '{pattern}'")
        rows += [_row(claim, ledger.entry(claim.id, "cpu")) for claim in found]
    yield from table(["claim", "target", "before", "now"], rows)


def counts_of(claims: Sequence[ClaimResult], ledger: Ledger) -> Iterator[str]:
    """Return the number of claims of papers with each protocol and verdict, before and now.

    *Before* refers to the verdicts according to the protocols that were written by hand,
    when a miss on a substitute had no name of its own.

    Args:
        claims: The claims of the board; checks and claims of our own are left out.
        ledger: The ledger.
    """
    now: Counter[tuple[str, str]] = Counter()
    before: Counter[tuple[Protocol | None, str]] = Counter()
    for claim in claims:
        if claim.protocol is None or claim.source == "ours" or claim.check:
            continue
        stated = _stated_protocol(claim, ledger.entry(claim.id, "cpu"))
        now[claim.protocol, claim.verdict] += 1
        before[stated, _called_before(claim.verdict, stated)] += 1
    rows = []
    for protocol, sign in SIGNS.items():
        for when, counts in (("before", before), ("now", now)):
            numbers = [counts[protocol, verdict] for verdict in VERDICTS]
            said = [str(number or "") for number in numbers]
            rows.append([f"{words(sign)} {protocol}", when, str(sum(numbers)), *said])
    yield from table(["protocol", "", "claims", *VERDICTS], rows)


def _row(claim: ClaimResult, entry: Entry) -> list[str]:
    """Return the cells of a claim: its name, its target, and its verdicts with their dates."""
    recipe, _, name = claim.id.rpartition("/")
    page = f"{{doc}}`{recipe.partition('/')[2]}/{name} </recipes/{recipe}>`"
    judged = [line for line in _before(entry) if isinstance(line, JudgedLine | Earlier)]
    before = "not asked"
    if judged:
        last = judged[-1]
        protocol = _stated_protocol(claim, entry)
        before = _said(protocol, last.verdict, last.measured, last.low, last.high)
    now = _said(claim.protocol, claim.verdict, claim.measured, claim.low, claim.high)
    return [page, words(claim.target.text), before, now]


def _before(entry: Entry) -> list[Line]:
    """Return the ledger's lines on a claim until it was corrected or restated."""
    for place, line in enumerate(entry.lines):
        anew = isinstance(line, Stated) and line.date >= COMPARED
        if anew or isinstance(line, Corrected):
            return entry.lines[:place]
    return [line for line in entry.lines if line.date < COMPARED]


def _said(
    protocol: Protocol | None,
    verdict: str,
    measured: float | None,
    low: float | None,
    high: float | None,
) -> str:
    """Return the text of a verdict: sign of the protocol, name, number and interval."""
    sign = f"{SIGNS[protocol]} " if protocol else ""
    verdict = verdict if protocol else OWN_WORDS.get(verdict, verdict)
    number = "" if measured is None else f": {measured:.3g}"
    if low is not None and high is not None:
        number += f" ({low:.3g} to {high:.3g})"
    return words(f"{sign}{verdict}{number}")


def _stated_protocol(claim: ClaimResult, entry: Entry) -> Protocol | None:
    """Return the protocol that was written by hand, or the current one for a newer claim."""
    worded = [line for line in _before(entry) if isinstance(line, Stated | Reworded)]
    by_hand = [line for line in worded if line.claim.protocol]
    return by_hand[-1].claim.protocol if by_hand else claim.protocol


def _called_before(verdict: str, protocol: str | None) -> str:
    """Return the earlier name of a verdict; only a met target had a name for substitutes."""
    plain = _CALLED_BEFORE.get(verdict, verdict)
    if protocol == "substitute" and plain == "reproduced":
        return IN_A_SUBSTITUTE[plain]
    return plain
