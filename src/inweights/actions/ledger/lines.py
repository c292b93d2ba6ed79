"""Define the lines of the ledger: a claim is stated, reworded, corrected, judged or withdrawn.

:func:`results_root` and :func:`stored_root` return the folder of the ledger;
:mod:`~.ledger` reads and adds lines.
"""

import os
from pathlib import Path

import msgspec

from inweights.experiments.claims.claim import Claim, Protocol

#: Name of the ledger in the folder of results.
LEDGER = "ledger.jsonl"
#: Number of root seeds in a block. The first seed of block ``b`` is ``b * BLOCK``.
BLOCK = 1_000_000
#: Description of a verdict from before the ledger, on a version of a claim that is
#: still in force.
BY_MEAN = "by the interval of the mean, on other seeds"

#: Beginning of the note on a claim's original protocol, if the protocol was corrected.
STATED_AS = "stated as"


def results_root() -> Path:
    """Return the folder to which results are written, which need not exist.

    Returns:
        ``$INWEIGHTS_RESULTS`` if that is set, otherwise ``results`` in the current
        folder.
    """
    return Path(os.environ.get("INWEIGHTS_RESULTS", "results"))


def stored_root() -> Path:
    """Return the folder from which results are read, which need not exist.

    Returns:
        ``$INWEIGHTS_RESULTS`` if that is set. Otherwise the first folder with a ledger
        among ``results`` in the current folder, the results in the installed package,
        and the results in the checkout from which the library runs. If none of them has
        a ledger, ``results`` in the current folder.
    """
    own = results_root()
    package = Path(__file__).parents[2]
    if "INWEIGHTS_RESULTS" in os.environ:
        return own
    # A wheel contains the results within the package. In a checkout, they are next to
    # the folder `src`.
    places = (own, package / "results", package.parents[1] / "results")
    return next((place for place in places if (place / LEDGER).exists()), own)


class _Line(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    tag_field="kind",
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    """Fields that every line has."""

    date: str

    @property
    def key(self) -> str:
        """The claim's id and scale, separated by a space; empty for a line about all claims."""
        claim = getattr(self, "claim", None)
        name = claim.id if claim else getattr(self, "name", "")
        return f"{name} {self.scale}" if name else ""  # type: ignore[attr-defined]


class RuleChange(_Line, frozen=True, tag="rule"):
    """New rule by which all claims are judged, starting on a given date.

    Attributes:
        date: Date from which the rule applies.
        says: The rule, as a sentence.
    """

    says: str


class _OfClaim(_Line, frozen=True, kw_only=True):
    name: str
    scale: str
    version: int


class Earlier(_OfClaim, frozen=True, kw_only=True, tag="earlier"):
    """Verdict from before the ledger, based on the mean and Student's t interval.

    Attributes:
        date: Date of the verdict.
        name: Id of the claim.
        scale: Scale of the run.
        version: Version of the claim.
        text: The claim, as a sentence.
        target: The target, as text.
        verdict: The verdict, such as ``reproduced`` or ``not reproduced``.
        commit: Commit of the results table that contains the verdict.
        measured: Mean over the seeds; ``None`` if nothing was measured.
        low: Lower end of the confidence interval of the mean; ``None`` if there is no
            interval.
        high: Upper end of this interval.
        seeds: Number of seeds; 0 if unknown.
    """

    text: str
    target: str
    verdict: str
    commit: str
    measured: float | None = None
    low: float | None = None
    high: float | None = None
    seeds: int = 0


class Stated(_Line, frozen=True, kw_only=True, tag="stated"):
    """Statement of a claim, written before the run on which the claim is judged.

    Attributes:
        date: Date of the statement.
        claim: The claim.
        scale: Scale at which it is judged.
        version: Version number of the claim, starting at 1.
        seeds: Number of seeds that the recipe specifies.
        block: Number of the block of seeds on which the claim is judged. Block ``b``
            begins with the root seed 1,000,000 ``b``. No seed of the block had been
            used when the claim was stated.
        hash: Hash of everything that can change the claim's number or verdict, except
            the code of ``derive``.
        code: Hash of the code of ``derive`` and of all code that it calls; empty for
            claims that were stated before this hash was introduced.
    """

    claim: Claim
    scale: str
    version: int
    seeds: int
    block: int
    hash: str
    code: str = ""


class Reworded(_Line, frozen=True, kw_only=True, tag="reworded"):
    """Change of a claim's wording, or of its place in the paper; its verdict is not affected.

    Attributes:
        date: Date of the change.
        claim: The claim in its new wording.
        scale: Scale at which it is judged.
        before: The former sentence.
    """

    claim: Claim
    scale: str
    before: str


class Corrected(_Line, frozen=True, kw_only=True, tag="corrected"):
    """Correction of a claim's protocol, which was stated as closer to the paper's than it is.

    The claim's number, target and seeds do not change; its verdict may get a different
    name.

    Attributes:
        date: Date of the correction.
        claim: The claim with the protocol that was determined from its settings.
        scale: Scale at which it is judged.
        version: Version of the claim, which does not change.
        before: The protocol that was stated before: ``exact``, ``scaled`` or
            ``substitute``.
    """

    claim: Claim
    scale: str
    version: int
    before: Protocol


class JudgedLine(_OfClaim, frozen=True, kw_only=True, tag="judged"):
    """Verdict on a claim, as computed from the scores that were available on a given day.

    Attributes:
        date: Date on which the verdict was recorded.
        name: Id of the claim.
        scale: Scale of the run.
        version: Version of the claim.
        verdict: The verdict: ``reproduced``, ``consistent``, ``not reproduced``, ``not
            seen in a substitute``, ``undecided`` or ``not judged``
            (:class:`~inweights.experiments.claims.claim_result.ClaimResult`).
        seeds: Number of seeds.
        measured: Median or mean over the seeds; ``None`` if nothing was measured.
        low: Lower end of the confidence interval of ``measured``; ``None`` if there is
            none.
        high: Upper end of this interval.
        hits: Number of seeds that meet the target individually; ``None`` if they were
            not counted.
        size: For a one-sided target, whether the measured number is close to the
            published one: ``close``, ``not close`` or ``undecided``; otherwise empty.
        rounding: Relative tolerance within which a number is considered equal to an end
            of the target; 0 for verdicts until 27 November 2026.
        environment: Processor, version of torch and commit with which the last seeds
            were run, as text.
    """

    verdict: str
    seeds: int
    measured: float | None = None
    low: float | None = None
    high: float | None = None
    hits: int | None = None
    size: str = ""
    rounding: float = 0.0
    environment: str = ""


class Withdrawn(_OfClaim, frozen=True, kw_only=True, tag="withdrawn"):
    """Withdrawal of a claim, which is no longer judged.

    Attributes:
        date: Date of the withdrawal.
        name: Id of the claim.
        scale: Scale at which it was judged.
        version: Version of the claim.
        text: The claim, as a sentence.
        verdict: Last verdict on the claim; ``not judged`` if there was none.
        why: Reason for the withdrawal.
    """

    text: str
    verdict: str
    why: str = ""


Line = RuleChange | Earlier | Stated | Reworded | Corrected | JudgedLine | Withdrawn
