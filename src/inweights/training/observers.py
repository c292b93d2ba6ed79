"""Observers: objects that are notified during training, and may measure the model.

Progress displays, logs, trackers and measurements are all :class:`Observer` objects.
:func:`train` passes each :class:`Step` to them. Sweeps and recipes notify them of every
stored table. Nothing here imports torch.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from inweights.config import check_size
from inweights.training.curriculum.optimizer import MAX_STEPS

if TYPE_CHECKING:
    import polars as pl
    from jaxtyping import Float
    from torch import Tensor

    from inweights.models.base import Model

_LOG = logging.getLogger("inweights.training")


@dataclass(frozen=True)
class Step:
    """Data of one update of ``R`` replicas, which observers receive after the update.

    Attributes:
        phase: Name of the phase; in a sweep, a description of the current work.
        step: Number of updates made over all phases or, in a sweep, over all of its
            runs.
        losses: Loss of each replica before the update, ``[R]``, on the model's device;
            empty in a sweep.
        gradients: Dictionary that maps the name of each parameter to its gradient,
            ``[R, ...]``. The gradients are views of memory that the next step
            overwrites; copy them to use them later. Empty in a sweep or fine-tuning.
        parameters: Dictionary that maps the name of each parameter to its value after
            the update, ``[R, ...]``. The values are also views of memory that the next
            step overwrites. Empty in a sweep or fine-tuning.
        numbers: Mapping from the names of additional numbers to their values, such as
            the learning rate in fine-tuning.
        total: Total number of updates of a sweep or fine-tuning; 0 in
            :func:`inweights.train`.
    """

    phase: str
    step: int
    losses: Float[Tensor, " R"] = ()  # type: ignore[assignment]  # an empty default
    gradients: Mapping[str, Float[Tensor, "R ..."]] = field(default_factory=dict)
    parameters: Mapping[str, Float[Tensor, "R ..."]] = field(default_factory=dict)
    numbers: Mapping[str, float] = field(default_factory=dict)
    total: int = 0


@dataclass(eq=False)
class Observer:
    """Base class of objects that are notified during training; subclasses override methods.

    If ``measure`` is set, the model is also measured: at the start, at every
    ``every``-th step, and at the end.

    Attributes:
        name: Name of the measured table.
        measure: Function ``measure(model)`` that returns a table with a column
            ``replica``; ``None`` (the default) to measure nothing.
        every: Number of steps between two measurements, and between two calls of
            :meth:`step`; at least 1, which :func:`inweights.train` checks.

    Example:
        >>> class Largest(Observer):
        ...     def step(self, seen):
        ...         self.gradient = max(g.abs().max().item() for g in seen.gradients.values())
        >>> import inweights as iw
        >>> world, largest = iw.TwoHop(n=3).build(), Largest()
        >>> model = iw.EmbMLPConfig(width=8).build(vocabulary=len(world.vocabulary), seeds=2)
        >>> _ = iw.train(model, world, iw.Curriculum(phases=(iw.Phase(steps=3),)), seeds=2,
        ...           observers=[largest])
        >>> 0 < largest.gradient < 1
        True
    """

    name: str = ""
    measure: Callable[[Model], pl.DataFrame] | None = None
    every: int = 1

    def started(self, settings: Mapping[str, Any]) -> None:
        """React to the start of the work; called before the first step.

        Args:
            settings: Dictionary of settings, as plain values. :func:`inweights.train`
                passes the keys ``steps`` (number of updates over all phases) and
                ``seeds``, and ``model`` and ``learner`` if their configs exist. A sweep
                or recipe also passes its ``name``, the ``labels`` in which its trials
                differ, and the ``trials`` with their configs; a recipe's run also
                passes its ``folder`` and ``settings``. Fine-tuning passes ``name``,
                ``seeds``, ``learner`` and ``model`` (the model's source, as a string).
                A worker of a plan passes only ``name`` and ``labels``.
        """

    def step(self, seen: Step) -> None:
        """React to an update; called after every ``every``-th update.

        ``every`` is an attribute of the observer. In a sweep, the method is called at
        each report of progress instead.

        Args:
            seen: Losses, gradients and parameters of the update; in a sweep, only a
                description of the work, the number of updates made so far, and their
                total number.
        """

    def measured(self, name: str, table: pl.DataFrame) -> None:
        """React to a measurement; called for the measurements of all observers.

        Args:
            name: Name of the table.
            table: The measured table. It has the columns returned by ``measure``,
                including ``replica``, and a column ``step`` (the number of updates
                made). In a sweep, it is the stored table of one run, with the run's
                labels and ``seed``.
        """

    def finished(self, tables: Mapping[str, pl.DataFrame]) -> None:
        """React to the end of the work.

        Args:
            tables: Mapping from the name of each table of the work to the table. In
                :func:`inweights.train`, these are ``losses`` and the measured tables.
        """

    def failed(self, error: BaseException) -> None:
        """React to an error or interrupt that ended the work.

        The method is called instead of :meth:`finished`; the error is raised again
        afterwards.

        Args:
            error: Exception that ended the work, such as ``KeyboardInterrupt``.
        """


def check_intervals(observers: Sequence[Observer]) -> None:
    """Check that the attribute ``every`` of each observer is from 1 to 1,000,000,000.

    Args:
        observers: Observers of training or fine-tuning.

    Raises:
        ConfigError: The attribute ``every`` of an observer is not in this range.
    """
    for observer in observers:
        name = f"observer '{observer.name}': every"
        check_size(name, observer.every, most=MAX_STEPS)


@contextmanager
def telling(
    observers: Sequence[Observer], settings: Mapping[str, Any]
) -> Iterator[dict[str, pl.DataFrame]]:
    """Notify observers when the work in the ``with`` block starts and ends, and log both events.

    After an error, ``failed`` is called for the observers that were started, and the
    error is raised again.

    Args:
        observers: Observers whose ``started``, ``finished`` and ``failed`` are called.
        settings: Argument of ``started``; its ``name``, ``steps`` and ``seeds`` are
            logged.

    Yields:
        A dictionary from name to table, to which the ``with`` block adds its tables. It
        is passed to ``finished``.
    """
    name = settings.get("name", "training")
    began = time.monotonic()
    _LOG.info(
        "%s: started, %s steps, seeds %s",
        name,
        settings.get("steps"),
        settings.get("seeds"),
    )
    tables: dict[str, pl.DataFrame] = {}
    notified: list[Observer] = []
    try:
        for one in observers:
            notified.append(one)
            one.started(settings)
        yield tables
    except BaseException as error:
        _LOG.error("%s: ended by %s: %s", name, type(error).__name__, error)
        for one in notified:
            one.failed(error)
        raise
    for one in observers:
        one.finished(tables)
    _LOG.info("%s: finished in %.1f s", name, time.monotonic() - began)
