"""Find similar spellings of one name, and facts that symmetric or inverse relations imply.

:func:`near_spellings` compares names by edits and then decides from the facts whether
two names can mean the same entity; :func:`missing_rows` finds facts that another fact
implies. :func:`~inweights.audit.mend` and the findings of an audit use both.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from inweights.audit.correction.edits import similar_names
from inweights.audit.correction.kinds import EntityKinds
from inweights.support.progress import plural
from inweights.worlds.world import Ids

#: A relation is an inverse of another one if it states at least _TURNED of the other's
#: facts in reverse (_HALF, if these are at least _TURNED of its own facts), and at
#: least _PAIRS facts.
_TURNED = 0.6
_HALF = 0.5
_PAIRS = 2


class Near(NamedTuple):
    """Two names that may mean the same entity.

    Attributes:
        name: Index of the rarer name.
        other: Index of the more common name.
        why: Text that states how the names differ, and the evidence from their facts.
        agree: Number of agreements between their facts (:meth:`.EntityKinds.evidence`);
            0 if ``torn``.
        sure: Whether the rarer name can be replaced without asking the owner of the
            facts. This requires that no fact contradicts the replacement, and that one
            of three conditions holds: the rarer name lacks a relation that other
            entities of its kind have, it has a relation that the more common name
            lacks, or it occurs only as an object.
        torn: Whether the evidence is mixed: the names have different values of a
            relation that normally has one value, but the rarer name occurs in only one
            fact and lacks relations that other entities of its kind have. Then either
            one value is wrong, or the names mean two entities.
    """

    name: int
    other: int
    why: str
    agree: int
    sure: bool
    torn: bool = False


def near_spellings(names: Sequence[str], triples: Ids) -> list[Near]:
    """Return pairs of names of the same kind that differ by one or two edits, or by an initial.

    If several pairs have the same rarer name, at most one of them is marked ``sure``:
    the pair with the most agreements (:meth:`.EntityKinds.evidence`). If several of
    these pairs have the most agreements, none of them is marked.

    Args:
        names: Names of all entities.
        triples: Subject, relation and object of each of ``M`` facts, as indices, ``[M,
            3]`` (NumPy).

    Returns:
        The pairs. Pairs marked ``sure`` come first, and each group is in descending
        order of the number of agreements.
    """
    kinds = EntityKinds(triples)
    found: list[Near] = []
    for a, b, difference in similar_names(names, np.unique(triples[:, [0, 2]])):
        name, other = sorted((a, b), key=lambda i: (kinds.uses[i], i))
        near = _compare(kinds, name, other, difference)
        if near is not None:
            found.append(near)
    rivals: defaultdict[int, list[int]] = defaultdict(list)
    for near in found:
        rivals[near.name].append(near.agree)
    decided = [
        near._replace(sure=near.sure and _is_best(near, rivals)) for near in found
    ]
    return sorted(decided, key=lambda n: (not n.sure, -n.agree, n.name, n.why, n.other))


def _compare(kinds: EntityKinds, name: int, other: int, difference: str) -> Near | None:
    """Return the evidence about two similar names; ``None`` if they mean two entities."""
    if not kinds.are_alike(name, other):
        return None
    if kinds.conflict(name, other):
        if not kinds.is_incomplete(name, other):
            return None
        text = (
            f"{difference}; it lacks facts that similar names have, but a value differs"
        )
        return Near(name, other, text, 0, sure=False, torn=True)
    agree, sure = kinds.evidence(name, other)
    shared = plural(agree, "fact agrees", "facts agree")
    text = f"{difference}; {shared}" if agree else difference
    return Near(name, other, text, agree, sure)


def _is_best(near: Near, rivals: dict[int, list[int]]) -> bool:
    """Return whether a pair has more agreements than every other pair of the same rarer name."""
    counts = rivals[near.name]
    return near.agree == max(counts) and counts.count(near.agree) == 1


def missing_rows(triples: Ids) -> list[tuple[tuple[int, int, int], int]]:
    """Return facts that symmetric or inverse relations imply, but that are not among the facts.

    Relation ``b`` is considered the inverse of relation ``a`` if it states at least 60%
    of the facts of ``a``, and at least two of them, in the opposite direction. If these
    facts make up at least 60% of the facts of ``b``, 50% of the facts of ``a`` are
    enough. A relation that is its own inverse is symmetric.

    Args:
        triples: Subject, relation and object of each of ``M`` facts, as indices, ``[M,
            3]`` (NumPy).

    Returns:
        A pair for each missing fact: the fact ``(subject, relation, object)``, as
        indices of names, and the index of the first fact that implies it.
    """
    stated: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
    size: Counter[int] = Counter()
    for s, r, o in triples.tolist():
        if s != o:
            stated[s, o].add(r)
            size[r] += 1
    both: Counter[tuple[int, int]] = Counter()
    for (s, o), relations in stated.items():
        both.update(product(relations, stated.get((o, s), ())))
    inverses = _inverses(both, size)
    lacking: dict[tuple[int, int, int], int] = {}
    for i, (s, r, o) in enumerate(triples.tolist()):
        for inverse in inverses.get(r, ()):
            if s != o and inverse not in stated.get((o, s), ()):
                lacking.setdefault((o, inverse, s), i)
    return list(lacking.items())


def _inverses(
    both: Counter[tuple[int, int]], size: Counter[int]
) -> dict[int, list[int]]:
    """Return the inverses of each relation; a symmetric relation is an inverse of itself.

    Args:
        both: For each pair of relations, the number of facts of the first that the
            second states in the opposite direction.
        size: Number of facts of each relation.
    """
    inverses: defaultdict[int, list[int]] = defaultdict(list)
    for (relation, other), count in both.items():
        other_is_covered = count >= _TURNED * size[other]
        least_share = _HALF if other_is_covered else _TURNED
        if count >= max(_PAIRS, least_share * size[relation]):
            inverses[relation].append(other)
    return inverses
