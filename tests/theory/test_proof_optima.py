"""The steps of the proofs at the true optima, with another solver and closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.theory.another_solver import cvxpy, solved

from inweights.theory.identity_bridge import full_matrices, proof, proof_kkt
from inweights.theory.programs.two_hop.averaging import average
from inweights.theory.programs.two_hop.symmetric import Parameters
from inweights.theory.programs.two_hop.symmetric_solver import solve_symmetric


def values(table: pl.DataFrame) -> dict[str, float]:
    return dict(table.rows())


def margin(w: np.ndarray[Any, Any], rows: list[int], right: int) -> float:
    """Return the margin of an output over all others for a sum of rows of ``W``."""
    logits = w[rows].sum(0)
    return float(logits[right] - np.delete(logits, right).max())


def optimum(
    n: int, identity: bool, balanced: bool = False
) -> tuple[float, np.ndarray[Any, Any]]:
    """Solve program (2) with another solver, over all matrices and without using symmetry."""
    cp = cvxpy()
    # Rows that sum to 0 have 2n - 1 coordinates in an orthonormal basis.
    basis = np.linalg.svd(np.ones((1, 2 * n)))[2][1:] if balanced else np.eye(2 * n)
    inner = cp.Variable((2 * n + 2, len(basis)))
    w = inner @ basis
    told = [([i, 2 * n], i) for i in range(n)] + [
        ([n + i, 2 * n + 1], n + i) for i in range(n)
    ]
    told += [([n + i], i) for i in range(n)] if identity else []
    margins = []
    for rows, right in told:
        logits = cp.sum(w[rows], axis=0)
        margins += [logits[right] - logits[j] >= 1 for j in range(2 * n) if j != right]
    return solved(cp.Problem(cp.Minimize(cp.normNuc(inner)), margins)), w.value


@pytest.mark.parametrize("n", [3, 4])
def test_theorem_1_by_another_solver(n: int) -> None:
    found = values(proof.with_identity(n))
    (norm, w), (balanced, _) = (
        optimum(n, identity=True, balanced=b) for b in (False, True)
    )
    p = average(w)
    assert balanced == pytest.approx(norm, rel=1e-5)  # Lemma 3
    assert solve_symmetric(n).optimum == pytest.approx(norm, rel=1e-5)
    for i in range(n):
        assert found["thm 1"] == pytest.approx(
            margin(w, [i, 2 * n, 2 * n + 1], n + i), abs=1e-3
        )
    assert found["assumption 4 c1"] == pytest.approx(p.c1, abs=1e-3)
    assert found["assumption 4 a2"] == pytest.approx(abs(p.a2), abs=1e-3)


@pytest.mark.parametrize("n", [3, 10, 1000])
def test_steps_of_theorem_1(n: int) -> None:
    """(13) is ``-1 - 2f = 1``; the last of Assumption 4 does not hold: ``t = 0``, ``a2`` falls."""
    found = values(proof.with_identity(n))
    for name in (
        "gap",
        "kkt",
        "lemma 1",
        "lemma 3",
        "(12) a1",
        "(12) g2",
        "(19)",
        "prop 2",
        "closed form",
        "assumption 4 t",
    ):
        assert found[name] == pytest.approx(0, abs=1e-6), name
    assert found["(13)"] == pytest.approx(1)
    assert found["assumption 4 a2"] < 0.75 / n
    assert found["thm 1"] > 0.5
    assert 0 < found["excess n"] < 60


@pytest.mark.parametrize("n", [2, 10, 1000])
def test_steps_of_propositions_2_to_4(n: int) -> None:
    found = values(proof_kkt.at_optimum(n))
    assert max(found["(28)"], found["(S1)-(S3)"]) < 1e-12
    assert found["(28) sign"] == 0  # g3 is not active, and one of g7 and g8 suffices
    assert found["licq"] == 1
    assert found["mfcq"] == pytest.approx(1)
    known = solve_symmetric(n).parameters.c1
    assert found["(27)"] == pytest.approx(-1 / n - known * (1 - 1 / n))
    assert found["case 2"] > 0.5
    assert found["(33)"] > 1


@pytest.mark.parametrize("n", [3, 10, 100])
def test_steps_of_theorem_2(n: int) -> None:
    """All steps in closed form: (36) does not determine ``b1`` between -1 and ``-1/(n-1)``."""
    found, least = values(proof.without(n)), (n + 1) ** -0.5
    assert found["thm 2"] == pytest.approx(-n / (n + 1))
    assert found["(38)"] == pytest.approx(-n / (n + 1))
    assert found["lemma 4"] == pytest.approx(least / (2 * (n - 1) + least), abs=1e-6)
    assert found["(36) range"] == pytest.approx((n - 2) / (n - 1), abs=0.01)
    assert -(n - 2) / (n - 1) < found["step 1"] < 0
    for name in ("gap", "closed form", "(39)", "(41)", "(43)"):
        assert found[name] == pytest.approx(0, abs=1e-6), name


def test_theorem_2_by_another_solver() -> None:
    n = 3
    norm, w = optimum(n, identity=False)
    assert norm == pytest.approx(2 * (n - 1) + (n + 1) ** -0.5, rel=1e-5)
    assert margin(w, [0, 2 * n, 2 * n + 1], n) == pytest.approx(
        values(proof.without(n))["thm 2"], abs=1e-3
    )


@pytest.mark.parametrize("n", [2, 3, 10, 200])
def test_point_42_is_not_feasible(n: int) -> None:
    """It satisfies the paper's constraints, but violates one of program (2) by ``1/(n-1)``."""
    found = values(proof.point_42(n))
    assert (found["norm"], found["(37)"]) == pytest.approx((0, 0), abs=1e-9)
    assert found["(2)"] == pytest.approx(-1 / (n - 1))


@pytest.mark.parametrize("seed", [0, 1])
def test_averaging_is_measured(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The measured values are the worst over all matrices, and scale with the average."""
    one, all_ = (values(full_matrices.averaging(4, seed, matrices=m)) for m in (1, 20))
    assert one["norm"] < all_["norm"] < 0 < all_["margin"] < one["margin"]

    def scaled(by: float) -> dict[str, float]:
        def mean(w: np.ndarray[Any, Any]) -> Parameters:
            return Parameters(**{k: by * v for k, v in vars(average(w)).items()})

        monkeypatch.setattr(full_matrices, "average", mean)
        return values(full_matrices.averaging(4, seed, matrices=1))

    # Matrices are scaled to a smallest margin of 1, so that the margin of the average is 1
    # plus the change.
    assert scaled(2)["margin"] == pytest.approx(2 * (one["margin"] + 1) - 1)
    assert scaled(2)["norm"] == pytest.approx(2 * (one["norm"] + 1) - 1)
    assert scaled(0.1)["margin"] < 0 < scaled(2)["norm"]


def test_averaging_without_identity_has_the_form_34(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = values(full_matrices.averaging(4, 0, identity=False, matrices=5))
    assert found["norm"] < 0 < found["margin"]
    assert found["form"] < 1e-12
    monkeypatch.setattr(Parameters, "swapped", lambda p: p)
    assert (
        values(full_matrices.averaging(4, 0, identity=False, matrices=5))["form"] > 0.01
    )


def test_the_full_program() -> None:
    """From a random start without symmetry, the solver reaches the closed form."""
    n = 4
    with_, without = (
        values(full_matrices.full_program(n, 1, identity)) for identity in (True, False)
    )
    assert with_["margin"] == pytest.approx(
        solve_symmetric(n).parameters.composition_margin, abs=1e-3
    )
    assert without["margin"] == pytest.approx(-n / (n + 1), abs=1e-3)
    assert (with_["expected"], without["expected"]) == (1, 0)
    for found in (with_, without):
        assert max(found["gap"], found["symmetric"]) < 1e-4
        assert max(found["spread"], found["distance"]) < 1e-3
