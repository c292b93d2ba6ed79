"""Return the optimum of program (2) for the two-hop world of complexity one in closed form.

:func:`closed_form` returns the optimum, and dual multipliers that prove it, for any
number of entities. The numeric solvers (:func:`~.nuclear_norm.solve`,
:func:`~.symmetric_solver.solve_symmetric`) are tested against them, and recipes compare
trained models with them.

The paper proves the signs of the margins (Identity Bridge, Theorems 1 and 2) under
assumptions on the optimum. The optimum itself has a closed form, which is our own. With
identity facts, the optimum depends on one number ``b`` between 1 and 2, the root of a
monotone equation. ``docs/theory.md`` has the proofs.

Shapes: ``n`` entities of each kind (the paper's ``N``), ``M`` prompts (``2n``, with
identity ``3n``), ``P`` inputs (``2n + 2``), ``K`` outputs (``2n``).

The name of a kind of constraint states the prompt and the competing output: ``"first
hop, other bridge"`` has the prompt ``(a_i, r1)``, the correct answer ``b_i`` and the
wrong output ``b_j``. *Own* means that the output has the prompt's index, *other* that
it has a different index; a star marks constraints that the paper leaves out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from inweights.errors import ConfigError
from inweights.theory.programs.two_hop.constraints import constraints
from inweights.theory.programs.two_hop.symmetric import Parameters
from inweights.worlds.arrays import Float, Floats, Ids, Int

#: Limit of the margin of a composition for large ``n``, with identity facts; for every
#: ``n`` the margin is above it.
MARGIN_LIMIT = (2 + 2**0.5) ** -0.5


@dataclass(frozen=True, eq=False)
class ClosedForm:
    """Optimum of program (2) for the two-hop world of complexity one, certified by multipliers.

    Attributes:
        n: Number of subjects, and also of bridges and of objects (the paper's ``N``).
        identity: Whether the identity facts ``(b_i) → b_i`` are included.
        parameters: The optimum in the symmetric form of equation (3).
        multipliers: Dictionary that maps the name of each kind of constraint to the
            Lagrange multiplier of one constraint. Kinds with a positive multiplier are
            tight at every optimum; kinds that are missing have the multiplier 0.

    Example:
        >>> known = closed_form(3)
        >>> known.prompts().shape, known.dual().shape
        ((9, 8), (9, 6))
        >>> abs(known.gap) < 1e-12
        True
    """

    n: int
    identity: bool
    parameters: Parameters
    multipliers: dict[str, float]

    @cached_property
    def norm(self) -> float:
        """Nuclear norm ``‖W‖_*`` of the optimal matrix of logits."""
        return self.parameters.norm(self.n)

    @cached_property
    def totals(self) -> dict[str, float]:
        """Dictionary that maps each kind of constraint to the sum of its constraints' multipliers.

        These are the multipliers of the program in twelve parameters, in which each
        kind is a single constraint.
        """
        return {
            name: self._count(name) * value for name, value in self.multipliers.items()
        }

    def _count(self, name: str) -> int:
        """Return the number of constraints of a kind: ``n`` for own outputs, else ``n (n - 1)``."""
        return self.n if "own" in name else self.n * (self.n - 1)

    @property
    def bound(self) -> float:
        """Lower bound on the nuclear norm of feasible matrices, computed from the multipliers."""
        return sum(self.totals.values()) / max(1.0, self.operator_norm)

    @property
    def gap(self) -> float:
        """Relative duality gap of this optimum, ``1 - bound / norm``; zero up to rounding."""
        return float(1.0 - self.bound / self.norm)

    @cached_property
    def operator_norm(self) -> float:
        """Operator norm of ``Xᵀ U``; the dual matrix ``U`` is feasible if it is at most 1."""
        return max(float(np.linalg.svd(m, compute_uv=False)[0]) for m in self._blocks())

    def _blocks(self) -> tuple[Floats, Floats]:
        """Return the blocks of ``Xᵀ U``: ``[2, 2]`` on vectors of sum 0, ``[4, 2]`` on means."""
        n = self.n
        value = dict.fromkeys(constraints(), 0.0) | self.multipliers
        first = _hop_multipliers(
            value, n, "first", right_kind="bridge", wrong_kind="object"
        )
        second = _hop_multipliers(
            value, n, "second", right_kind="object", wrong_kind="bridge"
        )
        identity = value["identity, own object"]
        # Rows: subjects, bridges. Columns: bridges, objects.
        centred = np.array(
            [
                [first.diagonal, -first.off_diagonal],
                [identity - second.off_diagonal, second.diagonal - identity],
            ]
        )
        # Rows: mean subject, mean bridge, r1, r2. Each sums to 0 over the two kinds of
        # outputs.
        root = np.sqrt(n)
        means = [
            first.other_kind,
            identity - second.other_kind,
            root * first.other_kind,
            -root * second.other_kind,
        ]
        return centred, np.outer(means, [1.0, -1.0])

    def prompts(self) -> Float[Floats, "M P"]:
        """Return the matrix ``X`` of the token counts of all training prompts.

        Returns:
            Token counts ``[M, P]`` (``M`` prompts, ``P`` input tokens). The rows are
            first hops, second hops and (if included) identities. The columns are
            subjects, bridges, ``r1``, ``r2``.
        """
        n = self.n
        eye = np.eye(n)
        none = np.zeros((n, n))
        one = np.ones((n, 1))
        zero = np.zeros((n, 1))
        rows = [
            [eye, none, one, zero],  # (a_i, r1)
            [none, eye, zero, one],  # (b_i, r2)
            [none, eye, zero, zero],  # (b_i)
        ]
        return np.block(rows if self.identity else rows[:2])

    def answers(self) -> Int[Ids, " M"]:
        """Return the column of each training prompt's correct answer, ``[M]``.

        Of the ``2n`` columns, the first ``n`` are bridges, the others are objects.
        """
        hops = np.arange(2 * self.n)
        return np.concatenate([hops, hops[: self.n]]) if self.identity else hops

    def prices(self) -> Float[Floats, "M K"]:
        """Return the Lagrange multiplier of every individual constraint.

        Returns:
            Multipliers ``[M, K]`` (``M`` prompts, ``K`` outputs). The entry in row
            ``m`` and column ``k`` is the multiplier of the constraint that the logit of
            the correct answer to prompt ``m`` exceeds the logit of output ``k`` by at
            least 1. It is 0 at the correct answer itself.
        """
        n = self.n
        multipliers = np.zeros((len(self.answers()), 2 * n))
        own = np.eye(n, dtype=bool)
        first_row = {"first hop": 0, "second hop": n, "identity": 2 * n}
        for name, value in self.multipliers.items():
            prompt, output = name.split(", ")
            row = first_row[prompt]
            column = 0 if "bridge" in output else n
            block = multipliers[row : row + n, column : column + n]
            block[own if "own" in output else ~own] = value
        return multipliers

    def dual(self) -> Float[Floats, "M K"]:
        """Return the dual matrix ``U`` of the optimum.

        Returns:
            A matrix ``[M, K]`` (``M`` prompts, ``K`` outputs) with the negatives of the
            multipliers returned by :meth:`prices`. The entry of each correct answer is
            the sum of its row's multipliers, so that the row sums to 0.
        """
        multipliers = self.prices()
        dual = -multipliers
        dual[np.arange(len(multipliers)), self.answers()] = multipliers.sum(1)
        return dual


class _Hop(NamedTuple):
    """Sums of the multipliers of one hop's prompts, as they occur in the blocks of ``Xᵀ U``.

    Attributes:
        diagonal: Coefficient of the block of correct answers, on vectors that sum to 0.
        off_diagonal: Negative coefficient of the block of the other kind of outputs, on
            the same vectors.
        other_kind: Sum of one prompt's multipliers over the outputs of the other kind.
    """

    diagonal: float
    off_diagonal: float
    other_kind: float


def _hop_multipliers(
    value: dict[str, float], n: int, hop: str, *, right_kind: str, wrong_kind: str
) -> _Hop:
    """Sum the multipliers of a hop whose answers are of ``right_kind`` (bridge or object)."""
    same_kind = value[f"{hop} hop, other {right_kind}"]
    own = value[f"{hop} hop, own {wrong_kind}"]
    other = value[f"{hop} hop, other {wrong_kind}*"]
    other_kind = own + (n - 1) * other
    return _Hop(n * same_kind + other_kind, own - other, other_kind)


def closed_form(n: int, *, identity: bool = True) -> ClosedForm:
    """Return the optimum of program (2) at complexity one, for any number of entities.

    Program (2) of Identity Bridge (§4.3) minimises the nuclear norm of ``W`` subject to
    a margin of at least 1 for all training facts. At complexity one, every subject has
    its own bridge, and every bridge its own object; ``docs/theory.md`` has the proofs.

    Args:
        n: Number of subjects, and also of bridges and of objects; at least 2.
        identity: Whether to include the identity facts ``(b_i) → b_i`` (the default).

    Returns:
        The optimum, with its parameters, multipliers and a certified gap. Time and
        memory do not depend on ``n``, except for the methods that return full matrices.

    Raises:
        ConfigError: ``n`` is below 2.

    Example:
        >>> found = closed_form(10**9)
        >>> round(found.parameters.composition_margin, 6), found.gap < 1e-12
        (0.541196, True)
        >>> round(closed_form(4, identity=False).parameters.composition_margin, 9)
        -0.8
    """
    if n < 2:
        raise ConfigError(f"n must be at least 2, got {n}")
    return _with(n) if identity else _without(n)


def _without(n: int) -> ClosedForm:
    """Return the optimum without identities; multipliers use ``k = 1/(2√(n+1))``."""
    x = 0.5 / (n + 1)
    k = 0.5 / float(np.sqrt(n + 1))
    own = (x - 1.0) / n
    other = -x / n
    point = Parameters(
        a1=1, d1=1, a2=own, d2=own, b2=other, c2=other, e=x, h=x, f=-x, g=-x
    )
    multipliers = dict.fromkeys(constraints(identity=False), k / n)
    multipliers["first hop, other bridge"] = (1 - k) / n
    multipliers["second hop, other object"] = (1 - k) / n
    return ClosedForm(n, False, point, multipliers)


def _with(n: int) -> ClosedForm:
    """Return the optimum with identities: five kinds of multipliers, and ``b`` is a root."""
    from scipy.optimize import brentq

    b = float(brentq(lambda b: 1 - b**-2 - _pull(n, b)[2], 1.0, 2.0, xtol=1e-15))
    e, mean, _ = _pull(n, b)  # mean: the B of Lemma 2, b1 + n b2
    k = 1 / float(np.sqrt(2 * ((n + 1) * e**2 + mean**2 + n)))
    point = Parameters(
        a1=1,
        a2=(e - 1) / n,
        b1=b,
        b2=(mean - b) / n,
        c1=1 / b,
        c2=(-e - 1 / b) / n,
        d1=1,
        d2=(-mean - 1) / n,
        e=e,
        f=-1,
        g=-e,
        h=1,
    )
    rest = 1 - k * mean
    multipliers = {
        "first hop, other bridge": (1 - b * (b - 1) * rest) / n,
        "first hop, own object": k * e,
        "second hop, other object": (1 + (b - 1) * rest) / n,
        "second hop, own bridge": k,
        "identity, own object": k + k * mean,
    }
    return ClosedForm(n, True, point, multipliers)


def _pull(n: int, b: float) -> tuple[float, float, float]:
    """Return ``e``, the ``B`` of Lemma 2, and ``κ (B + e / b²)``, for a value of ``b``."""
    e = (1 + (n - 1) / b) / (2 * (n + 1))
    mean = (1 + (n - 1) * (2 - b)) / 2
    size = np.sqrt(2 * ((n + 1) * e**2 + mean**2 + n))
    return e, mean, float((mean + e / b**2) / size)
