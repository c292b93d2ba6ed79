"""One recorded call of a kernel, and the memory that the call reads and allocates.

``kernels.py`` records calls, and ``memory.py`` plans the memory of their results.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from torch import Tensor
from torch.utils._pytree import tree_leaves

#: Kernels that allocate memory without values, that fill it with 0 or with 1, and that
#: copy. They are treated separately: their memory is already planned, so that they need
#: not allocate it again.
EMPTY = frozenset(
    ("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided")
)
ZEROS = frozenset(("zeros", "zeros_like", "new_zeros"))
ONES = frozenset(("ones", "ones_like", "new_ones"))
COPIES = frozenset(("clone", "_to_copy", "contiguous"))


class Call(NamedTuple):
    """One call of a kernel, which is an operator of PyTorch below autograd.

    Attributes:
        func: The operator, such as ``torch.ops.aten.add_.Tensor``.
        args: Positional arguments of the operator.
        kwargs: Keyword arguments of the operator.
        outs: The values that it returned, as a flat list.
        fresh: The storages that it allocated, as identified by :func:`place_of`.
    """

    func: Any
    args: Any
    kwargs: Any
    outs: list[Any]
    fresh: frozenset[int] = frozenset()

    @property
    def name(self) -> str:
        """Name of the called operator without its namespace, such as ``add_``."""
        return str(self.func._schema.name).removeprefix("aten::")

    @property
    def given(self) -> list[Tensor]:
        """The tensors among the arguments of the call, in order."""
        return only_tensors(tree_leaves((self.args, self.kwargs)))

    @property
    def changed(self) -> list[Tensor]:
        """The tensors among the arguments that the call changes in place."""
        found: list[Tensor] = []
        for index, argument in enumerate(self.func._schema.arguments):
            if argument.alias_info is None or not argument.alias_info.is_write:
                continue
            positional = index < len(self.args)
            value = self.args[index] if positional else self.kwargs.get(argument.name)
            found += only_tensors(tree_leaves(value))
        return found


def only_tensors(values: Iterable[Any]) -> list[Tensor]:
    """Return the tensors among the values, in order.

    Args:
        values: Any values.
    """
    return [value for value in values if isinstance(value, Tensor)]


def place_of(tensor: Tensor) -> int:
    """Return an integer that identifies the storage (memory) of a tensor.

    Args:
        tensor: Any dense tensor.
    """
    return tensor.untyped_storage()._cdata


def places_of(tensors: Iterable[Tensor]) -> set[int]:
    """Return the set of integers that identify the storages of tensors; see :func:`place_of`.

    Args:
        tensors: Any dense tensors.
    """
    return set(map(place_of, tensors))
