"""Say where a number should lie: the range of a score, and how near to its edge rounding matters.

:class:`Target` is one half of what a claim asserts, the other is
:class:`~inweights.experiments.claims.score.Score`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from inweights.config import Config
from inweights.errors import ConfigError

#: Two numbers that differ by this share of their size or less differ by rounding alone.
#: A share in single precision is off by 6e-8 at most, and a difference of two shares by
#: twice as much.
ROUNDING = 1e-6


@dataclass(frozen=True)
class Rounding:
    """How near to an edge of a target a number counts as lying on it.

    Attributes:
        share: Tolerance relative to the size of the compared values; 0 compares to the
            last bit.
        size: Size of the numbers that were rounded, where it may be more than the
            edge's own: 1 for shares and for differences of shares.

    Example:
        >>> Rounding(size=1.0).at(0.1), Rounding().at(0.1), Rounding(share=0.0).at(0.1)
        (1e-06, 1e-07, 0.0)
    """

    share: float = ROUNDING
    size: float = 0.0

    def at(self, edge: float) -> float:
        """Return the distance within which a number counts as equal to a boundary of the target."""
        return self.share * max(abs(edge), self.size)


_USUAL = Rounding()


class Target(Config):
    """The range of a score, its edges included.

    Attributes:
        least: Lower edge; ``None`` for no lower edge.
        most: Upper edge; ``None`` for no upper edge.

    Raises:
        ConfigError: Both are left out, or the lower edge is above the upper one.

    Example:
        >>> Target(least=0.9).text, Target(most=0.15).text, Target(least=0.35, most=0.75).text
        ('≥ 0.9', '≤ 0.15', '0.35 to 0.75')
    """

    least: float | None = None
    most: float | None = None

    def __post_init__(self) -> None:
        if self.least is None and self.most is None:
            raise ConfigError("a target needs a least or a most value")
        if self.least is not None and self.most is not None and self.least > self.most:
            raise ConfigError(f"a target from {self.least:g} to {self.most:g} is empty")

    @property
    def text(self) -> str:
        """The target in words."""
        if self.least is None:
            return f"≤ {self.most:g}"
        if self.most is None:
            return f"≥ {self.least:g}"
        return f"{self.least:g} to {self.most:g}"

    def contains(self, low: float, high: float, rounding: Rounding = _USUAL) -> bool:
        """Return whether all numbers from ``low`` to ``high`` lie in the target.

        Args:
            low: Least of these numbers.
            high: Largest of them.
            rounding: How near to an edge a number lies on it.

        Example:
            >>> Target(least=0.9).contains(0.8999999762, 1.0), Target(least=0.9).contains(0.89, 1.0)
            (True, False)
        """
        return not self.falls_short(low, rounding) and not self.exceeds(high, rounding)

    def falls_short(self, value: float, rounding: Rounding = _USUAL) -> bool:
        """Return whether ``value`` is less than the lower edge, by more than rounding.

        Args:
            value: The number.
            rounding: How near to an edge a number lies on it.
        """
        return self.least is not None and value < self.least - rounding.at(self.least)

    def exceeds(self, value: float, rounding: Rounding = _USUAL) -> bool:
        """Return whether ``value`` is more than the upper edge, by more than rounding.

        Args:
            value: The number.
            rounding: How near to an edge a number lies on it.
        """
        return self.most is not None and value > self.most + rounding.at(self.most)

    def distance(self, value: float) -> float:
        """Return the distance from a value to the nearest edge; negative outside the target."""
        low = math.inf if self.least is None else value - self.least
        high = math.inf if self.most is None else self.most - value
        return float(min(low, high))
