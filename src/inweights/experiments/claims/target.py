"""Describe the range in which a number should lie, with a tolerance for rounding at its ends.

A claim asserts that a :class:`~inweights.experiments.claims.score.Score` lies in a
:class:`Target`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from inweights.config import Config
from inweights.errors import ConfigError

#: Numbers whose relative difference is at most this are considered equal except for
#: rounding. The rounding error of a share in single precision is at most 6e-8, and that
#: of a difference of two shares at most twice as large.
ROUNDING = 1e-6


@dataclass(frozen=True)
class Rounding:
    """Tolerance within which a number is considered equal to an end of a target range.

    Attributes:
        share: Tolerance relative to the size of the compared numbers, by default a
            millionth. If it is 0, the numbers are compared exactly.
        size: Absolute size of the numbers that were rounded, such as 1 for shares and
            differences of shares. It has an effect only on ends whose absolute value is
            smaller. If it is 0 (the default), the absolute value of the end is used
            instead.

    Example:
        >>> Rounding(size=1.0).at(0.1), Rounding().at(0.1), Rounding(share=0.0).at(0.1)
        (1e-06, 1e-07, 0.0)
    """

    share: float = ROUNDING
    size: float = 0.0

    def at(self, edge: float) -> float:
        """Return the tolerance at one end of a target range, in the unit of the score.

        The tolerance is :attr:`share` times the larger of two numbers: the absolute
        value of the end, and :attr:`size`.

        Args:
            edge: The end of the target range.
        """
        return self.share * max(abs(edge), self.size)


_USUAL = Rounding()


class Target(Config):
    """Range of a score, including its ends.

    Attributes:
        least: Smallest value in the range; ``None`` for no lower limit.
        most: Largest value in the range; ``None`` for no upper limit.

    Raises:
        ConfigError: Neither end is given, an end is NaN, or ``least`` is larger than
            ``most``.

    Example:
        >>> Target(least=0.9).text, Target(most=0.15).text, Target(least=0.35, most=0.75).text
        ('≥ 0.9', '≤ 0.15', '0.35 to 0.75')
    """

    least: float | None = None
    most: float | None = None

    def __post_init__(self) -> None:
        if self.least is None and self.most is None:
            raise ConfigError(
                "a target needs a smallest value ('least') or a largest value ('most')"
            )
        if self.least != self.least or self.most != self.most:
            raise ConfigError("the ends of a target must be numbers, got nan")
        if self.least is not None and self.most is not None and self.least > self.most:
            raise ConfigError(
                f"a target from {self.least:g} to {self.most:g} contains no number"
            )

    @property
    def text(self) -> str:
        """The target's range as text, such as ``≥ 0.9``, ``≤ 0.15`` or ``0.35 to 0.75``."""
        if self.least is None:
            return f"≤ {self.most:g}"
        if self.most is None:
            return f"≥ {self.least:g}"
        return f"{self.least:g} to {self.most:g}"

    def contains(self, low: float, high: float, rounding: Rounding = _USUAL) -> bool:
        """Return whether all numbers from ``low`` to ``high`` lie in the target's range.

        Args:
            low: The smallest of the numbers.
            high: The largest of the numbers.
            rounding: Tolerance within which a number is considered equal to an end of
                the range; by default a millionth of that end.

        Example:
            >>> Target(least=0.9).contains(0.8999999762, 1.0), Target(least=0.9).contains(0.89, 1.0)
            (True, False)
        """
        return not self.falls_short(low, rounding) and not self.exceeds(high, rounding)

    def falls_short(self, value: float, rounding: Rounding = _USUAL) -> bool:
        """Return whether a number is below the target's range by more than the tolerance.

        The result is false if the range has no lower limit.

        Args:
            value: The number.
            rounding: Tolerance within which a number is considered equal to an end of
                the range; by default a millionth of that end.
        """
        return self.least is not None and value < self.least - rounding.at(self.least)

    def exceeds(self, value: float, rounding: Rounding = _USUAL) -> bool:
        """Return whether a number is above the target's range by more than the tolerance.

        The result is false if the range has no upper limit.

        Args:
            value: The number.
            rounding: Tolerance within which a number is considered equal to an end of
                the range; by default a millionth of that end.
        """
        return self.most is not None and value > self.most + rounding.at(self.most)

    def distance(self, value: float) -> float:
        """Return the signed distance from a number to the nearest end of the target's range.

        The distance is negative if the number is outside the range. An end that is
        ``None`` is ignored. There is no tolerance for rounding.

        Args:
            value: The number.
        """
        low = math.inf if self.least is None else value - self.least
        high = math.inf if self.most is None else self.most - value
        return float(min(low, high))
