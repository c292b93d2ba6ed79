"""Solve program (2) of Identity Bridge for thousands of facts at once.

:func:`solve_large` is :func:`~.nuclear_norm.solve` for larger worlds: the same
splitting, in single precision, from a start near the optimum (:mod:`~.iteration`). It
certifies a gap early, because points are repaired before their bounds are computed
(:mod:`~.bounds`), and because averages over past iterations are evaluated as well: the
mean of the matrix, and sums of the multipliers with the weights that prove the best
bound (:mod:`~.mixture`). Both bounds are computed again in double precision at the end.

Shapes: ``M`` distinct prompts, ``P`` inputs, ``K`` outputs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from inweights.errors import SolverError
from inweights.theory.programs.certified import check_limits
from inweights.theory.programs.large_scale.bounds import Bounds
from inweights.theory.programs.large_scale.iteration import COUPLING, Iteration
from inweights.theory.programs.large_scale.means import Means
from inweights.theory.programs.large_scale.state_file import (
    StateFile,
    part_of,
    prefixed,
)
from inweights.theory.programs.nuclear_norm import Solution
from inweights.theory.programs.operators import few_threads
from inweights.theory.programs.program import Program

#: Largest difference of logits that is dropped, as a fraction of the gap.
TINY = 1e-2
#: Number of iterations between two evaluations of the bounds.
EVERY = 10
#: Weights of the logits that are tried, one after the other. The second one takes more
#: iterations, but finds a matrix if answers are stated both for a prompt and for one of
#: its tokens, as with many identities. Then, for each weight, the number of iterations
#: by which a matrix with positive margins must be found; otherwise the facts are
#: assumed to exclude each other.
COUPLINGS = (COUPLING, 1.0)
FEASIBLE_BY = (60, 120)
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
    """Minimise the nuclear norm under all margin constraints, for thousands of facts at once.

    Args:
        program: Program (2), whose constraints come from the facts.
        gap: Requested relative duality gap, at least 1e-7 and below 1. The computation
            is in single precision, which does not reach gaps below about 1e-5. If a
            smaller gap is requested, the result is not certified.
        iterations: Maximum number of iterations. After these, the best point found so
            far is returned, with the status ``not certified``.
        seconds: Time limit in seconds, after which the best point is returned in the
            same way; ``None`` for no limit.
        state: File to which the state is written at each evaluation of the bounds. If
            the file exists, the solver continues from the stored state, and returns the
            same result as without an interruption. The file is removed once the gap is
            certified. If ``None``, nothing is stored.
        progress: Function that is called at each evaluation of the bounds, with the
            number of iterations and the current gap; ``None`` for no progress reports.

    Returns:
        A :class:`~.nuclear_norm.Solution`, as returned by :func:`~.nuclear_norm.solve`.
        Its attribute ``another`` is a second feasible matrix of nearly the same norm,
        either the mean of earlier iterates or a single earlier iterate. If there is no
        such matrix, it is ``None``.

    Raises:
        ConfigError: ``gap`` is outside ``[1e-7, 1)``, ``iterations`` is below 1,
            ``seconds`` is below 0, or ``state`` is not a state of this program and gap.
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
    late = np.inf if seconds is None else began + seconds
    with few_threads((1, 1)):
        file = StateFile(state, program, gap) if state else None
        attempt = _Attempt(program, gap, COUPLINGS[0], file)
        attempt.stored.restore()
        step = attempt.iterate(iterations, late, progress)
        again = attempt.bounds.templates is None and attempt.run.coupling == COUPLING
        if again and step < iterations and time.perf_counter() < late:
            attempt = _Attempt(program, gap, COUPLINGS[1], file)
            step = attempt.iterate(iterations, late, progress)
        bounds = attempt.bounds
        if bounds.templates is None:
            raise SolverError(
                f"no matrix with positive margins was found in {step} iterations. Increase "
                "'seconds', or look for facts that contradict each other"
            )
        if bounds.gap > gap:
            bounds.check()
        bounds.take_another()
    attempt.stored.finish(certified=bounds.gap <= gap)
    return Solution.of_run(program, bounds, gap, step, began, another=bounds.another)


def expected_seconds(facts: int, inputs: int, outputs: int) -> float:
    """Estimate the time in seconds that one core needs to solve program (2) to a gap of 1%.

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


class _Attempt:
    """An iteration with its bounds, averages and storage.

    Args:
        program: Program (2), whose constraints come from the facts.
        gap: Requested relative duality gap.
        coupling: Weight of the logits.
        file: File in which the state is stored; ``None`` to store nothing.

    Attributes:
        run: The iteration.
        bounds: Bounds of the iteration.
        stored: Storage of the iteration, its bounds and its averages.
    """

    def __init__(
        self, program: Program, gap: float, coupling: float, file: StateFile | None
    ) -> None:
        self._gap = gap
        self.run = Iteration(program, TINY * gap, coupling)
        self.bounds = Bounds(self.run)
        # The upper bound of a large program takes as long as several iterations, and
        # improves steadily; the lower one needs the multipliers of many iterations.
        self._rarely = 2 if program.right.size > LARGE else 1
        self._means = Means(self.run, 2 * EVERY // self._rarely)
        self.stored = _Storage(file, self.run, self.bounds, self._means)

    def iterate(
        self,
        iterations: int,
        late: float,
        progress: Callable[[int, float], None] | None,
    ) -> int:
        """Iterate until the requested gap or a limit is reached.

        The iteration also ends if no feasible matrix has been found after a number of
        iterations that depends on the coupling.

        Args:
            iterations: Maximum number of iterations.
            late: Value of :func:`time.perf_counter`, in seconds, after which no further
                iteration is made.
            progress: Function that is called with the iterations made and the gap.

        Returns:
            The number of iterations made in total, including the iterations of a
            restored state.
        """
        run = self.run
        bounds = self.bounds
        feasible_by = dict(zip(COUPLINGS, FEASIBLE_BY, strict=True))[run.coupling]
        step = run.made
        for step in range(run.made + 1, iterations + 1):
            run.advance()
            if step % self._rarely == 0:
                self._means.add()
            stop = time.perf_counter() > late
            if step % EVERY and step < iterations and not stop:
                continue
            last = stop or step == iterations
            self._means.judge(bounds, upper=last or step % (EVERY * self._rarely) == 0)
            # Not at a step at which only the time is over: its bounds would change the
            # later ones.
            self.stored.store(regular=step % EVERY == 0)
            if bounds.gap <= self._gap:
                bounds.check()
            if progress:
                progress(step, bounds.gap)
            hopeless = step >= feasible_by and bounds.templates is None
            if bounds.gap <= self._gap or stop or hopeless:
                break
        return step


class _Storage:
    """The objects whose state is stored, and the file in which it is stored.

    Args:
        file: The file; ``None`` to store nothing.
        run: The iteration.
        bounds: Bounds of the iteration.
        means: Averages of the iteration.
    """

    def __init__(
        self, file: StateFile | None, run: Iteration, bounds: Bounds, means: Means
    ) -> None:
        self._file = file
        self._run, self._bounds, self._means = run, bounds, means

    def store(self, *, regular: bool) -> None:
        """Write the state to the file after a regular evaluation of the bounds.

        Args:
            regular: Whether every run evaluates the bounds at this step. If false, the
                bounds were evaluated only because the iteration ends here, and the
                state is not written.
        """
        if self._file and regular:
            self._file.write(
                prefixed("run", self._run.state())
                | prefixed("bounds", self._bounds.state())
                | prefixed("means", self._means.state())
            )

    def restore(self) -> None:
        """Continue from the stored state if the file exists."""
        found = self._file.read() if self._file else None
        if found is not None:
            self._run.restore(part_of("run", found))
            self._bounds.restore(part_of("bounds", found))
            self._means.restore(part_of("means", found))

    def finish(self, *, certified: bool) -> None:
        """Remove the state file if the gap is certified."""
        if self._file and certified:
            self._file.remove()
