"""Solve the soft program for thousands of facts at once.

:func:`solve_soft_large` is :func:`~.soft_program.solve_soft` for larger worlds: the
splitting of :mod:`~.iteration`, with a proximal step of the cross-entropy
(:mod:`~.softmax_step`) in place of the projection onto margins. An iteration decomposes
one matrix of outputs times outputs, whereas L-BFGS multiplies factors with the same
number of columns. :mod:`~.soft_bounds` certifies the result.

Shapes: ``M`` distinct prompts, ``P`` inputs, ``K`` outputs.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from inweights.errors import ConfigError
from inweights.theory.programs.certified import check_limits
from inweights.theory.programs.large_scale.blocks import blocks_of
from inweights.theory.programs.large_scale.iteration import inverse_of, shrink_values
from inweights.theory.programs.large_scale.relations import Relations
from inweights.theory.programs.large_scale.soft_bounds import SoftBounds
from inweights.theory.programs.large_scale.softmax_step import softmax_step
from inweights.theory.programs.operators import few_threads
from inweights.theory.programs.program import Program
from inweights.theory.programs.soft_program import SoftSolution
from inweights.worlds.arrays import Floats

#: Penalty of the augmented Lagrangian in units of the decay, for up to PENALTY_TO
#: prompts; for more it is inversely proportional to their number, as weights of facts
#: are. Then the weight of ``S = X W`` relative to ``Z = W``, and the over-relaxation.
#: Chosen on generated companies of 400 to 8,300 facts.
PENALTY = 0.04
PENALTY_TO = 2_000
COUPLING = 0.2
RELAXATION = 1.7
#: Share of singular values up to which only those above the threshold are computed.
FEW = 1 / 3
#: Number of iterations between two evaluations of the bounds, and the number of logits
#: above which there are twice as many.
EVERY = 10
LARGE = 10**7
#: Number of iterations to a gap of 1%, and the seconds per logit and per operation of a
#: matrix product, on one core.
USUAL = 60
LOGIT = 3.5e-8
PRODUCT = 7e-12


def solve_soft_large(
    program: Program,
    decay: float,
    *,
    gap: float = 1e-2,
    iterations: int = 2_000,
    seconds: float | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> SoftSolution:
    """Minimise cross-entropy plus ``decay`` times the nuclear norm, for thousands of facts.

    Args:
        program: The facts. ``Program.of(world, "any")`` creates a program from any
            facts, even if they contradict each other.
        decay: Weight ``λ`` of the nuclear norm, above 0 and finite.
        gap: Requested relative duality gap, at least 1e-5 and below 1. Smaller gaps
            cannot be reached in single precision.
        iterations: Maximum number of iterations. After these, the best point found so
            far is returned, with the status ``not certified``.
        seconds: Time limit in seconds, after which the best point is returned in the
            same way; ``None`` for no limit.
        progress: Function that is called at each evaluation of the bounds, with the
            number of iterations and the current gap; ``None`` for no progress reports.

    Returns:
        A :class:`~.soft_program.SoftSolution` with templates, bounds and the gap that
        was reached, as returned by :func:`~.soft_program.solve_soft`.

    Raises:
        ConfigError: ``decay`` is infinite or not above 0, ``gap`` is outside ``[1e-7,
            1)``, ``iterations`` is below 1, or ``seconds`` is below 0.

    Example:
        >>> from inweights.worlds import TwoHop
        >>> made = TwoHop(n=8, identity=True).build()
        >>> solution = solve_soft_large(Program.of(made, "any"), 1e-3)
        >>> solution.status, bool((solution.margins(made.queries) > 0).all())
        ('certified', True)
    """
    if not 0 < decay < np.inf:
        raise ConfigError(
            f"'decay' must be above 0 and finite, got {decay}; without weight decay, use the "
            "function solve_large"
        )
    check_limits(program, gap, iterations, seconds, None)
    began = time.perf_counter()
    with few_threads((1, 1)):
        run = _Iteration(program, decay)
        every = 2 * EVERY if program.right.size > LARGE else EVERY
        step = 0
        for step in range(1, iterations + 1):
            run.advance()
            late = seconds is not None and time.perf_counter() - began > seconds
            if step % every and step < iterations and not late:
                continue
            run.bounds.take_upper(run.z, run.values)
            run.bounds.take_lower(run.chances)
            if progress:
                progress(step, run.bounds.gap)
            if run.bounds.gap <= gap or late:
                break
    return SoftSolution.of_run(program, run.bounds, gap, step, began, decay=decay)


def expected_soft_seconds(facts: int, inputs: int, outputs: int) -> float:
    """Estimate the time in seconds that one core needs to solve the soft program to a gap of 1%.

    Args:
        facts: Number of facts.
        inputs: Number of input tokens.
        outputs: Number of answers.

    Returns:
        Seconds on one core.

    Example:
        >>> 0.5 < expected_soft_seconds(2_000, 600, 200) < 5
        True
    """
    products = outputs**2 * (6 * inputs + 12 * outputs) * PRODUCT
    return USUAL * (facts * outputs * LOGIT + products)


class _Iteration:
    """State of the splitting; :meth:`advance` performs one iteration.

    Args:
        program: The facts.
        decay: ``λ``, the weight of the nuclear norm.

    Attributes:
        bounds: The best bounds found so far.
        z: The shrunk templates, ``[P, K]``.
        values: Positive singular values of ``z``.
    """

    def __init__(self, program: Program, decay: float) -> None:
        relations = Relations(program)
        prompts = program.counts.shape[0]
        more = max(1.0, prompts / PENALTY_TO)
        penalty = PENALTY * decay / more
        self._blocks = blocks_of(program)
        self.bounds = SoftBounds(program, decay, self._blocks, relations)
        self._threshold = decay / penalty
        strength = self.bounds.weights / (penalty * COUPLING)
        self._strength: Floats = strength.astype(np.float32)
        self._solve = inverse_of(program, relations.own, COUPLING)
        self.z: Floats = np.zeros(program.shape, np.float32)
        self.values: Floats = np.zeros(0, np.float32)
        self._z_price: Floats = np.zeros_like(self.z)
        self._by_logits: Floats = np.zeros_like(self.z)
        stated = self.bounds.shares.multiply(self._strength[:, None])
        self._by_stated = (program.counts.T @ stated).tocsr().astype(np.float32)
        self._logits: Floats = np.zeros((prompts, program.shape[1]), np.float32)
        # ``τ p``, initially that of the stated answers, for which all multipliers are
        # 0.
        self._scaled: Floats = stated.toarray().astype(np.float32)
        self._level: Floats = np.full(prompts, np.nan, np.float32)
        self._over = np.float32(1.0)

    @property
    def chances(self) -> Floats:
        """Softmax of the logits, ``[M, K]``.

        The softmax and the answers that the facts state determine the multipliers of
        ``S = X W``.
        """
        return self._scaled / self._strength[:, None]

    def advance(self) -> None:
        """Perform one over-relaxed iteration of the splitting method."""
        target = np.float32(COUPLING) * self._by_logits + self.z - self._z_price
        w = self._solve(target)
        over = self._over
        above = over * w + (1 - over) * self.z + self._z_price
        few = bool(over > 1) and len(self.values) < FEW * min(above.shape)
        self.z, self.values = shrink_values(above, self._threshold, few=few)
        self._z_price = above - self.z
        self._by_logits = self._by_stated.toarray()
        for block in self._blocks:
            rows = block.rows
            logits, scaled = self._logits[rows], self._scaled[rows]
            # The multipliers are ``τ (p - shares)``; points are logits plus ``τ shares``.
            points = block.logits(w)
            points *= over
            logits *= 1 - over
            points += logits
            points += scaled
            softmax_step(points, self._strength[rows], self._level[rows], scaled)
            np.subtract(points, scaled, out=logits)
            points = logits - scaled
            block.add_by_input(self._by_logits, points)
        self._over = np.float32(RELAXATION)
