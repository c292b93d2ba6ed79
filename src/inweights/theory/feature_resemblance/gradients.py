"""Compute gradients of the one-layer transformer in closed form (Feature Resemblance, App. D).

:func:`gradients` returns loss and :class:`Gradients`; :mod:`~.stage_one` uses them for
gradient descent. Shapes: ``R`` replicas, ``N`` facts, ``T`` positions, ``I`` width of
embeddings, ``D`` width, ``K`` labels, ``M`` width of the MLP.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from inweights.errors import DataError
from inweights.worlds.arrays import Float, Int, Reals
from inweights.worlds.world import Ids


@dataclass(frozen=True, eq=False)
class Gradients:
    """Loss and gradients of each replica.

    Attributes:
        losses: Weighted mean cross-entropy, in nats, ``[R]`` (``R`` replicas).
        key_query: Gradient with respect to ``W_KQ``, ``[R, I, I]`` (``I`` the width of
            embeddings).
        value: Gradient with respect to ``W_V``, ``[R, D, I]`` (width ``D``).
        mlp: Gradient with respect to ``w``, ``[R, K, M, D]`` (``K`` labels, ``M`` units
            per label).
        scores: Attention ``softmax(Xᵀ W_KQ x)`` of every fact, ``[R, N, T]`` (``N``
            facts, ``T`` positions).
    """

    losses: Float[Reals, " R"]
    key_query: Float[Reals, "R I I"]
    value: Float[Reals, "R D I"]
    mlp: Float[Reals, "R K M D"]
    scores: Float[Reals, "R N T"]


def gradients(
    matrices: tuple[
        Float[Reals, "R I I"], Float[Reals, "R D I"], Float[Reals, "R K M D"]
    ],
    inputs: Float[Reals, "*_ N T I"],
    labels: Int[Ids, " N"],
    *,
    kappa: float,
    weights: Float[Reals, " N"] | None = None,
    relu: bool = False,
) -> Gradients:
    """Return the closed-form gradients of the one-layer transformer (Feature Resemblance, Lemma 1).

    The lemma is in appendix D. For a prompt with the embeddings ``X`` of its tokens
    (``x`` the last one) and the answer ``y``, let ``s = softmax(Xᵀ W_KQ x)``, ``h = W_V
    X s`` and ``g = 1_y − softmax(F)`` for the logits ``F_k = κ0/m Σ_r ⟨w_{k,r}, h⟩`` of
    the labels ``k``::

        −∂/∂w_{k,r}  = κ0/m · g_k h
        −∂/∂W_V      = κ0/m · Σ_{k,r} g_k w_{k,r} (X s)ᵀ
        −∂/∂W_KQ     = κ0/m · Σ_{k,r} g_k X (diag(s) − s sᵀ) Xᵀ W_Vᵀ w_{k,r} xᵀ

    summed over the facts with their weights. The right-hand sides are missing in our
    copy of the paper. Here they are derived, and tested against autograd.

    Args:
        matrices: ``W_KQ`` ``[R, I, I]`` (``R`` replicas), for embeddings of width ``I``
            (in the paper ``D``), ``W_V`` ``[R, D, I]`` as the paper writes it (a
            :class:`~inweights.models.OneLayer` stores its transpose), and ``w`` ``[R,
            K, M, D]`` (``M`` units per label).
        inputs: Embeddings of the prompts (rows are tokens), ``[N, T, I]`` (``N`` facts,
            ``T`` positions) if all replicas share them, otherwise ``[R, N, T, I]``.
        labels: Index of each answer among the ``K`` labels, ``[N]``.
        kappa: Scale ``κ0`` of the logits.
        weights: Weight of each fact, ``[N]``; if ``None``, each fact has the weight
            ``1/N``.
        relu: Whether the MLP has ReLU (appendix A), so that inactive ``w_{k,r}`` do not
            contribute. By default, it is linear.

    Returns:
        A :class:`Gradients` with losses ``[R]``, the gradients of the loss (not of its
        negative) with respect to the three matrices, in their shapes, and attention
        scores ``[R, N, T]``.

    Raises:
        DataError: The shapes of the arrays do not fit together as described, or a label
            is not between 0 and ``K - 1``.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> w_kq, w_v = rng.normal(size=(2, 1, 6, 6))
        >>> w, x = rng.normal(size=(1, 3, 2, 6)), np.eye(6)[[[0, 4], [1, 4], [2, 5]]]
        >>> found = gradients((w_kq, w_v, w), x, np.array([0, 1, 2]), kappa=1.0)
        >>> found.mlp.shape, found.losses.shape
        ((1, 3, 2, 6), (1,))
    """
    key_query, value, mlp = matrices
    replicas, k, m, width = mlp.shape if mlp.ndim == 4 else (-1, 0, 0, 0)
    inner = inputs.shape[-1] if inputs.ndim else 0
    leads = {3: True, 4: inputs.shape[:1] == (replicas,)}.get(inputs.ndim, False)
    fits = key_query.shape == (replicas, inner, inner) and value.shape == (
        replicas,
        width,
        inner,
    )
    if not (leads and fits):
        raise DataError(
            "expected W_KQ [R, I, I], W_V [R, D, I], w [R, K, M, D] and inputs [N, T, I] or "
            f"[R, N, T, I], got {key_query.shape}, {value.shape}, {mlp.shape}, {inputs.shape}"
        )
    x = np.broadcast_to(inputs, (replicas, *inputs.shape[-3:]))
    count = x.shape[1]
    omega = np.full(count, 1 / count) if weights is None else weights
    known = bool(((labels >= 0) & (labels < k)).all())
    if labels.shape != (count,) or omega.shape != (count,) or not known:
        raise DataError(
            f"expected a label from 0 to {k - 1} and a weight for each of {count} prompts, got "
            f"shapes {labels.shape} and {omega.shape}"
        )
    last = x[:, :, -1]  # [R, N, D]
    scores = softmax(np.einsum("rntd,rde,rne->rnt", x, key_query, last, optimize=True))
    mixed = (scores[:, :, None] @ x)[:, :, 0]  # X s
    h = mixed @ np.swapaxes(value, 1, 2)
    units = np.einsum("rkmd,rnd->rnkm", mlp, h, optimize=True)
    active = (units > 0).astype(units.dtype) if relu else np.ones_like(units)
    probabilities = softmax(kappa / m * (units * active).sum(-1))  # [R, N, K]
    right = probabilities[:, np.arange(count), labels]
    # g_k, times the weight of the fact, the scale and, under ReLU, whether the unit is
    # active.
    g = -probabilities
    g[:, np.arange(count), labels] += 1
    g = (kappa / m) * omega[:, None, None] * g[..., None] * active  # [R, N, K, M]
    back = np.einsum("rnkm,rkmd->rnd", g, mlp, optimize=True)  # −∂/∂h
    # Xᵀ W_Vᵀ Σ g w.
    pulled = np.einsum("rntd,red,rne->rnt", x, value, back, optimize=True)
    # (diag(s) − s sᵀ) ….
    inward = scores * (pulled - (scores * pulled).sum(-1, keepdims=True))
    return Gradients(
        losses=-(omega * np.log(right)).sum(-1),
        key_query=-np.einsum("rntd,rnt,rne->rde", x, inward, last, optimize=True),
        value=-np.swapaxes(back, 1, 2) @ mixed,
        mlp=-np.einsum("rnkm,rnd->rkmd", g, h, optimize=True),
        scores=scores,
    )


def softmax(logits: Float[Reals, "*n K"]) -> Float[Reals, "*n K"]:
    """Return the softmax of logits along the last axis.

    Args:
        logits: Logits, ``[..., K]``.

    Returns:
        Probabilities with the same shape, which sum to 1 along the last axis.

    Example:
        >>> softmax(np.zeros((1, 4))).tolist()
        [[0.25, 0.25, 0.25, 0.25]]
    """
    weights: Reals = np.exp(logits - logits.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)
