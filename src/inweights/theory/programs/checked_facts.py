"""Refuse facts that no matrix of logits can represent, with the lines to change.

:class:`~inweights.theory.programs.program.Program` calls :func:`check_facts` before it
states its constraints.
"""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np

from inweights.errors import DataError
from inweights.theory.programs.prompts import in_words
from inweights.worlds.arrays import Bools
from inweights.worlds.world import Ids, World

#: How many right answers a prompt may have.
Answers = Literal["one", "several", "any"]


def check_facts(world: World, row: Ids, right: Bools, answers: Answers) -> None:
    """Raise an error if facts contradict each other, or if there are no constraints.

    Args:
        world: Holds the facts.
        row: Number of the distinct bag of tokens that each fact's prompt is.
        right: Which outputs are right answers of each such bag, ``[M, K]``.
        answers: How many right answers a prompt may have.

    Raises:
        DataError: Two facts differ in the order of their prompts only, a prompt has
            several answers where it may have one, or every output is right.
    """
    facts = world.facts
    told = partial(in_words, world, facts)

    for m in np.flatnonzero(right.sum(1) > 1):
        first, *same = np.flatnonzero(row == m).tolist()
        answer = facts.answer(first)[0]
        prompt = facts.prompt(first)
        others = [fact for fact in same if facts.answer(fact)[0] != answer]
        turned = [
            one for one in others if not np.array_equal(facts.prompt(one), prompt)
        ]
        if turned:
            raise DataError(
                f"facts {first} {told(first)} and {turned[0]} {told(turned[0])} differ in the "
                "order of their prompts only, which a sum over tokens cannot represent; use "
                "different relations for the two directions"
            )
        if answers == "one":
            raise DataError(
                f"facts {first} {told(first)} and {others[0]} {told(others[0])} contradict each "
                "other: one prompt, two answers. If both are right, use answers='several' "
                "(--answers several); if not, remove one"
            )
    if right.all():
        raise DataError(
            "every output is a right answer of every fact, so that there are no constraints"
        )
