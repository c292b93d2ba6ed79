"""Find near spellings of one name, and rows that a symmetric or inverse relation lacks.

:func:`near_spellings` compares names by edits and then asks the facts whether two names can be
one entity; :func:`missing_rows` finds facts that another one implies.
:func:`~inweights.audit.mend` and the findings of an audit use both.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from inweights.worlds.knowledge.names import is_literal, is_nothing
from inweights.worlds.readers.headers import without_accents
from inweights.worlds.world import Ids

#: Shortest names that may differ in one edit, and in two.
_SHORTEST = (5, 8)
#: Share of the entities of a kind that makes a rule of what they have, and their least number.
_RULE, _FEWEST = 0.75, 3
#: Uses of a misspelt name, at most; of a value that begins no fact, those of the other, at least.
_RARE, _COMMON = 2, 3
#: Share of the facts of a relation that another one states turned, and their least number. Where
#: nearly all of the other are, half will do.
_TURNED, _HALF, _PAIRS = 0.6, 0.5, 2

#: Names in a bucket, at most: more differ in a number or letter that counts.
_MOST = 12
#: Names from which on only one edit is looked for.
_MANY = 5000

Role = tuple[int, int]


class Near(NamedTuple):
    """Two names that may be one.

    Attributes:
        name: Number of the rarer one.
        other: Number of the commoner one.
        why: How they differ, and what their facts say.
        agree: How many of their facts say that they are one entity.
        sure: Whether the rarer name can be replaced without asking: no fact speaks against it,
            and it lacks what others of its kind have, or has what the other lacks.
        torn: Whether the two have different values of a relation that normally has one value,
            while the rarer name has no other fact and lacks what others of its kind have. Then
            it is either one name with a wrong value, or two names.
            has no other fact and lacks what others of its kind have: one name, and one of
            the two values wrong, or two names.
    """

    name: int
    other: int
    why: str
    agree: int
    sure: bool
    torn: bool = False


def near_spellings(names: Sequence[str], triples: Ids) -> list[Near]:
    """Return pairs of names that are one or two edits apart, or an initial, and of one kind.

    If a name is near several others, at most one pair is marked sure: that with most facts
    that agree, if it is the only one with so many.

    Args:
        names: Names of all entities.
        triples: Subject, relation and object of each fact, as numbers, ``[M, 3]``.

    Returns:
        The pairs, those that are sure first.
    """
    kinds = _Kinds(triples)
    found: list[Near] = []
    for a, b, how in _pairs(names, np.unique(triples[:, [0, 2]])):
        name, other = sorted((a, b), key=lambda i: (kinds.uses[i], i))
        if not kinds.alike(name, other):
            continue
        if kinds.conflict(name, other):
            if kinds.incomplete(name, other):
                text = f"{how}; it lacks what others have, but a value differs"
                found.append(Near(name, other, text, 0, sure=False, torn=True))
        else:
            agree, sure = kinds.evidence(name, other)
            text = f"{how}; {agree} of their facts agree" if agree else how
            found.append(Near(name, other, text, agree, sure))
    rivals: defaultdict[int, list[int]] = defaultdict(list)
    for near in found:
        rivals[near.name].append(near.agree)
    found = [
        near._replace(sure=near.sure and sorted(rivals[near.name])[-2:].count(near.agree) == 1
                      and near.agree == max(rivals[near.name]))
        for near in found
    ]  # fmt: skip
    return sorted(found, key=lambda n: (not n.sure, -n.agree, n.name, n.why, n.other))


def missing_rows(triples: Ids) -> list[tuple[tuple[int, int, int], int]]:
    """Return facts that symmetric or inverse relations imply and the file does not state.

    A relation counts as symmetric, or as the inverse of another, if most of its facts are also
    stated in the other direction.

    Args:
        triples: Subject, relation and object of each fact, as numbers, ``[M, 3]``.

    Returns:
        Pairs of a missing fact ``(subject, relation, object)`` and the index of the fact that
        implies it.
    """
    said: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
    size: Counter[int] = Counter()
    for s, r, o in triples.tolist():
        if s != o:
            said[s, o].add(r)
            size[r] += 1
    both = Counter(
        (a, b) for (s, o), here in said.items() for a in here for b in said.get((o, s), ())
    )
    turned = defaultdict(list)
    for (a, b), count in both.items():
        whole = a != b and count >= _TURNED * size[b]
        if count >= max(_PAIRS, (_HALF if whole else _TURNED) * size[a]):
            turned[a].append(b)
    lacking: dict[tuple[int, int, int], int] = {}
    for i, (s, r, o) in enumerate(triples.tolist()):
        for b in turned.get(r, ()):
            if s != o and b not in said.get((o, s), ()):
                lacking.setdefault((o, b, s), i)
    return list(lacking.items())


class _Kinds:
    """What entities have: relations that they begin and end, and what others of their kind have."""

    def __init__(self, triples: Ids) -> None:
        self.roles: defaultdict[int, Counter[Role]] = defaultdict(Counter)
        self.values: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
        for s, r, o in triples.tolist():
            self.roles[s][r, 0] += 1
            self.roles[o][r, 2] += 1
            self.values[s, r].add(o)
        self.uses = {entity: own.total() for entity, own in self.roles.items()}
        self.holders = Counter(role for own in self.roles.values() for role in own)
        self.together = Counter(
            pair for own in self.roles.values() for pair in ((p, q) for p in own for q in own)
        )
        single = Counter(r for (_, r), values in self.values.items() if len(values) == 1)
        self.functional = {r for r, count in single.items() if count >= _RULE * self.holders[r, 0]}

    def share(self, having: Role, other: Role) -> float:
        """Share of the entities in one role that are in another, too."""
        return self.together[having, other] / self.holders[having]

    def alike(self, a: int, b: int) -> bool:
        """Whether two are of one kind: in a role that most in a role of the other are in."""
        return any(
            p == q or self.share(p, q) > 0.5 or self.share(q, p) > 0.5
            for p in self.roles[a]
            for q in self.roles[b]
        )

    def conflict(self, a: int, b: int) -> bool:
        """Whether they have different values of a relation that has one, as a rule."""
        own, other = self.roles[a], self.roles[b]
        return any(
            role[1] == 0 and role in other and role[0] in self.functional
            and not self.values[a, role[0]] & self.values[b, role[0]]
            for role in own
        )  # fmt: skip

    def incomplete(self, name: int, other: int) -> bool:
        """Whether the rarer one has one fact, and lacks what others of its kind have."""
        own, theirs = self.roles[name], self.roles[other]
        rule = {q for p in own for q in self.holders if q[1] == 0 and self._ruled(p, q, name)}
        lacking = [q for q in rule if q not in own and q in theirs]
        return bool(lacking) and self.uses[name] == 1 and self.uses[other] >= _COMMON

    def evidence(self, name: int, other: int) -> tuple[int, bool]:
        """How many facts agree, and whether the rarer one is no entity of its own."""
        own, theirs = self.roles[name], self.roles[other]
        agree = sum(
            len(self.values[name, r] & self.values[other, r]) for r, column in own if column == 0
        )
        rule = {q for p in own for q in self.holders if q[1] == 0 and self._ruled(p, q, name)}
        lacks = any(q not in own and q in theirs for q in rule)
        fills = any(
            p[1] == 0 and p not in theirs and any(self._ruled(q, p, name) for q in theirs)
            for p in own
        )
        leaf = not rule and all(column == 2 for _, column in own)
        common = self.uses[other] >= (_COMMON if leaf else 1) * self.uses[name]
        rare = self.uses[name] <= (1 if leaf else _RARE)
        return agree + lacks + fills, rare and common and (lacks or fills or leaf)

    def _ruled(self, having: Role, other: Role, without: int) -> bool:
        """Whether nearly all in a role are in another, one entity apart."""
        mine = self.roles[without]
        both = self.together[having, other] - (having in mine and other in mine)
        count = self.holders[having] - (having in mine)
        return count >= _FEWEST and both >= _RULE * count


def _pairs(names: Sequence[str], used: Ids) -> Iterator[tuple[int, int, str]]:
    """Pairs of names that are near, and how they differ."""
    plain = {
        i: " ".join(without_accents(names[i]).split())
        for i in used.tolist()
        if not is_literal(names[i]) and not is_nothing(names[i])
    }
    seen = set()
    for members in _buckets(plain).values():
        for a, b in combinations(members, 2):
            if (a, b) in seen:
                continue
            seen.add((a, b))
            edits = _edits(plain[a], plain[b])
            longest = max(len(plain[a]), len(plain[b]))
            if 0 < edits <= sum(longest >= least for least in _SHORTEST) and _words(plain, a, b):
                yield a, b, f"{edits} letter{'s' if edits > 1 else ''} apart"
    short: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for i, name in plain.items():
        first, _, rest = name.partition(" ")
        if len(first.rstrip(".")) > 1 and rest:
            short[first[0], rest].append(i)
    for i, name in plain.items():
        first, _, rest = name.partition(" ")
        full = short.get((first[0], rest), []) if len(first.rstrip(".")) == 1 and rest else []
        for other in full:
            yield min(i, other), max(i, other), "an initial"


def _buckets(plain: dict[int, str]) -> dict[str, list[int]]:
    """Names that are alike but for one or two letters that are left out of each."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    edits = _SHORTEST if len(plain) <= _MANY else _SHORTEST[:1]
    for i, name in plain.items():
        keys = {name}
        for least in edits:
            if len(name) >= least - 1:
                keys |= {key[:k] + key[k + 1 :] for key in keys for k in range(len(key))}
        for key in keys:
            found[key].append(i)
    return {key: members for key, members in found.items() if 1 < len(members) <= _MOST}


def _words(plain: dict[int, str], a: int, b: int) -> bool:
    """Whether they differ in words, not in a number or a single letter that counts things."""
    one, other = plain[a].split(), plain[b].split()
    if len(one) != len(other):
        return not any(c.isdigit() for c in plain[a] + plain[b])
    return not any(
        min(len(x), len(y)) < 3 or any(c.isdigit() for c in x + y)
        for x, y in zip(one, other, strict=True) if x != y
    )  # fmt: skip


def _edits(one: str, other: str) -> int:
    """Edits between two words: letters put in, left out, replaced, or two that change places."""
    before, last = list[int](), list(range(len(other) + 1))
    for i, x in enumerate(one):
        row = [i + 1]
        for j, y in enumerate(other):
            cost = min(last[j + 1] + 1, row[j] + 1, last[j] + (x != y))
            if i and j and x == other[j - 1] and one[i - 1] == y:
                cost = min(cost, before[j - 1] + 1)
            row.append(cost)
        before, last = last, row
    return last[-1]
