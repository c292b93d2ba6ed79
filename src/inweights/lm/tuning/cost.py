"""Estimate the cost of a fine-tuning run on this machine from a few of its updates.

:func:`cost_of` returns a :class:`Cost`, and :func:`least_seconds` a fast lower bound.
The commands ``inweights augment`` and ``inweights compare-training`` use them.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from msgspec import structs

from inweights.lm.model.data import Encoded, Example, encode
from inweights.lm.model.load import LanguageModel
from inweights.lm.tuning.fine_tune import FineTune
from inweights.lm.tuning.stages import stages_of
from inweights.lm.tuning.tuning import finetune
from inweights.lm.tuning.updates.packing import pack
from inweights.lm.tuning.updates.reading import accepts
from inweights.lm.tuning.writing import own_text

#: Number of tokens of the model's own texts that are replayed in the measured updates.
_OWN = 200


@dataclass(frozen=True)
class Cost:
    """Estimated cost of a fine-tuning run that runs all of its epochs.

    Attributes:
        rows: Number of examples.
        tokens: Number of tokens in one pass over the examples.
        epochs: Number of passes.
        updates: Number of updates in all passes.
        seconds: Estimated time of all updates in seconds, excluding the preparation.
        padding: Share of the positions in batches that are padding, from 0 to 1, not
            counting replayed texts; 0 if examples are packed.
    """

    rows: int
    tokens: int
    epochs: int
    updates: int
    seconds: float
    padding: float

    @property
    def each(self) -> float:
        """Time of all epochs in seconds, divided by the number of tokens in one epoch."""
        return self.seconds / self.tokens


def _batches(encoded: Sequence[Encoded], config: FineTune) -> list[list[Encoded]]:
    """Return the batch of each update of a fine-tuning run, in one possible order."""
    found: list[list[Encoded]] = []
    for stage in stages_of(encoded, config):
        found += stage.order(config, 0)
    return found


def _longest(batch: Sequence[Encoded]) -> int:
    return max(len(row.ids) for row in batch)


def _positions(batch: Sequence[Encoded], config: FineTune) -> int:
    """Return the number of positions that are computed for a batch."""
    if config.layout == "packed":
        return pack(batch).ids.numel()
    return len(batch) * _longest(batch)


def least_seconds(
    lm: LanguageModel, examples: Sequence[Example], config: FineTune
) -> float:
    """Return a lower bound on the duration of training in seconds, measured on one batch.

    One forward and backward pass through frozen weights is timed, and the faster of two
    measurements is used. The rest of an update (logits, gradients of the weights,
    the optimizer, writing texts to replay) only adds to this time. The model is not
    changed.

    Args:
        lm: The model.
        examples: Examples to train on.
        config: Settings of the fine-tuning.

    Returns:
        Lower bound on the time of all updates of all epochs, in seconds.

    Raises:
        DataError: There are no examples, or an example has no tokens to train on.

    Example:
        >>> from inweights.lm import load_model
        >>> facts = [Example("Rome is in", " Italy."), Example("Oslo is in", " Norway.")] * 10
        >>> 0 < least_seconds(load_model("@tiny"), facts, FineTune(epochs=3)) < 60
        True
    """
    encoded = encode(lm, examples, end=config.end)
    batches = _batches(encoded, config)
    positions = sum(_positions(batch, config) for batch in batches)
    rows = len(batches[0])
    width = _longest(batches[0])
    few = {"logits_to_keep": 1} if accepts(lm.model, "logits_to_keep") else {}
    ids = torch.full((rows, width), encoded[0].ids[0], device=lm.device)
    trained = [weight for weight in lm.model.parameters() if weight.requires_grad]
    times = []
    try:
        # For a lower bound, gradients of the weights are not needed. They would take as
        # much memory as the weights.
        for weight in trained:
            weight.requires_grad_(False)
        # The first call may be slower, because it prepares data for later calls.
        for _ in range(2):
            began = time.perf_counter()
            given = lm.model.get_input_embeddings()(ids).detach().requires_grad_()
            lm.model(inputs_embeds=given, **few).logits.sum().backward()
            times.append(time.perf_counter() - began)
    finally:
        for weight in trained:
            weight.requires_grad_(True)
    return min(times) / (rows * width) * positions * (1 + config.replay)


def cost_of(
    lm: LanguageModel,
    examples: Sequence[Example],
    config: FineTune,
    *,
    steps: int = 20,
    each: float = 0.0,
) -> Cost:
    """Estimate the time of a fine-tuning run from some of its updates, which change the model.

    The first two updates are slower and are not included in the estimate.

    Args:
        lm: The model, which must not be used afterwards.
        examples: Examples to train on.
        config: Settings of the fine-tuning.
        steps: Maximum number of updates to time; by default 20.
        each: :attr:`Cost.each`, if it is known from other examples. In this case
            nothing is timed, and the model is not changed. If it is 0 (the default),
            updates are timed.

    Returns:
        Sizes and estimated time of the whole fine-tuning.

    Raises:
        ConfigError: The method is ``lora`` and ``peft`` is not installed.
        DataError: There are no examples, or an example has no tokens to train on.
        RunError: The loss is not a finite number.

    Example:
        >>> from inweights.lm import load_model
        >>> facts = [Example("Rome is in", " Italy."), Example("Oslo is in", " Norway.")] * 10
        >>> found = cost_of(load_model("@tiny"), facts, FineTune(method="full", epochs=3))
        >>> found.rows, found.updates, found.seconds > 0
        (20, 6, True)
    """
    encoded = encode(lm, examples, end=config.end)
    tokens = sum(len(row.ids) for row in encoded)
    # Padding is computed for the batches of all rows, because batches of the few
    # measured rows have more of it.
    batches = _batches(encoded, config)
    positions = sum(len(batch) * _longest(batch) for batch in batches)
    is_padded = config.layout == "padded"
    padding = 1 - config.epochs * tokens / positions if is_padded else 0.0
    size = Cost(
        len(examples), tokens, config.epochs, len(batches), each * tokens, padding
    )
    if each:
        return size
    once = size.updates // config.epochs
    # The measured rows are spread over all examples, because lengths differ between
    # kinds of text.
    few = min(len(examples), max(1, len(examples) * (steps + 2) // once))
    rows = [examples[i * len(examples) // few] for i in range(few)]
    epochs = max(1, -(-(steps + 2) // max(1, once)))
    own = own_text(lm, _OWN, 0) if config.replay else []
    brief = structs.replace(config, until=0.0, epochs=min(epochs, config.epochs))
    times: list[float] = []
    done = finetune(
        lm,
        [*rows, *own],
        brief,
        progress=lambda *_: times.append(time.perf_counter()),
    )
    # The first updates are not counted: they are slower, because memory is reserved for
    # them.
    skipped = min(2, len(times) - 1)
    measured = times[skipped:]
    if len(measured) > 1:
        each = (measured[-1] - measured[0]) / (len(measured) - 1)
    else:
        each = done.seconds / len(times)
    return replace(size, seconds=size.updates * each)
