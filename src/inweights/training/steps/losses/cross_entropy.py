"""Cross-entropy with explicit gradients, from logits or from the states below a large head.

:func:`cross_entropy` takes logits. :func:`log_normaliser` computes logits for a few
positions at a time, so that the logits of all positions are never in memory at once.
Shapes: ``R`` replicas, ``n`` labelled positions, ``D`` width, ``K`` candidates.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from inweights.worlds.arrays import Float, Int

#: Largest number of logits in memory at once, by the type of the device.
CHUNK_LOGITS = {"cpu": 2**25, "cuda": 2**28}


def cross_entropy(
    logits: Float[Tensor, "R n K"],
    labels: Int[Tensor, "R n"],
    weights: Float[Tensor, "*_ n"],
) -> Float[Tensor, " R"]:
    """Compute the weighted sum of cross-entropies of each replica, ``[R]``, in nats.

    Args:
        logits: Logits at ``n`` labelled positions over ``K`` candidates, ``[R, n, K]``.
        labels: Logit column of each label, ``[R, n]``.
        weights: Weight of each label, ``[n]`` or ``[R, n]``. If the weights sum to 1,
            the result is a mean.

    Example:
        >>> labels, weights = torch.tensor([[1, 0]]), torch.tensor([[0.5, 0.5]])
        >>> round(cross_entropy(torch.zeros(1, 2, 4), labels, weights).item(), 4)  # log 4
        1.3863
    """
    total: Tensor = _CrossEntropy.apply(in_single_precision(logits), labels, weights)  # type: ignore[no-untyped-call]
    return total


class _CrossEntropy(torch.autograd.Function):
    """Cross-entropy, with the gradient weight · (probabilities minus 1 at the label)."""

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
    """Compute ``Σ_n W_n logsumexp(state_n · readout)`` of each replica, ``[R]``, in nats.

    The logits ``state_n · readout`` are computed for a few positions at a time.

    Args:
        state: Hidden states of width ``D`` at ``n`` positions, ``[R, n, D]``.
        readout: Matrix of the head with ``K`` candidates, ``[R, D, K]``.
        weights: Sum ``W_n`` of the weights of the labels at each position, ``[R, n]``.
        bf16: Whether the inputs and results of matrix products are rounded to bfloat16;
            sums are computed in fp32.
    """
    total: Tensor = _LogNormaliser.apply(state, readout, weights, bf16)  # type: ignore[no-untyped-call]
    return total


class _LogNormaliser(torch.autograd.Function):
    """Weighted sum of logsumexp, with a gradient that the forward pass computes in chunks."""

    @staticmethod
    def forward(
        ctx: Any, state: Tensor, readout: Tensor, weights: Tensor, bf16: bool
    ) -> Tensor:
        replicas, count, width = state.shape
        classes = readout.shape[2]
        kind = torch.bfloat16 if bf16 else torch.float32
        # The head's gradient is read and written once per chunk. Therefore a chunk has
        # about ``width`` positions, so that it has as many logits as the gradient has
        # entries.
        most = CHUNK_LOGITS.get(state.device.type, CHUNK_LOGITS["cuda"])
        rows = max(1, min(most // (replicas * classes), count))
        if state.device.type == "cpu":
            rows = min(rows, max(128 if bf16 else 32, width))
        head = readout.to(kind)
        back = head.transpose(1, 2).contiguous() if bf16 else readout.transpose(1, 2)
        buffer = state.new_empty(replicas, rows, classes)
        # Frozen parameters need no gradient: a frozen head saves a third of the work.
        # The gradient is laid out as the head is stored, so that it need not be
        # transposed.
        by_state = None
        if ctx.needs_input_grad[0]:
            by_state = torch.empty_like(state)
        by_head = None
        if ctx.needs_input_grad[1]:
            by_head = state.new_zeros(replicas, classes, width)
        total = state.new_zeros(replicas)
        for start in range(0, count, rows):
            x = state[:, start : start + rows]
            w = weights[:, start : start + rows].unsqueeze(-1)
            chunk = buffer
            if x.shape[1] < rows:  # the last chunk
                chunk = buffer[:, : x.shape[1]].contiguous()
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


def in_single_precision(values: Tensor) -> Tensor:
    """Return a bfloat16 tensor in fp32, and a tensor of any other type unchanged.

    Args:
        values: Any tensor.
    """
    return values.float() if values.dtype == torch.bfloat16 else values
