"""Emulate matrix products in bfloat16 with products in fp32.

On a CPU, kernels for bfloat16 sum in a different order for several replicas than for
one, so that the results of a replica would depend on whether it is trained alone. The
emulation is slower, but its results are bitwise identical for any number of replicas.
Within :class:`RoundedProducts`, each product of the forward and backward pass rounds
its factors to bfloat16, sums in fp32, and rounds its result. This is the precision
``bf16-emulated`` of a :class:`~inweights.training.Phase`.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode


class RoundedProducts(TorchFunctionMode):
    """Context manager in which ``torch.bmm`` and ``torch.baddbmm`` round to bfloat16.

    Their inputs and results are rounded to numbers that bfloat16 can represent, but the
    tensors stay float32. The library's linear layers use these two functions. Products
    inside attention are not rounded.
    """

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if func is torch.bmm:
            return _Product.apply(*args, None)  # type: ignore[no-untyped-call]
        if func is torch.baddbmm:
            return _Product.apply(args[1], args[2], args[0])  # type: ignore[no-untyped-call]
        return func(*args, **(kwargs or {}))


class _Product(torch.autograd.Function):
    """Rounded ``a b + c``, for ``a [R, n, D]``, ``b [R, D, F]`` and ``c [R, 1, F]``."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, c: Tensor | None) -> Tensor:
        a = _rounded(a)
        b = _rounded(b)
        ctx.save_for_backward(a, b)
        if c is None:
            return _rounded(torch.bmm(a, b))
        return _rounded(torch.baddbmm(_rounded(c), a, b))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        a, b = ctx.saved_tensors
        given = _rounded(grads[0])
        for_a, for_b, for_c = ctx.needs_input_grad
        return (
            _rounded(torch.bmm(given, b.mT)) if for_a else None,
            _rounded(torch.bmm(a.mT, given)) if for_b else None,
            _rounded(given.sum(1, keepdim=True)) if for_c else None,
        )


def _rounded(values: Tensor) -> Tensor:
    return values.bfloat16().float()
