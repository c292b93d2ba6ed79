"""What the owner of a file of triples should know about it before anything is trained."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np

from inweights.worlds.world import Ids

__all__ = ["Remark", "remarks_on"]

#: A relation has one value a subject, as a rule, when at least this share of its subjects has one.
_FUNCTIONAL = 0.9
#: Two relations are inverses when this share of the triples of each is in the other, turned.
_INVERSE = 0.8
#: Ends of a relation are one-sided when others are not, and these are at least this share.
_OTHERS = 0.5
#: Names that stand for nothing. Not ``na``: it is a symbol, too.
_NOTHING = {"n/a", "nan", "null", "none", "-", "–", "—", "?", "??", "unknown", "tbd", "missing"}
_NAMED = 5


class Remark(msgspec.Struct, frozen=True):
    """Something about a file that its owner should know.

    Attributes:
        kind: ``duplicate``, ``contradiction``, ``blank``, ``alias``, ``one-sided`` or ``inverse``.
        lines: Lines of the file that it is about; of a pair of relations, a first example.
        text: What it is, in a sentence.
    """

    kind: str
    lines: tuple[int, ...]
    text: str


def remarks_on(
    entities: Sequence[str],
    relations: Sequence[str],
    triples: Ids,
    lines: Ids,
    aliases: Mapping[str, Sequence[str]],
) -> Iterator[Remark]:
    """Yield contradictions, blanks, aliases, one-sided entities and inverse relations, in turn.

    Args:
        entities: Names.
        relations: Names.
        triples: Subject, relation and object of each triple, as indices, ``[M, 3]``.
        lines: Line of each triple, ``[M]``.
        aliases: Other names of entities, where the file gives any.

    Example:
        >>> triples = np.array([[0, 0, 1], [2, 0, 3]])
        >>> names = ("Ann", "São Paulo", "Bob", "Sao Paulo")
        >>> [r.text for r in remarks_on(names, ("in",), triples, np.array([1, 2]), {})]
        ["'São Paulo' (line 1), 'Sao Paulo' (line 2) may be one entity; give it one name"]
    """
    order = np.argsort(triples[:, 1], kind="stable")
    ends = np.cumsum(np.bincount(triples[:, 1], minlength=len(relations)))[:-1]
    groups = dict(zip(relations, np.split(order, ends), strict=True))
    first = _first_lines(triples, lines, len(entities))
    yield from _contradictions(entities, groups, triples, lines)
    yield from _blanks(entities, first)
    yield from _aliases(entities, first, aliases)
    yield from _one_sided(entities, groups, triples, lines)
    yield from _inverses(relations, groups, triples, lines)


def _first_lines(triples: Ids, lines: Ids, n: int) -> list[int]:
    """Line where each entity is first named."""
    first = np.full(n, np.iinfo(np.int64).max)
    np.minimum.at(first, triples[:, 0], lines)
    np.minimum.at(first, triples[:, 2], lines)
    return [int(line) for line in first]


def _contradictions(
    entities: Sequence[str], groups: Mapping[str, Ids], triples: Ids, lines: Ids
) -> Iterator[Remark]:
    """Second values of relations that have one value a subject, as a rule."""
    for name, rows in groups.items():
        subjects, starts, counts = np.unique(
            triples[rows, 0], return_inverse=True, return_counts=True
        )
        if len(subjects) < 3 or (counts == 1).mean() < _FUNCTIONAL:
            continue
        for k in np.flatnonzero(counts > 1).tolist():
            same = rows[starts == k]
            values = [entities[o] for o in triples[same, 2]]
            where = tuple(lines[same].tolist())
            yield Remark(
                "contradiction",
                where,
                f"lines {', '.join(map(str, where))}: {entities[subjects[k]]} has "
                f"{len(values)} values of {name} ({', '.join(values)}); nearly all others have one",
            )


def _blanks(entities: Sequence[str], first: Sequence[int]) -> Iterator[Remark]:
    """Names that stand for nothing, which would chain facts that have nothing in common."""
    for name, line in zip(entities, first, strict=True):
        if name.casefold() in _NOTHING:
            text = f"line {line}: '{name}' is an entity here; leave facts out that are not known"
            yield Remark("blank", (line,), text)


def _aliases(
    entities: Sequence[str], first: Sequence[int], known: Mapping[str, Sequence[str]]
) -> Iterator[Remark]:
    """Names that differ in case, accents, spaces or punctuation only, or that the file equates."""
    same: defaultdict[str, list[int]] = defaultdict(list)
    for i, name in enumerate(entities):
        if name.casefold() in _NOTHING:
            continue
        plain = unicodedata.normalize("NFKD", name.casefold())
        key = re.sub(r"[\W_]+", "", "".join(c for c in plain if not unicodedata.combining(c)))
        same[key or name].append(i)
    for members in same.values():
        if len(members) > 1:
            listed = ", ".join(f"'{entities[i]}' (line {first[i]})" for i in members)
            where = tuple(first[i] for i in members)
            yield Remark("alias", where, f"{listed} may be one entity; give it one name")
    place = {name: i for i, name in enumerate(entities)}
    for name, others in known.items():
        for other in others:
            if other in place and name < other:
                where = (first[place[name]], first[place[other]])
                text = f"'{name}' is also called '{other}', which is an entity of its own here"
                yield Remark("alias", where, text)


def _one_sided(
    entities: Sequence[str], groups: Mapping[str, Ids], triples: Ids, lines: Ids
) -> Iterator[Remark]:
    """Entities that only end, or only begin, facts where most others of their kind do both."""
    real = triples[:, 0] != triples[:, 2]
    begins, ends = np.zeros(len(entities), bool), np.zeros(len(entities), bool)
    begins[triples[real, 0]] = True
    ends[triples[real, 2]] = True
    for name, rows in groups.items():
        for column, other, what in (
            (2, begins, f"answers to {name} begin no fact of their own, as the others do"),
            (0, ends, f"subjects of {name} are no answer to anything, as the others are"),
        ):
            members, where = np.unique(triples[rows, column], return_index=True)
            lone = ~other[members]
            if not (lone.any() and _OTHERS <= 1 - lone.mean() < 1 and len(members) >= 3):
                continue
            at = sorted(lines[rows[where[lone]]].tolist())
            names = [entities[i] for i in members[lone][np.argsort(where[lone])]]
            listed = ", ".join(names[:_NAMED]) + (" …" if len(names) > _NAMED else "")
            text = f"{len(names)} of {len(members)} {what}: {listed}; no question chains there"
            yield Remark("one-sided", tuple(at), text)


def _inverses(
    relations: Sequence[str], groups: Mapping[str, Ids], triples: Ids, lines: Ids
) -> Iterator[Remark]:
    """Pairs of relations that say the same, turned round; an identity is its own and left out."""
    said: defaultdict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for (s, r, o), line in zip(triples.tolist(), lines.tolist(), strict=True):
        if s != o:
            said[s, o].append((r, line))
    both: Counter[tuple[int, int]] = Counter()
    first: dict[tuple[int, int], tuple[int, int]] = {}
    for (s, o), here in said.items():
        for b, other_line in said.get((o, s), ()):
            for a, line in here:
                if a <= b:
                    both[a, b] += 1
                    first.setdefault((a, b), (line, other_line))
    size = [len(rows) for rows in groups.values()]
    for (a, b), count in sorted(both.items()):
        if count >= _INVERSE * max(size[a], size[b]):
            one, other = relations[a], relations[b]
            where = first[a, b]
            such = f"such as those of lines {where[0]} and {where[1]}"
            text = (
                f"{one} is symmetric: {count} triples are there both ways, {such}"
                if a == b
                else f"{one} and {other} are inverses: {count} triples say the same, turned, {such}"
            )
            yield Remark("inverse", where, text)
