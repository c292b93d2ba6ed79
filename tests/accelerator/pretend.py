"""A simulated accelerator: a PyTorch device that computes on the CPU and is as strict as a GPU.

A tensor on it wraps a tensor on the CPU. Operations that fail on a GPU raise an error,
such as operands on two devices and ``.numpy()``. So do operations for which a GPU copies
data silently, such as an index on the CPU. Slow operations are counted: kernels, copies,
and waits for a number or a shape that the device computes.

A backend is registered permanently for a whole process. Therefore only processes that do
nothing else import this module; ``test_accelerator.py`` starts them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import torch
from torch.utils import backend_registration as backend
from torch.utils._python_dispatch import TorchDispatchMode

NAME = "pretend"
_TO_COPY = torch.ops.aten._to_copy.default
_NESTED = (list, tuple)
_DATA_DECIDES = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}
_INDEXING = {
    "aten::index",
    "aten::index_put",
    "aten::index_put_",
    "aten::_index_put_impl_",
}
#: Operations that autocast computes in low precision and in fp32, as on a GPU.
_LOW = (
    "bmm",
    "baddbmm",
    "mm",
    "addmm",
    "matmul",
    "linear",
    "scaled_dot_product_attention",
)
_HIGH = ("layer_norm", "softmax.int", "log_softmax.int", "logsumexp", "sum.dim_IntList")


@dataclass
class Seen:
    """Names of the operations that the device performed.

    Attributes:
        kernels: Operations other than views.
        copies: Copies from one device to the other.
        waits: Synchronisations, in which the CPU waits until the device has finished.
    """

    kernels: Counter[str] = field(default_factory=Counter)
    copies: Counter[str] = field(default_factory=Counter)
    waits: Counter[str] = field(default_factory=Counter)


# Not a context variable, since torch computes gradients in a thread of its own.
_seen = [Seen()]


@contextmanager
def counted() -> Iterator[Seen]:
    """Count the operations of the device within a ``with`` block."""
    _seen.append(Seen())
    try:
        yield _seen[-1]
    finally:
        _seen.pop()


class OnDevice(torch.Tensor):
    """A tensor on the simulated device, whose numbers are in ``held``, on the CPU."""

    held: torch.Tensor

    @staticmethod
    def __new__(cls, held: torch.Tensor) -> OnDevice:
        wrapper = torch.Tensor._make_wrapper_subclass(
            cls,
            held.shape,
            strides=held.stride(),
            storage_offset=held.storage_offset(),
            dtype=held.dtype,
            device=torch.device(NAME, 0),
        )
        wrapper.held = held
        return wrapper

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]  # torch's says that it fails
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return _run(func, args, kwargs or {})

    def __repr__(self, **_: Any) -> str:  # type: ignore[override]
        return f"{self.held} on '{NAME}'"

    def tolist(self) -> Any:
        return self.cpu().tolist()  # torch does not support this for subclasses

    @property
    def data(self) -> Any:
        return self.detach()

    @data.setter
    def data(self, value: Any) -> None:
        vars(torch._C.TensorBase)["data"].__set__(self, value)
        self.held = value.held


class Accelerator(TorchDispatchMode):
    """Mode in which new tensors are created on the requested device."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # nothing is compiled, and telling Dynamo so would import it

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return _run(func, args, kwargs or {})


def _run(func: Any, args: Any, kwargs: Any) -> Any:
    """Compute an operation on the CPU; the result is on the device if the operands are."""
    tensors: list[torch.Tensor] = []
    on_cpu = [_unwrapped(value, tensors) for value in args]
    named = {name: _unwrapped(value, tensors) for name, value in kwargs.items()}
    given = [tensor for tensor in tensors if isinstance(tensor, OnDevice)]
    device = kwargs.get("device")
    stays = bool(given) if device is None else torch.device(device).type == NAME
    if not (given or stays):
        return func(*args, **kwargs)
    seen = _seen[-1]
    if func is _TO_COPY and stays != bool(given):
        seen.copies["to the device" if stays else "from the device"] += 1
        if not stays:
            seen.waits["copy from the device"] += 1
    else:
        _refuse_mixed(func, tensors)
        if not func.is_view:
            seen.kernels[_name_of(func)] += 1
        if _makes_wait(func, args):
            seen.waits[_name_of(func)] += 1
    if stays and device is not None:
        named["device"] = "cpu"
    result = func(*on_cpu, **named)
    for tensor in given:
        if tensor.shape != tensor.held.shape:
            raise NotImplementedError(f"{func} changes a shape in place")
    # In-place operations return their operand.
    known = {id(tensor.held): tensor for tensor in given}
    return _wrapped(result, known, stays)


@cache
def _name_of(func: Any) -> str:
    return str(func)


def _unwrapped(value: Any, tensors: list[torch.Tensor]) -> Any:
    """Replace wrappers with their CPU tensors, and return the wrappers that were found.

    PyTorch's own function for nested lists and tuples is slow.
    """
    if isinstance(value, torch.Tensor):
        tensors.append(value)
        return value.held if isinstance(value, OnDevice) else value
    if isinstance(value, _NESTED):
        return type(value)([_unwrapped(one, tensors) for one in value])
    return value


def _wrapped(value: Any, known: dict[int, OnDevice], stays: bool) -> Any:
    """Return the operand that wraps a result, or a new tensor on the device."""
    if isinstance(value, torch.Tensor):
        if id(value) in known:
            return known[id(value)]
        return OnDevice(value) if stays else value
    if isinstance(value, _NESTED):
        return type(value)([_wrapped(one, known, stays) for one in value])
    return value


def _refuse_mixed(func: Any, tensors: list[torch.Tensor]) -> None:
    """Refuse tensors on the CPU, except numbers that a kernel takes as an argument."""
    for tensor in tensors:
        number = tensor.dim() == 0 and torch.Tag.pointwise in func.tags
        if not isinstance(tensor, OnDevice) and not number:
            shape = tuple(tensor.shape)
            raise RuntimeError(
                f"{func} on '{NAME}' got a tensor {shape} on '{tensor.device}'"
            )


def _makes_wait(func: Any, args: Any) -> bool:
    """Return whether the CPU needs a number or a shape that the device computes."""
    if func._schema.name in _INDEXING:
        masks = [
            at
            for at in args[1]
            if at is not None and at.dtype in (torch.bool, torch.uint8)
        ]
        # A single value only fills the tensor.
        return bool(masks) and (len(args) < 3 or args[2].numel() > 1)
    return not _DATA_DECIDES.isdisjoint(func.tags)


def _cast(name: str, low: bool, *args: Any, **kwargs: Any) -> Any:
    """Compute an operation in the precision that autocast selects."""
    dtype = torch.get_autocast_dtype(NAME) if low else torch.float32
    key = torch._C.DispatchKey.AutocastPrivateUse1  # type: ignore[attr-defined]

    def cast(value: Any) -> Any:
        floats = isinstance(value, torch.Tensor) and value.is_floating_point()
        return value.to(dtype) if floats else value

    name, _, overload = name.partition(".")
    operation = getattr(getattr(torch.ops.aten, name), overload or "default")
    with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(key)):
        return operation(
            *map(cast, args), **{name: cast(value) for name, value in kwargs.items()}
        )


class _Module(backend._DummyBackendModule):
    """The functions that torch expects in ``torch.pretend``."""

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.bfloat16]


backend._setup_privateuseone_for_python_backend(NAME, backend_module=_Module())
_all, _aten = torch.library.Library("_", "IMPL"), torch.library.Library("aten", "IMPL")
_all.fallback(torch.library.fallthrough_kernel, "AutocastPrivateUse1")
for _name in (*_LOW, *_HIGH):
    _aten.impl(_name, partial(_cast, _name, _name in _LOW), "AutocastPrivateUse1")


# Tensors that torch creates from lists, as in x.new_tensor([1]) and x[[0, 1]], do not
# pass through Python.
@torch.library.impl(_aten, "empty_strided", "PrivateUse1")
def _empty(size: Any, stride: Any, **options: Any) -> torch.Tensor:
    return OnDevice(torch.empty_strided(size, stride, dtype=options["dtype"]))


@torch.library.impl(_aten, "_copy_from", "PrivateUse1")
def _copy(source: Any, onto: OnDevice, non_blocking: bool = False) -> torch.Tensor:
    _seen[-1].copies["to the device"] += 1
    onto.held.copy_(source)
    return onto
