"""Apply functions to all replicas at once within a call under ``torch.func.vmap``.

Hooks replace the states of all replicas together, and each replica has its own
generator of dropout masks. Within ``vmap`` a module sees one replica; :class:`Rows`
passes the whole tensor to a function.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor
from torch.nn import functional as F

#: Function of ``[R, ...]`` that returns the same shape, and computes each row
#: independently of all others.
Rowwise = Callable[[Tensor], Tensor]


class Rows:
    """The replica for which a module is called; under ``vmap``, it represents all replicas.

    Args:
        row: Index of the replica; under ``vmap`` a tensor, which represents all
            replicas.
        replicas: Number of replicas.
    """

    def __init__(self, row: int | Tensor, replicas: int) -> None:
        """Store the index and the number of replicas.

        Args:
            row: Index of the replica; under ``vmap`` a tensor, which represents all
                replicas.
            replicas: Number of replicas.
        """
        self._row = row
        self._replicas = replicas

    def apply(self, function: Rowwise, x: Tensor) -> Tensor:
        """Apply a function to the stacked tensors of all replicas, and return this replica's row.

        Args:
            function: Function that maps a tensor ``[R, ...]`` to the same shape. A row
                of its result must depend only on the same row of its argument.
            x: Tensor of one replica, without the replica axis.

        Returns:
            The row of this object's replica, with the same shape as ``x``.
        """
        if isinstance(self._row, Tensor):
            result: Tensor = _Batched.apply(x, self._row, self._of_replicas(function))  # type: ignore[no-untyped-call]
            return result
        return function(x.expand(self._replicas, *x.shape))[self._row]

    def _of_replicas(self, function: Rowwise) -> Rowwise:
        """Return a function that applies the given one only to the actual replicas.

        A model of one replica is called with a second row that is a copy; see
        :class:`ModuleCaller`.
        """
        count = self._replicas

        def apply(x: Tensor) -> Tensor:
            if len(x) <= count:
                return function(x)
            return torch.cat([function(x[:count]), x[count:]])

        return apply

    def masked(
        self, x: Tensor, rate: float, generators: Sequence[torch.Generator]
    ) -> Tensor:
        """Apply dropout to a tensor, with a separate generator for each replica.

        Args:
            x: Tensor of the replica to which this object belongs.
            rate: Probability of dropping an entry, below 1; the remaining entries are
                divided by ``1 - rate``.
            generators: One generator per replica.

        Returns:
            A new tensor with the shape of ``x``.
        """
        if not isinstance(self._row, Tensor):
            return x * _mask(x.shape, rate, generators[self._row]).to(x)

        def drop(every: Tensor) -> Tensor:
            masks = [_mask(every.shape[1:], rate, one) for one in generators]
            return every * torch.stack(masks).to(every)

        return self.apply(drop, x)


def _mask(shape: Sequence[int], rate: float, generator: torch.Generator) -> Tensor:
    # Divided by the fraction of remaining entries, so that the expected value is
    # unchanged.
    return (torch.rand(shape, generator=generator) < 1.0 - rate) / (1.0 - rate)


class _Batched(torch.autograd.Function):
    """Apply a function to the tensor of all replicas, by a rule for ``vmap``."""

    @staticmethod
    def forward(x: Tensor, row: Tensor, function: Rowwise) -> Tensor:
        del row
        return function(x)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Save nothing: gradients are computed through the differentiable method ``vmap``."""

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Tensor, row: Tensor, function: Rowwise) -> Any:
        del row
        if in_dims[0] is None:  # all replicas have the same input
            return function(x.expand(info.batch_size, *x.shape)), 0
        return function(x.movedim(in_dims[0], 0)), 0


class Noise:
    """Dropout within modules, with a separate generator for each replica.

    Args:
        rows: The replica for which the module is called.
        generators: One generator per replica. If ``None``, nothing is dropped, and only
            the rate is recorded.

    Attributes:
        rate: The largest dropout rate so far; 0 before the first call.
    """

    def __init__(
        self, rows: Rows, generators: Sequence[torch.Generator] | None
    ) -> None:
        """Store the replica and the generators.

        Args:
            rows: The replica for which the module is called.
            generators: One generator per replica; ``None`` to drop nothing and only
                record the rate.
        """
        self._rows = rows
        self._generators = generators
        self.rate = 0.0

    @contextmanager
    def drawn(self) -> Iterator[None]:
        """Replace torch's dropout and attention with this object's methods in a ``with`` block.

        The functions ``dropout`` and ``scaled_dot_product_attention`` of
        ``torch.nn.functional`` are restored after the ``with`` block.

        Returns:
            A context manager; its ``with`` statement binds no value.
        """
        with patch.multiple(
            F, dropout=self.dropout, scaled_dot_product_attention=self.attention
        ):
            yield

    def dropout(
        self,
        input: Tensor,  # noqa: A002  # torch's name
        p: float = 0.5,
        training: bool = True,
        inplace: bool = False,
    ) -> Tensor:
        """Drop random entries, as ``torch.nn.functional.dropout`` does, but separately per replica.

        Args:
            input: The tensor.
            p: Probability of dropping an entry. The largest probability of all calls is
                recorded in :attr:`rate`.
            training: Whether entries are dropped. If false, ``p`` is not recorded
                either.
            inplace: Has no effect; a new tensor is returned.

        Returns:
            A tensor with the shape of ``input``; ``input`` itself if nothing is
            dropped.
        """
        del inplace
        if not training or not p:
            return input
        self.rate = max(self.rate, p)
        if not self._generators:
            return input
        return self._rows.masked(input, p, self._generators)

    def attention(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        **options: Any,
    ) -> Tensor:
        """Compute attention with dropout, as torch's ``scaled_dot_product_attention`` does.

        Args:
            query: Queries, ``[..., T, E]``.
            key: Keys, ``[..., S, E]``.
            value: Values, ``[..., S, D]``.
            attn_mask: Mask ``[T, S]``, or of any shape that broadcasts to the shape of
                the scores. Booleans are true where attention is allowed; numbers are
                added to the scores.
            dropout_p: Probability of dropping an attention weight.
            is_causal: Whether a position attends only to itself and to earlier
                positions.
            **options: ``scale``, the factor of the scores (by default ``1/√E``), and
                ``enable_gqa``, whether several heads of queries share a head of keys
                and values.

        Returns:
            The weighted means of the values, ``[..., T, D]``.
        """
        scale: float | None = options.get("scale")
        if options.get("enable_gqa"):
            groups = query.shape[-3] // key.shape[-3]
            key = key.repeat_interleave(groups, -3)
            value = value.repeat_interleave(groups, -3)
        if scale is None:
            scale = 1.0 / math.sqrt(query.shape[-1])
        scores = query @ key.mT * scale
        if is_causal:
            seen = torch.ones(
                scores.shape[-2:], dtype=torch.bool, device=scores.device
            ).tril()
            scores = scores.masked_fill(~seen, -torch.inf)
        if attn_mask is not None and attn_mask.dtype == torch.bool:
            scores = scores.masked_fill(~attn_mask, -torch.inf)
        elif attn_mask is not None:
            scores = scores + attn_mask
        return self.dropout(scores.softmax(-1), dropout_p) @ value


def reason_of(error: Exception) -> str:
    """Return the reason why a call could not be batched, based on torch's error message.

    The reason names an operation without a batching rule, or is the first sentence of
    the message.

    Args:
        error: The error that the call under ``torch.func.vmap`` raised.
    """
    operation = re.search(r"aten::\w+(\.\w+)?", str(error))
    if operation:
        return f"{operation.group()} has no batching rule"
    return str(error).strip().partition("\n")[0].partition(". ")[0]
