"""Who observes while something is trained: progress, logs, trackers, and measurements on the way.

One class serves all of them. Nothing here imports torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl
    from jaxtyping import Float
    from torch import Tensor

    from inweights.models.base import Model


@dataclass(frozen=True)
class Step:
    """One update, as it is after it. Shapes: ``R`` replicas.

    Attributes:
        phase: Name of the phase.
        step: Updates done, over all phases.
        losses: What was minimised, of each replica before the update, on the model's device.
        gradients: By name of the parameter. They are views: copy what is to be kept.
        parameters: The same.
    """

    phase: str
    step: int
    losses: Float[Tensor, " R"]
    gradients: Mapping[str, Float[Tensor, "R ..."]] = field(default_factory=dict)
    parameters: Mapping[str, Float[Tensor, "R ..."]] = field(default_factory=dict)


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
        >>> from inweights.models import EmbMLPConfig
        >>> from inweights.training import Curriculum, Phase, train
        >>> from inweights.worlds import TwoHop
        >>> world, largest = TwoHop(n=3).build(), Largest()
        >>> model = EmbMLPConfig(width=8).build(vocabulary=len(world.vocabulary), seeds=2)
        >>> _ = train(model, world, Curriculum(phases=(Phase(steps=3),)), seeds=2,
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
                configs ``model`` and ``learner`` where there are any.
        """

    def step(self, seen: Step) -> None:
        """An update was made."""

    def measured(self, name: str, table: pl.DataFrame) -> None:
        """Something was measured: a table with columns ``replica`` and ``step``."""

    def finished(self, tables: Mapping[str, pl.DataFrame]) -> None:
        """Work is done, and left these tables."""

    def failed(self, error: BaseException) -> None:
        """Work ended with an error, or was interrupted."""


@contextmanager
def telling(
    observers: Sequence[Observer], settings: Mapping[str, Any]
) -> Iterator[dict[str, pl.DataFrame]]:
    """Tell observers that work begins, and how it ends; gives the tables that it is to leave."""
    for one in observers:
        one.started(settings)
    tables: dict[str, pl.DataFrame] = {}
    try:
        yield tables
    except BaseException as error:
        for one in observers:
            one.failed(error)
        raise
    for one in observers:
        one.finished(tables)
