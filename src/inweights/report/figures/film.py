"""What both twins of ``through_time`` draw: curves, matrices and states over the same steps."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property

import polars as pl

from inweights.errors import DataError
from inweights.report.base import tidy
from inweights.report.base.matrix import Matrix, matrix_of


@dataclass(frozen=True, eq=False)
class Film:
    """Three tables of one training, checked, and how they are shown.

    Attributes:
        curves: Long rows ``(seed, series, step, value)``; the mean and its 95% band are drawn.
        matrices: Rows ``(step, row, column, value)`` of one seed.
        states: Rows ``(step, x, y, pair, kind)`` and a layer of one seed, the steps already
            aligned; ``pair`` is the sample, ``kind`` what the state is of.
        row_group: Column of ``matrices`` with the group of the row.
        column_group: Column of ``matrices`` with the group of the column.
        layer: Column of ``states`` with the layer, an integer.
        kinds: Values of ``kind`` drawn as star, circle, square, ….
        kind_labels: Text for each of ``kinds``.
        moments: The steps shown, each among those of ``matrices`` and ``states``; the first and the
            last if left out. The player has them all, and begins at the last of these.
        y_label: Text of the curves' axis.
        y_limits: Least and greatest value of the curves shown.
        matrix_label: Text of the colour bar.
        step_log: Whether the steps are drawn on a logarithmic axis.
    """

    curves: pl.DataFrame
    matrices: pl.DataFrame
    states: pl.DataFrame
    _: KW_ONLY
    row_group: str | None = None
    column_group: str | None = None
    layer: str = "layer"
    kinds: Sequence[str] | None = None
    kind_labels: Sequence[str] | None = None
    moments: Sequence[int] | None = None
    y_label: str = "value"
    y_limits: Sequence[float] | None = None
    matrix_label: str = "value"
    step_log: bool = False

    def __post_init__(self) -> None:
        groups = {"row_group": self.row_group, "column_group": self.column_group}
        for table, names, others in (
            (self.curves, ("step", "series", "value", tidy.SEED), {}),
            (self.matrices, ("step", "row", "column", "value"), groups),
            (self.states, ("step", "x", "y", "pair", "kind"), {"layer": self.layer}),
        ):
            tidy.require("through_time", table, {**{name: name for name in names}, **others})
        if not self.steps:
            one, other = (sorted(set(t["step"]))[:5] for t in (self.matrices, self.states))
            raise DataError(
                f"the matrices (steps {one} …) and the states (steps {other} …) have no common "
                "step; measure both at the same interval"
            )
        for at in self.moments or ():
            if at not in self.steps:
                near = min(self.steps, key=lambda step: abs(step - at))
                raise DataError(
                    f"nothing was measured at step {at}; the nearest measured is {near}"
                )

    @cached_property
    def steps(self) -> list[int]:
        """The steps at which both the matrix and the states were measured, sorted."""
        return sorted(set(self.matrices["step"]) & set(self.states["step"]))

    @property
    def chosen(self) -> list[int]:
        """The moments asked for, or the first and the last step."""
        return list(self.moments or dict.fromkeys((self.steps[0], self.steps[-1])))

    @property
    def shown(self) -> list[str]:
        """The kinds of states in the order of their markers."""
        if self.kinds is not None:
            return list(self.kinds)
        return [tidy.plain(kind) for kind in tidy.distinct(self.states, "kind")]

    @property
    def legend(self) -> list[str]:
        """Texts for the kinds."""
        return list(self.kind_labels or self.shown)

    @property
    def layers(self) -> list[int]:
        """All layers, sorted."""
        return [int(layer) for layer in self.states[self.layer].unique().sort()]

    def matrix(self, step: int) -> Matrix:
        """Return the matrix of a step."""
        return matrix_of(
            self.matrices.filter(step=step),
            "row",
            "column",
            "value",
            row_group=self.row_group,
            column_group=self.column_group,
        )
