"""Find names that seem to mean two things: chains whose end contradicts another fact.

If an airport has the name of a city, facts about both contain this name: *Sugar Bush
Field, in_city, Warren* (the city) and *Warren, in_state, AZ* (the airport), although
the field itself is stated to be in VT. ``audit`` reports such chains, and ``augment``
never states them.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from inweights.worlds.knowledge.checks.names import literals
from inweights.worlds.knowledge.knowledge import Knowledge
from inweights.worlds.knowledge.words.wording import Wording
from inweights.worlds.world import Ids

#: A relation is single-valued if at least this fraction of its subjects have exactly
#: one value.
_FUNCTIONAL = 0.9
#: Words in names of relations that lead to places. Such relations are transitive: a
#: thing in a city is also in the city's country.
_PLACES = {
    "city",
    "town",
    "village",
    "municipality",
    "county",
    "district",
    "province",
    "region",
    "state",
    "country",
    "continent",
    "island",
    "area",
    "territory",
    "located",
    "lies",
    "location",
    "place",
}


class Contradicted(NamedTuple):
    """A chain of two facts whose end contradicts a third fact.

    Attributes:
        first: Index of the first fact of the chain.
        second: Index of its second fact.
        stated: Index of the fact that states a different value of the second relation
            for the subject of the chain.
    """

    first: int
    second: int
    stated: int


def contradicted_chains(facts: Knowledge, words: Wording) -> list[Contradicted]:
    r"""Return chains of two facts whose end differs from the value that the file states directly.

    A chain ``s → b → o`` is contradicted if another fact states a different value of
    its second relation for ``s``. Only relations for which at least nine in ten
    subjects have exactly one value are considered; dates and numbers are ignored. The
    contradictions of a pair of relations are returned only if at least as many chains
    of this pair agree with the direct facts as contradict them, or if the values can be
    expected to agree. They can be expected to agree if three conditions hold: the
    objects of the first relation are not persons; at most half of these objects are
    subjects of the same relation; and either both relations have a word such as
    ``city`` in their names, or at most half of these objects are subjects of the second
    relation.

    Args:
        facts: The facts.
        words: Wording of the facts, which determines the relations whose objects are
            persons.

    Returns:
        The contradicted chains, sorted by the indices of their facts; empty if there
        are none.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from inweights.worlds import read_knowledge
        >>> path = Path(tempfile.mkdtemp()) / "facts.csv"
        >>> _ = path.write_text("Oak Field,city,Bethel\nOak Field,state,ME\nBethel,state,AK\n")
        >>> contradicted_chains(read_knowledge(path), Wording())
        [Contradicted(first=0, second=2, stated=1)]
    """
    single = _single_values(facts)
    plain = literals(facts.entities, facts.triples)
    pairs: defaultdict[tuple[int, int], list[Contradicted]] = defaultdict(list)
    agree: defaultdict[tuple[int, int], int] = defaultdict(int)
    for i, (s, r, b) in enumerate(facts.triples.tolist()):
        if s == b or b not in single or s not in single:
            continue
        own = single[s]
        theirs = single[b]
        for second in own.keys() & theirs.keys() - {r}:
            (stated, o) = own[second]
            (j, end) = theirs[second]
            if o == end:
                agree[r, second] += 1
            elif end != s and o != b and not (plain[o] or plain[end]):
                pairs[r, second].append(Contradicted(i, j, stated))
    found: list[Contradicted] = []
    for (first, second), chains in pairs.items():
        if agree[first, second] >= len(chains) or _should_agree(
            facts, words, first, second
        ):
            found += chains
    return sorted(found)


def doubtful_facts(facts: Knowledge, words: Wording) -> frozenset[int]:
    """Return the indices of facts whose object may be a homonym (one name for two entities).

    These are the first facts of the contradicted chains. If the object of such a fact
    is a homonym, the facts that have this name as their subject are about a different
    entity.

    Args:
        facts: The facts.
        words: Wording of the facts, which determines the relations whose objects are
            persons.

    Returns:
        Indices of the first facts of all contradicted chains; empty if there are none.
    """
    return frozenset(chain.first for chain in contradicted_chains(facts, words))


def _single_values(facts: Knowledge) -> dict[int, dict[int, tuple[int, int]]]:
    """Return, for each subject and single-valued relation, the index of the fact and its object."""
    values: defaultdict[int, defaultdict[int, list[tuple[int, int]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for j, (s, r, o) in enumerate(facts.triples.tolist()):
        values[r][s].append((j, o))
    single: defaultdict[int, dict[int, tuple[int, int]]] = defaultdict(dict)
    for relation, subjects in values.items():
        alone = [s for s, own in subjects.items() if len(own) == 1]
        if len(alone) >= _FUNCTIONAL * len(subjects):
            for s in alone:
                single[s][relation] = subjects[s][0]
    return single


def _should_agree(facts: Knowledge, words: Wording, first: int, second: int) -> bool:
    names = facts.relations[first], facts.relations[second]
    if words.kind(names[0]) == "person":
        return False
    objects = np.unique(_of(facts, first)[:, 2])
    if np.isin(objects, _of(facts, first)[:, 0]).mean() > 0.5:
        return False
    if all(_PLACES & set(name.lower().replace("_", " ").split()) for name in names):
        return True
    return bool(np.isin(objects, _of(facts, second)[:, 0]).mean() <= 0.5)


def _of(facts: Knowledge, relation: int) -> Ids:
    return facts.triples[facts.triples[:, 1] == relation]


def describe(
    facts: Knowledge, chains: Sequence[Contradicted], shown: int = 3
) -> list[str]:
    """Return a text with examples for each pair of relations with contradicted chains.

    Args:
        facts: The facts of the chains.
        chains: Contradicted chains, from :func:`contradicted_chains`.
        shown: Largest number of chains of each pair of relations that are written out.
            For the remaining chains, only their number is given.

    Returns:
        One text per pair of relations, in the order in which the pairs first occur in
        ``chains``.
    """
    groups: defaultdict[tuple[str, str], list[Contradicted]] = defaultdict(list)
    for chain in chains:
        groups[facts.names(chain.first)[1], facts.names(chain.second)[1]].append(chain)
    texts = []
    for (first, second), own in groups.items():
        examples = []
        for chain in own[:shown]:
            s, _, bridge = facts.names(chain.first)
            end = facts.names(chain.second)[2]
            stated = facts.names(chain.stated)[2]
            lines = ", ".join(str(int(facts.lines[fact])) for fact in chain)
            examples.append(f"{s} → {bridge} → {end}, stated {stated} (lines {lines})")
        more = f" … and {len(own) - shown:,} more" if len(own) > shown else ""
        texts.append(f"{first}, {second}: {'; '.join(examples)}{more}")
    return texts
