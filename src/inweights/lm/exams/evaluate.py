"""Score a model's answers to questions with candidates: ranks, probabilities, generated answers.

:func:`ask` scores candidates, :func:`ask_with_thought` lets the model name the bridge
entity first, and :func:`say` lets it answer freely. :mod:`~.compare` summarises their
tables.
"""

from collections.abc import Sequence

import numpy as np
import polars as pl

from inweights.errors import DataError
from inweights.lm.exams.questions import Question
from inweights.lm.model.load import LanguageModel
from inweights.lm.model.score import generate, log_likelihoods
from inweights.support.progress import Progress
from inweights.worlds.knowledge.words.sentences import ended


def ask(
    lm: LanguageModel,
    questions: Sequence[Question],
    *,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """Score the candidates of each question, and return the rank of the correct answer.

    Training on similar texts raises the probabilities of correct and wrong answers alike.
    The columns ``share`` and ``rank`` therefore compare the correct answer with the other
    candidates of its question.

    Args:
        lm: The model.
        questions: Questions with candidates.
        progress: Function that is called with the number of questions done, the total
            number of questions, and a description; ``None`` for no progress reports.

    Returns:
        One row per question: ``id``, ``chain``, ``role``, ``prompt`` and the right
        ``answer`` (:class:`Question`); ``best``, the most likely candidate; ``rank`` of
        the answer (1 is best; equally likely candidates are ranked before the answer);
        ``hit``, whether the rank is 1; ``reciprocal``, 1 / rank; ``chance``, 1 / number
        of candidates; ``probability`` of the answer, the product over its tokens;
        ``share``, this probability divided by the sum over all candidates; and
        ``others``, the mean share of the wrong candidates.

    Raises:
        DataError: There are no questions, or a prompt or candidate has no tokens.

    Example:
        >>> from inweights.lm import load_model
        >>> asked = [Question("0", "first_hop", "Rome is in", ("Italy", "Peru"), 0)]
        >>> ask(load_model("@tiny"), asked).select("answer", "chance").row(0)
        ('Italy', 0.5)
    """
    return _table(lm, questions, [q.prompt for q in questions], progress, "asking")


def ask_with_thought(
    lm: LanguageModel,
    questions: Sequence[Question],
    *,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """Evaluate compositions step by step: the model first names the bridge, then the answer.

    The model continues the prompt of the first hop. Its continuation, correct or not,
    is inserted into the prompt of the second hop; if it is empty, the word ``it`` is
    inserted. Joined together, the two prompts are the prompt for the answer (Identity
    Bridge, Figure 1a).

    Args:
        lm: The model.
        questions: Questions; questions without ``steps`` are left out.
        progress: Function that is called with the number of questions done, the total
            number of questions, and a description; ``None`` for no progress reports.

    Returns:
        The columns of :func:`ask`, one row per question with steps, and ``thought``,
        the bridge that the model named. ``prompt`` is the whole prompt, with both hops
        and the model's continuation.

    Raises:
        DataError: No question has steps, or a prompt or candidate has no tokens.

    Example:
        >>> from inweights.lm import load_model
        >>> steps = ("The capital of Italy is", "{bridge} lies in")
        >>> one = Question("0", "composition", "Rome is in", ("Rome", "Oslo"), 0, steps=steps)
        >>> ask_with_thought(load_model("@tiny"), [one]).columns[-1]
        'thought'
    """
    chained = [q for q in questions if q.steps]
    if not chained:
        raise DataError(
            "a chain of thought requires questions with the column 'steps', which contains "
            "the prompts of both hops; this column is empty for all given questions"
        )
    firsts = [q.steps[0] for q in chained]
    tell = (lambda d, n: progress(d, n, "thinking")) if progress else None
    bridges = list(dict.fromkeys(q.bridge for q in chained))
    thoughts = generate(lm, firsts, names=bridges, progress=tell)
    prompts = [
        f"{first} {ended(thought)} {q.steps[1].replace('{bridge}', thought or 'it')}"
        for q, first, thought in zip(chained, firsts, thoughts, strict=True)
    ]
    table = _table(lm, chained, prompts, progress, "answering")
    return table.with_columns(thought=pl.Series(thoughts, dtype=pl.String))


def say(
    lm: LanguageModel,
    questions: Sequence[Question],
    *,
    tokens: int = 12,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """Let a model answer in its own words, and check whether the answers are accepted names.

    Args:
        lm: The model.
        questions: Questions.
        tokens: Maximum number of tokens of an answer; by default 12.
        progress: Function that is called with the number of questions done, the total
            number of questions, and a description; ``None`` for no progress reports.

    Returns:
        One row per question: ``id``; ``said``, the text of the answer up to its end;
        and ``exact``, whether this text is an accepted name, ignoring case. An answer
        ends at the first line break, or at the first full stop that is not part of a
        name.

    Raises:
        DataError: A prompt has no tokens.

    Example:
        >>> from inweights.lm import load_model
        >>> asked = [Question("0", "first_hop", "Rome is in", ("Italy", "Peru"), 0)]
        >>> say(load_model("@tiny"), asked)["exact"].to_list()
        [False]
    """
    tell = (lambda d, n: progress(d, n, "answering in words")) if progress else None
    known: dict[str, None] = {}  # an ordered set
    for q in questions:
        known |= dict.fromkeys((*q.candidates, *q.accepted))
    texts = generate(
        lm,
        [q.prompt for q in questions],
        tokens=tokens,
        names=list(known),
        progress=tell,
    )
    right = [exact(q, text) for q, text in zip(questions, texts, strict=True)]
    return pl.DataFrame(
        {"id": [q.id for q in questions], "said": texts, "exact": right}
    )


def exact(question: Question, text: str) -> bool:
    """Return whether a text is an accepted name of the answer.

    Case is ignored, as are spaces, full stops and line breaks around the text.

    Args:
        question: The question, whose ``answer`` and ``accepted`` names are compared.
        text: The whole answer that was given.

    Example:
        >>> exact(Question("0", "reversal", "Rome is in", ("Italy", "Peru"), 0), " italy.")
        True
    """
    names = (question.answer, *question.accepted)
    return text.casefold().strip(" .\n") in {
        name.casefold().strip(" .") for name in names
    }


def _after_a_space(names: Sequence[str]) -> list[str]:
    return [f" {name}" for name in names]


def _table(
    lm: LanguageModel,
    questions: Sequence[Question],
    prompts: Sequence[str],
    progress: Progress | None,
    what: str,
) -> pl.DataFrame:
    """Return the table of :func:`ask` for questions that are asked with other prompts."""
    if not questions:
        raise DataError("there are no questions to evaluate")
    tell = (lambda d, n: progress(d, n, what)) if progress else None
    candidates = [_after_a_space(q.candidates) for q in questions]
    rows = []
    scores = log_likelihoods(lm, prompts, candidates, progress=tell)
    for q, prompt, score in zip(questions, prompts, scores, strict=True):
        shares = np.exp(score - np.logaddexp.reduce(score))
        wrong = np.delete(shares, q.label)
        rank = 1 + int((np.delete(score, q.label) >= score[q.label]).sum())
        rows.append(
            {
                "id": q.id,
                "chain": q.chain,
                "role": q.role,
                "prompt": prompt,
                "answer": q.answer,
                "best": q.candidates[int(score.argmax())],
                "rank": rank,
                "hit": rank == 1,
                "reciprocal": 1.0 / rank,
                "chance": 1.0 / len(score),
                "probability": float(np.exp(score[q.label])),
                "share": float(shares[q.label]),
                "others": float(wrong.mean()) if len(wrong) else 0.0,
            }
        )
    return pl.DataFrame(rows)
