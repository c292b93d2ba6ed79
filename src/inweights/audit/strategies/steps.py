"""Chains worked out in the open: the question, the bridge, the answer."""

from collections.abc import Iterator

from inweights.audit.strategies.telling import Row, Telling
from inweights.worlds.knowledge.wording import ended


def steps(telling: Telling) -> Iterator[Row]:
    """Answer each chain of two facts step by step, in a wording that no question uses."""
    facts, words = telling.facts, telling.words
    for chain in telling.chains(2):
        relations = [facts.relations[r] for r in facts.triples[list(chain), 1].tolist()]
        s, o = telling.ends(*chain)
        told = " ".join("".join(telling.statement(fact)) for fact in chain)
        completion = f" {told} So: {ended(facts.entities[o])}"
        prompt = words.ask(relations, facts.entities[s]) + " Step by step:"
        says = ((s, o), *(telling.ends(fact) for fact in chain))
        stage = int(telling.stages[list(chain)].max())
        yield Row(-1, -1, "steps", stage, prompt, completion, says)
