"""Fine-tuning on facts: one loop, top to bottom, that resumes bit for bit on a CPU.

Started by ``accelerate launch``, the same loop trains on several devices: each takes its share of
every batch, and the loss is a mean over the tokens of all of them.
"""

from __future__ import annotations

import inspect
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl
import torch
from torch import Tensor
from torch.nn import functional as F

from inweights.config import digest, to_dict
from inweights.errors import ConfigError, RunError
from inweights.lm.adapters import adapted
from inweights.lm.data import Encoded, Example, batches, encode, padded
from inweights.lm.fine_tune import FineTune
from inweights.lm.load import LanguageModel
from inweights.lm.replay import replayed
from inweights.lm.state import fingerprint, flat, moments, restore, unflatten
from inweights.progress import Progress
from inweights.training.checkpoint import State, StateFile

__all__ = ["FineTune", "FineTuned", "finetune", "remembered", "steps_of"]

#: Texts to keep that are read at the same time, and next tokens that are noted at each place.
_TOGETHER, _LIKELY = 16, 32


@dataclass(frozen=True, eq=False)
class FineTuned:
    """What :func:`finetune` did; the model itself was changed.

    Attributes:
        losses: ``stage, step, loss`` (nats a token of the completions), a row an update; with
            ``until`` also ``known`` of how many (``new``) of its examples.
        tokens: Tokens that the model read, without padding.
        padding: Share of places that were padding.
        seconds: Time that this call took.
        known: With ``until``: of each stage the share of its examples that was known in its last
            epoch.
    """

    losses: pl.DataFrame
    tokens: int
    padding: float
    seconds: float
    known: dict[int, float] = field(default_factory=dict)


@dataclass
class _Stage:
    """Examples that are trained together."""

    name: int
    rows: list[Encoded]
    old: list[Encoded]
    steps: int = field(init=False, default=0)
    #: Updates of one epoch.
    epoch: int = field(init=False, default=0)

    def order(self, config: FineTune, seed: int) -> Iterator[list[Encoded]]:
        """Yield what each update learns, and beside it texts to keep, one after the other."""
        each = 0
        if self.old:
            wanted = config.replay * _tokens(self.rows) / self.epoch
            each = max(1, round(wanted * len(self.old) / _tokens(self.old)))
        update = 0
        for epoch in range(config.epochs):
            for batch in batches(self.rows, config.batch_tokens, seed, epoch, self.name):
                places = range(update * each, (update + 1) * each)
                kept = [self.old[i % len(self.old)] for i in places]
                yield [self.rows[i] for i in batch] + kept
                update += 1


def steps_of(encoded: Sequence[Encoded], config: FineTune) -> int:
    """Return the number of updates of all stages.

    Example:
        >>> steps_of([Encoded((0,) * 6, 1)] * 4, FineTune(epochs=3, batch_tokens=12))
        6
    """
    return sum(stage.steps for stage in _stages(encoded, config))


def finetune(
    lm: LanguageModel,
    examples: Sequence[Example],
    config: FineTune | None = None,
    *,
    seed: int = 0,
    checkpoint: str | Path | None = None,
    every_seconds: float = 300.0,
    every_steps: int = 0,
    keep: bool = False,
    adapter: Path | None = None,
    record: Callable[[int, dict[str, float]], None] | None = None,
    passed: Callable[[int, int, Any], None] | None = None,
    progress: Progress | None = None,
) -> FineTuned:
    """Train a model on the completions of examples, stage after stage. Changes the model.

    Where there is a checkpoint, SIGINT, SIGTERM and SIGHUP end the update at hand, write it and
    raise ``KeyboardInterrupt``; a second one stops at once.

    Args:
        lm: The model.
        examples: What to train on.
        config: How.
        seed: Root seed of the order and of the adapters.
        checkpoint: File that an interrupted call goes on from, with the same arguments; removed
            at the end. Holds what is trained and the optimizer: three times the trained weights.
        every_seconds: Time between two writes of it.
        every_steps: Write at every multiple of this many updates instead, where it is above 0.
        keep: Whether the file stays, for a caller who removes it once the model is written.
        adapter: Folder to write the adapters of ``lora`` to before they are merged, as ``peft``
            reads them.
        record: Given the number of each update, and its ``loss`` and ``rate``.
        passed: Given, after each epoch, its number over all stages, how many there are, and the
            model with its adapters.
        progress: Told about every update.

    Raises:
        ConfigError: ``lora`` is asked for and ``peft`` is not installed.
        DataError: An example has nothing to learn.
        RunError: The checkpoint is of another run, or the loss is not a number.

    Example:
        >>> from inweights.lm import load_model
        >>> lm, fact = load_model("@tiny"), Example("Rome is in", " Italy.")
        >>> done = finetune(lm, [fact], FineTune(method="full", rate=1e-2, epochs=20))
        >>> bool(done.losses["loss"][-1] < done.losses["loss"][0]), done.tokens
        (True, 360)
    """
    config = config or FineTune()
    started = time.monotonic()
    accelerator = _accelerator()
    more = [] if any(e.old for e in examples) else replayed(lm, examples, config, seed)
    encoded = remembered(lm, encode(lm, [*examples, *more], end=config.end))
    stages = _stages(encoded, config)
    total = sum(stage.steps for stage in stages)
    key = digest(
        [to_dict(config), seed, fingerprint(lm.model), [(e.ids, e.start) for e in encoded]]
    )
    keeper = None
    if checkpoint is not None:
        keeper = StateFile(
            State, checkpoint, key=key, every_seconds=every_seconds, every_steps=every_steps
        )
    read = places = 0
    first_process = accelerator is None or accelerator.is_main_process
    kept = adapter if first_process else None
    with (
        adapted(lm.model, config.method, config.rank, config.alpha, seed, keep=kept) as model,
        _stopping(keeper is not None) as stopping,
    ):
        trained = [p for p in model.parameters() if p.requires_grad]
        state = keeper.read(trained[0].device) if keeper else None
        losses = list(state.tables["losses"]) if state else []
        done = state.total if state else 0
        if state:
            unflatten(trained, state.values)
        for index, stage in enumerate(stages):
            if state and index < state.phase:
                continue
            first = state.step if state and index == state.phase else 0
            optimizer = torch.optim.AdamW(
                trained, lr=config.rate, weight_decay=config.weight_decay, fused=True
            )
            if state and index == state.phase:
                restore(optimizer, trained, state.optimizer)
            net, optimizer = (
                accelerator.prepare(model, optimizer) if accelerator else (model, optimizer)
            )
            recorded: list[dict[str, float]] = []
            for step, rows in enumerate(stage.order(config, seed)):
                over = step >= max(first, 1) and step % stage.epoch == 0
                if over and config.until:
                    lately = pl.concat([*losses, *([pl.DataFrame(recorded)] if recorded else [])])
                    if _known(lately, stage) >= config.until:
                        break
                read += sum(len(row.ids) for row in rows)
                places += len(rows) * max(len(row.ids) for row in rows)
                if step < first:
                    continue
                rate = config.rate * config.factor(step, stage.steps)
                for group in optimizer.param_groups:
                    group["lr"] = rate
                loss, known = _update(lm, net, optimizer, trained, rows, config, accelerator)
                if not math.isfinite(loss):
                    raise RunError(
                        f"the loss of update {done + 1} is {loss}; lower the rate "
                        f"({config.rate:g}) or take precision fp32"
                    )
                done += 1
                recorded.append({"stage": stage.name, "step": done, "loss": loss} | known)
                if record and first_process:
                    record(done, {"loss": loss, "rate": rate})
                if progress:
                    progress(done, total, f"stage {stage.name}: loss {loss:.3f}")
                if passed and (step + 1) % stage.epoch == 0:
                    before = index * config.epochs
                    epochs = len(stages) * config.epochs
                    passed(before + (step + 1) // stage.epoch, epochs, model)
                due = keeper and keeper.due(done) and step + 1 < stage.steps
                if keeper and (due or stopping.is_set()):
                    losses, recorded = [*losses, pl.DataFrame(recorded)], []
                    if first_process:
                        keeper.write(
                            State(
                                phase=index,
                                step=step + 1,
                                total=done,
                                values=flat(trained),
                                optimizer=moments(optimizer, trained),
                                tables={"losses": losses},
                            )
                        )
                    if stopping.is_set():
                        raise KeyboardInterrupt
            if recorded:
                losses.append(pl.DataFrame(recorded))
            if accelerator:
                accelerator.free_memory()
    if keeper and not keep and first_process:
        keeper.clear()
    whole = pl.concat(losses)
    shares = {stage.name: _known(whole, stage) for stage in stages} if config.until else {}
    return FineTuned(whole, read, 1 - read / places, time.monotonic() - started, shares)


@contextmanager
def _stopping(wanted: bool) -> Iterator[threading.Event]:
    """Give what signals to stop set, where this thread may listen; a second one interrupts."""
    asked = threading.Event()

    def ask(*_: Any) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    if not wanted or threading.current_thread() is not threading.main_thread():
        yield asked
        return
    names = ("SIGINT", "SIGTERM", "SIGHUP")
    known = [n for n in signal.Signals if n.name in names and signal.getsignal(n) != signal.SIG_IGN]
    before = {number: signal.signal(number, ask) for number in known}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _known(losses: pl.DataFrame, stage: _Stage) -> float:
    """Share of the examples of a stage that was known in its last epoch."""
    lately = losses.filter(pl.col("stage") == stage.name).tail(stage.epoch)
    return float(lately["known"].sum()) / float(lately["new"].sum())


def _stages(encoded: Sequence[Encoded], config: FineTune) -> list[_Stage]:
    parts: dict[int, tuple[list[Encoded], list[Encoded]]] = {}
    for row in encoded:
        parts.setdefault(row.stage, ([], []))[row.old].append(row)
    stages = [_Stage(name, *parts[name]) for name in sorted(parts)]
    for stage in stages:
        # Lengths alone decide how many, so that each epoch has as many.
        stage.epoch = sum(1 for _ in batches(stage.rows, config.batch_tokens, 0, 0, stage.name))
        stage.steps = config.epochs * stage.epoch
    return stages


def _tokens(rows: Sequence[Encoded]) -> int:
    return sum(len(row.ids) for row in rows)


def _accelerator() -> Any:
    """What accelerate knows of the other processes, where it started this one; else nothing."""
    if int(os.environ.get("WORLD_SIZE", "1")) < 2:
        return None
    try:
        from accelerate import Accelerator
    except ImportError:
        raise ConfigError("several processes need accelerate: pip install accelerate") from None
    return Accelerator()


def _update(
    lm: LanguageModel,
    net: Any,
    optimizer: torch.optim.Optimizer,
    trained: list[Tensor],
    rows: list[Encoded],
    config: FineTune,
    accelerator: Any,
) -> tuple[float, dict[str, float]]:
    """One update; returns the mean loss over the tokens that are learnt, of all processes.

    With ``until`` also how many examples are ``new``, and ``known`` of them.
    """
    device = trained[0].device
    optimizer.zero_grad(set_to_none=True)
    total = sum(len(row.ids) - row.start for row in rows)
    new = [row for row in rows if not row.old]
    learnt = sum(len(row.ids) - row.start for row in new)
    told, known = torch.zeros((), device=device), torch.zeros((), device=device)
    for part, of in ((new, _loss), ([row for row in rows if row.old], _drift)):
        if not part:
            continue
        mine = part[accelerator.process_index :: accelerator.num_processes] if accelerator else part
        share = 1.0 if mine else 0.0  # a batch may have fewer examples than there are processes
        with torch.autocast(device.type, torch.bfloat16, enabled=config.precision == "bf16"):
            summed, right = of(lm, net, mine or part[:1], device)
        loss = share * summed / total
        if accelerator:
            # Gradients are averaged over processes.
            accelerator.backward(loss * accelerator.num_processes)
            loss, right = (accelerator.reduce(x, "sum") for x in (loss.detach(), share * right))
        else:
            loss.backward()
        if of is _loss:
            told, known = loss.detach() * total / learnt, right
    if config.clip:
        torch.nn.utils.clip_grad_norm_(trained, config.clip)
    optimizer.step()
    return float(told), {"known": float(known), "new": float(len(new))} if config.until else {}


def _loss(
    lm: LanguageModel, net: Any, rows: list[Encoded], device: torch.device
) -> tuple[Tensor, Tensor]:
    """Summed loss, and how many rows are known: each token that is learnt is the likeliest."""
    logits, learnt, told = _logits(lm, net, rows, device)
    right = torch.ones_like(learnt)
    right[learnt] = logits.detach()[learnt].argmax(-1) == told[learnt]
    summed = F.cross_entropy(logits[learnt].float(), told[learnt], reduction="sum")
    return summed, right.all(1).sum()


def _drift(
    lm: LanguageModel, net: Any, rows: list[Encoded], device: torch.device
) -> tuple[Tensor, Tensor]:
    """Summed divergence KL(before, now) of the next tokens; what is unlikely counts as one."""
    logits, learnt, _ = _logits(lm, net, rows, device)
    pairs = [row.likely for row in rows if row.likely is not None]
    tokens, before = (torch.cat(part).to(device) for part in zip(*pairs, strict=True))
    now = logits[learnt].float().log_softmax(-1).gather(1, tokens)
    rest = [(1 - x.exp().sum(1)).clamp(min=1e-6) for x in (before, now)]
    likely = (before.exp() * (before - now)).sum()
    unlikely = (rest[0] * (rest[0].log() - rest[1].log())).sum()
    return likely + unlikely, torch.zeros((), device=device)


def _logits(
    lm: LanguageModel, net: Any, rows: list[Encoded], device: torch.device
) -> tuple[Tensor, Tensor, Tensor]:
    """What the model says of the tokens from the first that is learnt, which are, and all of them.

    Padding stands on the right, where no token that counts can see it.
    """
    table, real = padded([row.ids for row in rows], lm.tokenizer.pad_token_id)
    ids = torch.from_numpy(table).to(device)
    starts = torch.tensor([row.start for row in rows], device=device)
    at = torch.arange(int(starts.min()), ids.shape[1], device=device)
    learnt = (at[None] >= starts[:, None]) & torch.from_numpy(real).to(device)[:, at].bool()
    if "logits_to_keep" in inspect.signature(lm.model.forward).parameters:
        logits = net(input_ids=ids, use_cache=False, logits_to_keep=at - 1).logits
    else:
        logits = net(input_ids=ids, use_cache=False).logits[:, at - 1]
    return logits, learnt, ids[:, at]


def remembered(lm: LanguageModel, encoded: Sequence[Encoded]) -> list[Encoded]:
    """Note what the model says next at each place of the texts that are to be kept."""
    rows = list(encoded)
    old = [i for i, row in enumerate(rows) if row.old]
    for at in range(0, len(old), _TOGETHER):
        block = old[at : at + _TOGETHER]
        with torch.no_grad():
            logits, learnt, _ = _logits(lm, lm.model, [rows[i] for i in block], lm.device)
            values, tokens = logits.float().log_softmax(-1).topk(_LIKELY, dim=-1)
        for i, mask, value, token in zip(block, learnt, values, tokens, strict=True):
            likely = (token[mask].clone().cpu(), value[mask].clone().cpu())
            rows[i] = replace(rows[i], likely=likely)
    return rows
