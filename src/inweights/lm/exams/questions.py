"""Read questions with candidates: compositions, both of their hops, and prompts without a hop.

:func:`read_exam` reads a file or data set, and :func:`exam` reads a table; both return
:class:`Question` objects, which :mod:`~.evaluate` scores.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from inweights.config import check_size
from inweights.errors import DataError
from inweights.lm.model.tables import found_in, read_part, read_table
from inweights.seeds import EVALUATION, Streams
from inweights.support.border import guarded

_NEEDED = ("role", "prompt", "answer", "candidates")
#: Columns without which there are no questions about the hops of a composition.
_OF_HOPS = ("subject", "first", "bridge")


@dataclass(frozen=True)
class Question:
    """Question with a list of candidate answers.

    Attributes:
        id: Identifier by which its answers before and after training are matched.
        role: Kind of question: ``composition``, ``analogy``, ``reversal`` or ``recall``
            (a fact in new words); for the parts of a composition, ``first_hop``,
            ``second_hop`` or ``skip`` (the prompt ``(e1, r2)``, which leaves out the
            first relation; Identity Bridge, §4.5). Any other name is allowed; such
            questions are evaluated as well.
        prompt: Text that the answer continues.
        candidates: Distinct names, without the space before them.
        label: Index of the correct answer among the candidates.
        accepted: Other names of the correct answer, and other correct answers, which are
            also counted as correct if the model answers in its own words.
        chain: Id of the composition to which the question belongs (for a composition,
            its own id); empty if there is none.
        steps: For a composition, the prompt of its first hop, and the prompt of its
            second hop with ``{bridge}`` in place of the bridge entity. Otherwise empty.
        bridge: For a composition, its bridge entity, if it is known; otherwise empty.
        stated: Whether a training text states the answer directly.
        itself: Whether the answer is the subject of the question.
        facts: Numbers of the facts from which the answer follows, if they are known;
            otherwise empty.

    Raises:
        DataError: ``label`` is not the index of a candidate, or a candidate occurs
            twice.

    Example:
        >>> Question("0", "reversal", "Rome is in", ("Italy", "Peru"), label=0).answer
        'Italy'
    """

    id: str
    role: str
    prompt: str
    candidates: tuple[str, ...]
    label: int
    accepted: tuple[str, ...] = ()
    chain: str = ""
    steps: tuple[str, ...] = ()
    bridge: str = ""
    stated: bool = False
    itself: bool = False
    facts: tuple[int, ...] = ()

    @guarded
    def __post_init__(self) -> None:
        if not 0 <= self.label < len(self.candidates):
            raise DataError(
                f"question '{self.prompt}': label {self.label} is not the index of "
                f"one of its {len(self.candidates)} candidates"
            )
        if len(set(self.candidates)) != len(self.candidates):
            raise DataError(f"question '{self.prompt}': a candidate occurs twice")

    @property
    def answer(self) -> str:
        """The correct answer, one of the candidates."""
        return self.candidates[self.label]


def exam(
    questions: pl.DataFrame,
    train: pl.DataFrame | None = None,
    *,
    most: int = 50,
    seed: int = 0,
) -> list[Question]:
    """Create the questions of a table and, from the training texts, questions about both hops.

    Args:
        questions: Table with the columns ``role``, ``prompt``, ``answer`` and
            ``candidates`` (a list of names with the answer), as returned by
            :func:`inweights.audit.held_out`. Questions about both hops of a composition
            also need ``facts``, ``subject``, ``first`` and ``bridge``. Optional columns
            are ``accepted`` and ``also_right`` (names for :attr:`Question.accepted`);
            ``told`` or ``stated`` (a text states the answer if the value is true or is
            a string that is not empty); and ``itself`` (:attr:`Question.itself`).
        train: Table with the columns ``fact``, ``role`` and ``prompt``, as returned by
            :func:`inweights.audit.augment`. If it is ``None`` (the default), no
            questions about hops are created.
        most: Maximum number of candidates of a first hop, at least 1; by default 50.
            Many candidates of several tokens take a long time to score.
        seed: Root seed of the random choice of candidates, if there are more than
            ``most``; by default 0.

    Returns:
        Questions in the order of the table, whose ids are the numbers of the rows, from
        0. Composition ``7`` is followed by ``7.1`` (first hop; left out if there is
        only one candidate), ``7.2`` (second hop) and ``7.skip``, if the training texts
        state both of its facts.

    Raises:
        DataError: A column is missing or has another type, an answer is not among its
            candidates, or a candidate occurs twice.
        ConfigError: ``most`` is below 1, or ``seed`` is not an integer from 0 to
            2^63 - 1.

    Example:
        >>> from inweights.audit import augment
        >>> from inweights.worlds import read_knowledge
        >>> made = augment(read_knowledge("@people"))
        >>> asked = exam(made.questions, made.train)
        >>> len(asked), sorted({q.role for q in asked})
        (333, ['composition', 'first_hop', 'reversal', 'second_hop', 'skip'])
        >>> [q.prompt for q in asked if q.role == "skip"][0]
        'The country of Mozart is'
    """
    check_size("most", most, most=math.inf)
    rows = _checked(questions)
    prompts: dict[int, str] = {}
    if train is not None:
        facts = train.filter(role="fact").unique("fact", keep="first")
        prompts = dict(facts.select("fact", "prompt").iter_rows())
    bridges: dict[str | None, dict[str, None]] = {}
    for row in rows:
        if row["role"] == "composition" and row.get("bridge"):
            bridges.setdefault(row.get("first"), {})[row["bridge"]] = None
    asked = []
    for number, row in enumerate(rows):
        name = str(number)
        hops = [prompts.get(fact, "") for fact in row.get("facts") or ()]
        described = all(row.get(column) for column in _OF_HOPS)
        chained = row["role"] == "composition" and len(hops) == 2 and all(hops)
        steps: tuple[str, ...] = ()
        # If the bridge occurs twice, one occurrence may be part of another word.
        if chained and described and hops[1].count(row["bridge"]) == 1:
            steps = (hops[0], hops[1].replace(row["bridge"], "{bridge}"))
        names = tuple(row.get("accepted") or ())
        bridge = row.get("bridge") or ""
        whole = Question(
            id=name,
            role=row["role"],
            prompt=row["prompt"],
            candidates=tuple(row["candidates"]),
            label=row["candidates"].index(row["answer"]),
            accepted=(*names, *(row.get("also_right") or ())),
            chain=name,
            steps=steps,
            bridge=bridge,
            stated=bool(row.get("told") or row.get("stated")),
            itself=bool(row.get("itself")),
            facts=tuple(row.get("facts") or ()),
        )
        asked.append(whole)
        if steps:
            middle = _among(list(bridges[row["first"]]), bridge, most, seed, number)
            asked += _of_hops(whole, hops, middle, row["subject"], names)
    return asked


def _checked(questions: pl.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table of questions, or raise a DataError if the table is not valid."""
    lacking = [name for name in _NEEDED if name not in questions.columns]
    if lacking:
        raise DataError(
            f"the column '{lacking[0]}' is missing; questions require the columns "
            f"{', '.join(_NEEDED)}, got {', '.join(questions.columns)}. 'inweights augment' "
            "writes files of questions"
        )
    rows = list(questions.iter_rows(named=True))
    for number, row in enumerate(rows):
        where = f"question {number + 1} ('{row['prompt']}')"
        own: dict[str, Any] = {name: row.get(name) for name in (*_NEEDED, "facts")}
        *texts, names, facts = own.values()
        lists = isinstance(names, list) and isinstance(facts or [], list)
        if not (lists and all(isinstance(text, str) for text in (*texts, *names))):
            raise DataError(
                f"{where}: role, prompt and answer must be strings, candidates a list of strings, "
                f"and facts a list of numbers, got {own}"
            )
        if row["answer"] not in row["candidates"]:
            raise DataError(
                f"{where}: the answer '{row['answer']}' is not among its candidates"
            )
    return rows


def _of_hops(
    whole: Question,
    hops: Sequence[str],
    middle: tuple[str, ...],
    subject: str,
    names: tuple[str, ...],
) -> Iterator[Question]:
    """Yield questions about both hops of a composition, and its ``skip`` question.

    ``names`` are other names of the answer. Other correct answers to the composition are
    not used, since they may be wrong for a single hop.
    """
    name = whole.id
    bridge = whole.bridge
    answer = whole.candidates[whole.label]
    skip = whole.steps[1].replace("{bridge}", subject)
    # The bridge is the subject of the second hop, and therefore not a candidate.
    ends = tuple(one for one in whole.candidates if one != bridge or one == answer)
    right = ends.index(answer)
    if len(middle) > 1:
        place = middle.index(bridge)
        yield Question(f"{name}.1", "first_hop", hops[0], middle, place, chain=name)
    yield Question(f"{name}.2", "second_hop", hops[1], ends, right, names, name)
    yield Question(f"{name}.skip", "skip", skip, ends, right, whole.accepted, name)


def read_exam(path: str | Path, *, chat: bool = False) -> list[Question]:
    """Read questions from a JSONL or Parquet file, or a folder that ``inweights augment`` wrote.

    Args:
        path: The file or folder.
        chat: Whether to read prompts from the column ``question``, whose texts are
            worded as a user's turn in a chat. It has no effect if the table has no such
            column; by default False.

    Returns:
        Questions, as returned by :func:`exam`. For a folder, they include questions
        about both hops of compositions.

    Raises:
        DataError: There is no such file, it cannot be read, it lacks columns, or a row
            is invalid (:func:`exam`).

    Example:
        >>> read_exam("no-such-file.jsonl")
        Traceback (most recent call last):
        ...
        inweights.errors.DataError: there is no file or folder no-such-file.jsonl
    """
    place = Path(path)
    questions = read_table(found_in(place, "questions") if place.is_dir() else place)
    if chat and "question" in questions.columns:
        questions = questions.with_columns(
            prompt=pl.coalesce("question", pl.col("prompt"))
        )
    return exam(
        questions, read_part(place, "train", chat=chat) if place.is_dir() else None
    )


def _among(
    names: list[str], right: str, most: int, seed: int, number: int
) -> tuple[str, ...]:
    """Return the right name and randomly drawn other names, in alphabetical order."""
    wrong = [name for name in names if name != right]
    rng = Streams(seed).numpy(EVALUATION, "first hop", number)
    drawn = [wrong[i] for i in rng.permutation(len(wrong))[: most - 1].tolist()]
    return tuple(sorted([right, *drawn]))
