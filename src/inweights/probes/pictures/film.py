"""Animations of embeddings during training: frames to draw, without arbitrary rotations.

:func:`snapshot` records a frame while a model is trained; :func:`render_frames`
computes positions, cosines and energies of the recorded frames, which
:mod:`inweights.report.living` draws.

A frame contains the Gram matrix of the node vectors. This matrix contains everything
that a rotation does not change, and it is no larger at width 512 than at width 16.
Positions are each frame's *own* leading directions, rotated only within these three
dimensions (orthogonal Procrustes). Procrustes in all dimensions would be misleading,
since ``N`` random vectors are nearly orthogonal and can be rotated to look like any
graph. Shapes: ``R`` replicas, ``N`` nodes, ``D`` width, ``G`` eigenspaces, ``K``
frames.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from inweights.errors import DataError
from inweights.models.base import Model
from inweights.probes.geometry.cosines import graph_recall
from inweights.probes.geometry.pairs import choose_pairs, spearman
from inweights.probes.geometry.procrustes import align
from inweights.probes.geometry.vectors import cosine_matrix, placed
from inweights.probes.needs import holds
from inweights.probes.pictures.frames import in_space, moments, positions
from inweights.seeds import EVALUATION, Streams
from inweights.support.statistics.decompositions import eigh
from inweights.theory.geometric_memory import spectral
from inweights.theory.geometric_memory.bands import Bands
from inweights.theory.geometric_memory.detail import DRAWN, Detail
from inweights.worlds.arrays import Floats
from inweights.worlds.world import Ids, World, Worlds

#: Number of rows of a Gram matrix that are computed at once.
_ROWS = 2048
#: For a large graph: maximum product of the numbers of frames and nodes, and the
#: minimum of the maximum number of frames.
_FRAME_NODES = 40_000
_FEWEST = 4
#: Number of random combinations of columns from which the energies of a large graph are
#: estimated.
_SKETCH = 16


@holds(asked=24, logits=4)
def snapshot(model: Model, worlds: Worlds, *, layer: str = "tokens") -> pl.DataFrame:
    """Record a frame of an animation: the Gram matrix of the node vectors and the edge recall.

    The rows of several steps of a training run form the animation that
    :func:`render_frames` takes as input.

    Args:
        model: Model with ``R`` replicas.
        worlds: One world of a graph, or one for each replica.
        layer: Source of the vectors: ``tokens`` (token embeddings), or one of
            ``model.layer_names``; see
            :func:`inweights.probes.geometry.vectors.node_vectors`.

    Returns:
        One row per replica, with the columns ``replica``, ``gram`` (inner products of
        the ``N`` node vectors: the lower triangle row by row, ``N (N + 1) / 2``
        single-precision numbers), ``recall`` (share of a node's neighbours among its
        largest logits, over all edges) and ``recall_others`` (the recall if a node's
        own logit is left out; see
        :func:`~inweights.probes.geometry.cosines.graph_recall`). For a graph with more
        than 250 nodes, a column ``vectors`` (``N D`` numbers, node after node) replaces
        ``gram``.

    Raises:
        DataError: A world is not a graph, a node is not among the head's candidates,
            the model has no table of token embeddings, or the worlds do not fit the
            model.
        ConfigError: The layer is unknown, the model has no replica axis, or the probe
            would need more memory than is available (the message states both amounts).

    Example:
        >>> import inweights as iw
        >>> model = iw.models.TinyNNConfig().build(vocabulary=15, seeds=[0])
        >>> frame = snapshot(model, iw.worlds.Graph(shape="cycle").build())
        >>> frame.columns, len(frame["gram"][0])
        (['replica', 'gram', 'recall', 'recall_others'], 120)
    """
    table = graph_recall(model, worlds).select("replica", "recall", "recall_others")
    vectors = placed(model, worlds, layer)[1]
    nodes = vectors.shape[1]
    if nodes > DRAWN:
        # For many nodes, the Gram matrix is larger than the vectors, so the vectors are
        # stored instead.
        rows_of = vectors.reshape(len(vectors), -1).astype(np.float32)
        return table.insert_column(
            1, pl.Series("vectors", rows_of, dtype=pl.List(pl.Float32))
        )
    grams = np.empty((len(vectors), nodes * (nodes + 1) // 2), dtype=np.float32)
    for one, triangle in zip(vectors, grams, strict=True):
        for start in range(0, nodes, _ROWS):
            end = min(start + _ROWS, nodes)
            rows = one[start:end] @ one[:end].T
            inside = np.arange(end) <= np.arange(start, end)[:, None]
            # The lower triangle is stored row by row, so row i begins at index i(i +
            # 1)/2.
            triangle[start * (start + 1) // 2 : end * (end + 1) // 2] = rows[inside]
    return table.insert_column(1, pl.Series("gram", grams, dtype=pl.List(pl.Float32)))


def render_frames(
    film: pl.DataFrame, world: World, *, frames: int = 40
) -> pl.DataFrame:
    """Compute positions, cosines, energies and a correlation for each frame of an animation.

    For a graph with more than 250 nodes, positions and cosines are computed for 250 of
    the nodes, energies are computed for bands of eigenvalues, and there are fewer
    frames (40 for 1,000 nodes, 4 for 10,000).

    Args:
        film: Rows of :func:`snapshot` of one replica, with a column ``step``.
        world: World of the graph on which the model was trained.
        frames: Maximum number of frames. They are chosen among the recorded steps, more
            densely at the start; below 2, all recorded steps are used.

    Returns:
        One row per frame, in the order of steps, with the columns ``step``, ``recall``
        (with a node's own logit left out, from 0 to 1), ``spearman`` (rank correlation
        of cosine with hops; null if all distances are equal), ``shown`` (share of the
        variance that the three dimensions contain, from 0 to 1), ``positions`` (``3 N``
        numbers, node after node), ``cosines`` (the lower triangle without the diagonal,
        ``N (N - 1) / 2`` numbers) and ``energies`` (shares of the energy in the ``G``
        eigenspaces of the graph, from the smoothest one).

    Raises:
        DataError: The world is not a graph, ``film`` is empty or has a different number
            of nodes than the world, or a step occurs twice, as with rows of several
            replicas.

    Example:
        >>> from inweights.models import Node2VecConfig
        >>> from inweights.training import Descent
        >>> from inweights.worlds import Graph
        >>> ring = Graph(shape="cycle", shuffled=False).build()
        >>> taken = Descent().observe(snapshot, ring, Node2VecConfig(), seed=0, every=500)
        >>> pictures = render_frames(taken, ring)
        >>> pictures.height, len(pictures["positions"][0]), bool(pictures["spearman"][-1] < -0.95)
        (21, 45, True)
    """
    count, u, v = spectral.edge_ends(world)
    if film["step"].is_duplicated().any():
        raise DataError(
            "a film must have one frame per step; keep the rows of one replica and one run"
        )
    frames = min(frames, max(_FEWEST, _FRAME_NODES // count))
    steps = moments(film["step"].to_list(), frames)
    chosen = film.filter(pl.col("step").is_in(steps)).sort("step")
    if count <= DRAWN:
        render = _render_small(spectral.adjacency(world))
    else:
        render = _render_large(count, u, v)
    rows = []
    places = []
    for at in range(chosen.height):
        frame = {name: chosen[name][at] for name in chosen.columns}
        place, numbers = render(frame)
        places.append(place)
        rows.append({"step": frame["step"], "recall": frame["recall_others"]} | numbers)
    if not rows:
        raise DataError("the film needs at least one frame, got none")
    # Principal directions have no sign, and change places if they are equally strong.
    # Each frame is therefore aligned with the one before it.
    aligned = align(np.stack(places)).reshape(len(rows), -1).astype(np.float32)
    real = pl.List(pl.Float32)
    table = pl.DataFrame(rows).cast({"cosines": real, "energies": real})
    aligned_positions = pl.Series("positions", aligned.tolist(), dtype=real)
    return table.with_columns(pl.col("spearman").fill_nan(None), aligned_positions)


def _render_small(
    a: Floats,
) -> Callable[[dict[str, Any]], tuple[Floats, dict[str, Any]]]:
    """Return a function that turns a frame's Gram matrix into positions and other columns."""
    n = len(a)
    hops = spectral.hop_distances(a)
    spectrum = spectral.eigenspaces(spectral.operator(a))
    lower = np.tril_indices(n)

    def render(frame: dict[str, Any]) -> tuple[Floats, dict[str, Any]]:
        if len(frame["gram"]) != len(lower[0]):
            raise DataError(
                f"the frame of step {frame['step']} must contain a Gram matrix for {n} nodes "
                f"({len(lower[0])} numbers), got {len(frame['gram'])} numbers; pass the world "
                "from which the film was recorded"
            )
        gram = np.zeros((n, n))
        gram[lower] = frame["gram"]
        gram = gram + np.tril(gram, -1).T
        place, share = positions(gram)
        cosines = _cosines(gram)
        return place, {
            "spearman": float(spearman(cosines[None], hops)[0]),
            "shown": share,
            "cosines": cosines[np.tril_indices(n, -1)].astype(np.float32).tolist(),
            "energies": _energies(gram, spectrum).astype(np.float32).tolist(),
        }

    return render


def _render_large(
    count: int, u: Ids, v: Ids
) -> Callable[[dict[str, Any]], tuple[Floats, dict[str, Any]]]:
    """Return a function that turns a frame's vectors into positions and other columns."""
    detail = Detail.of(count, u, v)
    bands = Bands.of(count, u, v)
    pairs = choose_pairs(count, u, v)
    shown = detail.nodes

    def render(frame: dict[str, Any]) -> tuple[Floats, dict[str, Any]]:
        given = frame.get("vectors")
        flat = np.array([] if given is None else given, dtype=np.float64)
        if not len(flat) or len(flat) % count:
            raise DataError(
                f"the frame of step {frame['step']} must contain vectors for {count} nodes, got "
                f"{len(flat)} numbers; pass the world from which the film was recorded"
            )
        vectors = flat.reshape(count, -1)
        centred = vectors - vectors.mean(0)
        values, turn = eigh(centred.T @ centred)
        place = in_space(centred @ turn[:, ::-1][:, :3])
        total = values.sum()
        cosines = cosine_matrix(vectors[shown])[np.tril_indices(len(shown), -1)]
        # The energies of a few random combinations of columns estimate the energies of
        # all columns.
        sketch = (
            Streams(0)
            .numpy(EVALUATION, "sketch")
            .normal(size=(vectors.shape[1], _SKETCH))
        )
        energies = np.nan_to_num(bands.energy(vectors @ sketch)[0])
        finite = bool(np.isfinite(vectors).all())
        correlation = pairs.rounded(pairs.cosines(vectors)) if finite else np.nan
        return place[shown], {
            "spearman": correlation,
            "shown": float(values[::-1][:3].sum() / total) if total > 0 else 0.0,
            "cosines": cosines.astype(np.float32).tolist(),
            "energies": energies.astype(np.float32).tolist(),
        }

    return render


def _cosines(gram: Floats) -> Floats:
    """Return the cosines of vectors with these inner products; 0 for a vector of zeros."""
    length = np.sqrt(np.maximum(np.diag(gram), 0.0))
    scale = length[:, None] * length
    found: Floats = np.divide(gram, scale, out=np.zeros_like(gram), where=scale > 0)
    return found


def _energies(gram: Floats, spectrum: spectral.Spectrum) -> Floats:
    """Return the share of energy in each eigenspace, ``[G]``: ``Σ ‖Eᵀu‖² = tr(Uᵀ G U)``."""
    power = np.einsum("nk,nm,mk->k", spectrum.vectors, gram, spectrum.vectors)
    parts = np.array([power[spectrum.space == g].sum() for g in range(spectrum.spaces)])
    return parts / parts.sum() if parts.sum() > 0 else np.zeros(spectrum.spaces)
