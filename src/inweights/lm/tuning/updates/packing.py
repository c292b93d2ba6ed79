"""Concatenate the examples of a batch without padding, and run a model on them separately.

:func:`pack` returns a :class:`PackedRows` from the examples of a batch,
:class:`PackedReader` runs a model on it for :mod:`~.objective`, and :func:`why_padded`
says for which models this is not possible. A beginning that several examples share
occurs only once, and last tokens, after which nothing is predicted, are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from inweights.lm.model.data import Encoded, padded
from inweights.lm.model.load import LanguageModel
from inweights.lm.tuning.updates.reading import Predicted, accepts

__all__ = ["PackedReader", "PackedRows", "pack", "why_padded"]

#: Name under which the attention function below is registered in transformers.
_NAME = "inweights_packed"
#: Kinds of layers, which attend to all earlier tokens or only to the latest ones.
_KINDS = {"full_attention", "sliding_attention"}
#: Number of tokens from which on attention in half precision is not slower on a CPU.
_LONG = 512
#: Number of tokens of each example with which a model is tested.
_TRIED = 8
#: Largest relative differences of logits that count as rounding, by data type; and the
#: factor by which they may be larger if batches differ in shape.
_ROUNDING = {torch.float32: 1e-4, torch.float64: 1e-4}
_ROUNDING_OF_HALF = 1e-2
_SHAPES = 5

_layout: ContextVar[PackedRows] = ContextVar("packed")


@dataclass(frozen=True)
class PackedRows:
    """Examples of a batch as one sequence of tokens.

    Shapes: ``S`` tokens in the sequence, ``B`` examples, of which the longest has ``T +
    1`` tokens, and ``L`` targets, which are the tokens to which the loss applies.

    Attributes:
        ids: Token ids, ``[1, S]``.
        places: Position of each token in its example, from 0, ``[1, S]``.
        table: Index in the sequence of each token of each example, ``[B, T]``; 0 for
            padding.
        first: Index in the flattened ``table`` at which each token of the sequence
            occurs first, ``[S]``.
        learnt: Index in the sequence of the token before each target, ``[L]``.
        targets: Token ids of the targets, sorted by example, ``[L]``.
        example: Index of the example of each target, ``[L]``.
    """

    ids: Tensor
    places: Tensor
    table: Tensor
    first: Tensor
    learnt: Tensor
    targets: Tensor
    example: Tensor

    def apart(self, states: Tensor) -> Tensor:
        """Return states of a packed sequence of ``S`` tokens, split into ``B`` examples.

        Args:
            states: States of ``H`` heads of width ``D``, ``[1, H, S, D]``.

        Returns:
            States ``[B, H, T, D]``. Padding positions contain the state of the first
            token.
        """
        by_token = states[0].transpose(0, 1)
        by_example = by_token.index_select(0, self.table.flatten())
        return by_example.unflatten(0, self.table.shape).transpose(1, 2)

    def together(self, states: Tensor) -> Tensor:
        """Return states of ``B`` examples of ``T`` tokens, packed into a sequence of ``S`` tokens.

        Args:
            states: States of ``H`` heads of width ``D``, ``[B, T, H, D]``.

        Returns:
            States ``[1, S, H, D]``.
        """
        return states.flatten(0, 1).index_select(0, self.first)[None]

    def window(self, size: int | None) -> Tensor | None:
        """Return a causal sliding-window attention mask for the examples.

        Args:
            size: Number of tokens in the window; ``None`` if there is no limit.

        Returns:
            A boolean mask ``[1, 1, T, T]`` for ``T`` positions, True where the token of
            the row attends to the token of the column; ``None`` if no example is longer
            than the window.
        """
        length = self.table.shape[1]
        if size is None or size >= length:
            return None
        place = torch.arange(length, device=self.table.device)
        back = place[:, None] - place[None, :]
        return ((back >= 0) & (back < size))[None, None]


def pack(rows: Sequence[Encoded], device: torch.device | str = "cpu") -> PackedRows:
    """Concatenate examples into one sequence, in which a shared prefix occurs only once.

    Args:
        rows: The examples; there must be at least one.
        device: Torch device of the tensors; by default ``cpu``.

    Returns:
        The examples as one sequence, without the last token of each example.

    Example:
        >>> both = pack([Encoded((5, 6, 7), 2), Encoded((5, 6, 8, 9), 2)])
        >>> both.ids.tolist(), both.places.tolist(), both.table.tolist()
        ([[5, 6, 8]], [[0, 1, 2]], [[0, 1, 0], [0, 1, 2]])
        >>> both.learnt.tolist(), both.targets.tolist(), both.example.tolist()
        ([1, 1, 2], [7, 8, 9], [0, 1, 1])
    """
    # The key of a token is the index of the token before it, and its id.
    index_of: dict[tuple[int, int], int] = {}
    ids: list[int] = []
    places: list[int] = []
    paths: list[list[int]] = []
    learnt: list[int] = []
    targets: list[int] = []
    example: list[int] = []
    for number, row in enumerate(rows):
        before = -1
        path: list[int] = []
        for place, token in enumerate(row.ids[:-1]):
            index = index_of.setdefault((before, token), len(ids))
            if index == len(ids):
                ids.append(token)
                places.append(place)
            path.append(index)
            before = index
        paths.append(path)
        learnt += path[row.start - 1 :]
        targets += row.ids[row.start :]
        example += [number] * (len(row.ids) - row.start)
    table, _ = padded(paths, 0)
    length = table.shape[1]
    first = [0] * len(ids)
    for number in reversed(range(len(paths))):
        for place, index in enumerate(paths[number]):
            first[index] = number * length + place

    def tensor(numbers: Any) -> Tensor:
        return torch.as_tensor(numbers, dtype=torch.int64).to(device)

    return PackedRows(
        ids=tensor([ids]),
        places=tensor([places]),
        table=tensor(table),
        first=tensor(first),
        learnt=tensor(learnt),
        targets=tensor(targets),
        example=tensor(example),
    )


class PackedReader:
    """Function that runs a model on packed examples; it replaces :func:`~.reading.read_padded`."""

    def __call__(
        self, lm: LanguageModel, net: Any, rows: Sequence[Encoded], device: torch.device
    ) -> Predicted:
        """Run a model on packed examples, and return its predictions of the targets.

        Args:
            lm: The model, with its tokenizer.
            net: The model to call, with adapters and accelerate's wrapper, if any.
            rows: The examples; there must be at least one.
            device: Torch device of the model.
        """
        packed = pack(rows, device)
        read: dict[str, Any] = {"input_ids": packed.ids, "position_ids": packed.places}
        keeps = accepts(lm.model, "logits_to_keep")
        if keeps:
            read["logits_to_keep"] = packed.learnt
        with _packed_attention(lm.model, packed):
            logits = net(**read, use_cache=False).logits[0]
        if not keeps:
            logits = logits[packed.learnt]
        return Predicted(logits, packed.targets, packed.example)


def why_padded(lm: LanguageModel, rows: Sequence[Encoded]) -> str:
    """Return the reason why a model cannot read packed examples, or an empty string if it can.

    The model is tested on the beginnings of two examples: its logits for the second must
    not depend on the tokens of the first, and must equal those for the second alone.

    Args:
        lm: The model.
        rows: Examples, at least one. The first and the last are used for the test.

    Returns:
        The end of a sentence, such as ``it does not accept position ids``; an empty
        string if packing is possible.
    """
    kinds = set(getattr(lm.model.config, "layer_types", None) or _KINDS)
    if not accepts(lm.model, "position_ids"):
        return "it does not accept position ids"
    if not kinds <= _KINDS or getattr(lm.model.config, "attention_chunk_size", None):
        return "not all of its layers attend only to earlier tokens"
    if getattr(lm.model.config, "_attn_implementation", "") != "sdpa":
        return "its attention is not PyTorch's scaled_dot_product_attention"
    begun = [_begin(row) for row in (rows[0], rows[-1])]
    other = Encoded(tuple(reversed(begun[0].ids)), 1)
    read = PackedReader()
    allowed = _ROUNDING.get(lm.model.dtype, _ROUNDING_OF_HALF)
    try:
        with torch.no_grad():
            alone, after, after_other = (
                read(lm, lm.model, part, lm.device).logits[-len(begun[1].ids) + 1 :]
                for part in (begun[1:], begun, [other, begun[1]])
            )
            plain = lm.model(torch.tensor([begun[1].ids[:-1]], device=lm.device))
    except Exception as error:  # noqa: BLE001 - a foreign model may raise any error
        return f"it fails on them ({type(error).__name__})"
    if _apart(after, after_other) > allowed:
        return "its predictions depend on the preceding example"
    if max(_apart(plain.logits[0], found) for found in (alone, after)) > (
        _SHAPES * allowed
    ):
        return "its predictions differ from those for each example on its own"
    return ""


def _begin(row: Encoded) -> Encoded:
    """Return the first tokens of an example; the loss applies to all but the first of them."""
    return Encoded(row.ids[: _TRIED + 1], 1)


def _apart(one: Tensor, other: Tensor) -> float:
    """Return the largest difference between two tensors, relative to the maximum of the first."""
    return float((one - other).abs().max() / one.abs().max())


@contextmanager
def _packed_attention(model: Any, packed: PackedRows) -> Iterator[None]:
    """Restrict the attention of a model to tokens of the same example, within the block."""
    from transformers import AttentionInterface

    before = model.config._attn_implementation
    AttentionInterface.register(_NAME, _attend)
    token = _layout.set(packed)
    try:
        model.set_attn_implementation(_NAME)
        yield
    finally:
        model.set_attn_implementation(before)
        _layout.reset(token)


def _attend(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    **options: Any,
) -> tuple[Tensor, None]:
    """Compute the attention of each example of a packed sequence separately.

    The function has the signature that transformers requires: ``query``, ``key`` and
    ``value`` are ``[1, H, S, D]``, and the result is ``[1, S, H, D]``. The model's own
    mask is ignored, since it would treat the sequence as one long text.
    """
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    del attention_mask
    packed = _layout.get()
    kind, dtype = query.device.type, value.dtype
    mask = packed.window(options.get("sliding_window"))
    # Attention in half precision takes at least 10 ms per call on a CPU.
    is_widened = (
        kind == "cpu"
        and dtype in (torch.bfloat16, torch.float16)
        and packed.table.shape[1] < _LONG
    )
    if is_widened:
        query, key, value = query.float(), key.float(), value.float()
    with torch.autocast(kind, enabled=False) if is_widened else nullcontext():
        query, key, value = map(packed.apart, (query, key, value))
        found, _ = sdpa_attention_forward(module, query, key, value, mask, **options)
    return packed.together(found.to(dtype)), None
