"""Reduce program (2) for the two-hop world of complexity one to twelve parameters (App. A).

By symmetry, Identity Bridge's program (2) has an optimum among the matrices of equation
(3), :class:`Parameters`. :func:`average` maps any matrix to one of these, and
:func:`constraints` names the margins. The closed form and
:func:`~.symmetric_solver.solve_symmetric` build on them.

Here the rows of ``W`` are inputs (subjects ``a``, bridges ``b``, then ``r1``, ``r2``)
and the columns are outputs (bridges ``b``, objects ``c``): the paper's ``Wᵀ``. ``I`` is
the identity, ``E`` all ones, ``n × n``::

    Wᵀ = [ a1 I + a2 E   b1 I + b2 E   e 1   f 1 ]   bridges
         [ c1 I + c2 E   d1 I + d2 E   g 1   h 1 ]   objects

A change of basis splits this matrix into ``n - 1`` equal blocks and one block of the
means, so that (Lemma 2)::

    ‖W‖_* = (n-1) ‖[[a1, b1], [c1, d1]]‖_*
            + ‖[[A, B, √n e, √n f], [C, D, √n g, √n h]]‖_*

with ``A = a1 + n a2`` and so on. The cost is the same for any ``n``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from inweights.config import check_size
from inweights.support.limits import check_memory
from inweights.theory.programs.two_hop.constraints import CONSTRAINTS
from inweights.worlds.arrays import Float, Floats


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The twelve parameters of the symmetric form, equation (3) of Identity Bridge; 0 by default.

    Attributes:
        a1: Logit that a subject gives its own bridge, minus the logit of other bridges.
        a2: Logit that a subject gives other bridges.
        b1: Logit that a bridge gives itself as output, minus the logit of other
            bridges.
        b2: Logit that a bridge gives other bridges.
        c1: Logit that a subject gives its own object, minus the logit of other objects.
        c2: Logit that a subject gives other objects.
        d1: Logit that a bridge gives its own object, minus the logit of other objects.
        d2: Logit that a bridge gives other objects.
        e: Logit that the relation ``r1`` gives every bridge.
        f: Logit that ``r2`` gives every bridge.
        g: Logit that ``r1`` gives every object.
        h: Logit that ``r2`` gives every object.
    """

    a1: float = 0.0
    a2: float = 0.0
    b1: float = 0.0
    b2: float = 0.0
    c1: float = 0.0
    c2: float = 0.0
    d1: float = 0.0
    d2: float = 0.0
    e: float = 0.0
    f: float = 0.0
    g: float = 0.0
    h: float = 0.0

    def matrix(self, n: int) -> Float[Floats, "P K"]:
        """Return the full matrix ``W``, the transpose of Identity Bridge's equation (3).

        Args:
            n: Number of entities of each kind, from 2 to 10⁹.

        Returns:
            The matrix ``[2n + 2, 2n]``. Rows: subjects, bridges, ``r1``, ``r2``.
            Columns: bridges, objects.

        Raises:
            ConfigError: ``n`` is out of range, or the matrix would not fit in memory.

        Example:
            >>> Parameters(a1=1, a2=2, c2=3).matrix(2)[0].tolist()
            [3.0, 2.0, 3.0, 3.0]
        """
        check_size("n", n, least=2, most=10**9)
        check_memory(
            f"a matrix of {2 * n + 2} × {2 * n}", 8 * 8 * n * n, hint="take a smaller n"
        )
        eye = np.eye(n)
        ones = np.ones((n, n))
        line = np.ones((1, n))
        return np.block(
            [
                [self.a1 * eye + self.a2 * ones, self.c1 * eye + self.c2 * ones],
                [self.b1 * eye + self.b2 * ones, self.d1 * eye + self.d2 * ones],
                [self.e * line, self.g * line],
                [self.f * line, self.h * line],
            ]
        )

    def row(self, line: str, n: int) -> Float[Floats, " K"]:
        """Return one row of the full matrix ``W``, without computing the whole matrix.

        Args:
            line: Token of the row: ``a`` (the first subject), ``b`` (the first bridge),
                ``r1`` or ``r2``. The value is not checked.
            n: Number of entities of each kind.

        Returns:
            Logits ``[2n]``: of the bridges, then of the objects.

        Example:
            >>> Parameters(a1=1, a2=2, c2=3).row("a", 2).tolist()
            [3.0, 2.0, 3.0, 3.0]
        """
        if line in ("r1", "r2"):
            ends = (self.e, self.g) if line == "r1" else (self.f, self.h)
            return np.repeat(np.array(ends, dtype=float), n)
        own = (self.a1, self.c1) if line == "a" else (self.b1, self.d1)
        other = (self.a2, self.c2) if line == "a" else (self.b2, self.d2)
        logits = np.repeat(np.array(other, dtype=float), n)
        logits[[0, n]] += own
        return logits

    def margin(self, prompt: str, right: str, n: int) -> float:
        """Return the margin of a prompt's correct answer over all other outputs.

        Args:
            prompt: Tokens separated by spaces: ``a`` (the first subject), ``b`` (the
                first bridge), ``r1`` and ``r2``. They are not checked.
            right: The correct answer: ``b`` (the first bridge); any other text means
                ``c`` (the first object).
            n: Number of entities of each kind.

        Returns:
            The margin, in logits; negative if a different output has a larger logit.

        Example:
            >>> Parameters(a1=1, a2=-0.5, e=0.25, g=-0.25).margin("a r1", "b", 4)
            1.0
        """
        logits = np.sum([self.row(token, n) for token in prompt.split()], axis=0)
        own = 0 if right == "b" else n
        return float(logits[own] - np.delete(logits, own).max())

    def blocks(self, n: int) -> tuple[Float[Floats, "2 2"], Float[Floats, "2 4"]]:
        """Return the two matrices of Identity Bridge's Lemma 2, which determine the nuclear norm.

        Args:
            n: Number of entities of each kind.

        Returns:
            The block that occurs ``n - 1`` times, ``[2, 2]``, and the block of the
            means, ``[2, 4]``.

        Example:
            >>> Parameters(a1=1, a2=-0.5, e=2).blocks(4)[1].tolist()
            [[-1.0, 0.0, 4.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
        """
        one = np.array([[self.a1, self.b1], [self.c1, self.d1]])
        two = np.array([[self.a2, self.b2], [self.c2, self.d2]])
        lines = np.sqrt(n) * np.array([[self.e, self.f], [self.g, self.h]])
        return one, np.hstack([one + n * two, lines])

    def norm(self, n: int) -> float:
        """Return the nuclear norm of the full matrix, computed from the blocks of Lemma 2.

        Args:
            n: Number of entities of each kind; the cost does not depend on it.

        Example:
            >>> point = Parameters(a1=1, d1=1, c1=0.5, e=2, h=-1)
            >>> full = np.linalg.svd(point.matrix(7), compute_uv=False).sum()
            >>> bool(abs(point.norm(7) - full) < 1e-9)
            True
        """
        one, means = self.blocks(n)
        return (n - 1) * _nuclear_norm(one) + _nuclear_norm(means)

    def lemma_2(self, n: int) -> float:
        """Compute the full matrix's nuclear norm with formulas (6) and (7) of Identity Bridge.

        Args:
            n: Number of entities of each kind.

        Example:
            >>> point = Parameters(a1=1, d1=1, c1=0.5, e=2, h=-1)
            >>> bool(abs(point.lemma_2(7) - point.norm(7)) < 1e-9)
            True
        """
        p = self
        ca1 = p.a1**2 + p.b1**2
        cd1 = p.c1**2 + p.d1**2
        ca2 = (
            2 * p.a1 * p.a2
            + n * p.a2**2
            + 2 * p.b1 * p.b2
            + n * p.b2**2
            + p.e**2
            + p.f**2
        )
        cd2 = (
            2 * p.c1 * p.c2
            + n * p.c2**2
            + 2 * p.d1 * p.d2
            + n * p.d2**2
            + p.g**2
            + p.h**2
        )
        cb1 = p.a1 * p.c1 + p.b1 * p.d1
        cb2 = p.a1 * p.c2 + p.a2 * p.c1 + n * p.a2 * p.c2 + p.b1 * p.d2 + p.b2 * p.d1
        cb2 += n * p.b2 * p.d2 + p.e * p.g + p.f * p.h
        first = np.sqrt(ca1 + cd1 + 2 * abs(p.a1 * p.d1 - p.b1 * p.c1))
        product = (ca1 + n * ca2) * (cd1 + n * cd2) - (cb1 + n * cb2) ** 2
        second = np.sqrt(ca1 + n * ca2 + cd1 + n * cd2 + 2 * np.sqrt(max(product, 0.0)))
        return float((n - 1) * first + second)

    def slack(self, name: str) -> float:
        """Return the margin of a kind of constraint minus 1; negative for violated constraints.

        Args:
            name: Name of the kind of constraint, as returned by
                :func:`~.constraints.constraints`.

        Returns:
            The difference; 0 if the constraint is tight.

        Raises:
            KeyError: There is no such constraint.

        Example:
            >>> Parameters(a1=3).slack("first hop, other bridge")
            2.0
        """
        return sum(c * getattr(self, p) for p, c in CONSTRAINTS[name].items()) - 1.0

    @property
    def composition_margin(self) -> float:
        """Margin of the two-hop query ``(a_i, r1, r2) → c_i``: equation (14) of Identity Bridge."""
        own = self.c1 + self.c2 + self.g + self.h
        bridge = max(self.a1, 0.0) + self.a2 + self.e + self.f
        return min(self.c1, own - bridge)

    def swapped(self) -> Parameters:
        """Return parameters with the hops exchanged (the map ``τ`` of Identity Bridge, Lemma 4).

        Bridges and objects are exchanged as well.

        Example:
            >>> Parameters(a1=1, g=2).swapped() == Parameters(d1=1, f=2)
            True
        """
        p = self
        return Parameters(
            a1=p.d1,
            a2=p.d2,
            b1=p.c1,
            b2=p.c2,
            c1=p.b1,
            c2=p.b2,
            d1=p.a1,
            d2=p.a2,
            e=p.h,
            f=p.g,
            g=p.f,
            h=p.e,
        )

    def mean(self, other: Parameters) -> Parameters:
        """Return new parameters: the elementwise mean of these parameters and ``other``.

        Args:
            other: Parameters of another matrix ``W``.

        Example:
            >>> Parameters(a1=1).mean(Parameters(a1=2, h=4)) == Parameters(a1=1.5, h=2)
            True
        """
        middle = {}
        for name in NAMES:
            middle[name] = (getattr(self, name) + getattr(other, name)) / 2
        return Parameters(**middle)


def _nuclear_norm(matrix: Floats) -> float:
    return float(np.linalg.svd(matrix, compute_uv=False).sum())


#: Names of the twelve parameters, in the order of their definition.
NAMES = tuple(Parameters.__dataclass_fields__)
