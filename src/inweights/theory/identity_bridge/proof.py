"""Evaluate the steps of Identity Bridge's proofs (App. A) numerically, for a given ``n``.

Every function returns a table with the columns ``check`` (a name) and ``value``. Its
docstring explains each value and, where relevant, what the theorem requires of it.
Recipes turn the requirements into claims. Problem (11), and checks at random points,
are in :mod:`~inweights.theory.identity_bridge.proof_kkt`.
"""

import math
from dataclasses import replace

import polars as pl

from inweights.config import check_size
from inweights.theory.identity_bridge.proof_kkt import check_rows
from inweights.theory.programs.two_hop.closed_form import MARGIN_LIMIT, closed_form
from inweights.theory.programs.two_hop.constraints import constraints
from inweights.theory.programs.two_hop.symmetric import Parameters
from inweights.theory.programs.two_hop.symmetric_solver import solve_symmetric

_TILT = 1e-4


def with_identity(n: int) -> pl.DataFrame:
    """Evaluate Theorem 1 and the steps of its proof (A.1, A.2) at the optimum of program (2).

    Program (2) of Identity Bridge (§4.3) minimises the nuclear norm of the matrix of
    logits ``W`` subject to a margin of at least 1 for every training fact.

    Args:
        n: Number of entities of each kind, at least 2; the cost hardly depends on it.

    Returns:
        Columns ``check`` and ``value``, with the rows:

        - ``gap``, ``kkt``: accuracy of the optimum (relative duality gap, and largest
          violation of the KKT conditions).
        - ``thm 1``: margin of every composition, computed from rows of the matrix.
        - ``excess n``: difference between this margin and ``1/√(2 + √2)``, times ``n``.
        - ``closed form``: relative difference between the nuclear norm of the closed
          form and the lower bound that the central path certifies.
        - ``lemma 1``: relative difference between the optimum and the optimum under (4)
          and (5), which omit the constraint against other objects.
        - ``lemma 3``: relative difference between the optimum and the optimum of
          problem (8).
        - ``(12) a1``: ``a1 - 1``.
        - ``(12) g2``: the margin of ``(a_1, r1)`` over its own object, minus 1.
        - ``(13)``: logit of a query's own object minus the logit of its bridge.
        - ``(19)``: ``f + 1``.
        - ``prop 2``: ``a1 + n a2 - e`` at the optimum of (8), solved separately.
        - ``assumption 4 c1``, ``assumption 4 a2``: ``c1`` and ``|a2|``.
        - ``assumption 4 t``: ``t = |a1 d1 - b1 c1|``.

    Raises:
        ConfigError: ``n`` is below 2.
        SolverError: A central path did not reach its gap.

    Example:
        >>> dict(with_identity(10).rows())["thm 1"] > MARGIN_LIMIT
        True
    """
    best = solve_symmetric(n)
    path = solve_symmetric(n, closed=False)
    reduced = solve_symmetric(n, complete=False)
    eight = solve_symmetric(n, complete=False, zero_sum=True)
    p = best.parameters
    q = eight.parameters
    hop = p.row("a", n) + p.row("r1", n)
    query = hop + p.row("r2", n)
    margin = p.margin("a r1 r2", "c", n)
    return check_rows(
        {
            "gap": best.gap,
            "kkt": best.kkt,
            "thm 1": margin,
            "excess n": n * (margin - MARGIN_LIMIT),
            "closed form": 1 - path.optimum * (1 - path.gap) / best.optimum,
            "lemma 1": abs(1 - reduced.optimum / best.optimum),
            "lemma 3": abs(1 - eight.optimum / best.optimum),
            "(12) a1": hop[0] - hop[1] - 1,
            "(12) g2": hop[0] - hop[n] - 1,
            "(13)": query[n] - query[0],
            "(19)": p.f + 1,
            "prop 2": q.a1 + n * q.a2 - q.e,
            "assumption 4 c1": p.c1,
            "assumption 4 a2": abs(p.a2),
            "assumption 4 t": abs(p.a1 * p.d1 - p.b1 * p.c1),
        }
    )


def without(n: int) -> pl.DataFrame:
    """Evaluate Theorem 2 of Identity Bridge and its proof (A.3), without identity facts.

    Args:
        n: Number of entities of each kind, at least 2; the cost hardly depends on it.

    Returns:
        Columns ``check`` and ``value``, with the rows:

        - ``gap``: accuracy of the optimum of (2) (relative gap).
        - ``thm 2``: margin of every composition, computed from rows of the matrix.
        - ``(38)``: logit of the own object minus logit of the bridge in a subject's
          row, which is ``b1 + b2 - a1 - a2`` in the form (34).
        - ``closed form``: relative difference between the nuclear norm of the closed
          form and the lower bound that the central path certifies.
        - ``lemma 4``: relative difference by which the optimum of problem (36) is below
          the optimum of (2).
        - ``step 1``: ``|b1| - a1`` at the optimum of (36).
        - ``(39)``: multiplier of the own object in (36), divided by ``n - 1``; it is 0
          in the paper.
        - ``(41)``: multiplier of ``a1 ≥ 1`` divided by ``2 (n - 1)``, minus 1.
        - ``(43)``: ``|a1 + n a2| + |e|`` at the optimum of (36), which is 0 according
          to (43) and (44).
        - ``(36) range``: range of ``b1`` over the optima of (36).

    Raises:
        ConfigError: ``n`` is below 2.
        SolverError: A central path did not reach its gap.

    Example:
        >>> dict(without(10).rows())["thm 2"] < 0
        True
    """
    best = solve_symmetric(n, identity=False)
    path = solve_symmetric(n, identity=False, closed=False)
    paper = solve_symmetric(n, identity=False, complete=False, zero_sum=True)
    p = best.parameters
    q = paper.parameters
    subject = p.row("a", n)
    sums = paper.multipliers
    hops = sums["first hop, other bridge"] + sums["second hop, other object"]
    objects = sums["first hop, own object"] + sums["second hop, own bridge"]
    return check_rows(
        {
            "gap": best.gap,
            "thm 2": p.margin("a r1 r2", "c", n),
            "(38)": subject[n] - subject[0],
            "closed form": 1 - path.optimum * (1 - path.gap) / best.optimum,
            "lemma 4": 1 - paper.optimum / best.optimum,
            "step 1": abs(q.b1) - q.a1,
            "(39)": objects / (n - 1),
            "(41)": hops / (2 * (n - 1)) - 1,
            "(43)": abs(q.a1 + n * q.a2) + abs(q.e),
            "(36) range": abs(_b1_at_a_corner(n, -_TILT) - _b1_at_a_corner(n, _TILT)),
        }
    )


def _b1_at_a_corner(n: int, tilt: float) -> float:
    """Return ``b1`` at the optimum of (36) that a small tilt of ``b1`` and ``c1`` selects."""
    solution = solve_symmetric(
        n,
        identity=False,
        complete=False,
        zero_sum=True,
        tilt=Parameters(b1=tilt, c1=tilt),
        gap=1e-6,
    )
    return solution.parameters.b1


def known_norm(n: int, identity: bool) -> pl.DataFrame:
    """Return a lower bound on the nuclear norm in program (2), certified by multipliers.

    Program (2) of Identity Bridge (§4.3) minimises the nuclear norm of the matrix of
    logits ``W`` subject to a margin of at least 1 for every training fact.

    Args:
        n: Number of entities of each kind, at least 2.
        identity: Whether training includes the identity facts ``(b_i) → b_i``.

    Returns:
        Columns ``check`` and ``value``, with one row ``bound``: a lower bound on the
        nuclear norm of every feasible ``W``, which the optimum reaches.

    Raises:
        ConfigError: ``n`` is below 2.

    Example:
        >>> known_norm(3, True)["check"].to_list()
        ['bound']
    """
    return check_rows({"bound": closed_form(n, identity=identity).bound})


def point_42(n: int) -> pl.DataFrame:
    """Evaluate the point (42), on which step 3 of Identity Bridge's proof of Theorem 2 relies.

    Program (2) of Identity Bridge (§4.3) minimises the nuclear norm of the matrix of
    logits ``W`` subject to a margin of at least 1 for every training fact. Without
    identity facts, the point satisfies the constraints (37) that the paper states, but
    not all constraints of the program.

    Args:
        n: Number of entities of each kind, at least 2.

    Returns:
        Columns ``check`` and ``value``, with the rows ``norm`` (nuclear norm of the
        point minus ``2 (n-1)``), ``(37)`` (smallest slack of the paper's constraints)
        and ``(2)`` (smallest slack of the constraints of program (2); if it is
        negative, the point is not feasible).

    Raises:
        ConfigError: ``n`` is below 2.

    Example:
        >>> dict(point_42(10).rows())["(2)"] < 0
        True
    """
    check_size("n", n, least=2, most=math.inf)
    point = Parameters(a1=1, a2=-1 / n, b1=-1 / (n - 1), b2=1 / (n * (n - 1)))
    point = replace(point, c1=point.b1, c2=point.b2, d1=point.a1, d2=point.a2)
    return check_rows(
        {
            "norm": point.norm(n) - 2 * (n - 1),
            "(37)": min(map(point.slack, constraints(identity=False, complete=False))),
            "(2)": min(map(point.slack, constraints(identity=False))),
        }
    )
