"""Entities described and related, from templates, in the manner of EntiGraph.

Yang et al. 2024, *Synthetic continued pretraining* (arXiv:2409.07431), have a language model write
about each entity of a text, and about how pairs of them are related; here templates write it.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations

from inweights.audit.strategies.telling import Row, Telling


def entities(telling: Telling) -> Iterator[Row]:
    """Describe each entity by all of its facts, and relate pairs that one entity joins.

    Pairs through a held-out bridge are not related, as no strategy states their chains.
    """
    facts = telling.facts
    about: defaultdict[int, list[int]] = defaultdict(list)
    reached: defaultdict[int, list[int]] = defaultdict(list)
    for i, (s, _, o) in enumerate(facts.triples.tolist()):
        for entity in dict.fromkeys((s, o)):
            about[entity].append(i)
        reached[o].append(i)
    rng = telling.rng("entities")
    for entity, own in about.items():
        order = [own[i] for i in rng.permutation(len(own)).tolist()]
        yield _text(telling, f"About {facts.entities[entity]}:", [entity], order)
    for chain in telling.chains(2):
        s, o = telling.ends(*chain)
        yield _related(telling, s, o, chain)
    pairs = [
        pair
        for thing, leading in reached.items()
        if thing not in telling.held
        for pair in combinations(leading, 2)
    ]
    for i in sorted(rng.permutation(len(pairs))[: telling.most].tolist()):
        one, other = (telling.ends(fact)[0] for fact in pairs[i])
        if one != other:
            yield _related(telling, one, other, pairs[i])


def _related(telling: Telling, one: int, other: int, facts: tuple[int, ...]) -> Row:
    """How one entity is related to another, by the facts that join them."""
    names = telling.facts.entities
    prompt = f"How {names[one]} and {names[other]} are related:"
    return _text(telling, prompt, (one, other), facts)


def _text(telling: Telling, prompt: str, named: Sequence[int], facts: Sequence[int]) -> Row:
    """What the prompt names stands in one sentence with the first fact."""
    first, *others = (telling.ends(fact) for fact in facts)
    says = (*combinations((*named, *first), 2), *others)
    told = " ".join("".join(telling.statement(fact)) for fact in facts)
    stage = int(telling.stages[list(facts)].max())
    return Row(-1, -1, "entity", stage, prompt, f" {told}", says)
