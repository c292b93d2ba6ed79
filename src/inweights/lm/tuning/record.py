"""Record a fine-tuning run while it runs: losses, sizes of batches, and reports to observers.

:func:`inweights.lm.finetune` fills a :class:`LossTable` and a :class:`PaddingCount`,
and passes each update to :class:`Reports`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import polars as pl
import torch

from inweights.lm.model.data import Encoded
from inweights.lm.tuning.fine_tune import FineTune
from inweights.lm.tuning.stages import Stage
from inweights.lm.tuning.updates.packing import pack
from inweights.support.progress import Progress
from inweights.training.observers import Observer, Step, check_intervals

__all__ = ["LossTable", "PaddingCount", "Reports"]


class LossTable:
    """Losses of all updates: tables of earlier updates, and rows of the latest ones.

    Args:
        tables: Tables of earlier updates from a checkpoint, with the columns of
            :meth:`add`; by default none. The attribute ``tables`` contains these and
            the tables that :meth:`close` added.
    """

    def __init__(self, tables: Iterable[pl.DataFrame] = ()) -> None:
        """Start from the updates in ``tables``, for example from a checkpoint.

        The tables have the columns of :meth:`add`, one row per update.
        """
        self.tables = list(tables)
        self._rows: list[dict[str, float]] = []

    def add(self, row: dict[str, float]) -> None:
        """Append a row with the numbers of one update, in memory.

        Args:
            row: Numbers, keyed by column: ``stage``; ``step``, the number of the update
                over all stages, from 1; ``loss`` in nats per token; and, if
                :attr:`FineTune.until` is set, ``new``, the number of examples in the
                update, and ``known``, the number of these that were known before it.
        """
        self._rows.append(row)

    def close(self) -> None:
        """Move the rows that were added since the last call, if any, to a new table."""
        if self._rows:
            self.tables.append(pl.DataFrame(self._rows))
            self._rows = []

    def number_of(self, stage: int) -> int:
        """Return the number of updates of a stage so far.

        At least one update of any stage must have been added, which is not checked.

        Args:
            stage: Number of the stage.
        """
        return self.whole().filter(pl.col("stage") == stage).height

    def whole(self) -> pl.DataFrame:
        """Return all updates so far as one table, one row per update, as passed to :meth:`add`.

        At least one update must have been added, which is not checked.
        """
        rows = [pl.DataFrame(self._rows)] if self._rows else []
        return pl.concat([*self.tables, *rows])


@dataclass
class PaddingCount:
    """Numbers of tokens, and of positions including padding, in the batches so far.

    Attributes:
        packed: Whether examples are packed, so that there is no padding.
        tokens: Number of tokens, without padding.
        positions: Number of positions that were computed, including padding.
    """

    packed: bool = False
    tokens: int = 0
    positions: int = 0

    def add(self, rows: Sequence[Encoded]) -> None:
        """Count the tokens and positions of one update.

        Examples and replayed texts are counted as two batches.

        Args:
            rows: Examples of the update, including replayed texts (``old``).
        """
        self.tokens += sum(len(row.ids) for row in rows)
        for replayed in (False, True):
            part = [row for row in rows if bool(row.old) is replayed]
            if self.packed:
                self.positions += pack(part).ids.numel() if part else 0
            else:
                longest = max((len(row.ids) for row in part), default=0)
                self.positions += len(part) * longest

    def add_done(self, updates: Iterable[Sequence[Encoded]], number: int) -> None:
        """Count the tokens and positions of updates that an interrupted call made.

        Args:
            updates: Batches of the stage, one per update, of which the first ``number``
                are counted.
            number: Number of updates that were made.
        """
        for rows in islice(updates, number):
            self.add(rows)

    @property
    def share(self) -> float:
        """Share of the counted positions that were padding, from 0 to 1.

        Unless examples are packed, at least one update must have been counted.
        """
        return 0.0 if self.packed else 1 - self.tokens / self.positions


@dataclass(frozen=True)
class Reports:
    """Object that reports each update and each epoch to observers and callbacks.

    Attributes:
        config: Settings of the training.
        stages: Number of stages.
        total: Maximum number of updates over all stages.
        observers: Observers that receive the loss and the learning rate of each update.
        passed: Function that is called after each epoch with the number of the epoch
            (counted over all stages), the total number of epochs, and the model with
            its adapters; ``None`` if no function is called.
        progress: Function that is called after each update with its number, the total
            number of updates, and a description; ``None`` for no progress reports.

    Raises:
        ConfigError: The ``every`` of an observer is not an integer above 0.
    """

    config: FineTune
    stages: int
    total: int
    observers: Sequence[Observer] = ()
    passed: Callable[[int, int, Any], None] | None = None
    progress: Progress | None = None

    def __post_init__(self) -> None:
        check_intervals(self.observers)

    def updated(self, stage: Stage, done: int, loss: float, rate: float) -> None:
        """Report one update to ``progress``, and to the observers at multiples of their ``every``.

        Args:
            stage: The stage to which the update belongs.
            done: Number of the update over all stages, from 1.
            loss: Loss in nats per token.
            rate: Learning rate of the update.
        """
        for observer in self.observers:
            if done % observer.every == 0:
                numbers = {"rate": rate}
                losses = torch.tensor([loss])
                observer.step(
                    Step(
                        str(stage.name), done, losses, numbers=numbers, total=self.total
                    )
                )
        if self.progress:
            self.progress(done, self.total, f"stage {stage.name}: loss {loss:.3f}")

    def epoch_ended(self, index: int, stage: Stage, step: int, model: Any) -> None:
        """Report the end of an epoch to ``passed``, if the given update was its last.

        Args:
            index: Index of the stage, from 0.
            stage: The stage.
            step: Index of the latest update within the stage, from 0.
            model: The model with its adapters, which is passed on.
        """
        if self.passed and (step + 1) % stage.epoch == 0:
            before = index * self.config.epochs
            epochs = self.stages * self.config.epochs
            self.passed(before + (step + 1) // stage.epoch, epochs, model)
