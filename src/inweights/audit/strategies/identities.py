"""Identities ``b → b`` of bridges (*Identity Bridge*, §4)."""

from collections.abc import Iterator

from inweights.audit.strategies.telling import Row, Telling
from inweights.worlds.knowledge.triples import bridges_of, identities_of
from inweights.worlds.knowledge.wording import IDENTITY


def identities(telling: Telling) -> Iterator[Row]:
    """State the identity of each bridge that the facts do not state themselves.

    They state it where a relation leads from each of its subjects to itself (``rome,is,rome``).
    """
    facts = telling.facts
    stated = set(facts.triples[identities_of(facts), 0].tolist())
    for b in bridges_of(facts).tolist():
        if b not in stated:
            for k in range(min(telling.wordings, len(IDENTITY))):
                told = telling.words.identify(facts.entities[b], k)
                yield Row(-1, -1, "identity", 0, *told, ((b, b),))
