"""The questions that a set of triples leaves open, by kind; none of them is a fact.

- ``composition``: two facts in a row, ``(a, r1, r2)``; ``chain``: three.
- ``reversal``: a fact from its other end, ``(b, r')``, where some of ``r`` are told both ways.
- ``implication``: what an entity lacks, and at least two others that share one of its values have,
  all alike: if they live in one town and speak one language, so may it.
- ``unstated``: what an entity lacks, and nothing but such resemblance suggests, no reversal
  either: the others disagree, or there is one, or none shares more than a relation. A model that
  answers these asserts what nobody told it. The answer of the statement is the one that resemblance
  suggests most.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Literal

import numpy as np

from inweights.worlds.knowledge.knowledge import Knowledge
from inweights.worlds.world import Ids

Kind = Literal["composition", "chain", "reversal", "implication", "unstated"]
KINDS: tuple[Kind, ...] = ("composition", "chain", "reversal", "implication", "unstated")
#: Questions of each kind, at most: of two steps, and of any other kind.
COMPOSITIONS, MOST = 20_000, 2_000
#: A relation is another one turned where so many facts say so, and this share of those that could.
TURNED, SHARE = 2, 0.5
#: Facts of one entity that bear witness for others, at most.
WITNESSED = 50
#: An implication has the word of so many others.
WITNESSES = 2

Asked = tuple[tuple[int, ...], int]
Rows = Sequence[tuple[int, int, int]]


def questions(rows: Rows, kinds: Sequence[Kind] = KINDS) -> dict[str, tuple[Ids, Ids]]:
    """Return prompts ``[Q, T]`` and answers ``[Q, 1]`` of every kind.

    Args:
        rows: Subject, relation and object of the facts, as tokens; no identities.
        kinds: Which to ask.
    """
    needed = {"implication", "unstated"} & set(kinds)
    reversed_ = {prompt for prompt, _ in _reversals(rows)} if needed else set()
    open_ = (one for one in _lacking(rows) if one[0] or one[1][0] not in reversed_)
    lacking = list(islice(open_, 2 * MOST)) if needed else []
    makers: dict[str, Iterator[Asked]] = {
        "composition": _compositions(rows),
        "chain": islice(_chains(rows), MOST),
        "reversal": islice(_reversals(rows), MOST),
        "implication": (question for vouched, question in lacking if vouched),
        "unstated": (question for vouched, question in lacking if not vouched),
    }
    asked: dict[str, tuple[Ids, Ids]] = {}
    for kind in kinds:
        found = list(dict.fromkeys(makers[kind]))
        length = len(found[0][0]) if found else 1
        asked[kind] = (
            np.array([prompt for prompt, _ in found], dtype=np.int64).reshape(-1, length),
            np.array([answer for _, answer in found], dtype=np.int64)[:, None],
        )
    return asked


def _after(rows: Rows) -> dict[int, list[tuple[int, int]]]:
    after: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for subject, relation, thing in rows:
        after[subject].append((relation, thing))
    return dict(after)


def _compositions(rows: Rows) -> Iterator[Asked]:
    if not rows:
        return
    for first, second in spread_chains(np.array(rows, dtype=np.int64), COMPOSITIONS)[0].tolist():
        subject, r1, _ = rows[first]
        _, r2, thing = rows[second]
        yield (subject, r1, r2), thing


def spread_chains(triples: Ids, most: int) -> tuple[Ids, int]:
    """Return pairs of facts that meet, ``[Q, 2]``, and how many there are in all.

    Where there are more than ``most``, these are spread evenly over all of them, and none of the
    others is made: a hub has as many as its neighbours on both sides multiply.

    Args:
        triples: Subject, relation and object of each fact, ``[M, 3]``.
        most: Pairs, at most.

    Example:
        >>> star = np.array([[1, 9, 0], [2, 9, 0], [0, 8, 3], [0, 8, 4]])
        >>> pairs, total = spread_chains(star, 2)
        >>> pairs.tolist(), total
        ([[0, 2], [1, 2]], 4)
    """
    by_subject = np.argsort(triples[:, 0], kind="stable")
    subjects = triples[by_subject, 0]
    begin = np.searchsorted(subjects, triples[:, 2], side="left")
    ends = np.cumsum(np.searchsorted(subjects, triples[:, 2], side="right") - begin)
    total = int(ends[-1]) if len(ends) else 0
    picked = np.arange(total) if total <= most else np.arange(most) * total // most
    first = np.searchsorted(ends, picked, side="right")
    before = np.concatenate([[0], ends])[first]
    second = by_subject[begin[first] + picked - before]
    return np.stack([first, second], axis=1), total


def _chains(rows: Rows) -> Iterator[Asked]:
    after = _after(rows)
    # A hub has as many pairs as its neighbours on both sides multiply, and most lead no further.
    further = {one: [step for step in steps if step[1] in after] for one, steps in after.items()}
    for subject, r1, one in rows:
        for r2, other in further.get(one, ()):
            for r3, thing in after[other]:
                if len({subject, one, other, thing}) == 4:
                    yield (subject, r1, r2, r3), thing


def inverses(rows: Rows) -> dict[int, list[int]]:
    """Pairs of inverse relations: those with at least two facts in both directions.

    Of several it is the one that is told most often, or all that are: no order of facts decides.
    """
    starts: Counter[tuple[int, int]] = Counter()
    by_ends: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    has: defaultdict[int, set[int]] = defaultdict(set)
    for subject, relation, thing in rows:
        by_ends[subject, thing].append(relation)
        has[subject].add(relation)
    back: Counter[tuple[int, int]] = Counter()
    for subject, relation, thing in rows:
        if subject != thing:
            back.update((relation, other) for other in by_ends.get((thing, subject), ()))
    often = [(pair, count) for pair, count in back.most_common() if count >= TURNED]
    candidates: defaultdict[int, list[int]] = defaultdict(list)
    for (relation, other), _ in often:
        candidates[relation].append(other)
    for subject, relation, thing in rows:
        if subject != thing and thing in has:
            known = has[thing]
            starts.update(
                (relation, other) for other in candidates.get(relation, ()) if other in known
            )
    best: defaultdict[int, list[int]] = defaultdict(list)
    for (relation, other), count in often:
        if count >= SHARE * starts[relation, other]:
            most = back[relation, best[relation][0]] if best[relation] else count
            best[relation] += [other] * (count == most)
    return dict(best)


def _reversals(rows: Rows) -> Iterator[Asked]:
    turned = inverses(rows)
    known = {(subject, relation) for subject, relation, _ in rows}
    for subject, relation, thing in rows:
        for other in turned.get(relation, ()):
            if subject != thing and (thing, other) not in known:
                yield (thing, other), subject


def _lacking(rows: Rows) -> Iterator[tuple[bool, Asked]]:
    """What entities lack: whether others vouch for an answer, and the question."""
    has: defaultdict[int, dict[int, None]] = defaultdict(dict)
    values: defaultdict[int, dict[tuple[int, int], None]] = defaultdict(dict)
    together: defaultdict[int, set[int]] = defaultdict(set)
    common: defaultdict[int, Counter[int]] = defaultdict(Counter)
    for subject, relation, thing in rows:
        has[subject][relation] = None
        values[subject][relation, thing] = None
        common[relation][thing] += 1
    # What those who share a value have: shared value → relation → how many have which object.
    told: defaultdict[tuple[int, int], defaultdict[int, Counter[int]]] = defaultdict(
        lambda: defaultdict(Counter)
    )
    for subject, mine in values.items():
        for relation in has[subject]:
            together[relation] |= has[subject].keys() - {relation}
        few = list(mine)[:WITNESSED]
        for shared in few:
            for relation, thing in few:
                if relation != shared[0]:
                    told[shared][relation][thing] += 1
    usual = {relation: max(ends.items(), key=_first_most)[0] for relation, ends in common.items()}
    for entity, mine in values.items():
        known = has[entity].keys()
        for relation in sorted(set().union(*(together[r] for r in known)) - known):
            said = [told[v][relation] for v in mine if v in told and relation in told[v]]
            agreed = [group for group in said if len(group) == 1 and group.total() >= WITNESSES]
            if agreed and len({next(iter(group)) for group in agreed}) == 1:
                answer = next(iter(agreed[0]))
                yield answer != entity, ((entity, relation), answer)
            else:
                votes = max(said, key=Counter.total, default=None)
                answer = max(votes.items(), key=_first_most)[0] if votes else usual[relation]
                yield False, ((entity, relation), answer)


def _first_most(vote: tuple[int, int]) -> tuple[int, int]:
    """Order of votes: the most, and of several the first token."""
    return vote[1], -vote[0]


def names_of(facts: Knowledge) -> Mapping[str, tuple[str, ...]]:
    """Token names of entities and of relations; a relation called like an entity says so."""
    taken = set(facts.entities)
    relations = []
    for name in facts.relations:
        free = name
        while free in taken:
            free += " (relation)"
        taken.add(free)
        relations.append(free)
    return {"entity": facts.entities, "relation": tuple(relations)}
