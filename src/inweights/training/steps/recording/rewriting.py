"""Rewrite a list of recorded kernels to save passes over memory, with bitwise equal results.

:func:`copies_at_once` copies gradients while they are in the cache, :func:`into_place`
lets kernels write gradients directly to their final memory, and
:func:`transposed_products` computes a product in the layout in which it is read.
``kernels.py`` applies these functions to its recording.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.utils._pytree import tree_map_only

from inweights.training.steps.recording.calls import (
    ZEROS,
    Call,
    only_tensors,
    place_of,
    places_of,
)

_COPY = torch.ops.aten.copy_.default
#: Smallest number of entries of a replica's product that is written in place. Matrices
#: that are not contiguous in memory are multiplied one by one, which is slower for
#: small ones.
_LARGE = 2**14


def copies_at_once(calls: Sequence[Call]) -> list[Call]:
    """Reorder the calls so that each gradient is copied to its final memory without delay.

    Immediately after its computation, a gradient is still in the cache.

    Args:
        calls: A recording whose last ``_foreach_copy_`` copies all gradients.

    Returns:
        The calls, in which this ``_foreach_copy_`` is replaced by one copy after the
        computation of each gradient. If there is no such call, the calls are unchanged.
    """
    ends = [at for at, call in enumerate(calls) if call.name == "_foreach_copy_"]
    if not ends:
        return list(calls)
    joint = calls[ends[-1]]
    written: dict[int, int] = {}
    for at, call in enumerate(calls):
        changed = places_of(call.given) if call.func._schema.is_mutable else call.fresh
        written.update(dict.fromkeys(changed, at))
    after: dict[int, list[Call]] = defaultdict(list)
    for slot, gradient in zip(*joint.args[:2], strict=True):
        # A write after the joint copy does not belong to this gradient.
        ready = min(written.get(place_of(gradient), ends[-1]), ends[-1])
        after[ready].append(Call(_COPY, (slot.detach(), gradient.detach()), {}, []))
    ordered: list[Call] = []
    for at, call in enumerate(calls):
        if call is not joint:
            ordered.append(call)
        ordered += after[at]
    return ordered


def into_place(calls: Sequence[Call], result: Tensor) -> list[Call]:
    """Make kernels write gradients directly to their final memory.

    This applies to elementwise kernels, sums, ``index_add``, and large matrix products.

    Args:
        calls: The calls that are needed, with separate copies of gradients as returned
            by :func:`copies_at_once`.
        result: The result of the recorded computation.

    Returns:
        The calls, without the copies that are no longer needed.
    """
    readers: dict[int, int] = defaultdict(int)
    readers[place_of(result)] += 1
    makers: dict[int, int] = {}
    for at, call in enumerate(calls):
        for given in call.given:
            readers[place_of(given)] += 1
        makers.update(dict.fromkeys(call.fresh, at))
    changed = list(calls)
    dropped = set()
    for at, call in enumerate(calls):
        if call.func is not _COPY:
            continue
        slot, gradient = call.args
        place = place_of(gradient)
        if readers[place] != 1 or place not in makers:
            continue
        maker = makers[place]
        written = _written_into(changed[maker], slot, gradient)
        if written is None:
            continue
        changed[maker] = written
        dropped.add(at)
        base = written.args[0] if written.name == "index_add" else None
        if (
            base is not None
            and place_of(base) in makers
            and readers[place_of(base)] == 1
        ):
            start = makers[place_of(base)]
            if changed[start].name in ZEROS:
                # The zeros with which ``index_add`` begins are written in place, too.
                target = written.outs[0]
                changed[start] = changed[start]._replace(
                    outs=[target], fresh=frozenset()
                )
                changed[maker] = written._replace(args=(target, *written.args[1:]))
    return [call for at, call in enumerate(changed) if at not in dropped]


def _written_into(call: Call, slot: Tensor, gradient: Tensor) -> Call | None:
    """Return a call that writes its result to a slot; ``None`` if this is not possible."""
    pointwise = torch.Tag.pointwise in call.func.tags
    anywhere = pointwise or call.name in {"sum", "index_add"}
    if not (anywhere or _is_large_product(call)) or len(call.outs) != 1:
        return None
    out = call.outs[0]
    if out.dtype != slot.dtype or out.numel() != gradient.numel():
        return None
    as_gradient = (out.shape, out.stride()) == (gradient.shape, gradient.stride())
    if not as_gradient and not (out.is_contiguous() and gradient.is_contiguous()):
        return None
    try:
        target = slot.view(out.shape)
    except RuntimeError:  # the rows of the slot cannot be divided into this shape
        return None
    return call._replace(outs=[target], fresh=frozenset())


def _is_large_product(call: Call) -> bool:
    """Return whether a call is a large product with the same bits in non-contiguous memory."""
    if call.name != "bmm" or call.outs[0][0].numel() < _LARGE:
        return False
    left, right = _random_factors(*call.args)
    product = torch.bmm(left, right)
    apart = product.new_empty(len(product), product[0].numel() + 1)
    slot = apart[:, :-1].view(product.shape)
    return torch.equal(product, torch.bmm(left, right, out=slot))


def transposed_products(calls: Sequence[Call], result: Tensor) -> list[Call]:
    """Compute each product in transposed layout if it is only read in transposed form.

    Reading the product is then faster. By ``(A B)ᵀ = Bᵀ Aᵀ``, each entry is a sum of
    the same products in either layout. Whether they are summed in the same order
    depends on the shapes and on the linear algebra library. Therefore equality is
    tested with random numbers.

    Args:
        calls: The calls that are needed.
        result: The result of the recorded computation.

    Returns:
        The calls, with some products replaced by transposed products.
    """
    readers: dict[int, list[Tensor]] = defaultdict(list)
    for call in calls:
        for given in call.given:
            readers[place_of(given)].append(given)
    products: dict[int, Tensor] = {}
    changed = []
    for call in calls:
        product = None
        if call.name == "bmm" and call.fresh - places_of([result]):
            product = _transposed(call, readers[place_of(call.outs[0])])
        if product is not None:
            products[place_of(call.outs[0])] = product.outs[0]
        changed.append(product or call)

    def moved(tensor: Tensor) -> Tensor:
        product = products.get(place_of(tensor))
        # The transposed product has its numbers in the order in which the view reads
        # them.
        return tensor if product is None else product.view(tensor.shape)

    again = []
    for call in changed:
        args, kwargs = tree_map_only(Tensor, moved, (call.args, call.kwargs))
        again.append(call._replace(args=args, kwargs=kwargs))
    return again


def _transposed(call: Call, found: Sequence[Tensor]) -> Call | None:
    """Return a call for the transposed product, or ``None`` if the product itself is read."""
    out = call.outs[0]
    left, right = call.args
    wanted = bool(found) and all(_reads_transposed(one, out) for one in found)
    if not wanted or not _rounds_alike(left, right):
        return None
    product = torch.empty(out.mT.shape, dtype=out.dtype)
    fresh = frozenset([place_of(product)])
    return Call(call.func, (right.mT, left.mT), {}, [product], fresh)


def _rounds_alike(left: Tensor, right: Tensor) -> bool:
    """Return whether the transposed product of random factors is bitwise equal."""
    one, other = _random_factors(left, right)
    return torch.equal(torch.bmm(one, other), torch.bmm(other.mT, one.mT).mT)


def _random_factors(*factors: Tensor) -> list[Tensor]:
    """Return random factors for at most two replicas, with the given factors' layouts."""
    numbers = torch.Generator().manual_seed(0)
    made = []
    for given in factors:
        few = given[:2]
        drawn = torch.randn(few.shape, generator=numbers, dtype=given.dtype)
        made.append(torch.empty_strided(few.shape, few.stride()).copy_(drawn))
    return made


def _reads_transposed(view: Tensor, product: Tensor) -> bool:
    """Return whether a view is a product ``[R, m, n]`` read column by column."""
    _, rows, columns = product.shape
    if min(rows, columns) < 2 or view.numel() != product.numel():
        return False
    expected = product.mT
    if view.storage_offset() != product.storage_offset():
        return False
    try:
        same = expected.view(view.shape)
    except RuntimeError:
        return False
    return same.stride() == view.stride()


def depend_on_batch_alone(
    calls: Sequence[Call], batch: Sequence[Tensor], fixed: frozenset[str]
) -> list[bool]:
    """Return, for each call, whether its result depends only on tensors of the batch.

    Args:
        calls: The calls that are needed, in order.
        batch: The tensors of the batch.
        fixed: Names of kernels whose results do not depend on the values of tensors.
    """
    written: set[int] = set()
    for call in calls:
        written |= places_of(call.changed)
    known = places_of(batch) - written
    found = []
    for call in calls:
        own = places_of(only_tensors(call.outs))
        alone = call.name in fixed or places_of(call.given) <= known
        alone = alone and not call.func._schema.is_mutable
        # No later call may change the result.
        alone = alone and bool(call.fresh) and own == call.fresh and not own & written
        if alone:
            known |= call.fresh
        found.append(alone)
    return found
