"""Cross-entropy at labelled positions, without all their logits in memory at once.

:class:`Loss` computes the loss of each replica on a batch with the functions of
``cross_entropy.py``. With 10^5 classes, the logits of a batch would fill the memory,
and a step would spend most of its time on moving them. Therefore the forward pass
computes the logits of a few positions at a time, and converts them in place to
probabilities and to their part of the gradient. The stored results have the size of the
states and of the head. Several labels may share a position, like a soft target. The
loss is split as

    ``Σ_l w_l (lse(z_n) - z_n[y_l])  =  Σ_n W_n lse(z_n)  -  Σ_l w_l z_n[y_l]``,  ``W_n
    = Σ w_l``,

so that the first sum needs each position only once, and the second only the logits of
the labels (``lse`` is logsumexp). Shapes: ``R`` replicas, ``n`` labelled positions,
``m`` labels, ``D`` width, ``K`` candidates.
"""

from __future__ import annotations

from contextlib import nullcontext

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from inweights.models.base import Model
from inweights.training.batches.batch import Batch
from inweights.training.curriculum import Precision
from inweights.training.steps.losses.cross_entropy import (
    cross_entropy,
    in_single_precision,
    log_normaliser,
)
from inweights.training.steps.losses.rounding import RoundedProducts
from inweights.worlds.arrays import Float, Int

#: Maximum number of logits in a batch for plain cross-entropy, which needs three copies
#: of them.
MAX_LOGITS = 2**25


class Loss:
    """Weighted mean cross-entropy of each replica on a batch, ``[R]``, in nats.

    An instance is called with a :class:`~inweights.training.batches.batch.Batch`. With
    one label per position and few logits, the loss is computed with
    :func:`cross_entropy`. Otherwise, if the model's head is a matrix, it is computed
    with :func:`log_normaliser`; for any other head, it is computed with gradient
    checkpointing over groups of positions.

    Args:
        model: The model, with ``R`` replicas.
        precision: ``fp32``; ``bf16`` for products in bfloat16 with ``torch.autocast``;
            or ``bf16-emulated``, which computes products in fp32 from rounded factors
            and rounds their results, and keeps all logits in memory at once.
    """

    def __init__(self, model: Model, precision: Precision = "fp32") -> None:
        """Store the model whose loss is computed, and the precision of its products.

        The precision is ``fp32``, ``bf16`` (by ``torch.autocast``), or
        ``bf16-emulated`` (products in fp32 whose factors and results are rounded).
        """
        self._model = model
        self._bf16 = precision == "bf16"
        self._emulated = precision == "bf16-emulated"
        self._linear: bool | None = None

    def __call__(self, batch: Batch) -> Float[Tensor, " R"]:
        model = self._model
        if self._emulated:
            with RoundedProducts():
                logits = model(batch.inputs, at=batch.selected)
            labels, rows, weights = _spread(batch, model.replicas)
            return cross_entropy(_pick(logits, rows), labels, weights)
        with torch.autocast(batch.at.device.type, torch.bfloat16, enabled=self._bf16):
            count = len(batch.at) * len(model.candidates) * model.replicas
            if batch.rows is None and count <= MAX_LOGITS:
                return cross_entropy(
                    model(batch.inputs, at=batch.selected), batch.labels, batch.weights
                )
            state = model.deepest(batch.inputs, batch.selected)
            readout = model.head_matrix if self._head_is_matrix(state) else None
            if readout is None:
                return _by_checkpoints(model, state, batch)
        return _by_matrix(in_single_precision(state), readout, batch, self._bf16)

    def logits(
        self, batch: Batch
    ) -> tuple[Float[Tensor, "R m K"], Int[Tensor, "R m"], Float[Tensor, "R m"]]:
        """Compute the model's logits at the position of each label of a batch, in fp32.

        Args:
            batch: The batch, with ``m`` labels.

        Returns:
            The logits over ``K`` candidates, ``[R, m, K]`` (``R`` replicas), the labels
            (logit columns) ``[R, m]`` and their weights ``[R, m]``.
        """
        with (
            RoundedProducts() if self._emulated else nullcontext(),
            torch.autocast(batch.at.device.type, torch.bfloat16, enabled=self._bf16),
        ):
            logits = in_single_precision(self._model(batch.inputs, at=batch.selected))
        labels, rows, weights = _spread(batch, self._model.replicas)
        if batch.rows is not None:
            logits = _pick(logits, rows)
        return logits, labels, weights

    @torch.no_grad()
    def _head_is_matrix(self, state: Tensor) -> bool:
        """Return whether logits are a product with ``head_matrix``, tested at one position."""
        if self._linear is None:
            readout = self._model.head_matrix
            first = in_single_precision(state[:, :1])
            self._linear = readout is not None
            if readout is not None:
                with torch.autocast(state.device.type, enabled=False):
                    logits = self._model.unembed(first)
                    self._linear = torch.allclose(
                        logits, first @ readout, rtol=1e-3, atol=1e-4
                    )
        return self._linear


def _by_matrix(
    state: Float[Tensor, "R n D"],
    readout: Float[Tensor, "R D K"],
    batch: Batch,
    bf16: bool,
) -> Float[Tensor, " R"]:
    """Compute the loss from :func:`log_normaliser` and the logits of the labels."""
    labels, rows, weights = _spread(batch, state.shape[0])
    mass = torch.zeros(state.shape[:2], device=state.device)
    mass.scatter_add_(1, rows, weights)
    # The logits of the labels are rounded like those of the normaliser.
    left = _pick(state, rows)
    right = _pick(readout.transpose(1, 2), labels)
    if bf16:
        left = left.bfloat16().float()
        right = right.bfloat16().float()
    logits = (left * right).sum(-1)
    if bf16:
        logits = logits.bfloat16().float()
    return log_normaliser(state, readout, mass, bf16=bf16) - (logits * weights).sum(-1)


def _by_checkpoints(
    model: Model, state: Float[Tensor, "R n D"], batch: Batch
) -> Float[Tensor, " R"]:
    """Compute the loss for any head, with gradient checkpoints over groups of positions."""
    replicas, count = state.shape[:2]
    labels, rows, weights = _spread(batch, replicas)
    size = max(1, MAX_LOGITS // (replicas * len(model.candidates)))
    total = torch.zeros(replicas, device=state.device)

    def part(x: Tensor, start: int) -> Tensor:
        logits = in_single_precision(model.unembed(x))
        here = (rows >= start) & (rows < start + x.shape[1])
        inside = torch.where(here, rows - start, 0)
        z = logits[torch.arange(replicas, device=x.device).unsqueeze(1), inside, labels]
        lse = logits.logsumexp(-1).gather(1, inside)
        return ((lse - z) * torch.where(here, weights, 0.0)).sum(-1)

    for start in range(0, count, size):
        x = state[:, start : start + size]
        total = total + checkpoint(part, x, start, use_reentrant=False)
    return total


def _spread(
    batch: Batch, replicas: int
) -> tuple[Int[Tensor, "R m"], Int[Tensor, "R m"], Float[Tensor, "R m"]]:
    """Return labels, their indices among labelled positions, and weights, all ``[R, m]``."""
    labels = batch.labels
    rows = batch.rows
    if rows is None:
        rows = torch.arange(labels.shape[-1], device=labels.device)
    shape = (replicas, labels.shape[-1])
    return labels.expand(shape), rows.expand(shape), batch.weights.expand(shape)


def _pick(
    table: Float[Tensor, "R n D"], rows: Int[Tensor, "R m"]
) -> Float[Tensor, "R m D"]:
    """Return selected rows of each replica's table."""
    replicas, count, width = table.shape
    if replicas == 1:
        return table.index_select(1, rows[0])
    flat = rows + count * torch.arange(replicas, device=rows.device).unsqueeze(1)
    return F.embedding(flat, table.reshape(replicas * count, width))
