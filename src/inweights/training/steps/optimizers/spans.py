"""Columns of the parameter matrix, and groups of replicas, that are updated in the same way.

Both the built-in optimizers and users' optimizers group their work with these
functions. A span is a pair: the first column (or replica), and the one after the last.
Shapes: ``R`` replicas, ``P`` parameters of one replica.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from inweights.training.curriculum import Optimizer
from inweights.training.steps.flat_parameters import FlatParameters

#: A range of columns: the first column, and the one after the last.
Span = tuple[int, int]


def decays_of(
    flat: FlatParameters, spans: Sequence[Span], one: Optimizer
) -> list[tuple[list[Span], float]]:
    """Split columns into those with and those without weight decay.

    Args:
        flat: Parameters, which determine the columns that belong to matrices.
        spans: The columns to split, as pairs of the first column and the column after
            the last.
        one: Settings of the optimizer, of which the weight decay and ``decayed`` are
            used.

    Returns:
        At most two pairs: the columns with weight decay and its coefficient, and the
        columns without, with the coefficient 0. A pair without columns is left out. If
        weight decay applies to all parameters, or to none, there is only one pair.
    """
    count = flat.values.shape[1]
    split = count
    if one.weight_decay and one.decayed == "matrices":
        # Columns of matrices come first, so that the decay ends at one column.
        split = flat.matrices
    parts = (
        (within(spans, 0, split), one.weight_decay or 0.0),
        (within(spans, split, count), 0.0),
    )
    return [(part, decay) for part, decay in parts if part]


def within(spans: Iterable[Span], first: int, last: int) -> list[Span]:
    """Return the parts of spans that lie within a range of columns.

    Args:
        spans: Pairs of a first column, and the column after the last one.
        first: First column of the range.
        last: The column after the last one of the range.

    Example:
        >>> within([(0, 3), (5, 9)], 2, 6)
        [(2, 3), (5, 6)]
    """
    found = []
    for start, end in spans:
        cut = (max(start, first), min(end, last))
        if cut[0] < cut[1]:
            found.append(cut)
    return found


def joined(spans: Iterable[Span]) -> list[Span]:
    """Return spans in the same order, with adjacent spans merged.

    Args:
        spans: Pairs of a first column, and the column after the last one, in increasing
            order.

    Example:
        >>> joined([(0, 3), (3, 5), (7, 9)])
        [(0, 5), (7, 9)]
    """
    found: list[Span] = []
    for start, end in spans:
        if found and found[-1][1] == start:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found


def equal_runs(settings: Sequence[Optimizer]) -> list[Span]:
    """Return the spans of neighbouring replicas with equal settings.

    Args:
        settings: Settings of each replica, at least one.

    Returns:
        Pairs of the first replica of a span, and the replica after the last one.

    Example:
        >>> slow, fast = Optimizer(rate=0.1), Optimizer(rate=0.2)
        >>> equal_runs([slow, slow, fast])
        [(0, 2), (2, 3)]
    """
    cuts = [i for i in range(1, len(settings)) if settings[i] != settings[i - 1]]
    return list(zip([0, *cuts], [*cuts, len(settings)], strict=True))
