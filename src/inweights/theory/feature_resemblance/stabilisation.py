"""Track eigenvalues and eigenvectors while Node2Vec is trained (Geometric Memory, F.2, F.3).

:func:`by_space` and :func:`propositions` convert a
:class:`~inweights.theory.geometric_memory.node2vec.Trajectory` into tables. Recipes use
these tables to test the propositions. :func:`outside` measures how strongly a matrix
mixes eigenspaces.

The matrices of a trajectory are expressed in the eigenspaces of the negative Laplacian
``P + Pᵀ − 2I``. They are ``C`` (Propositions 6 and 9), the softmax ``S`` (Proposition
7), the walk (Proposition 8) and the vectors ``V`` (Proposition 10). Only NumPy is used.
Shapes: ``K`` recorded steps, ``N`` nodes, ``D`` width, ``G`` eigenspaces.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from inweights.errors import DataError
from inweights.support.statistics.decompositions import eigh
from inweights.theory.geometric_memory.node2vec import (
    Trajectory,
    coefficients,
    probabilities,
)
from inweights.theory.geometric_memory.spectral import Spectrum, eigenspaces, operator
from inweights.worlds.arrays import Float, Floats


def by_space(run: Trajectory, a: Float[Floats, "N N"]) -> pl.DataFrame:
    """Track Node2Vec's vectors within each eigenspace of a graph (Geometric Memory, Fig. 8).

    Args:
        run: Result of :func:`~inweights.theory.geometric_memory.node2vec.descend` for
            one replica (``R = 1``) of a tied model.
        a: Adjacency, ``[N, N]`` (``N`` nodes).

    Returns:
        One row per recorded step and eigenspace of ``P + Pᵀ − 2I``, with the columns
        ``step``; ``space`` (-1 for the degenerate vectors, 0 for the Fiedler space);
        ``size`` (dimension of the space); ``coefficient`` (mean of ``v_iᵀ C v_i`` over
        the eigenvectors ``v_i`` of the space, which is an eigenvalue of ``C`` if
        Proposition 6 holds); ``energy`` (fraction of ``‖V‖²`` in the space); ``length``
        (root mean square length of the projections of ``V`` onto the eigenvectors).
        ``V`` are the vectors of the nodes, and an update adds ``η C V`` to them.

    Raises:
        DataError: The run has several replicas or is untied, or the graph has no edge.

    Example:
        >>> from inweights.theory.geometric_memory.node2vec import descend
        >>> ring = np.roll(np.eye(6), 1, 1) + np.roll(np.eye(6), -1, 1)
        >>> run = descend(np.random.default_rng(0).normal(size=(1, 6, 8)), ring, steps=10)
        >>> by_space(run, ring).select("space", "size").rows()
        [(-1, 1), (0, 2), (1, 2), (2, 1)]
    """
    spectrum = _spectrum(run, a)
    rows = []
    for step, v in zip(run.steps.tolist(), run.frames[:, 0], strict=True):
        q = spectrum.vectors
        values = np.einsum("ni,nm,mi->i", q, coefficients(v, a), q)
        power = np.square(q.T @ v).sum(1)
        for space in range(-1, spectrum.spaces):
            own = spectrum.space == space
            rows.append(
                {
                    "step": step,
                    "space": space,
                    "size": int(own.sum()),
                    "coefficient": values[own].mean(),
                    "energy": power[own].sum() / power.sum(),
                    "length": np.sqrt(power[own].mean()),
                }
            )
    return pl.DataFrame(rows)


def propositions(
    run: Trajectory, a: Float[Floats, "N N"], *, spaces: int = 1
) -> pl.DataFrame:
    """Track the quantities in Propositions 6 to 10 of Geometric Memory while Node2Vec is trained.

    Args:
        run: Result of :func:`~inweights.theory.geometric_memory.node2vec.descend` for
            one replica (``R = 1``) of a tied model.
        a: Adjacency, ``[N, N]`` (``N`` nodes).
        spaces: Number of top eigenspaces that are treated as Fiedler-like, from 1 to
            ``G - 1`` for ``G`` eigenspaces.

    Returns:
        One row per recorded step. ``V`` are the vectors, ``S`` is the row softmax of
        ``V Vᵀ``, ``P`` is the random walk of the graph, and ``C = (P − S) + (P − S)ᵀ``.
        The columns, each with the number of its proposition in brackets, are:

        - ``step`` and ``loss`` (mean over nodes, in nats).
        - ``outside_c``, ``outside_s``, ``outside_v``: the share, from 0 to 1, of ``C``,
          ``S + Sᵀ`` and ``V Vᵀ`` that mixes eigenspaces (:func:`outside`; Proposition
          6); ``outside_random``: the mean of this share over random bases.
        - ``s_low``, ``s_high``, ``s_trace``: smallest and largest eigenvalues of ``S``,
          and the sum of all eigenvalues divided by ``N`` (7).
        - ``walk_low``, ``walk_high``: smallest and largest eigenvalues of ``P + Pᵀ −
          2I`` (8).
        - ``c_top``, ``c_second``: largest eigenvalue of ``C``, and its largest
          eigenvalue apart from the degenerate ones (9).
        - ``null_size``: largest ``|λ|`` among the eigenvalues of ``C`` that should
          vanish; ``null_gap``: smallest ``|λ|`` of the others; ``null_angle``: sine of
          the largest angle between the corresponding eigenvectors and the degenerate
          eigenvectors of the graph.
        - ``top``: fraction of the energy of ``V`` in the top eigenspaces, without the
          degenerate vectors (10); ``degenerate``: fraction of the energy in the
          degenerate vectors.
        - ``change``: ``‖CV‖ / ‖V‖``, which is 0 at a fixed point; ``norm``: ``‖V‖``.

    Raises:
        DataError: The run has several replicas or is untied, the graph has no edge, or
            ``spaces`` is not between 1 and ``G - 1``.

    Example:
        >>> from inweights.theory.geometric_memory.node2vec import descend
        >>> ring = np.roll(np.eye(6), 1, 1) + np.roll(np.eye(6), -1, 1)
        >>> run = descend(np.random.default_rng(0).normal(size=(1, 6, 8)), ring, steps=10)
        >>> propositions(run, ring)["s_trace"].item() < 1
        True
    """
    spectrum = _spectrum(run, a)
    if not 1 <= spaces < spectrum.spaces:
        raise DataError(
            f"'spaces' must be from 1 to {spectrum.spaces - 1}, got {spaces}"
        )
    target = spectrum.vectors[:, spectrum.space < spaces]
    vanish = target.shape[1]
    walk = np.linalg.eigvalsh(operator(a))
    sizes = np.array([spectrum.null, *spectrum.sizes()])
    count = len(a)
    # Fraction of the energy of a random traceless symmetric matrix that lies outside
    # the spaces, on average.
    chance = 1 - ((sizes * (sizes + 1)).sum() - 2) / (count * (count + 1) - 2)
    rows = []
    for step, v, loss in zip(
        run.steps.tolist(), run.frames[:, 0], run.losses[:, 0], strict=True
    ):
        c = coefficients(v, a)
        s = probabilities(v)
        values, vectors = eigh(c)
        order = np.argsort(-values)
        near = np.sort(np.abs(values[order[:vanish]])), np.abs(values[order[vanish:]])
        cosine = np.linalg.svd(
            target.T @ vectors[:, order[:vanish]], compute_uv=False
        ).min()
        energy = spectrum.energy(v)
        power = np.square(spectrum.vectors.T @ v).sum(1)
        # S is similar to a positive semidefinite matrix, so that its eigenvalues are
        # real.
        own = np.linalg.eigvals(s).real
        rows.append(
            {
                "step": step,
                "loss": loss / count,
                "outside_c": outside(c, spectrum),
                "outside_s": outside(s + s.T, spectrum),
                "outside_v": outside(v @ v.T, spectrum),
                "outside_random": chance,
                "s_low": own.min(),
                "s_high": own.max(),
                "s_trace": np.trace(s) / count,
                "walk_low": walk[0],
                "walk_high": walk[-1],
                "c_top": values[order[0]],
                "c_second": values[order[spectrum.null]],
                "null_size": near[0][-1],
                "null_gap": near[1].min(),
                "null_angle": np.sqrt(1 - min(cosine, 1.0) ** 2),
                "top": energy[:spaces].sum(),
                "degenerate": power[spectrum.space < 0].sum() / power.sum(),
                "norm": np.linalg.norm(v),
                "change": np.linalg.norm(c @ v) / np.linalg.norm(v),
            }
        )
    return pl.DataFrame(rows)


def outside(symmetric: Float[Floats, "N N"], spectrum: Spectrum) -> float:
    """Return the fraction of a matrix that maps between different eigenspaces of a graph.

    The fraction is ``Σ_{i, j of different spaces} (v_iᵀ X v_j)² / ‖X − tr(X)/N‖²``. It
    is 0 if ``X`` maps every eigenspace of the Laplacian into itself, and 1 if
    ``X − tr(X)/N`` maps every vector of an eigenspace to a vector that is orthogonal to
    this eigenspace. ``tr(X)/N``, a multiple of the identity, is subtracted, since every
    vector is an eigenvector of it.

    Args:
        symmetric: ``X``, ``[N, N]`` (``N`` nodes).
        spectrum: Eigenspaces of the graph. All degenerate vectors together are treated
            as one space.

    Returns:
        A number from 0 to 1; NaN for a multiple of the identity.

    Example:
        >>> ring = np.roll(np.eye(6), 1, 1) + np.roll(np.eye(6), -1, 1)
        >>> outside(ring, eigenspaces(operator(ring))) < 1e-12
        True
    """
    count = len(symmetric)
    seen = spectrum.vectors.T @ symmetric @ spectrum.vectors
    seen = seen - np.eye(count) * np.trace(seen) / count
    apart = spectrum.space[:, None] != spectrum.space
    whole = np.square(seen).sum()
    # Up to rounding errors, this is a multiple of the identity, for which the share is
    # not defined.
    if whole <= 1e-24 * np.square(symmetric).sum():
        return float("nan")
    return float(np.square(seen[apart]).sum() / whole)


def _spectrum(run: Trajectory, a: Floats) -> Spectrum:
    """Return the eigenspaces of a graph; raise a DataError unless there is one tied model."""
    if run.targets is not None or run.frames.shape[1] != 1:
        raise DataError(
            f"expected a run of one tied model, got {run.frames.shape[1]} replica(s) of "
            + ("a tied model" if run.targets is None else "an untied model")
        )
    return eigenspaces(operator(a))
