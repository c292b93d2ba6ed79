"""Make one update of a fine-tuning run: the loss on examples, and the divergence on replayed texts.

The loop of :func:`inweights.lm.finetune` calls :func:`update`. :func:`remembered`
stores the model's predictions before training, from which :func:`drift` measures the
divergence.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from inweights.lm.model.data import Encoded
from inweights.lm.model.load import LanguageModel
from inweights.lm.tuning.fine_tune import FineTune
from inweights.lm.tuning.updates.reading import Reader, read_padded

#: Maximum number of replayed texts that are read at the same time.
_TOGETHER = 16
#: Number of most likely next tokens whose probabilities are stored at each position.
_LIKELY = 32


def update(
    lm: LanguageModel,
    net: Any,
    optimizer: torch.optim.Optimizer,
    rows: list[Encoded],
    config: FineTune,
    accelerator: Any,
    read: Reader = read_padded,
) -> tuple[float, dict[str, float]]:
    """Update the weights once on all processes, and return the loss of the batch.

    Args:
        lm: The model, with its tokenizer.
        net: The model to call, with adapters and with accelerate's wrapper, if any.
        optimizer: Optimizer with one group of parameters, the trained weights.
        rows: Examples of the batch, followed by the texts that are replayed.
        config: Settings of the fine-tuning.
        accelerator: Accelerator of several processes; ``None`` for a single process.
        read: Function that runs the model on examples; by default :func:`read_padded`,
            which pads the examples to the same length.

    Returns:
        Two values: the mean loss in nats per token to which the loss applies, over the
        examples on all processes (replayed texts are not included); and a dictionary
        with the number of examples (``new``) and the number of examples that were known
        before the update (``known``, see :attr:`FineTune.until`). The dictionary is
        empty if ``config.until`` is 0.
    """
    trained = optimizer.param_groups[0]["params"]
    device = trained[0].device
    optimizer.zero_grad(set_to_none=True)
    total = sum(len(row.ids) - row.start for row in rows)
    new = [row for row in rows if not row.old]
    learnt = sum(len(row.ids) - row.start for row in new)
    mean_loss = torch.zeros((), device=device)
    known = torch.zeros((), device=device)
    kept = [row for row in rows if row.old]
    half = config.precision == "bf16"
    for part, of in ((new, _loss), (kept, drift)):
        if not part:
            continue
        mine = part
        if accelerator:
            mine = part[accelerator.process_index :: accelerator.num_processes]
        # If there are fewer examples than processes, a process without one computes the
        # loss of the first example with weight 0.
        share = 1.0 if mine else 0.0
        with torch.autocast(device.type, torch.bfloat16, enabled=half):
            summed, right = of(lm, net, mine or part[:1], device, read)
        loss = share * summed / total
        if accelerator:
            # The factor compensates for the averaging of gradients over processes.
            accelerator.backward(loss * accelerator.num_processes)
            loss = accelerator.reduce(loss.detach(), "sum")
            right = accelerator.reduce(share * right, "sum")
        else:
            loss.backward()
        if of is _loss:
            # The loss of the update is a mean over all tokens to which a loss applies;
            # the reported loss is a mean over those of the examples.
            mean_loss = loss.detach() * total / learnt
            known = right
    if config.clip:
        torch.nn.utils.clip_grad_norm_(trained, config.clip)
    optimizer.step()
    counts: dict[str, float] = {}
    if config.until:
        counts = {"known": float(known), "new": float(len(new))}
    return float(mean_loss), counts


def drift(
    lm: LanguageModel,
    net: Any,
    rows: Sequence[Encoded],
    device: torch.device,
    read: Reader = read_padded,
) -> tuple[Tensor, Tensor]:
    """Compute the KL divergence from the earlier to the current predictions on replayed texts.

    All tokens except the 32 that were most likely before training are treated as a
    single token.

    Args:
        lm: The model, with its tokenizer.
        net: The model to call, with adapters, if any.
        rows: Replayed texts, with the predictions that :func:`remembered` stored.
        device: Torch device of the model.
        read: Function that runs the model on texts; by default :func:`read_padded`,
            which pads the texts to the same length.

    Returns:
        Two tensors with one number each: the divergence in nats, summed over tokens,
        and a zero in place of the number of known examples.
    """
    logits = read(lm, net, rows, device).logits
    pairs = [row.likely for row in rows if row.likely is not None]
    tokens = torch.cat([noted for noted, _ in pairs]).to(device)
    before = torch.cat([logs for _, logs in pairs]).to(device)
    now = logits.float().log_softmax(-1).gather(1, tokens)
    # Remaining probability of all other tokens, before training and now.
    left = (1 - before.exp().sum(1)).clamp(min=1e-6)
    left_now = (1 - now.exp().sum(1)).clamp(min=1e-6)
    likely = (before.exp() * (before - now)).sum()
    unlikely = (left * (left.log() - left_now.log())).sum()
    return likely + unlikely, torch.zeros((), device=device)


def remembered(
    lm: LanguageModel, encoded: Sequence[Encoded], read: Reader = read_padded
) -> list[Encoded]:
    """Return the examples with the model's predictions on the texts that will be replayed.

    Args:
        lm: The model before training.
        encoded: Examples and texts to replay.
        read: Function that runs the model on texts; by default :func:`read_padded`,
            which pads the texts to the same length.

    Returns:
        The examples and texts in their order. Texts to replay (``old``) have
        ``likely`` set: the 32 most likely tokens and their log-probabilities, for each
        token to which the loss applies.
    """
    rows = list(encoded)
    old = [i for i, row in enumerate(rows) if row.old]
    for at in range(0, len(old), _TOGETHER):
        block = old[at : at + _TOGETHER]
        texts = [rows[i] for i in block]
        with torch.no_grad():
            # Only the most likely tokens are stored: at up to 50,000 positions, the
            # logarithms of a whole vocabulary would take gigabytes.
            logits = read(lm, lm.model, texts, lm.device).logits
            values, tokens = logits.float().log_softmax(-1).topk(_LIKELY, dim=-1)
        sizes = [len(text.ids) - text.start for text in texts]
        parts = zip(block, tokens.split(sizes), values.split(sizes), strict=True)
        for i, token, value in parts:
            likely = (token.clone().cpu(), value.clone().cpu())
            rows[i] = replace(rows[i], likely=likely)
    return rows


def _loss(
    lm: LanguageModel,
    net: Any,
    rows: Sequence[Encoded],
    device: torch.device,
    read: Reader,
) -> tuple[Tensor, Tensor]:
    """Return the summed loss, and the number of examples with correctly predicted completions."""
    found = read(lm, net, rows, device)
    is_wrong = found.logits.detach().argmax(-1) != found.targets
    known = len(rows) - found.example[is_wrong].unique().numel()
    summed = F.cross_entropy(found.logits.float(), found.targets, reduction="sum")
    return summed, torch.tensor(known, device=device)
