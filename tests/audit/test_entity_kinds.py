"""Kinds of entities, compared with their definition by sets and exact fractions."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from inweights.audit.correction.kinds import EntityKinds

Role = tuple[int, int]


class Plain:
    """Roles and values of the entities, as plain sets."""

    def __init__(self, rows: list[tuple[int, int, int]]) -> None:
        self.rows = rows
        self.having: dict[Role, set[int]] = {}
        for s, r, o in rows:
            self.having.setdefault((r, 0), set()).add(s)
            self.having.setdefault((r, 2), set()).add(o)

    def roles(self, entity: int) -> set[Role]:
        return {role for role, having in self.having.items() if entity in having}

    def values(self, entity: int, relation: int) -> set[int]:
        return {o for s, r, o in self.rows if (s, r) == (entity, relation)}

    def uses(self, entity: int) -> int:
        return sum((s == entity) + (o == entity) for s, _, o in self.rows)

    def are_alike(self, a: int, b: int) -> bool:
        for p, q in product(self.roles(a), self.roles(b)):
            both = len(self.having[p] & self.having[q])
            if 2 * both > len(self.having[p]) or 2 * both > len(self.having[q]):
                return True
        return False

    def conflict(self, a: int, b: int) -> bool:
        for relation in {r for _, r, _ in self.rows}:
            subjects = self.having[relation, 0]
            single = sum(len(self.values(s, relation)) == 1 for s in subjects)
            functional = 4 * single >= 3 * len(subjects)
            shared = self.values(a, relation) & self.values(b, relation)
            if {a, b} <= subjects and functional and not shared:
                return True
        return False

    def is_rule(self, having: Role, role: Role, name: int) -> bool:
        others = self.having[having] - {name}
        both = others & self.having[role]
        return len(others) >= 3 and 4 * len(both) >= 3 * len(others)

    def lacks(self, name: int, other: int) -> set[Role]:
        """Return the relations that a name lacks, although ``other`` and its kind have them."""
        return {
            role
            for role in self.roles(other) - self.roles(name)
            if role[1] == 0
            and any(self.is_rule(own, role, name) for own in self.roles(name))
        }

    def is_incomplete(self, name: int, other: int) -> bool:
        few = self.uses(name) == 1 and self.uses(other) >= 3
        return bool(few and self.lacks(name, other))

    def evidence(self, name: int, other: int) -> tuple[int, bool]:
        own, theirs = self.roles(name), self.roles(other)
        begun = {r for r, position in own if position == 0}
        agree = sum(
            len(self.values(name, r) & self.values(other, r)) for r in sorted(begun)
        )
        lacks = bool(self.lacks(name, other))
        fills = any(
            self.is_rule(role, (r, 0), name)
            for r in begun
            if (r, 0) not in theirs
            for role in theirs
        )
        expected = {
            role
            for role in self.having
            if role[1] == 0 and any(self.is_rule(mine, role, name) for mine in own)
        }
        uses, more = self.uses(name), self.uses(other)
        if not expected and not begun:  # occurs only as an object
            sure = uses == 1 and more >= 3
        else:
            sure = uses <= 2 and more >= uses and (lacks or fills)
        return agree + lacks + fills, sure


@pytest.mark.parametrize("seed", range(60))
def test_kinds_are_those_of_the_definition(seed: int) -> None:
    """Random files of 4 to 24 facts, and all pairs of their entities."""
    rng = np.random.default_rng(seed)
    entities, relations = int(rng.integers(4, 9)), int(rng.integers(1, 5))
    drawn = rng.integers([entities, relations, entities], size=(4 + seed % 21, 3))
    rows = [(s, r, o) for s, r, o in dict.fromkeys(map(tuple, drawn.tolist()))]
    kinds, plain = EntityKinds(np.array(rows)), Plain(rows)
    known = {s for s, _, _ in rows} | {o for _, _, o in rows}
    for a, b in permutations(sorted(known), 2):
        assert kinds.are_alike(a, b) == plain.are_alike(a, b)
        assert kinds.conflict(a, b) == plain.conflict(a, b)
        assert kinds.is_incomplete(a, b) == plain.is_incomplete(a, b)
        assert kinds.evidence(a, b) == plain.evidence(a, b)
