"""The kinds of questions that follow from facts: compositions, analogies and reversals.

Each generator yields :class:`Draft` objects in random order;
:func:`inweights.audit.questions.held_out.held_out` adds candidates to them.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from inweights.audit.homonyms import doubtful_facts
from inweights.worlds.knowledge.checks.names import literals
from inweights.worlds.knowledge.knowledge import Knowledge
from inweights.worlds.knowledge.two_steps import spread_chains
from inweights.worlds.knowledge.words.wording import Wording
from inweights.worlds.world import Ids

#: A relation is one-to-one if more than this fraction of its facts have a value that no
#: other subject has, by the kind of its objects.
SINGLE = {"person": 0.5, "other": 0.9}


class Draft(NamedTuple):
    """A question and its answer, before wrong candidates are added.

    Attributes:
        facts: Indices of the facts from which the answer follows.
        role: ``composition``, ``analogy`` or ``reversal``.
        prompt: The beginning of a sentence that the answer completes.
        answer: Name of the correct answer.
        others: Entities of the answer's kind, from which wrong candidates are drawn.
        right: Names of all correct answers; empty if ``answer`` is always the only one.
        subject: Name of the subject; for a reversal, this is the answer.
        first: Name of the first relation; for an analogy, the relation whose value is
            shared; for a reversal, the only relation.
        bridge: Name of the entity between the two relations of a composition; for an
            analogy, an entity that shares the value; ``None`` for a reversal.
        second: Name of the second relation; ``None`` for a reversal.
        question: The same question as a user would ask it in chat.
        stated: For a composition, whether a fact connects subject and answer.
    """

    facts: list[int]
    role: str
    prompt: str
    answer: str
    others: Sequence[str]
    right: set[str]
    subject: str
    first: str
    bridge: str | None
    second: str | None
    question: str
    stated: bool = False


def compositions(
    facts: Knowledge,
    words: Wording,
    objects: Mapping[int, Sequence[str]],
    most: int,
    rng: np.random.Generator,
) -> Iterator[Draft]:
    """Yield a question for each distinct prompt about a chain of two facts.

    No chain begins with a fact whose object may be a homonym
    (:func:`~inweights.audit.homonyms.doubtful_facts`).

    Args:
        facts: The facts.
        words: Templates of prompts and questions.
        objects: Distinct names of the objects of each relation, by its index.
        most: Largest number of chains from which questions are created.
        rng: Random generator that determines the order.

    Yields:
        Questions of the role ``composition``, in random order.
    """
    names = facts.entities
    relations = facts.relations
    values: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for s, r, o in facts.triples.tolist():
        values[s, r].append(o)
    stated = {(s, o) for s, _, o in facts.triples.tolist()}
    seen: set[tuple[int, int, int]] = set()
    doubtful = doubtful_facts(facts, words)
    for i, j in rng.permutation(chains_of(facts, most)).tolist():
        if i in doubtful:
            continue
        s, r, bridge = facts.triples[i].tolist()
        _, second, o = facts.triples[j].tolist()
        if (s, r, second) in seen:
            continue
        seen.add((s, r, second))
        right: set[str] = set()
        for other_bridge in values[s, r]:
            right.update(names[c] for c in values.get((other_bridge, second), ()))
        yield Draft(
            facts=[i, j],
            role="composition",
            prompt=words.chain(relations[r], relations[second], names[s]),
            answer=names[o],
            others=objects[second],
            right=right,
            subject=names[s],
            first=relations[r],
            bridge=names[bridge],
            second=relations[second],
            question=words.ask([relations[r], relations[second]], names[s]),
            stated=(s, o) in stated,
        )


def chains_of(facts: Knowledge, most: int) -> Ids:
    """Return pairs of facts that form a chain, or an evenly spread selection of ``most`` pairs.

    Facts whose subject and object are the same are left out, because the bridge of
    their chains would also be one of the ends.

    Args:
        facts: The facts.
        most: Largest number of pairs.

    Returns:
        Indices of the first and second fact of each of ``C`` chains, ``[C, 2]``.
    """
    real = np.flatnonzero(facts.triples[:, 0] != facts.triples[:, 2])
    return np.asarray(real[spread_chains(facts.triples[real], most)[0]])


def analogies(
    facts: Knowledge,
    words: Wording,
    objects: Mapping[int, Sequence[str]],
    rng: np.random.Generator,
) -> Iterator[Draft]:
    """Yield questions about a relation that an entity lacks but similar entities have.

    Entities are similar if they share a value other than a date or number. If all
    similar entities with a further relation have the same value of it, that value is
    the answer of a question about each similar entity without the relation. Relations
    returned by :func:`of_one_each` are ignored.

    Args:
        facts: The facts.
        words: Templates of prompts and questions.
        objects: Distinct names of the objects of each relation, by its index.
        rng: Random generator that determines the order.

    Yields:
        Questions of the role ``analogy``, in random order, at most one per entity and
        relation.
    """
    names = facts.entities
    relations = facts.relations
    has: defaultdict[int, dict[int, list[tuple[int, int]]]] = defaultdict(dict)
    sharing: defaultdict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for i, (s, r, o) in enumerate(facts.triples.tolist()):
        if s != o:
            has[s].setdefault(r, []).append((i, o))
            sharing[r, o].append((i, s))
    identifying = of_one_each(facts, words)
    # A common literal value, such as a number, does not make entities similar.
    plain = literals(names, facts.triples)
    groups = [
        (r, m) for (r, value), m in sharing.items() if len(m) > 1 and not plain[value]
    ]
    drafted: set[tuple[int, int]] = set()
    for k in rng.permutation(len(groups)).tolist():
        shared, members = groups[k]
        for attribute, agreed in _agreed(members, has).items():
            if (
                attribute in (shared, *identifying)
                or agreed is None
                or plain[agreed.value]
            ):
                continue
            for own_fact, entity in members:
                known = attribute in has[entity] or (entity, attribute) in drafted
                if known or entity == agreed.value:
                    continue
                drafted.add((entity, attribute))
                subject = names[entity]
                answer = names[agreed.value]
                yield Draft(
                    facts=[own_fact, *agreed.facts],
                    role="analogy",
                    prompt=words.state(relations[attribute], subject, answer, 0)[0],
                    answer=answer,
                    others=objects[attribute],
                    right=set(),
                    subject=subject,
                    first=relations[shared],
                    bridge=names[agreed.example],
                    second=relations[attribute],
                    question=words.ask([relations[attribute]], subject),
                )


class _Agreed(NamedTuple):
    """Value on which entities agree, the first of these entities, and two facts about it."""

    value: int
    facts: tuple[int, int]
    example: int


def _agreed(
    members: Sequence[tuple[int, int]],
    has: Mapping[int, Mapping[int, Sequence[tuple[int, int]]]],
) -> dict[int, _Agreed | None]:
    """Return the value on which entities agree, for each relation; ``None`` if they do not agree.

    Args:
        members: Entities that share a value, each as the index of the fact that states
            it and the index of the entity.
        has: For each entity and relation, indices of its facts and their objects.
    """
    found: dict[int, _Agreed | None] = {}
    for fact, entity in members:
        for relation, own in has[entity].items():
            other_fact, value = own[0]
            known = found.setdefault(
                relation, _Agreed(value, (fact, other_fact), entity)
            )
            if len(own) > 1 or (known and known.value != value):
                found[relation] = None
    return found


def of_one_each(facts: Knowledge, words: Wording) -> set[int]:
    """Return the relations whose values distinguish subjects, so that analogies are meaningless.

    These are relations whose values are names, such as nicknames, and relations with
    mostly unique values. A value is unique if no other subject has it. More than half
    of the values must be unique if they are persons (such as mentors). Otherwise, there
    must be at least three facts, and more than nine in ten values must be unique.

    Args:
        facts: The facts.
        words: Wording of the facts, which determines the kind of a relation's values.

    Returns:
        Indices of the relations.
    """
    found = set()
    for relation, name in enumerate(facts.relations):
        values = facts.triples[facts.triples[:, 1] == relation, 2]
        kind = words.kind(name)
        counts = np.unique(values, return_counts=True)[1]
        alone = (counts == 1).sum() / max(len(values), 1)
        few = kind != "person" and len(values) < 3
        if kind == "name" or (not few and alone > SINGLE.get(kind, SINGLE["other"])):
            found.add(relation)
    return found


def reversals(
    facts: Knowledge,
    words: Wording,
    starts: Mapping[int, Sequence[str]],
    rng: np.random.Generator,
) -> Iterator[Draft]:
    """Yield questions that ask for the subject of a fact, given its relation and object.

    A fact is left out if another fact of the same relation has the same object, if its
    object is a date or number, or if its subject and its object are the same.

    Args:
        facts: The facts.
        words: Templates of prompts.
        starts: Distinct names of the subjects of each relation, by its index.
        rng: Random generator that determines the order.

    Yields:
        Questions of the role ``reversal``, in random order.
    """
    key = facts.triples[:, 1] * len(facts.entities) + facts.triples[:, 2]
    _, place, counts = np.unique(key, return_inverse=True, return_counts=True)
    plain = literals(facts.entities, facts.triples)[facts.triples[:, 2]]
    for i in rng.permutation(np.flatnonzero((counts[place] == 1) & ~plain)).tolist():
        s, r, o = facts.names(i)
        if s == o:
            continue
        prompt = words.turn(r, s, o, 1)[0]
        yield Draft(
            facts=[i],
            role="reversal",
            prompt=prompt,
            answer=s,
            others=starts[int(facts.triples[i, 1])],
            right=set(),
            subject=s,
            first=r,
            bridge=None,
            second=None,
            question=prompt,
        )
