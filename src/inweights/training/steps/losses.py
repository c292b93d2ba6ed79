"""Cross-entropy at labelled positions, without ever holding all their logits.

With 10^5 classes the logits of a batch fill the memory, and most of a step goes into moving them.
Here they are made for a few positions at a time, turned into probabilities where they lie and into
their share of the gradient at once, in the forward pass; what is kept has the size of the states
and of the head. Several labels may share a position: a soft target. Its loss is split as

    ``Σ_l w_l (lse(z_n) - z_n[y_l])  =  Σ_n W_n lse(z_n)  -  Σ_l w_l z_n[y_l]``,  ``W_n = Σ w_l``,

so that the first sum sees each position once and the second only the labelled logits.
Shapes: ``R`` replicas, ``n`` labelled positions, ``m`` labels, ``D`` width, ``K`` candidates.
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

#: Above so many logits in a batch the plain way, which holds them all three times, is left.
MOST_LOGITS = 2**25
#: Logits held at once: few enough for a processor's cache, many enough for its matrix units.
CHUNK_LOGITS = {"cpu": 2**25, "cuda": 2**28}


class Loss:
    """The loss of the batches of one phase: every replica's weighted mean cross-entropy.

    One label a position and few logits take :func:`cross_entropy`. Else :func:`log_normaliser`
    does the work if the model's head is a matrix, and checkpoints over positions if it is not.

    Args:
        model: ``R`` replicas.
        precision: See :class:`~inweights.training.Phase`. Where bfloat16 is emulated the logits of
            all labels are held at once.
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
                said = model(batch.inputs, at=batch.at)
            labels, rows, weights = _spread(batch, model.replicas)
            return cross_entropy(_pick(said, rows), labels, weights)
        with torch.autocast(batch.at.device.type, torch.bfloat16, enabled=self._bf16):
            logits = len(batch.at) * len(model.candidates) * model.replicas
            if batch.rows is None and logits <= MOST_LOGITS:
                return cross_entropy(model(batch.inputs, at=batch.at), batch.labels, batch.weights)
            state = model.deepest(batch.inputs, batch.at)
            readout = model.head_matrix if self._head_is_matrix(state) else None
            if readout is None:
                return _by_checkpoints(model, state, batch)
        return _by_matrix(_full(state), readout, batch, self._bf16)

    def logits(
        self, batch: Batch
    ) -> tuple[Float[Tensor, "R m K"], Int[Tensor, "R m"], Float[Tensor, "R m"]]:
        """Return the logits at every label, in fp32, with the labels and their weights."""
        with (
            RoundedProducts() if self._emulated else nullcontext(),
            torch.autocast(batch.at.device.type, torch.bfloat16, enabled=self._bf16),
        ):
            said = _full(self._model(batch.inputs, at=batch.at))
        labels, rows, weights = _spread(batch, self._model.replicas)
        return said if batch.rows is None else _pick(said, rows), labels, weights

    @torch.no_grad()
    def _head_is_matrix(self, state: Tensor) -> bool:
        """Whether the logits are a product with ``readout``; looked at once, on one position."""
        if self._linear is None:
            readout, one = self._model.head_matrix, _full(state[:, :1])
            self._linear = readout is not None
            if readout is not None:
                with torch.autocast(state.device.type, enabled=False):
                    said = self._model.unembed(one)
                    self._linear = torch.allclose(said, one @ readout, rtol=1e-3, atol=1e-4)
        return self._linear


def cross_entropy(
    logits: Float[Tensor, "R n K"], labels: Int[Tensor, "R n"], weights: Float[Tensor, "*_ n"]
) -> Float[Tensor, " R"]:
    """Weighted mean cross-entropy of each replica, in nats."""
    total: Tensor = _CrossEntropy.apply(_full(logits), labels, weights)  # type: ignore[no-untyped-call]
    return total


class _CrossEntropy(torch.autograd.Function):
    """The gradient by the logits is the probabilities, less 1 at the label, times the weight."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, labels: Tensor, weights: Tensor) -> Tensor:
        below = logits - logits.amax(-1, keepdim=True)
        said = below.gather(-1, labels.unsqueeze(-1)).squeeze(-1)
        shares = below.exp_()
        total = shares.sum(-1, keepdim=True)
        ctx.save_for_backward(shares.div_(total), labels, weights)
        return ((total.squeeze(-1).log_() - said) * weights).sum(-1)

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
    """Return ``Σ_n W_n logsumexp(state_n · readout)`` of each replica; products may be bf16."""
    total: Tensor = _LogNormaliser.apply(state, readout, weights, bf16)  # type: ignore[no-untyped-call]
    return total


class _LogNormaliser(torch.autograd.Function):
    """The gradient is made in the forward pass, where each chunk of probabilities is at hand."""

    @staticmethod
    def forward(ctx: Any, state: Tensor, readout: Tensor, weights: Tensor, bf16: bool) -> Tensor:
        replicas, count, width = state.shape
        classes = readout.shape[2]
        kind = torch.bfloat16 if bf16 else torch.float32
        # The head's gradient passes through memory once a chunk: a chunk of about ``width``
        # positions has as many logits as the gradient has entries.
        most = CHUNK_LOGITS.get(state.device.type, CHUNK_LOGITS["cuda"])
        rows = max(1, min(max(128 if bf16 else 32, width), most // (replicas * classes), count))
        if state.device.type != "cpu":
            rows = max(1, min(most // (replicas * classes), count))
        head = readout.to(kind)
        back = head.transpose(1, 2).contiguous() if bf16 else readout.transpose(1, 2)
        buffer = state.new_empty(replicas, rows, classes)
        # What does not move needs no gradient: a frozen head saves a third of the work. It is
        # laid out as the head is stored, so that no gradient is transposed in memory.
        by_state = torch.empty_like(state) if ctx.needs_input_grad[0] else None
        by_head = state.new_zeros(replicas, classes, width) if ctx.needs_input_grad[1] else None
        total = state.new_zeros(replicas)
        for start in range(0, count, rows):
            x = state[:, start : start + rows]
            w = weights[:, start : start + rows].unsqueeze(-1)
            chunk = buffer if x.shape[1] == rows else buffer[:, : x.shape[1]].contiguous()
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
    state: Float[Tensor, "R n D"], readout: Float[Tensor, "R D K"], batch: Batch, bf16: bool
) -> Float[Tensor, " R"]:
    labels, rows, weights = _spread(batch, state.shape[0])
    mass = torch.zeros(state.shape[:2], device=state.device).scatter_add_(1, rows, weights)
    # Logits of the labels alone; rounded as those of the normaliser are.
    left, right = _pick(state, rows), _pick(readout.transpose(1, 2), labels)
    if bf16:
        left, right = left.bfloat16().float(), right.bfloat16().float()
    said = (left * right).sum(-1)
    if bf16:
        said = said.bfloat16().float()
    return log_normaliser(state, readout, mass, bf16=bf16) - (said * weights).sum(-1)


def _by_checkpoints(
    model: Model, state: Float[Tensor, "R n D"], batch: Batch
) -> Float[Tensor, " R"]:
    """Any head at all: logits of a chunk of positions, made again for the backward pass."""
    replicas, count = state.shape[:2]
    labels, rows, weights = _spread(batch, replicas)
    size = max(1, MOST_LOGITS // (replicas * len(model.candidates)))
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
    """Labels, their places among the labelled positions, and weights."""
    labels, rows = batch.labels, batch.rows
    if rows is None:
        rows = torch.arange(labels.shape[-1], device=labels.device)
    shape = (replicas, labels.shape[-1])
    return labels.expand(shape), rows.expand(shape), batch.weights.expand(shape)


def _full(values: Tensor) -> Tensor:
    """Bfloat16 as fp32; anything else as it is."""
    return values.float() if values.dtype == torch.bfloat16 else values


def _pick(table: Float[Tensor, "R n D"], rows: Int[Tensor, "R m"]) -> Float[Tensor, "R m D"]:
    """Rows of a table, each replica's own."""
    replicas, count, width = table.shape
    if replicas == 1:
        return table.index_select(1, rows[0])
    flat = rows + count * torch.arange(replicas, device=rows.device).unsqueeze(1)
    return F.embedding(flat, table.reshape(replicas * count, width))
