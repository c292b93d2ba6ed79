"""Remarks on triples: contradictions, placeholders, aliases, one-sided entities and inverses.

:func:`remarks_on` yields all of them for :class:`~inweights.worlds.Knowledge`. The
correction of facts also uses :func:`contradictions`.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from inweights.support.progress import plural
from inweights.worlds.knowledge.checks.names import (
    alias_groups,
    is_literal,
    is_nothing,
    literals,
)
from inweights.worlds.knowledge.checks.values import value_remarks
from inweights.worlds.readers.remark import Remark
from inweights.worlds.world import Ids

#: Smallest fraction of subjects with one value at which a relation counts as one that
#: normally has one value.
_FUNCTIONAL = 0.9
#: Smallest fraction of triples stated in both directions at which two relations count
#: as inverses.
_INVERSE = 0.8
#: Smallest fraction of similar entities that are both subject and object at which the
#: others get a remark.
_OTHERS = 0.5
#: Smallest number of subjects, or of triples, from which a rule is inferred.
_RULE = 3
#: Largest number of names that a remark lists.
_NAMED = 5


def remarks_on(
    entities: Sequence[str],
    relations: Sequence[str],
    triples: Ids,
    lines: Ids,
    aliases: Mapping[str, Sequence[str]],
) -> Iterator[Remark]:
    """Yield remarks on contradictions, placeholders, spellings, inverse relations and odd values.

    Args:
        entities: Names of entities.
        relations: Names of relations, each of which has a triple.
        triples: Subject, relation and object of each of ``M`` triples, as indices,
            ``[M, 3]`` (NumPy).
        lines: Line of each triple, ``[M]``.
        aliases: Dictionary that maps an entity to its other names; empty if the file
            contains none.

    Yields:
        Remarks in this order of kinds: ``contradiction`` (a second value of a relation
        that normally has one), ``blank`` (a placeholder used as an entity), ``literal``
        (a date or number that is a subject and an object), ``alias`` (names that may
        mean the same entity), ``one-sided`` (entities that are only subjects or only
        objects, although similar entities are both), ``inverse`` (relations that are
        stated in both directions), and the kinds of :func:`~.values.value_remarks`.
    """
    groups = dict(zip(relations, _by_relation(triples), strict=True))
    first = _first_lines(triples[:, [0, 2]], lines, len(entities))
    relation_lines = [int(lines[rows].min()) for rows in groups.values()]
    yield from _contradictions(entities, relations, triples, lines)
    yield from _blanks(entities, first)
    yield from _literals(entities, triples, lines)
    yield from _spellings("entity", entities, first)
    yield from _spellings("relation", relations, relation_lines)
    yield from _known_aliases(entities, first, aliases)
    yield from _one_sided(entities, groups, triples, lines)
    yield from _inverses(relations, groups, triples, lines)
    yield from value_remarks(entities, relations, triples, lines)


def _first_lines(columns: Ids, lines: Ids, n: int) -> list[int]:
    """Return the first line in which each of ``n`` entities occurs in the given columns.

    Args:
        columns: Entities of each triple, ``[M, K]``.
        lines: Line of each triple, ``[M]``.
        n: Number of entities.
    """
    first = np.full(n, np.iinfo(np.int64).max)
    for ends in columns.T:
        np.minimum.at(first, ends, lines)
    return list(map(int, first))


class Contradiction(NamedTuple):
    """A subject with several values of a relation that normally has one value per subject.

    Attributes:
        relation: Index of the relation.
        subject: Index of the subject.
        rows: Indices of the triples of this subject and relation.
        sure: Whether at least nine in ten subjects of the relation have one value, or
            all values of this subject are dates or numbers.
    """

    relation: int
    subject: int
    rows: Ids
    sure: bool


def contradictions(entities: Sequence[str], triples: Ids) -> Iterator[Contradiction]:
    """Yield subjects with several values of a relation that normally has one value per subject.

    A relation normally has one value if at least three subjects have one value, and at
    most a tenth of all subjects (or a single subject) have several.

    Args:
        entities: Names of entities.
        triples: Subject, relation and object of each of ``M`` triples, as indices,
            ``[M, 3]``.

    Yields:
        One object per subject and relation, ordered by relation, then by subject.
    """
    for relation, rows in enumerate(_by_relation(triples)):
        subjects, starts, counts = np.unique(
            triples[rows, 0], return_inverse=True, return_counts=True
        )
        several = np.flatnonzero(counts > 1)
        most = max(1, round((1 - _FUNCTIONAL) * len(subjects)))
        if len(several) > most or len(subjects) - len(several) < _RULE:
            continue
        for k in several.tolist():
            same = rows[starts == k]
            plain = all(is_literal(entities[o]) for o in triples[same, 2].tolist())
            sure = plain or (counts == 1).mean() >= _FUNCTIONAL
            yield Contradiction(relation, int(subjects[k]), same, sure)


def _contradictions(
    entities: Sequence[str], relations: Sequence[str], triples: Ids, lines: Ids
) -> Iterator[Remark]:
    """Yield remarks on subjects with several values of relations that normally have one."""
    for found in contradictions(entities, triples):
        values = [entities[o] for o in triples[found.rows, 2]]
        where = tuple(lines[found.rows].tolist())
        yield Remark(
            "contradiction",
            where,
            f"lines {', '.join(map(str, where))}: {entities[found.subject]} has {len(values)} "
            f"values of {relations[found.relation]} ({', '.join(values)}); nearly all other "
            "subjects have one",
        )


def _by_relation(triples: Ids) -> list[Ids]:
    """Return the indices of the triples of each relation."""
    order = np.argsort(triples[:, 1], kind="stable")
    return np.split(order, np.cumsum(np.bincount(triples[:, 1]))[:-1])


def _blanks(entities: Sequence[str], first: Sequence[int]) -> Iterator[Remark]:
    """Yield remarks on placeholders, which would connect unrelated facts."""
    for name, line in zip(entities, first, strict=True):
        if is_nothing(name):
            text = f"line {line}: '{name}' is read as an entity; leave out facts that are unknown"
            yield Remark("blank", (line,), text)


def _literals(entities: Sequence[str], triples: Ids, lines: Ids) -> Iterator[Remark]:
    """Yield remarks on dates and numbers that are both an object and a subject."""
    both = np.intersect1d(triples[:, 0], triples[:, 2])
    begin, end = (_first_lines(triples[:, [k]], lines, len(entities)) for k in (0, 2))
    for i in both[literals(entities, triples)[both]].tolist():
        text = (
            f"'{entities[i]}' is the object of a fact (line {end[i]}) and the subject of another "
            f"(line {begin[i]}), so that questions chain the two; if it does not mean the same in "
            "both, use two different names"
        )
        yield Remark("literal", (end[i], begin[i]), text)


def _spellings(
    what: str, names: Sequence[str], where: Sequence[int]
) -> Iterator[Remark]:
    """Yield remarks on names that differ only in case, accents, spaces or punctuation."""
    for members in alias_groups(names):
        listed = ", ".join(f"'{names[i]}' (line {where[i]})" for i in members)
        text = f"{listed} may be the same {what}; use one name for it"
        yield Remark("alias", tuple(where[i] for i in members), text)


def _known_aliases(
    entities: Sequence[str], first: Sequence[int], known: Mapping[str, Sequence[str]]
) -> Iterator[Remark]:
    """Yield remarks on names that, according to the file, belong to the same entity."""
    place = {name: i for i, name in enumerate(entities)}
    for name, others in known.items():
        for other in others:
            if other in place and name < other:
                where = (first[place[name]], first[place[other]])
                text = f"'{name}' is also called '{other}', which is a separate entity here"
                yield Remark("alias", where, text)


def _one_sided(
    entities: Sequence[str], groups: Mapping[str, Ids], triples: Ids, lines: Ids
) -> Iterator[Remark]:
    """Yield remarks on entities that are only objects, or only subjects, unlike similar ones."""
    real = triples[:, 0] != triples[:, 2]
    begins = np.zeros(len(entities), bool)
    ends = np.zeros(len(entities), bool)
    begins[triples[real, 0]] = True
    ends[triples[real, 2]] = True
    for name, rows in groups.items():
        answers = f"objects of {name} are not the subject of a fact, unlike the others"
        subjects = f"subjects of {name} are not the object of a fact, unlike the others"
        for column, other, what in ((2, begins, answers), (0, ends, subjects)):
            members, where = np.unique(triples[rows, column], return_index=True)
            lone = ~other[members]
            few = len(members) < 3 or not lone.any()
            # If most are one-sided, as the objects of the last relation of a chain are,
            # this is normal.
            if few or not _OTHERS <= 1 - lone.mean() < 1:
                continue
            at = sorted(lines[rows[where[lone]]].tolist())
            names = [entities[i] for i in members[lone][np.argsort(where[lone])]]
            listed = ", ".join(names[:_NAMED]) + (" …" if len(names) > _NAMED else "")
            text = f"{len(names)} of {len(members)} {what}: {listed}; no question chains there"
            yield Remark("one-sided", tuple(at), text)


def _inverses(
    relations: Sequence[str], groups: Mapping[str, Ids], triples: Ids, lines: Ids
) -> Iterator[Remark]:
    """Yield remarks on pairs of inverse relations.

    Triples with the same subject and object are ignored. A symmetric relation is its
    own inverse.
    """
    both, first = _both_directions(triples, lines)
    size = list(map(len, groups.values()))
    for (a, b), count in sorted(both.items()):
        few, many = sorted((size[a], size[b]))
        if count < _INVERSE * few or (few < _RULE and few != many):
            continue
        one = relations[a]
        other = relations[b]
        where = first[a, b]
        pairs = plural(count, "triple")
        such = f"such as those of lines {where[0]} and {where[1]}"
        small = one
        large = other
        if size[a] > size[b]:
            small = other
            large = one
        if a == b:
            text = f"{one} is symmetric: {pairs} stated in both directions, {such}"
        elif count >= _INVERSE * many:
            text = f"{one} and {other} are inverses: {pairs} stated by both, {such}"
        else:
            text = (
                f"{large} states {count} of the {few} triples of {small} in reverse, {such}; "
                f"{many - count} triples of {large} are stated in one direction only"
            )
        yield Remark("inverse", where, text)


def _both_directions(
    triples: Ids, lines: Ids
) -> tuple[Counter[tuple[int, int]], dict[tuple[int, int], tuple[int, int]]]:
    """Count pairs of relations that connect the same two entities in both directions.

    Returns:
        The count for every pair of relations, with the smaller index first, and the
        lines of the first example.
    """
    joining: defaultdict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for (s, r, o), line in zip(triples.tolist(), lines.tolist(), strict=True):
        if s != o:
            joining[s, o].append((r, line))
    both: Counter[tuple[int, int]] = Counter()
    first: dict[tuple[int, int], tuple[int, int]] = {}
    for (s, o), there in joining.items():
        for b, other_line in joining.get((o, s), ()):
            for a, line in there:
                if a <= b:
                    both[a, b] += 1
                    first.setdefault((a, b), (line, other_line))
    return both, first
