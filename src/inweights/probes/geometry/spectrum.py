"""How embeddings lie in their graph's spectrum, and what geometry alone would say (B.5, §4.4).

Energies are by whole eigenspace (:mod:`inweights.theory.geometric_memory.spectral`), so that no
choice of a basis within tied eigenvalues matters. Shapes: ``R`` replicas, ``N`` nodes, ``D`` width,
``K`` draws.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from inweights.errors import DataError
from inweights.models.base import Model
from inweights.models.tiny_nn import TinyNN
from inweights.probes.geometry.cosines import (
    adjacencies,
    node_vectors,
    prefix_of,
    random_blocks,
    random_vectors,
)
from inweights.theory.geometric_memory.spectral import Operator, Spectrum, eigenspaces, operator
from inweights.worlds.world import World

__all__ = ["edge_margin", "geometric_margin", "spectral_energy", "zigzag"]

Floats = NDArray[np.float64]

#: Negative eigenvalues of ``P + Pᵀ`` are those of ``P + Pᵀ − 2I`` below this: neighbours differ in
#: sign.
_NEGATIVE = -2.0


def spectral_energy(
    model: Model,
    worlds: World | Sequence[World],
    *,
    kind: Operator = "walk",
    layer: str = "tokens",
    draws: int = 200,
    seed: int = 0,
) -> pl.DataFrame:
    """Share of the embeddings' energy in every eigenspace of the graph (Fig. 7).

    Args:
        model: ``R`` replicas.
        worlds: Worlds of graphs: one, or one a replica.
        kind: Which negative Laplacian; see
            :func:`inweights.theory.geometric_memory.spectral.operator`.
        layer: See :func:`inweights.probes.geometry.cosines.node_vectors`.
        draws: Random embeddings of the same shape in the null distribution.
        seed: Root seed of the null distribution.

    Returns:
        A row for each replica and eigenspace: ``replica, space`` (0 is the Fiedler space),
        ``eigenvalue, size, energy`` (sums to 1), ``cumulative, degenerate`` (share of all energy
        that lay in the null vectors, which the others leave out), ``null_mean, null_low,
        null_high`` (2.5 and 97.5%).

    Raises:
        DataError: A world is no graph, or ``kind`` is unknown.

    Example:
        >>> from inweights.models import Node2VecConfig
        >>> from inweights.worlds import Graph
        >>> model = Node2VecConfig().build(vocabulary=15, seeds=[0])
        >>> spectral_energy(model, Graph(shape="cycle").build())["size"].to_list()
        [2, 2, 2, 2, 2, 2, 2]
    """
    rows: list[dict[str, object]] = []
    for replica, spectrum, vectors, chance in _spectra(model, worlds, kind, layer, draws, seed):
        energy = spectrum.energy(vectors)
        low, high = np.quantile(chance, [0.025, 0.975], axis=0)
        flat = np.square(spectrum.vectors[:, spectrum.space < 0].T @ vectors).sum()
        rows.extend(
            {
                "replica": replica,
                "space": g,
                "eigenvalue": spectrum.eigenvalues()[g],
                "size": int(spectrum.sizes()[g]),
                "energy": energy[g],
                "cumulative": energy[: g + 1].sum(),
                "degenerate": flat / max(np.square(vectors).sum(), np.finfo(float).tiny),
                "null_mean": chance[:, g].mean(),
                "null_low": low[g],
                "null_high": high[g],
            }
            for g in range(spectrum.spaces)
        )
    return pl.DataFrame(rows)


def zigzag(
    model: Model,
    worlds: World | Sequence[World],
    *,
    layer: str = "tokens",
    draws: int = 200,
    seed: int = 0,
) -> pl.DataFrame:
    """Energy at the negative end, where neighbours have opposite signs (§4.4, Fig. 9).

    Args:
        model: ``R`` replicas.
        worlds: Worlds of graphs: one, or one a replica.
        layer: See :func:`inweights.probes.geometry.cosines.node_vectors`.
        draws: Random embeddings of the same shape in the null distribution.
        seed: Root seed of the null distribution.

    Returns:
        A row for each replica: ``replica, zigzag`` (share of the energy in the spaces of negative
        eigenvalues of ``P + Pᵀ``), ``bottom`` (in the last space alone), ``null_mean, null_low,
        null_high`` of ``zigzag`` (2.5 and 97.5%) and ``bottom_null``, the mean of ``bottom``.

    Raises:
        DataError: A world is no graph.
    """
    rows: list[dict[str, object]] = []
    for replica, spectrum, vectors, chance in _spectra(model, worlds, "walk", layer, draws, seed):
        negative = spectrum.eigenvalues() < _NEGATIVE - 1e-9
        energy = spectrum.energy(vectors)
        drawn = chance[:, negative].sum(1)
        low, high = np.quantile(drawn, [0.025, 0.975])
        rows.append(
            {
                "replica": replica,
                "zigzag": energy[negative].sum(),
                "bottom": energy[-1],
                "null_mean": drawn.mean(),
                "null_low": low,
                "null_high": high,
                "bottom_null": chance[:, -1].mean(),
            }
        )
    return pl.DataFrame(rows)


def _spectra(
    model: Model,
    worlds: World | Sequence[World],
    kind: Operator,
    layer: str,
    draws: int,
    seed: int,
) -> list[tuple[int, Spectrum, Floats, Floats]]:
    """Return ``(replica, spectrum, vectors [N, D], energies by chance [K, G])`` of each replica."""
    graphs = adjacencies(model, worlds)
    vectors = node_vectors(model, len(graphs[0]), layer, prefix_of(worlds))
    spectra = {id(a): eigenspaces(operator(a, kind)) for a in {id(a): a for a in graphs}.values()}
    found: dict[int, list[Floats]] = {place: [] for place in spectra}
    for null in random_blocks(draws, vectors.shape[1:], seed):
        for place, spectrum in spectra.items():
            found[place].append(spectrum.energy(null))
    chances = {place: np.concatenate(parts) for place, parts in found.items()}
    return [(r, spectra[id(a)], vectors[r], chances[id(a)]) for r, a in enumerate(graphs)]


def geometric_margin(
    model: Model,
    worlds: World | Sequence[World],
    *,
    itself: bool = True,
    draws: int = 200,
    seed: int = 0,
) -> pl.DataFrame:
    """Margin on the edges if the middle layer only stretches the embeddings' axes (B.5 (4)).

    ``W`` is replaced by ``Σ_i (v_iᵀ W v_i) v_i v_iᵀ``, ``v_i`` the right singular vectors of the
    embeddings, which leaves no connection between different directions; the bias stays. A node's
    margin is its neighbours' logit less the largest of the other nodes': with the *largest*
    neighbour's (``max``; a weak test) or the *smallest* one's (``min``: every edge is right).

    The null distribution is associative storage: random embeddings of the same shape, with the
    least-squares ``W`` that gives logit 1 on edges and 0 elsewhere. :func:`edge_margin` is the
    margin as the paper's code takes it.

    Args:
        model: A :class:`~inweights.models.TinyNN` of ``R`` replicas.
        worlds: Worlds of graphs: one, or one a replica.
        itself: Whether a node without a loop counts among the others, as in the softmax. With a
            loop it is neither among them nor a neighbour of its own.
        draws: Draws in the null distribution.
        seed: Root seed of the null distribution.

    Returns:
        A row for each replica and ``over`` (``max`` or ``min``): ``replica, over, margin`` (mean
        over nodes), ``worst`` (its minimum), ``positive`` (share of nodes above 0), and
        ``null_positive`` and ``null_worst`` (the same two in the null distribution, on average;
        margins have the model's scale and do not compare), ``null_all`` (share of draws whose
        mean margin is above 0), ``p`` (share of ``1 + draws`` values of ``positive`` at least as
        large as the replica's).

    Raises:
        DataError: The model is no TinyNN, or a world is no graph.
    """
    graphs = adjacencies(model, worlds)
    w = _middle(model)
    vectors = node_vectors(model, len(graphs[0]))
    assert isinstance(model, TinyNN)
    assert model.middle.bias is not None
    bias = model.middle.bias.detach().cpu().double().numpy()[:, None]
    null = random_vectors(draws, vectors, seed)
    chance: dict[int, tuple[Floats, Floats]] = {}
    rows: list[dict[str, object]] = []
    for replica, a in enumerate(graphs):
        if id(a) not in chance:
            chance[id(a)] = _margins(_associative(null, a), a, itself=itself)
        one = slice(replica, replica + 1)
        margins = _margins(_geometric(vectors[one], w[one], bias[one]), a, itself=itself)
        for over, own, drawn in zip(("max", "min"), margins, chance[id(a)], strict=True):
            positive, share = (own[0] > 0).mean(), (drawn > 0).mean(1)
            rows.append(
                {
                    "replica": replica,
                    "over": over,
                    "margin": own[0].mean(),
                    "worst": own[0].min(),
                    "positive": positive,
                    "null_positive": share.mean(),
                    "null_worst": drawn.min(1).mean(),
                    "null_all": (drawn.mean(1) > 0).mean(),
                    "p": (1 + (share >= positive).sum()) / (1 + draws),
                }
            )
    return pl.DataFrame(rows)


def edge_margin(model: Model, worlds: World | Sequence[World]) -> pl.DataFrame:
    """The geometric margin as the paper's code takes it: no bias, and never the node itself.

    As :func:`geometric_margin`, with logits ``E W̃ᵀ Eᵀ``. The neighbours' rivals are the nodes that
    are neither neighbours nor the node itself (``nodes``), or these and the tokens that are no
    nodes (``vocabulary``), whose rows then also take part in the singular vectors.

    Args:
        model: A :class:`~inweights.models.TinyNN` of ``R`` replicas.
        worlds: Worlds of graphs: one, or one a replica.

    Returns:
        A row for each replica, ``rivals`` (``nodes`` or ``vocabulary``) and ``over`` (``max`` or
        ``min``): ``replica, rivals, over, margin`` (mean over nodes), ``worst`` (its minimum),
        ``positive`` (share of nodes above 0).

    Raises:
        DataError: The model is no TinyNN, or a world is no graph.

    Example:
        >>> from inweights.models import TinyNNConfig
        >>> from inweights.worlds import Graph
        >>> world = Graph(shape="cycle", idle_tokens=9).build()
        >>> model = TinyNNConfig().build(vocabulary=len(world.vocabulary), seeds=[0])
        >>> edge_margin(model, world)["rivals"].to_list()
        ['nodes', 'nodes', 'vocabulary', 'vocabulary']
    """
    graphs = adjacencies(model, worlds)
    w, nodes = _middle(model), len(graphs[0])
    rows = []
    for replica, a in enumerate(graphs):
        for rivals, count in (("nodes", nodes), ("vocabulary", model.vocabulary)):
            vectors = node_vectors(model, count)[replica : replica + 1]
            logits = _geometric(vectors, w[replica : replica + 1], np.zeros(1))
            padded = np.pad(a, (0, count - nodes))
            for over, own in zip(
                ("max", "min"), _margins(logits, padded, itself=False), strict=True
            ):
                row = {"margin": own.mean(), "worst": own.min(), "positive": (own > 0).mean()}
                rows.append({"replica": replica, "rivals": rivals, "over": over} | row)
    return pl.DataFrame(rows)


def _middle(model: Model) -> Floats:
    """``W`` of a TinyNN, ``[R, D, D]``."""
    if not isinstance(model, TinyNN):
        raise DataError("the geometric margin requires a TinyNN, whose middle layer it replaces")
    return model.middle.weight.detach().cpu().double().numpy().swapaxes(1, 2)


def _geometric(vectors: Floats, w: Floats, bias: Floats) -> Floats:
    """Logits ``(E W̃ᵀ + b) Eᵀ`` of the purely geometric model, ``[K, N, N]``."""
    right = np.linalg.svd(vectors, full_matrices=False)[2]  # [K, min(N, D), D], rows v_i
    scale = np.einsum("kid,kde,kie->ki", right, w, right, optimize=True)
    middle = (vectors @ np.swapaxes(right, 1, 2) * scale[:, None]) @ right + bias
    return middle @ np.swapaxes(vectors, 1, 2)


def _associative(vectors: Floats, a: Floats) -> Floats:
    """Logits of the geometric part of associative storage in random embeddings, ``[K, N, N]``.

    With ``E = U Σ Vᵀ`` the least-squares ``Wᵀ = E⁺ A E⁺ᵀ`` has ``v_iᵀ W v_i = u_iᵀ A u_i / σ_i²``,
    so that ``E W̃ᵀ Eᵀ = Σ_i (u_iᵀ A u_i) u_i u_iᵀ``; no ``[K, D, D]`` is ever made.
    """
    left = np.linalg.svd(vectors, full_matrices=False)[0]
    scale = np.einsum("kni,nm,kmi->ki", left, a, left, optimize=True)
    return (left * scale[:, None]) @ np.swapaxes(left, 1, 2)


def _margins(logits: Floats, a: Floats, *, itself: bool) -> tuple[Floats, Floats]:
    """Margins of every node that has neighbours and others, with max and with min, ``[K, n]``."""
    own = np.eye(len(a), dtype=bool)
    edge = (a > 0) & ~own
    others = ~(a > 0) if itself else ~edge & ~own
    nodes = edge.any(1) & others.any(1)
    if not nodes.any():
        raise DataError("the graph is complete, so that there is no margin")
    logits, edge, others = logits[:, nodes], edge[nodes], others[nodes]
    rest = np.where(others, logits, -np.inf).max(-1)
    best = np.where(edge, logits, -np.inf).max(-1)
    least = np.where(edge, logits, np.inf).min(-1)
    return best - rest, least - rest
