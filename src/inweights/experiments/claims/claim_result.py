"""Represent a claim with its verdict, as shown on pages and in the results table."""

from inweights.experiments.claims.claim import Rule, Said, Verdict
from inweights.support.progress import plural
from inweights.support.showing import Card
from inweights.support.statistics.intervals import ALPHA

#: Names of verdicts on our own claims, which do not reproduce a paper.
OWN_WORDS: dict[str, str] = {"reproduced": "holds", "not reproduced": "does not hold"}


class ClaimResult(Said, kw_only=True):
    """A claim with its verdict and the numbers on which the verdict is based.

    It also has the attributes of :class:`~.claim.Said`: ``id``, ``text`` (the
    sentence), ``place`` and ``source`` (where the paper states it), ``target`` (the
    range of the score), ``published`` (the paper's number), ``check``, ``condition``,
    ``quote``, ``protocol`` and ``close``.

    Attributes:
        verdict: ``reproduced``, ``not reproduced``, ``undecided`` or ``not judged``. If
            the claim is judged with a substitute for the paper's protocol,
            ``consistent`` and ``not seen in a substitute`` replace the first two.
        rule: Statistic over the seeds that was judged: ``typical`` (median),
            ``reliable`` (share of seeds that meet the target) or ``mean``.
        measured: Median of the seeds' numbers, or their mean if ``rule`` is ``mean`` or
            the numbers do not depend on seeds; ``None`` if nothing was measured. If the
            claim has several cases, this is the number of the deciding case (``case``).
        low: Lower end of the confidence interval of ``measured``. ``None`` if nothing
            was measured, if the numbers do not depend on seeds, or if there are too few
            seeds for an interval.
        high: Upper end of the confidence interval of ``measured``; ``None`` if ``low``
            is ``None``.
        replicates: Number of seeds of the deciding case; 0 if nothing was measured.
        hits: Number of seeds that meet the target individually; ``None`` if the numbers
            do not depend on seeds, or if nothing was measured.
        share_low: Lower end of the confidence interval of the share of seeds, from 0 to
            1, that meet the target; ``None`` if ``hits`` is ``None``.
        share_high: Upper end of the confidence interval of this share; ``None`` if
            ``hits`` is ``None``.
        case: Name of the deciding case, which is the case that is farthest from being
            reproduced, such as ``model = gpt``. Empty if the claim has a single case.
        why: Reason why the claim was not judged; empty if it was judged.
        needed: For a claim with too few seeds, the smallest number of seeds for a
            verdict. For an undecided claim, the estimated total number of seeds that
            would decide it. ``None`` if it is unknown, and for all other verdicts.
        level: Confidence level of the intervals, such as .95.
        version: Version of the claim, from 1, in the ledger (the file of claims that
            were stated before their runs).
        earlier: Verdicts of earlier versions of the claim, as text.
        p: Smallest error probability at which the claim would have this verdict,
            converted to the error probability of a single analysis (without interim
            analyses or earlier versions), so that it can be compared with .05; ``None``
            if it is unknown.
        together: Whether the verdict remains the same if the claims of all papers are
            tested jointly (Holm's correction); by default false.
    """

    verdict: Verdict
    rule: Rule = "typical"
    measured: float | None = None
    low: float | None = None
    high: float | None = None
    replicates: int = 0
    hits: int | None = None
    share_low: float | None = None
    share_high: float | None = None
    case: str = ""
    why: str = ""
    needed: int | None = None
    level: float = 1 - ALPHA
    version: int = 1
    earlier: tuple[str, ...] = ()
    p: float | None = None
    together: bool = False

    def __repr__(self) -> str:
        number = "" if self.measured is None else f" {self.measured:.3g}"
        return f"ClaimResult({self.id}: {self.shown},{number} for {self.target.text})"

    def _repr_html_(self) -> str:
        between = (
            ""
            if None in (self.low, self.high)
            else f"{self.low:.3g} to {self.high:.3g}"
        )
        measured = {
            "measured": self.measured,
            "interval": between,
            "target": self.target.text,
        }
        seeds = {"seeds": self.met or self.replicates, "version": self.version}
        row = (self.shown, self.text)
        return Card(self.id, {**measured, **seeds}, ("verdict", "claim"), [row]).html

    @property
    def shown(self) -> str:
        """The verdict as text, with different names for verdicts on our own claims.

        For our own claims (``source`` is ``ours``), ``reproduced`` becomes ``holds``,
        and ``not reproduced`` becomes ``does not hold``. Other verdicts are not
        changed.

        Example:
            >>> from inweights.experiments import Target
            >>> about = {"id": "a/b/c", "text": "", "place": "", "source": "ours"}
            >>> ClaimResult(**about, target=Target(least=0.9), verdict="reproduced").shown
            'holds'
        """
        return (
            OWN_WORDS.get(self.verdict, self.verdict)
            if self.source == "ours"
            else self.verdict
        )

    def __str__(self) -> str:
        """Return the verdict, the measured value, its interval and the target as one line.

        Example:
            >>> from inweights.experiments import Target
            >>> about = {"id": "a/b/c", "text": "", "place": "", "source": "ours"}
            >>> found = {"measured": 0.96, "low": 0.93, "high": 0.99, "replicates": 8}
            >>> print(ClaimResult(**about, target=Target(least=0.9), verdict="reproduced", **found))
            holds: 0.96 [0.93, 0.99], target ≥ 0.9, 8 seeds
        """
        measured = (
            "nothing measured" if self.measured is None else f"{self.measured:.3g}"
        )
        if self.low is not None and self.high is not None:
            measured += f" [{self.low:.3g}, {self.high:.3g}]"
        parts = [f"{self.shown}: {measured}", f"target {self.target.text}"]
        parts += [plural(self.replicates, "seed")] if self.replicates else []
        parts += [self.met.replace(" seeds", "") + " meet it"] if self.met else []
        return ", ".join(parts)

    @property
    def agrees(self) -> bool:
        """Whether the numbers agree with the claim (verdict ``reproduced`` or ``consistent``)."""
        return self.verdict in ("reproduced", "consistent")

    @property
    def met(self) -> str:
        """Number of seeds that meet the target, and the interval of their share, as text.

        The text is empty if the numbers do not depend on seeds, or if nothing was
        measured.

        Example:
            >>> from inweights.experiments import Target
            >>> about = {"id": "a/b/c", "text": "", "place": "", "source": "", "published": None}
            >>> found = {"replicates": 16, "hits": 16, "share_low": 0.76, "share_high": 1.0}
            >>> ClaimResult(**about, target=Target(least=0.9), verdict="reproduced", **found).met
            '16 of 16 seeds (76% to 100%)'
        """
        if self.hits is None or self.share_low is None or self.share_high is None:
            return ""
        between = f"({self.share_low:.0%} to {self.share_high:.0%})"
        return f"{self.hits} of {self.replicates} seeds {between}"
