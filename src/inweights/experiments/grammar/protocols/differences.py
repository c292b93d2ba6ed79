"""Describe the differences between settings and a paper's statements, and summarise them.

:mod:`~.compare` makes a :class:`Difference` for every setting. :func:`protocol_of`
determines how close some trials are to the paper's protocol, and :func:`table_of` makes
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
    """Comparison of one setting with the statements of the paper and its code.

    Attributes:
        leaf: Path of the setting, such as ``model.width``, ``measure.NAME`` (whether a
            probe is used) or ``seeds``.
        value: Value of the setting in this library; ``none`` for ``None``, and the name
            of a function or class.
        whose: Origin of the value: ``paper``, as the paper states; ``code``, as in the
            paper's code; ``smaller``, a smaller size than the paper's; ``ours``, our
            own choice; ``unclassified``, if neither the paper's protocol file nor
            :func:`~.protocol_file.absent` mentions the setting, which is an error.
        stated: What the paper and its code state; ``None`` if neither mentions the
            setting.
        reason: Reason for a value of ours; ``None`` for other values, or if no reason
            is given.
    """

    leaf: str
    value: Any
    whose: Whose
    stated: PaperSetting | None = None
    reason: Reason | None = None

    @property
    def against(self) -> bool:
        """Whether the value is our choice although the paper or its code states another.

        A setting that neither mentions but that has an effect, such as dropout, counts
        as well.
        """
        return self.whose == "ours" and not (self.stated and self.stated.open)

    @property
    def size(self) -> bool:
        """Whether the value is a smaller size, or a size that neither text nor code gives."""
        lost = self.stated is not None and self.stated.size and self.stated.open
        return self.whose == "smaller" or (self.whose == "ours" and lost)

    @property
    def part(self) -> str:
        """First word of the path.

        It is ``world``, ``model``, ``learner``, ``measure``, ``compute`` or ``seeds``.
        """
        return self.leaf.partition(".")[0]


@dataclass(frozen=True)
class DifferenceRow:
    """Row of a table of differences; trials with the same value and statement share one row.

    Attributes:
        setting: Path of the setting, without the indices of lists.
        value: Value of the setting in this library, as text.
        whose: Origin of the value: ``paper``, ``code``, ``smaller``, ``ours`` or
            ``unclassified``, as :class:`Difference` explains.
        stated: What the paper and its code state, as text; ``not mentioned`` for
            nothing.
        why: Reason for a value of ours; otherwise empty.
    """

    setting: str
    value: str
    whose: Whose
    stated: str
    why: str


def protocol_of(trials: Iterable[Sequence[Difference]]) -> Protocol:
    """Return how closely some trials follow the paper's protocol.

    Args:
        trials: The differences of each trial or computation, as
            :func:`~.compare.compare` returns them.

    Returns:
        ``exact`` if the paper and its code state no other values (what they leave open
        is our choice), or if there are no trials. ``scaled`` if world and model are the
        same but sizes are smaller or missing in the text, or if the training differs.
        ``substitute`` if the world, the model or a computation differs in more than
        size. Measures and the number of seeds do not count.
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
    """Return the rows of a table of differences, without repetitions, our own choices first.

    Our own choices are values that the paper does not state, or that differ from it.
    They are followed by smaller sizes, then by values as in the paper's code, then by
    values as in the paper. Settings that are not classified come first of all.

    Args:
        trials: The differences of each trial, as :func:`~.compare.compare` returns
            them.

    Returns:
        One row for each setting with the same value, statement and reason
        (:class:`DifferenceRow`), ordered by origin, then by path, then by value as
        text.

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
    """Return the row of one setting, whose path has no indices of lists."""
    return DifferenceRow(
        setting=re.sub(r"\.\d+(?=\.)", "", one.leaf),
        value=in_words(one.value),
        whose=one.whose,
        stated=one.stated.text if one.stated else "not mentioned",
        why=" ".join(one.reason.why.split()) if one.reason else "",
    )
