"""Solve program (2) of Identity Bridge with a certificate: minimise a norm subject to margins.

:func:`solve` takes the constraints (:class:`~.program.Program`) or a world and returns
a :class:`Solution`: the optimal logit matrix ``W``, a certified gap, and the margins of
any query. :func:`~inweights.theory.predict` is based on it.

The program is split as ``min ‖Z‖_* + [S has margins ≥ 1]`` such that ``Z = W`` and ``S
= X W``, and solved by the alternating direction method of multipliers. Each iteration
makes one shrinkage of singular values, one exact projection of the logits and one
product with a factorised ``P × P`` matrix, with Anderson acceleration. Both bounds are
certified, even if the iteration has not converged:

- primal: a matrix divided by its smallest margin is feasible, so that its norm bounds
  the optimum from above;
- dual: multipliers ``Λ ≥ 0`` divided by ``‖Xᵀ U(Λ)‖_op`` are feasible for the dual
  program ``max Σ Λ s.t. ‖Xᵀ U(Λ)‖_op ≤ 1``, so that their sum bounds the optimum from
  below. Row by row, ``U(Λ)`` has the multipliers of the correct answers, and minus the
  multipliers of the wrong answers.

Shapes: ``M`` distinct prompts, ``P`` inputs, ``K`` outputs, ``Q`` queries.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from inweights.errors import SolverError
from inweights.theory.programs.certified import Certified, check_limits
from inweights.theory.programs.operators import few_threads, operator_norm
from inweights.theory.programs.program import Program
from inweights.theory.programs.prompts import in_words
from inweights.theory.programs.splitting import Splitting, multipliers
from inweights.worlds.arrays import Bool, Bools, Float, Floats, Int
from inweights.worlds.world import Ids, Statements, World

#: Number of iterations between two evaluations of the bounds, for small and for large
#: matrices; and the first penalty. Chosen on random worlds of 20 to 300 outputs.
EVERY = (5, 20)
PENALTY = 0.3
#: Number of iterations between two adjustments of the penalty.
BALANCE_EVERY = 20
#: Number of iterations after which the penalty is fixed, without which convergence is
#: not guaranteed.
BALANCED = 400
#: If the lower bound exceeds the norm of the one-hot targets by this factor, the
#: program is taken to be infeasible.
HOPELESS = 1e5


@dataclass(frozen=True, eq=False)
class Solution(Certified):
    """Optimum of program (2) of Identity Bridge (§4.3), as returned by :func:`solve`.

    ``templates``, ``[P, K]`` with a row for each of ``P`` input tokens and a column for
    each of ``K`` outputs, are feasible: the smallest margin of all facts is exactly 1.
    ``optimum`` is their nuclear norm, ``bound`` a certified lower bound on the smallest
    norm, and ``dual``, ``[M, K]`` with a row for each of ``M`` distinct prompts, is
    ``U(Λ)`` with ``‖Xᵀ U‖_op ≤ 1``. ``scale`` is the unit in which margins are
    measured, here 1.

    Attributes:
        another: A second feasible matrix of nearly the same norm, if the solver returns
            one (:func:`~.large_scale.solve_large`), otherwise ``None``. If the two
            matrices lead to different answers, the gap is too large to decide between
            them.
    """

    another: Float[Floats, "P K"] | None = None

    #: Unit of margins: the margin of the facts.
    scale: ClassVar[float] = 1.0

    def margins(self, statements: Statements) -> Float[Floats, " Q"]:
        """Return the margin of each statement's best correct answer over its best wrong output.

        Args:
            statements: Queries or facts of the program's world.

        Returns:
            Margins ``[Q]`` (``Q`` statements), in units of the smallest margin over all
            training facts, which is 1. A positive margin means that the optimum gives
            the correct answer.

        Example:
            >>> from inweights.worlds import TwoHop
            >>> solution = solve(TwoHop(n=3, identity=True).build(), gap=1e-5)
            >>> round(float(solution.margins(solution.program.world.facts).min()), 9)
            1.0
        """
        return self.program.margins(self.templates, statements)

    def compare(
        self, statements: Statements
    ) -> tuple[Float[Floats, "Q K"], Int[Ids, " Q"], Bool[Bools, "Q K"]]:
        """Return the logits of statements, the column of each answer and the mask of its rivals.

        Args:
            statements: Queries or facts of the program's world.

        Returns:
            Logits ``[Q, K]`` (``Q`` statements, ``K`` outputs); the column of the
            correct answer with the largest logit, ``[Q]``; and a mask of the wrong
            outputs, ``[Q, K]``.
        """
        return self.program.compare(self.templates, statements)


def solve(
    program: Program | World,
    *,
    gap: float = 1e-3,
    iterations: int = 20_000,
    seconds: float | None = None,
    start: Float[Floats, "P K"] | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> Solution:
    """Minimise the nuclear norm of ``W`` under margin constraints (Identity Bridge, program (2)).

    Gradient descent on ``W = E W_proj`` without weight decay tends to the direction of
    this optimum, so that the margins of untrained queries predict the answers of a
    trained Emb-MLP. The iteration preserves every symmetry of the facts. If the optimum
    is not unique, the solution therefore has all symmetries of the world.

    Args:
        program: Program (2), or a world whose facts have one answer each.
        gap: Requested relative duality gap, at least 1e-7 and below 1.
        iterations: Maximum number of iterations. After these, the best point found so
            far is returned, with the status ``not certified``.
        seconds: Time limit in seconds, handled like ``iterations``; ``None`` for no limit.
        start: Templates ``[P, K]`` (``P`` input tokens, ``K`` outputs) to start from,
            such as a solution for fewer facts; if ``None``, the start is zero.
        progress: Function that is called at each evaluation of the bounds, with the
            number of iterations and the current gap.

    Returns:
        A :class:`Solution` with ``templates``, bounds (``optimum`` and ``bound``) and
        the ``gap`` that was reached.

    Raises:
        ConfigError: ``gap``, ``iterations``, ``seconds`` or the shape of ``start`` is
            invalid.
        DataError: A world was passed for which :meth:`.Program.of` raises this error.
        SolverError: No matrix has these margins (the message names facts that exclude
            each other), or no such matrix was found within the limits.

    Example:
        >>> from inweights.worlds import TwoHop
        >>> world = TwoHop(n=3, identity=True).build()
        >>> solution = solve(world, gap=1e-5)
        >>> solution.status, round(solution.optimum, 1), (solution.margins(world.queries) > 0).all()
        ('certified', 7.2, np.True_)
    """
    if isinstance(program, World):
        program = Program.of(program)
    check_limits(program, gap, iterations, seconds, start)
    began = time.perf_counter()
    with few_threads(program.shape):
        run, step = _iterate(program, start, gap, iterations, seconds, progress)
    if run.templates is None:
        run.interpolate()
    if run.templates is None:
        raise SolverError(
            f"no matrix with positive margins was found in {step} iterations; the "
            f"optimum is at least {run.bound:.4g}. Allow more iterations, or look for "
            "facts that are incompatible"
        )
    return Solution.of_run(program, run, gap, step, began)


def _iterate(
    program: Program,
    start: Floats | None,
    gap: float,
    iterations: int,
    seconds: float | None,
    progress: Callable[[int, float], None] | None,
) -> tuple[_Iteration, int]:
    """Iterate until the gap or a limit is reached; return the state and the iterations made."""
    run = _Iteration(program, start)
    every = EVERY[run.large]
    began = time.perf_counter()
    for step in range(1, iterations + 1):
        run.advance()
        last = step == iterations
        if step % every == 0 or last:
            run.take_bounds()
            if run.bound > run.hopeless:
                raise SolverError(_excluded(program, run))
            if progress:
                progress(step, run.gap)
            late = seconds is not None and time.perf_counter() - began > seconds
            if run.gap <= gap or late or last:
                break
            if step <= BALANCED and step % BALANCE_EVERY == 0:
                run.balance()
    return run, step


class _Iteration(Splitting):
    """State of the splitting, with the best certified bounds and an adaptive penalty."""

    def __init__(self, program: Program, start: Floats | None) -> None:
        super().__init__(program)
        self.penalty = PENALTY
        z = np.zeros(program.shape) if start is None else start
        self.x = np.concatenate([z, self.x_counts @ z])
        plain_targets = program.right.sum() * min(program.shape)
        self.hopeless = HOPELESS * float(np.sqrt(plain_targets))
        self.templates: Floats | None = None
        self.optimum = np.inf
        self.bound = 0.0
        self.rank = 0
        self.dual = np.zeros(program.right.shape)
        self._marker = np.zeros(program.right.shape)
        self.split()

    def advance(self) -> None:
        """Perform one iteration, and store the previous point."""
        self._former = self.z, self.s
        super().advance()

    @property
    def gap(self) -> float:
        """The certified relative gap."""
        return 1.0 - self.bound / self.optimum if np.isfinite(self.optimum) else np.inf

    def take_bounds(self) -> None:
        """Evaluate both bounds at the current point, and store those that are better."""
        least = float(self.program.least_margins(self.x_counts @ self.z).min())
        if least > 0 and self.values.sum() / least < self.optimum:
            self.optimum = float(self.values.sum()) / least
            # Dividing by the least margin makes it 1, so that the matrix is feasible.
            self.templates = self.z / least
            self.rank = len(self.values)
        # If no matrix is feasible, the multipliers grow along a ray, which proves this.
        for candidate in (-self.s_price, self._marker - self.s_price):
            dual = multipliers(candidate, self.program.right)
            size = operator_norm(self.x_turned @ dual)
            total = float(dual[self.program.right].sum())
            if total > self.bound * size and total > 0:
                self.bound = total / size if size > 0 else np.inf
                self.dual = dual / size if size > 0 else dual
        self._marker = self.s_price.copy()

    def interpolate(self) -> None:
        """Use the least-squares matrix for one-hot targets if it has positive margins.

        It has positive margins if the prompts are linearly independent. It may be the
        only feasible matrix so far, since the iteration may not have found one yet.
        """
        counts = self.x_counts.toarray()
        w = np.linalg.lstsq(counts, self.program.right.astype(float), rcond=None)[0]
        least = float(self.program.least_margins(counts @ w).min())
        if least > 1e-9:
            values = np.linalg.svd(w, compute_uv=False)
            self.templates = w / least
            self.optimum = float(values.sum()) / least
            self.rank = int((values > 1e-9 * values[0]).sum())

    def _size(self, above: Floats, below: Floats) -> float:
        """Return the norm in which the iteration contracts."""
        return float(np.sqrt(np.sum(above**2) + self.coupling * np.sum(below**2)))

    def balance(self) -> None:
        """Change the penalty to balance the primal and dual residuals."""
        moved = self.z - self._former[0], self.s - self._former[1]
        primal = self._size(*self.apart) / max(float(np.linalg.norm(self.z)), 1e-12)
        dual = self._size(*moved) / max(float(np.linalg.norm(self.z_price)), 1e-12)
        ratio = float(np.sqrt(primal / max(dual, 1e-300)))
        if 0.5 <= ratio <= 2.0:
            return
        ratio = min(max(ratio, 0.2), 5.0)
        self.penalty *= ratio
        above = self.z + self.z_price / ratio
        below = self.s + self.s_price / ratio
        self.x = np.concatenate([above, below])
        self._marker = self._marker / ratio
        self._speed.restart()
        self.split()


def _excluded(program: Program, run: _Iteration) -> str:
    """Return an error message with the facts that contribute most to the proof of infeasibility."""
    weight = np.where(program.right, run.dual, 0.0).sum(1)
    by_weight = np.argsort(-weight, kind="stable")
    heavy = [m for m in by_weight if weight[m] > 0.1 * weight.max()]
    firsts = [int(np.flatnonzero(program.row == m)[0]) for m in heavy[:6]]
    texts = [in_words(program.world, program.world.facts, fact) for fact in firsts]
    more = f" and {len(heavy) - 6} more" if len(heavy) > 6 else ""
    return (
        "no matrix gives all facts a positive margin: their prompts add up to the "
        "same tokens, but their answers do not. In this program facts "
        f"{', '.join(texts)}{more} are incompatible; networks that do more than sum "
        "over tokens can store all of them"
    )
