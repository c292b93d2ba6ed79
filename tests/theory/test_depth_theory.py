"""The cosine at each depth, compared with hand calculations, random matrices and training."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inweights.errors import ConfigError
from inweights.theory.feature_resemblance.depth import depth_cosines, lemma_18
from inweights.theory.feature_resemblance.starts import deep_start, one_layer_start
from inweights.theory.geometric_memory.storage_tables import squeezed_star
from inweights.worlds import Analogy


def test_three_layers_by_hand() -> None:
    """``ηT/N = 1/2``, three inputs a label: ``a = .5, .5 + 1.5 e_1, .5 + 1.5 e_2``."""
    e1 = 0.25
    a2 = 0.5 + 1.5 * e1  # .875
    e2 = 2 * 0.25 + 2 * 0.5 * a2 + a2**2
    a3 = 0.5 + 1.5 * e2
    e3 = 3 * 0.25 + 2 * (2 * 0.5 * a2) + 2 * a2**2 + 2 * 0.5 * a3 + 2 * a2 * a3 + a3**2
    found = depth_cosines(3, inputs=8, per_label=3, rate=2.0, steps=2)
    assert found == pytest.approx([e / (1 + e) for e in (e1, e2, e3)], rel=1e-12)


def product(rng: np.random.Generator, width: int, factors: int) -> np.ndarray[Any, Any]:
    """Return a product of square matrices from ``N(0, 1/width)``; for none, the identity."""
    made = np.eye(width)
    for _ in range(factors):
        made = made @ rng.normal(0, width**-0.5, (width, width))
    return made


def test_moments_are_those_of_random_matrices() -> None:
    """``tr (P Pᵀ)² / d`` of a product of ``s`` matrices is the Fuss-Catalan number ``s + 1``."""
    rng = np.random.default_rng(0)
    for factors in (0, 1, 2, 3):
        p = product(rng, 300, factors)
        assert np.trace((p @ p.T) @ (p @ p.T)) / 300 == pytest.approx(
            factors + 1, rel=0.05
        )


@pytest.mark.parametrize("per_label", [2, 3])
def test_random_networks_of_unfitted_labels_do_so(per_label: int) -> None:
    """Lemma 18 holds for a narrow network with the settings of a small Figure 1."""
    found = pl.concat(
        lemma_18(
            width=600, layers=5, labels=5, per_label=per_label, share=0.2, seed=seed
        )
        for seed in range(6)
    )
    measured = found.group_by("layer").mean().sort("layer")["cosine"]
    told = depth_cosines(5, inputs=1, per_label=per_label, rate=0.2, steps=1)
    assert told == pytest.approx(measured.to_numpy(), abs=0.025)


def test_a_wider_network_is_nearer() -> None:
    narrow, wide = (
        pl.concat(
            [lemma_18(width=width, layers=5, labels=10, seed=seed) for seed in range(3)]
        )
        for width in (64, 512)
    )
    for case in ("length", "other"):
        assert wide[case].mean() < narrow[case].mean() / 1.5  # type: ignore[operator]


def trained(
    layers: int, labels: int, rate: float, steps: int, width: int
) -> list[float]:
    """Return same-label cosines of ``A W_L ⋯ W_1``, trained layer by layer, two inputs per label.

    ``W`` and ``A`` start from ``N(0, 1/width)``; training is gradient descent on the mean
    cross-entropy.
    """
    rng, inputs = np.random.default_rng(3), 2 * labels
    told = np.repeat(np.arange(labels), 2)
    weights = [rng.normal(0, width**-0.5, (width, width)) for _ in range(layers)]
    readout = rng.normal(0, width**-0.5, (labels, width))
    state, cosines = np.eye(width)[:, :inputs], []
    for layer in range(layers):
        behind = readout
        for later in reversed(weights[layer + 1 :]):
            behind = behind @ later
        for _ in range(steps):
            logits = behind @ weights[layer] @ state
            said = np.exp(logits - logits.max(0))
            said /= said.sum(0)
            said[told, np.arange(inputs)] -= 1
            weights[layer] = weights[layer] - rate / inputs * behind.T @ said @ state.T
        state = weights[layer] @ state
        unit = state / np.linalg.norm(state, axis=0)
        cosines.append(float((unit[:, ::2] * unit[:, 1::2]).sum(0).mean()))
    return cosines


@pytest.mark.parametrize(("labels", "rate", "steps"), [(50, 2.0, 10), (40, 0.5, 24)])
def test_a_network_trained_layer_by_layer_comes_near(
    labels: int, rate: float, steps: int
) -> None:
    """After three layers few labels are fitted, and the cosine is below the prediction."""
    measured = trained(3, labels, rate, steps, width=384)
    told = depth_cosines(3, inputs=2 * labels, per_label=2, rate=rate, steps=steps)
    assert told == pytest.approx(measured, abs=0.045)
    assert measured[2] < told[2]


def test_orthonormal_inputs_need_room() -> None:
    with pytest.raises(ConfigError, match=r"'width' must be at least 100, .*, got 64"):
        lemma_18(width=64)


def test_deep_networks_come_to_one_without_overflow() -> None:
    found = depth_cosines(60)
    assert found[-1] == 1
    assert (np.diff(found) >= 0).all()
    assert found[:4] == pytest.approx(depth_cosines(4))


many = st.integers(1, 30)


@given(many, many, st.floats(0.01, 5), many, many)
def test_it_rises_with_depth_and_follows_the_product(
    layers: int, inputs: int, rate: float, steps: int, per_label: int
) -> None:
    found = depth_cosines(
        layers, inputs=inputs, per_label=per_label, rate=rate, steps=steps
    )
    assert found.shape == (layers,)
    assert ((found > 0) & (found <= 1)).all()
    # Close to 1, cosines may decrease by a rounding error.
    falls = 1 - layers * np.finfo(float).eps
    assert (found[1:] >= found[:-1] * falls).all()
    share = rate * steps / inputs
    assert found[0] == pytest.approx(share**2 / (1 + share**2))
    same = depth_cosines(layers, inputs=1, per_label=per_label, rate=share, steps=1)
    assert found == pytest.approx(same, rel=1e-9)
    more = depth_cosines(
        layers, inputs=inputs, per_label=per_label + 1, rate=rate, steps=steps
    )
    assert (more >= found * falls).all()
    if layers == 2:
        assert more[1] > found[1]


@pytest.mark.parametrize("name", ["layers", "inputs", "per_label", "steps", "rate"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
def test_numbers_are_above_0(name: str, value: float) -> None:
    settings: dict[str, Any] = {"layers": 2, name: value}
    with pytest.raises(
        ConfigError, match=f"{name} must be finite and > 0, got {value}"
    ):
        depth_cosines(**settings)


@pytest.mark.parametrize("name", ["labels", "layers", "per_label"])
def test_lemma_18_needs_labels_layers_and_inputs(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} must be at least"):
        lemma_18(**{name: 1 if name == "labels" else 0})


@pytest.mark.parametrize("delta", [0.0, 1.0, np.nan])
def test_a_bound_fails_with_a_probability(delta: float) -> None:
    with pytest.raises(ConfigError, match="delta must be between 0 and 1"):
        one_layer_start(Analogy(n=3), delta=delta)
    with pytest.raises(ConfigError, match="delta must be between 0 and 1"):
        deep_start(width=4, delta=delta)


def test_an_initialisation_of_zeros_has_no_lengths() -> None:
    with pytest.raises(ConfigError, match="std must be above 0"):
        one_layer_start(Analogy(n=3), std=0.0)


@pytest.mark.parametrize("options", [{"nodes": 1}, {"nodes": 3, "draws": 0}])
def test_squeezed_stars_have_paths_and_draws(options: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match="must be at least"):
        squeezed_star(arms=3, **options)
