"""Run a model on the examples of a batch, to predict the tokens to which the loss applies.

:func:`read_padded` pads the examples to the same length;
:class:`~.packing.PackedReader` concatenates them. :mod:`~.objective` computes losses
from the :class:`Predicted`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from inweights.lm.model.data import Encoded, padded
from inweights.lm.model.load import LanguageModel

__all__ = ["Predicted", "Reader", "accepts", "read_padded"]


@dataclass(frozen=True)
class Predicted:
    """Predictions of a model for the ``L`` tokens of a batch to which the loss applies.

    The tokens are sorted by example.

    Attributes:
        logits: Logits with which the model predicts each token, ``[L, V]``, for a
            vocabulary of ``V`` tokens.
        targets: Id of each token, ``[L]``.
        example: Index of each token's example in the batch, ``[L]``.
    """

    logits: Tensor
    targets: Tensor
    example: Tensor


#: Function that runs a network on examples, given the model, the network to call (with
#: its adapters), the examples, and their device.
Reader = Callable[[LanguageModel, Any, Sequence[Encoded], torch.device], Predicted]


def accepts(model: Any, option: str) -> bool:
    """Return whether the ``forward`` method of a model has a parameter of a given name.

    Args:
        model: A model of ``transformers``.
        option: Name of the parameter, such as ``logits_to_keep``.
    """
    return option in inspect.signature(model.forward).parameters


def read_padded(
    lm: LanguageModel, net: Any, rows: Sequence[Encoded], device: torch.device
) -> Predicted:
    """Run a model on examples that are padded on the right; no real token attends to padding.

    Args:
        lm: The model, with its tokenizer.
        net: The model to call, with adapters and accelerate's wrapper, if any.
        rows: The examples; there must be at least one.
        device: Torch device of the model.

    Returns:
        The predictions of all tokens to which the loss applies.
    """
    table, real = padded([row.ids for row in rows], lm.tokenizer.pad_token_id)
    ids = torch.from_numpy(table).to(device)
    starts = torch.tensor([row.start for row in rows], device=device)
    at = torch.arange(int(starts.min()), ids.shape[1], device=device)
    is_text = torch.from_numpy(real).to(device)[:, at].bool()
    learnt = (at[None] >= starts[:, None]) & is_text
    # Most models of transformers can leave out logits that the loss does not need. Some
    # older ones compute all logits.
    if accepts(lm.model, "logits_to_keep"):
        logits = net(input_ids=ids, use_cache=False, logits_to_keep=at - 1).logits
    else:
        logits = net(input_ids=ids, use_cache=False).logits[:, at - 1]
    return Predicted(logits[learnt], ids[:, at][learnt], learnt.nonzero()[:, 0])
