"""A remark on a file: what a reader assumed, or what somebody should look at."""

import msgspec


class Remark(msgspec.Struct, frozen=True):
    """A remark on a file of facts or edges.

    Attributes:
        kind: What it is about. How the file was read: ``header``, ``order``, ``rows``, ``cells``,
            ``format``, ``encoding`` or ``labels``. What the facts say: ``duplicate``,
            ``contradiction``, ``blank``, ``literal``, ``alias``, ``one-sided``, ``inverse``,
            ``homonym``, or a kind of :data:`inweights.worlds.knowledge.values.KINDS`.
        lines: Lines of the file that it is about; of a pair of relations, a first example.
        text: What it is, in a sentence.
        sure: Whether a reader had no choice, such as a header that says ``subject``; only what
            was guessed is printed.
    """

    kind: str
    lines: tuple[int, ...]
    text: str
    sure: bool = False
