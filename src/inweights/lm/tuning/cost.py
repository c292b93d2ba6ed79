"""Estimate the cost of a fine-tuning on this machine, measured on a few of its updates.

:func:`cost_of` returns a :class:`Cost`, :func:`least_seconds` a quick lower bound; the
command ``inweights finetune`` shows them before it starts.
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
from inweights.lm.tuning.writing import own_text

#: Tokens of the model's own text that stand for all of it in the measured updates.
_OWN = 200


@dataclass(frozen=True)
class Cost:
    """Cost of a fine-tuning, if it makes all its epochs.

    Attributes:
        rows: Number of examples.
        tokens: Tokens of one pass over them.
        epochs: Maximum number of passes.
        updates: Updates of all passes.
        seconds: Time of all updates, without the preparation.
        padding: Share of the positions that are padding, where nothing is replayed.
    """

    rows: int
    tokens: int
    epochs: int
    updates: int
    seconds: float
    padding: float

    @property
    def each(self) -> float:
        """Seconds per token of one pass, over all epochs."""
        return self.seconds / self.tokens


def _batches(encoded: Sequence[Encoded], config: FineTune) -> list[list[Encoded]]:
    """What each update of a fine-tuning reads, in one possible order."""
    found: list[list[Encoded]] = []
    for stage in stages_of(encoded, config):
        found += stage.order(config, 0)
    return found


def _longest(batch: Sequence[Encoded]) -> int:
    return max(len(row.ids) for row in batch)


def least_seconds(
    lm: LanguageModel, examples: Sequence[Example], config: FineTune
) -> float:
    """Return a lower bound on the seconds that training takes, measured on one batch.

    Forward and backward through frozen weights, the faster of two: what is left out of
    an update (gradients of the weights, the optimizer, writing texts to replay) only
    adds to it. The model is not changed.

    Args:
        lm: The model.
        examples: Examples to train on.
        config: Settings of the fine-tuning.

    Raises:
        DataError: There are no examples, or one has nothing to learn.

    Example:
        >>> from inweights.lm import load_model
        >>> facts = [Example("Rome is in", " Italy."), Example("Oslo is in", " Norway.")] * 10
        >>> 0 < least_seconds(load_model("@tiny"), facts, FineTune(epochs=3)) < 60
        True
    """
    encoded = encode(lm, examples, end=config.end)
    batches = _batches(encoded, config)
    widths = list(map(_longest, batches))
    positions = sum(
        len(batch) * width for batch, width in zip(batches, widths, strict=True)
    )
    rows = len(batches[0])
    width = widths[0]
    ids = torch.full((rows, width), encoded[0].ids[0], device=lm.device)
    trained = [weight for weight in lm.model.parameters() if weight.requires_grad]
    times = []
    try:
        # A lower bound does without gradients of weights, which would take as much
        # memory as these.
        for weight in trained:
            weight.requires_grad_(False)
        # The first call may prepare what all others use.
        for _ in range(2):
            began = time.perf_counter()
            given = lm.model.get_input_embeddings()(ids).detach().requires_grad_()
            lm.model(inputs_embeds=given, labels=ids).loss.backward()
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
    """Train for some updates and return what all of them would take. Changes the model.

    The first two updates are slower, and are left out of the time.

    Args:
        lm: The model, not to be used afterwards.
        examples: Examples to train on.
        config: Settings of the fine-tuning.
        steps: Maximum number of measured updates.
        each: Seconds per token (:attr:`Cost.each`), where known from other examples;
            then nothing is measured. 0, the default, measures.

    Returns:
        Sizes and seconds of the whole fine-tuning.

    Raises:
        ConfigError: The method is ``lora`` and ``peft`` is not installed.
        DataError: There are no examples, or one has nothing to learn.
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
    # Of all batches: those of the few measured rows have more padding.
    batches = _batches(encoded, config)
    positions = sum(len(batch) * _longest(batch) for batch in batches)
    padding = 1 - config.epochs * tokens / positions
    size = Cost(
        len(examples), tokens, config.epochs, len(batches), each * tokens, padding
    )
    if each:
        return size
    once = size.updates // config.epochs
    # Spread over all, as lengths differ from one kind of text to the next.
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
    # The first updates are slower, as memory is reserved for them.
    skipped = min(2, len(times) - 1)
    measured = times[skipped:]
    if len(measured) > 1:
        each = (measured[-1] - measured[0]) / (len(measured) - 1)
    else:
        each = done.seconds / len(times)
    return replace(size, seconds=size.updates * each)
