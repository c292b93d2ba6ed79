"""All parameters of a model as one matrix, a row a replica.

The optimizer, the checkpoint and the stop rule work on rows; the layers go on seeing their own
parameters, which become views of the matrix. This asks nothing of a model but that its parameters
start with the replica axis. Shapes: ``R`` replicas, ``P`` parameters of one.
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
from inweights.worlds.arrays import Float


class FlatParameters:
    """The parameters of ``model`` as two matrices with a row a replica.

    Matrices stand before vectors (gains and biases), so that what decays of a row is one piece.

    Attributes:
        values: The parameters.
        gradients: Their gradients.
        slots: Views of these in the shapes of the parameters.
        matrices: How many of the ``P`` columns are those of matrices.
    """

    values: Float[Tensor, "R P"]
    gradients: Float[Tensor, "R P"]

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
        flat = [p.detach().reshape(model.replicas, -1) for p in self.parameters]  # of scalars, too
        self.values = torch.cat(flat, dim=1)
        self.gradients = torch.zeros_like(self.values)
        ends = torch.tensor([part.shape[1] for part in flat]).cumsum(0).tolist()
        self.spans = list(zip([0, *ends[:-1]], ends, strict=True))
        self.matrices = sum(end - start for p, (start, end) in self._placed() if not _is_vector(p))
        self.slots = []
        for parameter, (start, end) in self._placed():
            parameter.data = self.values[:, start:end].view(parameter.shape)
            self.slots.append(self.gradients[:, start:end].view(parameter.shape))

    def _placed(self) -> Iterable[tuple[nn.Parameter, tuple[int, int]]]:
        return zip(self.parameters, self.spans, strict=True)

    def moving(self, moves: Sequence[str], freezes: Sequence[str] = ()) -> list[int]:
        """Return the indices of the parameters that move, and let only those move."""
        matched = _matching(self.names, moves)
        frozen = _matching(matched, freezes)
        if len(frozen) == len(matched):
            raise ConfigError(
                f"no parameter is trained: {', '.join(freezes)} freezes all that "
                f"{', '.join(moves)} matches"
            )
        chosen = [i for i, n in enumerate(self.names) if n in matched and n not in frozen]
        for i, parameter in enumerate(self.parameters):
            parameter.requires_grad_(i in chosen)
        self.gradients.zero_()  # of what moved in an earlier phase
        return chosen

    def release(self) -> None:
        """Give every parameter its own memory again, since views of one matrix cannot be saved."""
        for parameter in self.parameters:
            parameter.requires_grad_(True)
            parameter.data = parameter.detach().clone(memory_format=torch.contiguous_format)

    def backward(self, loss: Float[Tensor, ""], moving: Sequence[int]) -> None:
        """Write the gradient of ``loss`` by the moving parameters into ``gradients``."""
        gradients = torch.autograd.grad(
            loss, [self.parameters[i] for i in moving], allow_unused=True, materialize_grads=True
        )
        torch._foreach_copy_([self.slots[i] for i in moving], list(gradients))

    def add_noise(self, share: float, seeds: Sequence[int], *path: str | int) -> None:
        """Add normal noise to each replica's gradients, of ``share`` of their root mean square.

        ``path`` tells this draw from others, by phase and step; a replica draws the same alone.
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
