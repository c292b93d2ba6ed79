"""Measured effects of the strategies by kind of question, and the selection based on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from inweights.errors import unknown_name

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
        gain: Accuracy over that of a control with as many tokens, mean of the seeds.
        low: Lower end of its 95% interval (Student, over seeds).
        high: Upper end.
        seeds: How many.
        source: Where it is from, and what limits it.
    """

    strategy: str
    asked: str
    gain: float
    low: float
    high: float
    seeds: int
    source: str


#: What it was all measured on; of other models it says little.
MEASURED_ON = "SmolLM2-135M fine-tuned with LoRA on 12 invented people"
_SOURCE, _SEEDS = "recipe beyond/which-diet-teaches", 5
#: Gain and its interval by strategy, of each kind of question in the order of ``ASKED``. Two facts
#: are asked directly through bridges whose chains a strategy may tell, and one after the other
#: through those whose chains none tells. A test holds these to the stored results.
_GAINS = {
    "derive": (
        (-0.1333, -0.2586, -0.008),
        (-0.0333, -0.1259, 0.0592),
        (0.6667, 0.4132, 0.9201),
        (-0.4, -0.5851, -0.2149),
    ),
    "steps": (
        (-0.0778, -0.2642, 0.1086),
        (-0.0333, -0.1259, 0.0592),
        (0.0667, -0.1693, 0.3026),
        (-0.1333, -0.582, 0.3153),
    ),
    "paraphrases": (
        (0.2222, 0.1132, 0.3313),
        (0.0, 0.0, 0.0),
        (0.0, -0.2069, 0.2069),
        (-0.1, -0.336, 0.136),
    ),
    "qa": (
        (0.2222, 0.1132, 0.3313),
        (0.0, -0.1463, 0.1463),
        (-0.1, -0.2133, 0.0133),
        (0.0, 0.0, 0.0),
    ),
    "passages": (
        (-0.1, -0.3256, 0.1256),
        (0.0333, -0.0592, 0.1259),
        (0.0333, -0.2365, 0.3032),
        (0.0667, -0.2472, 0.3805),
    ),
    "reversals": (
        (-0.2333, -0.5395, 0.0728),
        (0.0, -0.1463, 0.1463),
        (-0.1333, -0.4032, 0.1365),
        (-0.2667, -0.5026, -0.0307),
    ),
    "identities": (
        (-0.1333, -0.2379, -0.0287),
        (0.0, 0.0, 0.0),
        (-0.1, -0.2133, 0.0133),
        (-0.1333, -0.4032, 0.1365),
    ),
    "replay": (
        (-0.0444, -0.1858, 0.0969),
        (-0.0333, -0.1259, 0.0592),
        (-0.1333, -0.4032, 0.1365),
        (-0.1, -0.2851, 0.0851),
    ),
}
_NOTES = {
    (
        "derive",
        "composition",
    ): "for stated chains, in other words than the question. Through bridges without derived "
    "facts -.10 (-.29 to .09): memory of stated facts, not a skill",
    ("derive", "steps"): "through bridges without derived facts",
    ("steps", "composition"): "for chains stated step by step",
}
MEASURED = tuple(
    Measured(
        strategy,
        asked,
        *gain,
        _SEEDS,
        "; ".join(filter(None, (_SOURCE, _NOTES.get((strategy, asked))))),
    )
    for strategy, gains in _GAINS.items()
    for asked, gain in zip(ASKED, gains, strict=True)
)
#: A mean gain from which on a strategy is taken that no interval settles; and a cost that is told.
_WORTH = 0.1


class Choice(NamedTuple):
    """What is taken for one kind of question, if anything is, and why."""

    asked: str
    strategy: str
    why: str


def choose(wanted: Sequence[str]) -> list[Choice]:
    """Return the strategy that speaks for itself best, for each kind of question.

    That with the largest mean gain of those whose whole interval is above the control; else the
    best in the mean, if it gains .1; else none.

    Example:
        >>> for choice in choose(["composition", "reverse"]):
        ...     print(choice.asked, choice.strategy, choice.why[:50])
        composition derive +.67 over the control (.41 to .92, 5 seeds; recipe
        reverse  no strategy is known to help (recipe beyond/which-
    """
    choices = []
    for asked in dict.fromkeys(wanted):
        if asked not in ASKED:
            raise unknown_name("kind of question", asked, ASKED)
        rows = sorted((row for row in MEASURED if row.asked == asked), key=lambda row: -row.gain)
        sure = [row for row in rows if row.low > 0]
        worth = [row for row in rows if row.gain >= _WORTH]
        best = next(iter([*sure, *worth]), None)
        if best is None:
            why = ", ".join(f"{row.strategy} {_gain(row)} ({_within(row)})" for row in rows)
            choices.append(Choice(asked, "", f"no strategy is known to help ({_SOURCE}): {why}"))
        else:
            choices.append(Choice(asked, best.strategy, _in_words(best)))
    taken = {choice.strategy for choice in choices}
    return [choice._replace(why=choice.why + _cost(choice, taken)) for choice in choices]


def evidence(strategy: str) -> str:
    """What was measured of a strategy, in words.

    Example:
        >>> evidence("passages")[:60]
        'facts in new words: -.10 (-.33 to .13, 5 seeds); facts from '
    """
    rows = (row for row in MEASURED if row.strategy == strategy)
    return "; ".join(f"{ASKED[row.asked]}: {_gain(row)} ({_within(row)})" for row in rows)


def _cost(choice: Choice, taken: set[str]) -> str:
    """What is taken for other questions, and makes these worse; else all of it is said already."""
    if not choice.strategy:
        return ""
    return "".join(
        f"; but {row.strategy}, selected for others, {_in_words(row)}"
        for row in MEASURED
        if row.strategy in taken and row.asked == choice.asked and row.gain <= -_WORTH
    )


def _in_words(row: Measured) -> str:
    """Such as ``+.03 over the control (-.09 to .14, 5 seeds; a recipe)``."""
    return f"{_gain(row)} over the control ({_within(row)}; {row.source})"


def _gain(row: Measured) -> str:
    return ("+" if row.gain >= 0 else "") + _share(row.gain)


def _within(row: Measured) -> str:
    return f"{_share(row.low)} to {_share(row.high)}, {row.seeds} seeds"


def _share(share: float) -> str:
    return f"{share:.2f}".replace("0.", ".", 1)
