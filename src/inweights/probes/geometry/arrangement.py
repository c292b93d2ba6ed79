"""Arrangements of embeddings up to rotation: Procrustes across replicas, PCA, UMAP.

Two models that were trained on the same graph may represent it in different directions
of a high-dimensional space. Here their embeddings are compared after the best rotation
or reflection (:func:`agreement`), and mapped to two or three dimensions for drawing
(:func:`arrangement`). ``N`` vectors in ``D ≥ N`` dimensions can always be rotated close
to any others, so that a distance is meaningful only in comparison with the distance of
random vectors. Shapes: ``R`` replicas, ``N`` nodes, ``D`` width, ``K`` dimensions of a
picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import polars as pl

from inweights.errors import ConfigError, DataError
from inweights.models.base import Model
from inweights.probes.geometry.procrustes import procrustes, procrustes_align
from inweights.probes.geometry.vectors import once_each, placed, random_blocks
from inweights.probes.needs import holds
from inweights.seeds import EVALUATION, Streams
from inweights.support.extras import optional
from inweights.support.statistics.decompositions import svd
from inweights.training.batches.worlds import as_worlds
from inweights.worlds.arrays import Float, Floats
from inweights.worlds.world import Worlds

Method = Literal["pca", "umap"]

#: Minimum number of points for each method. UMAP needs neighbours.
_LEAST = {"pca": 2, "umap": 5}


@holds(states=21)
def agreement(
    model: Model,
    worlds: Worlds,
    *,
    layer: str = "tokens",
    dimensions: int = 3,
    draws: int = 200,
    seed: int = 0,
) -> pl.DataFrame:
    """Compute the Procrustes distances between the embeddings of different replicas.

    The distance is the sum of squares, from 0 to 1, that remains after the best
    rotation, reflection and scaling
    (:func:`~inweights.probes.geometry.procrustes.procrustes`). Small distances mean
    that all replicas have the same arrangement. Nodes are matched by their labels.
    Therefore build one world for all replicas, or use ``shuffled=False``.

    Args:
        model: Model with ``R`` replicas, at least two.
        worlds: One world, or one for each replica; all of the same graph.
        layer: Source of the vectors: ``tokens`` (token embeddings), or one of
            ``model.layer_names``; see
            :func:`inweights.probes.geometry.vectors.node_vectors`.
        dimensions: Number of leading principal directions that are compared; 0 for all.
            Comparing all directions is not informative if the width is at least the
            number of nodes.
        draws: Number of pairs of random embeddings of the same shape in the null
            distribution, at least 1.
        seed: Root seed of the null distribution.

    Returns:
        One row per replica, with the columns ``replica``, ``distance`` (Procrustes
        distance, mean over the other replicas), ``nearest`` (distance from the nearest
        replica), ``null_mean`` and ``null_low`` (mean and 2.5% quantile of the distance
        between two random embeddings) and ``p``, the share of distances that are at
        most ``distance``, among the distances of the random pairs and ``distance``
        itself.

    Raises:
        ConfigError: ``dimensions`` is below 0, the layer is unknown, the model has no
            replica axis, ``seed`` is not between 0 and 2**63 - 1, or the probe would
            need more memory than is available.
        DataError: There is only one replica, a world is not a graph, the graphs of the
            worlds differ, ``draws`` is below 1, all vectors of a replica are the same,
            the model has no table of token embeddings, or the worlds do not fit the
            model.

    Example:
        >>> import inweights as iw
        >>> model = iw.models.Node2VecConfig().build(vocabulary=15, seeds=[0, 1])
        >>> table = agreement(model, iw.worlds.Graph(shape="cycle").build())
        >>> bool((table["distance"] > table["null_low"]).all())  # nothing was learnt
        True
    """
    if dimensions < 0:
        raise ConfigError(
            f"'dimensions' must be at least 0 (0 means all dimensions), got {dimensions}"
        )
    if model.replicas < 2:
        raise DataError(
            "the agreement between replicas can be measured only for at least two replicas; "
            "train with at least two seeds"
        )
    vectors = _vectors(model, worlds, layer)
    leading = [_leading(one, dimensions) for one in vectors]
    chance = _random_distances(vectors.shape[1:], dimensions, draws, seed)
    distances = []
    for replica, own in enumerate(leading):
        others = leading[:replica] + leading[replica + 1 :]
        distances.append([procrustes(own, other) for other in others])
    means = np.array(distances).mean(1)
    return pl.DataFrame(
        {
            "replica": range(model.replicas),
            "distance": means,
            "nearest": np.array(distances).min(1),
            "null_mean": [chance.mean()] * len(means),
            "null_low": [np.quantile(chance, 0.025)] * len(means),
            "p": [(1 + (chance <= distance).sum()) / (1 + draws) for distance in means],
        }
    )


def _random_distances(
    shape: Sequence[int], dimensions: int, draws: int, seed: int
) -> Float[Floats, " draws"]:
    """Return the Procrustes distances of pairs of random embeddings."""
    one = random_blocks(draws, shape, seed, at_once=1)
    other = random_blocks(draws, shape, seed + 1, at_once=1)
    distances = []
    for x, y in zip(one, other, strict=True):
        distances.append(
            procrustes(_leading(x[0], dimensions), _leading(y[0], dimensions))
        )
    return np.array(distances)


def _vectors(model: Model, worlds: Worlds, layer: str) -> Floats:
    """Return the vectors of the nodes of the graph that all replicas share, ``[R, N, D]``."""
    graphs, vectors = placed(model, worlds, layer)
    edges = [
        np.unique(np.stack(graph[1:]), axis=1) for graph in once_each(graphs).values()
    ]
    if any(not np.array_equal(own, edges[0]) for own in edges):
        raise DataError(
            "the replicas' graphs differ in their labels; build one world for all, or a Graph "
            "with shuffled=False"
        )
    return vectors


def _leading(points: Floats, dimensions: int) -> Floats:
    """Return the coordinates of centred points in their leading directions; 0 means all."""
    centred = points - points.mean(0)
    if not dimensions:
        return centred
    left, size, _ = svd(centred, full_matrices=False)
    placed: Floats = (left * size)[:, :dimensions]
    return placed


def arrange(
    points: Float[Floats, "N D"],
    *,
    method: Method = "pca",
    dimensions: int = 2,
    neighbours: int = 5,
    seed: int = 0,
) -> Float[Floats, "N K"]:
    """Return deterministic low-dimensional coordinates of points, ``[N, K]``.

    Args:
        points: High-dimensional points, one row per point.
        method: ``pca``, whose signs are fixed (the coordinate with the largest absolute
            value in each direction is positive); or ``umap`` with the cosine metric,
            which needs ``pip install 'inweights[umap]'``.
        dimensions: Number of dimensions ``K``, from 1 to the smaller of ``N`` and
            ``D``.
        neighbours: Number of nearest neighbours that UMAP considers for each point, at
            least 2; at most ``N - 1`` are used. It has no effect on ``pca``.
        seed: Root seed of UMAP, which runs in one thread because it has a seed.

    Returns:
        Coordinates ``[N, K]`` (``N`` points, ``K`` dimensions) in double precision;
        coordinates from ``pca`` are centred.

    Raises:
        ConfigError: The method is unknown; ``dimensions`` is not between 1 and the
            smaller of ``N`` and ``D``; or, with ``umap``, ``neighbours`` is below 2,
            ``seed`` is not between 0 and 2**63 - 1, or umap-learn is not installed.
        DataError: The array does not have two axes, there are fewer than 2 points (5
            for ``umap``), or a coordinate is not finite.

    Example:
        >>> arrange(np.array([[1.0, 5], [1, 1], [1, 0]]), dimensions=1).round(1).tolist()
        [[3.0], [-1.0], [-2.0]]
    """
    points = np.asarray(points, dtype=np.float64)
    if method not in _LEAST:
        raise ConfigError(f"method must be 'pca' or 'umap', got '{method}'")
    if (
        points.ndim != 2
        or len(points) < _LEAST[method]
        or not np.isfinite(points).all()
    ):
        raise DataError(
            f"{method} requires at least {_LEAST[method]} finite points of shape [N, D], got "
            f"the shape {list(points.shape)}"
        )
    if not 1 <= dimensions <= min(points.shape):
        raise ConfigError(
            f"'dimensions' must be from 1 to {min(points.shape)}, got {dimensions}"
        )
    if method == "pca":
        where = _leading(points, dimensions)
        largest = np.take_along_axis(where, np.abs(where).argmax(0)[None], axis=0)
        return where * np.where(largest < 0, -1.0, 1.0)
    if neighbours < 2:
        raise ConfigError(f"'neighbours' must be at least 2 for UMAP, got {neighbours}")
    reducer = optional("umap", "method 'umap'").UMAP(
        n_components=dimensions,
        n_neighbors=min(neighbours, len(points) - 1),
        metric="cosine",
        # The spectral initialisation of UMAP fails for very few points.
        init="spectral" if len(points) > dimensions + 20 else "random",
        random_state=Streams(seed).seed(EVALUATION, "umap") % 2**32,
        n_jobs=1,
    )
    return np.asarray(reducer.fit_transform(points), dtype=np.float64)


def arrangement(
    model: Model,
    worlds: Worlds,
    *,
    method: Method = "pca",
    layer: str = "tokens",
    dimensions: int = 3,
    neighbours: int = 5,
    seed: int = 0,
) -> pl.DataFrame:
    """Return low-dimensional coordinates of all nodes, with every replica aligned to the first.

    Args:
        model: Model with ``R`` replicas.
        worlds: One world, or one for each replica; all of the same graph.
        method: ``pca`` or ``umap``; see :func:`arrange`.
        layer: Source of the vectors: ``tokens`` (token embeddings), or one of
            ``model.layer_names``; see
            :func:`inweights.probes.geometry.vectors.node_vectors`.
        dimensions: Number of dimensions, from 1 to 3.
        neighbours: Number of nearest neighbours that UMAP considers for each node, at
            least 2; it has no effect on ``pca``.
        seed: Root seed of UMAP.

    Returns:
        One row per replica and node, with the columns ``replica``, ``node`` (its name)
        and the coordinates ``x``, ``y`` and ``z``, or the first ``dimensions`` of them.

    Raises:
        ConfigError: The method or the layer is unknown; ``dimensions`` is not between 1
            and 3, or is above the number of nodes or the width; with ``umap``,
            ``neighbours`` is below 2, ``seed`` is not between 0 and 2**63 - 1, or
            umap-learn is not installed; or the model has no replica axis.
        DataError: A world is not a graph, or has fewer than 2 nodes (5 for ``umap``);
            the graphs differ; a vector is not finite; the model has no table of token
            embeddings; or the worlds do not fit the model.

    Example:
        >>> import inweights as iw
        >>> model = iw.models.Node2VecConfig().build(vocabulary=6, seeds=[0, 1])
        >>> arrangement(model, iw.worlds.Graph(shape="cycle", n=6).build(), dimensions=2).columns
        ['replica', 'node', 'x', 'y']
    """
    if not 1 <= dimensions <= 3:
        raise ConfigError(
            f"an arrangement must have from 1 to 3 dimensions, got {dimensions}"
        )
    each = as_worlds(worlds, model)
    vectors = _vectors(model, worlds, layer)
    nodes = vectors.shape[1]
    frames: list[pl.DataFrame] = []
    first: Floats | None = None
    for replica, own in enumerate(vectors):
        where = arrange(
            own, method=method, dimensions=dimensions, neighbours=neighbours, seed=seed
        )
        where = where - where.mean(0)
        if first is None:
            first = where
        else:
            where = procrustes_align(where, first)
        names = each[replica % len(each)].vocabulary.names[:nodes]
        places = dict(zip("xyz", where.T, strict=False))
        frames.append(
            pl.DataFrame({"replica": [replica] * nodes, "node": names, **places})
        )
    return pl.concat(frames)
