"""The machine's peak rates and the work of a step: the roofline.

A step cannot be faster than its products at the machine's best rate, nor than the bytes
it has to move at the rate of a plain copy. Both are counted from shapes, for one
replica. The best rate is that of one large product; the products of a step are small and
batched, and a second roofline takes the time of these products, each alone.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from benchmarks.replicas.cases import Ours
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

__all__ = [
    "Products",
    "activations",
    "bytes_moved",
    "dispatched",
    "least_seconds",
    "operations_of_products",
    "peaks",
    "seconds",
]

#: Reads and writes of one parameter in a step: for both passes, for writing its gradient,
#: and by the optimizer (AdamW four reads and three writes, gradient descent two and one).
PASSES = {"adamw": 2 + 1 + 7, "adam": 2 + 1 + 7, "sgd": 2 + 1 + 3}


def seconds(step: Callable[[], object], at_least: float = 0.03) -> float:
    """Return the seconds of one call, over as many calls as take ``at_least`` seconds.

    On one thread these are processor seconds, which other processes do not affect.
    """
    clock = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
    started, calls = clock(), 0
    while (spent := clock() - started) < at_least:
        step()
        calls += 1
    return spent / calls


def peaks() -> tuple[float, float]:
    """Return operations per second of a large matrix product, and bytes per second of a copy."""
    one, large = torch.randn(1024, 1024), torch.randn(2**24)
    other = torch.empty_like(large)
    product = min(seconds(lambda: one @ one) for _ in range(5))
    copy = min(seconds(lambda: other.copy_(large)) for _ in range(5))
    return 2 * 1024**3 / product, 2 * large.nbytes / copy


def least_seconds(ours: Ours, kind: str, peak: tuple[float, float]) -> float:
    """Return the smallest possible seconds of one replica's step, by products and parameters."""
    return operations_of_products(ours) / peak[0] + bytes_moved(ours, kind) / peak[1]


def operations_of_products(ours: Ours) -> float:
    """Return the operations of one replica's products in a step."""
    with FlopCounterMode(display=False) as counted:
        ours.flat.backward(ours.loss(ours.batch).sum(), ours.moving)
    return counted.get_total_flops() / ours.model.replicas


def bytes_moved(ours: Ours, kind: str) -> float:
    """Return the bytes of a replica's parameters, gradients and moments moved in a step."""
    return 4 * PASSES[kind] * ours.flat.values[0].numel()


#: Shapes and strides of the two factors of a product.
Layout = tuple[tuple[int, ...], tuple[int, ...]]


class Products:
    """The batched products of a step, in the layouts that the step uses.

    Attributes:
        replicas: Number of replicas.
    """

    def __init__(self, ours: Ours) -> None:
        self.replicas = ours.model.replicas
        found: Counter[tuple[Layout, Layout]] = Counter()

        class Note(TorchDispatchMode):
            def __torch_dispatch__(
                self, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> object:
                if func.overloadpacket.__name__ in {"bmm", "baddbmm"}:
                    left, right = args[-2:]
                    layouts = [(tuple(x.shape), x.stride()) for x in (left, right)]
                    found[layouts[0], layouts[1]] += 1
                return func(*args, **(kwargs or {}))

        with Note():  # type: ignore[no-untyped-call]
            ours.step()
        self._calls: list[tuple[Callable[[], object], int]] = []
        for layouts, count in found.items():
            self._calls.append((_product(*layouts), count))

    def seconds(self) -> float:
        """Return the seconds of all products of one replica, each measured separately."""
        total = 0.0
        for call, count in self._calls:
            total += count * min(seconds(call, 0.005) for _ in range(3))
        return total / self.replicas


def _product(left: Layout, right: Layout) -> Callable[[], object]:
    """Return a batched product of random factors in these layouts."""
    one, other = (torch.empty_strided(*layout).normal_() for layout in (left, right))
    out = torch.empty(one.shape[0], one.shape[1], other.shape[2])
    return lambda: torch.bmm(one, other, out=out)


def dispatched(ours: Ours) -> int:
    """Return the number of operations of PyTorch's dispatcher in a step, including views."""

    class Count(TorchDispatchMode):
        asked = 0

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> object:
            self.asked += func.namespace == "aten"
            return func(*args, **(kwargs or {}))

    with Count() as count:  # type: ignore[no-untyped-call]
        ours.step()
    return count.asked


def activations(ours: Ours) -> int:
    """Return the bytes that autograd stores for the backward pass of all replicas."""
    kept: dict[int, int] = {}
    own = {p.untyped_storage().data_ptr() for p in ours.flat.parameters}

    def note(tensor: torch.Tensor) -> torch.Tensor:
        place = tensor.untyped_storage()
        if place.data_ptr() not in own:
            kept[place.data_ptr()] = place.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        losses = ours.loss(
            ours.batch
        )  # so that stored tensors have different addresses
    del losses
    return sum(kept.values())
