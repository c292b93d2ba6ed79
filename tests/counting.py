"""Count work in units that are the same on every machine, however busy it is."""

from __future__ import annotations

import sys
import tracemalloc
import weakref
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode


def lines_of(work: Callable[[], object]) -> int:
    """Return how many lines of Python are executed while ``work`` runs."""
    count = 0

    def seen(_frame: FrameType, event: str, _arg: Any) -> Any:
        nonlocal count
        count += event == "line"
        return seen

    before = sys.gettrace()
    sys.settrace(seen)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


class Meter(TorchDispatchMode):
    """Count bytes that PyTorch and NumPy hold at once, and numbers that PyTorch writes.

    Attributes:
        peak: Largest number of bytes held at once since the start.
        written: Numbers in all tensors that were created.
    """

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Return false, since nothing is compiled; telling Dynamo would import it."""
        return False

    def __init__(self) -> None:
        super().__init__()
        self.peak = self.written = self._held = 0
        self._known: set[int] = set()

    def __enter__(self) -> Any:
        tracemalloc.start()
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self.peak = max(self.peak, tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: Any = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        given = {id_of(t) for t in tensors_in((args, *(kwargs or {}).values()))}
        made = func(*args, **(kwargs or {}))
        for tensor in tensors_in(made):
            if (place := id_of(tensor)) not in given and place not in self._known:
                self._hold(tensor)
        self.peak = max(self.peak, self._held + tracemalloc.get_traced_memory()[0])
        return made

    def _hold(self, tensor: Tensor) -> None:
        storage = tensor.untyped_storage()
        place, size = id_of(tensor), storage.nbytes()
        self._known.add(place)
        self._held += size
        self.written += tensor.numel()
        weakref.finalize(storage, self._free, place, size)

    def _free(self, place: int, size: int) -> None:
        self._known.discard(place)
        self._held -= size


def id_of(tensor: Tensor) -> int:
    """Return the address of a tensor's numbers."""
    return tensor.untyped_storage().data_ptr()


def tensors_in(value: object) -> Iterator[Tensor]:
    """Return the tensors in an operator's arguments or results, which may be nested in lists."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for one in value:
            yield from tensors_in(one)
