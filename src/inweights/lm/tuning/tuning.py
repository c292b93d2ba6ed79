"""Fine-tune a language model on facts: one loop that resumes bit for bit on a CPU.

:func:`finetune` changes the model and returns :class:`FineTuned`;
:func:`inweights.lm.finetune_to` calls it from files to a folder. Started by
``accelerate launch``, the same loop trains on several devices: each takes its share of every
batch, and the loss is a mean over the tokens of all of them.
"""

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

from inweights.config import digest, to_plain
from inweights.errors import ConfigError, RunError
from inweights.lm.model.data import Example, encode
from inweights.lm.model.load import LanguageModel
from inweights.lm.model.state import fingerprint, flat, moments, restore, unflatten
from inweights.lm.tuning.adapters import adapted
from inweights.lm.tuning.fine_tune import FineTune
from inweights.lm.tuning.objective import remembered, update
from inweights.lm.tuning.stages import stages_of
from inweights.lm.tuning.writing import replayed
from inweights.support.progress import Progress
from inweights.training.checkpoint import State, StateFile
from inweights.training.observers import Observer, Step

__all__ = ["FineTune", "FineTuned", "finetune"]


@dataclass(frozen=True, eq=False)
class FineTuned:
    """Result of :func:`finetune`; the model itself was changed.

    Attributes:
        losses: ``stage, step, loss`` (nats per token of the completions), a row per update;
            with ``until`` also the number of its examples (``new``) and how many were
            ``known``.
        tokens: Tokens that the model read, without padding.
        padding: Share of positions that were padding.
        seconds: Wall-clock time of this call.
        known: With ``until``: by stage the share of its examples that was known in its last
            epoch.
    """

    losses: pl.DataFrame
    tokens: int
    padding: float
    seconds: float
    known: dict[int, float] = field(default_factory=dict)


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
    observers: Sequence[Observer] = (),
    passed: Callable[[int, int, Any], None] | None = None,
    progress: Progress | None = None,
) -> FineTuned:
    """Train a model on the completions of examples, stage after stage. Changes the model.

    Where there is a checkpoint, SIGINT, SIGTERM and SIGHUP end the present update, write it
    and raise ``KeyboardInterrupt``; a second one stops at once.

    Args:
        lm: The model.
        examples: Examples to train on.
        config: Settings; ``FineTune()`` by default.
        seed: Root seed of the order and of the adapters.
        checkpoint: File from which an interrupted call continues, with the same arguments;
            removed at the end. Holds trained weights and optimizer: three times the trained
            weights. None does not write one.
        every_seconds: Time between two writes of it.
        every_steps: Write at every multiple of this number of updates instead, where it is
            above 0.
        keep: Whether the file stays, for a caller who removes it once the model is written.
        adapter: Folder to write the adapters of ``lora`` to before they are merged, as
            ``peft`` reads them. None does not write them.
        observers: Observers of each update's loss and rate (:class:`inweights.training.Step`).
        passed: Called after each epoch with its number over all stages, how many there are,
            and the model with its adapters.
        progress: Called after each update with its number, their total and a text.

    Returns:
        Losses and sizes.

    Raises:
        ConfigError: The method is ``lora`` and ``peft`` is not installed.
        DataError: There are no examples, or one has nothing to learn.
        RunError: The checkpoint is of another run, or the loss is not a finite number.
        KeyboardInterrupt: A signal stopped the training.

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
    stages = stages_of(encoded, config)
    total = sum(stage.steps for stage in stages)
    key = digest(
        [to_plain(config), seed, fingerprint(lm.model), [(e.ids, e.start) for e in encoded]]
    )
    keeper = None
    if checkpoint is not None:
        keeper = StateFile(
            State, checkpoint, key=key, every_seconds=every_seconds, every_steps=every_steps
        )
    read = places = 0
    first_process = accelerator is None or accelerator.is_main_process
    watching = observers if first_process else ()
    kept = adapter if first_process else None
    with (
        adapted(lm.model, config, seed, keep=kept) as model,
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
                    if stage.known(lately) >= config.until:
                        break
                read += sum(len(row.ids) for row in rows)
                for part in ([r for r in rows if not r.old], [r for r in rows if r.old]):
                    places += len(part) * max((len(row.ids) for row in part), default=0)
                if step < first:
                    continue
                rate = config.rate * config.factor(step, stage.steps)
                for group in optimizer.param_groups:
                    group["lr"] = rate
                loss, known = update(lm, net, optimizer, trained, rows, config, accelerator)
                if not math.isfinite(loss):
                    raise RunError(
                        f"the loss of update {done + 1} is {loss}; lower the rate "
                        f"({config.rate:g}) or use precision fp32"
                    )
                done += 1
                recorded.append({"stage": stage.name, "step": done, "loss": loss} | known)
                for one in watching:
                    if done % one.every == 0:
                        now = torch.tensor([loss])
                        one.step(
                            Step(str(stage.name), done, now, numbers={"rate": rate}, total=total)
                        )
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
    shares = {stage.name: stage.known(whole) for stage in stages} if config.until else {}
    return FineTuned(whole, read, 1 - read / places, time.monotonic() - started, shares)


@contextmanager
def _stopping(wanted: bool) -> Iterator[threading.Event]:
    """Provide an event that signals to stop set; a second signal interrupts at once."""
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


def _accelerator() -> Any:
    """Return an accelerator where accelerate started several processes; else None."""
    if int(os.environ.get("WORLD_SIZE", "1")) < 2:
        return None
    try:
        from accelerate import Accelerator
    except ImportError:
        raise ConfigError("several processes require accelerate: pip install accelerate") from None
    return Accelerator()
