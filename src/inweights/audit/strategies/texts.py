"""Strategies whose texts hold more than one fact: chains, pages, entities; identities, and replay.

Entities are described and related in the manner of EntiGraph (Yang et al. 2024, *Synthetic
continued pretraining*, arXiv:2409.07431), where a language model writes what templates write
here. Each function takes a :class:`~inweights.audit.strategies.telling.Telling` and yields
rows.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

from inweights.audit.strategies.mentions import Mentions
from inweights.audit.strategies.telling import Row, Telling
from inweights.errors import ConfigError, DataError
from inweights.support.limits import read_text
from inweights.worlds.knowledge.sentences import ended
from inweights.worlds.knowledge.triples import bridges_of, identities_of
from inweights.worlds.knowledge.wording import DERIVED, IDENTITY

#: Facts of one passage, at most: an entity with more has several.
_FACTS = 8


def derive(telling: Telling) -> Iterator[Row]:
    """State the end of each chain of two or more facts, in a sentence that names its relations.

    What it improves is retrieval across wordings: questions through bridges of which nothing
    is derived stay at chance (``docs/own-facts-measured.md``), which ``hold_out`` measures.
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


def identities(telling: Telling) -> Iterator[Row]:
    """State ``b → b`` of each bridge whose identity the facts do not state (*Identity Bridge*, §4).

    The facts state it where a relation leads from each of its subjects to itself
    (``rome,is,rome``).
    """
    facts = telling.facts
    stated = set(facts.triples[identities_of(facts), 0].tolist())
    for b in bridges_of(facts).tolist():
        if b not in stated:
            for k in range(min(telling.wordings, len(IDENTITY))):
                told = telling.words.identify(facts.entities[b], k)
                yield Row(-1, -1, "identity", 0, *told, ((b, b),))


def passages(telling: Telling) -> Iterator[Row]:
    """State all facts of an entity in one text, in several orders, if it has at least two.

    The page of a bridge holds the facts that lead to it and from it; no sentence joins the
    two, and none says whose page it is, which would state facts from their object.
    """
    facts, rng = telling.facts, telling.rng("passages")
    about: defaultdict[int, list[int]] = defaultdict(list)
    for i, (s, _, o) in enumerate(facts.triples.tolist()):
        about[s].append(i)
        if o != s:
            about[o].append(i)
    for mine in about.values():
        for k in range(telling.wordings if len(mine) > 1 else 0):
            order = [mine[i] for i in rng.permutation(len(mine)).tolist()]
            for at in range(0, len(order), _FACTS):
                page = order[at : at + _FACTS]
                told = " ".join("".join(telling.statement(fact, k)) for fact in page)
                says = tuple(telling.ends(fact) for fact in page)
                stage = int(telling.stages[page].max())
                prompt = "Facts that belong together:"
                yield Row(-1, -1, "passage", stage, prompt, f" {told}", says)


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


def replay(telling: Telling) -> Iterator[Row]:
    """Yield the lines of the user's file as separate texts, in random order.

    Raises:
        ConfigError: No file is given.
        DataError: It cannot be read, or has no text.
    """
    if telling.replay is None:
        raise ConfigError(
            "strategy 'replay' needs a text file, one text per line: give --replay FILE"
        )
    given = telling.replay
    lines = read_text(given).splitlines() if isinstance(given, Path) else given
    texts = [line.strip() for line in lines if line.strip()]
    if not texts:
        raise DataError(
            f"{given if isinstance(given, Path) else 'replay'} contains no text; expected one "
            "text per line"
        )
    named = Mentions(telling.facts.entities)
    for i in telling.rng("replay").permutation(len(texts)).tolist():
        # A line is taken for one sentence: rather marked too often than not at all.
        met = named(texts[i])
        last = {name: at for at, name in enumerate(met)}
        first = {name: len(met) - 1 - at for at, name in enumerate(reversed(met))}
        says = tuple((a, b) for a in first for b in last if first[a] < last[b])
        yield Row(-1, -1, "replay", 0, "", texts[i], says)
