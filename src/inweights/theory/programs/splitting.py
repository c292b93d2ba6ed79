"""One iteration of the solver of program (2), shared by its variants.

The program is split as ``min ‖Z‖_* + [S has margins ≥ 1]`` such that ``Z = W`` and ``S = X W``; see
:mod:`~inweights.theory.programs.nuclear_norm`.

Shapes: ``M`` distinct prompts, ``P`` inputs, ``K`` outputs.
"""

from __future__ import annotations

import numpy as np

from inweights.theory.programs.anderson import Anderson
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
