"""Tests of appendix B.5, applied to embeddings with known geometry (Geometric Memory, Remark 4).

Remark 4 states when each test mistakes a local geometry for a global one, or vice
versa. :func:`known_geometries` makes embeddings of both kinds and applies every test to
them; :func:`skew` is the test of spectral bias. Shapes: ``N`` nodes, ``D`` width.
"""

from collections.abc import Sequence

import numpy as np
import polars as pl

from inweights.probes.geometry.pairs import spearman
from inweights.probes.geometry.vectors import cosine_matrix
from inweights.seeds import EVALUATION, Streams
from inweights.support.statistics.decompositions import svd
from inweights.theory.geometric_memory import spectral
from inweights.theory.geometric_memory.storage import incidence_storage, shifted_storage
from inweights.worlds.arrays import Floats
from inweights.worlds.families.graphs.graph import Graph


def skew(energy: pl.DataFrame, by: Sequence[str] = ("replica",)) -> pl.DataFrame:
    """Compare the energy of embeddings in each eigenspace with its eigenvalue.

    This is the test of Geometric Memory, B.5 (3), footnote 9. ``P`` is the transition
    matrix of the random walk. Every eigenvalue ``λ`` of ``P + Pᵀ − 2I`` corresponds to
    an eigenvalue ``μ = 1 + λ/2`` of the walk. Embeddings that factorise the walk
    without any bias have energy ``|μ|`` in the direction of the corresponding
    eigenvector.

    Args:
        energy: A table of :func:`~inweights.probes.spectral_energy`, of one or several
            runs (or replicas). Only its columns ``space``, ``eigenvalue``, ``size`` and
            ``energy`` and the columns named in ``by`` are used.
        by: Columns that together identify a run (or replica). Each run (or replica)
            must have exactly one row with ``space`` 0.

    Returns:
        The rows of ``energy`` with further columns: ``spectrum`` (``|μ_i / μ_1|``,
        where ``μ_1`` belongs to space 0), ``relative`` (energy per dimension, divided
        by the energy per dimension of the first space), ``magnitude`` (the square root
        of ``relative``, the length of projections) and ``beyond`` (``spectrum −
        magnitude``, above 0 where the embeddings are *more* skewed than the spectrum).

    Example:
        >>> import inweights as iw
        >>> model = iw.models.Node2VecConfig().build(vocabulary=15, seeds=[0])
        >>> table = skew(iw.probes.spectral_energy(model, Graph(shape="cycle").build()))
        >>> table["spectrum"].round(3).to_list()[:3], table["beyond"].mean() < 0
        ([1.0, 0.732, 0.338], True)
    """
    first = pl.col("space") == 0
    mu = 1 + pl.col("eigenvalue") / 2
    per_dimension = pl.col("energy") / pl.col("size")
    relative = per_dimension / per_dimension.filter(first).first().over(by)
    return energy.with_columns(
        spectrum=(mu / mu.filter(first).first().over(by)).abs(),
        relative=relative,
        magnitude=relative.sqrt(),
    ).with_columns(beyond=pl.col("spectrum") - pl.col("magnitude"))


def known_geometries(world: Graph, *, seed: int = 0) -> pl.DataFrame:
    """Apply the tests of Geometric Memory, B.5, to four embeddings with known geometry.

    ``A`` is the adjacency matrix of the ``N`` nodes, and ``D`` the diagonal matrix of
    their degrees. The embeddings are ``local``, the rows of the incidence matrix (which
    generalises the path on the hypercube of Remark 4 to any graph); ``full rank``, a
    factorisation of ``A + cI``; ``global``, the eigenvectors of the first two
    eigenspaces; and ``random``, vectors of width ``N`` with normally distributed
    entries. The first two are similar to one another, since the incidence matrix
    factorises ``A + D``.

    Args:
        world: Config of an undirected graph without self-edges, with at least two
            eigenspaces and with two nodes that are more than one hop apart. The last
            two conditions are not checked.
        seed: Root seed of the labels and of the random vectors.

    Returns:
        One row per embedding, with the columns ``embedding``, ``width``, ``neighbours``
        (mean cosine of nodes one hop apart), ``others`` (largest ``|cosine|`` of nodes
        further apart, as in a heat map), ``heatmap`` (minus Spearman's ρ between
        cosines and hops), ``picture`` (ρ between the Euclidean distance in the first
        three principal components and hops), ``probe`` (like ``heatmap``, but for the
        part of the embeddings in the first two eigenspaces) and ``beyond`` (how much
        more skewed their energy is than the spectrum, averaged over the dimensions
        outside the first eigenspace; see :func:`skew`).

    Raises:
        DataError: The graph is directed, or has self-edges.
        ConfigError: ``seed`` is not between 0 and 2**63 - 1, or the world does not fit
            in memory.

    Example:
        >>> table = known_geometries(Graph(shape="cycle", n=8))
        >>> table.filter(pl.col("embedding") == "local")["neighbours"].round(3).item()
        0.5
    """
    a = spectral.adjacency(world.build(seed))
    hops = spectral.hop_distances(a)
    spectrum = spectral.eigenspaces(spectral.operator(a))
    near = hops == 1
    far = np.isfinite(hops) & (hops > 1)
    space = spectrum.space[spectrum.space >= 0]
    ordered = spectrum.vectors[:, spectrum.space >= 0]
    smooth = ordered[:, space <= space[1]]
    drawn = (
        Streams(seed).numpy(EVALUATION, "known geometry").normal(size=(len(a), len(a)))
    )
    made = {
        "local": incidence_storage(a),
        "full rank": shifted_storage(a),
        "global": smooth,
        "random": drawn,
    }
    mu = 1 + spectrum.values[spectrum.space >= 0] / 2
    rows = []
    for name, vectors in made.items():
        centred = vectors - vectors.mean(0)
        components = centred @ svd(centred, full_matrices=False)[2][:3].T
        distances = np.linalg.norm(components[:, None] - components, axis=-1)
        cosine = cosine_matrix(vectors)
        length = np.linalg.norm(ordered.T @ vectors, axis=1)
        first = space == 0
        magnitude = length / np.sqrt(np.square(length[first]).mean())
        rows.append(
            {
                "embedding": name,
                "width": vectors.shape[1],
                "neighbours": cosine[near].mean(),
                "others": np.abs(cosine[far]).max(),
                "heatmap": _order(cosine, hops),
                "picture": _order(-distances, hops),
                "probe": _order(cosine_matrix(smooth @ (smooth.T @ vectors)), hops),
                "beyond": (np.abs(mu / mu[0]) - magnitude)[~first].mean(),
            }
        )
    return pl.DataFrame(rows)


def _order(closeness: Floats, hops: Floats) -> float:
    """Return minus the rank correlation of closeness with hops."""
    return -float(spearman(closeness[None], hops)[0])
