"""Describe the lines of the ledger: a claim is stated, reworded, corrected, judged or withdrawn.

:mod:`~.ledger` reads and adds lines.
"""

import msgspec

from inweights.experiments.claims.claim import Claim, Protocol

#: Name of the ledger in the folder of results.
LEDGER = "ledger.jsonl"
#: Root seeds of a block: block ``b`` has the seeds from ``b * BLOCK`` on, and no
#: other's.
BLOCK = 1_000_000
#: How a verdict of before the ledger is called, where its claim's version still stands.
BY_MEAN = "by the interval of the mean, on other seeds"

#: How the protocol is called that a claim was stated with, where it was corrected.
STATED_AS = "stated as"


class _Line(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    tag_field="kind",
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    """Fields of every line."""

    date: str

    @property
    def key(self) -> str:
        """The claim's name and scale; "" for a line about all claims."""
        claim = getattr(self, "claim", None)
        name = claim.id if claim else getattr(self, "name", "")
        return f"{name} {self.scale}" if name else ""  # type: ignore[attr-defined]


class RuleChange(_Line, frozen=True, tag="rule"):
    """How all claims are judged from here on, stated before any number is computed.

    Attributes:
        date: When.
        says: The rule, in words.
    """

    says: str


class _OfClaim(_Line, frozen=True, kw_only=True):
    name: str
    scale: str
    version: int


class Earlier(_OfClaim, frozen=True, kw_only=True, tag="earlier"):
    """A verdict from before the ledger was kept: on the mean, by Student's t.

    Attributes:
        date: When.
        name: Id of the claim.
        scale: Scale of the run.
        version: Of the claim.
        text: The sentence.
        target: The target, in words.
        verdict: The verdict.
        commit: Of the results table.
        measured: Mean over the seeds.
        low: Lower end of its interval.
        high: Upper end.
        seeds: Number of seeds.
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
    """A claim as it will be judged.

    Attributes:
        date: When.
        claim: The claim.
        scale: Scale at which it is judged.
        version: Of the claim.
        seeds: How many seeds its recipe states.
        block: Block of seeds that it is judged on; no seed of it was used when it was
            stated.
        hash: Of everything that can move its number or its verdict, but the code of
            ``derive``.
        code: Of that code, and of what it calls; "" of claims that were stated before
            it was taken.
    """

    claim: Claim
    scale: str
    version: int
    seeds: int
    block: int
    hash: str
    code: str = ""


class Reworded(_Line, frozen=True, kw_only=True, tag="reworded"):
    """A claim whose words or place changed, and nothing that is judged.

    Attributes:
        date: When.
        claim: The claim as it reads now.
        scale: Scale at which it is judged.
        before: The former sentence.
    """

    claim: Claim
    scale: str
    before: str


class Corrected(_Line, frozen=True, kw_only=True, tag="corrected"):
    """A claim that was stated as nearer to its paper's protocol than its settings are.

    Its number, target and seeds are the same; what its verdict is called may be
    another.

    Attributes:
        date: When.
        claim: The claim as it reads now, with the computed protocol.
        scale: Scale at which it is judged.
        version: Of the claim, which stays.
        before: The protocol that was stated.
    """

    claim: Claim
    scale: str
    version: int
    before: Protocol


class JudgedLine(_OfClaim, frozen=True, kw_only=True, tag="judged"):
    """A verdict, as it followed from the scores on the day on which it was recorded.

    Attributes:
        date: That day.
        name: Id of the claim.
        scale: Scale of the run.
        version: Of the claim.
        verdict: The verdict.
        seeds: Number of seeds.
        measured: Median of the seeds' numbers, or their mean.
        low: Lower end of its interval.
        high: Upper end.
        hits: Number of seeds that meet the target by themselves.
        size: Whether a number beside a one-sided target is the published one; ""
            without either.
        rounding: How near to an edge of the target a number lay on it, as a share of
            its size; verdicts until 27 November 2026 were compared to the last bit.
        environment: Where the last of the seeds was run.
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
    """A claim that is stated no longer.

    Attributes:
        date: When.
        name: Id of the claim.
        scale: Scale at which it was judged.
        version: Of the claim.
        text: The sentence.
        verdict: Its last verdict.
        why: The reason.
    """

    text: str
    verdict: str
    why: str = ""


Line = RuleChange | Earlier | Stated | Reworded | Corrected | JudgedLine | Withdrawn
