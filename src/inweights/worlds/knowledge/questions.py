"""The questions that a set of triples leaves open, by kind; none of them is a fact.

- ``composition``: two facts in a row, ``(a, r1, r2)``; ``chain``: three.
- ``reversal``: a fact from its other end, ``(b, r')``, where some of ``r`` are told both ways.
- ``implication``: what an entity lacks, and at least two others that share one of its values have,
  all alike: if they live in one town and speak one language, so may it.
- ``unstated``: what an entity lacks, and nothing but such resemblance suggests, no reversal
  either: the others disagree, or there is one, or none shares more than a relation. A model that
  answers these asserts what nobody told it. The answer of the statement is the one that resemblance
  suggests most.

A question is a prompt with all answers that the facts give: where there are too many questions,
some prompts are left out, and no answer of the others is.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Literal

import numpy as np

from inweights.worlds.arrays import Reals
from inweights.worlds.knowledge.knowledge import Knowledge
from inweights.worlds.world import Ids

Kind = Literal["composition", "chain", "reversal", "implication", "unstated"]
KINDS: tuple[Kind, ...] = ("composition", "chain", "reversal", "implication", "unstated")
#: Questions of each kind, at most: of two steps, and of any other kind.
COMPOSITIONS, MOST = 20_000, 2_000
#: Right answers of all questions of a kind, at most; beyond it fewer questions are asked.
ANSWERS = 1_000_000
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

    A prompt with several right answers has as many rows, one after another.

    Args:
        rows: Subject, relation and object of the facts, as tokens; no identities.
        kinds: Which to ask.
    """
    needed = {"implication", "unstated"} & set(kinds)
    reversed_ = {prompt for prompt, _ in _reversals(rows)} if needed else set()
    open_ = (one for one in _lacking(rows) if one[0] or one[1][0] not in reversed_)
    lacking = list(islice(open_, 2 * MOST)) if needed else []
    makers: dict[str, Callable[[], tuple[Ids, Ids]]] = {
        "composition": lambda: composed(np.array(rows, dtype=np.int64).reshape(-1, 3))[:2],
        "chain": lambda: _columns(_chains(rows)),
        "reversal": lambda: _columns(_with_all_answers(_reversals(rows))),
        "implication": lambda: _columns(question for vouched, question in lacking if vouched),
        "unstated": lambda: _columns(question for vouched, question in lacking if not vouched),
    }
    return {kind: makers[kind]() for kind in kinds}


def _columns(asked: Iterable[Asked]) -> tuple[Ids, Ids]:
    """Prompts ``[Q, T]`` and answers ``[Q, 1]`` of questions, each once."""
    found = list(dict.fromkeys(asked))
    length = len(found[0][0]) if found else 1
    return (
        np.array([prompt for prompt, _ in found], dtype=np.int64).reshape(-1, length),
        np.array([answer for _, answer in found], dtype=np.int64)[:, None],
    )


def _with_all_answers(asked: Iterable[Asked]) -> Iterator[Asked]:
    """The first prompts that are asked, each with all its answers."""
    answers: dict[tuple[int, ...], list[int]] = {}
    for prompt, answer in asked:
        if prompt in answers:
            answers[prompt].append(answer)
        elif len(answers) < MOST:
            answers[prompt] = [answer]
    return ((prompt, answer) for prompt, found in answers.items() for answer in found)


def composed(triples: Ids, most: int = COMPOSITIONS) -> tuple[Ids, Ids, int]:
    """Return questions of two steps with all their answers, and how many there are.

    Where there are more than ``most`` prompts, these are spread evenly over all of them, in the
    order in which the facts begin them. A hub makes no more work than it has facts and answers.

    Args:
        triples: Subject, relation and object of each fact, ``[M, 3]``.
        most: Prompts, at most.

    Returns:
        Prompts ``(subject, first relation, second relation)``, ``[Q, 3]``; their answers,
        ``[Q, 1]``, a row for each answer, those of one prompt together; and the number of
        prompts that there are in all.

    Example:
        >>> star = np.array([[1, 9, 0], [2, 9, 0], [0, 8, 3], [0, 8, 4]])
        >>> prompts, answers, total = composed(star, 1)
        >>> prompts.tolist(), answers.ravel().tolist(), total
        ([[1, 9, 8], [1, 9, 8]], [3, 4], 2)
    """
    if not len(triples):
        return np.zeros((0, 3), dtype=np.int64), np.zeros((0, 1), dtype=np.int64), 0
    link, relation = _links(triples), triples[:, 1]
    # Every fact with every relation that leads on from its object, in the order of the facts.
    onward, begin, end = _onward(triples, link)
    first = np.repeat(np.arange(len(triples)), end - begin)
    within = np.arange(len(first)) - np.repeat(np.cumsum(end - begin) - (end - begin), end - begin)
    second = onward[begin[first] + within]
    leading = np.unique(link, return_index=True)[1]
    names, step = np.unique(relation[leading[second]], return_inverse=True)
    codes, starts, prompt = np.unique(
        link[first] * max(len(names), 1) + step, return_index=True, return_inverse=True
    )
    order = np.argsort(starts)
    size = np.bincount(link)[second]
    answers = np.bincount(prompt, weights=size, minlength=len(codes))[order]
    chosen = _spread(answers, most)
    place = np.full(len(codes), -1, dtype=np.int64)
    place[order[chosen]] = np.arange(len(chosen))
    kept = np.flatnonzero(place[prompt] >= 0)
    by_link, link_ends = np.argsort(link, kind="stable"), np.cumsum(np.bincount(link))
    owner = np.repeat(kept, size[kept])
    inside = np.arange(len(owner)) - np.repeat(np.cumsum(size[kept]) - size[kept], size[kept])
    facts = by_link[(link_ends - np.bincount(link))[second[owner]] + inside]
    pairs = np.stack([place[prompt[owner]], triples[facts, 2]], axis=1)
    rows = np.sort(np.unique(pairs, axis=0, return_index=True)[1])
    rows = rows[np.argsort(pairs[rows, 0], kind="stable")]
    began = triples[first[owner[rows]]]
    prompts = np.column_stack([began[:, :2], names[step[owner[rows]]]])
    return prompts, pairs[rows, 1:], len(codes)


def _links(triples: Ids) -> Ids:
    """A number for the subject and relation of each fact."""
    pairs = triples[:, 0] * (int(triples[:, 1].max()) + 1) + triples[:, 1]
    return np.asarray(np.unique(pairs, return_inverse=True)[1], dtype=np.int64).reshape(-1)


def _onward(triples: Ids, link: Ids) -> tuple[Ids, Ids, Ids]:
    """Links by subject, in the order of the facts; and where those of each fact's object are."""
    leading = np.unique(link, return_index=True)[1]
    subjects = triples[leading, 0]
    onward = np.lexsort((leading, subjects))
    ordered = subjects[onward]
    begin = np.searchsorted(ordered, triples[:, 2], side="left")
    return onward, begin, np.searchsorted(ordered, triples[:, 2], side="right")


def _spread(answers: Reals | Ids, most: int) -> Ids:
    """Which prompts are asked: all, or as many as allowed, spread evenly."""
    total = len(answers)
    count = min(total, most)
    while True:
        chosen = np.arange(total) if count == total else np.arange(count) * total // count
        if count <= 1 or answers[chosen].sum() <= ANSWERS:
            return chosen
        count //= 2


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
    """Questions of three steps that some chain of four entities answers, with all answers."""
    objects: defaultdict[int, dict[int, list[int]]] = defaultdict(dict)
    for subject, relation, thing in rows:
        objects[subject].setdefault(relation, []).append(thing)
    # None of these is a key by being looked for.
    links: dict[int, dict[int, list[int]]] = dict(objects)
    answers = 0
    for prompt in islice(_chain_prompts(rows, links), MOST):
        ends = [prompt[0]]
        for relation in prompt[1:]:
            further = [one for one in ends if one in links and relation in links[one]]
            ends = list(dict.fromkeys([to for one in further for to in links[one][relation]]))
        answers += len(ends)
        if answers > ANSWERS:
            return
        yield from ((prompt, end) for end in ends)


def _chain_prompts(
    rows: Rows, links: Mapping[int, Mapping[int, Sequence[int]]]
) -> Iterator[tuple[int, ...]]:
    """Prompts of three steps, each once, in the order of the facts that begin them."""
    seen: set[tuple[int, ...]] = set()
    # Most relations of a hub lead no further.
    further: defaultdict[int, dict[int, list[int]]] = defaultdict(dict)
    for subject, relation, thing in rows:
        if thing in links:
            further[subject].setdefault(relation, []).append(thing)
    for subject, first, one in rows:
        for second, others in further.get(one, {}).items():
            fresh = [other for other in others if other not in (subject, one)]
            for third in dict.fromkeys([step for other in fresh for step in links[other]]):
                prompt = subject, first, second, third
                ends = (
                    subject != one and thing not in (subject, one, other)
                    for other in fresh
                    for thing in links[other].get(third, ())
                )
                if prompt not in seen and any(ends):
                    seen.add(prompt)
                    yield prompt


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
