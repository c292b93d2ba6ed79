"""Make claims from a sentence and the comparison of a score.

:class:`Stating` makes the claims of one recipe, and :func:`own_claim` one of a study or
of a user's own table. Both return a :class:`~inweights.experiments.claims.claim.Claim`,
which :mod:`~.verdict` judges.
"""

from dataclasses import dataclass
from typing import Any

from inweights.experiments.claims.claim import Claim, Rule
from inweights.experiments.claims.score import Judged, Score


def own_claim(id_: str, text: str, judged: Judged) -> Claim:
    """Return a claim that no paper states, judged by the median over seeds.

    Args:
        id_: Name of the claim, ``<recipe>/<short-name>``.
        text: The claim, as a sentence.
        judged: The score and its target, such as
            ``share("runs", "accuracy").over("model") >= 0.9``; see
            :class:`~inweights.experiments.Score`.

    Raises:
        ConfigError: The target begins at the largest possible value of the score or
            ends at the smallest.
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
    """Function that makes the claims of one recipe; what they share is given once.

    Attributes:
        recipe: Name of the recipe, ``<paper>/<figure>``.
        source: Short name of the paper, or ``ours``.
        place: Place in the paper, for claims without their own.
        condition: Condition of claims whose scores do not name one in the column
            ``condition``; by default none.

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
        """Make one claim of the recipe.

        Args:
            name: Short name of the claim, the last part of its id.
            text: The claim, as a sentence.
            judged: The score and its target.
            place: Place in the paper; by default that of the recipe.
            source: Short name of the paper; by default that of the recipe.
            rule: Statistic over the seeds that is judged: ``typical`` (the median, by
                default), ``reliable`` or ``mean``; see :class:`Claim`.
            condition: Condition for claims whose score selects no rows by the column
                ``condition`` (otherwise the score's rows decide, see :class:`Said`);
                ``None`` for that of the recipe.
            **said: Further attributes of :class:`Claim`: ``published``, ``quote``,
                ``protocol``, ``close`` and ``check``.

        Returns:
            The claim, with the id ``<recipe>/<name>``.

        Raises:
            ConfigError: The target begins at the largest possible value of the score or
                ends at the smallest, and ``check`` is not set; or the first number of
                ``close`` is larger than the second.
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
    """Return the condition that the rows of a score name; two conditions for a difference."""
    if "condition" in score.each:
        return "each"
    one, other = (str(rows.get("condition", "")) for rows in (score.where, score.minus))
    return (
        f"{one}, minus {other}" if one and other and one != other else one or otherwise
    )
