"""The closed form of the optimum and every step of its proof, numerically and symbolically."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

from inweights.errors import ConfigError
from inweights.theory import MARGIN_LIMIT, Program, closed_form
from inweights.theory.identity_bridge.full_matrices import certificate
from inweights.worlds import TwoHop

BOTH = pytest.mark.parametrize("identity", [True, False])


@BOTH
@pytest.mark.parametrize("n", [2, 3, 5, 12])
def test_the_proof_on_whole_matrices(n: int, identity: bool) -> None:
    """Matrix and multipliers are feasible, the gap is 0, and the optimum is unique."""
    found = dict(certificate(n, identity).rows())
    assert found["feasible"] >= -1e-12
    assert found["operator norm"] <= 1e-12
    for name in ("gap", "tight", "assumption 2"):
        assert found[name] == pytest.approx(0, abs=1e-12), name
    assert found["least multiplier"] > 0.05
    assert found["strict"] > 0.2
    assert found["unique"] > 0.3


@BOTH
def test_the_proof_notices_a_wrong_multiplier_and_a_wrong_optimum(
    identity: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from inweights.theory.identity_bridge import full_matrices
    from inweights.theory.programs.two_hop.closed_form import ClosedForm

    known = closed_form(4, identity=identity)

    def altered(**more: Any) -> dict[str, float]:
        other = ClosedForm(
            **{k: getattr(known, k) for k in known.__dataclass_fields__} | more
        )
        monkeypatch.setattr(full_matrices, "closed_form", lambda n, identity: other)
        return dict(certificate(4, identity).rows())

    larger = known.multipliers | {"first hop, own object": 0.2}
    assert altered(multipliers=larger)["operator norm"] > 0.01
    from dataclasses import replace

    moved = altered(parameters=replace(known.parameters, a1=1.1))
    assert moved["gap"] > 1e-3
    assert moved["tight"] > 0.01


@BOTH
def test_prompts_are_those_of_the_world(identity: bool) -> None:
    """The program solved in closed form is program (2), up to the order of the prompts."""
    n = 4
    world, known = (
        TwoHop(n=n, identity=identity).build(),
        closed_form(n, identity=identity),
    )
    program = Program.of(world)
    order = [world.vocabulary.names[t] for t in world.inputs]
    names = [
        *(f"a{i + 1}" for i in range(n)),
        *(f"b{i + 1}" for i in range(n)),
        "r1",
        "r2",
    ]
    columns = [order.index(name) for name in names]
    theirs = {
        (*row[columns], int(right.argmax()))
        for row, right in zip(program.counts.toarray(), program.right, strict=True)
    }
    ours = {
        (*row, int(a)) for row, a in zip(known.prompts(), known.answers(), strict=True)
    }
    assert ours == theirs


@BOTH
@given(n=st.integers(2, 10**12))
def test_the_proof_holds_at_any_size(identity: bool, n: int) -> None:
    """All inequalities of the proof hold on the two blocks, at every size."""
    known = closed_form(n, identity=identity)
    assert known.operator_norm == pytest.approx(1, abs=1e-12)
    assert known.gap == pytest.approx(0, abs=1e-12)
    assert min(known.multipliers.values()) > 0
    p = known.parameters
    if identity:
        b = p.b1
        assert 1 < b < 2
        assert p.e < 0.5 < (p.b1 + n * p.b2) * (1 + 1e-9)  # e < 1/2 < B
        assert 0 <= n * (p.composition_margin - MARGIN_LIMIT) < 60.5
    else:
        assert p.composition_margin == pytest.approx(-n / (n + 1), rel=1e-12)
        assert known.norm == pytest.approx(2 * (n - 1) + (n + 1) ** -0.5, rel=1e-12)


@BOTH
@pytest.mark.parametrize("n", [2, 3, 6])
def test_blocks_are_the_singular_values_of_the_whole(n: int, identity: bool) -> None:
    known = closed_form(n, identity=identity)
    whole = np.linalg.svd(known.prompts().T @ known.dual(), compute_uv=False)
    one, means = (np.linalg.svd(m, compute_uv=False) for m in known._blocks())
    parts = np.sort(np.concatenate([np.repeat(one, n - 1), means]))[::-1]
    np.testing.assert_allclose(whole, parts, atol=1e-12)


def test_one_is_too_few() -> None:
    with pytest.raises(ConfigError, match="at least 2"):
        closed_form(1)


# --- symbolically


@pytest.mark.slow
def test_without_identity_by_symbols() -> None:
    n, k = sp.symbols("n k", positive=True)
    s, t = sp.symbols("s t")
    # XᵀU on the means (s, t) of bridges and objects: subject, bridge, r1, r2.
    subject = s - (1 - k) * s - k * t
    lines = [
        subject,
        -subject,
        sp.sqrt(n) * (k * s - k * t),
        -sp.sqrt(n) * (k * s - k * t),
    ]
    size = sum(x**2 for x in lines)
    assert sp.simplify(size - 2 * k**2 * (n + 1) * (s - t) ** 2) == 0
    at = {k: 1 / (2 * sp.sqrt(n + 1))}
    assert sp.simplify(size.subs(t, -s).subs(at) - 2 * s**2) == 0
    value = 2 * ((n - 1) * (1 - k) + n * k)
    assert sp.simplify(value.subs(at) - (2 * (n - 1) + 1 / sp.sqrt(n + 1))) == 0
    # The only candidate P preserves 1ᵀx = 0 and divides the difference of the means by
    # √(n+1).
    own = 1 + k * n - (1 - k) + k * (n + 1)  # first row of X XᵀU on (s, -s), over s
    assert sp.simplify(own.subs(at) - sp.sqrt(n + 1)) == 0
    x = 1 / (2 * (n + 1))
    assert sp.simplify((-x / n) - (1 + (x - 1) / n) + n / (n + 1)) == 0  # the margin


@pytest.mark.slow
def test_with_identity_by_symbols() -> None:
    """Steps 1 to 4 of the proof: the block of rank one, the means, and one equation for b."""
    n, b, kappa = sp.symbols("n b kappa", positive=True)
    e = (1 + (n - 1) / b) / (2 * (n + 1))
    mean = (1 + (n - 1) * (2 - b)) / 2
    eta = 1 - kappa * mean
    alpha, q1, delta = b * eta, b**2 * eta - 1, eta - 1
    block = sp.Matrix([[alpha, -q1], [-delta, alpha]])
    left, right = sp.Matrix([1, b]), sp.Matrix([b, 1])
    assert sp.simplify(block * right - left) == sp.zeros(2, 1)
    assert sp.simplify(block.T * left - right) == sp.zeros(2, 1)
    assert sp.simplify(block.det() - (q1 + eta)) == 0
    # The multipliers of the block satisfy n p1 + q1 = α, n p2 + q2 - q3 = α and q3 - q2
    # = -δ.
    p1, p2 = (1 - b * (b - 1) * eta) / n, (1 + (b - 1) * eta) / n
    assert sp.simplify(n * p1 + q1 - alpha) == 0
    assert sp.simplify(n * p2 + delta - alpha) == 0
    # The objective is F = (n - 1)(b + 1/b) + √2 R, and F' = (n - 1)(1 - 1/b² - (B +
    # e/b²)/(√2 R)).
    r2 = (n + 1) * e**2 + mean**2 + n
    assert sp.cancel(sp.diff(r2, b) + (n - 1) * (mean + e / b**2)) == 0
    # The three tight constraints that fix e, B and f.
    c = 1 / b
    a2, c2, b2, d2 = (e - 1) / n, (-e - c) / n, (mean - b) / n, (-mean - 1) / n
    assert sp.cancel(1 + a2 + 2 * e - c - c2 - 1) == 0
    assert sp.cancel(b + b2 - 1 - d2 - 1) == 0
    assert sp.cancel(1 + d2 - b - b2 + 2 - 1) == 0
    # The dual value is the objective, where q1 = κ e, which is the equation F' = 0
    # again.
    dual = n * (n - 1) * (p1 + p2) + n * (q1 + kappa + (kappa + kappa * mean))
    root = sp.cancel((b**2 - 1) / (b**2 * mean + e))
    assert sp.cancel((q1 - kappa * e).subs(kappa, root)) == 0
    norm = (n - 1) * (b + 1 / b) + 2 * kappa * r2  # √2 R = 2κR² at κ = 1/(√2 R)
    assert sp.cancel((dual - norm).subs(kappa, root)) == 0
    # The limit: (B + e/b²)² / (2 R²) → 1/2.
    pull = sp.cancel((mean + e / b**2) ** 2 / (2 * r2))
    assert sp.limit(pull.subs(b, sp.Rational(9, 5)), n, sp.oo) == sp.Rational(1, 2)
    assert sp.simplify(1 - 1 / sp.sqrt(2) - 1 / (2 + sp.sqrt(2))) == 0


@pytest.mark.slow
def test_steps_29_to_33_by_symbols() -> None:
    """From the conditions (28), with ``λ1 = 0`` and ``A``, ``B`` for the roots' arguments."""
    names = "n a1 a2 b1 c1 d1 l2 m1 root_a root_b"
    n, a1, a2, b1, c1, d1, l2, m1, root_a, root_b = sp.symbols(names, positive=True)
    turn = sp.symbols("turn")  # λ7 - λ8
    means = a1 + n * a2
    conditions = {
        "c2": l2 - n * m1,
        "c1": (n - 1) * c1 / root_a + l2 - m1 - b1 * turn,
        "a2": sp.sqrt(2) * n * means / root_b - l2 - n * m1,
        "a1": (n - 1) * a1 / root_a + sp.sqrt(2) * means / root_b - l2 - m1 + d1 * turn,
    }
    at = {m1: l2 / n}
    first = sp.solve(conditions["c1"].subs(at), turn)[0]
    assert sp.simplify(first - (n - 1) / b1 * (c1 / root_a + l2 / n)) == 0  # (29)
    lone = sp.solve(conditions["a2"].subs(at), l2)[0]
    assert sp.simplify(lone - sp.sqrt(2) * n * means / (2 * root_b)) == 0  # (30)
    rest = conditions["a1"].subs(at).subs(sp.sqrt(2) * means / root_b, 2 * l2 / n)
    second = sp.solve(sp.expand(rest), turn)[0]
    assert sp.simplify(second - (n - 1) / d1 * (l2 / n - a1 / root_a)) == 0  # (31)
    both = sp.solve(first - second, l2)[0]
    third = n * (d1 * c1 + a1 * b1) / ((b1 - d1) * root_a)
    assert sp.simplify(both - third) == 0  # (32)
    left, right = (
        sp.sqrt(2) * means * root_a * (b1 - d1),
        2 * root_b * (d1 * c1 + a1 * b1),
    )
    assert (
        sp.simplify(
            (lone - third) * 2 * root_a * root_b * (b1 - d1) / n - (left - right)
        )
        == 0
    )


def test_steps_23_to_25_by_symbols() -> None:
    n, a1, a2, b1, c1, c2, d1, u = sp.symbols("n a1 a2 b1 c1 c2 d1 u", positive=True)
    alpha, step = sp.symbols("alpha epsilon", positive=True)
    gamma = d1 * alpha / b1
    for sign, kept in ((1, True), (-1, False)):
        now = {
            a1: a1 - alpha * step,
            a2: a2 + sign * alpha * step / n,
            c1: c1 - gamma * step,
            c2: c2 + sign * gamma * step / n,
        }

        def change(form: sp.Expr, now: dict[sp.Symbol, sp.Expr] = now) -> sp.Expr:
            return sp.simplify(
                sp.diff(form.subs(now, simultaneous=True), step).subs(step, 0)
            )

        assert (change(a1 + n * a2) == 0) == kept
        assert (change(a1 + c1 + n * (a2 + c2)) == 0) == kept
        assert change(a1 * d1 - b1 * c1) == 0
        m1 = a1**2 + b1**2 + c1**2 + d1**2 + 2 * u
        assert sp.simplify(change(m1) + 2 * alpha * (a1 + c1 * d1 / b1)) == 0  # (24)
        fall = (n - 1) * change(sp.sqrt(m1))
        assert (
            sp.simplify(fall + (n - 1) * alpha * (a1 + c1 * d1 / b1) / sp.sqrt(m1)) == 0
        )
