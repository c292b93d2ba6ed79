"""Compute the verdict on every claim of the ledger from the stored scores.

:func:`read_board` returns a :class:`Board`, the table of verdicts.
:func:`verdict_lines` returns the verdicts that the ledger does not contain yet, and
:func:`holm` corrects for the number of claims.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from msgspec import structs

from inweights.actions.ledger.ledger import Entry, Ledger, read_ledger
from inweights.actions.ledger.lines import (
    BY_MEAN,
    LEDGER,
    STATED_AS,
    Earlier,
    JudgedLine,
    Stated,
    Withdrawn,
)
from inweights.actions.ledger.scores import numbers_in, read_scores, with_rows
from inweights.actions.ledger.significance import holm, least_alpha, tested
from inweights.experiments.claims.claim import IN_A_SUBSTITUTE, SIGNS, Claim
from inweights.experiments.claims.claim_result import ClaimResult
from inweights.experiments.claims.closeness import closeness
from inweights.experiments.claims.needed_seeds import first_seeds
from inweights.experiments.claims.target import ROUNDING
from inweights.experiments.claims.verdict import decide, unjudged
from inweights.support.showing import Card, Carded
from inweights.support.statistics.intervals import ALPHA, alpha_of, version_alpha


@dataclass(frozen=True, repr=False)
class Board(Carded):
    """Results table: every claim with its verdict, and the scores on which it is based.

    Attributes:
        scale: Scale of the runs: ``smoke``, ``cpu`` or ``paper``.
        claims: The claims that were not withdrawn, with their verdicts, grouped by
            recipe, in the order in which they were first stated.
        withdrawn: The lines of the ledger that withdrew claims.
        ledger_lines: All lines of the ledger.
        scores: Table of scores: one row per claim, version, case and seed, as
            :func:`~.scores.read_scores` describes.
    """

    scale: str
    claims: tuple[ClaimResult, ...]
    withdrawn: tuple[Withdrawn, ...]
    ledger_lines: Ledger
    scores: pl.DataFrame

    def _card(self) -> Card:
        verdicts = Counter((c.id.split("/")[0], c.verdict) for c in self.claims)
        rows = [(*key, count) for key, count in verdicts.items()]
        about = {"claims": len(self.claims), "withdrawn": len(self.withdrawn)}
        return Card(
            f"Board at scale {self.scale}", about, ("paper", "verdict", "claims"), rows
        )

    @property
    def verdicts(self) -> pl.DataFrame:
        """The claims as a polars DataFrame, one row per claim.

        Columns are the fields of
        :class:`~inweights.experiments.claims.claim_result.ClaimResult` except
        ``earlier``, such as ``id``, ``text``, ``target`` (as text), ``verdict`` and
        ``measured``.
        """
        rows = []
        for claim in self.claims:
            row = structs.asdict(claim) | {"target": claim.target.text}
            del row["earlier"]
            rows.append(row)
        # Some columns are null in most rows, so all rows are read to infer types.
        return pl.DataFrame(rows, infer_schema_length=None)

    @property
    def ledger(self) -> pl.DataFrame:
        """The ledger as a polars DataFrame, one row per line about a claim.

        Columns: ``kind`` of the line (such as ``stated`` or ``judged``), ``claim`` (its
        id), ``date``, ``scale``, ``version`` of the claim, ``verdict``, ``seeds``
        (their number), ``why`` (of a withdrawal), ``commit`` (of a verdict that is
        older than the ledger), ``hash`` (of everything that can change the claim's
        number or verdict) and ``block`` (number of the block of root seeds). A value is
        null if the line's kind has no such field. :mod:`~.lines` explains the fields.
        """
        names = (
            "date",
            "scale",
            "version",
            "verdict",
            "seeds",
            "why",
            "commit",
            "hash",
            "block",
        )
        rows: list[dict[str, Any]] = []
        for line in self.ledger_lines.lines:
            if line.key:
                about = {
                    "kind": line.__struct_config__.tag,
                    "claim": line.key.partition(" ")[0],
                }
                rows.append(about | {name: getattr(line, name, None) for name in names})
        return pl.DataFrame(rows, infer_schema_length=None)

    @property
    def false_at_most(self) -> float:
        """Upper bound on the expected number of wrong verdicts on the papers' claims in the table.

        Checks (claims that hold by construction), exact scores (which do not depend on
        random numbers) and undecided claims are not counted. The bound is a sum over
        claims. On each side, an interval misses the true value with at most half of its
        error probability. All later interim analyses together add at most a quarter of
        this error probability.
        """
        return sum(
            # A target with two ends can be missed on either side.
            (1 if None in (c.target.least, c.target.most) else 2)
            * 0.75
            * version_alpha(c.version)
            for c in tested(self.claims)
        )


def read_board(
    results: Path,
    scale: str,
    only: Iterable[str] | None = None,
    more: Iterable[Mapping[str, Any]] = (),
) -> Board:
    """Compute the verdicts from the ledger and the scores in a folder, without running anything.

    Args:
        results: Folder of the results.
        scale: Scale of the runs: ``smoke``, ``cpu`` or ``paper``.
        only: Full names of recipes; ``None`` for all.
        more: Further rows of scores, used in addition to the rows in the folder, as
            mappings from column to value; by default none.

    Returns:
        The results table. It is empty if the folder has no ledger, or the ledger has no
        claim at this scale.

    Raises:
        DataError: The ledger or the scores are damaged.
        OSError: The ledger cannot be read.
    """
    ledger = read_ledger(results / LEDGER)
    scores = with_rows(read_scores(results), more)
    homes = None if only is None else set(only)
    standing = [
        (e.stated, e) for _, e in ledger.of_scale(scale) if e.stated and e.claim
    ]
    claims = [
        _result(e, stated, e.claim or stated.claim, scores) for stated, e in standing
    ]
    place: dict[str, int] = {}
    first: dict[str, int] = {}
    for n, line in enumerate(ledger.statements):
        place.setdefault(line.claim.id, n)
        first.setdefault(line.claim.id.rpartition("/")[0], n)
    # Recipes are sorted by the first statement of any of their claims, and claims by
    # their own first statement, so that stating a claim again moves neither.
    claims.sort(key=lambda claim: (first[claim.id.rpartition("/")[0]], place[claim.id]))
    withdrawn = [e.withdrawn for _, e in ledger.of_scale(scale) if e.withdrawn]
    shown = [
        # The correction covers all claims, whichever are selected, because a selection
        # must not change a verdict.
        c
        for c in holm(claims)
        if homes is None or c.id.rpartition("/")[0] in homes
    ]
    gone = [w for w in withdrawn if homes is None or w.name.rpartition("/")[0] in homes]
    return Board(scale, tuple(shown), tuple(gone), ledger, scores)


def _result(
    entry: Entry, stated: Stated, claim: Claim, scores: pl.DataFrame
) -> ClaimResult:
    """Compute the verdict on one claim."""
    numbers = numbers_in(scores, stated)
    if not numbers.cases and numbers.why == "no scores yet":
        result = unjudged(claim, "stated, and not run yet")
    else:
        alpha = version_alpha(stated.version)
        first = first_seeds(claim, stated.seeds, alpha)
        alpha = alpha_of(numbers.fewest, first, stated.version)
        share = _rounding(entry, numbers.fewest)
        result = decide(claim, numbers, alpha=alpha, minimum=first, rounding=share)
        decided = result.verdict not in ("undecided", "not judged")
        if decided and not claim.score.exact:
            # Scaled by the error probability of the claim's version, so that p values
            # of claims of different versions are comparable.
            spent = least_alpha(claim, numbers, result.agrees, share) / alpha
            result = structs.replace(result, p=min(1.0, spent * ALPHA))
    earlier = _earlier(entry, result, stated.version)
    return structs.replace(result, version=stated.version, earlier=earlier)


def _rounding(entry: Entry, seeds: int) -> float:
    """Return the relative tolerance with which numbers are compared with the target's ends.

    Older verdicts compared numbers exactly, in single precision. With a tolerance, some
    of their counts would change on the same seeds.
    """
    given = entry.judged_anew
    return given.rounding if given and given.seeds >= seeds else ROUNDING


def _earlier(entry: Entry, now: ClaimResult, version: int) -> tuple[str, ...]:
    """Return verdicts of earlier versions, and of this version under another rule or protocol."""
    last: dict[str, JudgedLine | Earlier] = {}
    for line in entry.lines:
        if isinstance(line, JudgedLine | Earlier) and line.version < version:
            last[f"version {line.version}"] = line
        elif isinstance(line, Earlier) and called_now(line.verdict, now) != now.verdict:
            last |= (
                {} if line.verdict == "reproduced" and now.agrees else {BY_MEAN: line}
            )
    found = [f"{which}: {line.verdict}, {line.date}" for which, line in last.items()]
    if corrected := entry.corrected:
        found.append(
            f"{STATED_AS} {SIGNS[corrected.before]} {corrected.before}, corrected on "
            f"{corrected.date}"
        )
    return tuple(found)


def called_now(verdict: str, claim: ClaimResult) -> str:
    """Return the current name of a verdict that the ledger may contain under a former name.

    Until 27 November 2026, a claim that missed its target in a substitute for the
    paper's protocol was called *not reproduced*, as under any other protocol. For some
    claims, the ledger stated a protocol closer to the paper's than their settings imply
    (:class:`~inweights.actions.ledger.lines.Corrected`).

    Args:
        verdict: The verdict in the ledger.
        claim: The claim to which it belongs.

    Returns:
        For a claim whose protocol is ``substitute``: ``consistent`` instead of
        ``reproduced``, and ``not seen in a substitute`` instead of ``not reproduced``.
        Otherwise the same verdict.
    """
    if claim.protocol == "substitute":
        return IN_A_SUBSTITUTE.get(verdict, verdict)
    return verdict


def verdict_lines(board: Board, date: str) -> list[JudgedLine]:
    """Return a line for each verdict that the ledger does not contain yet, without writing it.

    Args:
        board: The results table.
        date: Today's date, as ``2026-11-27``.

    Returns:
        One line for each claim whose verdict, number of seeds or closeness to the
        published number differs from the last verdict on its version. There is no line
        for a claim that was never run.
    """
    lines = []
    for claim in board.claims:
        # This claim has not been run, so there is no verdict to record.
        if claim.verdict == "not judged" and not claim.replicates:
            continue
        known = board.ledger_lines.entry(claim.id, board.scale).judged_anew
        size = found.verdict if (found := closeness(claim)) else ""
        now = (claim.verdict, claim.replicates, size)
        if known and (called_now(known.verdict, claim), known.seeds, known.size) == now:
            continue
        own = board.scores.filter(
            pl.col("claim") == claim.id, pl.col("version") == claim.version
        )
        same = ("version", "verdict", "measured", "low", "high", "hits")
        line = JudgedLine(
            date=date,
            name=claim.id,
            scale=board.scale,
            seeds=claim.replicates,
            size=size,
            rounding=_rounding(
                board.ledger_lines.entry(claim.id, board.scale), claim.replicates
            ),
            environment=own["environment"][-1],
            **{name: getattr(claim, name) for name in same},
        )
        lines.append(line)
    return lines
