"""Strategies that state one fact per text: plainly, reworded, as a question, or reversed.

:func:`plain` is part of every training set; :func:`paraphrases`,
:func:`questions_and_answers` and :func:`reversals` are strategies of
:data:`~inweights.audit.strategies.STRATEGIES`.
"""

import re
from collections.abc import Iterator

from inweights.audit.strategies.inputs import Row, StrategyInput
from inweights.audit.strategies.mentions import Mentions
from inweights.errors import DataError
from inweights.worlds.knowledge.words.sentences import ended
from inweights.worlds.knowledge.words.wording import REVERSE

_WORD = re.compile(r"\w+(?:n't)?")
#: Words that negate a sentence.
_DENIES = {
    "not",
    "no",
    "never",
    "nor",
    "none",
    "neither",
    "without",
    "isn't",
    "wasn't",
    "false",
}


def plain(inputs: StrategyInput) -> Iterator[Row]:
    """Yield one row per fact, in its first wording; every training set contains these rows.

    Args:
        inputs: The facts and their wordings.

    Yields:
        One row of the role ``fact`` per fact, in the order of the facts.
    """
    for i in range(len(inputs.facts)):
        yield _row(inputs, i, "fact", inputs.statement(i))


def paraphrases(inputs: StrategyInput) -> Iterator[Row]:
    """Yield rows that state each fact in its other wordings, or as reworded by ``rewrite``.

    A reworded text is used only if it differs from the original and still states the
    fact. It must name the subject and no other entity except the object. It must end
    with the object, and contain a word of the relation. It must not contain a question
    mark, a colon, a line break, or a negation that the original lacks.

    Args:
        inputs: The facts and settings; ``wordings`` limits the number of wordings, and
            ``rewrite`` is the rewording function, or ``None``.

    Yields:
        Rows of the role ``paraphrase``, then rows of the role ``rewritten``.

    Raises:
        DataError: The function ``rewrite`` returns fewer or more texts than it was
            given. (Errors that the function raises propagate.)
    """
    for i in range(len(inputs.facts)):
        relation = inputs.facts.names(i)[1]
        for k in range(1, min(inputs.wordings, len(inputs.words.templates(relation)))):
            yield _row(inputs, i, "paraphrase", inputs.statement(i, k))
    if inputs.rewrite:
        named = Mentions(inputs.facts.entities)
        plainly = ["".join(inputs.statement(i)) for i in range(len(inputs.facts))]
        again = inputs.rewrite(plainly)
        if len(again) != len(plainly):
            raise DataError(
                f"the function rewrite returned {len(again)} texts for {len(plainly)} given "
                "texts; it must return one text for each of them, in the same order (an "
                "empty string leaves a text out)"
            )
        for i, (text, said) in enumerate(zip(plainly, again, strict=True)):
            if _survived(inputs, i, text, said, named(said)):
                o = inputs.facts.names(i)[2]
                at = said.rindex(o.removesuffix("."))
                yield _row(inputs, i, "rewritten", (said[:at].rstrip(), f" {ended(o)}"))


def questions_and_answers(inputs: StrategyInput) -> Iterator[Row]:
    """Yield a row for every fact, worded as a question with its answer.

    Args:
        inputs: The facts, their wordings, and the limits on the amount of text.

    Yields:
        One row of the role ``qa`` per fact. The prompt is the question, and the
        completion is the object.
    """
    for i in range(len(inputs.facts)):
        s, r, o = inputs.facts.names(i)
        yield _row(inputs, i, "qa", (inputs.words.ask([r], s), f" {ended(o)}"))


def reversals(inputs: StrategyInput) -> Iterator[Row]:
    """Yield rows that state every fact in reverse: the object precedes the subject.

    Facts whose subject and object are the same are left out. If this strategy is used,
    no held-out question asks for a reversal.

    Args:
        inputs: The facts, their wordings, and the limits on the amount of text.

    Yields:
        Rows of the role ``reverse``: one per fact and wording, up to
        ``inputs.wordings`` wordings.
    """
    for i in range(len(inputs.facts)):
        s, r, o = inputs.facts.names(i)
        if s != o:
            for k in range(min(inputs.wordings, len(REVERSE))):
                row = _row(inputs, i, "reverse", inputs.words.turn(r, s, o, k))
                yield row._replace(says=tuple((b, a) for a, b in row.says))


def _survived(
    inputs: StrategyInput, fact: int, text: str, said: str, met: list[int]
) -> bool:
    """Return whether a reworded text differs from the original and still states the fact."""
    _, relation, thing = inputs.facts.names(fact)
    words = set(_WORD.findall(said.lower()))
    senses = [relation.replace("_", " "), *inputs.words.sense(relation)]
    own = _WORD.findall(" ".join(senses).lower())
    # The first four letters represent all forms of a word. Short words, such as "of",
    # occur in every text, so they count only if a relation has no longer word.
    long = [word for word in own if len(word) > 3]
    stems = {word[:4] for word in long or own}
    return (
        said.removesuffix(".") != text.removesuffix(".")
        and met == list(inputs.ends(fact))
        and said.removesuffix(".").endswith(thing.removesuffix("."))
        and not {"?", "\n", ":"} & set(said)
        and bool({word[:4] for word in words} & stems)
        and not words & _DENIES - set(_WORD.findall(text.lower()))
    )


def _row(inputs: StrategyInput, fact: int, role: str, text: tuple[str, str]) -> Row:
    line = int(inputs.facts.lines[fact])
    stage = int(inputs.stages[fact])
    return Row(fact, line, role, stage, *text, (inputs.ends(fact),))
