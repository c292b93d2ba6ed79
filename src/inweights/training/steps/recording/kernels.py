"""Record the kernels of a computation below autograd, and run them again on planned memory.

A :class:`Kernels` object records one call of a function. Calling the object runs the
same kernels on the same memory, without the overhead of Python and autograd.
``recorded.py`` uses it for the losses and gradients of a training step.
"""

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

from inweights.training.steps.recording.calls import (
    COPIES,
    EMPTY,
    ONES,
    ZEROS,
    Call,
    only_tensors,
    place_of,
    places_of,
)
from inweights.training.steps.recording.memory import Memory
from inweights.training.steps.recording.rewriting import (
    copies_at_once,
    depend_on_batch_alone,
    into_place,
    transposed_products,
)

#: Kernels that are called faster by PyTorch's functions (``torch.add``) than by
#: ``torch.ops``.
DIRECT = frozenset(
    """add addcmul amax baddbmm bmm cat cumsum div exp gather index_add index_select log mean
    mul neg rsqrt scatter_add sub sum tanh where""".split()  # noqa: SIM905
)

#: Kernels that are called faster by a method of tensors (``Tensor.zero_``).
METHODS = frozenset(("copy", "fill", "masked_fill", "relu", "zero"))


class NotRecordable(Exception):  # noqa: N818  # an answer to the caller, which users never see
    """Raised if a computation draws random numbers, or if its kernels differ between calls."""


class Kernels:
    """The kernels of one call of a function; calling an instance recomputes the result.

    A kernel is an operator of PyTorch, such as ``aten::bmm``. ``len`` returns the
    number of operator calls that each call of the instance makes.

    Args:
        compute: Function without arguments that is called once, and recorded. It must
            read and write the same memory at every call.
        batch: Tensors that ``compute`` reads and that change between calls. Results
            that depend only on them are computed by :meth:`prepare`. By default there
            are no such tensors.

    Attributes:
        bytes: Size in bytes of the memory that all intermediate results share.

    Raises:
        NotRecordable: The computation draws random numbers, or its kernels depend on
            computed numbers.
    """

    def __init__(
        self,
        compute: Callable[[], Tensor],
        batch: Sequence[Tensor] = (),
    ) -> None:
        """Call a function once, and record the kernels (operators of PyTorch) that it runs.

        Args:
            compute: The function, without arguments. It must read and write the same
                memory at every call.
            batch: Tensors that it reads and that change between calls, by default none.

        Raises:
            NotRecordable: The computation draws random numbers, or its kernels depend
                on computed numbers.
        """
        with _Recorder() as recorder:
            result = compute()
        calls = _needed(copies_at_once(recorder.calls), result)
        calls = into_place(transposed_products(calls, result), result)
        prepared = depend_on_batch_alone(calls, batch, ONES)
        memory = Memory(calls, result, prepared)
        self.bytes = memory.bytes
        self._result = memory.moved(result)
        self._preparing: list[Callable[[], object]] = []
        self._calls: list[Callable[[], object]] = []
        for call, once in zip(calls, prepared, strict=True):
            moved = tree_map_only(Tensor, memory.moved, tuple(call[1:4]))
            functions = _run_again(Call(call.func, *moved))
            (self._preparing if once else self._calls).extend(functions)
        self.prepare()

    def __len__(self) -> int:
        return len(self._calls)

    def prepare(self) -> None:
        """Recompute the results that depend only on the batch, after its tensors have changed."""
        for call in self._preparing:
            call()

    def __call__(self) -> Tensor:
        for call in self._calls:
            call()
        return self._result.clone()


class _Recorder(TorchDispatchMode):
    """Mode that records each kernel with its arguments and results, and keeps these alive."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.calls: list[Call] = []
        self._known: set[int] = set()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> object:
        tags = set(func.tags)
        if torch.Tag.data_dependent_output in tags and args[0].is_floating_point():
            raise NotRecordable
        if "mkldnn_rnn" in func.name():  # it keeps a workspace of its own
            raise NotRecordable
        if tags & {torch.Tag.dynamic_output_shape, torch.Tag.nondeterministic_seeded}:
            raise NotRecordable
        out = func(*args, **(kwargs or {}))
        call = Call(func, args, kwargs or {}, tree_leaves(out))
        self._known |= places_of(call.given)
        fresh = places_of(only_tensors(call.outs)) - self._known
        self._known |= fresh
        self.calls.append(call._replace(fresh=frozenset(fresh)))
        return out


# PyTorch wraps this method to exclude it from compilation, and the wrapper would import
# the compiler.
_Recorder.__torch_dispatch__ = inspect.unwrap(_Recorder.__torch_dispatch__)  # type: ignore[method-assign]


def _needed(calls: Sequence[Call], result: Tensor) -> list[Call]:
    """Return the calls that change a tensor, or create a tensor that is read later."""
    read = {place_of(result)}
    needed = []
    for call in reversed(calls):
        if call.func._schema.is_mutable or call.fresh & read:
            needed.append(call)
            # Only the shape of a tensor that is filled with a constant is read.
            if call.name not in EMPTY | ZEROS | ONES:
                read |= places_of(call.given)
    return needed[::-1]


def _run_again(call: Call) -> Iterable[Callable[[], object]]:
    """Return functions that repeat a call on the same memory."""
    func = call.func
    name = call.name
    outs = call.outs
    if func._schema.is_mutable:
        return [partial(_direct(func, name), *call.args, **call.kwargs)]
    if name in EMPTY:
        return []
    if name in ZEROS:
        return [outs[0].zero_]
    if name in ONES:
        return [partial(outs[0].fill_, 1)]
    if name in COPIES:
        same = outs[0].data_ptr() == call.args[0].data_ptr()
        return [] if same else [partial(outs[0].copy_, call.args[0])]
    in_place = _in_place(call)
    if in_place is not None:
        return [partial(in_place, *call.args, **call.kwargs)]
    writing = _writing(func)
    if writing is None or not all(isinstance(out, Tensor) for out in outs):
        return [partial(_and_copy, func, call.args, call.kwargs, outs)]
    overload, names = writing
    into = dict(zip(names, outs, strict=True))
    return [partial(_direct(overload, name), *call.args, **call.kwargs, **into)]


def _in_place(call: Call) -> Callable[..., object] | None:
    """Return the kernel that changes its first argument in place, if that is the result.

    Some kernels that write into given tensors first compute the result elsewhere.
    """
    if call.name not in {"relu", "masked_fill"}:
        return None
    first, out = call.args[0], call.outs[0]
    if (first.data_ptr(), first.stride()) != (out.data_ptr(), out.stride()):
        return None
    name = call.name + "_"
    packet = getattr(torch.ops.aten, name)
    return _direct(getattr(packet, call.func._overloadname), name)


def _direct(func: Any, name: str) -> Callable[..., object]:
    """Return the fastest function that calls a kernel."""
    # torch.sum over all numbers has no argument `out`.
    if name in DIRECT and str(func) != "aten.sum.out":
        return getattr(torch, name)
    if name.endswith("_") and name[:-1] in DIRECT | METHODS:
        return getattr(Tensor, name)
    return func


def _writing(func: Any) -> tuple[Any, list[str]] | None:
    """Return the overload that writes into given tensors, and the names of their arguments."""
    own = [(one.name, str(one.type)) for one in func._schema.arguments]
    for name in func.overloadpacket.overloads():
        overload = getattr(func.overloadpacket, name)
        given = []
        outs = []
        for argument in overload._schema.arguments:
            if argument.is_out:
                outs.append(argument.name)
            else:
                given.append((argument.name, str(argument.type)))
        if given == own and len(outs) == len(func._schema.returns):
            return overload, outs
    return None


def _and_copy(func: Any, args: Any, kwargs: Any, outs: Sequence[Any]) -> None:
    """Call a kernel that cannot write into given tensors, and copy its results into them."""
    for out, new in zip(outs, tree_leaves(func(*args, **kwargs)), strict=True):
        if isinstance(new, Tensor):
            out.copy_(new)
