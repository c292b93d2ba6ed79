"""Average the iterations of a large program, since their mean often proves better bounds.

:class:`Means` sums multipliers and matrices of :class:`~.iteration.Iteration`, and
:mod:`~.solver` uses it to evaluate the bounds. Shapes: ``M`` distinct prompts, ``P``
inputs, ``K`` outputs.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from inweights.theory.programs.large_scale.bounds import Bounds
from inweights.theory.programs.large_scale.iteration import Iteration
from inweights.theory.programs.large_scale.state_file import State
from inweights.worlds.arrays import Floats


class Means:
    """Averages of multipliers and matrices over past iterations.

    Args:
        run: The iteration.
        window: Number of points to average. When twice as many have been added, the
            averages are restarted and the window is doubled.
    """

    def __init__(self, run: Iteration, window: int) -> None:
        """Begin with empty averages.

        Args:
            run: The iteration whose multipliers and matrices are averaged.
            window: Number of points to average. When twice as many have been added, the
                averages are restarted and the window is doubled.
        """
        self._run = run
        self._window = window
        self._prices = sparse.csr_array(
            (len(run.program.right), run.program.shape[1]), dtype=np.float32
        )
        self._points: Floats = np.zeros_like(run.z)
        self._before: Floats = run.z
        self._summed = 0

    def add(self) -> None:
        """Add the current multipliers and matrix of the iteration to the averages."""
        self._prices = self._prices + self._run.prices
        self._points += self._run.z
        self._summed += 1

    def judge(self, bounds: Bounds, *, upper: bool) -> None:
        """Evaluate the bounds at the iteration's current point and at averages of past points.

        Args:
            bounds: Bounds of the iteration, which are changed if they improve.
            upper: Whether the upper bound is evaluated as well.
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
        """Return the arrays that :meth:`restore` needs, without copying them."""
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
        """Restore the averages of a stored state.

        Args:
            state: Result of :meth:`state`.
        """
        parts = (state["data"], state["indices"], state["indptr"])
        self._prices = sparse.csr_array(parts, shape=self._prices.shape)
        self._points, self._before = state["points"], state["before"]
        self._summed, self._window = int(state["summed"]), int(state["window"])
