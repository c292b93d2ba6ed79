"""All parameters of a model as one matrix, a row a replica.

The optimizer, the checkpoint and the stop rule work on rows; the layers go on seeing their own
parameters, which become views of the matrix. This asks nothing of a model but that its parameters
start with the replica axis.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

import numpy as np
import torch
from torch import Tensor, nn

from inweights.errors import ConfigError, unknown_name
from inweights.models.base import Model
from inweights.seeds import Streams
from inweights.training.curriculum import Optimizer

__all__ = ["FlatParameters", "build_optimizer"]


class FlatParameters:
    """The parameters of ``model`` as ``values`` and ``gradients``, both ``[R, P]``.

    Matrices stand before vectors (gains and biases), so that what decays of a row is one piece.

    Attributes:
        matrices: How many of the ``P`` columns are those of matrices.

    Raises:
        ConfigError: A parameter does not start with the replica axis.
    """

    def __init__(self, model: Model) -> None:
        named = list(model.named_parameters())
        for name, parameter in named:
            if parameter.shape[0] != model.replicas:
                raise ConfigError(
                    f"parameter '{name}' has shape {tuple(parameter.shape)}; the first axis of "
                    f"every parameter is the replica axis, here {model.replicas}"
                )
        named.sort(key=lambda item: _is_vector(item[1]))
        self.names = [name for name, _ in named]
        self.parameters = [parameter for _, parameter in named]
        flat = [parameter.detach().flatten(1) for parameter in self.parameters]
        self.values = torch.cat(flat, dim=1)
        self.gradients = torch.zeros_like(self.values)
        ends = torch.tensor([part.shape[1] for part in flat]).cumsum(0).tolist()
        self.spans = list(zip([0, *ends[:-1]], ends, strict=True))
        self.matrices = sum(end - start for p, (start, end) in self._placed() if not _is_vector(p))
        self._slots = []
        for parameter, (start, end) in self._placed():
            parameter.data = self.values[:, start:end].view(parameter.shape)
            self._slots.append(self.gradients[:, start:end].view(parameter.shape))

    def _placed(self) -> Iterable[tuple[nn.Parameter, tuple[int, int]]]:
        return zip(self.parameters, self.spans, strict=True)

    def moving(self, moves: Sequence[str], freezes: Sequence[str] = ()) -> list[int]:
        """Return the indices of the parameters that move, and let only those move.

        Args:
            moves: Patterns of their names.
            freezes: Patterns of those among them that stand still all the same.

        Raises:
            ConfigError: A pattern matches none, or nothing is left to move.
        """
        matched = _matching(self.names, moves)
        frozen = _matching(matched, freezes)
        if len(frozen) == len(matched):
            raise ConfigError(
                f"no parameter moves: {', '.join(freezes)} freezes all that {', '.join(moves)} "
                "matches"
            )
        chosen = [i for i, n in enumerate(self.names) if n in matched and n not in frozen]
        for i, parameter in enumerate(self.parameters):
            parameter.requires_grad_(i in chosen)
        return chosen

    def release(self) -> None:
        """Give every parameter memory of its own again: views of one matrix cannot be saved."""
        for parameter in self.parameters:
            parameter.requires_grad_(True)
            parameter.data = parameter.detach().clone(memory_format=torch.contiguous_format)

    def backward(self, loss: Tensor, moving: Sequence[int]) -> None:
        """Write the gradient of ``loss`` by the moving parameters into ``gradients``."""
        gradients = torch.autograd.grad(
            loss, [self.parameters[i] for i in moving], allow_unused=True, materialize_grads=True
        )
        torch._foreach_copy_([self._slots[i] for i in moving], list(gradients))

    def add_noise(self, share: float, seeds: Sequence[int], *path: str | int) -> None:
        """Add normal noise to each replica's gradients, of ``share`` of their root mean square.

        Args:
            share: Of what size.
            seeds: Root seed of each replica, which draws the same noise alone or among others.
            path: What tells this draw from others: the phase and the step.
        """
        for row, seed in zip(self.gradients, seeds, strict=True):
            stream = Streams(seed).numpy("gradient noise", *path)
            drawn = torch.from_numpy(stream.standard_normal(len(row), dtype=np.float32))
            row.add_(share * row.square().mean().sqrt() * drawn.to(row.device))


def _is_vector(parameter: Tensor) -> bool:
    """Whether it is a vector ``[R, D]`` of a norm or a layer; every other one is a matrix."""
    return parameter.dim() < 3


def _matching(names: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """Return the names that match a pattern; each pattern has to match one."""
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise unknown_name("parameter", pattern, names)
    return [name for name in names if any(fnmatchcase(name, p) for p in patterns)]


def build_optimizer(
    flat: FlatParameters, settings: Sequence[Optimizer], moving: Sequence[int]
) -> torch.optim.Optimizer:
    """Build the optimizer of a phase: groups of parameters for each run of equal settings.

    Args:
        flat: The parameters.
        settings: Optimizer of each replica; they differ in rate, decay and what decays only.
        moving: Indices of the parameters that move.
    """
    spans = _joined(flat.spans[i] for i in moving)
    groups = []
    for first, last in _equal_runs(settings):
        one = settings[first]
        split = flat.matrices if one.weight_decay and one.decayed == "matrices" else None
        for part, decay in _parts(spans, split, one.weight_decay):
            parameters = []
            # A fused kernel wants contiguous memory: whole rows can be taken together, parts
            # cannot.
            whole = part == [(0, flat.values.shape[1])]
            blocks = (
                [slice(first, last)] if whole else [slice(r, r + 1) for r in range(first, last)]
            )
            for block in blocks:
                for start, end in part:
                    parameter = nn.Parameter(flat.values[block, start:end])
                    parameter.grad = flat.gradients[block, start:end]
                    parameters.append(parameter)
            groups.append({"params": parameters, "lr": one.rate, "weight_decay": decay})
    one = settings[0]
    if one.kind == "sgd":
        return torch.optim.SGD(groups, lr=one.rate, momentum=one.momentum, fused=True)
    kind = torch.optim.AdamW if one.kind == "adamw" else torch.optim.Adam
    return kind(groups, lr=one.rate, betas=one.betas, eps=one.epsilon, fused=True)


def _parts(
    spans: list[tuple[int, int]], split: int | None, decay: float
) -> Iterable[tuple[list[tuple[int, int]], float]]:
    """Yield spans and their decay: those before ``split`` decay, those after it do not."""
    if split is None:
        yield spans, decay
        return
    before = [(start, min(end, split)) for start, end in spans if start < split]
    after = [(max(start, split), end) for start, end in spans if end > split]
    yield from ((part, of) for part, of in ((before, decay), (after, 0.0)) if part)


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join neighbouring spans."""
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and joined[-1][1] == start:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def _equal_runs(settings: Sequence[Optimizer]) -> list[tuple[int, int]]:
    """Return ``(first, last)`` of every run of neighbouring replicas with equal settings."""
    cuts = [i for i in range(1, len(settings)) if settings[i] != settings[i - 1]]
    return list(zip([0, *cuts], [*cuts, len(settings)], strict=True))
