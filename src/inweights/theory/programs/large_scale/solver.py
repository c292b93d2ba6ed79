"""Solve program (2) of Identity Bridge for thousands of facts as one program.

:func:`solve_large` is :func:`~.nuclear_norm.solve` for worlds that are too large for
it: the same splitting, in single precision and with a sparse factorisation. Two things
make it certify early: the bounds are also taken at averages over past iterations, and
a matrix that misses some margins is repaired at these facts, not scaled as a whole.
Both bounds are computed again in double precision at the end.

Shapes: ``M`` distinct prompts, ``P`` inputs, ``K`` outputs.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from inweights.errors import SolverError
from inweights.theory.programs.certified import check_limits
from inweights.theory.programs.large_scale.pieces import (
    MarginsInBlocks,
    SparseInverse,
    estimated_norm,
    margins_of,
    own_inputs,
    prompt_blocks,
    singular_values,
    start_near,
)
from inweights.theory.programs.nuclear_norm import Solution
from inweights.theory.programs.operators import (
    few_threads,
    operator_norm,
)
from inweights.theory.programs.program import Program
from inweights.theory.programs.splitting import (
    Splitting,
    multipliers,
)
from inweights.worlds.arrays import Floats

#: Penalty of the augmented Lagrangian, and iterations between two evaluations of the
#: bounds. Measured on generated companies of 200 to 20,000 facts.
PENALTY = 0.3
EVERY = 20
#: Without any matrix of positive margins by then the facts are taken to exclude each
#: other.
FEASIBLE_BY = 60
#: Bytes that a fact takes with each answer, without the acceleration.
BYTES = 60
#: Numbers that the acceleration may remember: five steps of 3,000 prompts and 400
#: outputs.
REMEMBERED = 60_000_000
#: How much larger the norm of a second solution may be.
NEAR = 1e-2
#: Fewer steps than these are not worth remembering.
LEAST_REMEMBERED = 4
#: A wider gap says too little to predict from.
WIDEST_GAP = 3e-2
#: Iterations to a gap of 1%, and seconds for a number of the logits and for one
#: operation of a product; measured on one core.
USUAL = 220
LOGIT = 3e-8
PRODUCT = 2e-11
#: Times that missing margins are repaired before the matrix is scaled.
REPAIRS = 3


def solve_large(
    program: Program,
    *,
    gap: float = 1e-2,
    iterations: int = 2_000,
    seconds: float | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> Solution:
    """Minimise the nuclear norm under all margins, for thousands of facts at once.

    Args:
        program: Constraints.
        gap: Requested relative duality gap, from 1e-5 (single precision) to below 1.
        iterations: Maximum number of iterations. When they are used up the best point
            so far is returned, with the status ``not certified``.
        seconds: Time limit, with the same effect. No limit by default.
        progress: Called with the iterations made and the certified gap so far, at each
            evaluation of the bounds.

    Returns:
        What :func:`~.nuclear_norm.solve` returns. ``another`` is a second feasible
        matrix, the mean of earlier iterations.

    Raises:
        ConfigError: ``gap``, ``iterations`` or ``seconds`` is invalid.
        SolverError: No matrix with positive margins was found.

    Example:
        >>> from inweights.worlds import TwoHop
        >>> made = TwoHop(n=8, identity=True).build()
        >>> solution = solve_large(Program.of(made))
        >>> solution.status, bool((solution.margins(made.queries) > 0).all())
        ('certified', True)
    """
    check_limits(program, gap, iterations, seconds, None)
    began = time.perf_counter()
    with few_threads((1, 1)):
        run = _SinglePrecision(program)
        for step in range(1, iterations + 1):
            run.advance()
            late = seconds is not None and time.perf_counter() - began > seconds
            if step % EVERY and step < iterations and not late:
                continue
            run.take_bounds()
            if progress:
                progress(step, run.gap)
            hopeless = step >= FEASIBLE_BY and run.templates is None
            if run.gap <= gap or late or hopeless:
                break
        if run.templates is None:
            raise SolverError(
                f"no matrix with positive margins was found in {step} iterations. Allow more "
                "time, or look for facts that exclude each other"
            )
        run.check()
    return Solution.of_run(program, run, gap, step, began, another=run.another)


def expected_seconds(facts: int, inputs: int, outputs: int) -> float:
    """Return about how many seconds a gap of 1% takes.

    Args:
        facts: Number of facts.
        inputs: Number of input tokens.
        outputs: Number of answers.

    Example:
        >>> 2 < expected_seconds(2_000, 600, 200) < 20
        True
    """
    logits = (facts + inputs) * outputs * LOGIT
    products = outputs**2 * (6 * inputs + 12 * outputs) * PRODUCT
    return USUAL * (logits + products)


class _SinglePrecision(Splitting):
    """State of the splitting in single precision, with the best bounds so far."""

    def __init__(self, program: Program) -> None:
        size = (program.shape[0] + len(program.right)) * program.shape[1]
        memory = min(8, REMEMBERED // size)
        memory = memory if memory >= LEAST_REMEMBERED else 0
        super().__init__(program, SparseInverse(program), memory=memory)
        self.x_counts = self.x_counts.astype(np.float32)
        self.x_turned = self.x_turned.astype(np.float32)
        self._project = MarginsInBlocks(program)
        self._raised = own_inputs(program)
        self.penalty = PENALTY
        start = start_near(program, self._raised)
        self.x = np.concatenate([start, self.x_counts @ start])
        self.templates: Floats | None = None
        self.another: Floats | None = None
        self.optimum = np.inf
        self.bound = 0.0
        self.rank = 0
        self.dual: Floats = np.zeros((1, 1), np.float32)
        self.split()
        self._window = EVERY
        self._forget()

    def _forget(self) -> None:
        """Begin a new average."""
        self._summed = 0
        self._prices: Floats = np.zeros_like(self.s)
        self._points: Floats = np.zeros_like(self.z)

    def advance(self) -> None:
        """Make one iteration, and add the point to the averages."""
        super().advance()
        self._prices += self.s_price
        self._points += self.z
        self._summed += 1

    @property
    def gap(self) -> float:
        """The certified relative gap."""
        return 1.0 - self.bound / self.optimum if np.isfinite(self.optimum) else np.inf

    def take_bounds(self) -> None:
        """Evaluate both bounds at the present point and at the average; keep the best."""
        mean = 1.0 / self._summed
        average = self._points * np.float32(mean)
        here = self._take_upper(self.z)
        there = self._take_upper(average)
        self.another = average if here <= there else self.z
        self._take_lower(self.s_price, 1.0)
        self._take_lower(self._prices, mean)
        if self._summed >= 2 * self._window:
            self._window = self._summed
            self._forget()

    def _take_upper(self, templates: Floats) -> float:
        """Take the matrix if it is the best so far; return its norm when it is feasible."""
        repaired, least = self._repair(templates)
        if not least > 0:
            return np.inf
        values = singular_values(repaired)
        optimum = float(values.sum()) / least
        if optimum < self.optimum:
            self.templates = repaired / np.float32(least)
            self.optimum = optimum
            self.rank = int((values > 1e-4 * values[-1]).sum())
        return optimum

    def _take_lower(self, prices: Floats, factor: float) -> None:
        right = self.program.right
        total = -float(prices[right].sum(dtype=float)) * factor
        size = estimated_norm(self.x_turned @ prices) * factor
        if total > 0 and total > self.bound * size:
            self.bound = total / max(size, 1e-30)
            self.dual = prices * np.float32(-factor / max(size, 1e-30))

    def _repair(self, templates: Floats) -> tuple[Floats, float]:
        """Raise the right answers of prompts whose margin is below 1; return the least margin."""
        for attempt in range(REPAIRS + 1):
            least = self._least_margins(templates)
            if attempt == REPAIRS or least.min() >= 1:
                break
            prompts, inputs, outputs, share = self._raised
            raised = np.zeros_like(templates)
            missing = np.maximum(0, 1 - least)[prompts] * share
            np.maximum.at(raised, (inputs, outputs), missing)
            templates = templates + raised
        return templates, float(least.min())

    def _least_margins(self, templates: Floats) -> Floats:
        """Return the least margin of each prompt, in the precision of the templates."""
        counts = self.program.counts.astype(templates.dtype)
        parts = [
            margins_of(counts[rows] @ templates, self.program.right[rows])
            for rows in prompt_blocks(self.program)
        ]
        return np.concatenate(parts)

    def check(self) -> None:
        """Compute both bounds again in double precision, for what is returned."""
        templates = np.asarray(self.templates, dtype=float)
        least = float(self._least_margins(templates).min())
        self.templates = templates / least
        self.optimum = float(singular_values(self.templates).sum())
        slope = np.zeros(self.program.shape)
        total = 0.0
        for rows in prompt_blocks(self.program):
            right = self.program.right[rows]
            dual = multipliers(self.dual[rows].astype(float), right)
            total += float(dual[right].sum())
            slope += self.program.counts[rows].T @ dual
            self.dual[rows] = dual
        size = operator_norm(slope)
        self.bound = total / size
        self.dual /= np.float32(size)
        if self.another is not None:
            another, least = self._repair(self.another)
            norm = float(singular_values(another).sum())
            near = norm <= least * self.optimum * (1 + max(self.gap, NEAR))
            self.another = another / np.float32(least) if near else None
