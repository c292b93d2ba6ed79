"""Losses, penalties, optimizers, schedules and observers as a user writes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F

from inweights.models import Model
from inweights.training import Observer, Step


def plain(logits: Tensor, targets: Tensor) -> Tensor:
    """Compute the mean cross-entropy, as the library does."""
    said = logits.log_softmax(-1).gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    return -said.mean(1)


def focal(logits: Tensor, targets: Tensor, gamma: float = 2.0) -> Tensor:
    """Compute the focal loss (Lin et al. 2017), in which known facts have less weight."""
    said = logits.log_softmax(-1).gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    return -((1 - said.exp()) ** gamma * said).mean(1)


def weighted(logits: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    """Compute the cross-entropy with the weights of the roles."""
    said = logits.log_softmax(-1).gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    return -(said * weights).sum(1)


def averaged(logits: Tensor, targets: Tensor) -> Tensor:
    """Return a single number for all replicas, which is not allowed."""
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def mixing(logits: Tensor, targets: Tensor) -> Tensor:
    """Return losses that depend on other replicas, which is not allowed."""
    return plain(logits, targets) * logits.abs().mean()


def sparse(model: Model, step: int, weight: float = 1e-3) -> Tensor:
    """Compute an L1 penalty that begins after five steps."""
    if step < 5:
        return torch.zeros(model.replicas)
    each = [p.abs().flatten(1).sum(1) for p in model.parameters()]
    return weight * torch.stack(each).sum(0)


def mixing_penalty(model: Model, step: int) -> Tensor:
    """Return a penalty that depends on all replicas, which is not allowed."""
    return sum(p.square().sum() for p in model.parameters()).expand(model.replicas)


class Lion(torch.optim.Optimizer):
    """Lion (Chen et al. 2023), an elementwise optimizer: the sign of an interpolated momentum."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-4,
        betas: tuple[float, float] = (0.9, 0.99),
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(
            params, {"lr": lr, "betas": betas, "weight_decay": weight_decay}
        )

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            rate, (slow, fast) = group["lr"], group["betas"]
            for p in group["params"]:
                state = self.state[p]
                # A plain number is part of the state as well.
                state["count"] = state.get("count", 0) + 1
                momentum = state.setdefault("momentum", torch.zeros_like(p))
                p.mul_(1 - rate * group["weight_decay"])
                p.sub_(momentum.lerp(p.grad, 1 - slow).sign(), alpha=rate)
                momentum.lerp_(p.grad, 1 - fast)


class Sharpness(torch.optim.SGD):
    """SGD with the gradient at the worst point nearby (Foret et al. 2021)."""

    def __init__(
        self, params: Any, lr: float, rho: float = 0.05, **options: Any
    ) -> None:
        super().__init__(params, lr=lr, **options)
        self.rho = rho

    @torch.no_grad()
    def step(self, closure: Callable[[], float]) -> None:  # type: ignore[override]
        parameters = [p for group in self.param_groups for p in group["params"]]
        norm = torch.stack([p.grad.norm() for p in parameters]).norm()
        up = [p.grad * (self.rho / (norm + 1e-12)) for p in parameters]
        for p, shift in zip(parameters, up, strict=True):
            p.add_(shift)
        closure()
        for p, shift in zip(parameters, up, strict=True):
            p.sub_(shift)
        super().step()


class Clipped(torch.optim.SGD):
    """SGD with gradients clipped to a total norm of at most one."""

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        own = [p.grad for group in self.param_groups for p in group["params"]]
        norm = torch.stack([gradient.norm() for gradient in own]).norm().clamp(min=1.0)
        for gradient in own:
            gradient.div_(norm)
        super().step()


class Langevin(torch.optim.SGD):
    """An optimizer that draws from torch's global generator, which is not allowed."""

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        super().step()
        for group in self.param_groups:
            for p in group["params"]:
                p.add_(torch.randn_like(p), alpha=1e-3)


class Elsewhere(torch.optim.SGD):
    """An optimizer that replaces the memory of parameters, which is not allowed."""

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for p in group["params"]:
                p.data = p - group["lr"] * p.grad.norm() * p.grad


def muon(
    parameters: Iterable[tuple[str, Tensor]], lr: float
) -> list[torch.optim.Optimizer]:
    """Return Muon for hidden matrices and AdamW for other parameters, as Muon is used."""
    pairs = list(parameters)
    hidden = [p for name, p in pairs if p.ndim == 2 and "blocks" in name]
    rest = [p for name, p in pairs if not (p.ndim == 2 and "blocks" in name)]
    return [torch.optim.Muon(hidden, lr=lr), torch.optim.AdamW(rest, lr=lr / 2)]


def halved(step: int, steps: int) -> float:
    """Return a factor that halves the rate in the second half of the phase."""
    return 1.0 if step < steps // 2 else 0.5


def on_the_sphere(seen: Step) -> None:
    """Normalise every vector of the embedding to length one, in place."""
    table = seen.parameters["tokens.weight"]
    table.div_(table.norm(dim=-1, keepdim=True))


class StepCounter(Observer):
    """Record the number of every step that it receives, in all phases."""

    steps: ClassVar[list[int]] = []

    def step(self, seen: Step) -> None:
        self.steps.append(seen.step)
