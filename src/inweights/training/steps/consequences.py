"""The statements that follow from edits of stored facts, derived only from the world.

For each fact of a role, an instance of :class:`Consequences` contains the new answer
after an edit, the statements that follow from the fact (a composition through an edited
hop, the reverse of an edited edge), and the answers to these statements after the edit.
``editing.py`` changes weights accordingly, and the probe of edits compares a model with
the expected answers. Shapes: ``N`` facts that may be edited, ``T`` tokens of a fact's
prompt, ``M`` statements that may follow from them (in the training data or not), ``S``
tokens of a statement's prompt.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import product
from typing import Any, Self

import numpy as np

from inweights.errors import DataError
from inweights.seeds import Streams
from inweights.worlds.arrays import Bool, Int
from inweights.worlds.families.graphs.edges import edge_prefix
from inweights.worlds.world import World

#: The answers to each prompt; a prompt is a tuple of token ids.
_Answers = dict[tuple[int, ...], set[int]]


@dataclass(frozen=True, kw_only=True)
class Consequences:
    """The facts of a role in one world, and the statements that may follow from them.

    Shapes: ``N`` facts, ``T`` tokens of a fact's prompt, ``M`` statements, ``S`` tokens
    of a statement's prompt.

    Attributes:
        facts: Token ids of the facts' prompts, ``[N, T]``.
        apart: Whether an edit of fact ``i`` should leave the answer to fact ``j``
            unchanged, ``[N, N]``.
        old: Answer token of each fact before any edit, ``[N]``.
        donors: Index of the fact whose answer each fact gets when it is edited,
            ``[N]``.
        queries: Token ids of the statements' prompts, ``[M, S]``.
        through: Whether statement ``j`` follows from the edit of fact ``i``, ``[N,
            M]``.
        expected: Answer token of statement ``j`` after the edit of fact ``i``, ``[N,
            M]``; it is meaningful only where ``through`` is true.
        truth: Answer token of each statement before any edit, ``[M]``.
        rights: Number of correct answers to each fact's prompt, ``[N]``.
        query_rights: Number of correct answers to each statement's prompt, at least 1,
            ``[M]``.
    """

    facts: Int[np.ndarray, "N T"]
    apart: Bool[np.ndarray, "N N"]
    old: Int[np.ndarray, " N"]
    donors: Int[np.ndarray, " N"]
    queries: Int[np.ndarray, "M S"]
    through: Bool[np.ndarray, "N M"]
    expected: Int[np.ndarray, "N M"]
    truth: Int[np.ndarray, " M"]
    rights: Int[np.ndarray, " N"]
    query_rights: Int[np.ndarray, " M"]

    @classmethod
    def of(cls, world: World, role: str, *, drawn: bool = False) -> Self:
        """Return the facts of a role, their new answers, and the statements that follow from them.

        The new answer of a fact is the answer of the next fact whose answer is wrong
        for this fact. In a graph, the node itself and nodes two edges away are also
        skipped.

        Args:
            world: World that contains the facts.
            role: Role of the facts: ``first_hop``, ``second_hop``, ``attribution``,
                ``similarity`` or ``edge``.
            drawn: If true, the facts are in a random order that the world's root seed
                determines. In this order, one fact of each prompt comes before all
                remaining facts. By default they are in the world's order.

        Raises:
            DataError: The world has no facts of the role; a fact cannot get a new
                answer, since no other fact of the role has an answer that is wrong for
                it; or the world has no statements that could follow from such facts.
        """
        if role not in world.facts.role_names:
            raise DataError(
                "an edit requires a world with first and second hops, analogies, reversals or "
                f"edges; '{world.name}' has no facts of the role '{role}'"
            )
        facts, answers = _statements(world, role)
        if drawn:
            order = _drawn_order(world, role, facts)
            facts = facts[order]
            answers = answers[order]
        right = _right_answers(world)
        prompts = list(map(tuple, facts.tolist()))
        # free[i, j]: whether fact i may get the answer of fact j.
        free = np.stack([~np.isin(answers, _near(prompt, right)) for prompt in prompts])
        if not free.any(1).all():
            raise DataError(
                f"no new answer can be chosen for a fact of the role '{role}' of "
                f"'{world.name}', because no answer of another fact of this role is certain "
                "to be wrong for this fact; use a world with more answers"
            )
        count = len(facts)
        places = np.arange(count)
        # Number of facts in between, in cyclic order: the next fact is at distance 0.
        distance = (places[None] - places[:, None] - 1) % count
        allowed = np.where(free, distance, count)
        donors = allowed.argmin(1)
        queries, through, expected = _followed(world, role, facts, answers[donors])
        queried = list(map(tuple, queries.tolist()))
        due = {tuple(query.prompt): {query.answer[0]} for query in world.queries}
        return cls(
            facts=facts,
            apart=free if role == "attribution" else ~np.eye(count, dtype=bool),
            old=answers,
            donors=donors,
            queries=queries,
            through=through,
            expected=expected,
            truth=np.array([min(right[prompt] or due[prompt]) for prompt in queried]),
            rights=np.array([len(right[prompt]) for prompt in prompts]),
            query_rights=np.array([max(len(right[prompt]), 1) for prompt in queried]),
        )


def _right_answers(world: World) -> _Answers:
    """Return the correct answers to each prompt of the facts."""
    right: _Answers = defaultdict(set)
    for fact in world.facts:
        right[tuple(fact.prompt)].add(fact.answer[0])
    return right


def _near(prompt: tuple[int, ...], right: _Answers) -> list[int]:
    """Return the answers that an edit never gives to a fact.

    These are the subject of the fact, its correct answers, and the correct answers to
    the prompts in which one of these replaces the subject.
    """
    near = {prompt[-1], *right[prompt]}
    for answer in right[prompt]:
        near.update(right.get((*prompt[:-1], answer), ()))
    return list(near)


def _drawn_order(
    world: World, role: str, facts: Int[np.ndarray, "N T"]
) -> Int[np.ndarray, " N"]:
    """Return a random order of facts in which one fact of each prompt precedes all others."""
    order = Streams(world.seed).numpy("edit", role).permutation(len(facts))
    _, index = np.unique(facts[order], axis=0, return_index=True)
    first = np.sort(index)
    return np.concatenate([order[first], np.delete(order, first)])


def _followed(
    world: World, role: str, facts: Int[np.ndarray, "N T"], new: Int[np.ndarray, " N"]
) -> tuple[Int[np.ndarray, "M S"], Bool[np.ndarray, "N M"], Int[np.ndarray, "N M"]]:
    """Return prompts of statements, whether each follows from each fact, and new answers."""
    if role == "edge":  # reversed, the new answer leads to the subject
        at = len(edge_prefix(world))
        queries, _ = _statements(world, "reverse_edge", "reversal")
        through = new[:, None] == queries[None, :, at]
        subject = facts[:, at, None]
        return queries, through, np.broadcast_to(subject, through.shape)
    if role in ("first_hop", "second_hop"):
        queries = _two_hop_prompts(world)
        first = _table(*_statements(world, "first_hop"))
        onward = _table(*_statements(world, "second_hop"))
        own = facts[:, 0]
        bridges = []
        for entity, relation, _ in queries.tolist():
            bridges.append(first[entity, relation])
        keys = np.array(bridges)
    else:  # the class corresponds to the bridge
        queries, answers = _statements(world, "conclusion", "attribution")
        classes = _table(*_statements(world, "category", "similarity"))
        class_of = {entity: group for (entity, _), group in classes.items()}
        own_classes = [class_of[entity] for entity in facts[:, 0].tolist()]
        other_classes = [class_of[entity] for entity in queries[:, 0].tolist()]
        own = np.array(own_classes)
        keys = np.array(other_classes)
        onward = _table(np.stack([keys, queries[:, 1]], 1), answers)
    if role in ("first_hop", "similarity"):  # the new answer is a new bridge
        prefix = queries[:, :-1]
        beginnings = facts[:, None, : prefix.shape[1]]
        through = (beginnings == prefix[None]).all(-1)
        steps = product(new.tolist(), queries[:, -1].tolist())
        expected = np.array([onward[step] for step in steps]).reshape(through.shape)
        return queries, through, expected
    same_bridge = own[:, None] == keys[None]
    same_relation = facts[:, 1:] == queries[None, :, -1]
    # A statement about the fact's own subject is the fact itself, and does not follow
    # from it.
    another = facts[:, :1] != queries[None, :, 0]
    through = same_bridge & same_relation & another
    return queries, through, np.broadcast_to(new[:, None], through.shape)


def _two_hop_prompts(world: World) -> Int[np.ndarray, "M 3"]:
    """Return the prompts of two-hop queries, and of two-hop facts in the training data."""
    prompts = list(map(world.queries.prompt, range(len(world.queries))))
    if "two_hop" in world.facts.role_names:
        trained = world.facts.with_role("two_hop").tolist()
        prompts += list(map(world.facts.prompt, trained))
    return np.stack([prompt for prompt in prompts if len(prompt) == 3])


def _statements(
    world: World, *roles: str
) -> tuple[Int[np.ndarray, "m T"], Int[np.ndarray, " m"]]:
    """Return prompts and first answer tokens of the facts and queries with given roles."""
    rows = []
    for role, part in product(roles, (world.facts, world.queries)):
        if role in part.role_names:
            rows.append(part.matrix(part.with_role(role)))
    if not rows:
        raise DataError(
            f"an edit requires a world with one of the roles {', '.join(roles)}; '{world.name}' "
            "has none of them"
        )
    prompts = np.concatenate([prompts for prompts, _ in rows])
    answers = np.concatenate([answers[:, 0] for _, answers in rows])
    return prompts, answers


def _table(
    prompts: Int[np.ndarray, "m 2"], answers: Int[np.ndarray, " m"]
) -> dict[Any, int]:
    """Return a dictionary that maps each prompt to its answer."""
    keys = list(map(tuple, prompts.tolist()))
    return dict(zip(keys, answers.tolist(), strict=True))
