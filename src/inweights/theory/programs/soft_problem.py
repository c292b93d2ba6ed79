"""Evaluate the soft program at a point: its objective and gradient on factors, and its bounds.

:func:`~.soft_program.solve_soft` minimises a :class:`Problem`, and stores the best
point as a :class:`Point`. Shapes: ``M`` distinct prompts, ``P`` inputs, ``K`` outputs,
``F`` rank of the factors.
"""

from dataclasses import dataclass

import numpy as np

from inweights.support.statistics.decompositions import svd
from inweights.theory.programs.operators import operator_norm
from inweights.theory.programs.program import Program
from inweights.worlds.arrays import Floats

#: Directions weaker than this fraction of the strongest one are ignored.
WEAK = 1e-8


@dataclass(frozen=True)
class Point:
    """Point of the soft program, its certificate, and the gradient that yields further factors.

    Attributes:
        templates: ``W``, ``[P, K]`` (``P`` input tokens, ``K`` outputs).
        optimum: Objective at ``W``: cross-entropy plus ``decay`` times the nuclear
            norm, in nats.
        bound: Certified lower bound on the smallest objective, in nats.
        dual: Distributions that certify the bound, ``[M, K]`` (``M`` distinct prompts).
        rank: Numerical rank of ``W``.
        slope: Gradient of the cross-entropy with respect to ``W``, ``[P, K]``.
    """

    templates: Floats
    optimum: float
    bound: float
    dual: Floats
    rank: int
    slope: Floats

    @property
    def gap(self) -> float:
        """Relative duality gap of the point, ``1 - bound / optimum``."""
        return 1.0 - self.bound / self.optimum if self.optimum > 0 else 0.0


class Problem:
    """Objective of the soft program on factors ``W = L Rᵀ``, its gradient and a lower bound.

    Factors are one array ``[P + K, F]``: ``L`` ``[P, F]`` above ``R`` ``[K, F]``, where
    ``P`` is the number of input tokens, ``K`` the number of candidate answers, and
    ``F`` the number of factors. ``M`` is the number of distinct prompts.

    Args:
        program: The facts, as prompts with their answers.
        decay: ``λ``, the weight of the nuclear norm, above 0.

    Example:
        >>> from inweights.worlds import TwoHop
        >>> problem = Problem(Program.of(TwoHop(n=3).build()), 1e-2)
        >>> problem.first_factors().shape[0]
        14
    """

    def __init__(self, program: Program, decay: float) -> None:
        """Prepare the objective of the soft program.

        Args:
            program: The facts, as prompts with their answers.
            decay: ``λ``, the weight of the nuclear norm, above 0.
        """
        self.counts = program.counts
        self.turned = program.counts.T.tocsr()
        self.shape = program.shape
        self.decay = decay
        stated = program.stated
        facts = stated.sum(1)
        self.weights = facts / facts.sum()
        self.shares = stated / facts[:, None]

    def entropy(self, logits: Floats) -> tuple[float, Floats]:
        """Compute the mean cross-entropy of logits.

        Args:
            logits: Logits ``[M, K]`` (``M`` distinct prompts, ``K`` outputs).

        Returns:
            The cross-entropy in nats, with each prompt weighted by its number of facts;
            and the softmax ``[M, K]``.
        """
        own = (self.shares * logits).sum(1)
        top = logits.max(1, keepdims=True)
        probabilities = np.exp(logits - top)
        total = probabilities.sum(1, keepdims=True)
        probabilities /= total
        each = np.log(total[:, 0]) + top[:, 0] - own
        return float(self.weights @ each), probabilities

    def slope(self, probabilities: Floats) -> Floats:
        """Return the gradient of the cross-entropy with respect to the logits.

        Args:
            probabilities: Softmax of the logits, ``[M, K]`` (``M`` distinct prompts,
                ``K`` outputs).

        Returns:
            Gradient ``[M, K]``.
        """
        return self.weights[:, None] * (probabilities - self.shares)

    def objective(self, x: Floats) -> tuple[float, Floats]:
        """Return the objective on factors, and its gradient, as SciPy's optimisers expect them.

        Args:
            x: Factors ``[P + K, F]`` (``P`` input tokens, ``K`` outputs, ``F``
                factors), flattened.

        Returns:
            The cross-entropy plus half of the decay ``λ`` times the squared norm of the
            factors, in nats; and the gradient, with the shape of ``x``.
        """
        factors = x.reshape(sum(self.shape), -1)
        left = factors[: self.shape[0]]
        right = factors[self.shape[0] :]
        hidden = self.counts @ left
        value, probabilities = self.entropy(hidden @ right.T)
        slope = self.slope(probabilities)
        by_left = self.turned @ (slope @ right)
        by_right = slope.T @ hidden
        by_x = np.concatenate([by_left, by_right]) + self.decay * factors
        return value + self.decay / 2 * float(x @ x), by_x.ravel()

    def first_factors(self) -> Floats:
        """Return initial factors, from one step of steepest descent from zero.

        Returns:
            Factors ``[P + K, F]`` (``P`` input tokens, ``K`` outputs, ``F`` factors). ``F``
            is 0 if the decay is so large that zero is the optimum.
        """
        _, even = self.entropy(np.zeros(self.shares.shape))
        downhill = -(self.turned @ self.slope(even))
        left, values, right = svd(downhill, full_matrices=False)
        # Zero is the optimum if no direction decreases the loss faster than it
        # increases the norm.
        if values[0] <= self.decay:
            return np.zeros((sum(self.shape), 0))
        kept = values > WEAK * values[0]
        root = np.sqrt(values[kept] / (4 * self.weights.max()))
        return np.concatenate([left[:, kept] * root, right[kept].T * root])

    def factors(self, templates: Floats) -> Floats:
        """Return the factors of templates that have the smallest norm (balanced factors).

        Args:
            templates: ``W``, ``[P, K]`` (``P`` input tokens, ``K`` outputs).

        Returns:
            Factors ``[P + K, F]`` (``F`` factors).
        """
        left, values, right = svd(templates, full_matrices=False)
        kept = values > WEAK * values[0]
        root = np.sqrt(values[kept])
        return np.concatenate([left[:, kept] * root, right[kept].T * root])

    def certify(self, factors: Floats) -> Point:
        """Evaluate the objective and a lower bound on its optimum at a point.

        Args:
            factors: Factors ``[P + K, F]`` (``P`` input tokens, ``K`` outputs, ``F``
                factors).

        Returns:
            The point. Its bound is the objective of the dual program at a dual point:
            the softmax of the logits, shifted towards the answers that the facts give
            until the operator norm of the gradient is at most the decay ``λ``.
        """
        left = factors[: self.shape[0]]
        right = factors[self.shape[0] :]
        templates = left @ right.T
        value, probabilities = self.entropy(self.counts @ templates)
        # The singular values of the product are those of a product of small triangular
        # factors.
        one = np.asarray(np.linalg.qr(left, mode="r"))
        other = np.asarray(np.linalg.qr(right, mode="r"))
        values = np.linalg.svd(one @ other.T, compute_uv=False)
        slope = self.turned @ self.slope(probabilities)
        shift = min(1.0, self.decay / max(operator_norm(slope), 1e-300))
        dual = self.shares + shift * (probabilities - self.shares)
        logs = np.log(dual, out=np.zeros_like(dual), where=dual > 0)
        rank = 0
        if len(values) and values[0] > 0:
            rank = int((values > WEAK * values[0]).sum())
        return Point(
            templates=templates,
            optimum=value + self.decay * float(values.sum()),
            bound=max(0.0, -float(self.weights @ (dual * logs).sum(1))),
            dual=dual,
            rank=rank,
            slope=slope,
        )

    def widen(self, factors: Floats, point: Point) -> Floats | None:
        """Return factors with additional columns, along which the objective decreases.

        Args:
            factors: Factors ``[P + K, F]`` (``P`` input tokens, ``K`` outputs, ``F``
                factors).
            point: Result of :meth:`certify` for these factors.

        Returns:
            A new array with the given columns followed by the additional ones; ``None``
            if no direction lowers the objective.
        """
        left, values, right = svd(-point.slope, full_matrices=False)
        promising = values > self.decay * (1 + 1e-9)
        if not promising.any():
            return None
        # Small, so that the objective hardly changes before the next descent.
        size = 1e-3 * max(float(np.abs(factors).max(initial=0.0)), 1e-3)
        new = np.concatenate([left[:, promising], right[promising].T])
        return np.hstack([factors, size * new])


def better(one: Point, other: Point) -> Point:
    """Combine two points: return the templates with the lower objective and the higher bound.

    Args:
        one: First point.
        other: Second point, of the same problem. It is preferred in case of a tie.

    Returns:
        A point whose gap is at most the gap of either point.
    """
    lower = other if other.optimum <= one.optimum else one
    higher = other if other.bound >= one.bound else one
    return Point(
        lower.templates,
        lower.optimum,
        higher.bound,
        higher.dual,
        lower.rank,
        lower.slope,
    )
