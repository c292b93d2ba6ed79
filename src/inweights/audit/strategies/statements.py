"""Facts one by one: as they are, in other words, as questions, and from their object."""

from __future__ import annotations

from collections.abc import Iterator

from inweights.audit.strategies.telling import Row, Telling
from inweights.worlds.wording import REVERSE, ended

__all__ = ["paraphrases", "plain", "questions_and_answers", "reversals"]


def plain(telling: Telling) -> Iterator[Row]:
    """Tell every fact once, in the first of its wordings: what every training set holds."""
    for i, line in enumerate(telling.facts.lines.tolist()):
        yield _row(telling, i, line, "fact", telling.statement(i))


def paraphrases(telling: Telling) -> Iterator[Row]:
    """Tell every fact in the wordings after the first."""
    for i, line in enumerate(telling.facts.lines.tolist()):
        relation = telling.facts.names(i)[1]
        for k in range(1, min(telling.wordings, len(telling.words.templates(relation)))):
            yield _row(telling, i, line, "paraphrase", telling.statement(i, k))


def questions_and_answers(telling: Telling) -> Iterator[Row]:
    """Ask for every fact, and answer."""
    for i, line in enumerate(telling.facts.lines.tolist()):
        s, r, o = telling.facts.names(i)
        told = (telling.words.ask([r], s), f" {ended(o)}")
        yield _row(telling, i, line, "qa", told)


def reversals(telling: Telling) -> Iterator[Row]:
    """Tell every fact from its object; reversals are then no longer asked."""
    for i, line in enumerate(telling.facts.lines.tolist()):
        s, r, o = telling.facts.names(i)
        if s != o:
            for k in range(min(telling.wordings, len(REVERSE))):
                row = _row(telling, i, line, "reverse", telling.words.turn(r, s, o, k))
                yield row._replace(says=tuple((b, a) for a, b in row.says))


def _row(telling: Telling, fact: int, line: int, role: str, told: tuple[str, str]) -> Row:
    return Row(fact, line, role, int(telling.stages[fact]), *told, (telling.ends(fact),))
