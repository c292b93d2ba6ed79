"""Add retrieved facts to the prompts of questions, as a baseline without training.

:func:`with_retrieved` returns questions that :func:`inweights.lm.ask` evaluates like
any others.
"""

from collections.abc import Sequence
from dataclasses import replace

from inweights.lm.exams.questions import Question
from inweights.support.extras import optional

#: Number of rounds of retrieval. The query of the second round includes the facts that
#: the first round found, because the second fact of a chain shares no word with the
#: question.
_ROUNDS = 2


def with_retrieved(
    questions: Sequence[Question], facts: Sequence[str], *, most: int = 8
) -> list[Question]:
    """Return questions whose prompts begin with facts that BM25 retrieves.

    The first half of the facts is retrieved with the question as the search text. For
    the second half, the search text is the question together with the facts of the
    first half. Facts that share no word with the search text are not used. The field
    ``steps`` of the returned questions is empty.

    Args:
        questions: The questions.
        facts: Facts as sentences; there must be at least one.
        most: Maximum number of facts per question, at least 2; by default 8.

    Returns:
        The questions in the same order. Each prompt begins with the retrieved facts,
        one per line. The facts of the first half come before the facts of the second
        half.

    Raises:
        ConfigError: ``bm25s`` is not installed.
    """
    bm25s = optional("retrieval", "retrieval")
    index = bm25s.BM25()
    index.index(_words(bm25s, facts), show_progress=False)
    found: list[list[int]] = [[] for _ in questions]
    for turn in range(1, _ROUNDS + 1):
        texts = []
        for question, own in zip(questions, found, strict=True):
            texts.append(" ".join([question.prompt, *_chosen(facts, own)]))
        # All scores are sorted here, because the search of bm25s orders equal scores
        # differently on different machines.
        for own, words in zip(found, _words(bm25s, texts), strict=True):
            scores = index.get_scores(words)
            ranks = (-scores).argsort(kind="stable").tolist()
            new = [i for i in ranks if scores[i] > 0 and i not in own]
            left = most * turn // _ROUNDS - len(own)
            own.extend(new[:left])
    asked = []
    for question, own in zip(questions, found, strict=True):
        prompt = "\n".join([*_chosen(facts, own), question.prompt])
        # Questions have no steps here: the prompts of steps would lack the retrieved
        # facts.
        asked.append(replace(question, prompt=prompt, steps=()))
    return asked


def _chosen(facts: Sequence[str], places: Sequence[int]) -> list[str]:
    return [facts[place] for place in places]


def _words(bm25s: object, texts: Sequence[str]) -> list[list[str]]:
    """Return the words of texts in lower case, without the most frequent English ones."""
    found: list[list[str]] = bm25s.tokenize(  # type: ignore[attr-defined]
        list(texts), stopwords="en", return_ids=False, show_progress=False
    )
    return found
