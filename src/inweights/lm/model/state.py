"""Convert the state of a fine-tuning run to tensors and back: trained weights and AdamW's moments.

:func:`flat` and :func:`moments` return tensors for a checkpoint, and :func:`unflatten`
and :func:`restore` read them. :func:`inweights.lm.finetune` calls all four.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


def fingerprint(model: torch.nn.Module) -> list[list[float]]:
    """Return the first four numbers of each parameter, to recognise the state of a model.

    Args:
        model: The model.

    Returns:
        One list per parameter, in the order of ``model.parameters()``, with up to four
        numbers.

    Example:
        >>> fingerprint(torch.nn.LayerNorm(1))
        [[1.0], [0.0]]
    """
    return [p.detach().flatten()[:4].tolist() for p in model.parameters()]


def flat(tensors: Sequence[Tensor]) -> Tensor:
    """Concatenate tensors into one vector, without gradients.

    Args:
        tensors: Tensors of any shapes; there must be at least one.

    Returns:
        A new vector with the elements of all tensors, in the order of the tensors.

    Example:
        >>> flat([torch.ones(2, 1), torch.zeros(1)]).tolist()
        [1.0, 1.0, 0.0]
    """
    return torch.cat([tensor.detach().flatten() for tensor in tensors])


def unflatten(tensors: Sequence[Tensor], values: Tensor) -> None:
    """Copy one vector into tensors, in place: the inverse of :func:`flat`.

    Args:
        tensors: Tensors to write.
        values: Vector with the elements of all tensors, in the same order.

    Raises:
        RuntimeError: The length of ``values`` is not the total number of elements.

    Example:
        >>> table = torch.zeros(2, 1)
        >>> unflatten([table], torch.tensor([1.0, 2.0]))
        >>> table.tolist()
        [[1.0], [2.0]]
    """
    with torch.no_grad():
        parts = values.flatten().split([t.numel() for t in tensors])
        for tensor, part in zip(tensors, parts, strict=True):
            tensor.copy_(part.view_as(tensor))


def moments(optimizer: Any, trained: list[Tensor]) -> dict[str, Tensor]:
    """Return AdamW's state for the trained weights as tensors.

    Args:
        optimizer: AdamW, or accelerate's wrapper of it, after at least one update.
        trained: The trained weights, in a fixed order.

    Returns:
        Tensors, keyed by name: ``exp_avg`` and ``exp_avg_sq`` (means of gradients and
        of squared gradients), each as one vector over all weights, and ``step``, a
        tensor ``[1]`` with the number of updates.
    """
    inner = getattr(optimizer, "optimizer", optimizer)
    states = [inner.state[p] for p in trained]
    return {
        "exp_avg": flat([state["exp_avg"] for state in states]),
        "exp_avg_sq": flat([state["exp_avg_sq"] for state in states]),
        "step": states[0]["step"].clone().reshape(1),
    }


def restore(optimizer: Any, trained: list[Tensor], saved: dict[str, Tensor]) -> None:
    """Set AdamW's state to a state returned by :func:`moments`.

    Args:
        optimizer: A new AdamW for the same weights.
        trained: The trained weights, in the same order.
        saved: Result of :func:`moments`.

    Raises:
        RuntimeError: ``saved`` belongs to weights with different numbers of elements.
    """
    for parameter in trained:
        state = optimizer.state[parameter]
        state["step"] = saved["step"].clone().reshape(())
        for name in ("exp_avg", "exp_avg_sq"):
            state[name] = torch.zeros_like(parameter)
    for name in ("exp_avg", "exp_avg_sq"):
        unflatten([optimizer.state[p][name] for p in trained], saved[name])
