"""Procrustes, PCA and UMAP on arrangements with known results."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from scipy.spatial import procrustes as scipy_procrustes

from inweights.errors import ConfigError, DataError
from inweights.models import Model, Node2VecConfig
from inweights.probes.geometry.arrangement import (
    agreement,
    arrange,
    arrangement,
)
from inweights.probes.geometry.procrustes import procrustes, procrustes_align
from inweights.worlds import Graph

#: These probes compare replicas or take points, so the contract for single replicas does
#: not apply.
OF_ARRANGEMENTS = (agreement, arrange, arrangement)
RING = Graph(shape="cycle", shuffled=False).build()
RNG = np.random.default_rng(0)


def rotation(width: int) -> np.ndarray:
    return np.linalg.qr(RNG.normal(size=(width, width)))[0]


def circle(width: int = 8, noise: float = 0.0) -> np.ndarray:
    """Return the ring as a circle in a randomly oriented plane."""
    angle = 2 * np.pi * np.arange(15) / 15
    flat = np.stack([np.cos(angle), np.sin(angle)], axis=1) @ rotation(width)[:2]
    return flat + noise * RNG.normal(size=flat.shape)


def model_of(*vectors: np.ndarray) -> Model:
    config = Node2VecConfig(width=vectors[0].shape[1])
    model = config.build(vocabulary=15, seeds=range(len(vectors)))
    with torch.no_grad():
        model.tokens.weight.copy_(torch.from_numpy(np.stack(vectors)))
    return model


def test_a_turned_copy_is_turned_back_and_is_no_distance_away() -> None:
    x, q = RNG.normal(size=(9, 4)), rotation(4)
    np.testing.assert_allclose(procrustes_align(x @ q, x), x, atol=1e-12)
    assert procrustes(x @ q * 3 + 1, x) == pytest.approx(0, abs=1e-12)
    # A lower-dimensional arrangement is embedded in the larger space.
    flat = np.pad(x[:, :2], ((0, 0), (0, 2)))
    np.testing.assert_allclose(
        procrustes_align(x[:, :2] @ rotation(2), flat), flat, atol=1e-12
    )
    # The map is a rotation: lengths and angles are preserved.
    other = RNG.normal(size=(9, 4))
    np.testing.assert_allclose(
        procrustes_align(x, other) @ procrustes_align(x, other).T, x @ x.T, atol=1e-12
    )
    assert np.linalg.norm(procrustes_align(x, other) - other) < np.linalg.norm(
        x - other
    )


def test_the_distance_is_scipys_and_symmetric() -> None:
    x, y = RNG.normal(size=(2, 9, 4))
    assert procrustes(x, y) == pytest.approx(scipy_procrustes(x, y)[2])
    assert procrustes(x, y) == pytest.approx(procrustes(y, x))
    assert 0.1 < procrustes(x, y) < 1


def test_replicas_that_hold_one_map_agree_and_random_ones_do_not() -> None:
    same = agreement(model_of(circle(), circle(), circle()), RING, dimensions=2)
    assert (same["distance"] < 1e-6).all()
    assert (same["p"] <= 1 / 200).all()
    chance = agreement(model_of(*RNG.normal(size=(4, 15, 8))), RING, dimensions=2)
    assert (chance["p"] > 0.025).all()
    assert (chance["nearest"] <= chance["distance"]).all()
    # A different arrangement is distinguished from those that agree.
    mixed = agreement(
        model_of(circle(), circle(), RNG.normal(size=(15, 8))), RING, dimensions=2
    )
    assert mixed["distance"].arg_max() == 2
    assert mixed["nearest"].to_list()[:2] == pytest.approx([0, 0], abs=1e-6)


def test_all_dimensions_say_little_where_there_are_many() -> None:
    """In many dimensions random vectors can be aligned, as the null distribution shows."""
    wide = model_of(*RNG.normal(size=(2, 15, 200)))
    whole = agreement(wide, RING, dimensions=0, draws=20)
    assert (
        whole["null_mean"][0]
        < 0.3
        < agreement(wide, RING, dimensions=2)["null_mean"][0]
    )


def test_replicas_are_turned_onto_the_first() -> None:
    x = circle(noise=0.05)
    table = arrangement(model_of(x, x @ rotation(8), x @ rotation(8)), RING)
    first, second, third = (
        part.select("x", "y", "z").to_numpy() for part in table.partition_by("replica")
    )
    np.testing.assert_allclose(second, first, atol=1e-5)
    np.testing.assert_allclose(third, first, atol=1e-5)
    assert table["node"].to_list()[:15] == list(RING.vocabulary.names)


def test_each_replica_lies_around_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if a method places its points elsewhere, as UMAP does."""
    away = sys.modules[arrangement.__module__]
    monkeypatch.setattr(away, "arrange", lambda own, **_: own[:, :2] + 5.0)
    table = arrangement(model_of(circle(), circle()), RING, dimensions=2)
    middle = table.group_by("replica").agg(pl.col("x", "y").mean()).select("x", "y")
    np.testing.assert_allclose(middle, 0, atol=1e-6)


def test_pca_keeps_the_largest_directions_and_its_signs() -> None:
    x = RNG.normal(size=(20, 5)) * [9.0, 4.0, 1.0, 0.1, 0.1] @ rotation(5)
    where = arrange(x, dimensions=2)
    spread = np.linalg.svd(x - x.mean(0), compute_uv=False)
    np.testing.assert_allclose(np.linalg.norm(where, axis=0), spread[:2])
    np.testing.assert_allclose(
        arrange(-x + 5, dimensions=2), -where * _signs(-where), atol=1e-9
    )
    np.testing.assert_allclose(arrange(x, dimensions=2), where)


def _signs(where: np.ndarray) -> np.ndarray:
    largest = np.take_along_axis(where, np.abs(where).argmax(0)[None], axis=0)
    return np.where(largest < 0, -1.0, 1.0)


def test_without_umap_there_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "umap", None)
    # Nor is it at the upper end.
    assert not {"umap", "UMAP"} & set(vars(sys.modules[arrange.__module__]))
    with pytest.raises(
        ConfigError, match=r"^method 'umap' requires umap: pip install 'inweights"
    ):
        arrange(RNG.normal(size=(9, 4)), method="umap")


@pytest.mark.parametrize(
    ("points", "asked", "neighbours", "start"),
    [
        (5, 5, 4, "random"),
        (6, 2, 2, "random"),
        (22, 5, 5, "random"),
        (23, 5, 5, "spectral"),
    ],
)
def test_umap_of_few_points_starts_at_random(
    monkeypatch: pytest.MonkeyPatch,
    points: int,
    asked: int,
    neighbours: int,
    start: str,
) -> None:
    """A mock of umap records its options; a spectral start needs 20 points more than dimensions."""
    noted: dict[str, Any] = {}

    class Reducer:
        def __init__(self, **options: Any) -> None:
            noted.update(options)

        def fit_transform(self, given: np.ndarray) -> np.ndarray:
            return given[:, :2].astype(np.float32)

    monkeypatch.setitem(sys.modules, "umap", SimpleNamespace(UMAP=Reducer))
    x = RNG.normal(size=(points, 4))
    where = arrange(x, method="umap", dimensions=2, neighbours=asked)
    np.testing.assert_array_equal(where, x[:, :2].astype(np.float32))
    assert where.dtype == np.float64
    assert (noted["n_neighbors"], noted["init"]) == (neighbours, start)
    assert (noted["n_components"], noted["n_jobs"]) == (2, 1)
    with pytest.raises(ConfigError, match="'neighbours' must be at least 2 for UMAP"):
        arrange(x, method="umap", dimensions=2, neighbours=1)


@pytest.mark.slow
def test_umap_keeps_neighbours_and_depends_on_its_seed_alone() -> None:
    """Runs in a process without numba's compiler, which would take 40 s for 24 points."""
    if find_spec("umap") is None:
        pytest.skip("pip install 'inweights[umap]' lifts it")
    work = f"from {__name__} import umap_keeps_neighbours as work; work()"
    environment = os.environ | {
        "NUMBA_DISABLE_JIT": "1",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    done = subprocess.run(
        [sys.executable, "-c", work], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def umap_keeps_neighbours() -> None:
    x = np.concatenate(
        [RNG.normal(size=(8, 6)) * 0.1 + 3 * np.eye(6)[c] for c in range(3)]
    )
    one, again = (arrange(x, method="umap", seed=4, neighbours=5) for _ in range(2))
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, arrange(x, method="umap", seed=5, neighbours=5))
    far = np.linalg.norm(one[:, None] - one, axis=-1)
    np.fill_diagonal(far, np.inf)
    assert (far.argmin(1) // 8 == np.arange(24) // 8).all()
    table = arrangement(model_of(circle(), circle()), RING, method="umap", dimensions=2)
    assert table.shape == (30, 4)
    assert table["x"].is_finite().all()


def test_what_does_not_fit_is_refused() -> None:
    x = RNG.normal(size=(9, 4))
    with pytest.raises(ConfigError, match="'pca' or 'umap', got 'tsne'"):
        arrange(x, method="tsne")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="from 1 to 4, got 5"):
        arrange(x, dimensions=5)
    with pytest.raises(
        ConfigError, match="'neighbours' must be at least 2 for UMAP, got 1"
    ):
        arrange(x, method="umap", neighbours=1)
    with pytest.raises(
        DataError,
        match=r"umap requires at least 5 finite points .*, got the shape \[3, 4\]",
    ):
        arrange(x[:3], method="umap")
    with pytest.raises(DataError, match="finite points"):
        arrange(np.full((9, 4), np.nan))
    with pytest.raises(DataError, match=r"got \(9, 4\) and \(8, 4\)"):
        procrustes_align(x, x[1:])
    with pytest.raises(DataError, match=r"got \(9, 4\) and \(8, 4\)"):
        procrustes(x, x[1:])
    with pytest.raises(DataError, match="all of its points are the same"):
        procrustes(x, np.ones((9, 4)))
    with pytest.raises(DataError, match="for at least two replicas"):
        agreement(model_of(circle()), RING)
    two = [Graph(shape="cycle").build(seed) for seed in (0, 1)]
    for probe in (agreement, arrangement):
        with pytest.raises(DataError, match="shuffled=False"):
            probe(model_of(circle(), circle()), two)
    with pytest.raises(ConfigError, match="from 1 to 3 dimensions, got 4"):
        arrangement(model_of(circle()), RING, dimensions=4)
    with pytest.raises(ConfigError, match="at least 0"):
        agreement(model_of(circle(), circle()), RING, dimensions=-1)
