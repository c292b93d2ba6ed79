"""What a fine-tuning leaves behind as it goes: losses, sizes of its batches, and reports.

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
from inweights.support.progress import Progress
from inweights.training.observers import Observer, Step

__all__ = ["LossTable", "PaddingCount", "Reports"]


class LossTable:
    """Losses by update: tables that a checkpoint may hold, and rows since the last of them.

    Args:
        tables: Tables of earlier updates, from a checkpoint.
    """

    def __init__(self, tables: Iterable[pl.DataFrame] = ()) -> None:
        self.tables = list(tables)
        self._rows: list[dict[str, float]] = []

    def add(self, row: dict[str, float]) -> None:
        """Add the numbers of one update.

        Args:
            row: Numbers by column: ``stage``, ``step``, ``loss``, and with ``until``
                also ``new`` and ``known``.
        """
        self._rows.append(row)

    def close(self) -> None:
        """Make a table of the rows since the last one, if there are any."""
        if self._rows:
            self.tables.append(pl.DataFrame(self._rows))
            self._rows = []

    def number_of(self, stage: int) -> int:
        """Return the number of updates of a stage so far.

        Args:
            stage: Name of the stage.
        """
        return self.whole().filter(pl.col("stage") == stage).height

    def whole(self) -> pl.DataFrame:
        """Return all updates so far as one table, a row each, with the columns of :meth:`add`."""
        rows = [pl.DataFrame(self._rows)] if self._rows else []
        return pl.concat([*self.tables, *rows])


@dataclass
class PaddingCount:
    """Tokens that were read, and the positions of the batches that held them.

    Attributes:
        tokens: Tokens, without padding.
        positions: Positions, padding included.
    """

    tokens: int = 0
    positions: int = 0

    def add(self, rows: Sequence[Encoded]) -> None:
        """Count one update, whose new and replayed rows are two batches."""
        self.tokens += sum(len(row.ids) for row in rows)
        for replayed in (False, True):
            lengths = [len(row.ids) for row in rows if bool(row.old) is replayed]
            self.positions += len(lengths) * max(lengths, default=0)

    def add_done(self, updates: Iterable[Sequence[Encoded]], number: int) -> None:
        """Count the first updates of a stage that an earlier call finished.

        Args:
            updates: The batch of each update.
            number: How many of them were made.
        """
        for rows in islice(updates, number):
            self.add(rows)

    @property
    def share(self) -> float:
        """Share of the positions that was padding."""
        return 1 - self.tokens / self.positions


@dataclass(frozen=True)
class Reports:
    """Who hears of each update, and of each epoch.

    Attributes:
        config: Settings of the training.
        stages: How many stages it has.
        total: Updates of all stages, at most.
        observers: Observers of each update's loss and rate.
        passed: Called after each epoch with its number over all stages, how many there
            are, and the model with its adapters.
        progress: Called after each update with its number, their total and a text.
    """

    config: FineTune
    stages: int
    total: int
    observers: Sequence[Observer] = ()
    passed: Callable[[int, int, Any], None] | None = None
    progress: Progress | None = None

    def updated(self, stage: Stage, done: int, loss: float, rate: float) -> None:
        """Report an update.

        Args:
            stage: The stage that it belongs to.
            done: Its number, from 1, over all stages.
            loss: Nats per token.
            rate: The learning rate that it had.
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
        """Report the end of an epoch, where the next update would begin another.

        Args:
            index: Number of the stage, from 0.
            stage: The stage.
            step: Number of the last update in it, from 0.
            model: The model with its adapters.
        """
        if self.passed and (step + 1) % stage.epoch == 0:
            before = index * self.config.epochs
            epochs = self.stages * self.config.epochs
            self.passed(before + (step + 1) // stage.epoch, epochs, model)
