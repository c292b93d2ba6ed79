"""Prove a lower bound on a single margin at any optimum, from a solution with a certified gap.

A gap certifies the norm of a solution of program (2), but not its margins. Let ``W`` be
feasible with norm ``ν``; every optimum is then in the set of feasible matrices of norm
at most ``ν``. A logit difference is linear, ``⟨C, W⟩`` with ``C = x (e_y - e_k)ᵀ`` for
a prompt ``x``, an answer ``y`` and a rival ``k``. For *any* multipliers ``Λ ≥ 0`` of
the facts, every matrix of that set satisfies

    ``⟨C, W⟩ ≥ Σ Λ - ν ‖Xᵀ U(Λ) - C‖_op``,

since ``⟨Xᵀ U(Λ), W⟩ ≥ Σ Λ`` if all margins are at least 1, and ``⟨D, W⟩ ≤ ‖D‖_op
‖W‖_*``. An upper bound is minus the lower bound of ``-C``. The multipliers alone
therefore prove an interval, however they were found. Here they are found by solving
program (2) with a small extra term ``ε ⟨C, W⟩``. :func:`lower_bound` finds them,
:func:`prove` computes the bound, and :mod:`~.margin_bounds` uses both.

Shapes: ``M`` distinct prompts, ``P`` inputs, ``K`` outputs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from inweights.errors import ConfigError
from inweights.theory.prediction.advice import in_time
from inweights.theory.programs.nuclear_norm import Solution
from inweights.theory.programs.operators import operator_norm
from inweights.theory.programs.program import Program
from inweights.theory.programs.splitting import Splitting, multipliers
from inweights.worlds.arrays import Float, Floats

#: Number of iterations between two evaluations of a bound, and maximum number of
#: iterations for one size of the extra term ``ε ⟨C, W⟩``.
EVERY = 20
ITERATIONS = 400
#: Sizes of the term that are tried one after the other, relative to the first; each
#: search starts where the previous one ended.
SIZES = (1.0, 4.0, 0.25)
#: A search ends if an evaluation gains less than this fraction of the remaining loss of
#: the bound.
STALLED = 0.02
#: Smallest and largest size of the extra term.
LEAST = 1e-4
MOST = 0.3


@dataclass(frozen=True, eq=False)
class Bound:
    """A lower bound on ``⟨C, W⟩`` over all feasible matrices ``W`` of nuclear norm at most ``ν``.

    Attributes:
        value: The bound; ``-inf`` if none was found.
        dual: ``U(Λ)``, ``[M, K]`` (``M`` distinct prompts, ``K`` outputs), from which
            :func:`prove` computes the bound.
        iterations: Number of iterations of the search for the bound.
    """

    value: float
    dual: Float[Floats, "M K"]
    iterations: int


def prove(
    program: Program,
    norm: float,
    functional: Float[Floats, "P K"],
    dual: Float[Floats, "M K"],
) -> float:
    """Return a lower bound on ``⟨C, W⟩`` over all feasible ``W``, certified by given multipliers.

    Args:
        program: The constraints.
        norm: Nuclear norm ``ν`` of some matrix that is feasible in program (2) of
            Identity Bridge.
        functional: ``C``, ``[P, K]`` (``P`` input tokens, ``K`` outputs).
        dual: ``U(Λ)``, ``[M, K]`` (``M`` distinct prompts). Each row contains minus the
            multipliers of the wrong answers and the multipliers of the correct ones,
            and sums to 0.

    Returns:
        ``Σ Λ - ν ‖Xᵀ U(Λ) - C‖_op``, where ``X`` counts the tokens of each prompt. The
        bound holds for every feasible matrix of norm at most ``norm``, however the
        multipliers were found.

    Raises:
        ConfigError: An entry of ``dual`` is negative for a correct answer or positive
            for a wrong answer, or a row does not sum to 0.
    """
    wrong = np.where(program.right, -dual, dual).max() > 0
    if wrong or np.abs(dual.sum(1)).max() > 1e-9 * max(1.0, float(np.abs(dual).max())):
        raise ConfigError(
            "invalid multipliers: they must be at least 0 for correct answers and at most 0 "
            "for other answers, and each row must sum to 0"
        )
    residual = program.counts.T @ dual - functional
    return float(dual[program.right].sum()) - norm * operator_norm(residual)


def lower_bound(
    solution: Solution,
    functional: Float[Floats, "P K"],
    *,
    goal: float = np.inf,
    iterations: int = ITERATIONS,
    late: float | None = None,
    inverse: Float[Floats, "P P"] | None = None,
) -> Bound:
    """Search for a large lower bound on ``⟨C, W⟩`` over all optima ``W`` of a solution's program.

    Args:
        solution: A feasible matrix and multipliers. The smaller the gap of the
            solution, the tighter the bound: it is too low by about the square root of
            twice the absolute gap.
        functional: ``C``, ``[P, K]`` (``P`` input tokens, ``K`` outputs).
        goal: Value of the bound at which the search stops. By default, it is infinite,
            and the search does not stop early.
        iterations: Maximum number of iterations for each of three sizes of the extra
            term ``ε ⟨C, W⟩``.
        late: Value of :func:`time.perf_counter`, in seconds, after which the best bound
            found so far is returned (``-inf`` if there is none); ``None`` for no limit.
        inverse: Result of :func:`~.splitting.coupled_inverse` for the program, ``(I + κ
            Xᵀ X)⁻¹``, ``[P, P]``; if ``None``, it is computed.

    Returns:
        The best bound that was found, with its multipliers.
    """
    program = solution.program
    here = float((functional * solution.templates).sum())
    spare = max(solution.optimum - solution.bound, 1e-12)
    # A term of size ε makes the bound lower by about γ/ε + ε/2, which is smallest for ε
    # = √(2γ). A larger term is used if the goal permits a greater loss.
    first = max(np.sqrt(2 * spare), (here - goal) / 2 if np.isfinite(goal) else 0.0)
    sizes = np.clip(first * np.array(SIZES), LEAST, MOST)
    run = _Tilted(solution, inverse, functional)
    best = Bound(-np.inf, solution.dual, 0)
    steps = 0
    for size in sizes:
        run.size = float(size)
        former = -np.inf
        for step in range(1, iterations + 1):
            run.advance()
            if step % EVERY:
                continue
            dual = run.dual() / run.size
            value = prove(program, solution.optimum, functional, dual)
            if value > best.value:
                best = Bound(value, dual, steps + step)
            stalled = abs(value - former) < STALLED * max(here - value, 1e-3)
            if best.value >= goal or stalled or not in_time(late):
                break
            former = value
        steps += step
        if best.value >= goal or not in_time(late):
            break
    return Bound(best.value, best.dual, steps)


class _Tilted(Splitting):
    """Program (2) with the term ``size ⟨T, W⟩`` in its objective."""

    def __init__(
        self, solution: Solution, inverse: Floats | None, tilt: Floats
    ) -> None:
        super().__init__(solution.program, inverse)
        self._tilt = tilt
        self.size = 0.0
        w = solution.templates
        dual = solution.dual
        price = self.x_turned @ dual
        self.penalty = float(np.linalg.norm(price) / np.linalg.norm(w))
        above = w + price / self.penalty
        below = self.x_counts @ w - dual / (self.coupling * self.penalty)
        self.x = np.concatenate([above, below])
        self.split()

    def shrunk(self, above: Floats) -> tuple[Floats, Floats]:
        """Return the proximal step of the nuclear norm plus the term ``size ⟨T, W⟩``."""
        return super().shrunk(above - (self.size / self.penalty) * self._tilt)

    def dual(self) -> Floats:
        """Return the Lagrange multipliers of the constraints on the facts, ``[M, K]``."""
        return multipliers(
            -self.coupling * self.penalty * self.s_price, self.program.right
        )
