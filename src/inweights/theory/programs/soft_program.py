"""The soft program: least cross-entropy of the facts plus a price on the nuclear norm.

``min_W  mean over facts of −log softmax(x W)[answer]  +  λ ‖W‖_*``

This is what gradient descent with weight decay ``λ`` minimises on a product ``W = E W_proj``, as
``½ (‖E‖² + ‖W_proj‖²)`` is at least ``‖W‖_*`` and reaches it (Srebro and Shraibman, 2005). Its
direction tends to that of program (2) of Identity Bridge as ``λ → 0``, where that one has a
solution. This one always has: facts that exclude each other cost cross-entropy, and nothing else.

It is solved on the factors, by L-BFGS, which finds no other minimum once the rank suffices; and
whether it did is told by a certificate that does not depend on how the point was found. With ``Q``
the shares of the answers that facts state for a prompt, any ``P`` whose rows are distributions and
with ``‖Xᵀ diag(w) (P − Q)‖_op ≤ λ`` bounds the optimum from below by the mean entropy of ``P``; and
the softmax of any ``W``, moved towards ``Q`` until the norm is ``λ``, is one.

Shapes: ``M`` distinct prompts, ``P`` inputs, ``K`` outputs, ``F`` rank of the factors.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from inweights.errors import ConfigError
from inweights.theory.programs.nuclear_norm import Certified
from inweights.theory.programs.operators import few_threads
from inweights.theory.programs.program import Program, check_limits
from inweights.theory.programs.soft_problem import Point, Problem, better
from inweights.worlds.arrays import Bool, Bools, Float, Floats
from inweights.worlds.world import Statements

#: Iterations between two looks at the certificate, and past steps that L-BFGS combines.
CHUNK, HISTORY = 50, 20
#: Factors are cut down to the rank that they use when it is below this share of what they have.
SLACK = 0.7
#: Margins up to this size, in logits, are none.
ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class SoftSolution(Certified):
    """The optimum of the soft program; ``dual`` are the distributions that prove the bound.

    Attributes:
        decay: ``λ``.
    """

    decay: float

    @cached_property
    def _least(self) -> Floats:
        """Least margin of every prompt, in logits, ``[M]``."""
        return self.program.least_margins(self.program.counts @ self.templates)

    @cached_property
    def scale(self) -> float:
        """Median margin of the prompts that are answered rightly, in logits: the unit of margins.

        1 where none is.
        """
        sizes = self._least[(self._least > ROUNDING) & np.isfinite(self._least)]
        return float(np.median(sizes)) if len(sizes) else 1.0

    @property
    def stored(self) -> Bool[Bools, " facts"]:
        """Which facts are answered rightly: each right answer above all wrong ones.

        These facts do not exclude each other; ``templates`` prove it.
        """
        won: Bools = (self._least > ROUNDING)[self.program.row]
        return won

    def margins(self, statements: Statements) -> Float[Floats, " Q"]:
        """Margin of the stated answer, in units of :attr:`scale`."""
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
    """Minimise mean cross-entropy plus ``decay`` times the nuclear norm.

    Tokens that the facts treat alike are treated alike at the optimum. Before, rounding may tell
    them apart: at a gap of 1e-3 by margins of 1e-4 on some processors.

    Args:
        program: Facts; ``Program.of(world, "any")`` takes all.
        decay: ``λ``, above 0.
        gap: Relative gap asked for, at least 1e-7.
        iterations: After so many the best point so far is returned, ``not certified``.
        seconds: The same, in seconds.
        start: Templates to start from, such as a solution for another decay.
        progress: Called with the iterations made and the certified gap so far.

    Raises:
        ConfigError: The decay, the gap, the iterations, the seconds or the start cannot be.

    Example:
        >>> from inweights.worlds import TwoHop
        >>> world = TwoHop(n=3, identity=True).build()
        >>> solution = solve_soft(Program.of(world), 1e-3, gap=1e-5)
        >>> solution.status, (solution.margins(world.queries) > 0).all(), solution.stored.all()
        ('certified', np.True_, np.True_)
    """
    if not 0 < decay < np.inf:
        raise ConfigError(f"decay must be above 0, got {decay}; program (2) is the one without")
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
    """Solve for one decay after the other, each from the solution before: the path ``λ → 0``.

    Args:
        program: Facts.
        decays: From large to small is quickest.
        gap: Certified gap asked of each.
        seconds: Time limit of each.
        progress: Reports each.

    Yields:
        The solutions, in the order of the decays.

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
    """Descend in chunks; look at the certificate between them, and fit the rank."""
    from scipy.optimize import minimize

    def in_time(_: Floats) -> None:
        if late is not None and time.perf_counter() > late:
            raise StopIteration

    best, steps = problem.certify(factors), 0
    while best.gap > gap and steps < iterations and factors.shape[1]:
        options = {"maxiter": min(CHUNK, iterations - steps), "maxcor": HISTORY, "ftol": 0.0,
                   "gtol": 0.0, "maxfun": 4 * CHUNK}  # fmt: skip
        found = minimize(
            problem.objective, factors.ravel(), jac=True, method="L-BFGS-B", callback=in_time,
            options=options,
        )  # fmt: skip
        factors = found.x.reshape(factors.shape)
        steps += max(int(found.nit), 1)
        point = problem.certify(factors)
        stuck = found.nit < options["maxiter"] or point.optimum > best.optimum * (1 - 1e-3 * gap)
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
