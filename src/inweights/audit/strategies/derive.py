"""Composed facts, in wordings that no question uses."""

from collections.abc import Iterator

from inweights.audit.strategies.telling import Row, Telling
from inweights.worlds.knowledge.wording import DERIVED


def derive(telling: Telling) -> Iterator[Row]:
    """State the end of each chain of two facts or more, the chain named.

    What it gives is retrieval across wordings: questions through bridges that nothing is derived
    of stay at chance (``docs/own-facts-measured.md``), which is what ``hold_out`` measures.
    """
    facts, words = telling.facts, telling.words
    for hops in range(2, telling.hops + 1):
        for chain in telling.chains(hops):
            relations = [facts.relations[r] for r in facts.triples[list(chain), 1].tolist()]
            s, o = telling.ends(*chain)
            stage = int(telling.stages[list(chain)].max())
            for k in range(min(telling.wordings, DERIVED)):
                told = words.derive(relations, facts.entities[s], facts.entities[o], k)
                yield Row(-1, -1, "derived", stage, *told, ((s, o),))
