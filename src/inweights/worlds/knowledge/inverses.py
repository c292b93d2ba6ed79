"""Find relations that state the same facts in opposite directions: ``parent`` and ``child``.

The questions of the kind ``reversal`` (:mod:`~inweights.worlds.knowledge.questions`)
use :func:`inverses`.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

#: Smallest number of facts stated in both directions that make two relations inverses.
TURNED = 2
#: Smallest fraction of these among the facts that could be stated in both directions.
SHARE = 0.5

#: Subject, relation and object of each fact.
Rows = Sequence[tuple[int, int, int]]


def inverses(rows: Rows) -> dict[int, list[int]]:
    """Find the inverse relations of each relation.

    Two relations are inverse if at least two facts, and at least half of all possible
    ones, are stated in both directions. A fact could be stated in both directions if
    its object is the subject of a fact of the other relation. If there are several
    candidates, the one with the most facts stated in both directions is chosen. If
    several candidates have this number, all of them are chosen, so that the result does
    not depend on the order of the facts. A symmetric relation is its own inverse.

    Args:
        rows: Subject, relation and object of the facts, as integers.

    Returns:
        A dictionary with a list of inverses for each relation that has any.

    Example:
        >>> inverses([(1, 8, 2), (2, 9, 1), (3, 8, 4), (4, 9, 3), (5, 8, 6)])
        {8: [9], 9: [8]}
    """
    back = _stated_back(rows)
    often = [(pair, count) for pair, count in back.most_common() if count >= TURNED]
    candidates: defaultdict[int, list[int]] = defaultdict(list)
    for (relation, other), _ in often:
        candidates[relation].append(other)
    starts = _could_be_stated_back(rows, candidates)
    best: dict[int, list[int]] = {}
    for (relation, other), count in often:  # most facts first
        if count < SHARE * starts[relation, other]:
            continue
        found = best.setdefault(relation, [])
        if not found or count == back[relation, found[0]]:
            found.append(other)
    return best


def _stated_back(rows: Rows) -> Counter[tuple[int, int]]:
    """Count, for each pair of relations, the facts of one that the other states in reverse."""
    by_ends: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for subject, relation, thing in rows:
        by_ends[subject, thing].append(relation)
    back: Counter[tuple[int, int]] = Counter()
    for subject, relation, thing in rows:
        if subject != thing:
            for other in by_ends.get((thing, subject), ()):
                back[relation, other] += 1
    return back


def _could_be_stated_back(
    rows: Rows, candidates: Mapping[int, Sequence[int]]
) -> Counter[tuple[int, int]]:
    """Count, for each pair of relations, facts of one whose object is a subject of the other."""
    has: defaultdict[int, set[int]] = defaultdict(set)
    for subject, relation, _ in rows:
        has[subject].add(relation)
    starts: Counter[tuple[int, int]] = Counter()
    for subject, relation, thing in rows:
        if subject == thing or thing not in has:
            continue
        for other in candidates.get(relation, ()):
            if other in has[thing]:
                starts[relation, other] += 1
    return starts
