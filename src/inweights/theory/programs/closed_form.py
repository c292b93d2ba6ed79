"""The optimum of program (2) for the world of complexity one in closed form, with its proof (ours).

The paper proves the signs of the margins (Identity Bridge, Theorems 1 and 2) under assumptions on
the optimum. The optimum itself and multipliers that prove it can be written down, with identity up
to one number ``b`` between 1 and 2, the root of a monotone equation. ``docs/theory.md`` has the
proofs; here are the formulas, and what a proof of optimality needs to be checked by plain numbers.

Shapes: ``M`` prompts (``2n``, with identity ``3n``), ``P`` inputs (``2n + 2``), ``K`` outputs
(``2n``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from inweights.errors import ConfigError
from inweights.theory.programs.symmetric import Parameters, constraints
from inweights.worlds.arrays import Float, Floats, Ids, Int

#: With identity the margin of a composition is above this for every ``n``, and tends to it.
MARGIN_LIMIT = (2 + 2**0.5) ** -0.5


@dataclass(frozen=True, eq=False)
class ClosedForm:
    """The one optimum of program (2), and multipliers that prove it.

    Attributes:
        n: ``N``.
        identity: Whether identities are facts.
        parameters: The optimum, in the form (3).
        multipliers: The multiplier of each single constraint, by the name of its kind. Kinds with
            a positive one are tight at every optimum; the others have 0.
    """

    n: int
    identity: bool
    parameters: Parameters
    multipliers: dict[str, float]

    @cached_property
    def norm(self) -> float:
        """Nuclear norm of the optimum."""
        return self.parameters.norm(self.n)

    @cached_property
    def totals(self) -> dict[str, float]:
        """Sum of the multipliers of each kind: those of the program in twelve parameters."""
        own, other = self.n, self.n * (self.n - 1)
        return {k: v * (own if "own" in k else other) for k, v in self.multipliers.items()}

    @property
    def bound(self) -> float:
        """Lower bound on the norm of every feasible matrix, from the multipliers alone."""
        return sum(self.totals.values()) / max(1.0, self.operator_norm)

    @property
    def gap(self) -> float:
        """Relative gap of norm and bound: rounding, at any size."""
        return float(1.0 - self.bound / self.norm)

    @cached_property
    def operator_norm(self) -> float:
        """``‖Xᵀ U‖_op`` of the multipliers, by its two blocks: at most 1 if they are feasible."""
        return max(float(np.linalg.svd(m, compute_uv=False)[0]) for m in self._blocks())

    def _blocks(self) -> tuple[Floats, Floats]:
        """``Xᵀ U`` on vectors that sum to 0 (subject, bridge), and on means (with the relations).

        Columns are bridges and objects.
        """
        n, m = self.n, self.multipliers
        zero = dict.fromkeys(constraints(), 0.0) | m
        p = {hop: zero[f"{hop} hop, other {kind}"] for hop, kind in _SAME}
        q = {hop: zero[f"{hop} hop, own {kind}"] for hop, kind in _CROSS}
        s = {hop: zero[f"{hop} hop, other {kind}*"] for hop, kind in _CROSS}
        cross = {hop: q[hop] + (n - 1) * s[hop] for hop in q}  # what a prompt takes from the others
        i = zero["identity, own object"]
        tops = {hop: n * p[hop] + cross[hop] for hop in p}
        off = {hop: q[hop] - s[hop] for hop in q}
        one = np.array([[tops["first"], -off["first"]], [i - off["second"], tops["second"] - i]])
        first, second, root = cross["first"], cross["second"], np.sqrt(n)
        return one, np.outer([first, i - second, root * first, -root * second], [1.0, -1.0])

    def prompts(self) -> Float[Floats, "M P"]:
        """``X``, ``P = 2n + 2``: first hops, second hops and, if they are facts, identities."""
        n = self.n
        eye, none, one, zero = np.eye(n), np.zeros((n, n)), np.ones((n, 1)), np.zeros((n, 1))
        rows = [[eye, none, one, zero], [none, eye, zero, one], [none, eye, zero, zero]]
        return np.block(rows if self.identity else rows[:2])

    def answers(self) -> Int[Ids, " M"]:
        """Column of the right answer of each prompt."""
        hops = np.arange(2 * self.n)
        return np.concatenate([hops, hops[: self.n]]) if self.identity else hops

    def prices(self) -> Float[Floats, "M K"]:
        """The multiplier of each output that a prompt's answer has to beat."""
        n = self.n
        prices = np.zeros((len(self.answers()), 2 * n))
        eye = np.eye(n, dtype=bool)
        for name, value in self.multipliers.items():
            prompt, output = name.split(", ")
            rows = {"first hop": 0, "second hop": n, "identity": 2 * n}[prompt]
            column = 0 if "bridge" in output else n
            block = prices[rows : rows + n, column : column + n]
            block[eye if "own" in output else ~eye] = value
        return prices

    def dual(self) -> Float[Floats, "M K"]:
        """``U``: minus every price, and their sum at the right answer."""
        prices = self.prices()
        dual = -prices
        dual[np.arange(len(prices)), self.answers()] = prices.sum(1)
        return dual


_SAME = (("first", "bridge"), ("second", "object"))
_CROSS = (("first", "object"), ("second", "bridge"))


def closed_form(n: int, *, identity: bool = True) -> ClosedForm:
    """Return the optimum of program (2) at complexity one, for any ``n``.

    Args:
        n: ``N``, at least 2.
        identity: Whether identities are facts.

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
    """All constraints have positive multipliers: ``(1-k)/n`` or ``k/n``, ``k = 1/(2√(n+1))``."""
    x, k = 0.5 / (n + 1), 0.5 / float(np.sqrt(n + 1))
    own, other = (x - 1.0) / n, -x / n
    point = Parameters(a1=1, d1=1, a2=own, d2=own, b2=other, c2=other, e=x, h=x, f=-x, g=-x)
    heavy = ("first hop, other bridge", "second hop, other object")
    names = constraints(identity=False)
    prices = {name: ((1 - k) if name in heavy else k) / n for name in names}
    return ClosedForm(n, False, point, prices)


def _with(n: int) -> ClosedForm:
    """All but ``b`` in closed form; five kinds of constraints have positive multipliers."""
    from scipy.optimize import brentq

    b = float(brentq(lambda b: 1 - b**-2 - _pull(n, b)[2], 1.0, 2.0, xtol=1e-15))
    e, mean, _ = _pull(n, b)
    k = 1 / float(np.sqrt(2 * ((n + 1) * e**2 + mean**2 + n)))
    point = Parameters(
        a1=1, b1=b, c1=1 / b, d1=1, a2=(e - 1) / n, b2=(mean - b) / n,
        c2=(-e - 1 / b) / n, d2=(-mean - 1) / n, e=e, f=-1, g=-e, h=1,
    )  # fmt: skip
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
    """``e`` and ``B`` at a given ``b``, and the pull of the means on it, ``κ (B + e / b²)``."""
    e = (1 + (n - 1) / b) / (2 * (n + 1))
    mean = (1 + (n - 1) * (2 - b)) / 2
    size = np.sqrt(2 * ((n + 1) * e**2 + mean**2 + n))
    return e, mean, float((mean + e / b**2) / size)


def transfer_margin(members: int, told: int) -> float:
    """Return the margin at the optimum of program (2) of a member's untrained fact.

    Of ``members`` of a group, who share a value, a second value is told of ``told``. For the others
    it follows, rightly or not, with a margin of ``min(1, √(told / (members - told)))``, whatever
    the number of groups: one example is enough for any group, and half of the group makes what was
    not told as sure as what was. Counter-examples that name another group's value turn the sign
    where they are more than the examples. Ours, found on certified optima and tested against them;
    there is no proof. The world is :class:`~inweights.worlds.Implication` without counter-examples.

    Raises:
        ConfigError: Not between one and all but one of the members are told.

    Example:
        >>> transfer_margin(4, 2), round(transfer_margin(10, 1), 4)
        (1.0, 0.3333)
    """
    if not 1 <= told < members:
        raise ConfigError(
            f"transfer_margin.told must be at least 1 and below members = {members}, got {told}"
        )
    return min(1.0, math.sqrt(told / (members - told)))
