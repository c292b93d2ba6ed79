"""The tests of appendix B.5 on embeddings whose geometry is known (Geometric Memory, Remark 4).

Remark 4 says of each test when it takes a local geometry for a global one, or the other way
around. Here embeddings are made that are one or the other, and every test looks at them.
Shapes: ``N`` nodes, ``D`` width.
"""

from collections.abc import Sequence

import numpy as np
import polars as pl

from inweights.probes.geometry.cosines import cosine_matrix
from inweights.probes.geometry.hops import spearman
from inweights.seeds import EVALUATION, Streams
from inweights.theory.geometric_memory import spectral
from inweights.theory.geometric_memory.storage import incidence_storage, shifted_storage
from inweights.worlds.arrays import Floats
from inweights.worlds.families.graph import Graph


def skew(energy: pl.DataFrame, by: Sequence[str] = ("replica",)) -> pl.DataFrame:
    """Hold the energy of each eigenspace against its eigenvalue: B.5 (3), footnote 9.

    With ``μ = 1 + λ/2``, the walk's own eigenvalue, of every eigenvalue ``λ`` of ``P + Pᵀ − 2I``:
    embeddings that factorise the walk without any bias have energy ``|μ|`` in its direction.

    Args:
        energy: A table of :func:`~inweights.probes.spectral_energy`, of any runs.
        by: Columns that tell the runs apart.

    Returns:
        Its rows with ``spectrum`` (``|μ_i / μ_1|``), ``relative`` (energy a dimension over that of
        the first space), ``magnitude`` (its root: lengths of projections) and ``beyond``, how far
        the magnitude lies below the spectrum: above 0 where the embeddings are *more* skewed.

    Example:
        >>> import inweights as iw
        >>> model = iw.models.Node2VecConfig().build(vocabulary=15, seeds=[0])
        >>> table = skew(iw.probes.spectral_energy(model, Graph(shape="cycle").build()))
        >>> table["spectrum"].round(3).to_list()[:3], table["beyond"].mean() < 0
        ([1.0, 0.732, 0.338], True)
    """
    first = pl.col("space") == 0
    mu, each = 1 + pl.col("eigenvalue") / 2, pl.col("energy") / pl.col("size")
    relative = each / each.filter(first).first().over(by)
    return energy.with_columns(
        spectrum=(mu / mu.filter(first).first().over(by)).abs(),
        relative=relative,
        magnitude=relative.sqrt(),
    ).with_columns(beyond=pl.col("spectrum") - pl.col("magnitude"))


def known_geometries(world: Graph, *, seed: int = 0) -> pl.DataFrame:
    """What each test of B.5 says of embeddings that are local, global, both or neither.

    ``local`` are the rows of the incidence matrix: the hypercube path of Remark 4, for any graph;
    ``full rank`` a factorisation of ``A + cI``; ``global`` the eigenvectors of the top spaces, the
    first that hold two dimensions; ``random`` normal vectors of width ``N``. The two first are
    nearly one: the incidence matrix factorises ``A + D``.

    Args:
        world: Config of an undirected graph without loops.
        seed: Root seed of the labels and of the random vectors.

    Returns:
        A row for each: ``embedding, width``; ``neighbours`` and ``others`` (mean cosine one hop
        apart, and the largest ``|cosine|`` further off: what a heat-map shows); ``heatmap``
        and ``probe``, minus Spearman's ρ of cosine against hops, of the embeddings and of their
        part in the graph's top spaces; ``picture``, ρ of the distance in their first three
        principal components; ``beyond``, how far their energy is skewed beyond the spectrum
        (:func:`skew`), a mean over dimensions.

    Raises:
        DataError: The graph is directed, or has loops.

    Example:
        >>> table = known_geometries(Graph(shape="cycle", n=8))
        >>> table.filter(pl.col("embedding") == "local")["neighbours"].round(3).item()
        0.5
    """
    a = spectral.adjacency(world.build(seed))
    hops, spectrum = spectral.hop_distances(a), spectral.eigenspaces(spectral.operator(a))
    near, far = hops == 1, np.isfinite(hops) & (hops > 1)
    space = spectrum.space[spectrum.space >= 0]
    ordered = spectrum.vectors[:, spectrum.space >= 0]
    smooth = ordered[:, space <= space[1]]
    drawn = Streams(seed).numpy(EVALUATION, "known geometry").normal(size=(len(a), len(a)))
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
        main = centred @ np.linalg.svd(centred, full_matrices=False)[2][:3].T
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
                "picture": _order(-np.linalg.norm(main[:, None] - main, axis=-1), hops),
                "probe": _order(cosine_matrix(smooth @ (smooth.T @ vectors)), hops),
                "beyond": (np.abs(mu / mu[0]) - magnitude)[~first].mean(),
            }
        )
    return pl.DataFrame(rows)


def _order(close: Floats, hops: Floats) -> float:
    return -float(spearman(close[None], hops)[0])
