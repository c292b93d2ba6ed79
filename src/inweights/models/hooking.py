"""Hooks of models: functions that replace hidden states, for prompts of one length at a time.

:meth:`inweights.models.Model.hooks` uses them. A model computes states along the packed
axis ``S``; a user's function receives them by prompt and position. Shapes: ``R``
replicas, ``B`` prompts of ``T`` positions, ``S`` packed tokens, ``D`` width.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from inweights.errors import DataError
from inweights.models.packing import Packed
from inweights.worlds.arrays import Float

#: Function of a hidden state ``[R, B, T, D]`` that returns its replacement, of the same
#: shape.
Edit = Callable[[Tensor], Tensor]


class Reading:
    """Record of the tokens and positions that a model reads while hooks are set.

    Attributes:
        batch: The batch of the current forward pass; ``None`` before the first one.
        tokens: Token ids of the prompts for which a hook is called: ``[B, T]``, or
            ``[R, B, T]`` if replicas read different prompts; ``None`` before the first
            call of a hook.
    """

    def __init__(self) -> None:
        """Create an empty record; the batch and tokens are set while hooks run."""
        self.batch: Packed | None = None
        self.tokens: Tensor | None = None

    def edited(
        self, edit: Edit, state: Float[Tensor, "R S D"]
    ) -> Float[Tensor, "R S D"]:
        """Apply an edit to a packed state, one group of prompts of equal length at a time.

        Before each call, :attr:`tokens` is set to the ids of these prompts. If
        :attr:`batch` is still ``None``, the edit receives the packed state itself.

        Args:
            edit: Function of the states ``[R, B, T, D]`` of ``B`` prompts of one length
                ``T`` that returns a tensor of the same shape.
            state: States at all ``S`` packed tokens, ``[R, S, D]`` (``R`` replicas,
                width ``D``).

        Returns:
            The states after the edit, ``[R, S, D]``.
        """
        # A user's model may not compute states from packed batches.
        if self.batch is None:
            return edit(state)
        # The edit is applied to prompts of one length at a time, because a user's
        # function expects whole prompts.
        parts = []
        start = 0
        for tokens, shape in zip(self.batch.groups(), self.batch.shapes, strict=True):
            self.tokens = tokens
            end = start + shape[0] * shape[1]
            parts.append(edit(state[:, start:end].unflatten(1, shape)).flatten(1, 2))
            start = end
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)


@contextmanager
def reading(model: Any) -> Iterator[Reading]:
    """Record the batch of every forward pass of a model within the ``with`` block.

    Args:
        model: Model whose methods ``states`` and ``deepest`` take a :class:`Packed`
            batch. Within the block, the record is also the model's attribute
            ``reading``.

    Yields:
        The record, which contains the latest batch. A nested block yields the record of
        the outer block.
    """
    known = vars(model).get("reading")
    if known is not None:  # hooks within hooks
        yield known
        return
    now = Reading()

    def noting(function: Callable[..., Any]) -> Callable[..., Any]:
        def read(batch: Packed, *more: Any, **options: Any) -> Any:
            now.batch = batch
            return function(batch, *more, **options)

        return read

    # Attributes of the instance override the methods of its class until they are
    # deleted.
    replaced = {name: noting(getattr(model, name)) for name in ("states", "deepest")}
    vars(model).update(replaced, reading=now)
    try:
        yield now
    finally:
        for name in (*replaced, "reading"):
            del vars(model)[name]


def checked_edit(
    layer: str, edit: Edit, state: Float[Tensor, "R B T D"]
) -> Float[Tensor, "R B T D"]:
    """Apply an edit to a state, and check that it returns a tensor of the same shape.

    Args:
        layer: Name of the layer, for messages.
        edit: Function of a state that returns its replacement, of the same shape.
        state: State to be replaced, ``[R, B, T, D]``.

    Returns:
        The replacement, ``[R, B, T, D]``.

    Raises:
        DataError: The function does not return a tensor, or returns one of a different
            shape.
    """
    shape = tuple(state.shape)
    given: Any = edit(state)
    if not isinstance(given, Tensor):
        what = "nothing" if given is None else type(given).__name__
        raise DataError(
            f"the function that replaces '{layer}' returned {what}; it must return the new "
            f"state, a tensor [R, B, T, D] of shape {list(shape)}, even if it changes the given "
            "state in place"
        )
    if tuple(given.shape) != shape:
        raise DataError(
            f"the function that replaces '{layer}' must return a tensor [R, B, T, D] of shape "
            f"{list(shape)}, got {list(given.shape)}"
        )
    return given
