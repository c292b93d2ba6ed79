"""Hidden states in the plane, by PCA or t-SNE, with a measure of how faithful the picture is.

:func:`project` accepts any points, :func:`bridge_projection` projects the states of
first hops and bridges, and :func:`align_frames` aligns projections of several steps for
an animation. Shapes: ``R`` replicas, ``n`` points, ``D`` width.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from inweights.config import check_size
from inweights.errors import DataError, check_names
from inweights.models.base import Model
from inweights.probes.alignment import bridge_pairs
from inweights.probes.needs import holds
from inweights.probes.states import last_states
from inweights.seeds import EVALUATION, Streams
from inweights.support.extras import optional
from inweights.support.statistics.decompositions import svd
from inweights.training.batches.worlds import as_worlds
from inweights.worlds.arrays import Float, Floats
from inweights.worlds.world import Worlds

Method = Literal["pca", "tsne"]


def project(
    points: Float[NDArray[np.floating], "n D"], *, method: Method = "pca", seed: int = 0
) -> tuple[Float[Floats, "n 2"], float]:
    """Project points onto a plane, and measure how well their neighbourhoods are preserved.

    Points are first scaled to length 1, so that only directions matter.

    Args:
        points: At least 8 points, one row per point.
        method: ``pca``, or ``tsne`` (with a perplexity of 30, or a third of the number
            of points if that is less), which needs ``pip install 'inweights[tsne]'``.
        seed: Root seed; only t-SNE uses it.

    Returns:
        Coordinates, ``[n, 2]``, and their trustworthiness (Venna & Kaski 2001), at most
        1. It is 1 if, for every point, the five nearest neighbours in the plane (fewer
        if there are fewer than 11 points) are also the nearest neighbours in the
        original space.

    Raises:
        DataError: There are fewer than 8 points, or a coordinate is infinite or NaN.
        ConfigError: ``method`` is unknown or, with ``tsne``, scikit-learn is not
            installed or ``seed`` is not between 0 and 2**63 - 1.

    Example:
        >>> where, trust = project(np.eye(8) + np.arange(8)[:, None])
        >>> where.shape, 0 <= trust <= 1
        ((8, 2), True)
    """
    check_names("method", [method], get_args(Method))
    if len(points) < 8:
        raise DataError(f"a projection needs at least 8 points, got {len(points)}")
    if not np.isfinite(points).all():
        raise DataError(
            "a projection needs finite points, got infinite or NaN coordinates"
        )
    scaled = np.asarray(points, dtype=np.float64)
    scaled = scaled / np.maximum(np.linalg.norm(scaled, axis=1, keepdims=True), 1e-12)
    if method == "pca":
        left, values, axes = svd(scaled - scaled.mean(0), full_matrices=False)
        # Signs are fixed by making the entry of largest absolute value positive on each
        # axis.
        signs = np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(1)])
        where = np.pad(left * values * signs, ((0, 0), (0, 2)))[:, :2]
    else:
        manifold = optional("tsne", "method 'tsne'", "sklearn.manifold")
        state = Streams(seed).seed(EVALUATION, "tsne") % 2**32
        perplexity = min(30.0, len(points) / 3)
        tsne = manifold.TSNE(
            perplexity=perplexity, init="pca", random_state=state, n_jobs=1
        )
        where = tsne.fit_transform(scaled)
    neighbours = min(5, (len(points) - 1) // 2)
    return where.astype(np.float64), _trust(scaled, where, neighbours)


def _trust(
    x: Float[Floats, "n D"], where: Float[Floats, "n 2"], neighbours: int
) -> float:
    """Return the trustworthiness: 1 minus a penalty for points that are near only in the plane."""
    n = len(x)
    near = []
    for points in (x, where):
        distances = cdist(points, points)
        np.fill_diagonal(distances, np.inf)
        near.append(np.argsort(distances, axis=1, kind="stable"))
    ranks = np.empty((n, n), dtype=int)
    np.put_along_axis(ranks, near[0], np.arange(1, n + 1)[None], axis=1)
    cost = np.take_along_axis(ranks, near[1][:, :neighbours], axis=1) - neighbours
    return float(
        1 - cost[cost > 0].sum() * 2 / (n * neighbours * (2 * n - 3 * neighbours - 1))
    )


@holds(one=120_000)
def bridge_projection(
    model: Model,
    worlds: Worlds,
    *,
    method: Method = "tsne",
    samples: int = 6,
    place: str = "first_hop",
    seed: int = 0,
) -> pl.DataFrame:
    """Project the states of first hops and bridges in all layers jointly onto a plane.

    Args:
        model: Model with ``R`` replicas.
        worlds: One two-hop world, or one for each replica.
        method: ``pca`` or ``tsne``; see :func:`project`.
        samples: Maximum number of pairs of a subject and its bridge, at least 1. They
            are evenly spaced over the pairs of the world.
        place: Prompts of a pair: ``first_hop`` for ``(e1, r1)`` and ``(e2)``, or
            ``query`` for ``(e1, r1, r2)`` and ``(e2, r2)``, where ``e2`` is the bridge
            of the subject ``e1``.
        seed: Root seed of t-SNE.

    Returns:
        One row per replica, state and layer, with the columns ``replica``, ``pair``
        (the subject's prompt), ``kind`` (whether the prompt is the ``subject``'s or the
        ``bridge``'s), ``layer``, ``depth`` (index of the layer among those in the
        picture), ``x`` and ``y`` (coordinates) and ``trustworthiness`` (of the
        replica's picture; see :func:`project`). Layers whose width differs from the
        width of the first layer are left out.

    Raises:
        DataError: The world has no first hops or no compositions, a composition does
            not begin with a first hop (with ``query``), a picture has fewer than 8
            states, a state is infinite or NaN, or the worlds do not fit the model.
        ConfigError: ``method`` or ``place`` is unknown; ``samples`` is below 1; with
            ``tsne``, scikit-learn is not installed or ``seed`` is not between 0 and
            2**63 - 1; the model has no replica axis or cannot read prompts of this
            length, or the probe would need more memory than is available.
    """
    check_size("samples", samples, most=np.inf)
    each = as_worlds(worlds, model)
    pairs = [bridge_pairs(world, place) for world in each]
    chosen = np.linspace(
        0, len(pairs[0][0]) - 1, min(samples, len(pairs[0][0]))
    ).astype(int)
    subjects = last_states(model, [prompts[chosen] for prompts, _, _ in pairs])
    bridges = last_states(model, [prompts[chosen] for _, prompts, _ in pairs])
    kinds = ("subject", "bridge")
    width = subjects[model.layer_names[0]].shape[-1]
    layers = [name for name in model.layer_names if subjects[name].shape[-1] == width]
    tables = []
    for replica in range(model.replicas):
        states = [subjects[layer][replica] for layer in layers]
        states += [bridges[layer][replica] for layer in layers]
        points = np.concatenate([state.cpu().numpy() for state in states])
        where, trust = project(points, method=method, seed=seed)
        vocabulary = each[replica % len(each)].vocabulary
        names = list(map(vocabulary.text, pairs[replica % len(each)][0][chosen]))
        tables.append(
            pl.DataFrame(
                {
                    "replica": replica,
                    "pair": names * (2 * len(layers)),
                    "kind": np.repeat(kinds, len(layers) * len(chosen)),
                    "layer": np.tile(np.repeat(layers, len(chosen)), 2),
                    "depth": np.tile(np.repeat(np.arange(len(layers)), len(chosen)), 2),
                    "x": where[:, 0],
                    "y": where[:, 1],
                    "trustworthiness": trust,
                }
            )
        )
    return pl.concat(tables)


def align_frames(
    frames: pl.DataFrame, *, by: Sequence[str] = (), step: str = "step"
) -> pl.DataFrame:
    """Scale each frame of an animation to one size, and rotate it to best fit the preceding frame.

    A projection has no orientation of its own. Without this alignment (orthogonal
    Procrustes, which may also reflect a frame), the picture would rotate from frame to
    frame.

    Args:
        frames: Table with one row per frame and point, with the columns ``x`` and ``y``
            and the columns named by ``by`` and ``step``. Every frame has the same
            points in the same order, which is not checked.
        by: Columns that identify an animation, such as ``replica``, if the table
            contains several; by default it contains one.
        step: Name of the column that identifies a frame.

    Returns:
        A new table with changed ``x`` and ``y``, in which each frame is centred and its
        points have a root mean square distance of 1 from the centre. Rows are sorted by
        step within each animation; animations are in the order of their first rows.
    """
    aligned = []
    films = frames.partition_by(list(by), maintain_order=True) if by else [frames]
    for film in films:
        previous: Floats | None = None
        for frame in film.sort(step, maintain_order=True).partition_by(
            step, maintain_order=True
        ):
            where = frame.select("x", "y").to_numpy()
            where = where - where.mean(0)
            where = where / max(float(np.sqrt((where**2).sum(1).mean())), 1e-12)
            if previous is not None:
                left, _, right = svd(where.T @ previous)
                where = where @ (left @ right)
            previous = where
            aligned.append(frame.with_columns(x=where[:, 0], y=where[:, 1]))
    return pl.concat(aligned)
