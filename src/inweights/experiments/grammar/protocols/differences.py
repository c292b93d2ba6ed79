"""Describe the differences between settings and a paper's statements, and summarise them.

:mod:`~.compare` creates a :class:`Difference` for every setting. :func:`protocol_of`
determines how close some trials are to the paper's protocol, and :func:`table_of`
returns rows for pages.
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

#: Origin of the value of a setting: the paper states it (*paper*), the paper's code has
#: it (*code*), it is a smaller size than in the paper, to save time (*smaller*), or it
#: is our choice, since the paper states no value or we chose another one (*ours*). The
#: value *unclassified* is an error, for which a test searches.
Whose = Literal["paper", "code", "smaller", "ours", "unclassified"]
#: Descriptions of the origins on pages.
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
        whose: Origin of the value: ``paper`` (stated in the paper), ``code`` (from the
            paper's code), ``smaller`` (a smaller size than in the paper), ``ours`` (our
            own choice) or ``unclassified``. The last one is an error: neither the
            paper's protocol file nor :func:`~.protocol_file.absent` mentions the
            setting.
        stated: What the paper and its code state; ``None`` if neither mentions the
            setting.
        reason: Reason for our own choice of the value; ``None`` for other values, or if
            no reason is given.
    """

    leaf: str
    value: Any
    whose: Whose
    stated: PaperSetting | None = None
    reason: Reason | None = None

    @property
    def against(self) -> bool:
        """Whether the value is our choice although the paper or its code states a different value.

        This includes a setting, such as dropout, that neither of them mentions, but
        that has an effect with our value.
        """
        return self.whose == "ours" and not (self.stated and self.stated.open)

    @property
    def size(self) -> bool:
        """Whether the setting is a size whose value is smaller than in the paper.

        This includes our choice of a size that neither the paper nor its code states.
        """
        lost = self.stated is not None and self.stated.size and self.stated.open
        return self.whose == "smaller" or (self.whose == "ours" and lost)

    @property
    def part(self) -> str:
        """First word of the setting's path, such as ``model`` for ``model.width``.

        The word is ``world``, ``model``, ``learner``, ``measure``, ``compute`` or
        ``seeds``.
        """
        return self.leaf.partition(".")[0]


@dataclass(frozen=True)
class DifferenceRow:
    """Row of a table that compares the settings of trials with what a paper states.

    Trials with the same value, origin, statement and reason share one row.

    Attributes:
        setting: Path of the setting, without the indices of lists.
        value: Value of the setting in this library, as text.
        whose: Origin of the value: ``paper`` (stated in the paper), ``code`` (from its
            code), ``smaller`` (a smaller size), ``ours`` (our own choice) or
            ``unclassified`` (not mentioned anywhere, which is an error).
        stated: Text that says what the paper and its code state; ``not mentioned`` if
            they do not mention the setting.
        why: Reason for our own choice of the value; otherwise empty.
    """

    setting: str
    value: str
    whose: Whose
    stated: str
    why: str


def protocol_of(trials: Iterable[Sequence[Difference]]) -> Protocol:
    """Return how closely some trials follow the paper's protocol.

    Args:
        trials: The comparisons of the settings of each trial or computation, as
            returned by :func:`~.compare.compare`.

    Returns:
        ``exact`` if no setting differs from the paper and its code (settings that both
        leave open may have any value), or if there are no trials. ``substitute`` if the
        world, the model or a computation differs in more than size. ``scaled``
        otherwise: sizes are smaller, sizes are stated neither in the text nor in the
        code, or the training differs. Measures and the number of seeds are ignored,
        except that smaller sizes among them count as ``scaled``.
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
    """Return a table that compares the settings of trials with what a paper states.

    The rows are ordered by the origin of the value: settings that are not classified;
    our own choices (values that the paper does not state, or that differ from the
    paper's values); smaller sizes; values as in the paper's code; and values as in the
    paper.

    Args:
        trials: The comparisons of the settings of each trial, as returned by
            :func:`~.compare.compare`.

    Returns:
        One :class:`DifferenceRow` for each combination of setting, value, origin,
        statement and reason. Rows of the same origin are ordered by path, then by value
        as text. The path has no indices of lists, so that equal phases share a row.

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
    # A dictionary keeps the order of the trials. A set would order rows by the hashes
    # of their strings, which differ between processes.
    rows: dict[DifferenceRow, None] = {}
    for trial in trials:
        for one in trial:
            rows[_row(one)] = None
    return sorted(rows, key=lambda row: (order[row.whose], row.setting, row.value))


def _row(one: Difference) -> DifferenceRow:
    """Return the row of one setting, without the indices of lists in its path."""
    return DifferenceRow(
        setting=re.sub(r"\.\d+(?=\.)", "", one.leaf),
        value=in_words(one.value),
        whose=one.whose,
        stated=one.stated.text if one.stated else "not mentioned",
        why=" ".join(one.reason.why.split()) if one.reason else "",
    )
