"""One recorded call of a kernel, and the pieces of memory that it reads and makes.

``kernels.py`` records the calls, ``memory.py`` plans where their results lie.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from torch import Tensor
from torch.utils._pytree import tree_leaves

#: Kernels that allocate memory without values, that fill it with 0 or with 1, and that
#: copy. They are told apart since none of them has to run again as it was: planned
#: memory is there already.
EMPTY = frozenset(
    ("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided")
)
ZEROS = frozenset(("zeros", "zeros_like", "new_zeros"))
ONES = frozenset(("ones", "ones_like", "new_ones"))
COPIES = frozenset(("clone", "_to_copy", "contiguous"))


class Call(NamedTuple):
    """One call of a kernel.

    Attributes:
        func: The operator of torch.
        args: Its arguments by position.
        kwargs: Its arguments by name.
        outs: The tensors that it returned.
        fresh: The pieces of memory that it allocated.
    """

    func: Any
    args: Any
    kwargs: Any
    outs: list[Any]
    fresh: frozenset[int] = frozenset()

    @property
    def name(self) -> str:
        """Name of the kernel, such as ``add_``."""
        return str(self.func._schema.name).removeprefix("aten::")

    @property
    def given(self) -> list[Tensor]:
        """The tensors among its arguments."""
        return only_tensors(tree_leaves((self.args, self.kwargs)))


def only_tensors(values: Iterable[Any]) -> list[Tensor]:
    """Return the tensors among values, in their order."""
    return [value for value in values if isinstance(value, Tensor)]


def place_of(tensor: Tensor) -> int:
    """Return the identity of the piece of memory that a tensor is a view of."""
    return tensor.untyped_storage()._cdata


def places_of(tensors: Iterable[Tensor]) -> set[int]:
    """Return the pieces of memory that tensors are views of, as :func:`place_of` names them."""
    return set(map(place_of, tensors))
