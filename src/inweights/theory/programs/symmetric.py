"""The symmetric reduction of program (2) for the world of complexity one (Identity Bridge, App. A).

By symmetry the optimum can be sought among matrices of 12 parameters, equation (3). In ours the
rows of ``W`` are inputs (subjects ``a``, bridges ``b``, then ``r1``, ``r2``) and the columns are
outputs (bridges, objects): the paper's ``Wᵀ``. ``I`` is the identity, ``E`` all ones, ``n × n``::

    Wᵀ = [ a1 I + a2 E   b1 I + b2 E   e 1   f 1 ]   bridges
         [ c1 I + c2 E   d1 I + d2 E   g 1   h 1 ]   objects

A change of basis splits it into ``n - 1`` equal blocks and one of the means, so that (Lemma 2)::

    ‖W‖_* = (n-1) ‖[[a1, b1], [c1, d1]]‖_* + ‖[[A, B, √n e, √n f], [C, D, √n g, √n h]]‖_*

with ``A = a1 + n a2`` and so on. Any ``n`` costs the same.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass

import numpy as np

from inweights.config import check_size
from inweights.errors import DataError
from inweights.support.limits import check_memory
from inweights.worlds.arrays import Float, Floats

#: Constraints of program (2) in symmetric form, as coefficients of the twelve parameters. Those
#: with a star are missing in the paper's (4), (5), (35), (37).
CONSTRAINTS: dict[str, dict[str, float]] = {
    "first hop, other bridge": {"a1": 1},
    "first hop, own object": {"a1": 1, "a2": 1, "e": 1, "c1": -1, "c2": -1, "g": -1},
    "first hop, other object*": {"a1": 1, "a2": 1, "e": 1, "c2": -1, "g": -1},
    "second hop, other object": {"d1": 1},
    "second hop, own bridge": {"d1": 1, "d2": 1, "h": 1, "b1": -1, "b2": -1, "f": -1},
    "second hop, other bridge*": {"d1": 1, "d2": 1, "h": 1, "b2": -1, "f": -1},
    "identity, other bridge": {"b1": 1},
    "identity, own object": {"b1": 1, "b2": 1, "d1": -1, "d2": -1},
    "identity, other object*": {"b1": 1, "b2": 1, "d2": -1},
}


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The twelve parameters of equation (3)."""

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
        """Return ``W``, ``P = 2n + 2`` and ``K = 2n``: the transpose of equation (3)."""
        check_size("n", n, least=2, most=10**9)
        check_memory(f"a matrix of {2 * n + 2} × {2 * n}", 8 * 8 * n * n, hint="take a smaller n")
        eye, ones, line = np.eye(n), np.ones((n, n)), np.ones((1, n))
        return np.block(
            [
                [self.a1 * eye + self.a2 * ones, self.c1 * eye + self.c2 * ones],
                [self.b1 * eye + self.b2 * ones, self.d1 * eye + self.d2 * ones],
                [self.e * line, self.g * line],
                [self.f * line, self.h * line],
            ]
        )

    def row(self, line: str, n: int) -> Float[Floats, " K"]:
        """Return the row of ``W`` of the first subject ``a`` or bridge ``b``, of ``r1`` or ``r2``.

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
        """Return the margin of a prompt, read off the rows of the matrix.

        Args:
            prompt: Tokens ``a``, ``b`` (of number 1), ``r1``, ``r2``, separated by blanks.
            right: The right answer: ``b`` or ``c``, of number 1.
            n: ``N``.

        Example:
            >>> Parameters(a1=1, a2=-0.5, e=0.25, g=-0.25).margin("a r1", "b", 4)
            1.0
        """
        logits = np.sum([self.row(token, n) for token in prompt.split()], axis=0)
        own = 0 if right == "b" else n
        return float(logits[own] - np.delete(logits, own).max())

    def blocks(self, n: int) -> tuple[Float[Floats, "2 2"], Float[Floats, "2 4"]]:
        """Return the two small matrices of Lemma 2."""
        one = np.array([[self.a1, self.b1], [self.c1, self.d1]])
        two = np.array([[self.a2, self.b2], [self.c2, self.d2]])
        lines = np.sqrt(n) * np.array([[self.e, self.f], [self.g, self.h]])
        return one, np.hstack([one + n * two, lines])

    def norm(self, n: int) -> float:
        """Return the nuclear norm of ``matrix(n)`` without making it.

        Example:
            >>> point = Parameters(a1=1, d1=1, c1=0.5, e=2, h=-1)
            >>> full = np.linalg.svd(point.matrix(7), compute_uv=False).sum()
            >>> bool(abs(point.norm(7) - full) < 1e-9)
            True
        """
        one, means = self.blocks(n)
        singular = [float(np.linalg.svd(m, compute_uv=False).sum()) for m in (one, means)]
        return (n - 1) * singular[0] + singular[1]

    def lemma_2(self, n: int) -> float:
        """Return the nuclear norm as Lemma 2 (7) writes it, with the coefficients of (6)."""
        p = self
        ca1, cd1 = p.a1**2 + p.b1**2, p.c1**2 + p.d1**2
        ca2 = 2 * p.a1 * p.a2 + n * p.a2**2 + 2 * p.b1 * p.b2 + n * p.b2**2 + p.e**2 + p.f**2
        cd2 = 2 * p.c1 * p.c2 + n * p.c2**2 + 2 * p.d1 * p.d2 + n * p.d2**2 + p.g**2 + p.h**2
        cb1 = p.a1 * p.c1 + p.b1 * p.d1
        cb2 = p.a1 * p.c2 + p.a2 * p.c1 + n * p.a2 * p.c2 + p.b1 * p.d2 + p.b2 * p.d1
        cb2 += n * p.b2 * p.d2 + p.e * p.g + p.f * p.h
        first = np.sqrt(ca1 + cd1 + 2 * abs(p.a1 * p.d1 - p.b1 * p.c1))
        product = (ca1 + n * ca2) * (cd1 + n * cd2) - (cb1 + n * cb2) ** 2
        second = np.sqrt(ca1 + n * ca2 + cd1 + n * cd2 + 2 * np.sqrt(max(product, 0.0)))
        return float((n - 1) * first + second)

    def slack(self, name: str) -> float:
        """Return by how much a constraint's margin exceeds 1; names are in :func:`constraints`."""
        return sum(c * getattr(self, p) for p, c in CONSTRAINTS[name].items()) - 1.0

    @property
    def composition_margin(self) -> float:
        """Margin of ``(a_i, r1, r2) → c_i`` against all other outputs (14)."""
        own = self.c1 + self.c2 + self.g + self.h
        bridge = max(self.a1, 0.0) + self.a2 + self.e + self.f
        return min(self.c1, own - bridge)

    def swapped(self) -> Parameters:
        """Return the image under ``τ`` of Lemma 4: hops and blocks change places."""
        p = self
        return Parameters(
            a1=p.d1, a2=p.d2, b1=p.c1, b2=p.c2, c1=p.b1, c2=p.b2, d1=p.a1, d2=p.a2,
            e=p.h, f=p.g, g=p.f, h=p.e,
        )  # fmt: skip

    def mean(self, other: Parameters) -> Parameters:
        """Return the average of two points."""
        pairs = zip(astuple(self), astuple(other), strict=True)
        return Parameters(**dict(zip(NAMES, ((x + y) / 2 for x, y in pairs), strict=True)))


NAMES = tuple(Parameters.__dataclass_fields__)


def constraints(identity: bool = True, complete: bool = True) -> tuple[str, ...]:
    """Return the names of the constraints; those with a star are missing in the paper."""
    return tuple(
        name
        for name in CONSTRAINTS
        if (identity or not name.startswith("identity")) and (complete or not name.endswith("*"))
    )


def average(templates: Float[Floats, "P K"]) -> Parameters:
    """Average ``W`` over all permutations of the indices: the operation of Lemmas 1 and 4.

    Args:
        templates: Of ``2n + 2`` rows and ``2n`` columns, in the order of the module's docstring.

    Raises:
        DataError: The shape does not fit any ``n``.

    Example:
        >>> point = Parameters(a1=1, b2=-0.5, g=2)
        >>> average(point.matrix(5)) == point
        True
    """
    rows, columns = templates.shape
    n = columns // 2
    if rows != columns + 2 or columns % 2 or n < 2:
        raise DataError(f"templates must have shape [2n + 2, 2n], got {templates.shape}")
    values: dict[str, float] = {}
    for name, block in {
        "a": templates[:n, :n],
        "b": templates[n : 2 * n, :n],
        "c": templates[:n, n:],
        "d": templates[n : 2 * n, n:],
    }.items():
        own = float(np.trace(block)) / n
        other = float(block.sum() - np.trace(block)) / (n * (n - 1))
        values |= {f"{name}1": own - other, f"{name}2": other}
    lines = {"e": (-2, 0), "f": (-1, 0), "g": (-2, n), "h": (-1, n)}
    values |= {k: float(templates[r, c : c + n].mean()) for k, (r, c) in lines.items()}
    return Parameters(**values)
