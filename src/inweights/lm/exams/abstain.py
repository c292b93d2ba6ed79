"""Ask a model questions that its facts do not answer, and count how often it invents answers.

:func:`read_unanswerable` generates such questions from a data set that ``inweights
augment`` wrote. :func:`abstention` asks them, together with the same number of
questions that the facts do answer. ``inweights evaluate --abstain`` prints its table.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product
from pathlib import Path

import polars as pl

from inweights.errors import DataError
from inweights.lm.model.load import LanguageModel
from inweights.lm.model.score import generate
from inweights.lm.model.tables import found_in, read_part, read_table
from inweights.seeds import EVALUATION, Streams
from inweights.support.border import guarded
from inweights.support.progress import Progress

#: Kinds of questions: those to which the facts have no answer, and those to which they
#: have one.
UNANSWERED = "no answer in the facts"
ANSWERED = "an answer in the facts"
#: Kinds of answers.
SAYS_SO = "says so"
INVENTS = "names"
OTHER = "other"
#: Maximum number of tokens of an answer.
_TOKENS = 16
_TRIPLE = ("subject", "relation", "object")
#: Placeholder for the subject in the wording of a relation.
_SUBJECT = "\0subject\0"
_DOES_NOT_KNOW = re.compile(
    r"\b(?:unknown|unclear|uncertain|unspecified|undetermined|"
    r"not\s+(?:known|stated|given|specified|mentioned|available|recorded|sure|certain)|"
    r"(?:do|does|did|can|could)\s*(?:not|n[’']t)\s+(?:know|say|tell|answer|determine)|"
    r"cannot\s+(?:know|say|tell|answer|determine)|"
    r"no\s+(?:information|answer|record|data|idea))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class OpenQuestion:
    """Question that the facts may or may not answer.

    Attributes:
        kind: ``no answer in the facts``, or ``an answer in the facts``.
        prompt: Text that the answer continues.
        relation: Name of the relation in the question.
        subject: Name of the entity that the question is about.
        right: Correct answers; empty if the facts do not answer the question.
        names: All names in the facts, which are searched for in the answer.
    """

    kind: str
    prompt: str
    relation: str
    subject: str
    right: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


@guarded
def read_unanswerable(
    folder: str | Path, *, chat: bool = False, most: int = 50, seed: int = 0
) -> list[OpenQuestion]:
    """Generate questions that the facts of a data set answer, and questions that they do not.

    A question without an answer combines a name with a relation that the facts do not
    state for this name. It is worded like the training texts. Names that are the
    subject of other facts are used first, because the facts may state nothing about
    other names. A pretrained model may nevertheless know an answer that the facts do
    not state.

    Args:
        folder: Data set that ``inweights augment`` wrote.
        chat: Whether to word prompts as a user's turn in a chat, if the data set
            contains them in this form; by default False.
        most: Maximum number of questions of each kind, at least 1; by default 50.
        seed: Root seed of the random choice of questions; by default 0.

    Returns:
        Questions without an answer in the facts, followed by the same number of
        questions with an answer (fewer if the facts answer fewer).

    Raises:
        DataError: The folder cannot be read, the facts state every relation for every
            name, or no training text contains the subject of its fact exactly once.
        ConfigError: ``seed`` is not an integer from 0 to 2^63 - 1.
    """
    place = Path(folder)
    if not place.is_dir():
        raise DataError(
            "questions without an answer are generated from the facts of a data set: expected a "
            f"folder that 'inweights augment' wrote, got {place}"
        )
    facts = read_table(found_in(place, "facts"))
    prompts = read_part(place, "train", chat=chat).filter(role="fact")
    words = dict(prompts.select("fact", "prompt").unique("fact").rows())
    frames = _frames(facts, words)
    stated: dict[tuple[str, str], list[str]] = {}
    for subject, relation, thing in facts.select(_TRIPLE).rows():
        stated.setdefault((subject, relation), []).append(thing)
    rng = Streams(seed).numpy(EVALUATION, "no answer")
    unanswered: list[tuple[str, str]] = []
    for names in _names(facts):
        pairs = [pair for pair in product(names, frames) if pair not in stated]
        drawn = rng.permutation(len(pairs)).tolist()[: most - len(unanswered)]
        unanswered += [pairs[i] for i in drawn]
    if not unanswered:
        raise DataError(
            f"no questions without an answer can be generated: the facts of {place} state "
            f"each of their {len(frames)} relations for every name"
        )
    known = [pair for pair in stated if pair[1] in frames]
    # Both kinds have the same number of questions, so that always refusing is no
    # advantage.
    drawn = rng.permutation(len(known)).tolist()[: len(unanswered)]
    asked = {UNANSWERED: unanswered, ANSWERED: [known[i] for i in drawn]}
    every = tuple(dict.fromkeys(chain(*_names(facts))))
    found = []
    for kind, pairs in asked.items():
        for name, relation in pairs:
            prompt = frames[relation].replace(_SUBJECT, name)
            right = tuple(stated.get((name, relation), ()))
            found.append(OpenQuestion(kind, prompt, relation, name, right, every))
    return found


def _names(facts: pl.DataFrame) -> tuple[list[str], list[str]]:
    """Return the names that are subjects of facts, and those that are only objects."""
    subjects = facts["subject"].unique(maintain_order=True).to_list()
    objects = facts["object"].unique(maintain_order=True)
    return subjects, objects.filter(~objects.is_in(subjects)).to_list()


def _frames(facts: pl.DataFrame, prompts: Mapping[int, str]) -> dict[str, str]:
    """Return the words of each relation, with a placeholder for its subject."""
    frames: dict[str, str] = {}
    rows = facts.select("subject", "relation").rows()
    for number, (subject, relation) in enumerate(rows):
        prompt = prompts.get(number, "")
        # If the name occurs twice, one of the occurrences may be part of another word.
        if relation not in frames and prompt.count(subject) == 1:
            frames[relation] = prompt.replace(subject, _SUBJECT)
    if not frames:
        raise DataError(
            "no training text contains the subject of its fact exactly once, so no "
            "questions about other names can be generated"
        )
    return frames


@guarded
def abstention(
    models: Mapping[str, LanguageModel],
    questions: Sequence[OpenQuestion],
    *,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """Ask models questions with and without an answer in the facts, and classify their answers.

    An answer has the kind ``says so`` if it contains (English) words such as "unknown",
    "not stated" or "I do not know". Otherwise its kind is ``names`` if it contains a
    name of the facts other than the subject; if the facts do not answer the question,
    this name is invented. Otherwise its kind is ``other``; such an answer may be
    invented, too.

    Args:
        models: Models, keyed by their names in the table, such as ``before`` and
            ``after``.
        questions: Questions returned by :func:`read_unanswerable`.
        progress: Function that is called with the number of answers so far, the total
            number of answers, and a description; ``None`` for no progress reports.

    Returns:
        One row per question and model, model by model: ``model``; ``kind``,
        ``relation``, ``subject`` and ``prompt`` of the question
        (:class:`OpenQuestion`); ``said``, the text of the answer; ``answer``, its kind
        (``says so``, ``names`` or ``other``); and ``right``, whether it contains a
        correct answer. Without questions, the table has no columns.

    Raises:
        DataError: A prompt has no tokens.

    Example:
        >>> from inweights.lm import load_model
        >>> asked = [OpenQuestion(UNANSWERED, "Rome was born in", "born_in", "Rome")]
        >>> table = abstention({"after": load_model("@tiny")}, asked)
        >>> table.select("model", "kind").row(0)
        ('after', 'no answer in the facts')
    """
    tell = (
        (lambda d, n: progress(d, n, "asking questions without an answer"))
        if progress
        else None
    )
    rows = []
    for model, lm in models.items():
        prompts = [question.prompt for question in questions]
        texts = generate(lm, prompts, tokens=_TOKENS, stop="\n", progress=tell)
        for question, text in zip(questions, texts, strict=True):
            rows.append(
                {
                    "model": model,
                    "kind": question.kind,
                    "relation": question.relation,
                    "subject": question.subject,
                    "prompt": question.prompt,
                    "said": text,
                    "answer": answer_kind(text, question.names, question.subject),
                    "right": _has(text, question.right),
                }
            )
    return pl.DataFrame(rows)


def answer_kind(text: str, names: Sequence[str], subject: str = "") -> str:
    """Classify an answer: it says that the answer is unknown, contains a name, or does neither.

    Args:
        text: The answer.
        names: All names in the facts.
        subject: Name that the question is about. This name is ignored in the answer. By
            default (empty), no name is ignored.

    Returns:
        ``says so`` (it contains words such as "unknown"), otherwise ``names`` (it
        contains one of ``names`` as whole words, ignoring case), otherwise ``other``.

    Example:
        >>> names = ["Vienna"]
        >>> texts = (" not known.", "It is in vienna.", " a town.")
        >>> [answer_kind(text, names) for text in texts]
        ['says so', 'names', 'other']
    """
    if _DOES_NOT_KNOW.search(text):
        return SAYS_SO
    # The question's subject is removed first, since an answer that only repeats the
    # question does not name anything new.
    repeated = f" {_plain(subject)} " if subject else ""
    said = f" {_plain(text)} ".replace(repeated, "  ") if repeated else text
    return INVENTS if _has(said, names) else OTHER


def _has(text: str, names: Sequence[str]) -> bool:
    """Return whether any of the names occurs in a text as whole words, ignoring case."""
    said = _plain(text)
    return any(f" {_plain(name)} " in f" {said} " for name in names)


def _plain(text: str) -> str:
    """Return the words of a text in lower case, separated by single spaces."""
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))


def abstention_shares(answers: pl.DataFrame) -> pl.DataFrame:
    """Compute the share of each kind of answer for each kind of question and each model.

    Args:
        answers: Table returned by :func:`abstention`.

    Returns:
        One row per ``kind`` of question and ``model``, with the number of
        ``questions``, the shares ``says_so``, ``names`` and ``other`` of the kinds of
        answers, which sum to 1, and ``right``, the share of answers that contain a
        correct answer (0 for questions that the facts do not answer).

    Example:
        >>> row = {"kind": UNANSWERED, "model": "after", "answer": INVENTS, "right": False}
        >>> abstention_shares(pl.DataFrame([row])).row(0)[2:]
        (1, 0.0, 1.0, 0.0, 0.0)
    """
    answer = pl.col("answer")
    return answers.group_by("kind", "model", maintain_order=True).agg(
        questions=pl.len(),
        says_so=(answer == SAYS_SO).mean(),
        names=(answer == INVENTS).mean(),
        other=(answer == OTHER).mean(),
        right=pl.col("right").mean(),
    )
