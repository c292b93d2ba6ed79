"""What was measured of the strategies, by what is asked; and which of them that speaks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from inweights.errors import unknown_name

__all__ = ["ASKED", "MEASURED", "Choice", "Measured", "choose"]

#: What one may want answered, and how it is said.
ASKED = {
    "recall": "facts in new words",
    "reverse": "facts from their object",
    "composition": "two facts, directly",
    "steps": "two facts, one after the other",
}


class Measured(NamedTuple):
    """A measurement of a strategy.

    Attributes:
        strategy: Its name.
        asked: A name of ``ASKED``.
        gain: Accuracy over that of a control with as many tokens, mean of the seeds; none where
            nothing was measured here.
        low: Lower end of its 95% interval (Student, over seeds); none where it was not kept.
        high: Upper end.
        seeds: How many.
        source: Where it is from, and what limits it.
    """

    strategy: str
    asked: str
    gain: float | None
    low: float | None
    high: float | None
    seeds: int
    source: str


_TRIAL = "trial, no judged run"
_RECIPE = "recipe beyond/does-the-bridge-help"
#: Of ``MEASURED_ON``. ``beyond/which-diet-teaches`` measures all of it again.
MEASURED = (
    Measured(
        "derive", "composition", 0.53, 0.37, 0.68, 3,
        f"{_TRIAL}; through bridges that nothing is derived of .00 to .08: it is memory of what is "
        "told, across wordings",
    ),
    Measured("identities", "composition", 0.033, -0.066, 0.133, 5, _RECIPE),
    Measured("reversals", "composition", 0.025, -0.034, 0.084, 5, _RECIPE),
    Measured("paraphrases", "composition", 0.017, -0.070, 0.103, 5, _RECIPE),
    Measured("passages", "composition", 0.03, -0.09, 0.14, 3, f"{_TRIAL}, both facts in one text"),
    Measured("paraphrases", "steps", 0.11, None, None, 5, f"{_RECIPE}; .89 against .78"),
    Measured("identities", "steps", 0.02, None, None, 5, f"{_RECIPE}; .80 against .78"),
    Measured("reversals", "steps", -0.24, None, None, 5, f"{_RECIPE}; .54 against .78"),
    Measured(
        "paraphrases", "recall", None, None, None, 0,
        "not measured here; elsewhere paraphrases help (Ovadia et al., arXiv:2312.05934)",
    ),
    Measured(
        "reversals", "reverse", None, None, None, 0,
        "not measured here; it states what is asked",
    ),
)  # fmt: skip
#: A mean gain from which on a strategy is taken that no interval settles.
_WORTH = 0.05


class Choice(NamedTuple):
    """What is taken for one kind of question, if anything is, and why."""

    asked: str
    strategy: str
    why: str


def choose(wanted: Sequence[str]) -> list[Choice]:
    """Return the strategy that speaks for itself best, for each kind of question.

    That with the largest mean gain of those whose whole interval is above the control; else the
    best in the mean, if it gains .05; else one that is not measured here; else none.

    Args:
        wanted: Names of ``ASKED``.

    Raises:
        ConfigError: There is no such kind.

    Example:
        >>> for choice in choose(["composition", "steps"]):
        ...     print(choice.asked, choice.strategy, choice.why[:50])
        composition derive +.53 over the control (.37 to .68, 3 seeds; trial,
        steps paraphrases +.11 over the control (not settled, 5 seeds; recip
    """
    choices = []
    for asked in dict.fromkeys(wanted):
        if asked not in ASKED:
            raise unknown_name("kind of question", asked, ASKED)
        rows = [row for row in MEASURED if row.asked == asked]
        known = sorted((row for row in rows if row.gain is not None), key=lambda r: -(r.gain or 0))
        sure = [row for row in known if row.low is not None and row.low > 0]
        worth = [row for row in known if (row.gain or 0) >= _WORTH]
        unknown = [row for row in rows if row.gain is None]
        best = next(iter([*sure, *worth, *unknown]), None)
        if best is None:
            why = "; ".join(f"{row.strategy} {_in_words(row)}" for row in known)
            choices.append(Choice(asked, "", f"nothing measured helps: {why}"))
        else:
            choices.append(Choice(asked, best.strategy, _in_words(best)))
    taken = {choice.strategy for choice in choices}
    return [choice._replace(why=choice.why + _cost(choice, taken)) for choice in choices]


def _cost(choice: Choice, taken: set[str]) -> str:
    """What is taken for other questions, and makes these worse."""
    return "".join(
        f"; but {row.strategy}, taken for others, {_in_words(row)}"
        for row in MEASURED
        if row.strategy in taken and row.asked == choice.asked and (row.gain or 0) <= -_WORTH
    )


def _in_words(row: Measured) -> str:
    if row.gain is None:
        return row.source
    within = "not settled"
    if row.low is not None and row.high is not None:
        within = f"{_signless(row.low)} to {_signless(row.high)}"
    sign = "+" if row.gain >= 0 else "-"
    share = _signless(abs(row.gain))
    return f"{sign}{share} over the control ({within}, {row.seeds} seeds; {row.source})"


def _signless(share: float) -> str:
    return f"{share:.2f}".replace("0.", ".", 1)
