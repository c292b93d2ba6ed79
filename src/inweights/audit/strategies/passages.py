"""Facts that share an entity, stated together."""

from collections import defaultdict
from collections.abc import Iterator

from inweights.audit.strategies.telling import Row, Telling

#: Facts of one passage, at most: an entity with more has several.
_FACTS = 8


def passages(telling: Telling) -> Iterator[Row]:
    """Return a text for each entity with at least two facts, in several orders.

    A page of a bridge holds the facts that lead to it and from it; no sentence joins the two, and
    none names whose page it is, which would tell facts from their object.
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
