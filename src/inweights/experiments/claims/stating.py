"""Create claims from sentences and scores with their targets.

:class:`Stating` creates the claims of one recipe, and :func:`own_claim` creates a claim
of a study or about a user-defined table. Both return a
:class:`~inweights.experiments.claims.claim.Claim`, which :mod:`~.verdict` judges.
"""

from dataclasses import dataclass
from typing import Any

from inweights.experiments.claims.claim import Claim, Rule
from inweights.experiments.claims.score import Judged, Score


def own_claim(id_: str, text: str, judged: Judged) -> Claim:
    """Return a claim that no paper states; it is judged by the median over seeds.

    Args:
        id_: Name of the claim, usually ``<recipe>/<short-name>``; it is not checked.
        text: The claim, as a sentence.
        judged: The score and its target, such as
            ``share("runs", "accuracy").over("model") >= 0.9``; see
            :class:`~inweights.experiments.Score`.

    Raises:
        ConfigError: The lower end of the target is at or above the score's upper bound,
            or its upper end is at or below the score's lower bound.
    """
    score = judged.score
    target = judged.target
    return Claim(
        id=id_,
        text=text,
        place="",
        source="ours",
        score=score,
        target=target,
    )


@dataclass(frozen=True)
class Stating:
    """Factory of the claims of one recipe, which stores the attributes that they share.

    Attributes:
        recipe: Name of the recipe, ``<paper>/<figure>``.
        source: Short name of the paper, or ``ours``.
        place: Place in the paper, such as a figure; used for claims that do not specify
            one.
        condition: Value of the label ``condition`` to display with claims whose scores
            do not select rows by this label; empty by default. It has no effect on the
            scores.

    Example:
        >>> from inweights.experiments import share
        >>> state = Stating("identity-bridge/fig2", source="identity-bridge", place="Fig. 2")
        >>> state("c1", "At C = 1 it works.", share("t", "accuracy") >= 0.9).id
        'identity-bridge/fig2/c1'
    """

    recipe: str
    source: str
    place: str
    condition: str = ""

    def __call__(
        self,
        name: str,
        text: str,
        judged: Judged,
        *,
        place: str = "",
        source: str = "",
        rule: Rule = "typical",
        condition: str | None = None,
        **said: Any,
    ) -> Claim:
        """Return one claim of the recipe.

        Args:
            name: Short name of the claim, the last part of its id.
            text: The claim, as a sentence.
            judged: The score and its target, such as ``share("runs", "accuracy") >=
                0.9``.
            place: Place in the paper; by default :attr:`place`.
            source: Short name of the paper, or ``ours``; by default :attr:`source`.
            rule: Statistic over the seeds that is judged: ``typical`` (the default) for
                the median, ``reliable`` for the share of seeds that meet the target,
                which has to be at least .75, or ``mean`` for the mean.
            condition: Value of the label ``condition`` that is stated if the score does
                not select rows by this label; ``None`` for :attr:`condition`. If the
                score selects rows by it, the selected value is stated instead: ``A,
                minus B`` for a difference, and ``each`` if the score is judged for each
                condition.
            **said: Further attributes of :class:`Claim`: ``published``, ``quote``,
                ``protocol``, ``close`` and ``check``.

        Returns:
            The claim, with the id ``<recipe>/<name>``.

        Raises:
            ConfigError: The first number of ``close`` is larger than the second. Or
                ``check`` is not set, and the lower end of the target is at or above the
                score's upper bound, or its upper end is at or below the score's lower
                bound.
        """
        return Claim(
            id=f"{self.recipe}/{name}",
            text=text,
            place=place or self.place,
            source=source or self.source,
            score=judged.score,
            target=judged.target,
            judged=rule,
            condition=_condition(
                judged.score, self.condition if condition is None else condition
            ),
            **said,
        )


def _condition(score: Score, otherwise: str) -> str:
    """Return the condition by which a score selects rows, or both conditions of a difference."""
    if "condition" in score.each:
        return "each"
    one, other = (str(rows.get("condition", "")) for rows in (score.where, score.minus))
    return (
        f"{one}, minus {other}" if one and other and one != other else one or otherwise
    )
