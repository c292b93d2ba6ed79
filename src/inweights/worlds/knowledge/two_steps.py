"""Find the questions that chain two facts, among any number of triples.

:func:`composed` returns the questions with all their answers, and :func:`spread_chains`
returns pairs of facts that meet in an entity. If there are too many, both functions
select some of them evenly without enumerating the rest, since the number of pairs at a
hub is the product of its numbers of incoming and outgoing facts. In shapes, ``M`` is
the number of triples, and ``Q`` is the number of questions or pairs.
"""

import numpy as np

from inweights.worlds.arrays import Reals
from inweights.worlds.world import Ids

#: Largest number of prompts of two steps.
COMPOSITIONS = 20_000
#: Largest number of correct answers to all questions of a kind; if there are more, fewer
#: questions are made.
ANSWERS = 1_000_000


def composed(triples: Ids, most: int = COMPOSITIONS) -> tuple[Ids, Ids, int]:
    """Return two-step questions with all their answers, and the total number of prompts.

    If there are more than ``most`` prompts, the chosen ones are spread evenly over all
    prompts, in the order of the facts with which they begin. Fewer are chosen if they
    would have more than a million answers together (:data:`ANSWERS`). For an entity
    with many facts, the cost is proportional to the number of facts and answers.

    Args:
        triples: Subject, relation and object of each fact, as indices, ``[M, 3]``
            (NumPy).
        most: Maximum number of prompts to return. If 0, prompts are only counted.

    Returns:
        Three values. First, prompts ``(subject, first relation, second relation)``,
        ``[Q, 3]``, and second, their answers, ``[Q, 1]``: one row per prompt and
        answer, with the answers to a prompt in consecutive rows. Third, the total
        number of distinct prompts, chosen or not.

    Example:
        >>> star = np.array([[1, 9, 0], [2, 9, 0], [0, 8, 3], [0, 8, 4]])
        >>> prompts, answers, total = composed(star, 1)
        >>> prompts.tolist(), answers.ravel().tolist(), total
        ([[1, 9, 8], [1, 9, 8]], [3, 4], 2)
    """
    if not len(triples):
        return np.zeros((0, 3), dtype=np.int64), np.zeros((0, 1), dtype=np.int64), 0
    link = _links(triples)
    relation = triples[:, 1]
    # All pairs of a fact and a relation of its object, in the order of the facts.
    onward, begin, end = _onward(triples, link)
    counts = end - begin
    first = np.repeat(np.arange(len(triples)), counts)
    second = onward[begin[first] + _within(counts)]
    leading = np.unique(link, return_index=True)[1]
    names, step = np.unique(relation[leading[second]], return_inverse=True)
    # A prompt consists of a link (subject and relation) and the relation of the second
    # step; one number encodes both.
    code = link[first] * max(len(names), 1) + step
    codes, starts, prompt = np.unique(code, return_index=True, return_inverse=True)
    order = np.argsort(starts)  # in the order of the facts with which they begin
    facts_of_link = np.bincount(link)
    size = facts_of_link[second]
    answers = np.bincount(prompt, weights=size, minlength=len(codes))[order]
    chosen = _spread(answers, most)
    place = np.full(len(codes), -1, dtype=np.int64)
    place[order[chosen]] = np.arange(len(chosen))
    used = np.flatnonzero(place[prompt] >= 0)
    # All facts that the second step of a chosen prompt leads to.
    by_link = np.argsort(link, kind="stable")
    link_starts = np.cumsum(facts_of_link) - facts_of_link
    owner = np.repeat(used, size[used])
    facts = by_link[link_starts[second[owner]] + _within(size[used])]
    pairs = np.stack([place[prompt[owner]], triples[facts, 2]], axis=1)
    # An answer that is reached in several ways is one row, at the position of the
    # first.
    rows = np.sort(np.unique(pairs, axis=0, return_index=True)[1])
    rows = rows[np.argsort(pairs[rows, 0], kind="stable")]
    kept = owner[rows]
    began = triples[first[kept]]
    prompts = np.column_stack([began[:, :2], names[step[kept]]])
    return prompts, pairs[rows, 1:], len(codes)


def spread_chains(triples: Ids, most: int) -> tuple[Ids, int]:
    """Return pairs of facts in which the object of the first is the subject of the second.

    If there are more than ``most`` pairs, the chosen ones are spread evenly over all
    pairs.

    Args:
        triples: Subject, relation and object of each fact, as indices, ``[M, 3]``
            (NumPy).
        most: Largest number of pairs.

    Returns:
        The indices of both facts of each chosen pair, ``[Q, 2]``, in the order of the
        first facts; and the total number of pairs.

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
    picked = np.arange(total)
    if total > most:
        picked = np.arange(most) * total // most
    first = np.searchsorted(ends, picked, side="right")
    before = np.concatenate([[0], ends])[first]
    second = by_subject[begin[first] + picked - before]
    return np.stack([first, second], axis=1), total


def _links(triples: Ids) -> Ids:
    """Number the pairs of subject and relation, and return the number for each fact, ``[M]``."""
    relations = int(triples[:, 1].max()) + 1
    pairs = triples[:, 0] * relations + triples[:, 1]
    _, numbers = np.unique(pairs, return_inverse=True)
    return np.asarray(numbers, dtype=np.int64).reshape(-1)


def _onward(triples: Ids, link: Ids) -> tuple[Ids, Ids, Ids]:
    """Sort links by subject, and return the range of links that start from each fact's object."""
    leading = np.unique(link, return_index=True)[1]
    subjects = triples[leading, 0]
    onward = np.lexsort((leading, subjects))
    ordered = subjects[onward]
    begin = np.searchsorted(ordered, triples[:, 2], side="left")
    return onward, begin, np.searchsorted(ordered, triples[:, 2], side="right")


def _within(lengths: Ids) -> Ids:
    """Return the position of each element within its group, for consecutive groups."""
    starts = np.cumsum(lengths) - lengths
    return np.arange(int(lengths.sum())) - np.repeat(starts, lengths)


def _spread(answers: Reals | Ids, most: int) -> Ids:
    """Return the indices of prompts to use: all, or evenly spread ones within the limits.

    Args:
        answers: Number of answers to each prompt.
        most: Largest number of prompts.
    """
    total = len(answers)
    count = min(total, most)
    while True:
        chosen = np.arange(count) * total // max(count, 1)
        if count <= 1 or answers[chosen].sum() <= ANSWERS:
            return chosen
        count //= 2
