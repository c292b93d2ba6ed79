"""Anderson acceleration of a fixed-point iteration ``x ← x + f(x)``, with a safeguard.

Type II: the next point is the combination of the last ones whose residuals cancel best (Walker and
Ni, SIAM J. Numer. Anal. 49, 2011). A first-order method that has found the rank and the active
constraints of its solution is then as quick as a Newton method.
"""

from __future__ import annotations

import numpy as np

from inweights.worlds.arrays import Float, Floats


class Anderson:
    """Accelerates one iteration.

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
