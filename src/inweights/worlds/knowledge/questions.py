"""Questions that a set of triples raises but does not answer directly, by kind.

- ``composition`` asks for the last entity of a chain of two facts, with the prompt
  ``(a, r1, r2)``; ``chain`` asks for the last entity of a chain of three facts.
- ``reversal`` asks for the subject of a fact, ``(b, r')``, if some facts of ``r`` are
  stated in both directions, by ``r`` and its inverse ``r'``.
- ``implication`` asks for the object of a relation that an entity lacks, if at least
  two other entities with this relation share a value with that entity, and all of them
  have the same object. If the known people of one town all speak one language, another
  person of that town may speak it, too.
- ``unstated`` asks for the object of a relation that an entity lacks, if neither such
  agreement nor a reversal provides an answer: similar entities disagree, or there are
  fewer than two. A model that answers such a question asserts what it was not trained
  on. The answer that is stored here is that of the most similar entities.

:func:`questions` returns them as prompts and answers, which become the queries of a
world of the user's facts (:class:`~inweights.worlds.Triples`). A question is a prompt
with all answers that follow from the facts. If there are too many questions, whole
prompts are left out, never single answers.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Literal

import numpy as np

from inweights.worlds.knowledge.inverses import Rows, inverses
from inweights.worlds.knowledge.knowledge import Knowledge
from inweights.worlds.knowledge.two_steps import ANSWERS, composed
from inweights.worlds.world import Ids

Kind = Literal["composition", "chain", "reversal", "implication", "unstated"]
KINDS: tuple[Kind, ...] = (
    "composition",
    "chain",
    "reversal",
    "implication",
    "unstated",
)
#: Largest number of prompts of chains and of reversals, and half of the largest number
#: of all other prompts except compositions.
MOST = 2_000
#: Largest number of facts of one entity that count as evidence for others.
WITNESSED = 50
#: Smallest number of other entities that agree on the answer of an implication.
WITNESSES = 2

#: The prompt of a question and one of its answers.
Question = tuple[tuple[int, ...], int]
#: For each shared value and relation, the number of entities with each object.
_Votes = defaultdict[tuple[int, int], defaultdict[int, Counter[int]]]


def questions(rows: Rows, kinds: Sequence[Kind] = KINDS) -> dict[str, tuple[Ids, Ids]]:
    """Return the prompts and answers of every kind of question.

    Args:
        rows: Subject, relation and object of the facts, as token ids, without
            identities.
        kinds: Kinds of questions to return; by default all kinds. A ``composition``
            asks for the last entity of a chain of two facts, a ``chain`` for the last
            entity of a chain of three facts, and a ``reversal`` for the subject of a
            fact. Questions of the other two kinds ask for the value of a relation that
            no fact states for an entity: ``implication`` if similar entities agree on
            this value, and ``unstated`` if they do not. The names are not checked.

    Returns:
        Dictionary that maps each kind to prompts ``[Q, T]`` and answers ``[Q, 1]``, as
        token ids; a kind without questions has no rows. ``T`` is 3 for ``composition``,
        4 for ``chain`` and 2 for all other kinds. A prompt with several correct answers
        has one row for each, in consecutive rows. There are at most 20,000 prompts of
        ``composition``, 2,000 each of ``chain`` and ``reversal``, and 4,000 of
        ``implication`` and ``unstated`` together. If the prompts of ``composition`` or
        ``chain`` would have more than a million answers, fewer prompts are returned.

    Example:
        >>> prompts, answers = questions([(1, 9, 2), (2, 8, 3)], ["composition"])["composition"]
        >>> prompts.tolist(), answers.tolist()
        ([[1, 9, 8]], [[3]])
    """
    lacking: list[tuple[bool, Question]] = []
    if {"implication", "unstated"} & set(kinds):
        reversals = {prompt for prompt, _ in _reversals(rows)}
        for agreed, question in _lacking(rows):
            # A question that a reversal answers does not count as unstated.
            if agreed or question[0] not in reversals:
                lacking.append((agreed, question))
            if len(lacking) == 2 * MOST:
                break
    found: dict[str, tuple[Ids, Ids]] = {}
    for kind in kinds:
        if kind == "composition":
            triples = np.array(rows, dtype=np.int64).reshape(-1, 3)
            found[kind] = composed(triples)[:2]
        elif kind == "chain":
            found[kind] = _columns(_chains(rows))
        elif kind == "reversal":
            found[kind] = _columns(_with_all_answers(_reversals(rows)))
        else:
            wanted = kind == "implication"
            some = [question for agreed, question in lacking if agreed == wanted]
            found[kind] = _columns(some)
    return found


def _columns(given: Iterable[Question]) -> tuple[Ids, Ids]:
    """Return prompts ``[Q, T]`` and answers ``[Q, 1]`` of questions, without repetitions."""
    found = list(dict.fromkeys(given))
    length = len(found[0][0]) if found else 1
    prompts = np.array([prompt for prompt, _ in found], dtype=np.int64)
    answers = np.array([answer for _, answer in found], dtype=np.int64)
    return prompts.reshape(-1, length), answers[:, None]


def _with_all_answers(given: Iterable[Question]) -> Iterator[Question]:
    """Yield the questions with the first :data:`MOST` prompts, each with all its answers."""
    answers: dict[tuple[int, ...], list[int]] = {}
    for prompt, answer in given:
        if prompt in answers:
            answers[prompt].append(answer)
        elif len(answers) < MOST:
            answers[prompt] = [answer]
    for prompt, found in answers.items():
        for answer in found:
            yield prompt, answer


def _chains(rows: Rows) -> Iterator[Question]:
    """Yield questions about chains of three facts, with all answers to each prompt."""
    links: dict[int, dict[int, list[int]]] = {}
    for subject, relation, thing in rows:
        links.setdefault(subject, {}).setdefault(relation, []).append(thing)
    answers = 0
    for prompt in islice(_chain_prompts(rows, links), MOST):
        ends = [prompt[0]]
        for relation in prompt[1:]:
            reached: dict[int, None] = {}
            for one in ends:
                reached |= dict.fromkeys(links.get(one, {}).get(relation, ()))
            ends = list(reached)
        answers += len(ends)
        if answers > ANSWERS:  # a prompt has either all of its answers or none
            return
        for end in ends:
            yield prompt, end


def _chain_prompts(
    rows: Rows, links: Mapping[int, Mapping[int, Sequence[int]]]
) -> Iterator[tuple[int, ...]]:
    """Yield distinct prompts about chains of three facts, in the order of their first facts."""
    seen: set[tuple[int, ...]] = set()
    # Facts that can be continued; most relations of a hub cannot.
    further: defaultdict[int, dict[int, list[int]]] = defaultdict(dict)
    for subject, relation, thing in rows:
        if thing in links:
            further[subject].setdefault(relation, []).append(thing)
    for subject, first, one in rows:
        for second, others in further.get(one, {}).items():
            fresh = [other for other in others if other not in (subject, one)]
            thirds: dict[int, None] = {}  # a dictionary as a set that keeps the order
            for other in fresh:
                thirds |= dict.fromkeys(links[other])
            for third in thirds:
                prompt = subject, first, second, third
                if prompt in seen or subject == one:
                    continue
                ways = [(other, links[other].get(third, ())) for other in fresh]
                if any(_leads_on(ends, {subject, one, other}) for other, ends in ways):
                    seen.add(prompt)
                    yield prompt


def _leads_on(ends: Sequence[int], passed: set[int]) -> bool:
    """Return whether a chain can continue to an entity that it has not passed."""
    return any(end not in passed for end in ends)


def _reversals(rows: Rows) -> Iterator[Question]:
    """Yield questions that ask for the subject of a fact."""
    turned = inverses(rows)
    known = {(subject, relation) for subject, relation, _ in rows}
    for subject, relation, thing in rows:
        for other in turned.get(relation, ()):
            if subject != thing and (thing, other) not in known:
                yield (thing, other), subject


def _lacking(rows: Rows) -> Iterator[tuple[bool, Question]]:
    """Yield questions about relations that entities lack, with whether similar entities agree."""
    has: defaultdict[int, dict[int, None]] = defaultdict(dict)
    values: defaultdict[int, dict[tuple[int, int], None]] = defaultdict(dict)
    together: defaultdict[int, set[int]] = defaultdict(set)
    common: defaultdict[int, Counter[int]] = defaultdict(Counter)
    for subject, relation, thing in rows:
        has[subject][relation] = None
        values[subject][relation, thing] = None
        common[relation][thing] += 1
    for relations in has.values():
        for relation in relations:
            together[relation] |= relations.keys() - {relation}
    votes = _votes(values)
    usual = {}
    for relation, ends in common.items():
        usual[relation] = max(ends.items(), key=_by_count)[0]
    for entity, mine in values.items():
        known = has[entity].keys()
        for relation in sorted(set().union(*(together[r] for r in known)) - known):
            # `in` comes first, as indexing a defaultdict alone would add an empty count
            # to it.
            voting = [votes[value] for value in mine if value in votes]
            groups = [counts[relation] for counts in voting if relation in counts]
            answer, agreed = _answer(groups, usual[relation])
            yield agreed and answer != entity, ((entity, relation), answer)


def _votes(values: Mapping[int, Mapping[tuple[int, int], None]]) -> _Votes:
    """Count, by shared value and relation, the objects of the entities that share the value."""
    votes: _Votes = defaultdict(lambda: defaultdict(Counter))
    for mine in values.values():
        few = list(mine)[:WITNESSED]
        for shared in few:
            for relation, thing in few:
                if relation != shared[0]:
                    votes[shared][relation][thing] += 1
    return votes


def _answer(groups: Sequence[Counter[int]], usual: int) -> tuple[int, bool]:
    """Return the most likely object of a relation, and whether similar entities agree.

    Args:
        groups: For each value of an entity, how many entities with this value have each
            object of the relation.
        usual: Object to return if there is no group.
    """
    answers: set[int] = set()
    for group in groups:
        if len(group) == 1 and group.total() >= WITNESSES:
            answers.update(group)
    if len(answers) == 1:
        return answers.pop(), True
    if not groups:
        return usual, False
    largest = max(groups, key=Counter.total)
    return max(largest.items(), key=_by_count)[0], False


def _by_count(vote: tuple[int, int]) -> tuple[int, int]:
    """Return the sort key of a vote: its count, then the negative token."""
    return vote[1], -vote[0]


def names_of(facts: Knowledge) -> Mapping[str, tuple[str, ...]]:
    """Return the token names of entities and relations, as groups ``entity`` and ``relation``.

    If a relation has the name of an entity, `` (relation)`` is appended to its name.

    Args:
        facts: The facts.
    """
    taken = set(facts.entities)
    relations = []
    for name in facts.relations:
        free = name
        while free in taken:
            free += " (relation)"
        taken.add(free)
        relations.append(free)
    return {"entity": facts.entities, "relation": tuple(relations)}
