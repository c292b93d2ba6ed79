"""What a checkpoint of fine-tuning holds: trained weights and the moments of AdamW, as tensors."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


def fingerprint(model: torch.nn.Module) -> list[list[float]]:
    """A few numbers of each weight that identify a checkpoint."""
    return [p.detach().flatten()[:4].tolist() for p in model.parameters()]


def flat(tensors: Sequence[Tensor]) -> Tensor:
    """All tensors as one vector.

    Example:
        >>> flat([torch.ones(2, 1), torch.zeros(1)]).tolist()
        [1.0, 1.0, 0.0]
    """
    return torch.cat([tensor.detach().flatten() for tensor in tensors])


def unflatten(tensors: Sequence[Tensor], values: Tensor) -> None:
    """Copy one vector into tensors."""
    with torch.no_grad():
        parts = values.flatten().split([t.numel() for t in tensors])
        for tensor, part in zip(tensors, parts, strict=True):
            tensor.copy_(part.view_as(tensor))


def moments(optimizer: Any, trained: list[Tensor]) -> dict[str, Tensor]:
    """What AdamW keeps of the trained weights, one vector each."""
    inner = getattr(optimizer, "optimizer", optimizer)
    states = [inner.state[p] for p in trained]
    return {
        "exp_avg": flat([state["exp_avg"] for state in states]),
        "exp_avg_sq": flat([state["exp_avg_sq"] for state in states]),
        "step": states[0]["step"].clone().reshape(1),
    }


def restore(optimizer: Any, trained: list[Tensor], saved: dict[str, Tensor]) -> None:
    """Give AdamW back what :func:`moments` took."""
    for parameter in trained:
        state = optimizer.state[parameter]
        state["step"] = saved["step"].clone().reshape(())
        for name in ("exp_avg", "exp_avg_sq"):
            state[name] = torch.zeros_like(parameter)
    for name in ("exp_avg", "exp_avg_sq"):
        unflatten([optimizer.state[p][name] for p in trained], saved[name])
