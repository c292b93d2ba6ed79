"""Remarks on a file: what a reader assumed, or what the user should check.

Readers return :class:`Remark` objects with the facts; commands print the important
ones.
"""

import msgspec


class Remark(msgspec.Struct, frozen=True):
    """A remark on a file of facts or edges.

    Attributes:
        kind: Topic of the remark. Remarks on how the file was read have the kind
            ``header``, ``order``, ``columns``, ``rows``, ``cells``, ``format``,
            ``encoding`` or ``labels``. Remarks on the facts have the kind
            ``duplicate``, ``contradiction``, ``blank``, ``literal``, ``alias``,
            ``one-sided``, ``inverse``, ``homonym``, or a kind of
            :data:`inweights.worlds.knowledge.checks.values.KINDS`.
        lines: Lines of the file to which the remark refers; for a pair of relations,
            the lines of an example.
        text: Text of the remark.
        sure: Whether the remark is certain, for example because a column is named
            ``subject``. Among the remarks on how a file was read, only uncertain ones
            (guesses) are printed.
    """

    kind: str
    lines: tuple[int, ...]
    text: str
    sure: bool = False
