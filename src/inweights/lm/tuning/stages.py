"""Divide a fine-tuning run into stages: the examples of each update and the texts to replay.

:func:`stages_of` returns the :class:`Stage` objects over which
:func:`inweights.lm.finetune` loops.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import polars as pl

from inweights.lm.model.data import Encoded, batches
from inweights.lm.tuning.fine_tune import FineTune


@dataclass
class Stage:
    """One stage of a fine-tuning run, whose examples are used before those of the next stage.

    Attributes:
        name: Number of the stage, which is the ``stage`` of its examples.
        rows: Examples to train on.
        old: Texts to replay, on which the model's predictions should not change.
        steps: Number of updates of all its epochs, which :func:`stages_of` sets.
        epoch: Number of updates of one epoch, which :func:`stages_of` sets.
    """

    name: int
    rows: list[Encoded]
    old: list[Encoded]
    steps: int = field(init=False, default=0)
    epoch: int = field(init=False, default=0)

    def order(self, config: FineTune, seed: int) -> Iterator[list[Encoded]]:
        """Yield the batch of each update of all epochs: examples, followed by texts to replay.

        Args:
            config: Settings; ``epochs``, ``batch_tokens`` and ``replay`` are used.
            seed: Root seed of the order.

        Yields:
            Lists of examples. Texts to replay have the attribute ``old`` set.
        """
        each = 0
        if self.old:
            wanted = config.replay * _tokens(self.rows) / self.epoch
            each = max(1, round(wanted * len(self.old) / _tokens(self.old)))
        update = 0
        for epoch in range(config.epochs):
            drawn = batches(self.rows, config.batch_tokens, seed, epoch, self.name)
            for batch in drawn:
                learnt = [self.rows[i] for i in batch]
                # Replayed texts are used in turn, independently of the epoch.
                places = range(update * each, (update + 1) * each)
                kept = [self.old[i % len(self.old)] for i in places]
                yield learnt + kept
                update += 1

    def known(self, losses: pl.DataFrame) -> float:
        """Return the share of the stage's examples that were known in its latest epoch.

        Args:
            losses: Table with the columns ``stage``, ``known`` and ``new``
                (:meth:`~.record.LossTable.add`), one row per update.

        Returns:
            The share, from 0 to 1, in the latest updates (as many as one epoch has, or
            all if there are fewer). It is NaN if these updates contain no examples.
            :attr:`FineTune.until` explains when an example is known.
        """
        lately = losses.filter(pl.col("stage") == self.name).tail(self.epoch)
        known = pl.col("known").sum()
        return float(lately.select(known / pl.col("new").sum()).item())


def stages_of(encoded: Sequence[Encoded], config: FineTune) -> list[Stage]:
    """Divide examples into stages, sorted by the number of the stage.

    Args:
        encoded: Examples to train on, and texts to replay (``old``), each with its
            stage.
        config: Settings; ``epochs`` and ``batch_tokens`` are used.

    Returns:
        One :class:`Stage` per stage, with its examples, texts to replay, and numbers of
        updates.

    Example:
        >>> rows = [Encoded((0,) * 6, 1), Encoded((0,) * 6, 1, stage=2)]
        >>> [stage.name for stage in stages_of(rows, FineTune())]
        [0, 2]
    """
    parts: dict[int, Stage] = {}
    for row in encoded:
        part = parts.setdefault(row.stage, Stage(row.stage, [], []))
        if row.old:
            part.old.append(row)
        else:
            part.rows.append(row)
    stages = [parts[name] for name in sorted(parts)]
    for stage in stages:
        # The number of batches depends only on the lengths, so that it is the same in
        # each epoch.
        drawn = batches(stage.rows, config.batch_tokens, 0, 0, stage.name)
        stage.epoch = len(list(drawn))
        stage.steps = config.epochs * stage.epoch
    return stages


def steps_of(encoded: Sequence[Encoded], config: FineTune) -> int:
    """Return the maximum number of updates, over all epochs of all stages.

    Each stage of the curriculum is divided into batches of at most ``batch_tokens``
    tokens. Texts to replay add no updates. If ``config.until`` is set, a stage may end
    earlier.

    Args:
        encoded: Examples to train on, and texts to replay.
        config: Settings; ``epochs`` and ``batch_tokens`` are used.

    Example:
        >>> steps_of([Encoded((0,) * 6, 1)] * 4, FineTune(epochs=3, batch_tokens=12))
        6
    """
    return sum(stage.steps for stage in stages_of(encoded, config))


def _tokens(rows: Sequence[Encoded]) -> int:
    return sum(len(row.ids) for row in rows)
