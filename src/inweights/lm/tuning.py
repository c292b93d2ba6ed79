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
from dataclasses import dataclass, field
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

__all__ = ["FineTune", "FineTuned", "finetune", "steps_of"]


@dataclass(frozen=True, eq=False)
class FineTuned:
    """What :func:`finetune` did; the model itself was changed.

    Attributes:
        losses: ``stage, step, loss`` (nats a token of the completions), a row an update.
        tokens: Tokens that the model read, without padding.
        padding: Share of places that were padding.
        seconds: Time that this call took.
    """

    losses: pl.DataFrame
    tokens: int
    padding: float
    seconds: float


@dataclass
class _Stage:
    """Examples that are trained together."""

    name: int
    rows: list[Encoded]
    steps: int = field(init=False, default=0)

    def order(self, config: FineTune, seed: int) -> Iterator[list[int]]:
        for epoch in range(config.epochs):
            yield from batches(self.rows, config.batch_tokens, seed, epoch, self.name)


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
    encoded = encode(lm, [*examples, *replayed(lm, examples, config, seed)], end=config.end)
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
            for step, batch in enumerate(stage.order(config, seed)):
                rows = [stage.rows[i] for i in batch]
                read += sum(len(row.ids) for row in rows)
                places += len(rows) * max(len(row.ids) for row in rows)
                if step < first:
                    continue
                rate = config.rate * config.factor(step, stage.steps)
                for group in optimizer.param_groups:
                    group["lr"] = rate
                loss = _update(lm, net, optimizer, trained, rows, config, accelerator)
                if not math.isfinite(loss):
                    raise RunError(
                        f"the loss of update {done + 1} is {loss}; lower the rate "
                        f"({config.rate:g}) or take precision fp32"
                    )
                done += 1
                recorded.append({"stage": stage.name, "step": done, "loss": loss})
                if record and first_process:
                    record(done, {"loss": loss, "rate": rate})
                if progress:
                    progress(done, total, f"stage {stage.name}: loss {loss:.3f}")
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
    return FineTuned(pl.concat(losses), read, 1 - read / places, time.monotonic() - started)


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
    listened = [signal.SIGINT, signal.SIGTERM]
    hangup = getattr(signal, "SIGHUP", None)
    if hangup and signal.getsignal(hangup) is not signal.SIG_IGN:  # as nohup leaves it
        listened.append(hangup)
    before = {number: signal.signal(number, ask) for number in listened}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stages(encoded: Sequence[Encoded], config: FineTune) -> list[_Stage]:
    names = sorted({row.stage for row in encoded})
    stages = [_Stage(name, [row for row in encoded if row.stage == name]) for name in names]
    for stage in stages:
        # Lengths alone decide how many, so that each epoch has as many.
        once = sum(1 for _ in batches(stage.rows, config.batch_tokens, 0, 0, stage.name))
        stage.steps = config.epochs * once
    return stages


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
) -> float:
    """One update; returns the mean loss over the tokens that are learnt, of all processes."""
    everything = sum(len(row.ids) - row.start for row in rows)
    mine = rows[accelerator.process_index :: accelerator.num_processes] if accelerator else rows
    share = 1.0 if mine else 0.0  # a batch may have fewer examples than there are processes
    device = trained[0].device
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast(device.type, torch.bfloat16, enabled=config.precision == "bf16"):
        loss = share * _loss(lm, net, mine or rows[:1], device) / everything
    if accelerator:
        # Gradients are averaged over processes.
        accelerator.backward(loss * accelerator.num_processes)
        loss = accelerator.reduce(loss.detach(), "sum")
    else:
        loss.backward()
    if config.clip:
        torch.nn.utils.clip_grad_norm_(trained, config.clip)
    optimizer.step()
    return float(loss.detach())


def _loss(lm: LanguageModel, net: Any, rows: list[Encoded], device: torch.device) -> Tensor:
    """Summed loss. Padding stands on the right, where no token that counts can see it."""
    table, real = padded([row.ids for row in rows], lm.tokenizer.pad_token_id)
    ids = torch.from_numpy(table).to(device)
    starts = torch.tensor([row.start for row in rows], device=device)
    at = torch.arange(int(starts.min()), ids.shape[1], device=device)
    learnt = (at[None] >= starts[:, None]) & torch.from_numpy(real).to(device)[:, at].bool()
    if "logits_to_keep" in inspect.signature(lm.model.forward).parameters:
        logits = net(input_ids=ids, use_cache=False, logits_to_keep=at - 1).logits
    else:
        logits = net(input_ids=ids, use_cache=False).logits[:, at - 1]
    return F.cross_entropy(logits[learnt].float(), ids[:, at][learnt], reduction="sum")
