"""Perform one iteration of the splitting that solves program (2), for all its solvers.

:class:`Splitting` stores the state, and :class:`Anderson` accelerates the iteration.
:mod:`~inweights.theory.programs.nuclear_norm` explains the splitting and adds the
bounds. Shapes: ``M`` distinct prompts, ``P`` inputs, ``K`` outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from inweights.theory.programs.operators import MarginProjection, shrink
from inweights.theory.programs.program import Program
from inweights.worlds.arrays import Bool, Bools, Float, Floats

#: Matrices with a side of at least this length are large.
LARGE = 128
#: Weight of ``S = X W`` relative to ``Z = W``, for small and for large matrices.
#: Chosen, like the next number, on random worlds of 20 to 300 outputs.
COUPLING = (0.5, 0.3)
#: Over-relaxation.
RELAXATION = 1.7
#: Largest number of bytes for the past steps of the acceleration.
MEMORY = 2 * 2**30


class Splitting:
    """State of the alternating direction method of multipliers for program (2) of Identity Bridge.

    The method adds two variables to the matrix of logits ``W``: the templates ``Z``,
    with the constraint ``Z = W``, and the logits of prompts ``S``, with the constraint
    ``S = X W``. The matrix ``x`` contains the sum of ``Z`` and its multiplier and,
    below it, the sum of ``S`` and its multiplier. A subclass sets the initial ``x`` and
    ``penalty``, and then calls :meth:`split` once.

    Args:
        program: Program (2), whose constraints come from the facts.
        inverse: ``(I + κ Xᵀ X)⁻¹``, an object whose product ``inverse @ matrix`` is
            used, such as a matrix ``[P, P]`` (``P`` input tokens) that several solvers
            share; by default :func:`coupled_inverse` computes it.
        memory: Number of past steps that the acceleration combines; by default the
            largest number (up to 10) whose differences fit in memory.

    Attributes:
        x: Iterated matrix, ``[P + M, K]`` (``M`` distinct prompts, ``K`` outputs).
        penalty: Penalty of the augmented Lagrangian, above 0.
        z: ``Z``, the shrunk templates, ``[P, K]``.
        values: Positive singular values of ``z``.
        s: ``S``, the projected logits, ``[M, K]``.
        z_price: Multiplier of ``Z = W``, divided by the penalty, ``[P, K]``.
        s_price: Multiplier of ``S = X W``, divided by the penalty, ``[M, K]``.
        apart: The two residuals ``W − Z`` and ``X W − S`` of the last iteration.
    """

    x: Float[Floats, "P+M K"]
    penalty: float

    def __init__(
        self,
        program: Program,
        inverse: Any = None,
        memory: int | None = None,
    ) -> None:
        """Prepare the iteration; a subclass sets the initial ``x`` and ``penalty``.

        Args:
            program: Facts as constraints on the matrix of logits.
            inverse: ``(I + κ Xᵀ X)⁻¹``, an object whose product ``inverse @ matrix`` is
                used; by default :func:`coupled_inverse` computes it.
            memory: Number of past steps that the acceleration combines; by default up
                to 10, if their differences fit in memory.
        """
        self.program = program
        self.x_counts = program.counts
        # The transpose is converted once, since every iteration multiplies by it, too.
        self.x_turned = program.counts.T.tocsr()
        self.large = max(program.shape) >= LARGE
        self.coupling = coupling_of(program)
        self._inverse = coupled_inverse(program) if inverse is None else inverse
        self._project: Callable[[Floats], Floats] = MarginProjection(program)
        fit = 2 * 8 * (program.shape[0] + len(program.right)) * program.shape[1]
        most = int(min(10, MEMORY // fit))
        self._speed = Anderson(memory=most if memory is None else memory)

    def split(self) -> None:
        """Compute the templates, logits and multipliers of this iteration from :attr:`x`.

        The singular values of the templates are shrunk, and the logits are projected
        onto the margin constraints. The results are stored in the attributes ``z``
        (templates), ``values`` (their singular values), ``s`` (logits), and ``z_price``
        and ``s_price`` (multipliers).
        """
        inputs = self.program.shape[0]
        above = self.x[:inputs]
        below = self.x[inputs:]
        self.z, self.values = self.shrunk(above)
        self.s = self._project(below)
        self.z_price = above - self.z
        self.s_price = below - self.s

    def shrunk(
        self, above: Float[Floats, "P K"]
    ) -> tuple[Float[Floats, "P K"], Float[Floats, " rank"]]:
        """Shrink the singular values of templates by the proximal map of the objective.

        Args:
            above: Templates ``Z`` plus their multiplier, ``[P, K]`` (``P`` input
                tokens, ``K`` outputs).

        Returns:
            ``Z``, ``[P, K]``, and its positive singular values in ascending order.
        """
        return shrink(above, 1.0 / self.penalty)

    def advance(self) -> None:
        """Perform one over-relaxed and accelerated iteration.

        It changes :attr:`x` (the iterated matrix), :attr:`apart` (its residuals) and
        the attributes that :meth:`split` sets.
        """
        by_logits = self.x_turned @ (self.s - self.s_price)
        target = self.z - self.z_price + self.coupling * by_logits
        w = self._inverse @ target
        self.apart = w - self.z, self.x_counts @ w - self.s
        self.x = self._speed.step(self.x, RELAXATION * np.concatenate(self.apart))
        self.split()


class Anderson:
    """Accelerate a fixed-point iteration ``x ← x + f(x)`` by Anderson's method, with a safeguard.

    This is the method of type II (Walker and Ni, SIAM J. Numer. Anal. 49, 2011): the
    next point is the combination of the last points whose residuals cancel best. Once a
    first-order method has found the rank and the active constraints of its solution,
    its accelerated form is about as fast as Newton's method.

    Args:
        memory: Number of past differences that are combined; 0 turns the acceleration
            off.
        first: Number of differences that must be available before they are combined.
        growth: A step is undone if it makes the residual more than ``growth`` times as
            large as before.

    Example:
        >>> x, accelerated = np.array([0.5]), Anderson(memory=2, first=1)
        >>> for _ in range(5):
        ...     x = accelerated.step(x, np.cos(x) - x)
        >>> x.round(4).tolist()
        [0.7391]
    """

    def __init__(self, memory: int = 10, first: int = 5, growth: float = 2.0) -> None:
        """Begin without past steps.

        Args:
            memory: Number of past differences that are combined; 0 turns the
                acceleration off.
            first: Number of differences that must be available before they are
                combined.
            growth: A step is undone if it makes the residual more than ``growth`` times
                as large as before.
        """
        self.memory = memory
        self.growth = growth
        self.first = first
        self._residuals = self._points = np.empty((0, 0))
        self._products = np.empty((memory, memory))
        self.restart()

    def restart(self) -> None:
        """Discard all past steps, which is necessary if the iterated function has changed."""
        self._held = 0
        self._last: tuple[Floats, Floats] | None = None
        self._plain: tuple[float, Floats] | None = None

    def step(
        self, x: Float[Floats, "*x"], residual: Float[Floats, "*x"]
    ) -> Float[Floats, "*x"]:
        """Return the next point of the iteration.

        Args:
            x: The current point, an array of any shape, which must be the same in all
                calls.
            residual: ``f(x)`` of the iteration ``x ← x + f(x)``, with the same shape.

        Returns:
            The next point, with the same shape. If the residual has grown too much
            since the last combination of steps, this is the plain step from the
            previous point.
        """
        shape = x.shape
        f = residual.ravel()
        if self.memory == 0:
            return x + residual
        size = float(np.linalg.norm(f))
        if self._plain is not None and size > self.growth * self._plain[0]:
            # The combination of steps increased the residual: return the plain step
            # instead.
            safe = self._plain[1]
            self.restart()
            return safe.reshape(shape)
        self._plain = None
        g = x.ravel() + f
        if self._last is not None:
            self._remember(f - self._last[0], g - self._last[1])
        self._last = f, g
        held = self._held
        if held < min(self.first, self.memory):
            return g.reshape(shape)
        products = self._products[:held, :held]
        # A small ridge, since past differences may be nearly parallel.
        ridge = max(1e-10, float(np.finfo(f.dtype).eps))
        products = products + ridge * np.trace(products) * np.eye(held)
        weights = np.linalg.solve(products, self._residuals[:held] @ f)
        self._plain = size, g
        combined = weights.astype(f.dtype) @ self._points[:held]
        return (g - combined).reshape(shape)

    def _remember(self, residual: Floats, point: Floats) -> None:
        if self._residuals.shape[1:] != residual.shape:
            shape = self.memory, len(residual)
            self._residuals = np.zeros(shape, residual.dtype)
            self._points = np.zeros(shape, residual.dtype)
        if self._held == 0:
            self._next = 0
        slot = self._next % self.memory
        self._residuals[slot] = residual
        self._points[slot] = point
        self._next += 1
        self._held = min(self._held + 1, self.memory)
        filled = self._residuals[: self._held]
        # Only one row and one column of the inner products change.
        products = filled @ residual
        self._products[slot, : self._held] = products
        self._products[: self._held, slot] = products


def coupled_inverse(program: Program) -> Float[Floats, "P P"]:
    """Return the matrix ``(I + κ Xᵀ X)⁻¹``, which is used in every iteration.

    Args:
        program: The program, whose token counts are ``X``; :func:`coupling_of` returns
            ``κ``.

    Returns:
        Dense matrix ``[P, P]`` (``P`` input tokens).

    Example:
        >>> from inweights.worlds import TwoHop
        >>> coupled_inverse(Program.of(TwoHop(n=3).build())).shape
        (8, 8)
    """
    gram = (program.counts.T @ program.counts).toarray()
    inverse: Floats = np.linalg.inv(np.eye(len(gram)) + coupling_of(program) * gram)
    return inverse


def coupling_of(program: Program) -> float:
    """Return ``κ``, the weight of the constraint ``S = X W`` relative to that of ``Z = W``.

    Args:
        program: The program, whose size determines the weight.

    Returns:
        0.5, or 0.3 for a program with at least 128 inputs or outputs.

    Example:
        >>> from inweights.worlds import TwoHop
        >>> coupling_of(Program.of(TwoHop(n=3).build()))
        0.5
    """
    return COUPLING[max(program.shape) >= LARGE]


def multipliers(
    direction: Float[Floats, "M K"], right: Bool[Bools, "M K"]
) -> Float[Floats, "M K"]:
    """Return a dual matrix ``U(Λ)`` with multipliers ``Λ ≥ 0`` near a given matrix.

    Args:
        direction: Any matrix ``[M, K]`` (``M`` distinct prompts, ``K`` outputs).
        right: Mask of the correct answers, ``[M, K]``.

    Returns:
        Matrix ``[M, K]`` that is at least 0 at correct answers and at most 0 elsewhere,
        and whose rows sum to 0. At wrong answers, negative entries of ``direction`` are
        unchanged and positive ones are set to 0.

    Example:
        >>> multipliers(np.array([[0.0, -1.0, 2.0]]), np.array([[True, False, False]])).tolist()
        [[1.0, -1.0, 0.0]]
    """
    gains = np.where(right, np.maximum(direction, 0.0), 0.0)
    losses = np.where(right, 0.0, np.maximum(-direction, 0.0))
    total = losses.sum(1)
    shares = np.where(gains.sum(1, keepdims=True) > 0, gains, right)
    return shares * (total / shares.sum(1))[:, None] - losses
