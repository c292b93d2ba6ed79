"""Ask what the facts do not answer: how often a model says so, and how often it invents.

:func:`read_unanswerable` makes questions of a data set that ``inweights augment`` wrote;
:func:`abstention` asks them, and as many that the facts do answer.
``inweights evaluate --abstain`` prints its table.
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

#: Kinds of questions: the facts have no answer, or they have one.
UNANSWERED = "no answer in the facts"
ANSWERED = "an answer in the facts"
#: What an answer can be.
SAYS_SO = "says so"
INVENTS = "names"
OTHER = "other"
#: Tokens of an answer.
_TOKENS = 16
_TRIPLE = ("subject", "relation", "object")
#: Stands for the subject in the words of a relation.
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
    """A question whose answer the facts may not have.

    Attributes:
        kind: ``no answer in the facts``, or ``an answer in the facts``.
        prompt: Text that the answer continues.
        relation: Relation that is asked for.
        subject: Name that it is asked of.
        right: Right answers; none where the facts have none.
        names: All names of the facts.
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
    """Make questions that the facts of a data set do not answer, and as many that they do.

    A question asks for a relation of a name of which the facts do not state it, in the
    words of the training texts. Names that are the subject of other facts come first,
    since of an object nothing may be stated at all. Whether the world has an answer is
    another matter: a pretrained model may know what the facts do not say.

    Args:
        folder: Data set that ``inweights augment`` wrote.
        chat: Whether to use the prompts for a user's turn in a chat.
        most: Number of questions of each kind, at most.
        seed: Root seed that decides which.

    Returns:
        Questions without an answer, then questions with one.

    Raises:
        DataError: The folder cannot be read, or each relation is stated of every name.
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
            f"the facts of {place} state each of their {len(frames)} relations of every name, so "
            "that no question is without an answer"
        )
    known = [pair for pair in stated if pair[1] in frames]
    # As many of each kind, so that a model that refuses always gains nothing by it.
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
    """Return the names that are subjects, and those that are objects alone."""
    subjects = facts["subject"].unique(maintain_order=True).to_list()
    objects = facts["object"].unique(maintain_order=True)
    return subjects, objects.filter(~objects.is_in(subjects)).to_list()


def _frames(facts: pl.DataFrame, prompts: Mapping[int, str]) -> dict[str, str]:
    """Return the words of each relation, with a place for the subject that occurs once."""
    frames: dict[str, str] = {}
    rows = facts.select("subject", "relation").rows()
    for number, (subject, relation) in enumerate(rows):
        prompt = prompts.get(number, "")
        # A name that occurs twice may be part of another word in one of the places.
        if relation not in frames and prompt.count(subject) == 1:
            frames[relation] = prompt.replace(subject, _SUBJECT)
    if not frames:
        raise DataError(
            "no training text names the subject of its fact once, so that questions about other "
            "names cannot be made of them"
        )
    return frames


@guarded
def abstention(
    models: Mapping[str, LanguageModel],
    questions: Sequence[OpenQuestion],
    *,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """Ask models what the facts do not answer, and what they do; count what they say.

    An answer *says so* where it has words such as "unknown", "not stated" or "I do not
    know"; these are English. Else it *names* where it has a name of the facts besides
    the subject: without an answer in the facts, this is invented. What is *other* may
    be invented as well, from elsewhere.

    Args:
        models: Models by what tables call them, such as ``before`` and ``after``.
        questions: Questions of :func:`read_unanswerable`.
        progress: Called with the number of answers, their total and a text.

    Returns:
        A row per question and model: ``model, kind, relation, subject, prompt, said``,
        ``answer`` (``says so``, ``names`` or ``other``) and ``right`` (it has a right
        answer).

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
        (lambda d, n: progress(d, n, "asking what has no answer")) if progress else None
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
    """Return whether an answer says that it has none, has a name of the facts, or neither.

    Args:
        text: The answer.
        names: All names of the facts.
        subject: Whom the question is about; that the answer repeats it counts for
            nothing.

    Returns:
        ``says so``, ``names`` or ``other``.

    Example:
        >>> names = ["Vienna"]
        >>> texts = (" not known.", "It is in vienna.", " a town.")
        >>> [answer_kind(text, names) for text in texts]
        ['says so', 'names', 'other']
    """
    if _DOES_NOT_KNOW.search(text):
        return SAYS_SO
    # An answer that repeats the question has its subject, and names nothing new.
    repeated = f" {_plain(subject)} " if subject else ""
    said = f" {_plain(text)} ".replace(repeated, "  ") if repeated else text
    return INVENTS if _has(said, names) else OTHER


def _has(text: str, names: Sequence[str]) -> bool:
    """Return whether one of some names is in a text, as whole words, but for capitals."""
    said = _plain(text)
    return any(f" {_plain(name)} " in f" {said} " for name in names)


def _plain(text: str) -> str:
    """Return the words of a text in small letters, with one space between them."""
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))


def abstention_shares(answers: pl.DataFrame) -> pl.DataFrame:
    """Return the shares of each kind of answer, by kind of question and model.

    Args:
        answers: Table of :func:`abstention`.

    Returns:
        ``kind, model, questions``, the shares ``says_so``, ``names`` and ``other``, which
        sum to 1, and ``right``.

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
