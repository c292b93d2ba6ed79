"""Energy of embeddings in the eigenspaces of their graph (Geometric Memory B.5, §4.4).

:func:`spectral_energy` covers all eigenspaces, and :func:`zigzag` covers only those
with negative eigenvalues. Energies are summed over whole eigenspaces
(:mod:`inweights.theory.geometric_memory.spectral`), so that they do not depend on the
choice of a basis for equal eigenvalues. Shapes: ``R`` replicas, ``N`` nodes, ``D``
width, ``K`` draws, ``G`` eigenspaces.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from inweights.models.base import Model
from inweights.probes.geometry.vectors import (
    Edges,
    adjacencies,
    null_limits,
    once_each,
    placed,
    random_blocks,
)
from inweights.probes.needs import holds
from inweights.seeds import EVALUATION, Streams
from inweights.theory.geometric_memory.bands import Bands
from inweights.theory.geometric_memory.spectral import (
    EXACT,
    Operator,
    eigenspaces,
    operator,
)
from inweights.worlds.arrays import Floats
from inweights.worlds.world import Worlds

#: Eigenvalues of ``P + Pᵀ − 2I`` below this are negative eigenvalues of ``P + Pᵀ``, in
#: whose eigenvectors neighbours differ in sign.
_NEGATIVE = -2.0


@holds(matrix=30, draws=24)
def spectral_energy(
    model: Model,
    worlds: Worlds,
    *,
    kind: Operator = "walk",
    layer: str = "tokens",
    draws: int = 200,
    seed: int = 0,
) -> pl.DataFrame:
    """Compute the share of an embedding's energy in every eigenspace (Geometric Memory, Fig. 7).

    The energy of embeddings in an eigenspace is the sum of squares of their projections
    onto it. For a graph with more than 2,000 nodes, the table has a row for each of 32
    bands of eigenvalues, whose energies are estimated without eigenvectors
    (:mod:`inweights.theory.geometric_memory.bands`).

    Args:
        model: Model with ``R`` replicas.
        worlds: One world of a graph, or one for each replica.
        kind: Kind of negative Laplacian whose eigenspaces are used: ``walk`` (``P + Pᵀ
            − 2I`` of the random walk ``P``), ``normalised`` or ``combinatorial``; see
            :func:`inweights.theory.geometric_memory.spectral.operator`.
        layer: Source of the vectors: ``tokens`` (token embeddings), or one of
            ``model.layer_names``; see
            :func:`inweights.probes.geometry.vectors.node_vectors`.
        draws: Number of random embeddings of the same shape in the null distribution,
            at least 1.
        seed: Root seed of the null distribution.

    Returns:
        One row per replica and eigenspace, with the columns ``replica``, ``space``
        (from 0, the Fiedler space, in descending order of eigenvalues), ``eigenvalue``,
        ``size`` (dimension of the eigenspace), ``energy`` (share of the energy; the
        shares sum to 1), ``cumulative`` (running sum of ``energy``), ``degenerate``
        (share of the total energy in the null vectors, which do not count as an
        eigenspace; the same for all rows of a replica), ``null_mean``, ``null_low`` and
        ``null_high`` (mean, 2.5% and 97.5% quantiles of ``energy`` for random
        embeddings). For bands, ``eigenvalue`` is the middle of the band and ``size`` is
        an estimate. A further column ``error`` is then a bound on the error of
        ``energy`` at either limit of the band.

    Raises:
        DataError: A world is not a graph, ``kind`` is unknown, ``draws`` is below 1,
            the model has no table of token embeddings, or the worlds do not fit the
            model.
        ConfigError: The layer is unknown, the model has no replica axis, ``seed`` is
            not between 0 and 2**63 - 1, or the probe would need more memory than is
            available (the message states both amounts).

    Example:
        >>> import inweights as iw
        >>> model = iw.models.Node2VecConfig().build(vocabulary=15, seeds=[0])
        >>> spectral_energy(model, iw.worlds.Graph(shape="cycle").build())["size"].to_list()
        [2, 2, 2, 2, 2, 2, 2]
    """
    rows: list[dict[str, object]] = []
    for replica, found in enumerate(_shares(model, worlds, kind, layer, draws, seed)):
        more = {} if found.error is None else {"error": found.error}
        rows.extend(
            {
                "replica": replica,
                "space": g,
                "eigenvalue": found.eigenvalues[g],
                "size": int(found.sizes[g]),
                "energy": found.energy[g],
                "cumulative": found.energy[: g + 1].sum(),
                "degenerate": found.degenerate,
                **null_limits(found.chance[:, g]),
            }
            | more
            for g in range(len(found.energy))
        )
    return pl.DataFrame(rows)


@holds(matrix=30, draws=24)
def zigzag(
    model: Model,
    worlds: Worlds,
    *,
    layer: str = "tokens",
    draws: int = 200,
    seed: int = 0,
) -> pl.DataFrame:
    """Compute the energy in eigenspaces where neighbours differ in sign (Geometric Memory, Fig. 9).

    Args:
        model: Model with ``R`` replicas.
        worlds: One world of a graph, or one for each replica.
        layer: Source of the vectors: ``tokens`` (token embeddings), or one of
            ``model.layer_names``; see
            :func:`inweights.probes.geometry.vectors.node_vectors`.
        draws: Number of random embeddings of the same shape in the null distribution,
            at least 1.
        seed: Root seed of the null distribution.

    Returns:
        One row per replica, with the columns ``replica``, ``zigzag`` (share of the
        energy in the eigenspaces of negative eigenvalues of ``P + Pᵀ``, where ``P`` is
        the random walk), ``bottom`` (share in the eigenspace of the smallest
        eigenvalue), ``null_mean``, ``null_low`` and ``null_high`` of ``zigzag`` (mean,
        2.5% and 97.5% quantiles for random embeddings) and ``bottom_null`` (mean of
        ``bottom`` for random embeddings). For graphs with more than 2,000 nodes,
        ``zigzag`` is estimated, a further column ``error`` is a bound on its error, and
        ``bottom`` and ``bottom_null`` are NaN.

    Raises:
        DataError: A world is not a graph, ``draws`` is below 1, the model has no table
            of token embeddings, or the worlds do not fit the model.
        ConfigError: The layer is unknown, the model has no replica axis, ``seed`` is
            not between 0 and 2**63 - 1, or the probe would need more memory than is
            available (the message states both amounts).
    """
    rows: list[dict[str, object]] = []
    # The margin for rounding errors keeps eigenvalues of 0 out of the negative ones.
    cut = _NEGATIVE - 1e-9
    for replica, found in enumerate(
        _shares(model, worlds, "walk", layer, draws, seed, cut)
    ):
        negative = found.eigenvalues < cut
        whole = found.error is None
        rows.append(
            {
                "replica": replica,
                "zigzag": found.energy[negative].sum(),
                "bottom": found.energy[-1] if whole else np.nan,
                **null_limits(found.chance[:, negative].sum(1)),
                "bottom_null": found.chance[:, -1].mean() if whole else np.nan,
            }
            | ({} if whole else {"error": found.error})
        )
    return pl.DataFrame(rows)


@dataclass(frozen=True, eq=False)
class _Shares:
    """Shares of the energy of one replica by eigenspace or, in a large graph, by band.

    Attributes:
        eigenvalues: Eigenvalue of each eigenspace, or the middle of each band.
        sizes: Dimension of each eigenspace or band.
        energy: Share of the energy in each eigenspace or band.
        degenerate: Share of all energy in the null vectors.
        chance: Energies of random embeddings, ``[K, G]``.
        error: Bound on the error of a band's energy; ``None`` if energies are exact.
    """

    eigenvalues: Floats
    sizes: NDArray[Any]
    energy: Floats
    degenerate: float
    chance: Floats
    error: float | None = None


def _shares(
    model: Model,
    worlds: Worlds,
    kind: Operator,
    layer: str,
    draws: int,
    seed: int,
    cut: float | None = None,
) -> list[_Shares]:
    """Return each replica's energies; for a large graph, by bands or on both sides of a cut."""
    graphs, vectors = placed(model, worlds, layer)
    if vectors.shape[1] > EXACT:
        return _banded(graphs, vectors, kind, draws, seed, cut)
    dense = adjacencies(model, worlds)
    # Eigenspaces are computed once per graph. The energies of each block of random
    # embeddings are computed for all graphs, so that the blocks are drawn only once.
    spectra = {i: eigenspaces(operator(a, kind)) for i, a in once_each(dense).items()}
    found: dict[int, list[Floats]] = {place: [] for place in spectra}
    for null in random_blocks(draws, vectors.shape[1:], seed):
        for place, spectrum in spectra.items():
            found[place].append(spectrum.energy(null))
    shares = []
    for a, own in zip(dense, vectors, strict=True):
        spectrum = spectra[id(a)]
        chance = np.concatenate(found[id(a)])
        flat = np.square(spectrum.vectors[:, spectrum.space < 0].T @ own).sum()
        degenerate = flat / max(np.square(own).sum(), np.finfo(float).tiny)
        values = spectrum.eigenvalues()
        sizes = spectrum.sizes()
        shares.append(_Shares(values, sizes, spectrum.energy(own), degenerate, chance))
    return shares


def _banded(
    graphs: Sequence[Edges],
    vectors: Floats,
    kind: Operator,
    draws: int,
    seed: int,
    cut: float | None,
) -> list[_Shares]:
    """Return the energies of each replica by bands of eigenvalues.

    No random embeddings are needed, since the energy of normal vectors in a band of
    ``k`` dimensions has a χ² distribution with ``k D`` degrees of freedom.
    """
    rng = Streams(seed).numpy(EVALUATION, "null")
    bands = {i: Bands.of(*graph, kind) for i, graph in once_each(graphs).items()}
    sizes = {place: one.sizes(seed, cut) for place, one in bands.items()}
    shares = []
    for graph, own in zip(graphs, vectors, strict=True):
        one = bands[id(graph)]
        size = sizes[id(graph)]
        # With a cut there are two bands, each of which is represented by an arbitrary
        # value on its side of the cut.
        middles = (one.edges[1:] + one.edges[:-1]) / 2
        values = middles if cut is None else np.array([cut + 1, cut - 1])
        chance = rng.chisquare(
            np.maximum(size * own.shape[1], 1e-9), size=(draws, len(size))
        )
        flat = np.square(one.degenerate(own)).sum()
        degenerate = flat / max(np.square(own).sum(), np.finfo(float).tiny)
        energy, error = one.energy(own, cut)
        # The draws are shares of the energy within the eigenspaces. As for the model,
        # the energy outside them is left out.
        chance = chance / chance.sum(1, keepdims=True)
        shares.append(_Shares(values, size.round(), energy, degenerate, chance, error))
    return shares
