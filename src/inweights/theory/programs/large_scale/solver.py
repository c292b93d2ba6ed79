"""Solve program (2) of Identity Bridge for thousands of facts as one program.

:func:`solve_large` is :func:`~.nuclear_norm.solve` for larger worlds: the same
splitting, in single precision, from a start near the optimum (:mod:`~.iteration`). It
certifies early, because points are repaired before their bounds are computed
(:mod:`~.bounds`), and because averages over past iterations are evaluated, too: of the
matrix, and of the multipliers with the weights that prove the best bound
(:mod:`~.mixture`). Both bounds are computed again in double precision at the end.

Shapes: ``M`` distinct prompts, ``P`` inputs, ``K`` outputs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import sparse

from inweights.errors import SolverError
from inweights.theory.programs.certified import check_limits
from inweights.theory.programs.large_scale.bounds import Bounds
from inweights.theory.programs.large_scale.iteration import Iteration
from inweights.theory.programs.large_scale.state_file import (
    State,
    StateFile,
    part_of,
    prefixed,
)
from inweights.theory.programs.nuclear_norm import Solution
from inweights.theory.programs.operators import few_threads
from inweights.theory.programs.program import Program
from inweights.worlds.arrays import Floats

#: Largest difference of logits that is dropped, as a fraction of the gap.
TINY = 1e-2
#: Number of iterations between two evaluations of the bounds.
EVERY = 10
#: Number of iterations after which facts are assumed to exclude each other if no matrix
#: with positive margins was found.
FEASIBLE_BY = 60
#: Bytes of memory for each pair of a fact and an answer.
BYTES = 40
#: Number of logits above which the upper bound is evaluated half as often, and averages
#: have half as many iterations.
LARGE = 10**7
#: Largest gap with which a prediction is made.
WIDEST_GAP = 3e-2
#: Number of iterations to a gap of 1%, for up to USUAL_TO facts, and with the fourth root
#: of their number beyond: 20,750 facts took 100. Then the seconds per logit and per
#: operation of a matrix product, on one core.
USUAL = 80
USUAL_TO = 8_000
LOGIT = 1.5e-8
PRODUCT = 8e-12


def solve_large(
    program: Program,
    *,
    gap: float = 1e-2,
    iterations: int = 2_000,
    seconds: float | None = None,
    state: Path | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> Solution:
    """Minimise the nuclear norm under all margins, for thousands of facts at once.

    Args:
        program: Constraints.
        gap: Requested relative duality gap, from 1e-7 to below 1; below about 1e-5,
            which single precision does not reach, the result is not certified.
        iterations: Maximum number of iterations. After these, the best point so far is
            returned, with the status ``not certified``.
        seconds: Time limit in seconds, with the same effect. No limit by default.
        state: File to which the state is written at each evaluation of the bounds. If
            it exists, the solution continues from it, as if it had not been
            interrupted. It is removed once the gap is certified. With ``None``, nothing
            is stored.
        progress: Called with the iterations made and the certified gap so far, at each
            evaluation of the bounds.

    Returns:
        The same as :func:`~.nuclear_norm.solve`. ``another`` is a second feasible
        matrix: the mean of earlier iterations, or an earlier iteration.

    Raises:
        ConfigError: ``gap``, ``iterations`` or ``seconds`` is invalid, or ``state`` is
            not a state of this program.
        SolverError: No matrix with positive margins was found.
        WriteError: The file ``state`` cannot be written.

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
        run = Iteration(program, TINY * gap)
        bounds = Bounds(run)
        # The upper bound of a large program takes as long as several iterations, and
        # improves steadily; the lower one needs the multipliers of many iterations.
        rarely = 2 if program.right.size > LARGE else 1
        means = _Means(run, 2 * EVERY // rarely)
        file = StateFile(state, program, gap) if state else None
        stored = _Storage(file, run, bounds, means)
        stored.restore()
        step = run.made
        for step in range(run.made + 1, iterations + 1):
            run.advance()
            if step % rarely == 0:
                means.add()
            late = seconds is not None and time.perf_counter() - began > seconds
            if step % EVERY and step < iterations and not late:
                continue
            last = late or step == iterations
            means.judge(bounds, upper=last or step % (EVERY * rarely) == 0)
            # Bounds at another step, for lack of time, would change the later ones.
            stored.store(regular=step % EVERY == 0)
            if bounds.gap <= gap:
                bounds.check()
            if progress:
                progress(step, bounds.gap)
            hopeless = step >= FEASIBLE_BY and bounds.templates is None
            if bounds.gap <= gap or late or hopeless:
                break
        if bounds.templates is None:
            raise SolverError(
                f"no matrix with positive margins was found in {step} iterations. Allow more "
                "time, or look for facts that exclude each other"
            )
        if bounds.gap > gap:
            bounds.check()
        bounds.take_another()
    stored.finish(certified=bounds.gap <= gap)
    return Solution.of_run(program, bounds, gap, step, began, another=bounds.another)


def expected_seconds(facts: int, inputs: int, outputs: int) -> float:
    """Return an estimate of the time that a gap of 1% takes, in seconds.

    Args:
        facts: Number of facts.
        inputs: Number of input tokens.
        outputs: Number of answers.

    Returns:
        Seconds on one core.

    Example:
        >>> 0.5 < expected_seconds(2_000, 600, 200) < 5
        True
    """
    logits = (facts + inputs) * outputs * LOGIT
    products = outputs**2 * (6 * inputs + 12 * outputs) * PRODUCT
    iterations = USUAL * max(1.0, facts / USUAL_TO) ** 0.25
    return iterations * (logits + products)


class _Storage:
    """The objects whose state is stored, and the file in which it is stored.

    Args:
        file: The file; None to store nothing.
        run: The iteration.
        bounds: Its bounds.
        means: Its averages.
    """

    def __init__(
        self, file: StateFile | None, run: Iteration, bounds: Bounds, means: _Means
    ) -> None:
        self._file = file
        self._run, self._bounds, self._means = run, bounds, means

    def store(self, *, regular: bool) -> None:
        """Write the state, if this is a regular step.

        Args:
            regular: Whether every run evaluates the bounds at this step.
        """
        if self._file and regular:
            self._file.write(
                prefixed("run", self._run.state())
                | prefixed("bounds", self._bounds.state())
                | prefixed("means", self._means.state())
            )

    def restore(self) -> None:
        """Continue from the state in the file, if there is one."""
        found = self._file.read() if self._file else None
        if found is not None:
            self._run.restore(part_of("run", found))
            self._bounds.restore(part_of("bounds", found))
            self._means.restore(part_of("means", found))

    def finish(self, *, certified: bool) -> None:
        """Remove the file if nothing is left to be done."""
        if self._file and certified:
            self._file.remove()


class _Means:
    """Averages over past iterations, which often prove better bounds than the last iteration."""

    def __init__(self, run: Iteration, window: int) -> None:
        self._run = run
        self._window = window
        self._prices = sparse.csr_array(
            (len(run.program.right), run.program.shape[1]), dtype=np.float32
        )
        self._points: Floats = np.zeros_like(run.z)
        self._before: Floats = run.z
        self._summed = 0

    def add(self) -> None:
        """Add the current point to the averages."""
        self._prices = self._prices + self._run.prices
        self._points += self._run.z
        self._summed += 1

    def judge(self, bounds: Bounds, *, upper: bool) -> None:
        """Evaluate the bounds at the current point and at the averages.

        Args:
            bounds: What keeps the best ones.
            upper: Whether the upper bound is evaluated, too.
        """
        run = self._run
        summed = np.float32(max(self._summed, 1))
        if upper:
            average = self._points / summed
            here = bounds.take_upper(run.z)
            there = bounds.take_upper(average)
            bounds.others = [average if here <= there else run.z, self._before]
            self._before = run.z
        bounds.take_lower([run.prices, self._prices / summed])
        if self._summed >= 2 * self._window:
            self._window = self._summed
            self._prices = run.prices * np.float32(0)
            self._points = np.zeros_like(run.z)
            self._summed = 0

    def state(self) -> State:
        """Return what :meth:`restore` needs to go on from here."""
        prices = self._prices
        return {
            "data": prices.data,
            "indices": prices.indices,
            "indptr": prices.indptr,
            "points": self._points,
            "before": self._before,
            "summed": np.asarray(self._summed),
            "window": np.asarray(self._window),
        }

    def restore(self, state: State) -> None:
        """Continue from a stored state.

        Args:
            state: Result of :meth:`state`.
        """
        parts = (state["data"], state["indices"], state["indptr"])
        self._prices = sparse.csr_array(parts, shape=self._prices.shape)
        self._points, self._before = state["points"], state["before"]
        self._summed, self._window = int(state["summed"]), int(state["window"])
