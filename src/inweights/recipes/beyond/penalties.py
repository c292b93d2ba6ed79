"""Compute nuclear-norm penalties by Newton-Schulz iterations, and the ranks of a GPT's weights.

:func:`on_templates` penalises the templates of an Emb-MLP, whose sums are its logits.
:func:`on_attention` penalises the query and key matrices of a GPT, as Low-Rank Decay
does (arXiv:2606.04405), and :func:`on_matrices` penalises all matrices of a GPT.
:func:`attention_ranks` measures the effect of a penalty. The recipe
``penalty_or_identities`` uses these functions. In shapes, ``R`` is the number of
replicas, and matrices are ``m`` by ``n``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, cast

import polars as pl

import inweights as iw

if TYPE_CHECKING:  # recipes can be listed without torch
    from torch import Tensor

    from inweights.models import Model
    from inweights.models.layers.blocks import Block
    from inweights.worlds.world import Worlds

#: Number of Newton-Schulz iterations for a polar factor. Singular values of at least
#: about a hundredth of the largest one are then close to 1.
ITERATIONS = 12


def polar_factor(matrices: Tensor, iterations: int = ITERATIONS) -> Tensor:
    """Approximate the polar factor ``U Vᵀ`` of each matrix ``U S Vᵀ``: the nuclear norm's gradient.

    Args:
        matrices: One matrix per replica, a floating-point tensor ``[R, m, n]``.
        iterations: Number of Newton-Schulz iterations; by default 12. Singular values
            that are much smaller than the largest one need more iterations to approach
            1.

    Returns:
        The factors, a tensor ``[R, m, n]``. The factor of a zero matrix is zero.

    Example:
        >>> import torch
        >>> found = polar_factor(torch.tensor([[[2.0, 0.0], [0.0, 1.0]]]))
        >>> found.round(decimals=4).tolist()
        [[[1.0, 0.0], [0.0, 1.0]]]
    """
    import torch

    norms = torch.linalg.matrix_norm(matrices, keepdim=True)
    factor = matrices / norms.clamp_min(1e-12)
    for _ in range(iterations):
        factor = 1.5 * factor - 0.5 * factor @ factor.mT @ factor
    return factor


def nuclear_norms(matrices: Tensor) -> Tensor:
    """Compute the nuclear norm of each matrix, with the polar factor as its gradient.

    Args:
        matrices: One matrix per replica, a floating-point tensor ``[R, m, n]``.

    Returns:
        The norms, a differentiable tensor ``[R]``, with the accuracy of
        :func:`polar_factor`.
    """
    # If the polar factor U Vᵀ is held constant, tr(Wᵀ U Vᵀ) has the value and the
    # gradient of the nuclear norm.
    return (matrices * polar_factor(matrices.detach())).sum((-2, -1))


def on_templates(model: Model, _step: int, weight: float) -> Tensor:
    """Return a penalty on the nuclear norm of the templates of an Emb-MLP.

    Program (2) of Identity Bridge (§4.3) minimises this norm, subject to the constraint
    that all margins are at least 1.

    Args:
        model: An Emb-MLP with ``R`` replicas. Any other model raises an
            ``AssertionError``.
        _step: Number of updates so far; not used.
        weight: Factor of the norm.

    Returns:
        The penalty of each replica, a differentiable tensor ``[R]``.
    """
    assert isinstance(model, iw.models.EmbMLP)
    return weight * nuclear_norms(model.templates())


def on_attention(model: Model, _step: int, weight: float) -> Tensor:
    """Return a penalty on the nuclear norms of a GPT's query and key matrices (arXiv:2606.04405).

    Args:
        model: A GPT with ``R`` replicas and causal attention. Whether attention is
            causal is not checked. A model that is not a GPT raises an
            ``AssertionError``.
        _step: Number of updates so far; not used.
        weight: Factor of the sum of the norms over all blocks.

    Returns:
        The penalty of each replica, a differentiable tensor ``[R]``.
    """
    return _weighted_norms(_queries_and_keys(model), weight)


def on_matrices(model: Model, _step: int, weight: float) -> Tensor:
    """Return a penalty on the nuclear norms of all matrices of a GPT except position embeddings.

    Args:
        model: A GPT with ``R`` replicas, an untied head and causal attention. It is not
            checked that attention is causal. A model that is not a GPT, or a tied head,
            raises an ``AssertionError``.
        _step: Number of updates so far; not used.
        weight: Factor of the sum of the norms.

    Returns:
        The penalty of each replica, a differentiable tensor ``[R]``.
    """
    return _weighted_norms(_matrices(model), weight)


@iw.experiments.shows(
    value="rank",
    columns="rank norm",
    label="effective rank",
    null="Matrices at random have nearly full rank; what is compared is the untreated model.",
    caption="The lower the effective rank, the fewer directions the queries and keys use.",
    low=1.0,
)
def attention_ranks(model: Model, _worlds: Worlds) -> pl.DataFrame:
    """Compute the effective rank and the nuclear norm of a GPT's query and key matrices.

    The effective rank is the exponential of the entropy of the singular values, after
    these are divided by their sum (Roy and Vetterli, 2007).

    Args:
        model: A GPT with ``R`` replicas and causal attention. Whether attention is
            causal is not checked. A model that is not a GPT raises an
            ``AssertionError``.
        _worlds: Not used. All probes have this parameter.

    Returns:
        One row per replica, with the columns ``replica`` (index from 0), ``rank``
        (effective rank) and ``norm`` (nuclear norm). Both are means over the query and
        key matrices of all layers.

    Example:
        >>> from inweights import GPTConfig, TwoHop
        >>> gpt = GPTConfig(layers=1, width=16).build(vocabulary=9, seeds=[0])
        >>> 8 < attention_ranks(gpt, TwoHop(n=2).build())["rank"].item() < 16
        True
    """
    import torch

    with torch.no_grad():
        values = torch.stack(
            [
                torch.linalg.svdvals(matrix.double().cpu())
                for matrix in _queries_and_keys(model)
            ]
        )
    shares = values / values.sum(-1, keepdim=True).clamp_min(1e-300)
    ranks = torch.special.entr(shares).sum(-1).exp()
    return pl.DataFrame(
        {
            "replica": range(model.replicas),
            "rank": ranks.mean(0).tolist(),
            "norm": values.sum(-1).mean(0).tolist(),
        }
    )


def _weighted_norms(matrices: Iterable[Tensor], weight: float) -> Tensor:
    """Return the weighted sum of the nuclear norms of matrices, for each replica, ``[R]``."""
    import torch

    norms = [nuclear_norms(matrix) for matrix in matrices]
    return weight * torch.stack(norms).sum(0)


def _queries_and_keys(model: Model) -> Iterator[Tensor]:
    for block in _blocks(model):
        queries, keys, _ = block.qkv.weight.chunk(3, dim=-1)
        yield queries
        yield keys


def _matrices(model: Model) -> Iterator[Tensor]:
    assert isinstance(model, iw.models.GPT)
    assert model.head is not None
    yield model.tokens.weight
    yield model.head.weight
    for block in _blocks(model):
        assert block.out is not None
        yield from block.qkv.weight.chunk(3, dim=-1)
        yield from (block.out.weight, block.up.weight, block.down.weight)


def _blocks(model: Model) -> Iterable[Block]:
    assert isinstance(model, iw.models.GPT)
    return cast("Iterable[Block]", model.blocks)
