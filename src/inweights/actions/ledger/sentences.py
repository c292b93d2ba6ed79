"""Group claims by the sentence of a paper that they quote.

Several claims may quote the same sentence, because it is tested in several figures or
by several measures. :func:`by_sentence` groups the claims, :func:`tally_sentences`
counts every sentence once, and :func:`opposed` finds sentences whose claims have
opposite verdicts.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from inweights.experiments.claims.claim import NO_TEXT, NO_WORDS
from inweights.experiments.claims.claim_result import ClaimResult

#: Possible joint results of the verdicts on all claims about one sentence.
KINDS = (
    "agree",
    "do not",
    "have verdicts of both kinds (⇄)",
    "have none that is decided",
)
AGREEING, AGAINST, BOTH, OPEN = KINDS


def by_sentence(claims: Iterable[ClaimResult]) -> list[list[ClaimResult]]:
    """Group the claims of papers by the sentence that they quote.

    A quote that is part of another quote from the same paper belongs to the same
    sentence. Three kinds of claims are left out: claims of this library (whose source
    is ``ours``), checks (which hold by construction), and claims without a quote.

    Args:
        claims: Claims with their verdicts.

    Returns:
        One list of claims per sentence, in the order of their first claims.
    """
    groups: dict[tuple[str, str], list[ClaimResult]] = {}
    for claim in claims:
        counted = claim.source != "ours" and not claim.check
        if counted and claim.quote not in ("", NO_WORDS, NO_TEXT):
            words = " ".join(claim.quote.split())
            same = (key for key in groups if _is_same(key, (claim.source, words)))
            key = next(same, (claim.source, words))
            groups.setdefault(key, []).append(claim)
    return list(groups.values())


def _is_same(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Return whether two quotes, each with its source, come from the same sentence."""
    return one[0] == other[0] and (one[1] in other[1] or other[1] in one[1])


def tally_sentences(claims: Iterable[ClaimResult]) -> Counter[str]:
    """Count the quoted sentences by the joint result of the verdicts on their claims.

    Args:
        claims: Claims with their verdicts.

    Returns:
        Number of sentences by joint result: ``agree`` (a claim is ``reproduced`` or
        ``consistent``, and none is ``not reproduced`` or ``not seen in a substitute``),
        ``do not`` (a claim is ``not reproduced`` or ``not seen in a substitute``, and
        none is ``reproduced`` or ``consistent``), ``have verdicts of both kinds (⇄)``,
        or ``have none that is decided``. A result that does not occur is left out.
    """
    return Counter(map(_together, by_sentence(claims)))


def opposed(claims: Iterable[ClaimResult]) -> dict[str, list[ClaimResult]]:
    """Return, for each claim, the claims about the same sentence with the opposite verdict.

    Only claims that quote the same sentence of a paper are compared. ``reproduced`` and
    ``consistent`` are opposite to ``not reproduced`` and ``not seen in a substitute``.

    Args:
        claims: Claims with their verdicts.

    Returns:
        Lists of opposite claims, keyed by the id of the claim. A claim without opposite
        claims is left out.
    """
    found: dict[str, list[ClaimResult]] = {}
    for group in by_sentence(claims):
        agreeing = [claim for claim in group if claim.agrees]
        against = [claim for claim in group if _is_against(claim)]
        if agreeing and against:
            found |= {claim.id: against for claim in agreeing}
            found |= {claim.id: agreeing for claim in against}
    return found


def _is_against(claim: ClaimResult) -> bool:
    return claim.verdict in ("not reproduced", "not seen in a substitute")


def _together(group: Sequence[ClaimResult]) -> str:
    agrees = any(claim.agrees for claim in group)
    against = any(map(_is_against, group))
    if agrees and against:
        return BOTH
    if agrees:
        return AGREEING
    return AGAINST if against else OPEN
