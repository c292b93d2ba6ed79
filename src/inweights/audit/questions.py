"""Questions that follow from facts and are never trained on: compositions, analogies, reversals.

:func:`held_out` returns them with candidate answers. :func:`~inweights.audit.augment` adds
which of them its training texts answer directly, and an audit shows samples of their wording.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from inweights.audit.homonyms import doubtful_facts
from inweights.seeds import WORLD, Streams
from inweights.worlds.knowledge.knowledge import Knowledge
from inweights.worlds.knowledge.names import literals
from inweights.worlds.knowledge.two_steps import spread_chains
from inweights.worlds.knowledge.wording import Wording
from inweights.worlds.world import Ids

#: Questions of each kind, at most; which ones is decided by the seed.
QUESTIONS = 10_000
#: Candidates of a question, at most.
CANDIDATES = 50
#: Facts whose questions are shown, at most.
_WORDED = 1000
#: Share of the facts whose value nobody else has, above which a relation is one-to-one, by kind.
SINGLE = {"person": 0.5, "other": 0.9}
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


class _Asked(NamedTuple):
    """A question before it has candidates: those of ``others`` that are not ``right``."""

    facts: list[int]
    role: str
    prompt: str
    answer: str
    others: Sequence[str]
    right: set[str]
    subject: str
    first: str
    bridge: str | None
    second: str | None
    question: str
    stated: bool = False


def held_out(facts: Knowledge, words: Wording, *, seed: int = 0, reverse: bool) -> pl.DataFrame:
    """Return questions that follow from the facts, each with its answer and wrong candidates.

    Args:
        facts: The facts.
        words: Templates of prompts and questions, and other names of the entities.
        seed: Root seed that decides which questions and candidates are drawn where there are
            too many.
        reverse: Whether to ask reversals; not where these are trained.

    Returns:
        A row a question: ``role`` (``composition``: ``subject``, ``first``, ``second``, through
        ``bridge``; ``analogy``: what ``bridge``, which has the same value of ``first`` as
        ``subject``, has for ``second``, and others like it have too; ``reversal``: from the object
        back), ``prompt``, ``answer``, ``candidates`` (of the answer's kind, and the bridge of a
        composition; no other is right; a question that has no other than the answer is left out),
        ``label`` (the answer's place among them), ``accepted`` (the answer and its other names),
        ``also_right`` (the other right answers to the prompt, with their other names),
        ``stated`` (whether a fact says so outright), ``facts`` (numbers of those that it rests on),
        ``question`` (the prompt as a user asks it in chat).

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
        seed: Root seed of what is drawn.
        reverse: Whether to ask reversals.

    Returns:
        The questions, and how many were left out because their only candidate is the answer.
    """
    left_out = 0
    names = facts.entities
    values: defaultdict[int, dict[str, None]] = defaultdict(dict)
    subjects: defaultdict[int, dict[str, None]] = defaultdict(dict)
    for s, r, o in facts.triples.tolist():
        values[r][names[o]] = None
        subjects[r][names[s]] = None
    objects = {r: list(found) for r, found in values.items()}
    starts = {r: list(found) for r, found in subjects.items()}
    rng = Streams(seed).numpy(WORLD, "questions")
    aliases = words.over(facts).aliases
    kinds = [_compositions(facts, words, objects, rng), _analogies(facts, words, objects, rng)]
    if reverse:
        kinds.append(_reversals(facts, words, starts, rng))
    rows: list[dict[str, Any]] = []
    for kind in kinds:
        kept: list[dict[str, Any]] = []
        for asked in kind:
            candidates = _among(asked, rng)
            if len(candidates) > 1:
                accepted = [asked.answer, *aliases.get(asked.answer, ())]
                others = sorted(asked.right - {asked.answer})
                also = [name for one in others for name in (one, *aliases.get(one, ()))]
                place = {"candidates": candidates, "label": candidates.index(asked.answer)}
                right = {"accepted": accepted, "also_right": also}
                kept.append({**asked._asdict(), **place, **right})
            else:
                left_out += 1
            if len(kept) == QUESTIONS:
                break
        rows += sorted(kept, key=lambda row: row["facts"])
    return pl.DataFrame(rows, schema=_SCHEMA), left_out


def worded(facts: Knowledge, words: Wording, shown: int = 3) -> pl.DataFrame:
    """Return samples of how facts and questions are worded.

    Args:
        facts: The facts; questions are made from at most 1,000 of them.
        words: Templates.
        shown: Most samples for each relation, and for each kind of question.

    Returns:
        A row for each sample: ``role``, ``text``, ``answer``.
    """
    part = facts.take(facts.part(_WORDED)) if len(facts) > _WORDED else facts
    rows = []
    for _, few in part.frame().group_by("relation", maintain_order=True):
        for k, (s, r, o) in enumerate(few.select("subject", "relation", "object").rows()[:shown]):
            prompt, answer = words.state(r, s, o, k)
            rows.append((f"fact: {r}", prompt, answer.strip()))
    asked = held_out(part, words, reverse=True)
    few = asked.group_by("role", maintain_order=True).head(shown)
    rows += few.select("role", "question", "answer").rows()
    schema = ("role", "text", "answer")
    return pl.DataFrame(rows, schema=dict.fromkeys(schema, pl.String), orient="row")


def _compositions(
    facts: Knowledge, words: Wording, objects: dict[int, list[str]], rng: np.random.Generator
) -> Iterator[_Asked]:
    """Chains of two facts, in a drawn order, one of each prompt."""
    names, relations = facts.entities, facts.relations
    told: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for s, r, o in facts.triples.tolist():
        told[s, r].append(o)
    stated = {(s, o) for s, _, o in facts.triples.tolist()}
    seen: set[tuple[int, int, int]] = set()
    doubtful = doubtful_facts(facts, words)
    # Twice as many as are asked, since some may have no wrong candidate.
    for i, j in rng.permutation(chains_of(facts, 2 * QUESTIONS)).tolist():
        if i in doubtful:
            continue
        s, r, b = facts.triples[i].tolist()
        _, second, o = facts.triples[j].tolist()
        if (s, r, second) in seen:
            continue
        seen.add((s, r, second))
        right = {names[c] for bridge in told[s, r] for c in told.get((bridge, second), ())}
        prompt = words.chain(relations[r], relations[second], names[s])
        yield _Asked(
            [i, j],
            "composition",
            prompt,
            names[o],
            objects[second],
            right,
            names[s],
            relations[r],
            names[b],
            relations[second],
            words.ask([relations[r], relations[second]], names[s]),
            stated=(s, o) in stated,
        )


def chains_of(facts: Knowledge, most: int) -> Ids:
    """Return pairs of facts that form a chain, spread evenly over the facts if there are too many.

    Facts of an entity about itself form no chain: a model that answers with the bridge would
    be right.

    Args:
        facts: The facts.
        most: Largest number of pairs.

    Returns:
        Numbers of the first and second fact of each chain, ``[C, 2]``.
    """
    real = np.flatnonzero(facts.triples[:, 0] != facts.triples[:, 2])
    return np.asarray(real[spread_chains(facts.triples[real], most)[0]])


def _analogies(
    facts: Knowledge, words: Wording, objects: dict[int, list[str]], rng: np.random.Generator
) -> Iterator[_Asked]:
    """What entities lack that all which share a value with them, and have it, agree on."""
    names, relations = facts.entities, facts.relations
    has: defaultdict[int, dict[int, list[tuple[int, int]]]] = defaultdict(dict)
    alike: defaultdict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for i, (s, r, o) in enumerate(facts.triples.tolist()):
        if s != o:
            has[s].setdefault(r, []).append((i, o))
            alike[r, o].append((i, s))
    single = of_one_each(facts, words)
    plain = literals(names, facts.triples)  # a number that two share makes neither like the other
    groups = [(r, m) for (r, value), m in alike.items() if len(m) > 1 and not plain[value]]
    asked: set[tuple[int, int]] = set()
    for k in rng.permutation(len(groups)).tolist():
        shared, members = groups[k]
        # The one value that all agree on, and how it is known; none where they do not.
        shared_facts: dict[int, tuple[int, int, int, int] | None] = {}
        for i, a in members:
            for relation, told in has[a].items():
                j, o = told[0]
                known = shared_facts.setdefault(relation, (o, i, j, a))
                if len(told) > 1 or (known and known[0] != o):
                    shared_facts[relation] = None
        for attribute, agreed in shared_facts.items():
            if attribute in (shared, *single) or agreed is None or plain[agreed[0]]:
                continue
            o, i, j, a = agreed
            for k_own, b in members:
                if attribute in has[b] or (b, attribute) in asked or b == o:
                    continue
                asked.add((b, attribute))
                prompt = words.state(relations[attribute], names[b], names[o], 0)[0]
                yield _Asked(
                    [k_own, i, j],
                    "analogy",
                    prompt,
                    names[o],
                    objects[attribute],
                    set(),
                    names[b],
                    relations[shared],
                    names[a],
                    relations[attribute],
                    words.ask([relations[attribute]], names[b]),
                )


def of_one_each(facts: Knowledge, words: Wording) -> set[int]:
    """Return relations whose values distinguish subjects, so that those of others suggest nothing.

    A relation counts if its values are names (such as nicknames), or if nearly every value has
    one subject; of relations to persons (such as mentors), half of the values suffice.

    Args:
        facts: The facts.
        words: Says of which kind the values of each relation are.

    Returns:
        Numbers of the relations.
    """
    found = set()
    for relation, name in enumerate(facts.relations):
        values = facts.triples[facts.triples[:, 1] == relation, 2]
        kind, counts = words.kind(name), np.unique(values, return_counts=True)[1]
        alone = (counts == 1).sum() / max(len(values), 1)
        few = kind != "person" and len(values) < 3
        if kind == "name" or (not few and alone > SINGLE.get(kind, SINGLE["other"])):
            found.add(relation)
    return found


def _reversals(
    facts: Knowledge, words: Wording, starts: dict[int, list[str]], rng: np.random.Generator
) -> Iterator[_Asked]:
    """Facts whose object is an entity and has one subject only: those that can be reversed."""
    key = facts.triples[:, 1] * len(facts.entities) + facts.triples[:, 2]
    _, place, counts = np.unique(key, return_inverse=True, return_counts=True)
    single = (counts[place] == 1) & ~literals(facts.entities, facts.triples)[facts.triples[:, 2]]
    for i in rng.permutation(np.flatnonzero(single)).tolist():
        s, r, o = facts.names(i)
        if s == o:
            continue
        prompt = words.turn(r, s, o, 1)[0]
        others = starts[int(facts.triples[i, 1])]
        yield _Asked([i], "reversal", prompt, s, others, set(), s, r, None, None, prompt)


def _among(asked: _Asked, rng: np.random.Generator) -> list[str]:
    """The answer among wrong candidates of its kind, in alphabetical order."""
    right, names = {asked.answer, *asked.right}, asked.others
    bridge = asked.bridge if asked.role == "composition" else None
    picked: Iterable[str] = names
    if len(names) > CANDIDATES + len(right):
        drawn = rng.choice(len(names), size=CANDIDATES + len(right), replace=False)
        picked = [names[i] for i in drawn.tolist()]
    wrong = [name for name in picked if name not in right and name != bridge]
    # What a model says that stops half-way is a candidate, too.
    halfway = [bridge] if bridge is not None and bridge not in right else []
    return sorted([*halfway, *wrong[: CANDIDATES - 1 - len(halfway)], asked.answer])
