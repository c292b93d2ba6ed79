"""Judge claims about a sweep's table, and add seeds until they are decided."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from inweights.errors import ConfigError
from inweights.experiments.claims.claim import Claim
from inweights.experiments.claims.claim_result import ClaimResult
from inweights.experiments.claims.needed_seeds import MIN_SEEDS, first_seeds
from inweights.experiments.claims.score import Judged
from inweights.experiments.claims.stating import own_claim
from inweights.experiments.claims.verdict import is_open, judge
from inweights.support.statistics.intervals import ALPHA, alpha_of

if TYPE_CHECKING:
    import polars as pl


def claim(table: pl.DataFrame, judged: Judged, says: str = "") -> ClaimResult:
    """Judge a claim about a table with one or more rows per seed, such as a sweep's table.

    Args:
        table: The table, with a column ``seed``.
        judged: A score with its target, such as ``iw.experiments.share("result",
            "score") >= 0.9``. The name of the table in the score (``result``) is
            ignored.
        says: The claim, as a sentence; by default the name of the column and the
            target, such as ``score ≥ 0.9``.

    Returns:
        The claim with its numbers and its ``verdict``: ``reproduced``, ``not
        reproduced``, ``undecided`` or ``not judged``. If there are fewer than 8 seeds
        or no numbers, it is ``not judged``, and ``why`` gives the reason.

    Raises:
        ConfigError: ``judged`` is not a score with a target; or the lower end of the
            target is the largest possible value of the score, or the upper end is the
            smallest.
        DataError: The table has no such column, the column contains no numbers, or no
            row has the values that the score selects.

    Example:
        >>> import polars as pl
        >>> from inweights.experiments import number
        >>> table = pl.DataFrame({"seed": range(8), "score": [0.95, 0.97] * 4})
        >>> claim(table, number("result", "score") >= 0.9).verdict
        'reproduced'
    """
    return judge(_stated(judged, says), {judged.score.table: table})


def add_seeds_until_decided(
    sweep: Callable[..., pl.DataFrame],
    *judged: Judged,
    seeds: int = MIN_SEEDS,
    most: int = 512,
) -> tuple[pl.DataFrame, list[ClaimResult]]:
    """Double the number of seeds of a sweep until each claim about its table is decided.

    A sweep stores its runs, so that only new seeds are computed. Each later analysis of
    the data has a wider interval, which limits the error probability of all analyses
    together (:mod:`inweights.experiments.studies.settle`). A claim that is decided
    keeps its verdict.

    Args:
        sweep: Function that returns a table for a number of seeds, such as
            ``functools.partial(iw.sweep, experiment, over={"rate": [0.1, 0.2]})``. It
            is called with the keyword argument ``seeds``. Errors that it raises
            propagate.
        *judged: Scores with their targets, as for :func:`claim`.
        seeds: Number of seeds of the first analysis, by default 8. A larger number is
            used if a verdict requires it.
        most: Largest number of seeds, by default 512. A claim that is not decided with
            this number of seeds remains undecided.

    Returns:
        Two values: the table of all seeds, and the results of the claims, in the order
        in which they were given.

    Raises:
        ConfigError: No claim is given; an argument is not a score with a target; the
            lower end of a target is the largest possible value of its score, or the
            upper end is the smallest; or ``most`` is below the number of seeds that a
            verdict requires.
        DataError: A table, a column or a value that a claim needs is missing.

    Example:
        >>> import polars as pl
        >>> from inweights.experiments import number
        >>> def walk(seeds):
        ...     scores = [0.6, 0.8, 0.7, 0.4] * (seeds // 4)
        ...     return pl.DataFrame({"seed": range(seeds), "score": scores})
        >>> table, [found] = add_seeds_until_decided(walk, number("walk", "score") >= 0.5)
        >>> table.height, found.verdict
        (64, 'reproduced')
    """
    claims = list(map(_stated, judged))
    first = max((first_seeds(one, seeds, ALPHA) for one in claims), default=0)
    if not 0 < first <= most:
        raise ConfigError(
            f"expected at least one claim, and 'most' must be at least {first} (the number of "
            f"seeds for a first verdict); got {len(claims)} claims and most = {most}"
        )
    found: dict[int, ClaimResult] = {}
    count = first
    while True:
        table = sweep(seeds=count)
        for place, one in enumerate(claims):
            if place not in found or is_open(found[place]):
                tables = {one.score.table: table}
                alpha = alpha_of(count, first)
                found[place] = judge(one, tables, alpha=alpha, minimum=first)
        if 2 * count > most or not any(map(is_open, found.values())):
            return table, list(found.values())
        count *= 2


def _stated(judged: Judged, says: str = "") -> Claim:
    """Return the claim of a score and its target."""
    if not isinstance(judged, Judged):
        raise ConfigError(
            "a claim is a score and its target, such as "
            "iw.experiments.number('result', 'score') >= 0.9, "
            f"got {judged!r}"
        )
    return own_claim(
        "claim/table", says or f"{judged.score.column} {judged.target.text}", judged
    )
