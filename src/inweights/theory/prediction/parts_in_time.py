"""Divide facts into parts that can be solved within a time limit, and solve one part.

:mod:`~.predict` divides a world with :func:`parts_within`, and solves each part with
:func:`solve_piece`. Readers of files, which sample larger sets of facts, use
:func:`facts_within`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import import_module

import numpy as np

from inweights.config import check_size
from inweights.errors import DataError, SolverError
from inweights.theory.prediction.largest_part import parts_of
from inweights.theory.prediction.tables import Solved
from inweights.theory.prediction.trust import has_phrased
from inweights.theory.programs.nuclear_norm import solve
from inweights.theory.programs.program import Program
from inweights.theory.programs.prompts import Answers
from inweights.theory.programs.soft_program import solve_soft
from inweights.worlds.arrays import Int
from inweights.worlds.world import Ids, World

#: Number of facts that can be solved in one second (it grows with the cube root of the
#: time), and the largest and the smallest number of facts of a part.
FACTS = 160
MAX_FACTS = 2_500
LEAST_FACTS = 40
#: Largest fraction of the remaining time that one of several parts may take.
MAX_OF_REST = 0.125
#: Time, in seconds, that determines the size of parts if there is no time limit.
SECONDS = 600.0
#: Decay of the soft program if program (2) has no solution. Of six values, this one
#: predicted training without decay best (docs/predict.md).
DECAY = 3e-4
#: Decay if identities have a relation of their own, ``(a, same) → a``. Program (2)
#: underestimates what training learns from them, and so does the soft program with this
#: value, but by a smaller amount (see :mod:`inweights.theory.prediction.trust`).
PHRASED = 1e-2


def check_seconds(seconds: float | None) -> None:
    """Raise an error unless a time limit is a number of seconds from 0 to 10**7, or ``None``.

    Args:
        seconds: The time limit in seconds, from 0 to 10**7; ``None`` for no limit.

    Raises:
        ConfigError: The value is below 0, above 10**7, or not a number.
    """
    if seconds is not None:
        check_size("seconds", seconds, least=0, most=10**7)


def load_solvers() -> None:
    """Import the solvers' modules, so that time limits do not include the import time."""
    for module in ("scipy.optimize", "scipy.sparse.csgraph", "scipy.sparse.linalg"):
        import_module(module)


def facts_within(seconds: float | None) -> int:
    """Return how many facts a prediction can cover within a time limit if it is made in parts.

    Args:
        seconds: The time limit in seconds; ``None`` means ten minutes.

    Returns:
        The total number of facts of all parts, at least 40.
    """
    budget = SECONDS if seconds is None else seconds
    return max(LEAST_FACTS, int(budget * FACTS**3 / LEAST_FACTS**2))


def parts_within(
    world: World, seconds: float | None
) -> list[tuple[Int[Ids, " m"], bool]]:
    """Divide facts into parts that can be solved within a time limit.

    The time to solve a program grows with the cube of its number of facts, so that many
    small parts cover more facts than a few large ones. However, predictions are poor
    for a connected component that is cut into small parts. If a component has to be
    cut, parts are therefore as large as the time for one part allows.

    Args:
        world: The world with the facts.
        seconds: The time limit in seconds; ``None`` means ten minutes.

    Returns:
        For each part, the largest first, the indices of its ``m`` facts, ``[m]``, and
        whether it was cut from a larger component.
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


def solve_piece(
    world: World,
    *,
    answers: Answers,
    decay: float | None,
    gap: float,
    iterations: int,
    seconds: float | None,
    progress: Callable[[int, float], None] | None,
) -> tuple[Solved, str]:
    """Solve program (2) of Identity Bridge or, if requested or needed, the soft program.

    The soft program minimises the cross-entropy plus a decay times the nuclear norm
    (:func:`.solve_soft`).

    Args:
        world: The facts.
        answers: ``several`` if a prompt may have several correct answers, otherwise
            ``one``. This option has no effect on the soft program.
        decay: The decay of the soft program, above 0. If ``None``, program (2) is
            solved if possible. The soft program is solved instead with a decay of 1e-2
            if an identity has a prompt of several tokens, and with a decay of 3e-4 if
            program (2) has no solution.
        gap: Relative duality gap to certify, at least 1e-7 and below 1.
        iterations: Maximum number of iterations of a solver, at least 1.
        seconds: Time limit in seconds, at least 0; ``None`` for no limit. Half of it is
            available for program (2). If no feasible matrix has been found by then, the
            soft program is solved in the remaining time.
        progress: Function that is called with the number of iterations and the gap;
            ``None`` for no progress reports.

    Returns:
        The solution, and the reason why the soft program was solved: an empty string if
        program (2) of Identity Bridge (§4.3) was solved, or if a decay was given. The
        status of the solution is ``not certified`` if a limit was reached before the
        requested gap was certified.

    Raises:
        DataError: Program (2) is to be solved with ``answers="one"`` and facts that
            contradict each other, an answer has several tokens, or the arrays would not
            fit in memory.
        ConfigError: ``answers`` is unknown and program (2) is to be solved, or
            ``decay``, ``gap``, ``iterations`` or ``seconds`` is out of range.
    """
    why = ""
    usual = DECAY
    began = time.perf_counter()
    if decay is None and has_phrased(world.facts):
        usual = PHRASED
        why = (
            "The prompts of identities have several tokens, and the limit of long training "
            f"underestimates their effect, so the soft program was solved, with decay {PHRASED:g}."
        )
    elif decay is None:
        try:
            program = Program.of(world, answers)
            half = None if seconds is None else seconds / 2
            solved = solve(
                program, gap=gap, seconds=half, iterations=iterations, progress=progress
            )
        except (DataError, SolverError) as error:
            if answers == "one" and isinstance(error, DataError):
                raise
            why = f"{str(error)[:1].upper()}{str(error)[1:]}."
        else:
            return solved, why
    left = (
        None if seconds is None else max(0.0, seconds - (time.perf_counter() - began))
    )
    soft = solve_soft(
        Program.of(world, "any"),
        usual if decay is None else decay,
        gap=gap,
        seconds=left,
        iterations=iterations,
        progress=progress,
    )
    return soft, why
