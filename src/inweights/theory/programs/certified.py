"""Certified results and checks of limits, which all solvers of programs share.

:class:`Certified` is the result, :func:`check_limits` rejects invalid limits. Shapes:
``M`` distinct prompts, ``P`` inputs, ``K`` outputs.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from inweights.config import check_size
from inweights.errors import ConfigError
from inweights.theory.programs.program import Program
from inweights.worlds.arrays import Float, Floats

Status = Literal["certified", "not certified"]


@dataclass(frozen=True, eq=False)
class Certified:
    """Result of a solver, with a certificate of its distance from the optimum.

    Attributes:
        program: The constraints of the program that was solved.
        status: ``certified`` if ``gap`` is at most the requested gap, otherwise ``not
            certified``. The gap is valid in both cases.
        templates: The logit matrix ``W``, ``[P, K]`` (``P`` input tokens, ``K``
            outputs): one row of logits for each input token.
        optimum: Value of the objective at ``W``, an upper bound on its smallest value.
        bound: Certified lower bound on the smallest value of the objective.
        dual: Dual variables that certify the bound, ``[M, K]`` (``M`` distinct
            prompts).
        gap: Relative duality gap, ``(optimum - bound) / optimum``.
        iterations: Number of iterations.
        seconds: Wall-clock time, in seconds.
        rank: Numerical rank of ``templates``.
    """

    program: Program
    status: Status
    templates: Float[Floats, "P K"]
    optimum: float
    bound: float
    dual: Float[Floats, "M K"]
    gap: float
    iterations: int
    seconds: float
    rank: int

    @classmethod
    def of_run(
        cls,
        program: Program,
        run: Any,
        gap: float,
        iterations: int,
        began: float,
        **more: Any,
    ) -> Self:
        """Create a result from the final state of a solver.

        Args:
            program: The constraints of the program that was solved.
            run: Any object with the attributes ``templates``, ``optimum``, ``bound``,
                ``dual``, ``gap`` and ``rank``.
            gap: Relative gap that was requested, which determines the ``status``.
            iterations: Number of iterations.
            began: Value of :func:`time.perf_counter` when the run began.
            **more: Further attributes of a subclass, by name.

        Returns:
            An instance of the class on which this method is called.
        """
        names = ("templates", "optimum", "bound", "dual", "gap", "rank")
        return cls(
            program=program,
            status="certified" if run.gap <= gap else "not certified",
            iterations=iterations,
            seconds=time.perf_counter() - began,
            **{name: getattr(run, name) for name in names},
            **more,
        )


def check_limits(
    program: Program,
    gap: float,
    iterations: int,
    seconds: float | None,
    start: Float[Floats, "P K"] | None,
) -> None:
    """Raise an error if the limits or the start of a solver are invalid.

    Args:
        program: Program that is solved, which determines the shape of ``start``.
        gap: Requested relative duality gap, at least 1e-7 and below 1.
        iterations: Maximum number of iterations, at least 1.
        seconds: Time limit in seconds, at least 0; ``None`` for no limit.
        start: Templates ``[P, K]`` (``P`` input tokens, ``K`` outputs) to start from;
            ``None`` for the solver's own start.

    Raises:
        ConfigError: A limit is out of range, or ``start`` does not have the shape ``[P,
            K]``.

    Example:
        >>> from inweights.worlds import TwoHop
        >>> check_limits(Program.of(TwoHop(n=3).build()), 2.0, 100, None, None)
        Traceback (most recent call last):
        ...
        inweights.errors.ConfigError: gap must be at least 1e-7 and below 1, got 2.0
    """
    if not 1e-7 <= gap < 1:
        raise ConfigError(f"gap must be at least 1e-7 and below 1, got {gap}")
    check_size("iterations", iterations, most=np.inf)
    if seconds is not None:
        check_size("seconds", seconds, least=0, most=np.inf)
    if start is not None and start.shape != program.shape:
        raise ConfigError(
            f"'start' has the shape {start.shape}, but the templates have the shape "
            f"{program.shape}"
        )
