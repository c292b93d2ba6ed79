"""Problem (11) of Identity Bridge (App. A.2): objective, constraints, gradients, multipliers.

Its variables are the parameters of (3) with ``g = -e`` and ``h = -f``, and ``t ≥ |a1 d1
- b1 c1|``. ``proof_kkt.py`` checks the paper's statements about it.
"""

from __future__ import annotations

import numpy as np

from inweights.theory.programs.two_hop.closed_form import closed_form
from inweights.theory.programs.two_hop.symmetric import Parameters
from inweights.worlds.arrays import Floats

#: Parameters of problem (11), in the order of its gradients.
_FREE = ("a1", "a2", "b1", "b2", "c1", "c2", "d1", "d2", "e", "f", "t")


def squares_of_means(p: Parameters, n: int) -> float:
    """Return ``M2`` of Identity Bridge's problem (8), the squared norm of the means of the blocks.

    Args:
        p: The parameters.
        n: Number of entities of each kind.

    Returns:
        ``(a1 + n a2)² + (b1 + n b2)² + n (e² + f²)``.
    """
    return float(
        (p.a1 + n * p.a2) ** 2 + (p.b1 + n * p.b2) ** 2 + n * (p.e**2 + p.f**2)
    )


def sum_of_squares(p: Parameters) -> float:
    """Return the sum of the squares of ``a1``, ``b1``, ``c1`` and ``d1``.

    This sum is ``M1 - 2 t`` in the notation of Identity Bridge, App. A.2.

    Args:
        p: The parameters.
    """
    return p.a1**2 + p.b1**2 + p.c1**2 + p.d1**2


def kept_constant(p: Parameters, n: int) -> Floats:
    """Return the two quantities that stay constant along the direction of Proposition 3.

    Equations (22) and (23) of Identity Bridge (App. A.2) define this direction. The
    quantities are ``M2`` (:func:`squares_of_means`) and ``h_1``, which is ``a1 + c1 +
    n (a2 + c2)``. The result is an array ``[2]``.

    Args:
        p: The parameters.
        n: Number of entities of each kind.
    """
    return np.array([squares_of_means(p, n), p.a1 + p.c1 + n * (p.a2 + p.c2)])


def multipliers_of_11(n: int) -> dict[str, float]:
    """Return the multipliers of problem (11) in closed form, keyed by constraint name.

    At least one of ``g_7`` and ``g_8`` has the multiplier 0. Problem (11) of Identity
    Bridge (App. A.2) is program (2) with identity facts: it minimises the nuclear norm
    subject to the margins that the paper states. Its variables are the parameters of
    (3), with rows that sum to 0, and ``t ≥ |a1 d1 - b1 c1|``.

    Args:
        n: Number of entities of each kind.

    Returns:
        Multipliers keyed by name: ``g1`` to ``g9`` (of inequalities, at least 0) and
        ``h1``, ``h2`` (of equalities, of any sign).

    Raises:
        ConfigError: ``n`` is below 2.
    """
    known = closed_form(n)
    p = known.parameters
    totals = known.totals
    found = {f"g{k}": 0.0 for k in range(1, 10)}
    names = {
        "g1": "first hop, other bridge",
        "g2": "first hop, own object",
        "g4": "identity, own object",
        "g5": "second hop, other object",
        "g6": "second hop, own bridge",
    }
    found |= {k: totals[name] for k, name in names.items()}
    first = found["g2"] / n
    second = (found["g4"] - found["g6"]) / n
    rise = (n - 1) / (p.b1 + p.c1)  # (n - 1) / √A
    turn = (rise * p.c1 + found["g2"] - first) / p.b1  # (29)
    found |= {"g7": max(turn, 0.0), "g8": max(-turn, 0.0), "g9": rise - abs(turn)}
    return found | {"h1": first, "h2": second}


def objective_of_11(p: Parameters, n: int, t: float) -> float:
    """Return the objective of problem (11).

    Problem (11) of Identity Bridge (App. A.2) is program (2) with identity facts: it
    minimises the nuclear norm subject to the margins that the paper states. Its
    variables are the parameters of (3), with rows that sum to 0, and ``t ≥ |a1 d1 - b1
    c1|``.

    Args:
        p: The parameters.
        n: Number of entities of each kind.
        t: The variable ``t``, a bound on ``|a1 d1 - b1 c1|``, which is not checked.

    Returns:
        ``(n - 1) √M1 + √(2 M2)``, with ``M1 = sum_of_squares(p) + 2 t`` and ``M2 =
        squares_of_means(p, n)``.
    """
    first = sum_of_squares(p) + 2 * t
    return float((n - 1) * np.sqrt(first) + np.sqrt(2 * squares_of_means(p, n)))


def _forms(p: Parameters, n: int) -> dict[str, tuple[dict[str, float], float]]:
    """Return the gradient and slack of every constraint of (11), by its name in the paper."""
    u = p.a1 * p.d1 - p.b1 * p.c1
    turn = {"a1": p.d1, "d1": p.a1, "b1": -p.c1, "c1": -p.b1}
    return {
        "g1": ({"a1": 1}, p.a1 - 1),
        "g2": (
            {"a1": 1, "a2": 1, "e": 2, "c1": -1, "c2": -1},
            p.a1 + p.a2 + 2 * p.e - p.c1 - p.c2 - 1,
        ),
        "g3": ({"b1": 1}, p.b1 - 1),
        "g4": ({"b1": 1, "b2": 1, "d1": -1, "d2": -1}, p.b1 + p.b2 - p.d1 - p.d2 - 1),
        "g5": ({"d1": 1}, p.d1 - 1),
        "g6": (
            {"d1": 1, "d2": 1, "b1": -1, "b2": -1, "f": -2},
            p.d1 + p.d2 - p.b1 - p.b2 - 2 * p.f - 1,
        ),
        "g7": ({"t": 1} | {k: -x for k, x in turn.items()}, abs(u) - u),
        "g8": ({"t": 1} | turn, abs(u) + u),
        "g9": ({"t": 1}, abs(u)),
        "h1": ({"a1": 1, "c1": 1, "a2": n, "c2": n}, 0.0),
        "h2": ({"b1": 1, "d1": 1, "b2": n, "d2": n}, 0.0),
    }


def _gradients(p: Parameters, n: int) -> dict[str, Floats]:
    """Return the gradients of the objective of (11), at ``t = |u|``, and of its constraints."""
    u = p.a1 * p.d1 - p.b1 * p.c1
    first = np.sqrt(sum_of_squares(p) + 2 * abs(u))
    a = p.a1 + n * p.a2
    b = p.b1 + n * p.b2
    second = np.sqrt(squares_of_means(p, n) / 2)
    objective = {k: (n - 1) * getattr(p, k) / first for k in ("a1", "b1", "c1", "d1")}
    objective["a1"] += a / second
    objective["b1"] += b / second
    objective |= {"a2": n * a / second, "b2": n * b / second, "t": (n - 1) / first}
    objective |= {"e": n * p.e / second, "f": n * p.f / second}
    gradients = {"objective": _in_order(objective)}
    for name, (gradient, _) in _forms(p, n).items():
        gradients[name] = _in_order(gradient)
    return gradients


def _in_order(gradient: dict[str, float]) -> Floats:
    """Return a gradient by parameter as an array in the order of ``_FREE``; 0 if missing."""
    return np.array([gradient.get(parameter, 0.0) for parameter in _FREE])


def stationarity(
    p: Parameters, n: int, active: float = 1e-4
) -> tuple[float, float, float]:
    """Check the first-order conditions of Identity Bridge's problem (11) at a point.

    Args:
        p: The parameters; ``t`` is ``|a1 d1 - b1 c1|``.
        n: Number of entities of each kind.
        active: Slack below which an inequality is treated as active.

    Returns:
        Three numbers. The first is the norm of the KKT residual, divided by the norm of
        the gradient of the objective. The second is the number of active constraints
        (equalities included) minus the rank of their gradients; it is 0 if the
        gradients are linearly independent. The third is the largest rate at which the
        slack of every active inequality can be increased at once, along a direction
        with entries from -1 to 1 that preserves the equalities.
    """
    from scipy.optimize import linprog, nnls

    rows = _gradients(p, n)
    slack = {k: s for k, (_, s) in _forms(p, n).items() if k.startswith("g")}
    gradient = rows["objective"]
    size = len(_FREE)
    tight = [rows[name] for name, spare in slack.items() if spare < active]
    inequalities = np.array(tight).reshape(-1, size)
    equalities = np.array([rows["h1"], rows["h2"]])
    # Multipliers of equalities may have either sign, but nnls only finds non-negative
    # ones. Therefore each equality occurs with both signs.
    columns = np.vstack([inequalities, equalities, -equalities])
    residual = nnls(columns.T, gradient)[1] / np.linalg.norm(gradient)
    both = np.vstack([inequalities, equalities])
    deficiency = len(both) - np.linalg.matrix_rank(both)
    leave = linprog(
        np.append(np.zeros(size), -1.0),
        A_ub=np.hstack([-inequalities, np.ones((len(inequalities), 1))]),
        b_ub=np.zeros(len(inequalities)),
        A_eq=np.hstack([equalities, np.zeros((2, 1))]),
        b_eq=np.zeros(2),
        bounds=[(-1, 1)] * size + [(None, None)],
    )
    return float(residual), float(deficiency), float(-leave.fun)
