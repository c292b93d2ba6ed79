"""Say what a prediction covers within a time limit: how many facts, in which parts.

:func:`parts_within` is what :mod:`~.predict` divides a world by; :func:`facts_within`
serves readers of files, which sample larger ones.
"""

from __future__ import annotations

from importlib import import_module

import numpy as np

from inweights.config import check_size
from inweights.theory.prediction.largest_part import parts_of
from inweights.worlds.arrays import Int
from inweights.worlds.world import Ids, World

#: Facts that a program may have for every cubic root of a second; at most, and at
#: least.
FACTS = 160
MAX_FACTS = 2_500
LEAST_FACTS = 40
#: Share of the time left that one of several parts may take.
MAX_OF_REST = 0.125
#: Where no time is given, the size is that for so many seconds.
SECONDS = 600.0


def check_seconds(seconds: float | None) -> None:
    """Check that a time limit is a number of seconds, or ``None``.

    Raises:
        ConfigError: It is not, or is out of range.
    """
    if seconds is not None:
        check_size("seconds", seconds, least=0, most=10**7)


def load_solvers() -> None:
    """Load what solves programs, so that loading it takes nothing of a time limit."""
    for module in ("scipy.optimize", "scipy.sparse.csgraph", "scipy.sparse.linalg"):
        import_module(module)


def facts_within(seconds: float | None) -> int:
    """Return how many facts a prediction can cover within a time limit, in parts.

    Args:
        seconds: The limit; ``None`` stands for ten minutes.
    """
    budget = SECONDS if seconds is None else seconds
    return max(LEAST_FACTS, int(budget * FACTS**3 / LEAST_FACTS**2))


def parts_within(
    world: World, seconds: float | None
) -> list[tuple[Int[Ids, " m"], bool]]:
    """Return the facts of each program within a time limit, and whether a component was cut.

    A program's time grows with the cube of its facts, so that many small ones cover
    more. But what a cut leaves of a component predicts worse the less it is: such parts
    are as large as the time that one part may take allows.

    Args:
        world: Its facts.
        seconds: The limit; ``None`` stands for ten minutes.
    """
    seconds = SECONDS if seconds is None else seconds
    least = max(LEAST_FACTS, int(FACTS * np.cbrt(MAX_OF_REST * seconds)))
    most = min(MAX_FACTS, max(LEAST_FACTS, int(FACTS * np.cbrt(seconds))))
    facts = len(world.facts)
    if facts <= most:
        return list(parts_of(world, most))
    small = min(most, max(LEAST_FACTS, int(np.sqrt(seconds * FACTS**3 / facts))))
    found = list(parts_of(world, small))
    cut = any(cut for _, cut in found)
    return list(parts_of(world, min(most, least))) if cut and small < least else found
