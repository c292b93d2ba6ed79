"""The legend above a figure, and the texts of what it names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from inweights.report import style

__all__ = ["add_legend", "text_of"]


def text_of(name: str, labels: Mapping[str, str] | None) -> str:
    """Return the text for a value; the value itself where it has none."""
    return (labels or {}).get(name, name)


def add_legend(
    figure: Figure,
    names: Sequence[str],
    labels: Mapping[str, str] | None = None,
    *,
    reference: str = "",
) -> None:
    """Name the series above the figure.

    Args:
        figure: The figure.
        names: Values of the series, in the order in which :func:`inweights.report.style.marks` gave
            them their looks.
        labels: Text for a value.
        reference: Text of the dashed grey line, where there is one.
    """
    handles = [
        Line2D([], [], color=look.color, linestyle=look.dash, marker=look.marker, markersize=4.6,
               label=text_of(name, labels))
        for name, look in style.marks(names).items()
    ]  # fmt: skip
    if reference:
        handles.append(
            Line2D([], [], color=style.GREY, dashes=(3, 2), linewidth=1, label=reference)
        )
    columns = min(len(handles), max(2, int(figure.get_figwidth() / 1.35)))
    figure.legend(handles=handles, loc="outside upper left", ncols=columns, handlelength=2.8)
