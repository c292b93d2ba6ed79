"""The relations hold for a sample of cases; ``make fuzz`` tries 2,000."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from tests.fuzz.relations import ACCEPTED, relations

from inweights.audit.strategies import StrategyInput
from inweights.worlds.knowledge import questions

NAMES = tuple(relations())


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_holds(name: str) -> None:
    relation = relations()[name].run(share=0.02, root=1)
    assert not relation.difference, relation.difference
    assert relation.accepted >= ACCEPTED * relation.tried > 0


def first_named(rows):
    """Return the first row's relation as the inverse of every relation, whatever the facts."""
    return {relation: [rows[0][1]] for _, relation, _ in rows}


def as_listed(a):
    """Return distances by the positions of nodes instead of their edges."""
    place = np.arange(len(a))
    return np.abs(place - place[:, None]).astype(float)


def swapped(self, *chain):
    """Return the ends of a chain's first fact instead of those of the whole chain."""
    return tuple(self.facts.triples[chain[0], [0, 2]].tolist())


PLANTED = {
    "augment": patch.object(StrategyInput, "ends", swapped),
    "predict-renamed": patch.object(questions, "inverses", first_named),
    "graph-moved": patch("tests.fuzz.holds_written.hop_distances", as_listed),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_bug_is_found(name: str) -> None:
    with PLANTED[name]:
        relation = relations()[name].run(share=0.2, root=1, shrink=False)
    assert relation.difference
    assert not relation.right
