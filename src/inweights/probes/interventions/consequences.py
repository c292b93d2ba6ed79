"""What follows from an edited fact, as its world tells: by two hops, in a class, reversed.

Shapes: ``N`` facts that may be edited, ``M`` statements that may follow, trained or asked.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from inweights.errors import DataError
from inweights.worlds.arrays import Bool, Int
from inweights.worlds.families.graph import edge_prefix
from inweights.worlds.world import World

#: Roles of facts that can be edited.
ROLES = ("first_hop", "second_hop", "attribution", "similarity", "edge")


@dataclass(frozen=True, kw_only=True)
class Consequences:
    """The facts of a role in one world, and the statements that may follow from them.

    Attributes:
        facts: Their prompts.
        apart: Which facts an edit of one should leave alone.
        donors: The fact whose answer each of them gets.
        new: That answer.
        queries: Prompts of the statements.
        through: Which of them follow from the edit of each fact.
        expected: What they say then.
        rights: Number of right answers of each fact's prompt.
        query_rights: The same of each statement's.
    """

    facts: Int[np.ndarray, "N T"]
    apart: Bool[np.ndarray, "N N"]
    donors: Int[np.ndarray, " N"]
    new: Int[np.ndarray, " N"]
    queries: Int[np.ndarray, "M S"]
    through: Bool[np.ndarray, "N M"]
    expected: Int[np.ndarray, "N M"]
    rights: Int[np.ndarray, " N"]
    query_rights: Int[np.ndarray, " M"]

    @classmethod
    def of(cls, world: World, role: str) -> Self:
        """Read a world; a fact gets the next answer that is not near its own."""
        if role not in world.facts.role_names:
            raise DataError(
                "edits requires a world with first and second hops, analogies, reversals or edges; "
                f"this one has no facts of the role '{role}'"
            )
        facts, answers = _said(world, role)
        right = defaultdict(set)
        for place in range(len(world.facts)):
            right[tuple(world.facts.prompt(place))].add(int(world.facts.answer(place)[0]))
        prompts = [tuple(prompt) for prompt in facts.tolist()]
        known = [  # in a graph also the node itself, and those two edges away
            {prompt[-1], *right[prompt]}.union(
                *(right.get((*prompt[:-1], answer), ()) for answer in right[prompt])
            )
            for prompt in prompts
        ]
        others = np.array([[int(answer) not in taken for answer in answers] for taken in known])
        if not others.any(1).all():
            raise DataError(f"all facts of the role '{role}' have one answer")
        order = (np.arange(len(facts))[None] - np.arange(len(facts))[:, None] - 1) % len(facts)
        donors = np.where(others, order, len(facts)).argmin(1)
        queries, through, expected = _followed(world, role, facts, answers[donors])
        return cls(
            facts=facts,
            apart=others if role == "attribution" else ~np.eye(len(facts), dtype=bool),
            donors=donors,
            new=answers[donors],
            queries=queries,
            through=through,
            expected=expected,
            rights=np.array([len(right[prompt]) for prompt in prompts]),
            query_rights=np.array([max(len(right[tuple(p)]), 1) for p in queries.tolist()]),
        )


def _followed(
    world: World, role: str, facts: Int[np.ndarray, "N T"], new: Int[np.ndarray, " N"]
) -> tuple[Int[np.ndarray, "M S"], Bool[np.ndarray, "N M"], Int[np.ndarray, "N M"]]:
    """Statements, which of them follow from each fact, and what they say then."""
    if role == "edge":  # reversed, the new answer leads to the subject
        at = len(edge_prefix(world))
        queries, _ = _said(world, "reverse_edge", "reversal")
        through = new[:, None] == queries[None, :, at]
        return queries, through, np.broadcast_to(facts[:, at, None], through.shape)
    if role in ("first_hop", "second_hop"):
        asked = [world.queries.prompt(i) for i in range(len(world.queries))]
        if "two_hop" in world.facts.role_names:
            asked += [world.facts.prompt(int(i)) for i in world.facts.with_role("two_hop")]
        queries = np.stack([prompt for prompt in asked if len(prompt) == 3])
        first, onward = (_table(*_said(world, hop)) for hop in ("first_hop", "second_hop"))
        own, keys = facts[:, 0], np.array([first[a, r] for a, r, _ in queries.tolist()])
    else:  # a class takes the place of the bridge
        queries, said = _said(world, "conclusion", "attribution")
        of = {a: c for (a, _), c in _table(*_said(world, "category", "similarity")).items()}
        own, keys = (np.array([of[a] for a in part[:, 0].tolist()]) for part in (facts, queries))
        onward = _table(np.stack([keys, queries[:, 1]], 1), said)
    if role in ("first_hop", "similarity"):  # the new answer leads on
        prefix = queries[:, : queries.shape[1] - 1]
        through = (facts[:, None, : prefix.shape[1]] == prefix[None]).all(-1)
        relations = queries[:, -1].tolist()
        return queries, through, np.array([[onward[b, r] for r in relations] for b in new.tolist()])
    through = (own[:, None] == keys[None]) & (facts[:, 1:] == queries[None, :, -1])
    through &= facts[:, :1] != queries[None, :, 0]  # not the fact itself
    return queries, through, np.broadcast_to(new[:, None], through.shape)


def _said(world: World, *roles: str) -> tuple[Int[np.ndarray, "m T"], Int[np.ndarray, " m"]]:
    """Prompts and answers of the facts and queries of some roles, as far as there are any."""
    rows = [
        part.matrix(part.with_role(role))
        for role in roles
        for part in (world.facts, world.queries)
        if role in part.role_names
    ]
    if not rows:
        raise DataError(f"edits requires a world with one of the roles {', '.join(roles)}")
    return np.concatenate([p for p, _ in rows]), np.concatenate([a[:, 0] for _, a in rows])


def _table(prompts: Int[np.ndarray, "m 2"], answers: Int[np.ndarray, " m"]) -> dict[Any, int]:
    return {tuple(p): a for p, a in zip(prompts.tolist(), answers.tolist(), strict=True)}
