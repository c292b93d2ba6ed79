"""Solve the soft program: minimise cross-entropy of the facts plus a multiple of the nuclear norm.

``min_W  mean over facts of −log softmax(x W)[answer]  +  λ ‖W‖_*``

:func:`solve_soft` solves it for one ``λ``, :func:`decay_path` for several; both return
:class:`SoftSolution`. They complement :func:`~.nuclear_norm.solve` for facts that
program (2) cannot store, and for training with weight decay.

Gradient descent with weight decay ``λ`` minimises this objective on a product ``W = E
W_proj``, since ``‖W‖_*`` is the smallest value of ``½ (‖E‖² + ‖W_proj‖²)`` (Srebro and
Shraibman, 2005). As ``λ → 0``, the direction of the optimum tends to the direction of
the optimum of program (2) of Identity Bridge, if program (2) has a solution. The soft
program always has a solution, since facts that exclude each other only increase the
cross-entropy.

The program is solved by L-BFGS on the factors. Once their rank suffices, every local
minimum is global. A certificate, which does not depend on how the point was found,
proves the optimum. Let ``Q`` be the distribution of the answers that facts state for
each prompt. Any ``P`` whose rows are distributions, with ``‖Xᵀ diag(w) (P − Q)‖_op ≤
λ``, bounds the optimum from below by the mean entropy of ``P``. The softmax of any
``W``, moved towards ``Q`` until the norm is ``λ``, is such a ``P``.

Shapes: ``M`` distinct prompts, ``P`` inputs, ``K`` outputs, ``F`` rank of the factors.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from inweights.errors import ConfigError
from inweights.theory.programs.certified import Certified, check_limits
from inweights.theory.programs.operators import few_threads
from inweights.theory.programs.program import Program
from inweights.theory.programs.soft_problem import Point, Problem, better
from inweights.worlds.arrays import Bool, Bools, Float, Floats
from inweights.worlds.world import Statements

#: Number of iterations between two evaluations of the certificate, and number of past
#: steps that L-BFGS combines.
CHUNK = 50
HISTORY = 20
#: Factors are reduced to the rank that they use if it is below this fraction of their
#: columns.
SLACK = 0.7
#: Margins up to this size, in logits, count as 0.
ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class SoftSolution(Certified):
    """Optimum of the soft program, as returned by :func:`solve_soft`.

    ``templates`` are ``W``, ``optimum`` is the objective at ``W``, and ``dual``
    contains the distributions that certify ``bound``, ``[M, K]`` (``M`` distinct
    prompts, ``K`` outputs). The other attributes are inherited from
    :class:`~.certified.Certified`.

    Attributes:
        decay: ``λ``, the weight of the nuclear norm.
    """

    decay: float

    @cached_property
    def _least(self) -> Floats:
        """Smallest margin of every prompt, in logits, ``[M]``."""
        return self.program.least_margins(self.program.counts @ self.templates)

    @cached_property
    def scale(self) -> float:
        """Median margin of the correctly answered prompts, in logits: the unit of margins.

        It is 1 if no prompt is answered correctly. A prompt is answered correctly if
        all of its correct answers have larger logits than all wrong ones.
        """
        sizes = self._least[(self._least > ROUNDING) & np.isfinite(self._least)]
        return float(np.median(sizes)) if len(sizes) else 1.0

    @property
    def stored(self) -> Bool[Bools, " facts"]:
        """Mask ``[facts]`` of the facts whose prompts are answered correctly.

        All correct answers to these prompts have larger logits than all wrong ones. The
        matrix ``templates`` thus stores all of these facts, which proves that they do
        not exclude each other.
        """
        won: Bools = (self._least > ROUNDING)[self.program.row]
        return won

    def margins(self, statements: Statements) -> Float[Floats, " Q"]:
        """Return the margin of each statement's best correct answer over its best wrong output.

        Args:
            statements: Queries or facts of the program's world.

        Returns:
            Margins ``[Q]`` (``Q`` statements), in units of :attr:`scale`, the median
            margin of correctly answered prompts, so that 1 is the margin of a typical
            stored fact.
        """
        return self.program.margins(self.templates, statements) / self.scale


def solve_soft(
    program: Program,
    decay: float,
    *,
    gap: float = 1e-3,
    iterations: int = 20_000,
    seconds: float | None = None,
    start: Float[Floats, "P K"] | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> SoftSolution:
    """Minimise the mean cross-entropy of the facts plus ``decay`` times the nuclear norm of ``W``.

    At the optimum, tokens for which the facts are symmetric have the same logits.
    Before the optimum is reached, rounding may break the symmetry. For example, at a gap
    of 1e-3, margins that should be equal differ by 1e-4 on some processors.

    Args:
        program: The facts. ``Program.of(world, "any")`` creates a program from any
            facts, even if they contradict each other.
        decay: Weight ``λ`` of the nuclear norm, above 0 and finite.
        gap: Requested relative duality gap, at least 1e-7 and below 1.
        iterations: Maximum number of iterations. After these, the best point found so
            far is returned, with the status ``not certified``.
        seconds: Time limit in seconds, after which the best point is returned in the
            same way; ``None`` for no limit.
        start: Templates ``[P, K]`` (``P`` input tokens, ``K`` outputs) to start from,
            such as a solution for a different decay. If ``None``, the solver begins
            with one step of steepest descent from zero.
        progress: Function that is called about every 50 iterations, with the number of
            iterations and the current gap; ``None`` for no progress reports.

    Returns:
        A :class:`SoftSolution` with ``templates``, bounds (``optimum`` and ``bound``,
        in nats) and the ``gap`` that was reached. If the decay is so large that zero is
        the optimum, the templates are 0 and their rank is 0.

    Raises:
        ConfigError: ``decay`` is infinite or not above 0, ``gap`` is outside ``[1e-7,
            1)``, ``iterations`` is below 1, ``seconds`` is below 0, or ``start`` has
            the wrong shape.

    Example:
        >>> from inweights.worlds import TwoHop
        >>> world = TwoHop(n=3, identity=True).build()
        >>> solution = solve_soft(Program.of(world), 1e-3, gap=1e-5)
        >>> solution.status, (solution.margins(world.queries) > 0).all(), solution.stored.all()
        ('certified', np.True_, np.True_)
    """
    if not 0 < decay < np.inf:
        raise ConfigError(
            f"'decay' must be above 0 and finite, got {decay}; without weight decay, use the "
            "function solve"
        )
    check_limits(program, gap, iterations, seconds, start)
    began = time.perf_counter()
    with few_threads(program.shape):
        problem = Problem(program, decay)
        x = problem.first_factors() if start is None else problem.factors(start)
        late = None if seconds is None else began + seconds
        best, steps = _descend(problem, x, gap, iterations, late, progress)
    return SoftSolution.of_run(program, best, gap, steps, began, decay=decay)


def decay_path(
    program: Program,
    decays: Iterable[float] = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5),
    *,
    gap: float = 1e-3,
    seconds: float | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> Iterator[SoftSolution]:
    """Solve the soft program for several decays, starting each time from the previous solution.

    Args:
        program: The facts.
        decays: Values of the weight ``λ`` of the nuclear norm, above 0. The computation
            is fastest in descending order.
        gap: Requested relative duality gap of each solution, at least 1e-7 and below 1.
        seconds: Time limit for each solution, in seconds; ``None`` for no limit.
        progress: Function that is called with the number of iterations and the gap, as
            in :func:`solve_soft`; ``None`` for no progress reports.

    Yields:
        One solution per decay, in the order of ``decays``. Each is computed when it is
        requested.

    Raises:
        ConfigError: A decay, ``gap`` or ``seconds`` is out of range. The error is
            raised when the solution is requested.

    Example:
        >>> from inweights.worlds import TwoHop
        >>> made = TwoHop(n=4, identity=True).build()
        >>> path = decay_path(Program.of(made), (1e-1, 1e-3))
        >>> [(s.decay, round(float(s.margins(made.queries).min()), 1)) for s in path]
        [(0.1, -0.5), (0.001, 0.7)]
    """
    start = None
    for decay in decays:
        solution = solve_soft(
            program, decay, gap=gap, seconds=seconds, start=start, progress=progress
        )
        start = solution.templates if solution.rank else None
        yield solution


def _descend(
    problem: Problem,
    factors: Floats,
    gap: float,
    iterations: int,
    late: float | None,
    progress: Callable[[int, float], None] | None,
) -> tuple[Point, int]:
    """Descend in several runs of L-BFGS, each followed by a certificate and a change of rank.

    Returns:
        The best point, and the number of iterations.
    """
    from scipy.optimize import minimize

    def stop_when_late(_: Floats) -> None:
        if late is not None and time.perf_counter() > late:
            raise StopIteration

    best = problem.certify(factors)
    steps = 0
    while best.gap > gap and steps < iterations and factors.shape[1]:
        limit = min(CHUNK, iterations - steps)
        found = minimize(
            problem.objective,
            factors.ravel(),
            jac=True,
            method="L-BFGS-B",
            callback=stop_when_late,
            options={
                "maxiter": limit,
                "maxcor": HISTORY,
                "maxfun": 4 * CHUNK,
                "ftol": 0.0,
                "gtol": 0.0,
            },
        )
        factors = found.x.reshape(factors.shape)
        steps += max(int(found.nit), 1)
        point = problem.certify(factors)
        little_gained = point.optimum > best.optimum * (1 - 1e-3 * gap)
        stuck = found.nit < limit or little_gained
        best = better(best, point)
        if progress:
            progress(steps, best.gap)
        if late is not None and time.perf_counter() > late:
            break
        if stuck and best.gap > gap:
            wider = problem.widen(factors, point)
            if wider is None:
                break
            factors = wider
        elif point.rank < SLACK * factors.shape[1]:
            factors = problem.factors(point.templates)
    return best, steps
