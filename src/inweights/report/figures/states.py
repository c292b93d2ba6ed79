"""Draw projected hidden states, with one hue per sample that darkens through the layers.

:class:`States` is the drawing ``states``; :mod:`~.through_time` also uses :func:`cloud`
and :func:`legend`.
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D

from inweights.report.base import style, tidy
from inweights.report.base.legend import columns_that_fit
from inweights.report.base.paint import text_width, wrap
from inweights.report.base.registry import drawing

_MARKERS = ("*", "o", "s", "^", "D")
_SIZES = (62, 24, 22, 24, 20)  # square points
_NEUTRAL = "#6b7280"


@drawing("states")
@dataclass(frozen=True, eq=False)
class States:
    """Draw projected hidden states in the plane, with one panel per value of ``panel``.

    Each sample has one of eight hues, which becomes darker from the first layer to the
    last. A line connects the states of the same sample and kind, in the order of the
    layers. The axes have no units and no ticks. States with coordinates that are not
    finite are left out.

    Attributes:
        table: Table with one row per state.
        x: Name of the column with the first coordinate of the projection.
        y: Name of the column with the second coordinate.
        layer: Name of the integer column with the layer; the smallest number is the
            layer closest to the input.
        pair: Name of the column that distinguishes samples.
        kind: Name of the column with the kind of the state, such as bridge or first
            hop.
        panel: Name of the column that distinguishes panels; ``None`` for a single
            panel.
        kinds: Values of ``kind`` that are drawn; ``None`` for all values. The markers
            are star, circle, square, triangle and diamond, in this order.
        kind_labels: Labels of ``kinds``, in the same order; by default the values
            themselves.
        note: Name of the column with a short text for the panel, such as
            ``trustworthiness 0.93``, which is read from the first row of the panel;
            ``None`` for no text.
        text: Name of the column with the text that is written next to each state;
            ``None`` for no text.
        order: Values of ``panel`` to show first, in this order; the remaining values
            follow. ``None`` for the order of the table.
        columns: Maximum number of panels side by side, by default 4. Fewer are used if
            the notes are long.

    Raises:
        DataError: A column is missing, or there are no rows.
    """

    table: pl.DataFrame
    _: KW_ONLY
    x: str
    y: str
    layer: str
    pair: str
    kind: str
    panel: str | None = None
    kinds: Sequence[str] | None = None
    kind_labels: Sequence[str] | None = None
    note: str | None = None
    text: str | None = None
    order: Sequence[str] | None = None
    columns: int = 4

    def __post_init__(self) -> None:
        names = ("panel", "x", "y", "layer", "pair", "kind", "note", "text")
        tidy.require(
            "states", self.table, {name: getattr(self, name) for name in names}
        )

    @property
    def shown(self) -> list[str]:
        """Kinds of states that are drawn, in the order of their markers.

        They are :attr:`kinds` or, by default, all values of the column :attr:`kind`, as
        text.
        """
        if self.kinds is not None:
            return list(self.kinds)
        return list(map(tidy.plain, tidy.distinct(self.table, self.kind)))

    def draw(self) -> Figure:
        """Draw the projected hidden states, and return the matplotlib figure.

        The coordinates of a state are in the columns :attr:`x` and :attr:`y`. A line
        connects the states of the same sample and kind, in the order of the layers.

        There is one panel for each value of the column ``panel``, or a single panel if
        this option is not set. Columns are checked when the object is created, not by
        this method.
        """
        parts = tidy.panels(self.table, self.panel, self.order)
        notes = [
            tidy.plain(rows[self.note][0]) if self.note else "" for _, rows in parts
        ]
        lines = "\n".join(notes).split("\n")
        longest = max(text_width(line, style.SMALL) for line in lines) / 72
        fits = int((style.full_width() - 0.2) / longest) if longest else self.columns
        down, across = style.grid_shape(len(parts), min(self.columns, fits))
        side = min(2.6, (style.full_width() - 0.2) / across)
        with style.context():
            width = max(min(3.4, style.full_width()), side * across)
            figure = style.blank(width, (side + 0.25) * down + 0.35)
            grid = figure.subplots(down, across, squeeze=False)
            for extra in grid.flat[len(parts) :]:
                extra.set_visible(False)
            layers = list(map(int, self.table[self.layer].unique().sort()))
            for axes, (name, rows), said in zip(grid.flat, parts, notes, strict=False):
                self._states(axes, rows, layers)
                title = "" if self.panel is None else tidy.plain(name)
                style.panel_title(axes, wrap(title, side - 0.1, style.LABEL))
                axes.set_xlabel(said, fontsize=style.SMALL, color=style.GREY)
            legend(figure, list(self.kind_labels or self.shown), layers)
        return figure

    def _states(self, axes: Axes, rows: pl.DataFrame, layers: Sequence[int]) -> None:
        columns = (self.x, self.y, self.layer, self.pair, self.kind)
        cloud(
            axes,
            rows,
            columns,
            tidy.distinct(self.table, self.pair),
            layers,
            self.shown,
        )
        words = rows[self.text] if self.text else ()
        for place, word in zip(rows.select(self.x, self.y).rows(), words, strict=False):
            axes.annotate(
                word,
                place,
                (4, 4),
                textcoords="offset points",
                fontsize=style.SMALL - 1,
            )


def cloud(
    axes: Axes,
    rows: pl.DataFrame,
    named: tuple[str, str, str, str, str],
    pairs: Sequence[Any],
    layers: Sequence[int],
    kinds: Sequence[str],
) -> None:
    """Draw states in a panel, make the panel square, and remove its ticks.

    Args:
        axes: Axes of the panel.
        rows: Table with one row per state.
        named: Names of the five columns with the two coordinates, the layer, the sample
            and the kind, in this order.
        pairs: All samples, as values of the sample column, in the order of their hues.
        layers: Numbers of all layers, in ascending order.
        kinds: Kinds of states, as text, in the order of their markers; other kinds are
            not drawn.
    """
    x, y, layer, pair, kind = named
    for place, sample in enumerate(pairs):
        hue = style.CYCLE[place % len(style.CYCLE)].color
        mine = rows.filter(pl.col(pair).eq_missing(pl.lit(sample))).sort(layer)
        for rank, name in enumerate(kinds):
            path = mine.filter(pl.col(kind).cast(pl.String) == name)
            path = path.filter(pl.col(x).is_finite() & pl.col(y).is_finite())
            if path.is_empty():
                continue
            color = style.tint(hue, 0.45)
            axes.plot(
                path[x],
                path[y],
                color=color,
                linewidth=0.7,
                alpha=0.75,
                zorder=2,
            )
            axes.scatter(
                path[x],
                path[y],
                s=_SIZES[rank % len(_SIZES)],
                marker=_MARKERS[rank % len(_MARKERS)],
                c=[style.tint(hue, depth_of(value, layers)) for value in path[layer]],
                edgecolors="white",
                linewidths=0.4,
                zorder=4 if rank == 0 else 3,
            )
    axes.margins(0.08)
    axes.set_box_aspect(1)
    style.bare(axes)


def depth_of(layer: int, layers: Sequence[int]) -> float:
    """Return the relative depth of a layer, from 0 (first) to 1 (last); 0.6 if there is only one.

    Args:
        layer: Number of the layer.
        layers: Numbers of all layers, in ascending order.
    """
    return 0.6 if len(layers) < 2 else (layer - layers[0]) / (layers[-1] - layers[0])


def legend(
    figure: Figure | SubFigure, kinds: Sequence[str], layers: Sequence[int]
) -> None:
    """Add a legend of the markers, and of the shades of the first and the last layer.

    Args:
        figure: The figure.
        kinds: Labels of the kinds, in the order of their markers.
        layers: Numbers of all layers, in ascending order, at least one.
    """
    point = partial(Line2D, [], [], linestyle="none")
    edged = partial(point, color=_NEUTRAL, markeredgecolor="white", markeredgewidth=0.4)
    handles = [
        edged(
            label=name,
            marker=_MARKERS[rank % len(_MARKERS)],
            markersize=5.5 if rank else 9,
        )
        for rank, name in enumerate(kinds)
    ]
    for value in (layers[0], layers[-1]) if len(layers) > 1 else ():
        shade = style.tint(_NEUTRAL, depth_of(value, layers))
        handles.append(
            point(label=f"layer {value}", marker="s", color=shade, markersize=7)
        )
    figure.legend(
        handles=handles,
        loc="outside upper left",
        ncols=columns_that_fit([str(h.get_label()) for h in handles], figure, 34),
        handletextpad=0.3,
        columnspacing=1.4,
    )
