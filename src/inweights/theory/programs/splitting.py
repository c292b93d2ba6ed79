"""One iteration of the solver of program (2), shared by its variants.

The program is split as :mod:`~inweights.theory.programs.nuclear_norm` says. Shapes: ``M`` distinct
prompts, ``P`` inputs, ``K`` outputs.
"""

from __future__ import annotations

import numpy as np

from inweights.theory.programs.operators import MarginProjection, shrink
from inweights.theory.programs.program import Program
from inweights.worlds.arrays import Bool, Bools, Float, Floats

#: Matrices with a side of at least so much are large.
LARGE = 128
#: Small and large: the weight of ``S = X W`` against ``Z = W``. Chosen, like the number below, on
#: random worlds of 20 to 300 outputs.
COUPLING = (0.5, 0.3)
#: Over-relaxation.
RELAXATION = 1.7
#: Bytes that the memory of the acceleration may take.
MEMORY = 2 * 2**30


class Splitting:
    """The state of the method: ``x`` holds ``Z`` plus its multiplier above ``S`` plus its own.

    Who makes one sets ``x`` and the penalty, and splits.
    """

    x: Float[Floats, "P+M K"]
    penalty: float

    def __init__(self, program: Program, inverse: Float[Floats, "P P"] | None = None) -> None:
        self.program = program
        self.x_counts, self.x_turned = program.counts, program.counts.T.tocsr()
        self.large = max(program.shape) >= LARGE
        self.coupling = _coupling(program)
        self._inverse = coupled_inverse(program) if inverse is None else inverse
        self._project = MarginProjection(program)
        fit = 2 * 8 * (program.shape[0] + len(program.right)) * program.shape[1]
        self._speed = Anderson(memory=int(min(10, MEMORY // fit)))

    def split(self) -> None:
        """Read both halves of ``x``: what the operators make of it, and the multipliers."""
        inputs = self.program.shape[0]
        above, below = self.x[:inputs], self.x[inputs:]
        self.z, self.values = self.shrunk(above)
        self.s = self._project(below)
        self.z_price, self.s_price = above - self.z, below - self.s

    def shrunk(
        self, above: Float[Floats, "P K"]
    ) -> tuple[Float[Floats, "P K"], Float[Floats, " rank"]]:
        """What the objective makes of the upper half, and its singular values."""
        return shrink(above, 1.0 / self.penalty)

    def advance(self) -> None:
        """One iteration."""
        target = self.z - self.z_price + self.coupling * (self.x_turned @ (self.s - self.s_price))
        w = self._inverse @ target
        self.apart = w - self.z, self.x_counts @ w - self.s
        self.x = self._speed.step(self.x, RELAXATION * np.concatenate(self.apart))
        self.split()


class Anderson:
    """Anderson acceleration of a fixed-point iteration ``x ← x + f(x)``, with a safeguard.

    Type II: the next point is the combination of the last ones whose residuals cancel best (Walker
    and Ni, SIAM J. Numer. Anal. 49, 2011). A first-order method that has found the rank and the
    active constraints of its solution is then as quick as a Newton method.

    Args:
        memory: How many past differences are combined.
        first: How many differences there have to be before anything is combined.
        growth: A step is undone when the residual after it is so many times the one before it.
    """

    def __init__(self, memory: int = 10, first: int = 5, growth: float = 2.0) -> None:
        self.memory, self.growth, self.first = memory, growth, first
        self._residuals = self._points = np.empty((0, 0))
        self._products = np.empty((memory, memory))
        self.restart()

    def restart(self) -> None:
        """Forget the past, as after a change of the iteration itself."""
        self._held = 0
        self._last: tuple[Floats, Floats] | None = None
        self._plain: tuple[float, Floats] | None = None

    def step(self, x: Float[Floats, "*x"], residual: Float[Floats, "*x"]) -> Float[Floats, "*x"]:
        """Return the next point from a point and its residual ``f(x)`` (any shape, always one)."""
        shape, f = x.shape, residual.ravel()
        if self.memory == 0:
            return x + residual
        size = float(np.linalg.norm(f))
        if self._plain is not None and size > self.growth * self._plain[0]:
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
        products = products + 1e-10 * np.trace(products) * np.eye(held)
        weights = np.linalg.solve(products, self._residuals[:held] @ f)
        self._plain = size, g
        return (g - weights @ self._points[:held]).reshape(shape)

    def _remember(self, residual: Floats, point: Floats) -> None:
        if self._residuals.shape[1:] != residual.shape:
            self._residuals = np.zeros((self.memory, len(residual)))
            self._points = np.zeros((self.memory, len(residual)))
        if self._held == 0:
            self._next = 0
        slot = self._next % self.memory
        self._residuals[slot], self._points[slot] = residual, point
        self._next += 1
        self._held = min(self._held + 1, self.memory)
        filled = self._residuals[: self._held]
        self._products[slot, : self._held] = self._products[: self._held, slot] = filled @ residual


def coupled_inverse(program: Program) -> Float[Floats, "P P"]:
    """Return ``(I + κ Xᵀ X)⁻¹``."""
    gram = (program.counts.T @ program.counts).toarray()
    inverse: Floats = np.linalg.inv(np.eye(len(gram)) + _coupling(program) * gram)
    return inverse


def _coupling(program: Program) -> float:
    return COUPLING[max(program.shape) >= LARGE]


def multipliers(direction: Float[Floats, "M K"], right: Bool[Bools, "M K"]) -> Float[Floats, "M K"]:
    """Nearest ``U(Λ)`` with ``Λ ≥ 0``: signs by side, and rows that sum to 0."""
    gains = np.where(right, np.maximum(direction, 0.0), 0.0)
    losses = np.where(right, 0.0, np.maximum(-direction, 0.0))
    total = losses.sum(1)
    shares = np.where(gains.sum(1, keepdims=True) > 0, gains, right)
    return shares * (total / shares.sum(1))[:, None] - losses
