"""Films: stored frames, derived tables, and alignment that does not create structure."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from scipy.linalg import orthogonal_procrustes

from inweights.errors import DataError
from inweights.models import GPTConfig, Node2VecConfig, TinyNNConfig
from inweights.probes import (
    cosines,
    graph_recall,
    hop_correlation,
    snapshot,
    spectral_energy,
)
from inweights.probes.geometry.procrustes import align
from inweights.probes.pictures.film import _cosines, render_frames
from inweights.probes.pictures.frames import moments, positions
from inweights.theory.geometric_memory.detail import Detail
from inweights.theory.geometric_memory.spectral import edge_ends
from inweights.training import Curriculum, Descent, Observer, Optimizer, Phase, train
from inweights.worlds import Graph, TwoHop

OF_FILMS = (render_frames, snapshot)
RING = Graph(shape="cycle", shuffled=False)


def distances(points: np.ndarray) -> np.ndarray:
    return np.linalg.norm(points[:, None] - points, axis=-1)


def turned(points: np.ndarray, seed: int, width: int | None = None) -> np.ndarray:
    rng = np.random.default_rng(seed)
    d = points.shape[1]
    return points @ np.linalg.qr(rng.normal(size=(width or d, width or d)))[0][:d]


def of_descent(
    config: Graph, probe, *, seed: int, model, every: int = 0, **options
) -> pl.DataFrame:
    how = {key: options.pop(key) for key in ("rate", "steps") if key in options}
    world = config.build(seed)
    return Descent(**how).observe(probe, world, model, seed, every=every, **options)


@pytest.fixture(scope="module")
def descent() -> pl.DataFrame:
    return of_descent(
        RING, snapshot, seed=0, model=Node2VecConfig(), steps=2000, every=100
    )


def test_a_snapshot_is_a_copy() -> None:
    model = TinyNNConfig(width=8).build(vocabulary=15, seeds=[0, 1])
    before = snapshot(model, RING.build())
    kept = before["gram"].to_list()
    with torch.no_grad():
        model.tokens.weight.mul_(2.0)  # a power of two rounds nothing
    assert before["gram"].to_list() == kept
    after = np.array(snapshot(model, RING.build())["gram"].to_list())
    np.testing.assert_array_equal(after, 4 * np.array(kept))


def test_positions_are_the_points_again() -> None:
    points = np.random.default_rng(0).normal(size=(9, 3)) * [3, 2, 1]
    points -= points.mean(0)
    wide = turned(points, 1, 40) + 5.0  # elsewhere, in 40 dimensions
    where, share = positions(wide @ wide.T)
    size = np.sqrt(np.square(points).sum(1).mean())
    np.testing.assert_allclose(distances(where), distances(points) / size, atol=1e-6)
    assert share == pytest.approx(1.0)


def test_positions_of_a_point_and_of_few() -> None:
    assert positions(np.ones((4, 4)))[0] == pytest.approx(np.zeros((4, 3)))
    assert positions(np.eye(2))[0].shape == (2, 3)


def test_alignment_undoes_turns_and_mirrors() -> None:
    last = np.random.default_rng(0).normal(size=(8, 3))
    frames = np.stack([turned(last, 1), last * [1, -1, 1], turned(last, 2), last])
    np.testing.assert_allclose(align(frames), np.stack([last] * 4), atol=1e-10)


def test_each_frame_fits_the_next_one_best_and_the_last_one_stays() -> None:
    frames = np.random.default_rng(0).normal(size=(5, 8, 3))
    shown = align(frames)
    np.testing.assert_array_equal(shown[-1], frames[-1])
    for frame, now, following in zip(frames, shown, shown[1:], strict=False):
        best, _ = orthogonal_procrustes(frame, following)
        np.testing.assert_allclose(now, frame @ best, atol=1e-10)


def test_alignment_does_not_embellish() -> None:
    """Random vectors remain random, although a rotation in all dimensions could align them."""
    n = 15
    turn = 2 * np.pi * np.arange(n) / n
    circle = np.stack([np.cos(turn), np.sin(turn), 0 * turn], axis=1)
    noise = np.random.default_rng(0).normal(size=(n, 512))
    start = positions(noise @ noise.T)[0]
    shown = align(np.stack([start, circle]))[0]
    np.testing.assert_allclose(distances(shown), distances(start), atol=1e-10)
    # A Procrustes rotation in all dimensions would have shown a circle made of noise.
    target = np.pad(circle, ((0, 0), (0, 509)))
    left, _, right = np.linalg.svd(noise.T @ target, full_matrices=False)
    lie = (noise @ left @ right)[:, :3]
    far = distances(circle).ravel()
    assert np.corrcoef(distances(lie).ravel(), far)[0, 1] > 0.9
    assert np.corrcoef(distances(shown).ravel(), far)[0, 1] < 0.7


def test_pictures_agree_with_the_probes(descent: pl.DataFrame) -> None:
    world = RING.build()
    how: dict[str, Any] = {"seed": 0, "model": Node2VecConfig(), "steps": 2000}
    last = render_frames(descent, world).row(-1, named=True)
    assert last["step"] == 2000
    rho = of_descent(RING, hop_correlation, **how, draws=2)["spearman"].item()
    # The Gram matrix is in single precision.
    assert last["spearman"] == pytest.approx(rho, abs=2e-3)
    energy = of_descent(RING, spectral_energy, **how, draws=2)["energy"].to_numpy()
    np.testing.assert_allclose(last["energies"], energy, atol=1e-4)
    assert (
        last["recall"] == of_descent(RING, graph_recall, **how)["recall_others"].item()
    )
    table = of_descent(RING, cosines, **how)["cosine"].to_numpy().reshape(15, 15)
    np.testing.assert_allclose(
        last["cosines"], table[np.tril_indices(15, -1)], atol=1e-5
    )


def test_a_ring_ends_as_a_ring_and_began_as_none(descent: pl.DataFrame) -> None:
    pictures = render_frames(descent, RING.build())
    first, last = (np.array(pictures["positions"][k]).reshape(15, 3) for k in (0, -1))

    def edge_share(points: np.ndarray) -> float:
        apart = distances(points)
        return float(
            np.mean([apart[i, (i + 1) % 15] for i in range(15)]) / apart.mean()
        )

    assert edge_share(last) < 0.4 < 0.7 < edge_share(first)
    assert pictures["spearman"][0] > -0.5 > pictures["spearman"][-1]
    assert pictures["shown"][-1] > 0.8 > pictures["shown"][0]


def test_films_of_a_training() -> None:
    world = RING.build()
    model = GPTConfig(layers=1, heads=1, width=16).build(vocabulary=15, seeds=[0, 1])
    phase = Phase(steps=12, optimizer=Optimizer(rate=0.01, weight_decay=0.0))
    camera = Observer("film", lambda seen: snapshot(seen, world), 5)
    done = train(
        model, world, Curriculum(phases=(phase,)), seeds=[0, 1], observers=[camera]
    ).observed["film"]
    assert render_frames(done.filter(replica=1), world)["step"].to_list() == [
        0,
        5,
        10,
        12,
    ]
    with pytest.raises(DataError, match="one replica"):
        render_frames(done, world)


@pytest.mark.parametrize("frames", [2, 7, 40])
def test_moments(frames: int) -> None:
    known = list(range(0, 2001, 4))
    chosen = moments(known, frames)
    assert chosen[0] == 0
    assert chosen[-1] == 2000
    assert set(chosen) <= set(known)
    assert chosen == sorted(set(chosen))
    assert frames - 3 <= len(chosen) <= frames
    assert np.median(chosen) < 500 or frames == 2
    # A film that was already thinned is not thinned further.
    assert moments(chosen, frames) == chosen


def test_refuses_another_world(descent: pl.DataFrame) -> None:
    with pytest.raises(DataError, match="must contain a Gram matrix for 16 nodes"):
        render_frames(descent, Graph(shape="grid").build())
    with pytest.raises(DataError, match="no fact"):
        render_frames(descent, TwoHop(n=4, identity=False).build())
    with pytest.raises(DataError, match="at least one frame"):
        render_frames(descent.head(0), RING.build())


def test_a_complete_graph_has_no_correlation() -> None:
    links = [[str(i), str(j)] for i in range(4) for j in range(i)]
    config = Graph(shape="edges", links=links)
    film = of_descent(
        config, snapshot, seed=0, model=Node2VecConfig(width=8), steps=5, every=5
    )
    assert render_frames(film, config.build())["spearman"].to_list() == [None, None]


def test_cosines_do_not_depend_on_lengths() -> None:
    """Cosines are the same for short and long vectors, and undefined for length 0."""
    vectors = np.random.default_rng(0).normal(size=(4, 3))
    vectors[3] = 0.0
    unit = vectors[:3] / np.linalg.norm(vectors[:3], axis=1, keepdims=True)
    for scale in (1e-3, 1.0, 1e3):
        found = _cosines((scale * vectors) @ (scale * vectors).T)
        np.testing.assert_allclose(found[:3, :3], unit @ unit.T, rtol=1e-12, atol=1e-12)
        assert not found[3].any()


def test_frames_of_a_large_graph_show_the_correlation_of_the_probe() -> None:
    """A frame counts cosines in bins, and the probe sorts them."""
    world = Graph(shape="grid", rows=17, columns=17).build()
    model = Node2VecConfig(width=8).build(vocabulary=len(world.vocabulary), seeds=[0])
    film = snapshot(model, world).with_columns(step=pl.lit(0))
    exact = hop_correlation(model, world, draws=1)["spearman"].item()
    shown = render_frames(film, world)["spearman"].item()
    assert shown == pytest.approx(exact, abs=1e-6)
    assert shown != 0


def test_frames_of_a_large_graph_show_the_three_widest_directions() -> None:
    """The directions are singular vectors of centred states; a sample of nodes is drawn."""
    world = Graph(shape="grid", rows=17, columns=17).build()
    model = Node2VecConfig(width=8).build(vocabulary=len(world.vocabulary), seeds=[0])
    film = snapshot(model, world).with_columns(step=pl.lit(0))
    widths = np.arange(1, 9)
    vectors = np.random.default_rng(0).normal(size=(289, 8)) * widths + 3.0
    kept = pl.Series("vectors", [vectors.ravel().tolist()], film.schema["vectors"])
    frame = render_frames(film.with_columns(kept), world).row(0, named=True)
    left, values, _ = np.linalg.svd(vectors - vectors.mean(0), full_matrices=False)
    place = (left * values)[:, :3]
    place /= np.sqrt(np.square(place).sum(1).mean())
    nodes = Detail.of(*edge_ends(world)).nodes
    shown = np.array(frame["positions"]).reshape(-1, 3)
    np.testing.assert_allclose(distances(shown), distances(place[nodes]), atol=1e-5)
    energy = np.square(values)
    assert frame["shown"] == pytest.approx(energy[:3].sum() / energy.sum())
