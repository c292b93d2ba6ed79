"""Cross-entropy at labelled positions, without all their logits in memory at once.

:class:`Loss` gives the loss of each replica on a batch. With 10^5 classes the logits of
a batch would fill the memory, and a step would mostly move them. So they are computed
for some positions at a time, turned into probabilities in place and into their part of
the gradient at once, in the forward pass; what is kept has the size of the states and
of the head. Several labels may share a position: a soft target. Its loss is split as

    ``Σ_l w_l (lse(z_n) - z_n[y_l])  =  Σ_n W_n lse(z_n)  -  Σ_l w_l z_n[y_l]``,  ``W_n = Σ w_l``,

so that the first sum sees each position once and the second only the labelled logits.
Shapes: ``R`` replicas, ``n`` labelled positions, ``m`` labels, ``D`` width, ``K``
candidates.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from inweights.models.base import Model
from inweights.training.batches.plans import Batch
from inweights.training.curriculum import Precision
from inweights.training.steps.rounding import RoundedProducts
from inweights.worlds.arrays import Float, Int

#: Largest number of logits in a batch for plain cross-entropy, which holds three copies
#: of them.
MAX_LOGITS = 2**25
#: Logits held at once: few enough for a processor's cache, enough for its matrix units.
CHUNK_LOGITS = {"cpu": 2**25, "cuda": 2**28}


class Loss:
    """Compute each replica's weighted mean cross-entropy on a batch, ``[R]``, in nats.

    One label a position and few logits take :func:`cross_entropy`. Else
    :func:`log_normaliser` is used if the model's head is a matrix, and gradient
    checkpoints over positions if not.

    Args:
        model: ``R`` replicas.
        precision: ``fp32``, ``bf16`` or ``bf16-emulated``, as in
            :class:`~inweights.training.Phase`; emulation holds the logits of all labels
            at once.
    """

    def __init__(self, model: Model, precision: Precision = "fp32") -> None:
        self._model = model
        self._bf16 = precision == "bf16"
        self._emulated = precision == "bf16-emulated"
        self._linear: bool | None = None

    def __call__(self, batch: Batch) -> Float[Tensor, " R"]:
        model = self._model
        if self._emulated:
            with RoundedProducts():
                logits = model(batch.inputs, at=batch.at)
            labels, rows, weights = _spread(batch, model.replicas)
            return cross_entropy(_pick(logits, rows), labels, weights)
        with torch.autocast(batch.at.device.type, torch.bfloat16, enabled=self._bf16):
            count = len(batch.at) * len(model.candidates) * model.replicas
            if batch.rows is None and count <= MAX_LOGITS:
                return cross_entropy(
                    model(batch.inputs, at=batch.at), batch.labels, batch.weights
                )
            state = model.deepest(batch.inputs, batch.at)
            readout = model.head_matrix if self._head_is_matrix(state) else None
            if readout is None:
                return _by_checkpoints(model, state, batch)
        return _by_matrix(_full(state), readout, batch, self._bf16)

    def logits(
        self, batch: Batch
    ) -> tuple[Float[Tensor, "R m K"], Int[Tensor, "R m"], Float[Tensor, "R m"]]:
        """Compute the logits at every label, in fp32; return them, the labels and weights."""
        with (
            RoundedProducts() if self._emulated else nullcontext(),
            torch.autocast(batch.at.device.type, torch.bfloat16, enabled=self._bf16),
        ):
            logits = _full(self._model(batch.inputs, at=batch.at))
        labels, rows, weights = _spread(batch, self._model.replicas)
        if batch.rows is not None:
            logits = _pick(logits, rows)
        return logits, labels, weights

    @torch.no_grad()
    def _head_is_matrix(self, state: Tensor) -> bool:
        """Whether logits equal a product with ``head_matrix``; tried once, on one position."""
        if self._linear is None:
            readout = self._model.head_matrix
            first = _full(state[:, :1])
            self._linear = readout is not None
            if readout is not None:
                with torch.autocast(state.device.type, enabled=False):
                    logits = self._model.unembed(first)
                    self._linear = torch.allclose(
                        logits, first @ readout, rtol=1e-3, atol=1e-4
                    )
        return self._linear


def cross_entropy(
    logits: Float[Tensor, "R n K"],
    labels: Int[Tensor, "R n"],
    weights: Float[Tensor, "*_ n"],
) -> Float[Tensor, " R"]:
    """Compute the weighted cross-entropy of each replica, in nats.

    Args:
        logits: At ``n`` labelled positions, over ``K`` candidates.
        labels: Logit column of each label.
        weights: Weight of each label; with a sum of 1 the result is a mean.

    Example:
        >>> labels, weights = torch.tensor([[1, 0]]), torch.tensor([[0.5, 0.5]])
        >>> round(cross_entropy(torch.zeros(1, 2, 4), labels, weights).item(), 4)  # log 4
        1.3863
    """
    total: Tensor = _CrossEntropy.apply(_full(logits), labels, weights)  # type: ignore[no-untyped-call]
    return total


class _CrossEntropy(torch.autograd.Function):
    """The gradient by the logits is the probabilities, minus 1 at the label, times the weight."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, labels: Tensor, weights: Tensor) -> Tensor:
        below = logits - logits.amax(-1, keepdim=True)
        of_label = below.gather(-1, labels.unsqueeze(-1)).squeeze(-1)
        shares = below.exp_()
        total = shares.sum(-1, keepdim=True)
        ctx.save_for_backward(shares.div_(total), labels, weights)
        return ((total.squeeze(-1).log_() - of_label) * weights).sum(-1)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        shares, labels, weights = ctx.saved_tensors
        scale = (grads[0].unsqueeze(-1) * weights).unsqueeze(-1)  # [R, n, 1]
        by_logits = (shares * scale).scatter_add_(-1, labels.unsqueeze(-1), -scale)
        return by_logits, None, None


def log_normaliser(
    state: Float[Tensor, "R n D"],
    readout: Float[Tensor, "R D K"],
    weights: Float[Tensor, "R n"],
    *,
    bf16: bool,
) -> Float[Tensor, " R"]:
    """Compute ``Σ_n W_n logsumexp(state_n · readout)`` of each replica.

    Args:
        state: The states at ``n`` positions.
        readout: The head.
        weights: ``W_n``, the sum of the weights of the labels at each position.
        bf16: Whether factors and results of products are rounded to bfloat16.
    """
    total: Tensor = _LogNormaliser.apply(state, readout, weights, bf16)  # type: ignore[no-untyped-call]
    return total


class _LogNormaliser(torch.autograd.Function):
    """The gradient is computed in the forward pass, from each chunk of probabilities."""

    @staticmethod
    def forward(
        ctx: Any, state: Tensor, readout: Tensor, weights: Tensor, bf16: bool
    ) -> Tensor:
        replicas, count, width = state.shape
        classes = readout.shape[2]
        kind = torch.bfloat16 if bf16 else torch.float32
        # The head's gradient is read and written once a chunk. So a chunk has about
        # ``width`` positions: as many logits as the gradient has entries.
        most = CHUNK_LOGITS.get(state.device.type, CHUNK_LOGITS["cuda"])
        rows = max(
            1, min(max(128 if bf16 else 32, width), most // (replicas * classes), count)
        )
        if state.device.type != "cpu":
            rows = max(1, min(most // (replicas * classes), count))
        head = readout.to(kind)
        back = head.transpose(1, 2).contiguous() if bf16 else readout.transpose(1, 2)
        buffer = state.new_empty(replicas, rows, classes)
        # Frozen parameters need no gradient: a frozen head saves a third of the work.
        # The gradient is laid out as the head is stored, so that it need not be
        # transposed.
        by_state = torch.empty_like(state) if ctx.needs_input_grad[0] else None
        by_head = (
            state.new_zeros(replicas, classes, width)
            if ctx.needs_input_grad[1]
            else None
        )
        total = state.new_zeros(replicas)
        for start in range(0, count, rows):
            x = state[:, start : start + rows]
            w = weights[:, start : start + rows].unsqueeze(-1)
            chunk = (
                buffer if x.shape[1] == rows else buffer[:, : x.shape[1]].contiguous()
            )
            if bf16:
                chunk.copy_(torch.bmm(x.to(kind), head))
            else:
                torch.bmm(x, head, out=chunk)
            largest = chunk.amax(-1)
            torch.softmax(chunk, -1, out=chunk)
            # The largest probability is 1 / Σ exp(z - max z).
            total += ((largest - chunk.amax(-1).log()) * w.squeeze(-1)).sum(-1)
            share = chunk.to(kind)
            if by_state is not None:
                by_state[:, start : start + rows] = torch.bmm(share, back) * w
            if by_head is not None and bf16:
                by_head += torch.bmm(share.transpose(1, 2), (x * w).to(kind))
            elif by_head is not None:
                by_head.baddbmm_(share.transpose(1, 2), x * w)
        ctx.save_for_backward(by_state, by_head)
        return total

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        by_state, by_head = ctx.saved_tensors
        scale = grads[0].view(-1, 1, 1)
        to_state = None if by_state is None else by_state * scale
        to_head = None if by_head is None else (by_head * scale).transpose(1, 2)
        return to_state, to_head, None, None


def _by_matrix(
    state: Float[Tensor, "R n D"],
    readout: Float[Tensor, "R D K"],
    batch: Batch,
    bf16: bool,
) -> Float[Tensor, " R"]:
    """Return the loss by :func:`log_normaliser` and the logits of the labels alone."""
    labels, rows, weights = _spread(batch, state.shape[0])
    mass = torch.zeros(state.shape[:2], device=state.device).scatter_add_(
        1, rows, weights
    )
    # The labels' logits are rounded as those of the normaliser are.
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
    """Return the loss for any head: logits of a chunk of positions are recomputed for backward."""
    replicas, count = state.shape[:2]
    labels, rows, weights = _spread(batch, replicas)
    size = max(1, MAX_LOGITS // (replicas * len(model.candidates)))
    total = torch.zeros(replicas, device=state.device)

    def part(x: Tensor, start: int) -> Tensor:
        logits = _full(model.unembed(x))
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
    """Return labels, their indices among the labelled positions, and weights, each ``[R, m]``."""
    labels, rows = batch.labels, batch.rows
    if rows is None:
        rows = torch.arange(labels.shape[-1], device=labels.device)
    shape = (replicas, labels.shape[-1])
    return labels.expand(shape), rows.expand(shape), batch.weights.expand(shape)


def _full(values: Tensor) -> Tensor:
    """Return bfloat16 as fp32, and other types unchanged."""
    return values.float() if values.dtype == torch.bfloat16 else values


def _pick(
    table: Float[Tensor, "R n D"], rows: Int[Tensor, "R m"]
) -> Float[Tensor, "R m D"]:
    """Return rows of each replica's table."""
    replicas, count, width = table.shape
    if replicas == 1:
        return table.index_select(1, rows[0])
    flat = rows + count * torch.arange(replicas, device=rows.device).unsqueeze(1)
    return F.embedding(flat, table.reshape(replicas * count, width))
