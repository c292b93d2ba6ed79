"""Find what entities of one kind have in common: relations in which they are subject or object.

:class:`EntityKinds` decides from the facts alone whether two names can mean the same
entity; :mod:`inweights.audit.correction.near` uses it for each pair of similar names.
"""

from collections import Counter, defaultdict
from itertools import product

from inweights.worlds.world import Ids

#: A property is a rule for a kind if at least this fraction of its entities have it,
#: and the kind has at least this many entities.
_RULE = 0.75
_FEWEST = 3
#: Maximum number of uses of a misspelt name. If that name is only an object, or its
#: values conflict with those of the other name: minimum ratio of the other's uses to
#: its own.
_RARE = 2
_COMMON = 3

#: A position in the facts of a relation: the index of the relation, and 0 for the
#: subject or 2 for the object.
Role = tuple[int, int]


class EntityKinds:
    """Roles and values of all entities in a set of facts.

    A role is a relation together with the position of the entity in it: the pair
    ``(relation, 0)`` for a subject, ``(relation, 2)`` for an object. Entities and
    relations are given by their indices.

    Args:
        triples: Subject, relation and object of each of ``M`` facts, as indices, ``[M,
            3]``.

    Attributes:
        roles: Number of times that each entity has each role.
        values: Objects of each pair of subject and relation.
        uses: Number of positions in facts in which each entity occurs.
        holders: Number of entities that have each role.
        together: Number of entities that have both roles, for each pair of roles.
        functional: Relations for which at least three quarters of the subjects have
            only one value.
    """

    def __init__(self, triples: Ids) -> None:
        """Collect the roles (relation and position in it) and the values of all entities.

        Args:
            triples: Subject, relation and object of each of ``M`` facts, as indices,
                ``[M, 3]``.
        """
        self.roles: defaultdict[int, Counter[Role]] = defaultdict(Counter)
        self.values: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
        for s, r, o in triples.tolist():
            self.roles[s][r, 0] += 1
            self.roles[o][r, 2] += 1
            self.values[s, r].add(o)
        self.uses = {entity: own.total() for entity, own in self.roles.items()}
        self.holders: Counter[Role] = Counter()
        self.together: Counter[tuple[Role, Role]] = Counter()
        for own in self.roles.values():
            self.holders.update(own.keys())
            self.together.update(product(own, own))
        single = Counter(
            r for (_, r), values in self.values.items() if len(values) == 1
        )
        self.functional = {
            r for r, count in single.items() if count >= _RULE * self.holders[r, 0]
        }

    def are_alike(self, a: int, b: int) -> bool:
        """Return whether two entities are of the same kind.

        They are of the same kind if they have a common role (a relation together with
        the position in it). They are also of the same kind if one entity has a role
        ``p`` and the other a role ``q`` such that more than half of the entities with
        role ``p`` also have role ``q``.

        Args:
            a: Index of an entity.
            b: Index of another entity.

        Example:
            >>> import numpy as np
            >>> ann, bob, rome, oslo, born_in = 0, 1, 2, 3, 0
            >>> kinds = EntityKinds(np.array([[ann, born_in, rome], [bob, born_in, oslo]]))
            >>> kinds.are_alike(ann, bob), kinds.are_alike(ann, rome)
            (True, False)
        """
        return any(
            self._share(p, q) > 0.5 or self._share(q, p) > 0.5
            for p, q in product(self.roles[a], self.roles[b])
        )

    def conflict(self, a: int, b: int) -> bool:
        """Return whether two entities have different values of a single-valued relation.

        A relation is considered single-valued if at least three quarters of its
        subjects have only one value. Two entities have different values if both are
        subjects of the relation, but have no value in common.

        Args:
            a: Index of an entity.
            b: Index of another entity.
        """
        for relation, column in self.roles[a]:
            both_begin = column == 0 and (relation, 0) in self.roles[b]
            if not both_begin or relation not in self.functional:
                continue
            if not self.values[a, relation] & self.values[b, relation]:
                return True
        return False

    def is_incomplete(self, name: int, other: int) -> bool:
        """Return whether a name occurs in only one fact and lacks a usual relation of its kind.

        Args:
            name: Index of the rarer name.
            other: Index of the more common name.

        Returns:
            True if three conditions hold: the rarer name occurs once in the facts; the
            more common name occurs at least three times; and the more common name is
            the subject of a usual relation that the rarer name lacks. A relation is
            usual if three or more other entities share a role with the rarer name, and
            at least three quarters of them are subjects of the relation.
        """
        lacks = self._lacks(name, other, self._expected(name))
        return lacks and self.uses[name] == 1 and self.uses[other] >= _COMMON

    def evidence(self, name: int, other: int) -> tuple[int, bool]:
        """Return the evidence that two names mean the same entity.

        Args:
            name: Index of the rarer name, which occurs in a fact.
            other: Index of the more common name, which occurs in a fact.

        Returns:
            Two values: the number of agreements between the names, and whether the
            rarer name is probably not a separate entity. Each value that both names
            have for the same relation is an agreement. A missing relation counts as a
            further agreement: one if the rarer name lacks a relation that the more
            common name and most entities of the same kind have, and one if the more
            common name lacks a relation that the rarer name and most entities of the
            same kind have.
        """
        own = self.roles[name]
        begun = [relation for relation, column in own if column == 0]
        shared = sum(len(self.values[name, r] & self.values[other, r]) for r in begun)
        expected = self._expected(name)
        lacks = self._lacks(name, other, expected)
        fills = any(self._fills(name, (r, 0), other) for r in begun)
        is_value = not expected and all(column == 2 for _, column in own)
        common = self.uses[other] >= (_COMMON if is_value else 1) * self.uses[name]
        rare = self.uses[name] <= (1 if is_value else _RARE)
        return shared + lacks + fills, rare and common and (lacks or fills or is_value)

    def _share(self, having: Role, other: Role) -> float:
        """Return the fraction of the entities in the role ``having`` that are also in ``other``."""
        return self.together[having, other] / self.holders[having]

    def _expected(self, name: int) -> set[Role]:
        """Return the subject roles that most of the entities sharing a role with a name have."""
        begun = [role for role in self.holders if role[1] == 0]
        pairs = product(self.roles[name], begun)
        return {role for having, role in pairs if self._is_rule(having, role, name)}

    def _lacks(self, name: int, other: int, expected: set[Role]) -> bool:
        own = self.roles[name]
        theirs = self.roles[other]
        return any(role not in own and role in theirs for role in expected)

    def _fills(self, name: int, role: Role, other: int) -> bool:
        """Return whether ``other`` lacks a given role that most entities of its kind have."""
        theirs = self.roles[other]
        return role not in theirs and any(self._is_rule(q, role, name) for q in theirs)

    def _is_rule(self, having: Role, other: Role, without: int) -> bool:
        """Return whether at least three quarters of the entities in ``having`` are in ``other``."""
        # The entity itself is excluded, since it must not support the rule by which it
        # is judged.
        mine = self.roles[without]
        both = self.together[having, other] - (having in mine and other in mine)
        count = self.holders[having] - (having in mine)
        return count >= _FEWEST and both >= _RULE * count
