"""Measured effects of the strategies on each kind of question, and the choice based on them.

:data:`MEASURED` is read from the TOML file beside this module; :func:`choose`
implements the strategy ``auto`` of :func:`~inweights.audit.augment`, and
:func:`evidence` returns the text about a strategy that the command line prints.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from inweights.config import load_toml
from inweights.errors import check_names

#: Descriptions of the kinds of questions for which a strategy can be chosen, by kind.
ASKED = {
    "recall": "facts in new words",
    "reverse": "facts from their object",
    "composition": "two facts, directly",
    "steps": "two facts, one after the other",
}


class Measured(NamedTuple):
    """One measurement of a strategy on one kind of question.

    Attributes:
        strategy: Name of the strategy.
        asked: Kind of question, a key of :data:`ASKED`, such as ``recall``.
        gain: Median, over the seeds, of the difference between the accuracy with the
            strategy and the accuracy of a control with the same number of tokens; from
            -1 to 1.
        low: Lower end of the exact 95% interval of the median (order statistics).
        high: Upper end of that interval.
        seeds: Number of seeds.
        source: Source of the measurement, and its limitations.
    """

    strategy: str
    asked: str
    gain: float
    low: float
    high: float
    seeds: int
    source: str


_FOUND = load_toml(Path(__file__).with_suffix(".toml"))
_SOURCE: str = _FOUND["source"]
_NOTES: dict[str, dict[str, str]] = _FOUND["notes"]
#: Description of the model and facts with which the strategies were measured. Results
#: may differ for other models.
MEASURED_ON: str = _FOUND["on"]


def _measured() -> Iterator[Measured]:
    """Yield the measurements of the TOML file, strategy by strategy."""
    for strategy, gains in _FOUND["gains"].items():
        notes = _NOTES.get(strategy, {})
        for asked in ASKED:
            gain, low, high = gains[asked]
            source = "; ".join(filter(None, (_SOURCE, notes.get(asked))))
            yield Measured(strategy, asked, gain, low, high, _FOUND["seeds"], source)


#: All measurements.
MEASURED = tuple(_measured())
#: Smallest median gain for which a strategy is chosen even if its interval contains 0,
#: and smallest loss that is reported.
_WORTH = 0.1


class Choice(NamedTuple):
    """The strategy chosen for one kind of question, if any, and the reason.

    Attributes:
        asked: Kind of question, a key of :data:`ASKED`.
        strategy: Name of the strategy; empty if none is known to help.
        why: Text that states the measurements on which the choice is based.
    """

    asked: str
    strategy: str
    why: str


def choose(wanted: Sequence[str]) -> list[Choice]:
    """Return the strategy with the best measured effect for each kind of question.

    For each kind, this is the strategy with the largest median gain in accuracy among
    those whose whole 95% interval lies above 0. If there is none, it is the strategy
    with the largest median gain, provided that this gain is at least 0.1. Otherwise no
    strategy is chosen.

    Args:
        wanted: Kinds of questions: ``recall``, ``reverse``, ``composition`` or
            ``steps`` (the keys of :data:`ASKED`).

    Returns:
        One :class:`Choice` for each kind, in the order of ``wanted`` without
        repetitions. Its ``strategy`` is empty if none is chosen, and ``why`` states the
        measurements.

    Raises:
        ConfigError: A kind of question is unknown.

    Example:
        >>> for choice in choose(["composition", "reverse"]):
        ...     print(choice.asked, choice.strategy, choice.why[:50])
        composition derive +.75 over the control (.33 to 1.00, 8 seeds; recip
        reverse  no strategy is known to help (recipe beyond/which-
    """
    choices = []
    check_names("kind of question", wanted, ASKED)
    for asked in dict.fromkeys(wanted):
        rows = sorted(
            (row for row in MEASURED if row.asked == asked), key=lambda row: -row.gain
        )
        sure = [row for row in rows if row.low > 0]
        worth = [row for row in rows if row.gain >= _WORTH]
        best = next(iter([*sure, *worth]), None)
        if best is None:
            why = ", ".join(
                f"{row.strategy} {_gain(row)} ({_within(row)})" for row in rows
            )
            choices.append(
                Choice(asked, "", f"no strategy is known to help ({_SOURCE}): {why}")
            )
        else:
            choices.append(Choice(asked, best.strategy, _in_words(best)))
    taken = {choice.strategy for choice in choices}
    return [
        choice._replace(why=choice.why + _cost(choice, taken)) for choice in choices
    ]


def evidence(strategy: str) -> str:
    """Return a text that states the measured effect of a strategy on each kind of question.

    Args:
        strategy: Name of a strategy of :func:`~inweights.audit.augment`. An unknown
            name is treated as a strategy that was not measured.

    Returns:
        A text that lists, for each kind of question, the gain in accuracy (a fraction)
        over a control with the same number of tokens, and its 95% interval, separated
        by semicolons. If there is no measurement, the text states that the strategy was
        not measured.
    """
    rows = (row for row in MEASURED if row.strategy == strategy)
    said = "; ".join(
        f"{ASKED[row.asked]}: {_gain(row)} ({_within(row)})" for row in rows
    )
    return (
        said or "not measured; 'inweights compare-training' measures it on your facts"
    )


def _cost(choice: Choice, taken: set[str]) -> str:
    """Describe the measured harm that strategies chosen for other kinds of questions cause.

    Args:
        choice: The choice for this kind of question.
        taken: Names of the strategies that are chosen for other kinds.

    Returns:
        A text to append to the reason; empty if no strategy is chosen, or if none
        lowers the accuracy on this kind by 0.1 or more.
    """
    if not choice.strategy:
        return ""
    return "".join(
        f"; but {row.strategy}, selected for others, {_in_words(row)}"
        for row in MEASURED
        if row.strategy in taken and row.asked == choice.asked and row.gain <= -_WORTH
    )


def _in_words(row: Measured) -> str:
    """Return a measurement in words, such as ``+.03 over the control (-.09 to .14, 5 seeds)``."""
    return f"{_gain(row)} over the control ({_within(row)}; {row.source})"


def _gain(row: Measured) -> str:
    return ("+" if row.gain >= 0 else "") + _share(row.gain)


def _within(row: Measured) -> str:
    return f"{_share(row.low)} to {_share(row.high)}, {row.seeds} seeds"


def _share(share: float) -> str:
    return f"{share:.2f}".replace("0.", ".", 1)
