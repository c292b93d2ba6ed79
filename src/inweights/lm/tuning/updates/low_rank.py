"""Compute a frozen linear layer and its adapter as one operation.

Within a ``with`` block, :func:`joined_adapters` lets the adapters of ``peft`` use this
operation. The product of the adapter is added to the layer's result in place, so that
neither a sum of two matrices nor a scaled copy is stored. The results are the same up
to rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

__all__ = ["adapted_linear", "joined_adapters"]


class _AdaptedLinear(torch.autograd.Function):
    """Autograd function ``x Wᵀ + bias + scale · x Aᵀ Bᵀ`` of a matrix ``x``, with frozen ``W``."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        down: Tensor,
        up: Tensor,
        scale: float,
    ) -> Tensor:
        low = x @ down.t()
        result = F.linear(x, weight, bias)
        result.addmm_(low, up.t(), alpha=scale)
        ctx.save_for_backward(x, weight, down, up, low)
        ctx.scale = scale
        return result

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (gradient,) = gradients
        x, weight, down, up, low = ctx.saved_tensors
        of_low = torch.mm(gradient, up).mul_(ctx.scale)
        of_x = None
        if ctx.needs_input_grad[0]:
            of_x = torch.mm(gradient, weight)
            of_x.addmm_(of_low, down)
        of_down = torch.mm(of_low.t(), x)
        of_up = torch.mm(gradient.t(), low).mul_(ctx.scale)
        return of_x, None, None, of_down, of_up, None


def adapted_linear(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    down: Tensor,
    up: Tensor,
    scale: float,
) -> Tensor:
    """Return ``x Wᵀ + bias + scale · x Aᵀ Bᵀ``, with gradients only for ``x``, ``A`` and ``B``.

    Args:
        x: Inputs, ``[..., I]``.
        weight: Frozen weight ``W`` of the layer, ``[O, I]``.
        bias: Frozen bias of the layer, ``[O]``; ``None`` if the layer has no bias.
        down: Matrix ``A`` of the adapter, ``[rank, I]``.
        up: Matrix ``B`` of the adapter, ``[O, rank]``.
        scale: Number by which the adapter's output ``x Aᵀ Bᵀ`` is multiplied.

    Returns:
        Outputs, ``[..., O]``.

    Example:
        >>> one = torch.ones(1, 1)
        >>> adapted_linear(2 * one, one, None, 3 * one, 4 * one, 0.5).item()
        14.0
    """
    flat = x.reshape(-1, x.shape[-1])
    apply: Any = _AdaptedLinear.apply
    found: Tensor = apply(flat, weight, bias, down, up, scale)
    return found.unflatten(0, x.shape[:-1])


@contextmanager
def joined_adapters(model: nn.Module) -> Iterator[None]:
    """Make the adapters of a model use :func:`adapted_linear` within a block.

    Only plain adapters are changed: one active LoRA adapter without dropout or bias, on
    a frozen ``torch.nn.Linear`` of the same data type. Other adapters work as before.

    Args:
        model: A model with the adapters of ``peft``. A model without adapters is not
            changed.

    Yields:
        Nothing; within the block the adapters of ``model`` use the operation.
    """
    joined = [module for module in model.modules() if _is_plain(module)]
    for module in joined:
        module.forward = partial(_forward, module, {})
    try:
        yield
    finally:
        for module in joined:
            del module.forward


def _is_plain(module: Any) -> bool:
    """Return whether a module is a linear layer with exactly one LoRA adapter."""
    try:
        from peft.tuners.lora import Linear
    except ImportError:  # without peft, no module has adapters
        return False
    if not isinstance(module, Linear) or type(module.get_base_layer()) is not nn.Linear:
        return False
    names = module.active_adapters
    if len(names) != 1 or names[0] not in module.lora_A or module.lora_variant:
        return False
    down: Any = module.lora_A[names[0]]
    up: Any = module.lora_B[names[0]]
    is_dropped = not isinstance(module.lora_dropout[names[0]], nn.Identity)
    weight = module.get_base_layer().weight
    return not (
        is_dropped
        or up.bias is not None
        or weight.requires_grad
        or len({weight.dtype, down.weight.dtype, up.weight.dtype}) > 1
    )


def _forward(
    module: Any,
    frozen: dict[torch.dtype, tuple[Tensor, Tensor | None]],
    x: Tensor,
    *given: Any,
    **options: Any,
) -> Tensor:
    """Compute a layer with its adapter, instead of ``peft``'s ``Linear.forward``.

    ``frozen`` stores the frozen weight and bias in the data type of the products, so
    that autocast does not convert them in every update.
    """
    if given or options or module.merged or module.disable_adapters:
        found: Tensor = type(module).forward(module, x, *given, **options)
        return found
    layer = module.get_base_layer()
    dtype = layer.weight.dtype
    if torch.is_autocast_enabled(x.device.type):
        dtype = torch.get_autocast_dtype(x.device.type)
    if dtype not in frozen:
        bias = layer.bias
        frozen[dtype] = (
            layer.weight.to(dtype),
            bias if bias is None else bias.to(dtype),
        )
    (name,) = module.active_adapters
    return adapted_linear(
        x.to(dtype),
        *frozen[dtype],
        module.lora_A[name].weight.to(dtype),
        module.lora_B[name].weight.to(dtype),
        module.scaling[name],
    )
