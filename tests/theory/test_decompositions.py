"""Decompositions if LAPACK's divide-and-conquer method does not converge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import linalg

from inweights import predict
from inweights.support.statistics.decompositions import eigh, svd
from inweights.theory.programs.large_scale import iteration
from inweights.worlds import TwoHop


def fail(*arguments: Any, **options: Any) -> Any:
    raise np.linalg.LinAlgError("Eigenvalues did not converge")


@pytest.fixture
def divided(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make NumPy's decompositions fail, as they do for some matrices on some processors."""
    monkeypatch.setattr(np.linalg, "eigh", fail)
    monkeypatch.setattr(np.linalg, "svd", fail)


@pytest.mark.usefixtures("divided")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_second_method_decomposes(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    tolerance = 1e-4 if dtype is np.float32 else 1e-10
    stack = rng.normal(size=(2, 3, 7, 4)).astype(dtype)
    for full in (False, True):
        left, values, right = svd(stack, full_matrices=full)
        assert left.shape == (2, 3, 7, 7 if full else 4)
        assert (values.dtype, values.shape, right.shape) == (
            dtype,
            (2, 3, 4),
            (2, 3, 4, 4),
        )
        again = left[..., :4] * values[..., None, :] @ right
        np.testing.assert_allclose(again, stack, atol=tolerance)
    gram = stack[0, 0] @ stack[0, 0].T
    squares, vectors = eigh(gram)
    assert (np.diff(squares) >= 0).all()
    assert squares.dtype == dtype
    again = vectors * squares @ vectors.T
    np.testing.assert_allclose(again, gram, atol=10 * tolerance)


def test_the_first_method_is_numpys_to_the_last_bit() -> None:
    matrix = np.random.default_rng(0).normal(size=(9, 5))
    for ours, theirs in (
        (svd(matrix), np.linalg.svd(matrix)),
        (eigh(matrix.T @ matrix), np.linalg.eigh(matrix.T @ matrix)),
    ):
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_matrix_with_nan_is_an_error() -> None:
    for decompose in (eigh, svd):
        with pytest.raises(np.linalg.LinAlgError):
            decompose(np.full((3, 3), np.nan))


def test_a_prediction_needs_no_particular_method(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = TwoHop(n=5, identity=True).build()
    expected = predict(world).queries
    with monkeypatch.context() as patched:
        patched.setattr(np.linalg, "eigh", fail)
        found = predict(world).queries
    assert found["verdict"].to_list() == expected["verdict"].to_list()
    np.testing.assert_allclose(
        found["margin"].to_numpy(), expected["margin"].to_numpy(), atol=1e-3
    )


@pytest.mark.parametrize("few", [False, True])
def test_large_programs_shrink_by_either_method(
    monkeypatch: pytest.MonkeyPatch, few: bool
) -> None:
    matrix: Any = np.random.default_rng(0).normal(size=(9, 6)).astype(np.float32)
    expected, values = iteration.shrink_values(matrix, 2.0, few=few)
    assert 0 < len(values) < 6
    real = linalg.eigh

    def only_qr(*arguments: Any, driver: str, **options: Any) -> Any:
        return real(*arguments, driver=driver, **options) if driver == "ev" else fail()

    monkeypatch.setattr(linalg, "eigh", only_qr)
    found, again = iteration.shrink_values(matrix, 2.0, few=few)
    np.testing.assert_allclose(again, values, rtol=1e-4)
    np.testing.assert_allclose(found, expected, atol=1e-4)
