"""Record the kernels of a computation below autograd, and run them again on planned memory.

:class:`Kernels` records one call of a function; a call of it runs the same kernels on
the same memory, without Python's and autograd's work between them. ``recorded.py`` uses
it for the losses and gradients of a training step.
"""

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

#: The start of each buffer is a multiple of this many bytes.
ALIGNED = 64
#: Kernels that are called faster by PyTorch's functions (``torch.add``) than by
#: ``torch.ops``.
DIRECT = frozenset(
    """add addcmul amax baddbmm bmm cumsum div exp gather index_select log mean mul neg rsqrt
    scatter_add sub sum tanh where""".split()  # noqa: SIM905
)
#: Kernels that allocate memory without values, that fill it with 0 or with 1, and that
#: copy.
EMPTY = frozenset(
    ("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided")
)
ZEROS = frozenset(("zeros", "zeros_like", "new_zeros"))
ONES = frozenset(("ones", "ones_like", "new_ones"))
COPIES = frozenset(("clone", "_to_copy", "contiguous"))


class NotRecordable(Exception):  # noqa: N818  # an answer to the caller, which users never see
    """The computation draws random numbers, or its kernels depend on computed numbers."""


class _Call(NamedTuple):
    """One call of a kernel; ``fresh`` are the pieces of memory that it allocated."""

    func: Any
    args: Any
    kwargs: Any
    outs: list[Any]
    fresh: frozenset[int] = frozenset()

    @property
    def name(self) -> str:
        return str(self.func._schema.name).removeprefix("aten::")

    @property
    def given(self) -> list[Tensor]:
        return _only_tensors(tree_leaves((self.args, self.kwargs)))


class Kernels:
    """The kernels of one call of a function; calling them returns the function's result again.

    Args:
        compute: Called once, and recorded. It reads and writes the same memory at every
            call.

    Attributes:
        bytes: Size of the memory that all intermediate results share.

    Raises:
        NotRecordable: The computation cannot be repeated by the same kernels.
    """

    def __init__(self, compute: Callable[[], Tensor]) -> None:
        with _Recorder() as recorder:
            result = compute()
        calls = _needed(_copies_at_once(recorder.calls), result)
        memory = _Memory(calls, result)
        self.bytes = memory.bytes
        self._result = memory.moved(result)
        self._calls: list[Callable[[], object]] = []
        for call in calls:
            moved = tree_map_only(Tensor, memory.moved, tuple(call[1:4]))
            self._calls += _run_again(_Call(call.func, *moved))

    def __len__(self) -> int:
        return len(self._calls)

    @torch.no_grad()
    def __call__(self) -> Tensor:
        for call in self._calls:
            call()
        return self._result.clone()


class _Recorder(TorchDispatchMode):
    """Record each kernel with its arguments and results, which stay alive."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.calls: list[_Call] = []
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
        call = _Call(func, args, kwargs or {}, tree_leaves(out))
        self._known |= _places(call.given)
        fresh = _places(_only_tensors(call.outs)) - self._known
        self._known |= fresh
        self.calls.append(call._replace(fresh=frozenset(fresh)))
        return out


# PyTorch wraps this method to keep its compiler out of it, and would import the
# compiler for that.
_Recorder.__torch_dispatch__ = inspect.unwrap(_Recorder.__torch_dispatch__)  # type: ignore[method-assign]


def _copies_at_once(calls: Sequence[_Call]) -> list[_Call]:
    """Copy each gradient to its place when it is computed, while it is in the cache."""
    ends = [at for at, call in enumerate(calls) if call.name == "_foreach_copy_"]
    if not ends:
        return list(calls)
    joint = calls[ends[-1]]
    written: dict[int, int] = {}
    for at, call in enumerate(calls):
        changed = _places(call.given) if call.func._schema.is_mutable else call.fresh
        written.update(dict.fromkeys(changed, at))
    after: dict[int, list[_Call]] = {}
    copy = torch.ops.aten.copy_.default
    for slot, gradient in zip(*joint.args[:2], strict=True):
        now = _Call(copy, (slot.detach(), gradient.detach()), {}, [])
        after.setdefault(
            min(written.get(_place(gradient), ends[-1]), ends[-1]), []
        ).append(now)
    ordered: list[_Call] = []
    for at, call in enumerate(calls):
        ordered += [call] if call is not joint else []
        ordered += after.get(at, [])
    return ordered


def _needed(calls: Sequence[_Call], result: Tensor) -> list[_Call]:
    """Return the calls that change a tensor, or make one that is read later."""
    read = {_place(result)}
    needed = []
    for call in reversed(calls):
        if call.func._schema.is_mutable or call.fresh & read:
            needed.append(call)
            read |= set() if call.name in EMPTY | ZEROS | ONES else _places(call.given)
    return needed[::-1]


class _Memory:
    """One piece of memory for all buffers; those that are needed at the same time do not overlap.

    An elementwise result is written over an input that is not read afterwards.
    """

    def __init__(self, calls: Sequence[_Call], result: Tensor) -> None:
        last: dict[int, int] = {}
        for at, call in enumerate(calls):
            last.update(dict.fromkeys(call.fresh | _places(call.given), at))
        last[_place(result)] = len(calls)
        over: dict[int, int] = {}
        buffers: dict[int, tuple[int, int, int]] = {}
        for at, call in enumerate(calls):
            for out in _only_tensors(call.outs):
                if (place := _place(out)) in call.fresh:
                    old = [
                        over[p]
                        for p in _replaceable(call, out)
                        if p in over and last[p] == at
                    ]
                    over[place] = own = old[0] if old else place
                    first = buffers.get(own, (at,))[0]
                    buffers[own] = (first, last[place], out.untyped_storage().nbytes())
        starts = _packed(buffers)
        self._starts = {place: starts[own] for place, own in over.items()}
        self.bytes = max((starts[p] + buffers[p][2] for p in starts), default=0)
        self._storage = torch.empty(self.bytes, dtype=torch.uint8).untyped_storage()

    def moved(self, tensor: Tensor) -> Tensor:
        """Return the tensor in its planned memory; one that is no buffer stays where it is."""
        start = self._starts.get(_place(tensor))
        if start is None:
            return tensor.detach()
        offset = start // tensor.element_size() + tensor.storage_offset()
        view = torch.empty(0, dtype=tensor.dtype)
        return view.set_(self._storage, offset, tensor.shape, tensor.stride())


def _replaceable(call: _Call, out: Tensor) -> list[int]:
    """Return the inputs over which the result of an elementwise call can be written."""
    given = [_place(one) for one in call.given]
    able = (
        len(given)
        if torch.Tag.pointwise in call.func.tags
        else call.name == "index_add"
    )
    return [
        place
        for place, one in zip(given[:able], call.given, strict=False)
        if given.count(place) == 1
        and (one.shape, one.stride(), one.dtype) == (out.shape, out.stride(), out.dtype)
        and one.untyped_storage().nbytes()
        == one.nbytes
        == out.untyped_storage().nbytes()
    ]


def _packed(buffers: dict[int, tuple[int, int, int]]) -> dict[int, int]:
    """Return the first byte of each buffer, given its first use, last use and size in bytes."""
    placed: list[tuple[int, int, int, int]] = []  # start, end, first, last
    starts: dict[int, int] = {}
    for place, (first, last, size) in sorted(
        buffers.items(), key=lambda item: -item[1][2]
    ):
        start = 0
        for low, high, since, until in sorted(placed):
            if since <= last and first <= until and low < start + size and start < high:
                start = high
        starts[place] = start
        end = start + -(-max(size, 1) // ALIGNED) * ALIGNED
        placed.append((start, end, first, last))
    return starts


def _run_again(call: _Call) -> Iterable[Callable[[], object]]:
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
    writing = _writing(func)
    if writing is None or not all(isinstance(out, Tensor) for out in outs):
        return [partial(_and_copy, func, call.args, call.kwargs, outs)]
    overload, names = writing
    into = dict(zip(names, outs, strict=True))
    return [partial(_direct(overload, name), *call.args, **call.kwargs, **into)]


def _direct(func: Any, name: str) -> Callable[..., object]:
    """Return the fastest function that calls a kernel."""
    # torch.sum of all numbers takes no `out`.
    if name in DIRECT and str(func) != "aten.sum.out":
        return getattr(torch, name)
    if name.endswith("_") and name[:-1] in DIRECT | {"copy", "zero", "fill"}:
        return getattr(Tensor, name)
    return func


def _writing(func: Any) -> tuple[Any, list[str]] | None:
    """Return the overload that writes into given tensors, and the names of these arguments."""
    own = [(a.name, str(a.type)) for a in func._schema.arguments]
    for one in func.overloadpacket.overloads():
        overload = getattr(func.overloadpacket, one)
        arguments = overload._schema.arguments
        outs = [a.name for a in arguments if a.is_out]
        if len(outs) == len(func._schema.returns) and own == [
            (a.name, str(a.type)) for a in arguments if not a.is_out
        ]:
            return overload, outs
    return None


def _and_copy(func: Any, args: Any, kwargs: Any, outs: Sequence[Any]) -> None:
    """Call a kernel that cannot write into given tensors, and copy its results into them."""
    for out, new in zip(outs, tree_leaves(func(*args, **kwargs)), strict=True):
        if isinstance(new, Tensor):
            out.copy_(new)


def _only_tensors(values: Iterable[Any]) -> list[Tensor]:
    return [value for value in values if isinstance(value, Tensor)]


def _place(tensor: Tensor) -> int:
    """Return the identity of the piece of memory that a tensor is a view of."""
    return tensor.untyped_storage()._cdata


def _places(tensors: Iterable[Tensor]) -> set[int]:
    return {_place(tensor) for tensor in tensors}
