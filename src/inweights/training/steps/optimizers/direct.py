"""Call only the kernels of a fused optimizer in a step on a CPU: :func:`stepping_directly`.

At every step, ``torch.optim`` collects the tensors of all groups again, which for a
small model takes longer than the kernel itself. The tensors of ``fused.py`` stay the
same. Therefore they are collected only once, after the first step has created the
optimizer's state.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

#: Attribute in which an optimizer stores its kernels. If it is missing, the next step
#: is PyTorch's own.
_KERNELS = "_direct_kernels"


def stepping_directly(whole_step: Callable[..., Any]) -> Callable[..., None]:
    """Return a method ``step`` that, from its second call on, only calls the optimizer's kernels.

    The first call runs ``whole_step`` and then stores the optimizer's parameters,
    gradients and state. Later calls update the parameters with these same tensors, so
    gradients must be written in place: after ``zero_grad(set_to_none=True)`` a call
    would use the old gradients. Hooks before and after a step are still called. The
    method takes no closure and returns ``None``. On devices other than a CPU, every
    call runs ``whole_step``.

    Args:
        whole_step: The method ``step`` of a ``torch.optim`` class (SGD, Adam or AdamW)
            whose instances are created with ``fused=True``.
    """
    hooked = torch.optim.Optimizer.profile_hook_step(whole_step)

    def step(optimizer: torch.optim.Optimizer) -> None:
        kernels = getattr(optimizer, _KERNELS, None)
        if kernels is None:
            hooked(optimizer)
            if optimizer.param_groups[0]["params"][0].device.type == "cpu":
                setattr(optimizer, _KERNELS, _kernels_of(optimizer))
            return
        for hook in optimizer._optimizer_step_pre_hooks.values():
            hook(optimizer, (), {})
        for kernel in kernels:
            kernel()
        for hook in optimizer._optimizer_step_post_hooks.values():
            hook(optimizer, (), {})

    step.hooked = True  # type: ignore[attr-defined]  # so that PyTorch does not wrap it again
    return step


def loading_anew(load_state_dict: Callable[..., None]) -> Callable[..., None]:
    """Return a wrapped ``load_state_dict``, so that the next step uses the loaded tensors.

    Args:
        load_state_dict: The method ``load_state_dict`` of a ``torch.optim`` class.
    """

    def load(optimizer: torch.optim.Optimizer, state: dict[str, Any]) -> None:
        load_state_dict(optimizer, state)
        setattr(optimizer, _KERNELS, None)

    return load


def _kernels_of(optimizer: torch.optim.Optimizer) -> list[Callable[[], None]]:
    """Return one function per group that calls its kernel with the current settings."""
    kernels: list[Callable[[], None]] = []
    for group in optimizer.param_groups:
        # Detached, so that they can be changed in place.
        values = [parameter.detach() for parameter in group["params"]]
        gradients = [parameter.grad for parameter in group["params"]]
        states = [optimizer.state[parameter] for parameter in group["params"]]
        if isinstance(optimizer, torch.optim.SGD):
            moments = []
            if group["momentum"]:
                moments = [state["momentum_buffer"] for state in states]
            kernels.append(partial(_descend, group, values, gradients, moments))
            continue
        means = [state["exp_avg"] for state in states]
        squares = [state["exp_avg_sq"] for state in states]
        parts = [values, gradients, means, squares]
        steps = [state["step"] for state in states]
        # AdamW is a subclass of Adam, so that only its parameter groups show which one
        # it is.
        decoupled = group["decoupled_weight_decay"]
        kernel = torch._fused_adamw_ if decoupled else torch._fused_adam_
        kernels.append(partial(_adapt, group, kernel, parts, steps))
    return kernels


def _descend(
    group: dict[str, Any], values: list[Any], gradients: list[Any], moments: list[Any]
) -> None:
    """Make a step of gradient descent with the settings of a parameter group."""
    torch._fused_sgd_(
        values,
        gradients,
        moments,
        weight_decay=group["weight_decay"],
        momentum=group["momentum"],
        lr=group["lr"],
        dampening=group["dampening"],
        nesterov=group["nesterov"],
        maximize=group["maximize"],
        is_first_step=False,
    )


def _adapt(
    group: dict[str, Any],
    kernel: Callable[..., None],
    parts: list[list[Any]],
    steps: list[Any],
) -> None:
    """Make a step of Adam or AdamW with the settings of a parameter group."""
    beta1, beta2 = group["betas"]
    torch._foreach_add_(steps, 1)
    kernel(
        *parts,
        [],  # the largest second moments, which only AMSGrad has
        steps,
        amsgrad=False,
        lr=group["lr"],
        beta1=beta1,
        beta2=beta2,
        weight_decay=group["weight_decay"],
        eps=group["eps"],
        maximize=group["maximize"],
    )
