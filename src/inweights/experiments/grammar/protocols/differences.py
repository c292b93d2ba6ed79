"""Differences between settings and the paper's statements, and their summary.

:mod:`~.compare` makes a :class:`Difference` for every setting. :func:`protocol_of`
determines how close some trials are to the paper's protocol, :func:`table_of` makes
rows for pages.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from inweights.experiments.claims.claim import Protocol
from inweights.experiments.grammar.protocols.protocol_file import (
    PaperSetting,
    Reason,
    in_words,
)

#: Whose a setting is: the *paper* states it; it is as in the paper's *code*; it is
#: *smaller* than in the paper, to save time; it is *ours*, as the paper does not state
#: it or we chose otherwise. *unclassified* is an error, which a test looks for.
Whose = Literal["paper", "code", "smaller", "ours", "unclassified"]
#: The same in words.
WHOSE: dict[Whose, str] = {
    "unclassified": "not classified",
    "ours": "ours",
    "smaller": "smaller",
    "code": "as in the code",
    "paper": "as in the paper",
}


@dataclass(frozen=True)
class Difference:
    """One setting, compared with the paper's statement.

    Attributes:
        leaf: Path of the setting, such as ``model.width``.
        value: The value that the library uses.
        whose: Origin of the value: ``paper``, ``code``, ``smaller``, ``ours`` or
            ``unclassified``, as explained at :data:`Whose`.
        stated: What the paper and its code state; ``None`` if they do not mention the
            setting.
        reason: Why we chose the value; ``None`` if the value is not ours, or no reason
            is given.
    """

    leaf: str
    value: Any
    whose: Whose
    stated: PaperSetting | None = None
    reason: Reason | None = None

    @property
    def against(self) -> bool:
        """Whether we chose the value although the paper or its code states another one."""
        return self.whose == "ours" and not (self.stated and self.stated.open)

    @property
    def size(self) -> bool:
        """Whether the value is a smaller size, or a size that neither paper nor code gives."""
        lost = self.stated is not None and self.stated.size and self.stated.open
        return self.whose == "smaller" or (self.whose == "ours" and lost)

    @property
    def part(self) -> str:
        """First word of the path, such as ``world``, ``measure`` or ``seeds``."""
        return self.leaf.partition(".")[0]


@dataclass(frozen=True)
class DifferenceRow:
    """One row of a table of settings; trials with equal value and statement share a row.

    Attributes:
        setting: Path of the setting, such as ``model.width``, without indices in lists.
        value: The value that the library uses, in words.
        whose: Origin of the value: ``paper`` (stated by the paper), ``code`` (as in the
            paper's code), ``smaller`` (smaller than in the paper, to save time),
            ``ours`` (we chose it) or ``unclassified`` (an error).
        stated: What the paper and its code state about the setting, with the place of
            the statement, in words; ``"not spoken of"`` if they do not mention it.
        why: Why we chose the value; empty if the value is not ours, or no reason is
            given.
    """

    setting: str
    value: str
    whose: Whose
    stated: str
    why: str


def protocol_of(trials: Iterable[Sequence[Difference]]) -> Protocol:
    """Return how near to the paper's protocol some trials are.

    *Exact*: text and code state no other value; what they leave open is ours. *Scaled*:
    the same world and model, but sizes are smaller, or the text lost them, or the
    training is another. *Substitute*: world or model differ in more than size.

    Args:
        trials: The differences of each trial.
    """
    nearest: Protocol = "exact"
    for trial in trials:
        other = {one.part for one in trial if one.against} - {"measure", "seeds"}
        if other - {"learner"}:
            return "substitute"
        if other or any(one.size for one in trial):
            nearest = "scaled"
    return nearest


def table_of(trials: Iterable[Sequence[Difference]]) -> list[DifferenceRow]:
    """Return a table of settings without duplicate rows, in which values that we chose come first.

    The order is that of ``whose``: ``unclassified``, ``ours``, ``smaller``, ``code``,
    ``paper``. Within a group, rows are sorted by setting and value.

    Args:
        trials: The differences of each trial, as :mod:`~.compare` makes them.

    Returns:
        One row per setting and value. The fields of a row are explained at
        :class:`DifferenceRow`.

    Example:
        >>> from inweights.experiments.grammar.protocols.compare import compare
        >>> from inweights.recipes import get_recipe
        >>> rows = table_of(compare(get_recipe("geometric-memory/c3"), "cpu"))
        >>> [(row.value, row.stated) for row in rows if row.whose == "smaller"][1]
        ('500', 'lost in the text at hand (B.3); code: 1000 (tiny_neural_network.ipynb:1657)')
    """
    order: dict[Whose, int] = {
        "unclassified": 0,
        "ours": 1,
        "smaller": 2,
        "code": 3,
        "paper": 4,
    }
    # Rows of equal setting and value stay in the order of the trials: a set would order
    # them by the hash of their texts, which is another in every process.
    rows: dict[DifferenceRow, None] = {}
    for trial in trials:
        for one in trial:
            rows[_row(one)] = None
    return sorted(rows, key=lambda row: (order[row.whose], row.setting, row.value))


def _row(one: Difference) -> DifferenceRow:
    """Return the row of one setting, with indices of lists removed from its path."""
    return DifferenceRow(
        setting=re.sub(r"\.\d+(?=\.)", "", one.leaf),
        value=in_words(one.value),
        whose=one.whose,
        stated=one.stated.text if one.stated else "not spoken of",
        why=" ".join(one.reason.why.split()) if one.reason else "",
    )
