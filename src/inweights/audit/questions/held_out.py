"""Create held-out questions, whose answers follow from facts, with candidate answers.

:func:`held_out` returns compositions, analogies and reversals as a table.
:func:`~inweights.audit.augment` marks those that its training texts answer directly,
and an audit shows examples of their wording (:func:`worded`).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
import polars as pl

from inweights.audit.questions.kinds import Draft, analogies, compositions, reversals
from inweights.seeds import WORLD, Streams
from inweights.worlds.knowledge.knowledge import Knowledge
from inweights.worlds.knowledge.words.wording import Wording

#: Maximum number of questions of each kind. If there are more, a random sample is
#: drawn.
QUESTIONS = 10_000
#: Maximum number of candidate answers of a question.
CANDIDATES = 50
#: Maximum number of facts from which examples of questions are shown.
_WORDED = 1000
_SCHEMA: dict[str, Any] = {
    "role": pl.String,
    "prompt": pl.String,
    "answer": pl.String,
    "candidates": pl.List(pl.String),
    "label": pl.Int64,
    "accepted": pl.List(pl.String),
    "also_right": pl.List(pl.String),
    "stated": pl.Boolean,
    "facts": pl.List(pl.Int64),
    "subject": pl.String,
    "first": pl.String,
    "bridge": pl.String,
    "second": pl.String,
    "question": pl.String,
}


def held_out(
    facts: Knowledge, words: Wording, *, seed: int = 0, reverse: bool
) -> pl.DataFrame:
    """Return questions that follow from the facts, each with its answer and wrong candidates.

    Args:
        facts: The facts.
        words: Templates of prompts and questions, and other names of the entities.
        seed: Root seed, from 0 to 2**63 - 1, that determines which questions and
            candidates are drawn if there are too many.
        reverse: Whether to include reversals. They should be left out if a training
            text names the object of a fact before its subject.

    Returns:
        One row per question, at most 10,000 of each role; compositions first, then
        analogies, then reversals, each sorted by ``facts``:

        - ``role``: ``composition`` (the ``first`` relation leads from the ``subject``
          to the ``bridge``, and the question asks for the ``second`` relation of the
          bridge); ``analogy`` (the question asks for the ``second`` relation of the
          ``subject``; the entity ``bridge`` and others share the subject's value of
          ``first``, and all have the same value of ``second``); or ``reversal`` (the
          question asks for the ``subject`` of a fact with the relation ``first``, given
          its object).
        - ``prompt``: the beginning of a sentence that the answer completes.
        - ``question``: the same question as a user would ask it in chat.
        - ``answer``: the correct answer.
        - ``candidates``: the answer and wrong answers of the same kind, at most 50 in
          all, in alphabetical order. For a composition, they include the bridge, unless
          it is a correct answer. A question without a wrong candidate is left out.
        - ``label``: index of the answer among the candidates.
        - ``accepted``: the answer and its other names.
        - ``also_right``: other correct answers to the prompt, with their other names;
          empty unless the role is ``composition``.
        - ``stated``: for a composition, whether a single fact connects the subject with
          the answer; otherwise false.
        - ``facts``: indices of the facts from which the answer follows.
        - ``subject``, ``first``, ``bridge``, ``second``: names, as explained under
          ``role``; ``bridge`` and ``second`` are null for a reversal.

    Raises:
        ConfigError: ``seed`` is not between 0 and 2**63 - 1.

    Example:
        >>> from inweights.worlds import read_knowledge
        >>> asked = held_out(read_knowledge("@people"), Wording(), reverse=True)
        >>> asked.group_by("role", maintain_order=True).len().rows()
        [('composition', 70), ('reversal', 53)]
    """
    return with_left_out(facts, words, seed=seed, reverse=reverse)[0]


def with_left_out(
    facts: Knowledge, words: Wording, *, seed: int, reverse: bool
) -> tuple[pl.DataFrame, int]:
    """Return the table of :func:`held_out`, and the number of questions without a wrong candidate.

    Args:
        facts: The facts.
        words: Templates of prompts and questions.
        seed: Root seed of all random choices, from 0 to 2**63 - 1.
        reverse: Whether to include reversals.

    Returns:
        The questions, with the columns that :func:`held_out` describes; and the number
        of questions that were left out because their only candidate is the answer.

    Raises:
        ConfigError: ``seed`` is not between 0 and 2**63 - 1.
    """
    objects, starts = _names_by_relation(facts)
    rng = Streams(seed).numpy(WORLD, "questions")
    aliases = words.over(facts).aliases
    # Up to twice as many chains as needed, since some may have no wrong candidate.
    kinds = [
        compositions(facts, words, objects, 2 * QUESTIONS, rng),
        analogies(facts, words, objects, rng),
    ]
    if reverse:
        kinds.append(reversals(facts, words, starts, rng))
    left_out = 0
    rows: list[dict[str, Any]] = []
    for kind in kinds:
        kept: list[dict[str, Any]] = []
        for draft in kind:
            candidates = _candidates(draft, rng)
            if len(candidates) > 1:
                kept.append(_row(draft, candidates, aliases))
            else:
                left_out += 1
            if len(kept) == QUESTIONS:
                break
        rows += sorted(kept, key=lambda row: row["facts"])
    return pl.DataFrame(rows, schema=_SCHEMA), left_out


def _names_by_relation(
    facts: Knowledge,
) -> tuple[dict[int, list[str]], dict[int, list[str]]]:
    """Return the distinct names of the objects, and of the subjects, of each relation."""
    objects: defaultdict[int, dict[str, None]] = defaultdict(dict)
    subjects: defaultdict[int, dict[str, None]] = defaultdict(dict)
    for s, r, o in facts.triples.tolist():
        objects[r][facts.entities[o]] = None
        subjects[r][facts.entities[s]] = None
    return (
        {r: list(found) for r, found in objects.items()},
        {r: list(found) for r, found in subjects.items()},
    )


def _row(
    draft: Draft, candidates: list[str], aliases: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """Return the row of a question for the table, with all names of its correct answers."""
    also_right: list[str] = []
    for name in sorted(draft.right - {draft.answer}):
        also_right += [name, *aliases.get(name, ())]
    return {
        **draft._asdict(),
        "candidates": candidates,
        "label": candidates.index(draft.answer),
        "accepted": [draft.answer, *aliases.get(draft.answer, ())],
        "also_right": also_right,
    }


def _candidates(draft: Draft, rng: np.random.Generator) -> list[str]:
    """Return the answer and wrong candidates of the same kind, in alphabetical order."""
    right = {draft.answer, *draft.right}
    names = draft.others
    bridge = draft.bridge if draft.role == "composition" else None
    picked: Iterable[str] = names
    if len(names) > CANDIDATES + len(right):
        drawn = rng.choice(len(names), size=CANDIDATES + len(right), replace=False)
        picked = [names[i] for i in drawn.tolist()]
    # The bridge, with which a model answers that applies only the first relation, is
    # always among the wrong candidates unless it is a right answer.
    halfway = [bridge] if bridge is not None and bridge not in right else []
    wrong = (name for name in picked if name not in right and name != bridge)
    return sorted(
        [*halfway, *islice(wrong, CANDIDATES - 1 - len(halfway)), draft.answer]
    )


def worded(facts: Knowledge, words: Wording, shown: int = 3) -> pl.DataFrame:
    """Return a table with examples of how facts and questions are worded.

    Args:
        facts: The facts; the examples are taken from at most 1,000 of them.
        words: Templates of sentences and questions.
        shown: Largest number of examples for each relation, and for each kind of
            question.

    Returns:
        One row per example, facts first: ``role`` (``fact: RELATION``, or
        ``composition``, ``analogy`` or ``reversal``), ``text`` (the beginning of a
        sentence, or a question) and ``answer``.
    """
    part = facts.take(facts.part(_WORDED)) if len(facts) > _WORDED else facts
    rows = []
    for _, few in part.frame().group_by("relation", maintain_order=True):
        for k, (s, r, o) in enumerate(
            few.select("subject", "relation", "object").rows()[:shown]
        ):
            prompt, answer = words.state(r, s, o, k)
            rows.append((f"fact: {r}", prompt, answer.strip()))
    asked = held_out(part, words, reverse=True)
    few = asked.group_by("role", maintain_order=True).head(shown)
    rows += few.select("role", "question", "answer").rows()
    schema = ("role", "text", "answer")
    return pl.DataFrame(rows, schema=dict.fromkeys(schema, pl.String), orient="row")
