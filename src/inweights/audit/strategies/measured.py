"""What was measured of the strategies, by what is asked; and which of them that speaks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from inweights.errors import unknown_name

__all__ = ["ASKED", "MEASURED", "MEASURED_ON", "Choice", "Measured", "choose", "evidence"]

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


#: What it was all measured on; of other models it says little.
MEASURED_ON = "SmolLM2-135M fine-tuned with LoRA on 12 or 24 invented people"
_TRIAL = "a trial, no judged run"
_BRIDGE = "recipe beyond/does-the-bridge-help"
_DIET = "recipe beyond/which-diet-teaches"
#: A test holds what is of recipes to their stored results.
MEASURED = (
    Measured(
        "derive", "composition", 0.6667, 0.4132, 0.9201, 5,
        f"{_DIET}; of chains that are told, in other words than asked. Through bridges that "
        "nothing is derived of -.10 (-.29 to .09): memory of what is told, no skill",
    ),
    Measured(
        "derive", "steps", -0.4, -0.5851, -0.2149, 5,
        f"{_DIET}; through bridges that nothing is derived of",
    ),
    Measured("derive", "recall", -0.1333, -0.2586, -0.008, 5, _DIET),
    Measured("derive", "reverse", -0.0333, -0.1259, 0.0592, 5, _DIET),
    Measured("identities", "composition", 0.033, -0.066, 0.133, 5, _BRIDGE),
    Measured("reversals", "composition", 0.025, -0.034, 0.084, 5, _BRIDGE),
    Measured("paraphrases", "composition", 0.017, -0.070, 0.103, 5, _BRIDGE),
    Measured("passages", "composition", 0.03, -0.09, 0.14, 3, f"{_TRIAL}; both facts in one text"),
    Measured("paraphrases", "steps", 0.11, None, None, 5, f"{_BRIDGE}; .89 against .78"),
    Measured("identities", "steps", 0.02, None, None, 5, f"{_BRIDGE}; .80 against .78"),
    Measured("reversals", "steps", -0.24, None, None, 5, f"{_BRIDGE}; .54 against .78"),
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
        composition derive +.67 over the control (.41 to .92, 5 seeds; recipe
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


def evidence(strategy: str) -> str:
    """What was measured of a strategy, in words.

    Example:
        >>> evidence("passages")
        'two facts, directly: +.03 (-.09 to .14, 3 seeds)'
        >>> evidence("qa")
        'not measured here'
    """
    rows = [row for row in MEASURED if row.strategy == strategy and row.gain is not None]
    told = (f"{ASKED[row.asked]}: {_gain(row)} ({_within(row)})" for row in rows)
    return "; ".join(told) or "not measured here"


def _cost(choice: Choice, taken: set[str]) -> str:
    """What is taken for other questions, and makes these worse."""
    return "".join(
        f"; but {row.strategy}, taken for others, {_in_words(row)}"
        for row in MEASURED
        if row.strategy in taken and row.asked == choice.asked and (row.gain or 0) <= -_WORTH
    )


def _in_words(row: Measured) -> str:
    """Such as ``+.03 over the control (-.09 to .14, 3 seeds; a trial)``."""
    if row.gain is None:
        return row.source
    return f"{_gain(row)} over the control ({_within(row)}; {row.source})"


def _gain(row: Measured) -> str:
    return ("+" if (row.gain or 0) >= 0 else "") + _share(row.gain or 0)


def _within(row: Measured) -> str:
    within = "not settled"
    if row.low is not None and row.high is not None:
        within = f"{_share(row.low)} to {_share(row.high)}"
    return f"{within}, {row.seeds} seeds"


def _share(share: float) -> str:
    return f"{share:.2f}".replace("0.", ".", 1)
