"""Plan the memory of the results of recorded kernels, in one block that is allocated once.

:class:`Memory` assigns to each result a part of the block that no other result needs at
the same time.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from inweights.training.steps.recording.calls import (
    Call,
    only_tensors,
    place_of,
    places_of,
)

#: The start of each buffer is a multiple of this many bytes.
ALIGNED = 64


class Memory:
    """One block of memory for all buffers.

    Buffers that are needed at the same time do not overlap. The result of an
    elementwise kernel overwrites an input that is not read afterwards.

    Args:
        calls: The recorded calls, in order.
        result: Tensor that is returned after the last call.
        prepared: For each call, whether it runs only when the batch changes, so that
            its result must be preserved.

    Attributes:
        bytes: Size of the block in bytes.
    """

    def __init__(
        self, calls: Sequence[Call], result: Tensor, prepared: Sequence[bool]
    ) -> None:
        """Allocate one block of memory for the results of all calls.

        Args:
            calls: The recorded calls of PyTorch's operators, in order.
            result: Tensor that is returned after the last call.
            prepared: For each call, whether it runs only when the batch changes, so
                that its result must be preserved.
        """
        last: dict[int, int] = {}
        stays: set[int] = set()
        for at, call in enumerate(calls):
            last.update(dict.fromkeys(call.fresh | places_of(call.given), at))
            if prepared[at]:
                stays |= call.fresh
        last.update(dict.fromkeys({place_of(result), *stays}, len(calls)))
        over: dict[int, int] = {}
        buffers: dict[int, tuple[int, int, int]] = {}
        for at, call in enumerate(calls):
            for out in only_tensors(call.outs):
                place = place_of(out)
                if place not in call.fresh:
                    continue
                own = place
                for given in _replaceable(call, out):
                    # An input of the recorded function is not a buffer, and must not be
                    # overwritten.
                    if given in over and last[given] == at:
                        own = over[given]
                        break
                over[place] = own
                first = 0 if place in stays else buffers.get(own, (at,))[0]
                buffers[own] = (first, last[place], out.untyped_storage().nbytes())
        starts = pack_buffers(buffers)
        self._starts = {place: starts[own] for place, own in over.items()}
        self.bytes = max((starts[p] + buffers[p][2] for p in starts), default=0)
        self._storage = torch.empty(self.bytes, dtype=torch.uint8).untyped_storage()

    def moved(self, tensor: Tensor) -> Tensor:
        """Return a tensor of the recording as a view of its planned memory.

        The view has the same shape and strides, but values are not copied. A tensor
        that is not a buffer, such as an input of the recorded function, keeps its own
        memory and is returned detached.

        Args:
            tensor: Argument or result of a recorded call.
        """
        start = self._starts.get(place_of(tensor))
        if start is None:
            return tensor.detach()
        offset = start // tensor.element_size() + tensor.storage_offset()
        view = torch.empty(0, dtype=tensor.dtype)
        return view.set_(self._storage, offset, tensor.shape, tensor.stride())


def _replaceable(call: Call, out: Tensor) -> list[int]:
    """Return the inputs that the result of an elementwise call can overwrite."""
    if torch.Tag.pointwise in call.func.tags:
        candidates = call.given
    elif call.name == "index_add":  # it begins with a copy of its first input
        candidates = call.given[:1]
    else:
        return []
    given = list(map(place_of, call.given))
    found = []
    for one in candidates:
        place = place_of(one)
        # If two inputs are views of the same memory, it could be overwritten through
        # one before it is read through the other.
        if given.count(place) == 1 and _lies_as(one, out):
            found.append(place)
    return found


def _lies_as(one: Tensor, out: Tensor) -> bool:
    """Return whether two tensors have the same layout and each fills its entire storage."""
    if (one.shape, one.stride(), one.dtype) != (out.shape, out.stride(), out.dtype):
        return False
    size = one.untyped_storage().nbytes()
    return size == one.nbytes and size == out.untyped_storage().nbytes()


def pack_buffers(buffers: dict[int, tuple[int, int, int]]) -> dict[int, int]:
    """Assign each buffer an offset such that buffers in use at the same time do not overlap.

    Args:
        buffers: For each key, the index of the first call that uses the buffer, the
            index of the last call that uses it, and the buffer's size in bytes.

    Returns:
        Dictionary that maps each key to the offset of the first byte of its buffer in a
        common block.
    """
    placed: list[tuple[int, int, int, int]] = []  # start, end, first, last
    starts: dict[int, int] = {}
    # The largest buffers are placed first, so that small ones fill the gaps between
    # them.
    by_size = sorted(buffers.items(), key=lambda item: -item[1][2])
    for place, (first, last, size) in by_size:
        start = 0
        for low, high, since, until in sorted(placed):
            together_in_time = since <= last and first <= until
            overlaps = low < start + size and start < high
            if together_in_time and overlaps:
                start = high
        starts[place] = start
        end = start + -(-max(size, 1) // ALIGNED) * ALIGNED
        placed.append((start, end, first, last))
    return starts
