"""Who observes while something is trained: progress, logs, trackers, and measurements on the way.

One class serves all of them. Nothing here imports torch.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl
    from jaxtyping import Float
    from torch import Tensor

    from inweights.models.base import Model

_LOG = logging.getLogger("inweights.training")


@dataclass(frozen=True)
class Step:
    """One update, as it is after it. Shapes: ``R`` replicas.

    Attributes:
        phase: Name of the phase.
        step: Updates done, over all phases.
        losses: What was minimised, of each replica before the update, on the model's device; none
            where the step is one of a whole sweep.
        gradients: By name of the parameter. They are views: copy what is to be kept.
        parameters: The same.
        numbers: What else there is, such as the learning rate of a fine-tuning.
        total: Updates of all of the work, where it is known.
    """

    phase: str
    step: int
    losses: Float[Tensor, " R"] = ()  # type: ignore[assignment]  # of which there are none
    gradients: Mapping[str, Float[Tensor, "R ..."]] = field(default_factory=dict)
    parameters: Mapping[str, Float[Tensor, "R ..."]] = field(default_factory=dict)
    numbers: Mapping[str, float] = field(default_factory=dict)
    total: int = 0


@dataclass(eq=False)
class Observer:
    """Sees what happens while something is trained. A subclass overrides what it needs.

    With ``measure`` it also measures: at the start, each ``every`` steps, and at the end.

    Attributes:
        name: Name of the table that it measures.
        measure: Returns a table with a column ``replica``.
        every: Steps between two measurements, and between two calls of :meth:`step`.

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
        """Work begins.

        Args:
            settings: What it is, as plain values: ``steps`` (of all phases), ``seeds``, and the
                configs ``model`` and ``learner`` where there are any. Of a sweep or a recipe its
                ``name``, the ``labels`` that its trials differ in, the ``trials`` with their
                configs, and the ``folder`` of a recipe's run.
        """

    def step(self, seen: Step) -> None:
        """An update was made."""

    def measured(self, name: str, table: pl.DataFrame) -> None:
        """Something was measured: a table with columns ``replica`` and ``step``.

        Of a sweep, what a run left, as soon as it is stored: with its labels and ``seed``.
        """

    def finished(self, tables: Mapping[str, pl.DataFrame]) -> None:
        """Work is done, and left these tables."""

    def failed(self, error: BaseException) -> None:
        """Work ended with an error, or was interrupted."""


@contextmanager
def telling(
    observers: Sequence[Observer], settings: Mapping[str, Any]
) -> Iterator[dict[str, pl.DataFrame]]:
    """Tell observers and the log that work begins, and how it ends; gives the tables it leaves."""
    name, began = settings.get("name", "training"), time.monotonic()
    _LOG.info("%s: started, %s steps, seeds %s", name, settings.get("steps"), settings.get("seeds"))
    tables: dict[str, pl.DataFrame] = {}
    told: list[Observer] = []
    try:
        for one in observers:
            told.append(one)
            one.started(settings)
        yield tables
    except BaseException as error:
        _LOG.error("%s: ended by %s: %s", name, type(error).__name__, error)
        for one in told:
            one.failed(error)
        raise
    for one in observers:
        one.finished(tables)
    _LOG.info("%s: finished in %.1f s", name, time.monotonic() - began)
