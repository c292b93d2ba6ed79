"""Fine-tune a language model on facts, in a loop that an interrupted call can resume.

:func:`finetune` changes the model and returns a :class:`FineTuned`. On a CPU, a resumed
training gives bitwise identical results. :func:`inweights.lm.finetune_to` runs it on
files. Under ``accelerate launch``, the loop trains on several devices: each processes a
part of every batch, and the loss is the mean over the tokens of all devices.
"""

import math
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import torch

from inweights.config import digest, to_plain
from inweights.errors import CautionWarning, RunError
from inweights.lm.model.data import Encoded, Example, encode
from inweights.lm.model.load import LanguageModel
from inweights.lm.model.state import fingerprint, flat, moments, restore, unflatten
from inweights.lm.tuning.adapters import adapted
from inweights.lm.tuning.fine_tune import FineTune
from inweights.lm.tuning.process import accelerator_of_processes, stop_signals
from inweights.lm.tuning.record import LossTable, PaddingCount, Reports
from inweights.lm.tuning.stages import Stage, stages_of
from inweights.lm.tuning.updates.low_rank import joined_adapters
from inweights.lm.tuning.updates.objective import remembered, update
from inweights.lm.tuning.updates.packing import PackedReader, why_padded
from inweights.lm.tuning.updates.reading import Reader, read_padded
from inweights.lm.tuning.writing import replayed
from inweights.support.progress import Progress
from inweights.training.checkpoint import State, StateFile
from inweights.training.observers import Observer
from inweights.training.steps.machine import keep_memory

__all__ = ["FineTune", "FineTuned", "finetune"]


@dataclass(frozen=True, eq=False)
class FineTuned:
    """Result of :func:`finetune`, which also changes the model.

    Attributes:
        losses: One row per update: ``stage``, ``step`` (its number over all stages,
            from 1) and ``loss`` (nats per token of the completions). If
            :attr:`FineTune.until` is set, also ``new``, the number of examples, and
            ``known``, the number of examples that were known just before the update.
        tokens: Number of tokens read, including replayed texts but not padding.
        padding: Share of the positions in batches that were padding; 0 if examples were
            packed.
        seconds: Wall-clock time of this call, in seconds.
        known: If :attr:`FineTune.until` is set, the share of known examples in the
            latest epoch of each stage, from 0 to 1, keyed by the number of the stage;
            otherwise empty.
        positions: Number of positions that were computed. With padding, it is above
            ``tokens``. If examples were packed, it is below ``tokens``, because a
            shared prefix is computed once and the last token of an example is left out.
    """

    losses: pl.DataFrame
    tokens: int
    padding: float
    seconds: float
    known: dict[int, float] = field(default_factory=dict)
    positions: int = 0


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
    """Train a model in place on the completions of examples, stage by stage.

    If there is a checkpoint file, SIGINT, SIGTERM and SIGHUP end the training after the
    current update, write the file and raise ``KeyboardInterrupt``. A second signal
    raises this error at once. If ``config.replay`` is above 0 and no example is
    ``old``, the model first writes the texts to replay.

    Args:
        lm: The model.
        examples: Examples to train on.
        config: Settings of the fine-tuning; by default ``FineTune()``.
        seed: Root seed of batches, adapters and the model's own texts; by default 0.
        checkpoint: File from which an interrupted call with the same arguments
            continues, and which is removed at the end. It contains the trained weights
            and the optimizer's state, which together are three times as large as the
            trained weights. If it is ``None`` (the default), no file is written.
        every_seconds: Seconds between two writes of the file; by default 300.
        every_steps: Number of updates between two writes. If it is 0 (the default),
            ``every_seconds`` is used instead.
        keep: Whether to keep the file at the end; by default False.
        adapter: Folder for the adapters of ``lora``; by default they are not written.
        observers: Observers that receive the loss and the learning rate of each update
            (:class:`inweights.training.Step`); by default none.
        passed: Function called after each epoch with the epoch's number over all stages,
            the total number of epochs, and the model with its adapters; or ``None``.
        progress: Function that is called after each update with its number, the total
            number of updates, and a description; ``None`` for no progress reports.

    Returns:
        Losses and sizes of the training.

    Raises:
        ConfigError: A package is not installed, an observer's ``every`` is below 1, or
            ``seed`` is not an integer from 0 to 2^63 - 1.
        DataError: There are no examples, or an example has no tokens to train on.
        RunError: The checkpoint belongs to another run, is damaged or cannot be written
            (:class:`~inweights.errors.WriteError`), or the loss is not a finite number.
        KeyboardInterrupt: There is a checkpoint, and a signal stopped the training.
        OSError: The checkpoint cannot be removed at the end.

    Example:
        >>> from inweights.lm import load_model
        >>> lm, fact = load_model("@tiny"), Example("Rome is in", " Italy.")
        >>> done = finetune(lm, [fact], FineTune(method="full", rate=1e-2, epochs=20))
        >>> bool(done.losses["loss"][-1] < done.losses["loss"][0]), done.tokens
        (True, 360)
    """
    config = config or FineTune()
    started = time.monotonic()
    accelerator = accelerator_of_processes()
    first_process = accelerator is None or accelerator.is_main_process
    has_replay = any(example.old for example in examples)
    own_texts = [] if has_replay else replayed(lm, examples, config, seed)
    encoded = encode(lm, [*examples, *own_texts], end=config.end)
    read = _reader(lm, encoded, config)
    encoded = remembered(lm, encoded, read)
    stages = stages_of(encoded, config)
    total = sum(stage.steps for stage in stages)
    reports = Reports(
        config,
        stages=len(stages),
        total=total,
        observers=observers if first_process else (),
        passed=passed,
        progress=progress,
    )
    keeper = None
    if checkpoint is not None:
        keeper = StateFile(
            State,
            checkpoint,
            key=_key(lm, encoded, config, seed),
            every_seconds=every_seconds,
            every_steps=every_steps,
        )
    kept_adapter = adapter if first_process else None
    padding = PaddingCount(packed=isinstance(read, PackedReader))
    keep_memory()
    with (
        adapted(lm.model, config, seed, keep=kept_adapter) as model,
        joined_adapters(model) if padding.packed else nullcontext(),
        stop_signals(keeper is not None) as stopping,
    ):
        trained = [p for p in model.parameters() if p.requires_grad]
        state = keeper.read(trained[0].device) if keeper else None
        losses = LossTable(state.tables["losses"] if state else ())
        done = state.total if state else 0
        if state:
            unflatten(trained, state.values)
        for index, stage in enumerate(stages):
            if state and index < state.phase:
                made = losses.number_of(stage.name)
                padding.add_done(stage.order(config, seed), made)
                continue
            resumed = state if state and index == state.phase else None
            first = resumed.step if resumed else 0
            net, optimizer = _prepared(model, trained, config, resumed, accelerator)
            for step, rows in enumerate(stage.order(config, seed)):
                begins_an_epoch = step >= max(first, 1) and step % stage.epoch == 0
                if begins_an_epoch and _is_known(stage, losses, config):
                    break
                padding.add(rows)
                # Updates before the checkpoint count only towards the padding.
                if step < first:
                    continue
                rate = config.rate * config.factor(step, stage.steps)
                for group in optimizer.param_groups:
                    group["lr"] = rate
                loss, known = update(
                    lm, net, optimizer, rows, config, accelerator, read
                )
                _require_finite(loss, done + 1, config)
                done += 1
                losses.add({"stage": stage.name, "step": done, "loss": loss} | known)
                reports.updated(stage, done, loss, rate)
                reports.epoch_ended(index, stage, step, model)
                due = keeper and keeper.due(done) and step + 1 < stage.steps
                if keeper and (due or stopping.is_set()):
                    losses.close()
                    if first_process:
                        now = State(
                            phase=index,
                            step=step + 1,
                            total=done,
                            values=flat(trained),
                            optimizer=moments(optimizer, trained),
                            tables={"losses": losses.tables},
                        )
                        keeper.write(now)
                    if stopping.is_set():
                        raise KeyboardInterrupt
            losses.close()
            if accelerator:
                accelerator.free_memory()
        if keeper and keep and first_process:
            # Stored in case the caller is interrupted while it writes the model.
            finished = State(
                phase=len(stages),
                step=0,
                total=done,
                values=flat(trained),
                tables={"losses": losses.tables},
            )
            keeper.write(finished)
    if keeper and not keep and first_process:
        keeper.clear()
    whole = losses.whole()
    shares = (
        {stage.name: stage.known(whole) for stage in stages} if config.until else {}
    )
    seconds = time.monotonic() - started
    return FineTuned(
        whole, padding.tokens, padding.share, seconds, shares, padding.positions
    )


def _reader(lm: LanguageModel, encoded: Sequence[Encoded], config: FineTune) -> Reader:
    """Return the function that runs the model on a batch; packing is tested first."""
    if config.layout == "padded":
        return read_padded
    why = why_padded(lm, encoded)
    if not why:
        return PackedReader()
    warnings.warn(
        f"examples are padded: the model '{lm.name}' cannot read them packed, because "
        f"{why}",
        CautionWarning,
        stacklevel=3,
    )
    return read_padded


def _key(
    lm: LanguageModel, encoded: Sequence[Encoded], config: FineTune, seed: int
) -> str:
    """Return a hash that identifies the training to which a checkpoint belongs."""
    rows = [(row.ids, row.start) for row in encoded]
    settings = to_plain(config)
    # Left out if it is "padded", so that earlier checkpoints remain valid.
    if config.layout == "padded":
        del settings["layout"]
    return digest([settings, seed, fingerprint(lm.model), rows])


def _prepared(
    model: Any,
    trained: list[torch.Tensor],
    config: FineTune,
    resumed: State | None,
    accelerator: Any,
) -> tuple[Any, torch.optim.Optimizer]:
    """Return the model and the optimizer of a stage, restored and prepared for all processes."""
    optimizer = torch.optim.AdamW(
        trained, lr=config.rate, weight_decay=config.weight_decay, fused=True
    )
    if resumed:
        restore(optimizer, trained, resumed.optimizer)
    if accelerator:
        return accelerator.prepare(model, optimizer)
    return model, optimizer


def _is_known(stage: Stage, losses: LossTable, config: FineTune) -> bool:
    """Return whether a stage has the share of known examples that the settings require."""
    return bool(config.until) and stage.known(losses.whole()) >= config.until


def _require_finite(loss: float, number: int, config: FineTune) -> None:
    if not math.isfinite(loss):
        raise RunError(
            f"the loss of update {number} is {loss}; lower the learning rate "
            f"({config.rate:g}) or use precision fp32"
        )
