"""Facts implied by symmetric and inverse relations, compared with their definition."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from inweights.audit.correction.near import missing_rows

Edges = set[tuple[int, int]]


def is_inverse(relation: Edges, other: Edges) -> bool:
    """Return whether the other relation reverses enough of a relation's facts."""
    both = len(relation & {(o, s) for s, o in other})
    half = both >= Fraction(1, 2) * len(relation)
    covered = both >= Fraction(3, 5) * len(other)
    most = both >= Fraction(3, 5) * len(relation)
    return both >= 2 and (most or (half and covered))


@pytest.mark.parametrize("relations", [1, 2, 3])
@pytest.mark.parametrize("entities", [3, 4, 5])
def test_missing_rows_are_those_of_the_definition(
    relations: int, entities: int
) -> None:
    """Random files reverse about half of their facts, including exactly half or three fifths."""
    rng = np.random.default_rng(entities)
    missing = 0
    for _ in range(200):
        count = int(rng.integers(1, 2 * entities))
        drawn = rng.integers([entities, relations, entities], size=(count, 3))
        turned = drawn[rng.random(count) < 0.5, ::-1]
        turned[:, 1] = rng.integers(relations, size=len(turned))
        both = np.concatenate([drawn, turned]).tolist()
        rows = [(s, r, o) for s, r, o in dict.fromkeys(map(tuple, both))]
        edges = {
            r: {(s, o) for s, q, o in rows if q == r and s != o}
            for r in range(relations)
        }
        expected: dict[tuple[int, int, int], int] = {}
        for (i, (s, r, o)), other in product(enumerate(rows), edges):
            implied = s != o and is_inverse(edges[r], edges[other])
            if implied and (o, s) not in edges[other]:
                expected.setdefault((o, other, s), i)
        found = missing_rows(np.array(rows))
        assert dict(found) == expected
        assert len(found) == len(expected)
        missing += len(expected)
    assert missing
