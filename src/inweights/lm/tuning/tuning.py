"""Fine-tune a language model on facts: one loop that resumes bit for bit on a CPU.

:func:`finetune` changes the model and returns :class:`FineTuned`;
:func:`inweights.lm.finetune_to` calls it from files to a folder. Started by
``accelerate launch``, the same loop trains on several devices: each takes its share of
every batch, and the loss is a mean over the tokens of all of them.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import torch

from inweights.config import digest, to_plain
from inweights.errors import RunError
from inweights.lm.model.data import Encoded, Example, encode
from inweights.lm.model.load import LanguageModel
from inweights.lm.model.state import fingerprint, flat, moments, restore, unflatten
from inweights.lm.tuning.adapters import adapted
from inweights.lm.tuning.fine_tune import FineTune
from inweights.lm.tuning.objective import remembered, update
from inweights.lm.tuning.process import accelerator_of_processes, stop_signals
from inweights.lm.tuning.record import LossTable, PaddingCount, Reports
from inweights.lm.tuning.stages import Stage, stages_of
from inweights.lm.tuning.writing import replayed
from inweights.support.progress import Progress
from inweights.training.checkpoint import State, StateFile
from inweights.training.observers import Observer

__all__ = ["FineTune", "FineTuned", "finetune"]


@dataclass(frozen=True, eq=False)
class FineTuned:
    """Result of :func:`finetune`; the model itself was changed.

    Attributes:
        losses: ``stage, step, loss`` (nats per token of the completions), a row per
            update; with ``until`` also the number of its examples (``new``) and how
            many were ``known``. :attr:`FineTune.until` is the share of known examples
            at which a stage ends early; an example is known where each token of its
            completion was the likeliest, just before the update that learns from it.
        tokens: Tokens that the model read, without padding.
        padding: Share of positions that were padding.
        seconds: Wall-clock time of this call.
        known: With ``until``: by stage the share of its examples that was known in its
            last epoch.
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

    Where there is a checkpoint, SIGINT, SIGTERM and SIGHUP end the present update,
    write it and raise ``KeyboardInterrupt``; a second one stops at once.

    Args:
        lm: The model.
        examples: Examples to train on.
        config: Settings; ``FineTune()`` by default.
        seed: Root seed of the order and of the adapters.
        checkpoint: File from which an interrupted call continues, with the same
            arguments; removed at the end. Holds trained weights and optimizer: three
            times the trained weights. None does not write one.
        every_seconds: Time between two writes of it.
        every_steps: Write at every multiple of this number of updates instead, where it
            is above 0.
        keep: Whether the file stays, with the finished training, for a caller who
            removes it once the model is written.
        adapter: Folder to write the adapters of ``lora`` to before they are merged, as
            ``peft`` reads them. None does not write them.
        observers: Observers of each update's loss and rate
            (:class:`inweights.training.Step`).
        passed: Called after each epoch with its number over all stages, how many there
            are, and the model with its adapters.
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
    accelerator = accelerator_of_processes()
    first_process = accelerator is None or accelerator.is_main_process
    has_replay = any(example.old for example in examples)
    own_texts = [] if has_replay else replayed(lm, examples, config, seed)
    encoded = remembered(lm, encode(lm, [*examples, *own_texts], end=config.end))
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
    padding = PaddingCount()
    with (
        adapted(lm.model, config, seed, keep=kept_adapter) as model,
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
                # What a checkpoint holds is not trained again, but its padding is
                # counted.
                if step < first:
                    continue
                rate = config.rate * config.factor(step, stage.steps)
                for group in optimizer.param_groups:
                    group["lr"] = rate
                loss, known = update(
                    lm, net, optimizer, trained, rows, config, accelerator
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
            # The caller may be interrupted while it writes the model.
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
    return FineTuned(whole, padding.tokens, padding.share, seconds, shares)


def _key(
    lm: LanguageModel, encoded: Sequence[Encoded], config: FineTune, seed: int
) -> str:
    """Return what tells a training's checkpoint from those of others."""
    rows = [(row.ids, row.start) for row in encoded]
    return digest([to_plain(config), seed, fingerprint(lm.model), rows])


def _prepared(
    model: Any,
    trained: list[torch.Tensor],
    config: FineTune,
    resumed: State | None,
    accelerator: Any,
) -> tuple[Any, torch.optim.Optimizer]:
    """Return the model and a stage's optimizer, as a checkpoint left it, on all processes."""
    optimizer = torch.optim.AdamW(
        trained, lr=config.rate, weight_decay=config.weight_decay, fused=True
    )
    if resumed:
        restore(optimizer, trained, resumed.optimizer)
    if accelerator:
        return accelerator.prepare(model, optimizer)
    return model, optimizer


def _is_known(stage: Stage, losses: LossTable, config: FineTune) -> bool:
    """Return whether as many of a stage's examples are known as the settings ask for."""
    return bool(config.until) and stage.known(losses.whole()) >= config.until


def _require_finite(loss: float, number: int, config: FineTune) -> None:
    if not math.isfinite(loss):
        raise RunError(
            f"the loss of update {number} is {loss}; lower the rate "
            f"({config.rate:g}) or use precision fp32"
        )
