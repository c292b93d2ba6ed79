"""Solve one program for thousands of facts, if time and memory suffice.

:func:`whole_fits` estimates in advance whether they suffice, and :func:`solve_whole`
returns the solution. If there is none, :mod:`~.predict` divides the facts.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from inweights.errors import DataError, SolverError
from inweights.theory.prediction.tables import Solved
from inweights.theory.prediction.trust import has_phrased
from inweights.theory.programs.large_scale import (
    BYTES,
    WIDEST_GAP,
    expected_seconds,
    expected_soft_seconds,
    solve_large,
    solve_soft_large,
)
from inweights.theory.programs.nuclear_norm import Solution
from inweights.theory.programs.program import Program
from inweights.theory.programs.prompts import Answers
from inweights.worlds.world import World

#: Largest number of facts that are solved in double precision, in parts if time is
#: short.
EXACT = 1_000
#: Largest number of facts for which the requested gap is certified; for more, the gap
#: is at least :data:`GAP`.
FINE = 3_000
GAP = 1e-2


def whole_fits(world: World, seconds: float | None, decay: float | None = None) -> bool:
    """Return whether a single program for all facts is expected to be solved in time.

    Args:
        world: The world with the facts.
        seconds: The time limit in seconds; ``None`` for no limit.
        decay: Weight decay of the soft program (:func:`.solve_soft`); ``None`` for
            program (2) of Identity Bridge (§4.3).

    Returns:
        Whether the expected time is within the limit. The result is always false for up
        to 1,000 facts, for which a different solver is used. It is also false if
        ``decay`` is ``None`` and the prompt of an identity has several tokens.

    Example:
        >>> from inweights.worlds import TwoHop
        >>> world = TwoHop(n=600).build()
        >>> whole_fits(world, 0.01), whole_fits(world, None)
        (False, True)
    """
    facts = len(world.facts)
    if facts <= EXACT or (decay is None and has_phrased(world.facts)):
        return False
    expected = expected_seconds if decay is None else expected_soft_seconds
    needed = expected(facts, len(world.inputs), len(world.outputs))
    return seconds is None or needed <= seconds


def solve_whole(
    world: World,
    *,
    answers: Answers,
    gap: float,
    seconds: float | None,
    decay: float | None = None,
    state: Path | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> tuple[Solved, str]:
    """Solve program (2) of Identity Bridge (§4.3), or the soft program, for all facts at once.

    Args:
        world: Facts and queries.
        answers: ``several`` if a prompt may have several correct answers, otherwise
            ``one``. This option has no effect on the soft program.
        gap: Relative duality gap to certify, at least 1e-7 and below 1. For more than
            3,000 facts, values below 0.01 are replaced with 0.01.
        seconds: Time limit in seconds; ``None`` for no limit.
        decay: Weight decay of the soft program (:func:`.solve_soft`); if ``None``,
            program (2) is solved.
        state: File in which the state of program (2) is stored while it is solved, and
            from which an interrupted solution continues; if ``None``, nothing is
            stored. The file has no effect on the soft program.
        progress: Function that is called with the number of iterations and the gap;
            ``None`` for no progress reports.

    Returns:
        The solution, and a text with remarks on its accuracy.

    Raises:
        SolverError: There is no solution, its arrays do not fit in memory, or its
            relative duality gap is above 0.03.
        DataError: ``answers`` is ``one``, and facts contradict each other.
        ConfigError: ``answers`` is unknown, ``gap`` or ``seconds`` is out of range, or
            ``state`` is not a state of this program.
        WriteError: The file ``state`` cannot be written.

    Example:
        >>> from inweights.worlds import TwoHop
        >>> found, why = solve_whole(
        ...     TwoHop(n=9, identity=True).build(), answers="one", gap=1e-2, seconds=None
        ... )
        >>> found.status, why.split(",")[0]
        ('certified', 'All 27 facts are in one program')
    """
    facts = len(world.facts)
    wanted = gap if facts <= FINE else max(gap, GAP)
    solution: Solved
    try:
        if decay is None:
            program = Program.of(world, answers, held=BYTES)
            solution = solve_large(
                program, gap=wanted, seconds=seconds, state=state, progress=progress
            )
        else:
            program = Program.of(world, "any", held=BYTES)
            solution = solve_soft_large(
                program, decay, gap=wanted, seconds=seconds, progress=progress
            )
    except (DataError, SolverError) as error:
        if answers == "one" and isinstance(error, DataError):
            raise
        raise SolverError(
            f"the optimization program for all {facts:,} facts together was not solved: "
            f"{error}"
        ) from error
    if solution.gap > WIDEST_GAP:
        raise SolverError(
            f"the optimization program for all {facts:,} facts together was not solved "
            f"accurately enough: its solution had a gap of {solution.gap:.2g} after "
            f"{solution.seconds:.0f} s{_to_continue(state)}"
        )
    remark = _precision(solution)
    if solution.status != "certified":
        remark = remark.removesuffix(".") + f"{_to_continue(state)}."
    return solution, remark


def solve_with_additions(world: World, **options: Any) -> tuple[Solved, str]:
    """Solve one program for a world with added facts, and return an empty string as the remark.

    The remark of :func:`solve_whole` is about the gap. It is left out because the
    search for advice would show it as the reason why facts cannot be stored. Errors of
    :func:`solve_whole` propagate.

    Args:
        world: Facts and queries.
        **options: Keyword arguments of :func:`solve_whole`.

    Returns:
        The solution and an empty string.
    """
    return solve_whole(world, **options)[0], ""


def _to_continue(state: Path | None) -> str:
    """Return a note on how to continue from a stored state; empty if no state is stored."""
    return f"; the same command continues from {state}" if state else ""


def _precision(solution: Solved) -> str:
    """Return a sentence on the accuracy of the margins, from two matrices within the gap."""
    program = solution.program
    facts = len(program.world.facts)
    text = (
        f"All {facts:,} facts are in one program, solved to a gap of {solution.gap:.1g}"
    )
    if not isinstance(solution, Solution):
        return f"{text}, which bounds the objective and not the margins."
    if solution.another is None or not len(program.world.queries):
        return f"{text}."
    queries = program.world.queries
    moved = np.abs(
        solution.margins(queries) - program.margins(solution.another, queries)
    )
    half, most = np.quantile(moved, [0.5, 0.95])
    return (
        f"{text}. In a second solution of nearly the same norm, half of the margins differ by at "
        f"most {half:.1g} and 95% by at most {most:.1g}, which is no bound: single margins are not "
        "certified. A query for which the two verdicts differ is tied."
    )
