"""All parameters of a model as one matrix with one row per replica: :class:`FlatParameters`.

The optimizer, the checkpoint and the stop rule work on rows. The layers use their own
parameters as before, but these become views of the matrix. The only condition is that
the first axis of every parameter is the replica axis. Shapes: ``R`` replicas, ``P``
parameters of one replica.
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
    """The parameters of a model and their gradients as two matrices ``[R, P]``.

    There is one row for each of ``R`` replicas, and one column for each of ``P``
    parameters. Columns of weight matrices come before those of vectors (gains and
    biases), so that the parameters with weight decay are one contiguous part of a row.
    The model's parameters are views of the matrix until :meth:`release` is called.

    Args:
        model: The model; its parameters become views of ``values``.

    Attributes:
        values: The parameters, ``[R, P]``.
        gradients: The gradients of the parameters, ``[R, P]``.
        names: Name of each parameter, in the order of the columns.
        parameters: The parameters themselves, in the same order.
        spans: The first column of each parameter, and the column after its last one.
        slots: Views of ``gradients`` in the shapes of the parameters.
        matrices: Number of columns that belong to weight matrices.

    Raises:
        ConfigError: The first axis of a parameter is not the replica axis.
    """

    values: Float[Tensor, "R P"]
    gradients: Float[Tensor, "R P"]

    def __init__(self, model: Model) -> None:
        """Copy the parameters into one matrix, of which they become views.

        Args:
            model: The model, whose parameters have the replica axis first.

        Raises:
            ConfigError: The first axis of a parameter is not the replica axis.
        """
        named = list(model.named_parameters())
        for name, parameter in named:
            if parameter.shape[0] != model.replicas:
                raise ConfigError(
                    f"parameter '{name}' has shape {tuple(parameter.shape)}; the first axis of "
                    f"every parameter must be the replica axis, of length {model.replicas}"
                )
        # The sort is stable: within matrices and within vectors, the model's order is
        # kept.
        named.sort(key=lambda item: _is_vector(item[1]))
        self.names = [name for name, _ in named]
        self.parameters = [parameter for _, parameter in named]
        # Unlike flatten(1), reshape works for parameters with one number per replica,
        # too.
        flat = [p.detach().reshape(model.replicas, -1) for p in self.parameters]
        self.values = torch.cat(flat, dim=1)
        self.gradients = torch.zeros_like(self.values)
        ends = torch.tensor([part.shape[1] for part in flat]).cumsum(0).tolist()
        self.spans = list(zip([0, *ends[:-1]], ends, strict=True))
        self.matrices = 0
        self.slots = []
        for parameter, (start, end) in self._placed():
            if not _is_vector(parameter):
                self.matrices = end
            parameter.data = self.values[:, start:end].view(parameter.shape)
            self.slots.append(self.gradients[:, start:end].view(parameter.shape))

    def _placed(self) -> Iterable[tuple[nn.Parameter, tuple[int, int]]]:
        return zip(self.parameters, self.spans, strict=True)

    def moving(self, moves: Sequence[str], freezes: Sequence[str] = ()) -> list[int]:
        """Select the parameters of the model that are trained, and return their indices.

        Afterwards only these parameters require a gradient, and all gradients are 0.

        Args:
            moves: Patterns of the names of trained parameters, such as ``blocks.*``, as
                in ``fnmatch``. Each pattern must match at least one parameter.
            freezes: Patterns of the names of parameters that are not trained although
                they match ``moves``. Each pattern must match at least one parameter
                that matches ``moves``.

        Returns:
            Indices of the trained parameters in :attr:`names` (weight matrices first),
            in increasing order.

        Raises:
            ConfigError: A pattern of ``moves`` matches no parameter; a pattern of
                ``freezes`` matches none of the parameters that ``moves`` matches; or no
                parameter remains to be trained.
        """
        matched = _matching(self.names, moves)
        frozen = _matching(matched, freezes)
        if len(frozen) == len(matched):
            raise ConfigError(
                "no parameter is trained, because every parameter that matches 'moves' "
                f"({', '.join(moves)}) also matches 'freezes' ({', '.join(freezes)}); change "
                "one of the two settings"
            )
        trained = set(matched) - set(frozen)
        chosen = [i for i, name in enumerate(self.names) if name in trained]
        for i, parameter in enumerate(self.parameters):
            parameter.requires_grad_(i in chosen)
        self.gradients.zero_()  # clears those of parameters that were trained before
        return chosen

    def release(self) -> None:
        """Give each parameter of the model its own memory again, and make it require a gradient.

        Parameters that are views of one matrix cannot be saved.
        """
        for parameter in self.parameters:
            parameter.requires_grad_(True)
            parameter.data = parameter.detach().clone(
                memory_format=torch.contiguous_format
            )

    def backward(self, loss: Float[Tensor, ""], moving: Sequence[int]) -> None:
        """Compute the gradient of a loss, and write it into :attr:`gradients`.

        Args:
            loss: The sum of the replicas' losses, a scalar that depends on at least one
                trained parameter.
            moving: Indices of the parameters whose gradient is computed, as returned by
                :meth:`moving`. The columns of other parameters do not change.
        """
        gradients = torch.autograd.grad(
            loss,
            [self.parameters[i] for i in moving],
            allow_unused=True,
            materialize_grads=True,
        )
        torch._foreach_copy_([self.slots[i] for i in moving], list(gradients))

    def add_noise(self, share: float, seeds: Sequence[int], *path: str | int) -> None:
        """Add normally distributed noise to the gradients of each replica, in place.

        Args:
            share: Standard deviation of the noise, as a fraction of the root mean
                square of the replica's gradients.
            seeds: Root seed of each replica.
            path: Names and numbers that identify the random stream, such as the phase
                and the step; together with the seed, they determine the noise.
        """
        for row, seed in zip(self.gradients, seeds, strict=True):
            stream = Streams(seed).numpy("gradient noise", *path)
            drawn = torch.from_numpy(stream.standard_normal(len(row), dtype=np.float32))
            row.add_(share * row.square().mean().sqrt() * drawn.to(row.device))


def _is_vector(parameter: Tensor) -> bool:
    """Return whether a parameter is a vector ``[R, D]``; every other parameter is a matrix."""
    return parameter.dim() < 3


def _matching(names: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """Return the names that match a pattern, in order; each pattern must match a name."""
    matched: set[str] = set()
    for pattern in patterns:
        found = [name for name in names if fnmatchcase(name, pattern)]
        if not found:
            raise unknown_name("parameter", pattern, names)
        matched.update(found)
    return [name for name in names if name in matched]
